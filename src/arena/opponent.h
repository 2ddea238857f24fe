/* Opponents by name: "random", "perfect", "mcts:N" with N rollouts, and agents of runs. */
#ifndef CM_ARENA_OPPONENT_H
#define CM_ARENA_OPPONENT_H

#include "arena/player.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_opponent_kind {
    CM_OPPONENT_AGENT, /* a text that is none of the others: the folder of a run */
    CM_OPPONENT_RANDOM,
    CM_OPPONENT_PERFECT,
    CM_OPPONENT_MCTS,
} cm_opponent_kind;

typedef struct cm_opponent {
    cm_opponent_kind kind;
    int rollouts; /* CM_OPPONENT_MCTS */
} cm_opponent;

/* Errors: CM_ERR_INPUT for "mcts" without a number of rollouts in range. */
cm_status cm_opponent_parse(const char *text, cm_opponent *out) CM_MUST_USE;

/* A player of that kind; agent: of a CM_OPPONENT_AGENT, else NULL. Errors: those of the player. */
cm_status cm_opponent_player(const cm_opponent *opponent, cm_agent *agent, const cm_env *env,
                             const cm_match_shape *shape, cm_player **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
