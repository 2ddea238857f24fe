/* What the commands of `cumind gtp` share: an engine of the Go Text Protocol, version 2 (Gunnar Farneback, "GTP
 * specification", draft 2, 2002), with GoGui's commands for other games than Go. */
#ifndef CM_CLI_GTP_H
#define CM_CLI_GTP_H

#include "arena/analyse.h"
#include "cli/gtp_clock.h"
#include "cli/gtp_position.h"
#include "cli/line_input.h"
#include "cli/loaded.h"
#include "core/text.h"

enum { CM_GTP_WORDS = 512 };

typedef struct cm_gtp {
    cm_loaded *loaded;     /* borrowed */
    cm_env *env;           /* of the session: its komi may be changed */
    cm_analyser *analyser; /* owned */
    cm_gtp_clock clock;
    cm_gtp_position game;     /* owned */
    cm_line_input input;      /* owned */
    cm_text answer;           /* of the command that is being answered, without its first character and number */
    char *word[CM_GTP_WORDS]; /* of the command: its name and arguments, within the input's line */
    int words;
    const char *number; /* in front of the command, "" if there is none */
    bool is_answered;   /* the command has printed its answer but for the empty line */
    bool is_ended;      /* by quit */
} cm_gtp;

/* A command with at least `least` arguments. Its errors are answers, too: the message is what the controller gets. */
typedef struct cm_gtp_command {
    const char *name;
    int least;
    bool of_go; /* of no other game */
    cm_status (*run)(cm_gtp *gtp);
} cm_gtp_command;

/* Tables, each with a row without a name at its end. */
extern const cm_gtp_command cm_gtp_core[], cm_gtp_go[], cm_gtp_gogui[], cm_gtp_time[], cm_gtp_analyze[];

/* ---- arguments ---- */

/* Argument number `index`, from 1. Errors: CM_ERR_INPUT "syntax error". */
cm_status cm_gtp_colour(const cm_gtp *gtp, int index, int *player) CM_MUST_USE;
cm_status cm_gtp_vertex_of(const cm_gtp *gtp, int index, int32_t *action) CM_MUST_USE;
cm_status cm_gtp_int(const cm_gtp *gtp, int index, int *value) CM_MUST_USE;
cm_status cm_gtp_real(const cm_gtp *gtp, int index, double *value) CM_MUST_USE;

/* ---- moves ---- */

/* What the agent plays for a player, but for actions with barred[A] (NULL: none is); in Go a pass where nothing else is
 * left. Errors: CM_ERR_INPUT where the game is over or another player is to move; those of the search. */
cm_status cm_gtp_choose(cm_gtp *gtp, int player, const uint8_t *barred, int32_t *action) CM_MUST_USE;

/* Plays it and answers its vertex. */
cm_status cm_gtp_play_chosen(cm_gtp *gtp, int player, int32_t action) CM_MUST_USE;

#define CM_GTP_END                                                                                                     \
    { NULL, 0, false, NULL }
#endif
