/* What the files of acting share: acting.c (creation and steps), truncation_bootstrap.c (values of truncated episodes'
 * last observations) and acting_checkpoint.c (what is saved of it). */
#ifndef CM_AGENT_ACTING_INTERNAL_H
#define CM_AGENT_ACTING_INTERNAL_H

#include "agent/acting.h"
#include "core/arena.h"

typedef struct cm_acting_shard cm_acting_shard; /* environments whose searches are one run of a planner */

/* Truncated episodes of a shard whose last observations are searched: a few by a planner of their own, so that the
 * search of the shard's next step is in flight with theirs; more, as where all episodes are equally long, by the
 * shard's. */
typedef struct cm_truncation_bootstraps {
    int rows;             /* of a shard; 0: none are ever truncated */
    int count;            /* those that wait */
    cm_planner *few;      /* owned */
    cm_planner *searcher; /* that searches those that wait, and has their observations: `few` or the shard's */
    int32_t *environment; /* [rows], like all that follows */
    int32_t *to_play;
    cm_key *keys;
    uint64_t *steps;
    float *value;
    uint8_t *legal; /* [rows, A], NULL if every action always is */
} cm_truncation_bootstraps;

struct cm_actor {
    cm_actor_config config;
    int shard_count;
    bool double_buffers;     /* all workers play the rows of one shard after the other; else each shard has one */
    cm_acting_shard *shards; /* [shard_count], owned */
    cm_vector_env *vector;   /* owned */
    cm_arena arena;          /* of all arrays, owned */
    double temperature;      /* of the iteration that runs */
    double random_moves;     /* of it: the probability that a random move begins */

    /* rows of all environments */
    cm_env_rows rows;
    int32_t *action; /* [E] */

    /* state of the run */
    uint64_t step;         /* steps of each environment so far */
    int64_t episodes;      /* finished */
    int64_t simulations;   /* of this process */
    double seconds;        /* of its workers */
    double searching;      /* of these */
    cm_episode *open;      /* [E] */
    cm_episode *ended;     /* [steps, E] episodes that ended in the iteration; length 0: none */
    int recent, next;      /* filled and next place of the ring */
    double *recent_return; /* [CM_RECENT_EPISODES] */
    double *recent_length; /* [CM_RECENT_EPISODES] */
};

/* truncation_bootstrap.c: the arrays of a shard of so many rows; the planner of a few, which the shard destroys. */
void cm_truncation_bootstraps_alloc(const cm_actor *actor, cm_arena *arena, int rows, cm_truncation_bootstraps *out);
cm_status cm_truncation_bootstraps_open(const cm_actor *actor, cm_truncation_bootstraps *bootstraps) CM_MUST_USE;
/* The `count` observations that are added next are searched by a planner of their own, if it has the space, else by
 * `shard`'s, which is idle until they are settled: false. */
bool cm_truncation_bootstraps_expect(cm_truncation_bootstraps *bootstraps, int count, cm_planner *shard);
/* Adds the last observation that an environment shows, before it is reset. */
void cm_truncation_bootstraps_add(const cm_actor *actor, cm_truncation_bootstraps *bootstraps, int environment,
                                  cm_key key, uint64_t step);
cm_status cm_truncation_bootstraps_begin(cm_truncation_bootstraps *bootstraps) CM_MUST_USE;
/* Finishes the episodes in the replay, once the searcher has ended. */
cm_status cm_truncation_bootstraps_finish(const cm_actor *actor, cm_truncation_bootstraps *bootstraps) CM_MUST_USE;

#endif
