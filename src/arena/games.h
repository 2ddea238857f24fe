/* Finished games, as a match or exhaustive play leaves them, and the statistics of their results. */
#ifndef CM_ARENA_GAMES_H
#define CM_ARENA_GAMES_H

#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* G episodes of two sides, "we" and "they"; with one player all is ours. The arrays belong to their maker. */
typedef struct cm_games {
    int count;        /* G                                                                             */
    int stride;       /* most moves of a game; 0: moves are not kept                                   */
    int16_t *moves;   /* [G, stride] actions of both sides in turn                                     */
    int32_t *length;  /* [G] moves made                                                                */
    int32_t *opening; /* [G] how many of them, from the start, were drawn at random and no player's choice */
    uint8_t *theirs;  /* [G] 1 where they move first                               */
    double *result;   /* [G] sum of our rewards less theirs; of a board game 1, 0 or -1                */
} cm_games;

/* Of a list of results. */
typedef struct cm_evaluation {
    int episodes;
    double mean, std, min, max; /* std: of the sample (n - 1), 0 for one episode */
    double low, high;           /* 95 % interval of the mean: mean -+ 1.96 std / sqrt(n), the normal approximation */
    double mean_length;         /* steps, both players' */
    int64_t steps;
    int wins, draws, losses; /* results above, at, below 0; for games of two players */
} cm_evaluation;

/* Statistics of results[n], n >= 1; lengths and steps are left 0. */
void cm_evaluation_summarise(const double *results, int n, cm_evaluation *out);

/* What an episode brings at least and at most, as far as the bounds of its steps tell; with two players the reward of
 * the other one is a loss. May be infinite. */
void cm_evaluation_bounds(const cm_env_spec *spec, double *low, double *high);

/* Clips the interval to what an episode can bring: the normal approximation overshoots where most results are the best
 * ones (Brown, Cai, DasGupta 2001, Statistical Science 16, 101-133, who truncate it so). The bounds are those of one
 * step where no result went beyond them, as in games and where the end alone is rewarded, else those above. Wilson's
 * interval, which never overshoots, is for shares (cli/eval_positions.c): it never has the best mean in its inside, so
 * that a goal of the highest return would never be confirmed. */
void cm_evaluation_clip(const cm_env_spec *spec, cm_evaluation *evaluation);

typedef struct cm_side_score {
    int games, wins, draws, losses;
} cm_side_score;

typedef struct cm_score {
    cm_evaluation all;
    cm_side_score first, second; /* games in which we, or they, moved first */
} cm_score;

/* Of games->count >= 1 games. */
void cm_games_score(const cm_games *games, cm_score *out);

/* Writes one JSON object per game and line, in order: {"moves": [...], "first": NAME, "rewards": [r0, r1]}, NAME being
 * `ours` or `theirs` and r0 the reward of the player who moved first. The file appears as a whole. Errors: CM_ERR_IO;
 * CM_ERR_STATE if moves are not kept. */
cm_status cm_games_save(const cm_games *games, const char *ours, const char *theirs, const char *path) CM_MUST_USE;

/* Reads games of `env` from such a file; names are not looked at, and all players who move first are "we". Errors:
 * CM_ERR_INPUT "PATH:LINE: what", also for an illegal move, and for a game whose length has no bound; CM_ERR_IO;
 * CM_ERR_MEMORY. The caller frees *out; it is empty after an error. */
cm_status cm_games_read(const char *path, const cm_env *env, cm_games *out) CM_MUST_USE;
void cm_games_free(cm_games *games); /* leaves it empty; not for the games of a match, which are its own */

#ifdef __cplusplus
}
#endif
#endif
