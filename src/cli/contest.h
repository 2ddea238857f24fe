/* Opponents as flags name them: opened, seated, and checked to play the same game. */
#ifndef CM_CLI_CONTEST_H
#define CM_CLI_CONTEST_H

#include "arena/match.h"
#include "arena/opponent.h"
#include "cli/loaded.h"
#include "cli/ticker.h"

/* A participant. */
typedef struct cm_entrant {
    const char *name; /* cm_argument_written; borrowed                         */
    cm_opponent opponent;
    cm_loaded loaded;  /* of a run, owned; empty for the others                 */
    cm_player *player; /* owned; NULL until seated                             */
} cm_entrant;

/* Opens the run, if it is one, with the checkpoint that plays. `flag` names the place in errors. Errors: CM_ERR_INPUT
 * for a name that means nothing; those of reading the run. Nothing is left open then. */
cm_status cm_entrant_open(const cm_arguments *arguments, const char *flag, const char *name,
                          cm_entrant *out) CM_MUST_USE;
void cm_entrant_close(cm_entrant *entrant); /* leaves it empty */

/* Makes the player. Errors: CM_ERR_INPUT if the entrant's run plays another game than `env`, `other` being whose game
 * that is; those of the player. */
cm_status cm_entrant_seat(cm_entrant *entrant, const cm_env *env, const char *other,
                          const cm_match_shape *shape) CM_MUST_USE;

/* CM_ERR_INPUT unless `env` is a game of two players whose length is bounded. */
cm_status cm_contest_check(const char *command, const cm_env *env) CM_MUST_USE;

/* The flags --games (default 100, even) and --opening (default `opening`; -1: what suits players that never vary: 4
 * moves, or a quarter of the longest game if that is less). */
typedef struct cm_contest_size {
    int games, opening;
} cm_contest_size;
cm_status cm_contest_size_of(const cm_arguments *arguments, const cm_env *env, int opening,
                             cm_contest_size *out) CM_MUST_USE;

#define CM_FLAGS_CONTEST                                                                                               \
    {"--games", "N", "Games of a pairing, an even number: each side moves first in half of them; 100."}, {             \
        "--opening", "N",                                                                                              \
            "Moves drawn at random before the players begin, the same in the games 2k and 2k + 1. Between agents, "    \
            "who "                                                                                                     \
            "never vary, 4 (less in short games); else 0."                                                             \
    }
#endif
