#include "env/vector.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "env/seeding.h"
#include "env/vector_internal.h"

enum {
    CHUNK = CM_ENV_TOGETHER,
    OBSERVATION_LIMIT = 8
}; /* control tasks: instances stepped at once, observed numbers at most */

/* ---- memory ---- */

void cm_vector_env_lay_out(cm_vector_env *vector, cm_arena *arena) {
    size_t n = (size_t)vector->instances;
    vector->rules = (char *)cm_arena_alloc(arena, n * vector->env.spec.rules_size);
    vector->random = (cm_pcg64 *)cm_arena_alloc(arena, n * sizeof *vector->random);
    vector->episodes = (uint64_t *)cm_arena_alloc(arena, n * sizeof *vector->episodes);
    vector->steps = (int32_t *)cm_arena_alloc(arena, n * sizeof *vector->steps);
    vector->terminated = (uint8_t *)cm_arena_alloc(arena, n);
    vector->truncated = (uint8_t *)cm_arena_alloc(arena, n);
    vector->pending = (uint8_t *)cm_arena_alloc(arena, n);
    vector->data_bytes = arena->used;
    vector->key = (cm_key *)cm_arena_alloc(arena, n * sizeof *vector->key);
    vector->goes_on = (uint8_t *)cm_arena_alloc(arena, n);
    vector->mask = NULL;
    if (vector->env.def->legal) vector->mask = (uint8_t *)cm_arena_alloc(arena, n * (size_t)vector->env.spec.actions);
}

cm_status cm_vector_env_create(const cm_env *env, int instances, uint64_t seed, uint64_t first_instance,
                               cm_vector_env **out) {
    *out = NULL;
    if (instances < 1)
        return cm_fail(CM_ERR_INPUT, "%s: needs at least one instance, got %d", env->spec.name, instances);
    cm_vector_env *vector;
    CM_TRY(cm_alloc(&vector, 1, sizeof *vector, "a vector of environments"));
    vector->env = *env;
    vector->instances = instances;
    vector->seed = seed, vector->first_instance = first_instance;
    vector->fields = env->def->step_lanes ? (int)(env->spec.rules_size / sizeof(double)) : 0;
    cm_arena measure = {NULL, SIZE_MAX, 0};
    cm_vector_env_lay_out(vector, &measure);
    cm_status status = cm_arena_create(&vector->arena, measure.used, env->spec.name);
    if (status != CM_OK) {
        free(vector);
        return status;
    }
    cm_vector_env_lay_out(vector, &vector->arena);
    for (int i = 0; i < instances; i++) vector->key[i] = cm_key_make(seed, CM_RNG_RESET, first_instance + (uint64_t)i);
    const cm_env_rows none = {NULL, NULL, NULL, NULL, NULL, NULL};
    cm_vector_env_reset(vector, 0, instances, &none);
    *out = vector;
    return CM_OK;
}

void cm_vector_env_destroy(cm_vector_env *vector) {
    if (!vector) return;
    cm_arena_destroy(&vector->arena);
    free(vector);
}

void cm_vector_env_heed(cm_vector_env *vector, const cm_stop *stop) { vector->stop = stop; }

const cm_env *cm_vector_env_env(const cm_vector_env *vector) { return &vector->env; }

/* ---- one instance ---- */

static bool has_ended(const cm_vector_env *vector, int i) { return vector->terminated[i] | vector->truncated[i]; }

static double *field_of(const cm_vector_env *vector, int field) {
    return (double *)(void *)vector->rules + (size_t)field * (size_t)vector->instances;
}

/* The rules' state of an instance: where it is, or gathered into `scratch`. */
static const void *rules_at(const cm_vector_env *vector, int i, double scratch[CM_ENV_FIELDS]) {
    if (vector->fields == 0) return vector->rules + (size_t)i * vector->env.spec.rules_size;
    for (int f = 0; f < vector->fields; f++) scratch[f] = field_of(vector, f)[i];
    return scratch;
}

/* Of an instance whose steps are known. */
static void put_rules(cm_vector_env *vector, int i, const void *rules) {
    if (vector->fields == 0) {
        memcpy(vector->rules + (size_t)i * vector->env.spec.rules_size, rules, cm_vector_env_used(vector, i));
        return;
    }
    for (int f = 0; f < vector->fields; f++) field_of(vector, f)[i] = ((const double *)rules)[f];
}

