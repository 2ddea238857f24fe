/* Players: they decide the moves of a match (arena/match.h).
 *
 * A player decides for many games at once. Games are divided over shards; each shard is played by one thread at a time,
 * as a worker of its own. A player keeps one set of memory per worker: an agent a planner, a solver its tables. A move
 * may depend on the game's position, key and step alone. So results do not depend on threads or on other games.
 *
 * Kinds: the agent of a run and a uniform player (here), exact play (arena/perfect.h), plain tree search with random
 * rollouts (arena/uct.h).
 */
#ifndef CM_ARENA_PLAYER_H
#define CM_ARENA_PLAYER_H

#include "agent/agent.h"
#include "arena/time_limit.h"
#include "core/rng.h"
#include "core/stop.h"
#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How games are divided: a player is made for one shape. */
typedef struct cm_match_shape {
    int shards;  /* played concurrently                           */
    int rows;    /* games that a shard plays at once                  */
    int workers; /* turns that are decided at the same time, at most  */
} cm_match_shape;

/* The worker of shard `task`, which is played by `thread`. */
static inline int cm_match_worker(const cm_match_shape *shape, int task, int thread) {
    return shape->workers < shape->shards ? thread : task;
}

/* Positions of one shard in which the same player is to move. States that have not ended, borrowed. */
typedef struct cm_turn {
    int worker;
    int count;                 /* n, 1 .. rows                                       */
    const void *const *states; /* [n] state blocks of the environment                */
    const cm_key *keys;        /* [n] random key of each game                        */
    const uint64_t *steps;     /* [n] moves made in the game: counter of its numbers */
    int32_t *actions;          /* [n] out: a legal action each                       */
    const cm_stop *stop;       /* asked: `choose` may end with CM_ERR_INTERRUPTED; NULL: never asked */
} cm_turn;

typedef struct cm_player cm_player;
struct cm_player {
    cm_status (*choose)(cm_player *player, const cm_turn *turn); /* turns of different workers may run at once */
    void (*destroy)(cm_player *player);
    size_t bytes;         /* of memory that it takes */
    cm_time_control time; /* of an agent, set before its first turn: how long it may think about all games of a turn */
};

void cm_player_destroy(cm_player *player); /* NULL is allowed */

/* The agent's greedy search: the most visited action, ties and all as cm_agent_decide decides without training.
 * Agent and environment are borrowed. The caller owns every player. */
cm_status cm_player_agent(cm_agent *agent, const cm_env *env, const cm_match_shape *shape, cm_player **out) CM_MUST_USE;

/* Draws uniformly among the legal actions. */
cm_status cm_player_random(const cm_env *env, cm_player **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
