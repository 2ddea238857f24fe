#include "env/frame_stack.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/arena.h"
#include "core/frames.h"
#include "core/unit.h"

_Static_assert((int)CM_ENV_MAX_FRAMES == (int)CM_FRAMES_MOST, "one bound");

/* ---- a state ---- */

static void *own(const cm_env_params *p, void *rules) { return (char *)rules + p->frames.rules_at; }
static const void *own_of(const cm_env_params *p, const void *rules) {
    return (const char *)rules + p->frames.rules_at;
}

static float *space_of(const cm_env_params *p, void *rules) {
    return (float *)(void *)((char *)own(p, rules) + p->frames.rules_size);
}

static size_t frame_bytes(const cm_env_frames *f) { return (size_t)f->size * (f->unit > 0.0f ? 1 : sizeof(float)); }

static cm_frames_shape shape_of(const cm_env_frames *f) {
    return (cm_frames_shape){f->count, (size_t)f->size, (size_t)f->channels};
}

/* The bytes of the frame that the row shows now; NULL: it has numbers only. */
static const uint8_t *newest_bytes(const cm_env_params *p, const void *rules) {
    const cm_env_frames *f = &p->frames;
    if (f->unit > 0.0f && f->row->observation_bytes) return f->row->observation_bytes(p, own_of(p, rules));
    return NULL;
}

/* Keeps the frame that the row shows now as number `k` of those before. A number that no byte stands for is told where
 * the observation is used. */
static void keep(const cm_env_params *p, void *rules, int k) {
    const cm_env_frames *f = &p->frames;
    const uint8_t *newest = newest_bytes(p, rules);
    float *numbers = space_of(p, rules);
    unsigned char *to = (unsigned char *)rules + (size_t)k * frame_bytes(f);
    if (!newest) f->row->observe(p, own(p, rules), numbers);
    if (newest) {
        memcpy(to, newest, frame_bytes(f));
    } else if (f->unit > 0.0f) {
        for (int i = 0; i < f->size; i++) to[i] = (unsigned char)cm_unit_byte(numbers[i], f->unit);
    } else {
        memcpy(to, numbers, frame_bytes(f));
    }
}

/* After a reset: all frames are the first. */
static void fill(const cm_env_params *p, void *rules) {
    const size_t bytes = frame_bytes(&p->frames);
    keep(p, rules, 0);
    for (int k = 1; k < p->frames.count - 1; k++) memcpy((char *)rules + (size_t)k * bytes, rules, bytes);
}

/* Before a step. */
static void push(const cm_env_params *p, void *rules) {
    const size_t bytes = frame_bytes(&p->frames), kept = (size_t)p->frames.count - 2;
    memmove(rules, (char *)rules + bytes, kept * bytes);
    keep(p, rules, p->frames.count - 2);
}

/* ---- the row around the row ---- */

static void reset(const cm_env_params *p, void *rules, cm_pcg64 *random) {
    p->frames.row->reset(p, own(p, rules), random);
    fill(p, rules);
}

static void reset_to(const cm_env_params *p, void *rules, uint64_t seed) {
    p->frames.row->reset_to(p, own(p, rules), seed);
    fill(p, rules);
}

static cm_status reset_with(const cm_env_params *p, void *rules, const int32_t *outcomes) {
    CM_TRY(p->frames.row->reset_with(p, own(p, rules), outcomes));
    fill(p, rules);
    return CM_OK;
}

static cm_env_outcome step(const cm_env_params *p, void *rules, int action, cm_pcg64 *random) {
    push(p, rules);
    return p->frames.row->step(p, own(p, rules), action, random);
}

static cm_env_outcome step_value(const cm_env_params *p, void *rules, const float *value) {
    push(p, rules);
    /* cppcheck-suppress returnDanglingLifetime ; the outcome is a value and keeps no pointer */
    return p->frames.row->step_value(p, own(p, rules), value);
}