/* Brings the kept mask up to date with a state. */
static void refresh_mask(cm_vector_env *vector, int i, const void *rules) {
    if (!vector->mask) return;
    size_t actions = (size_t)vector->env.spec.actions;
    uint8_t *mask = vector->mask + (size_t)i * actions;
    if (has_ended(vector, i)) {
        memset(mask, 0, actions);
    } else {
        vector->env.def->legal(&vector->env.params, rules, mask);
    }
}

void cm_vector_env_refresh_masks(cm_vector_env *vector) {
    double scratch[CM_ENV_FIELDS];
    for (int i = 0; i < vector->instances; i++) refresh_mask(vector, i, rules_at(vector, i, scratch));
}

void cm_vector_env_get(const cm_vector_env *vector, int instance, void *state) {
    double scratch[CM_ENV_FIELDS];
    cm_env_common common;
    memset(&common, 0, sizeof common);
    common.random = vector->random[instance], common.steps = vector->steps[instance];
    common.terminated = vector->terminated[instance], common.truncated = vector->truncated[instance];
    common.pending = vector->pending[instance];
    memcpy(state, &common, sizeof common);
    memcpy(cm_env_rules(state), rules_at(vector, instance, scratch), cm_vector_env_used(vector, instance));
}

int cm_vector_env_steps(const cm_vector_env *vector, int instance) { return vector->steps[instance]; }

void cm_vector_env_copy(cm_vector_env *vector, int to, const cm_vector_env *other, int from) {
    double scratch[CM_ENV_FIELDS];
    const void *rules = rules_at(other, from, scratch);
    vector->random[to] = other->random[from], vector->episodes[to] = other->episodes[from];
    vector->steps[to] = other->steps[from], vector->pending[to] = other->pending[from];
    vector->terminated[to] = other->terminated[from], vector->truncated[to] = other->truncated[from];
    vector->goes_on[to] = other->goes_on[from];
    put_rules(vector, to, rules);
    refresh_mask(vector, to, rules);
}

void cm_vector_env_rules_legal(const cm_vector_env *vector, int instance, uint8_t *legal) {
    double scratch[CM_ENV_FIELDS];
    vector->env.def->legal(&vector->env.params, rules_at(vector, instance, scratch), legal);
}

static void show_one(const cm_vector_env *vector, int i, const void *rules, const cm_env_rows *rows) {
    const cm_env *env = &vector->env;
    size_t actions = (size_t)env->spec.actions, width = (size_t)env->spec.observation_size;
    if (rows->observation) cm_env_observe_rules(env, rules, rows->observation + (size_t)i * width);
    if (rows->terminated) rows->terminated[i] = vector->terminated[i];
    if (rows->truncated) rows->truncated[i] = vector->truncated[i];
    if (rows->to_play) rows->to_play[i] = env->def->to_play ? env->def->to_play(&env->params, rules) : 0;
    if (rows->legal && vector->mask) {
        memcpy(rows->legal + (size_t)i * actions, vector->mask + (size_t)i * actions, actions);
    } else if (rows->legal) {
        memset(rows->legal + (size_t)i * actions, !has_ended(vector, i), actions);
    }
}

void cm_vector_env_show(const cm_vector_env *vector, int first, int count, const cm_env_rows *rows) {
    double scratch[CM_ENV_FIELDS];
    for (int i = first; i < first + count; i++) show_one(vector, i, rules_at(vector, i, scratch), rows);
}

/* ---- reset ---- */

/* A new episode of an instance whose generator is at its start; `named`: of a seed that other code is to be given. */
static void begin(cm_vector_env *vector, int i, const uint64_t *named, const cm_env_rows *rows) {
    const cm_env *env = &vector->env;
    double scratch[CM_ENV_FIELDS];
    void *rules = vector->fields > 0 ? (void *)scratch : vector->rules + (size_t)i * env->spec.rules_size;
    vector->steps[i] = 0;
    vector->terminated[i] = vector->truncated[i] = vector->pending[i] = 0;
    if (named && env->def->reset_to) {
        env->def->reset_to(&env->params, rules, *named);
    } else {
        env->def->reset(&env->params, rules, &vector->random[i]);
    }
    if (vector->fields > 0) put_rules(vector, i, rules);
    refresh_mask(vector, i, rules);
    show_one(vector, i, rules, rows);
}

