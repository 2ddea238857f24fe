/* The handle of cumind.h's environments, for the agents that look at them. */
#ifndef CM_API_ENV_H
#define CM_API_ENV_H

#include "api/api.h"
#include "core/arena.h"
#include "env/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cumind_env {
    cm_api_guard guard;
    cm_env env;
    int instances;
    cm_vector_env *vector; /* owned */
    cumind_env_arrays arrays;
    uint8_t *ended; /* [n] whose episode has ended: the arrays above are the caller's to write to */
    int32_t *moves; /* [n] actions that were given in 64 bits */
    void *state;    /* a state block, to look at */
    cm_arena arena; /* of all arrays; owned */
};

/* A handle of `instances` >= 1 of an environment that is open. Errors: CM_ERR_INPUT, CM_ERR_MEMORY. */
cm_status cm_api_make_env(const cm_env *env, int instances, uint64_t seed, cumind_env **out) CM_MUST_USE;

/* CM_ERR_INPUT unless first .. first + count - 1 are instances, at least one. */
cm_status cm_api_check_instances(const cumind_env *env, int first, int count) CM_MUST_USE;

#ifdef __cplusplus
}
#endif

#endif
