/* What the files of acting share: acting.c (creation and steps) and acting_checkpoint.c (what is saved of it). */
#ifndef CM_AGENT_ACTING_INTERNAL_H
#define CM_AGENT_ACTING_INTERNAL_H

#include "agent/acting.h"
#include "core/arena.h"

typedef struct cm_acting_shard cm_acting_shard; /* environments whose searches are one run of a planner */

/* An environment's open episode. */
typedef struct cm_acting_episode {
    double total;
    int64_t length;
} cm_acting_episode;

struct cm_actor {
    cm_actor_config config;
    int shard_count;
    bool in_turns;           /* one worker plays all shards, in turns; else each shard has one */
    cm_acting_shard *shards; /* [shard_count], owned */
    cm_vector_env *vector;   /* owned */
    cm_arena arena;          /* of all arrays, owned */
    double temperature;      /* of the iteration that runs */
    double random_moves;     /* of it: the probability that a random move begins */

    /* rows of all environments */
    cm_env_rows rows;
    int32_t *action; /* [E] */

    /* state of the run */
    uint64_t step;            /* steps of each environment so far */
    int64_t episodes;         /* finished */
    int64_t simulations;      /* of this process */
    double seconds;           /* of its workers */
    double searching;         /* of these */
    cm_acting_episode *open;  /* [E] */
    cm_acting_episode *ended; /* [steps, E] episodes that ended in the iteration; length 0: none */
    int recent, next;         /* filled and next place of the ring */
    double *recent_return;    /* [CM_RECENT_EPISODES] */
    double *recent_length;    /* [CM_RECENT_EPISODES] */
};

#endif
