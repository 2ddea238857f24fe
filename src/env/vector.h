/* E instances of one environment, stepped in ranges that worker threads may own.
 *
 * The vector owns the states; results go to rows of the caller's arrays. Every function takes instances [first, first +
 * count), and calls on disjoint ranges may run concurrently. The arrays are those of the whole vector: row i belongs to
 * instance i. After a step the rows show the last observation of an episode that ended; cm_vector_env_reset_ended then
 * starts new episodes there. Nothing is allocated after create.
 *
 * Episode j of instance i starts with a generator seeded from (seed, CM_RNG_RESET, first_instance + i) and j alone. So
 * it does not depend on threads, ranks or the lengths of earlier episodes. Control tasks are a structure of arrays and
 * step in vector instructions; results equal those of env.h bit for bit.
 */
#ifndef CM_ENV_VECTOR_H
#define CM_ENV_VECTOR_H

#include "core/stop.h"
#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_vector_env cm_vector_env;

/* Rows to be filled; NULL where the caller does not want to know. All are owned by the caller. */
typedef struct cm_env_rows {
    float *observation;              /* [E, observation_size]                                          */
    uint8_t *legal;                  /* [E, A]; zeros after the end                                    */
    int32_t *to_play;                /* [E]                                                            */
    float *reward;                   /* [E], of the player who acted; reset leaves it alone            */
    uint8_t *terminated, *truncated; /* [E]; reset sets them to 0                         */
} cm_env_rows;

/* `instances` >= 1. `first_instance` is the number of instance 0 in the whole run (ranks). `env` is copied. */
cm_status cm_vector_env_create(const cm_env *env, int instances, uint64_t seed, uint64_t first_instance,
                               cm_vector_env **out) CM_MUST_USE;
void cm_vector_env_destroy(cm_vector_env *vector); /* NULL is allowed */
const cm_env *cm_vector_env_env(const cm_vector_env *vector);

/* New episodes for all of a range; only for those that have ended; for one instance with Gymnasium's reset(seed), whose
 * generator its later episodes go on with, as there; no checkpoint holds that they do. */
void cm_vector_env_reset(cm_vector_env *vector, int first, int count, const cm_env_rows *rows);
int cm_vector_env_reset_ended(cm_vector_env *vector, int first, int count, const cm_env_rows *rows); /* how many */
void cm_vector_env_reset_seed(cm_vector_env *vector, int instance, uint64_t seed, const cm_env_rows *rows);

/* From now on: once `stop` (borrowed; NULL, as at first: never) is asked, a step may leave instances where they are, so
 * that whoever has set it looks at it after the step. For environments whose steps are slow. */
void cm_vector_env_heed(cm_vector_env *vector, const cm_stop *stop);

/* Whether the last resets of a range have given episodes: those of a row with `failure` may not. Errors: its own. */
cm_status cm_vector_env_check_begun(const cm_vector_env *vector, int first, int count) CM_MUST_USE;

/* One step of each instance of the range. actions [E] (values [E, D]) are rows like the others. On an error (it names
 * the instance) no instance of the range has moved, unless it is what a step of actions gave: a
 * reward that is NaN (CM_ERR_NOT_FINITE) or beyond the spec's bounds (CM_ERR_INPUT). Errors: CM_ERR_INPUT illegal
 * action, CM_ERR_STATE after the end. */
cm_status cm_vector_env_step(cm_vector_env *vector, int first, int count, const int32_t *actions,
                             const cm_env_rows *rows) CM_MUST_USE;
cm_status cm_vector_env_step_value(cm_vector_env *vector, int first, int count, const float *values,
                                   const cm_env_rows *rows) CM_MUST_USE;

/* What the two check before any instance moves, for callers that step several ranges: actions, or values where
 * `actions` is NULL. */
cm_status cm_vector_env_check_step(const cm_vector_env *vector, int first, int count, const int32_t *actions,
                                   const float *values) CM_MUST_USE;

/* Control tasks, which step in vector instructions. */
bool cm_vector_env_has_lanes(const cm_vector_env *vector);

/* One step of a range of such a task where those whose episode has ended begin their next one instead, with reward 0
 * (Gymnasium's AutoresetMode.NEXT_STEP): in one pass. actions, or values where these are NULL, as above; those of
 * instances that have ended are not looked at. Errors: those of a step, and what has moved then is as there. */
cm_status cm_vector_env_step_next(cm_vector_env *vector, int first, int count, const int32_t *actions,
                                  const float *values, const cm_env_rows *rows) CM_MUST_USE;

/* Fills the rows of a range from the present states (after load or copy): everything but reward. */
void cm_vector_env_show(const cm_vector_env *vector, int first, int count, const cm_env_rows *rows);

/* Steps of an instance's episode so far. */
int cm_vector_env_steps(const cm_vector_env *vector, int instance);

/* The state block of one instance (env.h), for clones, pictures and search with true rules. [spec.state_size] */
void cm_vector_env_get(const cm_vector_env *vector, int instance, void *state);

/* legal[A] by the rules alone, for a search of a position where a time limit has ended the episode: rows show no legal
 * action there. The environment must have a legal mask, and the rules may not have ended. */
void cm_vector_env_rules_legal(const cm_vector_env *vector, int instance, uint8_t *legal);

/* Instance `to` of a vector goes on as instance `from` of another one of the same environment and options, episode
 * numbers and the generator of a named seed included; it keeps the seed that it was created with. */
void cm_vector_env_copy(cm_vector_env *vector, int to, const cm_vector_env *other, int from);

/* All states as bytes for a checkpoint: at most bytes[cm_vector_env_bytes], of so many instances bytes_of; save returns
 * how many, which are fewer where a row's states are in use in part. load refuses (CM_ERR_INPUT) what was not saved by
 * a vector of the same environment, options and size; the vector is then as it was. It refuses states that
 * cm_env_check_state does, too, naming the instance; the vector can then only be destroyed, or reset. */
size_t cm_vector_env_bytes(const cm_vector_env *vector);
size_t cm_vector_env_bytes_of(const cm_env *env, int instances);
size_t cm_vector_env_save(const cm_vector_env *vector, void *bytes);
cm_status cm_vector_env_load(cm_vector_env *vector, const void *bytes, size_t size) CM_MUST_USE;

/* Times `instances` of the environment under random legal actions through the functions above, one thread; `observes`:
 * every step writes its observation. */
cm_status cm_env_benchmark(const cm_env *env, int instances, bool observes, double seconds,
                           double *steps_per_second) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
