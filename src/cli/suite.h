/* Suites: tasks whose scores the field reports together, what a score is measured by, and the scores that others have
 * published. They are tables alone: naming a game opens no environment. A suite is a row of suites.def and a file
 * suite_NAME.c; a table of published scores is a row of `published` there. */
#ifndef CM_CLI_SUITE_H
#define CM_CLI_SUITE_H

#include "core/status.h"

enum { CM_SUITE_GAMES = 26 /* most of one suite */ };

/* A column of published scores. */
typedef struct cm_published {
    const char *name;             /* of the method, "EfficientZero" */
    const char *source;           /* the publication, and what its numbers are means of */
    double iqm;                   /* over the runs of all games, where the source states it; NAN: it does not */
    double score[CM_SUITE_GAMES]; /* mean returns in the order of the games; NAN: not published */
} cm_published;

/* The first two rows of `published` say what counts as 0 and as 1 in a normalised score. */
enum { CM_SUITE_ZERO, CM_SUITE_ONE, CM_SUITE_METHODS /* the first of the others */ };

typedef struct cm_suite {
    const char *name;    /* "atari100k" */
    const char *about;   /* what its runs have in common, a line without a full stop */
    const char *measure; /* what a normalised score is called, "human-normalised score" */
    const char *const *games;
    int game_count;            /* 1 .. CM_SUITE_GAMES */
    const char *const *places; /* what may stand in front of a game in env_name, "atari:"; NULL at the end */
    const cm_published *published;
    int published_count; /* at least CM_SUITE_METHODS */
    bool has_gap;        /* the field reports the optimality gap */
} cm_suite;

extern const cm_suite *const cm_suites[]; /* NULL at the end */

/* The suite of that name. Errors: CM_ERR_INPUT that proposes the nearest name. */
cm_status cm_suite_find(const char *name, const cm_suite **out) CM_MUST_USE;

/* The game that a value of env_name means, by its index; -1: none of the suite. Capitals, "_" and the version do not
 * count, nor do arguments: "atari:Pong", "gymnasium:ale_py:ALE/Pong-v5,full_action_space=true". */
int cm_suite_game(const cm_suite *suite, const char *env_name);

/* (score - score that counts as 0) / (score that counts as 1 - the former). */
double cm_suite_normalise(const cm_suite *suite, int game, double score);
#endif