/* The next episode of each of `count` instances; its seed depends on instance and episode number alone, but where the
 * generator of a named one goes on. */
static void begin_next(cm_vector_env *vector, const int *instance, int count, const cm_env_rows *rows) {
    cm_key key[CM_SEED_LANES] = {{{0, 0}}};
    uint64_t episode[CM_SEED_LANES] = {0};
    cm_pcg64 random[CM_SEED_LANES];
    for (int k = 0; k < count; k++) key[k] = vector->key[instance[k]], episode[k] = vector->episodes[instance[k]]++;
    cm_episode_generators(key, episode, count, random);
    for (int k = 0; k < count; k++) {
        if (!vector->goes_on[instance[k]]) vector->random[instance[k]] = random[k];
        begin(vector, instance[k], NULL, rows);
    }
}

/* Bit k: instance first + k has ended, k < 64; flags are 0 or 1, and eight of them become bits by one product. */
static uint64_t ended_bits(const cm_vector_env *vector, int first) {
    uint64_t bits = 0;
    for (int word = 0; word < 8; word++) {
        uint64_t terminated, truncated;
        memcpy(&terminated, vector->terminated + first + 8 * word, sizeof terminated);
        memcpy(&truncated, vector->truncated + first + 8 * word, sizeof truncated);
        bits |= ((terminated | truncated) * 0x0102040810204080u >> 56) << (8 * word);
    }
    return bits;
}

/* The numbers of at most CHUNK instances, of all or of those that have ended, into chosen[CHUNK + 1]; returns how many.
 */
static int choose(const cm_vector_env *vector, int first, int count, bool all, int *chosen) {
    int n = 0, i = first;
    for (; !all && i + 64 <= first + count; i += 64)
        for (uint64_t bits = ended_bits(vector, i); bits; bits &= bits - 1) chosen[n++] = i + __builtin_ctzll(bits);
    for (; i < first + count; i++) { /* without a branch, which could not be predicted */
        chosen[n] = i;
        n += all | has_ended(vector, i);
    }
    return n;
}

static void begin_chosen(cm_vector_env *vector, const int *chosen, int count, const cm_env_rows *rows) {
    for (int k = 0; k < count; k += CM_SEED_LANES)
        begin_next(vector, chosen + k, count - k < CM_SEED_LANES ? count - k : CM_SEED_LANES, rows);
}

/* Starts episodes of a range, of all its instances or of those that have ended; returns how many. */
static int begin_range(cm_vector_env *vector, int first, int count, bool all, const cm_env_rows *rows) {
    int chosen[CHUNK + 1] = {0}, begun = 0;
    for (int at = first; at < first + count; at += CHUNK) {
        const int n = choose(vector, at, first + count - at < CHUNK ? first + count - at : CHUNK, all, chosen);
        begin_chosen(vector, chosen, n, rows);
        begun += n;
    }
    return begun;
}

void cm_vector_env_reset(cm_vector_env *vector, int first, int count, const cm_env_rows *rows) {
    begin_range(vector, first, count, true, rows);
}

int cm_vector_env_reset_ended(cm_vector_env *vector, int first, int count, const cm_env_rows *rows) {
    return begin_range(vector, first, count, false, rows);
}

void cm_vector_env_reset_seed(cm_vector_env *vector, int instance, uint64_t seed, const cm_env_rows *rows) {
    cm_pcg64_seed(&vector->random[instance], seed);
    vector->goes_on[instance] = 1;
    begin(vector, instance, &seed, rows);
}

cm_status cm_vector_env_check_begun(const cm_vector_env *vector, int first, int count) {
    const cm_env *env = &vector->env;
    double scratch[CM_ENV_FIELDS];
    for (int i = first; env->def->failure && i < first + count; i++) {
        const cm_status status = env->def->failure(&env->params, rules_at(vector, i, scratch));
        if (status != CM_OK) return cm_fail_in(status, "%s: instance %d", env->spec.name, i);
    }
    return CM_OK;
}

