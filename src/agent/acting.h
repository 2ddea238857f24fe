/* Self-play: E environments act with an agent, and their steps go into a replay.
 *
 * Environments are divided into shards (cm_agent_shard_rows). One worker plays a shard through all steps of an
 * iteration. If searches run on a device, self-play is double-buffered: the shards are two halves of the environments
 * (one shard below CM_DOUBLE_BUFFERS_FROM), which one worker interleaves. While the device searches for one half, the
 * other half steps and appends to the replay. Noise and moves depend on (seed, number of the environment, step) alone,
 * so threads change nothing.
 *
 * A truncated episode is bootstrapped with the value of a search at its last observation. A few such searches run
 * with that of the next step (truncation_bootstrap.c).
 *
 * With reuse_tree a search continues the tree below the move that was played. An iteration has new weights and begins
 * with fresh trees, so no checkpoint contains a tree.
 */
#ifndef CM_AGENT_ACTING_H
#define CM_AGENT_ACTING_H

#include "agent/agent.h"
#include "core/file.h"
#include "core/stop.h"
#include "env/vector.h"
#include "replay/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CM_RECENT_EPISODES = 32,
    CM_DOUBLE_BUFFERS_FROM = 128, /* environments: a half of fewer is no faster to search than all */
};

typedef struct cm_actor_config {
    cm_agent *agent; /* borrowed, like all pointers here */
    const cm_env *env;
    cm_replay *replay; /* of as many `environments` and commit_steps >= steps */
    cm_pool *pool;
    int environments;           /* E */
    uint64_t first_environment; /* number of environment 0 in the whole run */
    int steps;                  /* of every environment in one iteration */
    int random_move_steps;      /* >= 1, steps that it lasts */
    int64_t random_first_steps; /* of every environment since the start of the run, whose moves are random */
    int temperature_threshold;  /* moves of an episode after which the temperature is 0; 0: never */
    bool reuse_tree;            /* searches on rules under PUCT go on with the sub-trees of the moves played */
    bool at_once;               /* on a device: one search of all environments, no halves; to measure what these gain */
    uint64_t seed;
    const cm_stop *stop; /* acting is broken off when it is asked; NULL: never */
} cm_actor_config;

typedef struct cm_actor cm_actor;

/* All environments begin new episodes. Takes all memory. The caller owns it. */
cm_status cm_actor_create(const cm_actor_config *config, cm_actor **out) CM_MUST_USE;
void cm_actor_destroy(cm_actor *actor); /* NULL is allowed */

/* Between iterations: its searches are made by new planners of the agent, as after new ranges of its network
 * (cm_network_set_ranges). Errors: those of planners; after one the actor can only be destroyed. */
cm_status cm_actor_replan(cm_actor *actor) CM_MUST_USE;

typedef struct cm_actor_counts {
    int64_t env_steps;   /* of all environments, since the start of the run */
    int64_t episodes;    /* finished */
    int64_t simulations; /* of this process */
    double seconds;      /* that workers of this process acted, together */
    double searching;    /* of these: in searches, or waiting for those of a device */
    int recent;          /* episodes behind the means below, at most CM_RECENT_EPISODES */
    double mean_return;  /* of the last ones; two players: from the view of player 0. NAN if there are none */
    double mean_length;
} cm_actor_counts;

/* One iteration: every environment acts `steps` steps. Commits nothing. Errors: those of search, environment and
 * replay, and CM_ERR_INTERRUPTED; after one the actor can only be destroyed. Nothing is appended to the replay by an
 * environment that comes back after `stop` was asked. Allocates nothing. */
cm_status cm_actor_run(cm_actor *actor, double temperature, double random_moves) CM_MUST_USE;
void cm_actor_count(const cm_actor *actor, cm_actor_counts *out);

/* An episode, open or ended. */
typedef struct cm_episode {
    double total;   /* sum of rewards; two players: from the view of player 0 */
    int64_t length; /* steps; 0: there is no such episode */
} cm_episode;

/* Those that ended in the last iteration, in the order in which they count: *count places, owned by the actor, of which
 * those of length 0 are empty. As many in every iteration. NULL has none. */
const cm_episode *cm_actor_ended(const cm_actor *actor, int64_t *count);

/* Whether it was by an environment that the last cm_actor_run failed. */
bool cm_actor_env_failed(const cm_actor *actor);

/* For checkpoints: environments, counters, recent episodes as at most bytes[cm_actor_bytes], of which no more are
 * written than save returns; NULL has 0. */
size_t cm_actor_bytes(const cm_actor *actor);
size_t cm_actor_save(const cm_actor *actor, void *bytes);

/* Goes on from what `count` actors have saved, whose environments, in this order, are all of the run, `all` of them:
 * the actor takes those of its own numbers. If they are just the environments of one of these it takes its counters,
 * too. Else the actor of environment 0 takes the finished episodes of all and the most recent ones, and the others
 * begin with none. Errors: CM_ERR_INPUT if one is of another task or size, CM_ERR_MEMORY; the actor may have changed by
 * then. */
cm_status cm_actor_load(cm_actor *actor, int64_t all, const cm_file_bytes *saved, int count) CM_MUST_USE;

/* Memory of searches and passes, for the plan that a run prints; NULL has 0. */
size_t cm_actor_memory(const cm_actor *actor);

#ifdef __cplusplus
}
#endif
#endif