static void step_together(const cm_env_params *p, void *rules, int count, const int32_t *action, const float *value,
                          cm_env_outcome *out) {
    for (int i = 0; i < count; i++) push(p, (char *)rules + (size_t)i * p->frames.state_bytes);
    p->frames.row->step_together(p, own(p, rules), count, action, value, out);
}

/* The newest frame of a stack whose row has numbers only. */
static void observe_newest(const cm_env_params *p, const void *rules, float *observation) {
    const cm_env_frames *f = &p->frames;
    const cm_frames_shape shape = shape_of(f);
    float *newest = observation + (size_t)(f->count - 1) * (size_t)f->size;
    f->row->observe(p, own_of(p, rules), newest);
    cm_frames_place(&shape, newest, f->count - 1, observation);
}

static void observe(const cm_env_params *p, const void *rules, float *observation) {
    const cm_env_frames *f = &p->frames;
    const cm_frames_shape shape = shape_of(f);
    const int before = f->count - 1;
    const uint8_t *bytes[CM_FRAMES_MOST], *newest = newest_bytes(p, rules);
    const float *floats[CM_FRAMES_MOST];
    if (!newest) observe_newest(p, rules, observation);
    for (int k = 0; k < before; k++) {
        bytes[k] = (const uint8_t *)rules + (size_t)k * frame_bytes(f);
        floats[k] = (const float *)(const void *)bytes[k];
    }
    bytes[before] = newest;
    if (f->unit > 0.0f) {
        cm_frames_stack_bytes(&shape, bytes, f->unit, 0, newest ? f->count : before, observation);
    } else {
        cm_frames_stack(&shape, floats, 0, before, observation);
    }
}

static void legal(const cm_env_params *p, const void *rules, uint8_t *mask) {
    p->frames.row->legal(p, own_of(p, rules), mask);
}

static int to_play(const cm_env_params *p, const void *rules) { return p->frames.row->to_play(p, own_of(p, rules)); }

static void picture(const cm_env_params *p, const void *rules, char *text, size_t size) {
    p->frames.row->picture(p, own_of(p, rules), text, size);
}

static void board(const cm_env_params *p, const void *rules, int32_t *cells) {
    p->frames.row->board(p, own_of(p, rules), cells);
}

static cm_status failure(const cm_env_params *p, const void *rules) {
    return p->frames.row->failure(p, own_of(p, rules));
}

static cm_status check(const cm_env_params *p, const void *rules, int steps, bool ended) {
    const cm_env_frames *f = &p->frames;
    const size_t numbers = f->unit > 0.0f ? 0 : (size_t)(f->count - 1) * (size_t)f->size;
    for (size_t i = 0; i < numbers; i++)
        if (!isfinite(((const float *)rules)[i]))
            return cm_fail(CM_ERR_INPUT, "a number of its frames is %g", (double)((const float *)rules)[i]);
    return f->row->check(p, own_of(p, rules), steps, ended);
}

static size_t used(const cm_env_params *p, int steps) { return p->frames.rules_at + p->frames.row->used(p, steps); }

static void draw(const cm_env_params *p, const void *rules, const cm_env_moment *moment, cm_scene *scene) {
    p->frames.row->draw(p, own_of(p, rules), moment, scene);
}

/* Whatever reads a state is led to the row's own; the rest is the row's. */
static cm_env_def around(const cm_env_def *row) {
    cm_env_def def = *row;
    def.options |= CM_ENV_FRAME_STACK;
    def.reset = reset;
    def.reset_to = row->reset_to ? reset_to : NULL;
    def.reset_with = row->reset_with ? reset_with : NULL;
    def.step = row->step ? step : NULL;
    def.step_value = row->step_value ? step_value : NULL;
    def.step_lanes = NULL;
    def.step_together = row->step_together && row->strides ? step_together : NULL;
    def.observe = observe;
    def.legal = row->legal ? legal : NULL;
    def.to_play = row->to_play ? to_play : NULL;
    def.picture = row->picture ? picture : NULL;
    def.board = row->board ? board : NULL;
    def.failure = row->failure ? failure : NULL;
    def.check = check;
    def.used = row->used ? used : NULL;
    def.draw = row->draw ? draw : NULL;
    def.solver = NULL;
    def.outcome_between = NULL;
    def.observation_bytes = NULL;
    return def;
}

