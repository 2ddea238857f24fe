/* A batch of environments, as its steps (vector.c) and its checkpoints (vector_saved.c) see it. */
#ifndef CM_ENV_VECTOR_INTERNAL_H
#define CM_ENV_VECTOR_INTERNAL_H

#include "core/arena.h"
#include "env/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cm_vector_env {
    cm_env env;
    int instances;
    int fields; /* doubles per instance where the rules' states are a structure of arrays, else 0 */
    uint64_t seed, first_instance;
    size_t data_bytes;  /* of the arrays from `rules` to `pending`: what a checkpoint holds       */
    char *rules;        /* [E] states of rules_size bytes, or [fields][E] doubles                 */
    cm_pcg64 *random;   /* [E]                                                                    */
    uint64_t *episodes; /* [E] numbered resets so far                                             */
    int32_t *steps;     /* [E]                                                                    */
    uint8_t *terminated, *truncated, *pending; /* [E]                                                 */
    cm_key *key;                               /* [E] of the seeds of its episodes */
    uint8_t *goes_on;    /* [E] a seed was named for it, whose generator its episodes go on with           */
    uint8_t *mask;       /* [E, A] legal actions of the present states; NULL where all are always  */
    const cm_stop *stop; /* borrowed; NULL: never */
    cm_arena arena;
};

/* Takes the arrays from an arena, and counts the bytes of those that a checkpoint holds. */
void cm_vector_env_lay_out(cm_vector_env *vector, cm_arena *arena);

/* Makes the masks of all instances from their states. */
void cm_vector_env_refresh_masks(cm_vector_env *vector);

/* Bytes of the rules' state of an instance that are in use. */
static inline size_t cm_vector_env_used(const cm_vector_env *vector, int i) {
    const cm_env *env = &vector->env;
    return env->def->used ? env->def->used(&env->params, vector->steps[i]) : env->spec.rules_size;
}

#ifdef __cplusplus
}
#endif
#endif