/* ---- step ---- */

static cm_status check_one(const cm_vector_env *vector, int i, const int32_t *actions) {
    const cm_env_spec *spec = &vector->env.spec;
    if (has_ended(vector, i)) {
        return cm_fail(CM_ERR_STATE, "%s: instance %d: step after the end of its episode; reset it first", spec->name,
                       i);
    }
    if (vector->pending[i]) {
        return cm_fail(CM_ERR_STATE, "%s: instance %d: a chance outcome is due first", spec->name, i);
    }
    if (!actions) return CM_OK;
    if (actions[i] < 0 || actions[i] >= spec->actions) {
        return cm_fail(CM_ERR_INPUT, "%s: instance %d: action %d is not in [0, %d)", spec->name, i, actions[i],
                       spec->actions);
    }
    const uint8_t *mask = vector->mask ? vector->mask + (size_t)i * (size_t)spec->actions : NULL;
    if (!mask || mask[actions[i]]) return CM_OK;
    if (memchr(mask, 1, (size_t)spec->actions))
        return cm_fail(CM_ERR_INPUT, "%s: instance %d: action %d is illegal here", spec->name, i, actions[i]);
    return cm_fail(CM_ERR_INPUT, "%s: instance %d: its legal allows no action, and the episode goes on", spec->name, i);
}

/* Nothing may move if any action of the range is wrong. */
static cm_status check_range(const cm_vector_env *vector, int first, int count, const int32_t *actions) {
    unsigned wrong = vector->mask != NULL, limit = (unsigned)vector->env.spec.actions;
    const uint8_t *terminated = vector->terminated, *truncated = vector->truncated, *pending = vector->pending;
    for (int i = first; i < first + count; i++) wrong |= (unsigned)(terminated[i] | truncated[i] | pending[i]);
    for (int i = first; actions && i < first + count; i++) wrong |= (unsigned)actions[i] >= limit;
    for (int i = first; wrong && i < first + count; i++) CM_TRY(check_one(vector, i, actions));
    return CM_OK;
}

cm_status cm_vector_env_check_step(const cm_vector_env *vector, int first, int count, const int32_t *actions,
                                   const float *values) {
    const int size = vector->env.spec.action_size;
    CM_TRY(check_range(vector, first, count, actions));
    if (actions) return CM_OK;
    if (size == 0) return cm_fail(CM_ERR_INPUT, "%s: its actions are discrete", vector->env.spec.name);
    for (size_t i = (size_t)first * (size_t)size; i < (size_t)(first + count) * (size_t)size; i++)
        if (isnan(values[i]))
            return cm_fail(CM_ERR_INPUT, "%s: instance %zu: the action is NaN", vector->env.spec.name,
                           i / (size_t)size);
    return CM_OK;
}

/* legal[count, actions]: zeros in the rows of what has ended, else ones. */
static inline void show_legal(uint8_t *restrict legal, const uint8_t *restrict terminated,
                              const uint8_t *restrict truncated, int count, int actions) {
    for (int i = 0; i < count; i++)
        for (int a = 0; a < actions; a++) legal[i * actions + a] = !(terminated[i] | truncated[i]);
}

/* Counts a step of `count` instances, sets truncated, and fills the rows that depend on no rules. */
static void finish_lanes(cm_vector_env *vector, int first, int count, const cm_env_rows *rows) {
    const int32_t limit = vector->env.spec.max_steps > 0 ? vector->env.spec.max_steps : INT32_MAX;
    const int actions = vector->env.spec.actions;
    int32_t *restrict steps = vector->steps + first;
    uint8_t *restrict truncated = vector->truncated + first;
    const uint8_t *restrict terminated = vector->terminated + first;
    for (int i = 0; i < count; i++) steps[i]++;
    for (int i = 0; i < count; i++) truncated[i] = steps[i] >= limit;
    if (rows->terminated) memcpy(rows->terminated + first, terminated, (size_t)count);
    if (rows->truncated) memcpy(rows->truncated + first, truncated, (size_t)count);
    if (rows->to_play) memset(rows->to_play + first, 0, (size_t)count * sizeof *rows->to_play);
    if (!rows->legal) return;
    uint8_t *legal = rows->legal + (size_t)first * (size_t)actions;
    if (actions == 2) { /* a number that the compiler knows makes a vector of the rows */
        show_legal(legal, terminated, truncated, count, 2);
    } else {
        show_legal(legal, terminated, truncated, count, actions);
    }
}