/* One for each row that has ever been stacked, until the process ends, as the rows of libraries are there. */
typedef struct stacked {
    const cm_env_def *row;
    cm_env_def around;
    struct stacked *next;
} stacked;

static cm_status find_around(const cm_env_def *row, const cm_env_def **out) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static stacked *all;
    cm_status status = CM_OK;
    pthread_mutex_lock(&lock);
    stacked *s = all;
    while (s && s->row != row) s = s->next;
    if (!s) status = cm_alloc(&s, 1, sizeof *s, "stacks of frames");
    if (s && !s->row) {
        *s = (stacked){row, around(row), all};
        all = s;
    }
    if (s) *out = &s->around;
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- opening ---- */

static cm_status check_stack(const cm_env *env, int count) {
    const cm_env_spec *spec = &env->spec;
    const long long most = 1 << 24, numbers = (long long)count * spec->observation_size;
    if (count < 1 || count > CM_ENV_MAX_FRAMES)
        return cm_fail(CM_ERR_INPUT, "%s: frame_stack is %d; must be in 1..%d", spec->name, count, CM_ENV_MAX_FRAMES);
    if (count > 1 && (spec->players > 1 || spec->chance_outcomes > 0))
        return cm_fail(CM_ERR_INPUT, "%s: frame_stack is for tasks of one player without chance: leave it out",
                       spec->name);
    if (numbers <= most) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: a stack of %d frames has %lld numbers, at most %lld are possible", spec->name,
                   count, numbers, most);
}

static size_t aligned(size_t bytes) { return (bytes + 7) / 8 * 8; }

cm_status cm_env_stack_frames(cm_env *env) {
    cm_env_spec *spec = &env->spec;
    cm_env_frames *f = &env->params.frames;
    const int own_count = spec->frames > 1 ? spec->frames : 1;
    const int count = env->params.frame_stack != 0 ? env->params.frame_stack : own_count;
    CM_TRY(check_stack(env, count));
    env->params.frame_stack = spec->frames = count;
    *f = (cm_env_frames){.row = NULL};
    if (count == 1) return CM_OK;
    *f = (cm_env_frames){.row = env->def,
                         .count = count,
                         .size = spec->observation_size,
                         .channels = spec->rank == 3 ? spec->shape[2] : spec->shape[0],
                         .unit = spec->observation_unit,
                         .rules_size = spec->rules_size};
    f->rules_at = aligned((size_t)(count - 1) * frame_bytes(f));
    f->state_bytes = f->rules_at + f->rules_size + aligned((size_t)f->size * sizeof(float));
    CM_TRY(find_around(env->def, &env->def));
    spec->shape[spec->rank == 3 ? 2 : 0] *= count;
    spec->observation_size *= count;
    spec->channels = NULL;
    spec->rules_size = f->state_bytes;
    spec->state_size = sizeof(cm_env_common) + spec->rules_size;
    return CM_OK;
}

cm_env cm_env_single_frames(const cm_env *env) {
    const cm_env_frames *f = &env->params.frames;
    cm_env single = *env;
    if (!f->row) return single;
    single.def = f->row;
    single.params.frame_stack = single.spec.frames = 1;
    single.params.frames = (cm_env_frames){.row = NULL};
    single.spec.shape[single.spec.rank == 3 ? 2 : 0] = f->channels;
    single.spec.observation_size = f->size;
    single.spec.rules_size = f->rules_size;
    single.spec.state_size = sizeof(cm_env_common) + f->rules_size;
    return single;
}