/* One step of control tasks as a structure of arrays. */
static void step_lanes(cm_vector_env *vector, int first, int count, const int32_t *action, const float *value,
                       const cm_env_rows *rows) {
    const cm_env *env = &vector->env;
    const size_t width = (size_t)env->spec.observation_size;
    float reward[CHUNK], observation[CHUNK * OBSERVATION_LIMIT];
    cm_env_lanes lanes;
    memset(&lanes, 0, sizeof lanes);
    lanes.count = count, lanes.action = action, lanes.value = value;
    for (int f = 0; f < vector->fields; f++) lanes.field[f] = field_of(vector, f) + first;
    lanes.observation = rows->observation ? rows->observation + (size_t)first * width : observation;
    lanes.reward = rows->reward ? rows->reward + first : reward;
    lanes.terminated = vector->terminated + first;
    env->def->step_lanes(&env->params, &lanes);
    finish_lanes(vector, first, count, rows);
}

/* What a step has led to. */
static void finish_one(cm_vector_env *vector, int i, const cm_env_outcome *out, const cm_env_rows *rows) {
    const cm_env *env = &vector->env;
    const void *rules = vector->rules + (size_t)i * env->spec.rules_size;
    vector->steps[i]++;
    vector->terminated[i] = out->terminated;
    vector->truncated[i] =
        (env->spec.truncates && out->truncated) || (env->spec.max_steps > 0 && vector->steps[i] >= env->spec.max_steps);
    if (rows->reward) rows->reward[i] = (float)out->reward;
    refresh_mask(vector, i, rules);
    show_one(vector, i, rules, rows);
}

/* One step of instances whose states are structs, all by one call. */
static void step_together(cm_vector_env *vector, int first, int count, const int32_t *action, const float *value,
                          const cm_env_rows *rows) {
    const cm_env *env = &vector->env;
    cm_env_outcome out[CHUNK];
    env->def->step_together(&env->params, vector->rules + (size_t)first * env->spec.rules_size, count, action, value,
                            out);
    for (int k = 0; k < count; k++) finish_one(vector, first + k, &out[k], rows);
}

/* The same one by one. */
static void step_each(cm_vector_env *vector, int first, int count, const int32_t *action, const float *value,
                      const cm_env_rows *rows) {
    const cm_env *env = &vector->env;
    const size_t size = (size_t)env->spec.action_size, state = env->spec.rules_size;
    char *rules = vector->rules + (size_t)first * state;
    for (int k = 0; k < count && !cm_stop_asked(vector->stop); k++, rules += state) {
        const cm_env_outcome out =
            value ? env->def->step_value(&env->params, rules, value + (size_t)k * size)
                  : env->def->step(&env->params, rules, action ? action[k] : 0, &vector->random[first + k]);
        finish_one(vector, first + k, &out, rows);
    }
}

/* One step of at most CHUNK instances: action[count] of a discrete task, else value[count, D]. */
static void step_chunk(cm_vector_env *vector, int first, int count, const int32_t *action, const float *value,
                       const cm_env_rows *rows) {
    if (vector->fields > 0) {
        step_lanes(vector, first, count, action, value, rows);
    } else if (vector->env.def->step_together) {
        step_together(vector, first, count, action, value, rows);
    } else {
        step_each(vector, first, count, action, value, rows);
    }
}

/* Here one still knows whose they are. */
static cm_status check_rewards(const cm_vector_env *vector, int first, int count, const cm_env_rows *rows) {
    const cm_env_spec *spec = &vector->env.spec;
    const float low = (float)fmax(spec->reward_low, -(double)FLT_MAX);
    const float high = (float)fmin(spec->reward_high, (double)FLT_MAX);
    unsigned wrong = 0;
    for (int i = first; rows->reward && i < first + count; i++)
        wrong |= !(rows->reward[i] >= low) | !(rows->reward[i] <= high);
    for (int i = first; wrong && i < first + count; i++) {
        if (rows->reward[i] >= low && rows->reward[i] <= high) continue;
        double scratch[CM_ENV_FIELDS];
        cm_status status = cm_env_check_reward(&vector->env, rules_at(vector, i, scratch), (double)rows->reward[i]);
        if (status != CM_OK)
            return cm_fail(status, "%s: instance %d: %s (step %d)", spec->name, i, cm_error_message(),
                           vector->steps[i]);
    }
    return CM_OK;
}

/* step_chunk by actions[count] of a continuous task, too. */
static void step_numbered(cm_vector_env *vector, int first, int count, const int32_t *actions,
                          const cm_env_rows *rows) {
    const int size = vector->env.spec.action_size;
    float value[CHUNK * CM_ENV_MAX_NUMBERS];
    for (int k = 0; size > 0 && k < count; k++) cm_env_action_values(&vector->env, actions[k], value + k * size);
    step_chunk(vector, first, count, actions, size > 0 ? value : NULL, rows);
}

cm_status cm_vector_env_step(cm_vector_env *vector, int first, int count, const int32_t *actions,
                             const cm_env_rows *rows) {
    CM_TRY(check_range(vector, first, count, actions));
    for (int at = first; at < first + count; at += CHUNK)
        step_numbered(vector, at, first + count - at < CHUNK ? first + count - at : CHUNK, actions + at, rows);
    return check_rewards(vector, first, count, rows);
}

cm_status cm_vector_env_step_value(cm_vector_env *vector, int first, int count, const float *values,
                                   const cm_env_rows *rows) {
    const int size = vector->env.spec.action_size;
    CM_TRY(cm_vector_env_check_step(vector, first, count, NULL, values));
    for (int at = first; at < first + count; at += CHUNK) {
        const int some = first + count - at < CHUNK ? first + count - at : CHUNK;
        step_chunk(vector, at, some, NULL, values + (size_t)at * (size_t)size, rows);
    }
    return CM_OK; /* numbers beyond the bounds may give such rewards */
}

/* ---- steps and resets in one pass ---- */

bool cm_vector_env_has_lanes(const cm_vector_env *vector) { return vector->fields > 0; }

/* Actions, or values, of instances that have ended may be anything. */
static cm_status check_next(const cm_vector_env *vector, int first, int count, const int32_t *actions,
                            const float *values) {
    const unsigned limit = (unsigned)vector->env.spec.actions;
    unsigned wrong = actions == NULL; /* values are looked at one by one */
    for (int i = first; actions && i < first + count; i++)
        wrong |= ((unsigned)actions[i] >= limit) & !has_ended(vector, i);
    for (int i = first; wrong && i < first + count; i++)
        if (!has_ended(vector, i)) CM_TRY(cm_vector_env_check_step(vector, i, 1, actions, values));
    return CM_OK;
}

/* Those that have ended make a step, too, which costs less than to leave them out, and then begin. */
static cm_status next_chunk(cm_vector_env *vector, int first, int count, const int32_t *actions, const float *values,
                            const cm_env_rows *rows) {
    int chosen[CHUNK + 1] = {0};
    const int ended = choose(vector, first, count, false, chosen);
    if (actions) {
        int32_t known[CHUNK];
        memcpy(known, actions + first, (size_t)count * sizeof *known);
        for (int k = 0; k < ended; k++) known[chosen[k] - first] = 0;
        step_numbered(vector, first, count, known, rows);
        CM_TRY(check_rewards(vector, first, count, rows));
    } else {
        step_chunk(vector, first, count, NULL, values + (size_t)first * (size_t)vector->env.spec.action_size, rows);
    }
    begin_chosen(vector, chosen, ended, rows);
    for (int k = 0; rows->reward && k < ended; k++) rows->reward[chosen[k]] = 0.0f;
    return CM_OK;
}

cm_status cm_vector_env_step_next(cm_vector_env *vector, int first, int count, const int32_t *actions,
                                  const float *values, const cm_env_rows *rows) {
    CM_TRY(check_next(vector, first, count, actions, values));
    for (int at = first; at < first + count; at += CHUNK)
        CM_TRY(next_chunk(vector, at, first + count - at < CHUNK ? first + count - at : CHUNK, actions, values, rows));
    return CM_OK;
}
