/* Drawing positions and gathering their rows. */
#include "replay/batch.h"

#include <math.h>
#include <string.h>

#include "replay/internal.h"
#include "replay/priority.h"

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

/* Takes every array from `arena`; with one that only measures they are NULL. */
static void lay_out(const cm_replay *replay, cm_batch *batch, cm_arena *arena) {
    const cm_replay_config *c = &replay->config;
    size_t rows = (size_t)batch->config.rows, unroll = (size_t)c->targets.unroll, k1 = unroll + 1;
    size_t entries = (size_t)cm_policy_size(replay->config.form), size = (size_t)c->observation_size,
           width = sizeof(float);
    const bool is_whole = !batch->config.frames;
    if (is_whole) batch->observation = cm_arena_alloc(arena, rows * size * width);
    if (!is_whole) cm_batch_lay_out_frames(replay, batch, arena);
    batch->action = cm_arena_alloc(arena, rows * unroll * sizeof(int32_t));
    batch->target_value = cm_arena_alloc(arena, rows * k1 * width);
    batch->target_reward = cm_arena_alloc(arena, rows * unroll * width);
    batch->target_policy = cm_arena_alloc(arena, rows * k1 * entries * width);
    batch->value_mask = cm_arena_alloc(arena, rows * k1 * width);
    batch->reward_mask = cm_arena_alloc(arena, rows * unroll * width);
    batch->policy_mask = cm_arena_alloc(arena, rows * k1 * width);
    batch->consistency_mask = cm_arena_alloc(arena, rows * unroll * width);
    batch->weights = cm_arena_alloc(arena, rows * width);
    batch->legal = cm_arena_alloc(arena, rows * k1 * entries);
    if (is_whole && batch->config.consistency)
        batch->target_observations = cm_arena_alloc(arena, rows * unroll * size * width);
    batch->value_partial = cm_arena_alloc(arena, rows * k1 * width);
    batch->value_coefficient = cm_arena_alloc(arena, rows * k1 * width);
    batch->value_bootstrap = cm_arena_alloc(arena, rows * k1 * width);
    if (batch->config.bootstrap) batch->bootstrap_observations = cm_arena_alloc(arena, rows * k1 * size * width);
    if (batch->config.keys) batch->position_key = cm_arena_alloc(arena, rows * k1 * sizeof(int64_t));
    if (batch->config.keys) batch->bootstrap_key = cm_arena_alloc(arena, rows * k1 * sizeof(int64_t));
    batch->slot = cm_arena_alloc(arena, rows * sizeof(int32_t));
    batch->index = cm_arena_alloc(arena, rows * sizeof(uint32_t));
    batch->symmetry = cm_arena_alloc(arena, rows * sizeof(int32_t));
    batch->key = cm_arena_alloc(arena, rows * sizeof(cm_key));
    batch->number = cm_arena_alloc(arena, rows * sizeof(double));
    batch->offset = cm_arena_alloc(arena, k1 * sizeof(int32_t));
    batch->drawn = cm_arena_alloc(arena, (size_t)batch->table * sizeof(int64_t));
    batch->reader = cm_arena_alloc(arena, replay->frames ? sizeof *batch->reader : 0);
    cm_frame_reader reader;
    if (replay->frames) cm_frame_reader_lay_out(&reader, arena, replay->frames, 2 * (int)k1);
    if (batch->reader && replay->frames) *batch->reader = reader;
    batch->window = cm_arena_alloc(arena, sizeof(cm_window_scratch));
    cm_window_scratch window = {0};
    cm_window_scratch_init(&window, arena, c, replay->window_rows, true);
    if (batch->window) *batch->window = window;
}

cm_status cm_batch_create(const cm_replay *replay, const cm_batch_config *config, cm_batch **out) {
    *out = NULL;
    if (config->rows < 1 || config->rows > 1 << 20)
        return cm_fail(CM_ERR_INPUT, "batch: %d rows, must be in 1 .. 1048576", config->rows);
    cm_batch shape = {.config = *config,
                      .unroll = replay->config.targets.unroll,
                      .actions = replay->config.actions,
                      .form = replay->config.form,
                      .observation_size = replay->config.observation_size,
                      .policy_smoothing = replay->config.targets.policy_smoothing,
                      .table = 2};
    while (shape.table < 2 * config->rows) shape.table *= 2;
    cm_arena arena = {.base = NULL, .capacity = SIZE_MAX};
    cm_arena_alloc(&arena, sizeof(cm_batch));
    lay_out(replay, &shape, &arena);
    CM_TRY(cm_arena_create(&arena, arena.used, "a batch of the replay"));
    cm_batch *batch = cm_arena_alloc(&arena, sizeof *batch);
    *batch = shape;
    lay_out(replay, batch, &arena);
    batch->arena = arena;
    if (replay->frames && cm_frame_reader_open(batch->reader, replay->frames) != CM_OK) {
        cm_arena_destroy(&batch->arena);
        return CM_ERR_MEMORY;
    }
    batch->has_reader = replay->frames != NULL;
    for (int row = 0; row < config->rows; row++)
        batch->key[row] = cm_key_make(config->seed, CM_RNG_SAMPLE, config->first_row + (uint64_t)row);
    *out = batch;
    return CM_OK;
}

void cm_batch_destroy(cm_batch *batch) {
    if (!batch) return;
    if (batch->has_reader) cm_frame_reader_close(batch->reader);
    cm_arena arena = batch->arena; /* the struct goes with its block */
    cm_arena_destroy(&arena);
}

uint64_t cm_batch_bytes(const cm_batch *batch) { return batch->arena.capacity; }

/* ---- drawing ------------------------------------------------------------------------------------------------------
 */

/* Puts `number` into the batch's set; false if it was there. */
static bool insert(cm_batch *batch, int64_t number) {
    uint64_t mask = (uint64_t)batch->table - 1, at = ((uint64_t)number * UINT64_C(0x9E3779B97F4A7C15)) >> 32;
    for (;; at++) {
        int64_t *entry = &batch->drawn[at & mask];
        if (*entry == number) return false;
        if (*entry >= 0) continue;
        *entry = number;
        return true;
    }
}

static double draw_uniform(cm_batch *batch, int row) {
    cm_rng rng = cm_rng_init(batch->key[row], batch->update);
    return cm_rng_uniform_double(&rng);
}

/* number[B] = different positions of 0 .. positions - 1, each set equally likely (Floyd's algorithm). */
static void draw_distinct(cm_batch *batch, int64_t positions) {
    memset(batch->drawn, 0xff, (size_t)batch->table * sizeof(int64_t));
    for (int row = 0; row < batch->config.rows; row++) {
        int64_t last = positions - batch->config.rows + row;
        int64_t number = (int64_t)(draw_uniform(batch, row) * (double)(last + 1));
        if (number > last) number = last;
        if (!insert(batch, number)) {
            number = last;
            insert(batch, number);
        }
        batch->number[row] = (double)number;
    }
}

static void draw_slots(const cm_replay *replay, cm_batch *batch) {
    double total = cm_sum_tree_total(&replay->tree);
    if (!replay->config.prioritized && replay->positions >= batch->config.rows) {
        draw_distinct(batch, replay->positions);
    } else {
        for (int row = 0; row < batch->config.rows; row++) batch->number[row] = draw_uniform(batch, row) * total;
    }
    cm_sum_tree_find(&replay->tree, batch->config.rows, batch->number, batch->slot);
}

static void weigh(const cm_replay *replay, double beta, cm_batch *batch) {
    bool even = !replay->config.prioritized || replay->flat;
    double total = cm_sum_tree_total(&replay->tree);
    for (int row = 0; row < batch->config.rows; row++) {
        batch->weights[row] = 1.0f;
        batch->number[row] = cm_sum_tree_weight(&replay->tree, batch->slot[row]) / total;
    }
    if (!even)
        cm_priority_weights((size_t)batch->config.rows, batch->number, (double)replay->positions, beta,
                            replay->config.weight_min, batch->weights);
}

static void draw_symmetries(const cm_replay *replay, cm_batch *batch) {
    int count = replay->config.symmetries;
    for (int row = 0; row < batch->config.rows; row++) {
        batch->symmetry[row] = 0;
        if (count <= 1) continue;
        cm_key key = cm_key_make(batch->config.seed, CM_RNG_AUGMENT, batch->config.first_row + (uint64_t)row);
        cm_rng rng = cm_rng_init(key, batch->update);
        batch->symmetry[row] = (int32_t)cm_rng_below(&rng, (uint32_t)count);
    }
}

/* ---- gathering ----------------------------------------------------------------------------------------------------
 */

/* One row of a batch while it is filled. */
typedef struct gather {
    const cm_replay *replay;
    cm_batch *batch;
    size_t row;
    int32_t slot, left;
    const int32_t *elements, *actions, *inverse; /* tables of the row's symmetry, NULL if there are none */
    cm_frame_reader *reader;                     /* of frames, where there are any */
    cm_status *status;                           /* of them */
} gather;

static void gather_bytes(const uint8_t *bytes, size_t size, float unit, const int32_t *elements, float *out) {
    if (elements) {
        for (size_t i = 0; i < size; i++) out[i] = (float)bytes[elements[i]] * unit;
    } else {
        for (size_t i = 0; i < size; i++) out[i] = (float)bytes[i] * unit;
    }
}

static void gather_floats(const float *floats, size_t size, const int32_t *elements, float *out) {
    if (elements) {
        for (size_t i = 0; i < size; i++) out[i] = floats[elements[i]];
    } else {
        memcpy(out, floats, size * sizeof(float));
    }
}

/* Frame k of a stack, its elements in another order. */
static void gather_permuted(const cm_frame_store *s, const uint8_t *frame, const int32_t *elements, int k, float *out) {
    const size_t width = (size_t)s->shape.count * s->shape.channels, at = (size_t)k * s->shape.channels;
    const float *floats = (const float *)(const void *)frame;
    for (size_t i = 0; i < s->shape.size; i++) {
        const size_t from = (size_t)elements[i], to = i / s->shape.channels * width + at + i % s->shape.channels;
        out[to] = s->unit > 0.0f ? (float)frame[from] * s->unit : floats[from];
    }
}

/* The frames of a row; what cannot be read is told at the end. */
static bool find_stack(const gather *g, int32_t slot, const uint8_t *bytes[CM_FRAMES_MOST]) {
    const cm_frame_store *s = g->replay->frames;
    int32_t number[CM_FRAMES_MOST];
    cm_status status = CM_OK;
    cm_frame_store_find(s, g->replay->frame[slot], number);
    for (int k = 0; k < s->shape.count && status == CM_OK; k++)
        status = cm_frame_store_read(s, g->reader, number[k], &bytes[k]);
    if (status != CM_OK) *g->status = status;
    return status == CM_OK;
}

static void gather_stack(const gather *g, int32_t slot, float *out) {
    const cm_frame_store *s = g->replay->frames;
    const int count = s->shape.count;
    const uint8_t *bytes[CM_FRAMES_MOST];
    const float *floats[CM_FRAMES_MOST];
    if (!find_stack(g, slot, bytes)) return;
    for (int k = 0; k < count; k++) {
        floats[k] = (const float *)(const void *)bytes[k];
        if (g->elements) gather_permuted(s, bytes[k], g->elements, k, out);
    }
    if (g->elements) return;
    if (s->unit > 0.0f) {
        cm_frames_stack_bytes(&s->shape, bytes, s->unit, 0, count, out);
    } else {
        cm_frames_stack(&s->shape, floats, 0, count, out);
    }
}

static void gather_observation(const gather *g, int32_t slot, float *out) {
    const cm_replay *replay = g->replay;
    if (replay->frames) {
        gather_stack(g, slot, out);
        return;
    }
    const size_t size = (size_t)replay->config.observation_size;
    const float unit = replay->config.observation_unit;
    const uint8_t *bytes = replay->observation + (size_t)slot * size * replay->info[FIELD_OBSERVATION].width;
    if (unit > 0.0f) {
        gather_bytes(bytes, size, unit, g->elements, out);
    } else {
        gather_floats((const float *)(const void *)bytes, size, g->elements, out);
    }
}

static void gather_actions(const gather *g) {
    const cm_replay *replay = g->replay;
    int unroll = g->batch->unroll, inside = g->left < unroll ? g->left : unroll;
    int32_t *out = g->batch->action + g->row * (size_t)unroll;
    for (int k = 0; k < inside; k++) {
        int32_t action = replay->row[cm_slot_add(replay, g->slot, k)].action;
        out[k] = g->inverse ? g->inverse[action] : action;
    }
    if (inside == unroll) return;
    const cm_batch_config *config = &g->batch->config;
    cm_rng rng =
        cm_rng_init(cm_key_make(config->seed, CM_RNG_ABSORB, config->first_row + (uint64_t)g->row), g->batch->update);
    for (int k = inside; k < unroll; k++) out[k] = (int32_t)cm_rng_below(&rng, (uint32_t)g->batch->actions);
}

static void gather_mask(const gather *g, int32_t slot, uint8_t *out) {
    const cm_replay *replay = g->replay;
    const size_t entries = (size_t)cm_policy_size(replay->config.form);
    if (replay->row[slot].flags & FLAG_FREE) {
        memset(out, 1, entries);
        return;
    }
    const uint8_t *bits = replay->legal + (size_t)slot * replay->legal_bytes;
    for (size_t a = 0; a < entries; a++) {
        size_t stored = g->actions ? (size_t)g->actions[a] : a;
        out[a] = bits[stored / 8] >> stored % 8 & 1;
    }
}

static void gather_legal(const gather *g) {
    size_t entries = (size_t)cm_policy_size(g->batch->form), positions = (size_t)g->batch->unroll + 1;
    uint8_t *out = g->batch->legal + g->row * positions * entries;
    memset(out, 1, positions * entries);
    int inside = g->left <= g->batch->unroll ? g->left : g->batch->unroll + 1;
    for (int k = 0; k < inside; k++, out += entries) gather_mask(g, cm_slot_add(g->replay, g->slot, k), out);
}

/* Frames are read into space of its own: several threads may look. */
static cm_status look_at_frames(const cm_replay *replay, int32_t slot, float *observation) {
    cm_frame_reader reader;
    cm_arena arena = {.base = NULL, .capacity = SIZE_MAX};
    cm_frame_reader_lay_out(&reader, &arena, replay->frames, 0);
    CM_TRY(cm_arena_create(&arena, arena.used, "a position of the replay"));
    cm_frame_reader_lay_out(&reader, &arena, replay->frames, 0);
    cm_status status = cm_frame_reader_open(&reader, replay->frames);
    const gather g = {.replay = replay, .slot = slot, .reader = &reader, .status = &status};
    if (status == CM_OK) gather_observation(&g, slot, observation);
    cm_frame_reader_close(&reader);
    cm_arena_destroy(&arena);
    return status;
}

void cm_replay_look(const cm_replay *replay, int32_t slot, float *observation, uint8_t *legal) {
    const gather g = {.replay = replay, .slot = slot};
    if (!replay->frames) {
        gather_observation(&g, slot, observation);
    } else if (look_at_frames(replay, slot, observation) != CM_OK) {
        memset(observation, 0, (size_t)replay->config.observation_size * sizeof *observation);
        __atomic_store_n(&replay->frames->has_failed, true, __ATOMIC_RELAXED);
    }
    gather_mask(&g, slot, legal);
}

static void gather_observations(const gather *g) {
    const cm_replay *replay = g->replay;
    cm_batch *batch = g->batch;
    size_t size = (size_t)batch->observation_size, unroll = (size_t)batch->unroll, k1 = unroll + 1;
    if (batch->config.frames) {
        cm_batch_gather_frames(replay, batch, (int)g->row);
    } else {
        gather_observation(g, g->slot, batch->observation + g->row * size);
    }
    for (size_t k = 0; batch->target_observations && k < unroll; k++) {
        float *out = batch->target_observations + (g->row * unroll + k) * size;
        if ((int64_t)k < g->left)
            gather_observation(g, cm_slot_add(replay, g->slot, (int32_t)k + 1), out);
        else
            memset(out, 0, size * sizeof(float));
    }
    for (size_t k = 0; batch->bootstrap_observations && k < k1; k++) {
        float *out = batch->bootstrap_observations + (g->row * k1 + k) * size;
        if (batch->offset[k] >= 0)
            gather_observation(g, cm_slot_add(replay, g->slot, batch->offset[k]), out);
        else
            memset(out, 0, size * sizeof(float));
    }
}

/* Whose policies and values the row has. */
static void gather_keys(const gather *g, const cm_target_window *window) {
    const cm_batch *batch = g->batch;
    const size_t k1 = (size_t)batch->unroll + 1, v = g->row * k1;
    const bool is_open = g->slot >= g->replay->ring; /* its last row is a position like the others */
    for (size_t k = 0; batch->config.keys && k < k1; k++) {
        const int32_t at = batch->offset[k];
        batch->position_key[v + k] = (int64_t)k < g->left ? cm_row_key(&window->row[k], false) : -1;
        batch->bootstrap_key[v + k] = at >= 0 ? cm_row_key(&window->row[at], at == g->left && !is_open) : -1;
    }
}

/* policy[K+1, A], first in stored order, brought into the order of the symmetry. */
static void permute_policy(const gather *g, float *policy) {
    size_t actions = (size_t)g->batch->actions;
    float *stored = g->batch->window->policy;
    for (int k = 0; k <= g->batch->unroll; k++, policy += actions) {
        memcpy(stored, policy, actions * sizeof(float));
        for (size_t a = 0; a < actions; a++) policy[a] = stored[g->actions[a]];
    }
}

static void gather_targets(const gather *g) {
    const cm_replay *replay = g->replay;
    const cm_target_rule *rule = &replay->config.targets;
    cm_batch *batch = g->batch;
    size_t unroll = (size_t)batch->unroll, k1 = unroll + 1, k = g->row * unroll, v = g->row * k1;
    cm_target_window window;
    cm_window_open(replay, g->slot, g->left, batch->window, &window);
    uint32_t age = (uint32_t)replay->collected - batch->index[g->row];
    if (age <= INT32_MAX) window.td_steps = cm_target_td_steps(rule, age, 0);
    cm_target_row row = {
        .partial = batch->value_partial + v,
        .coefficient = batch->value_coefficient + v,
        .bootstrap = batch->offset,
        .value_mask = batch->value_mask + v,
        .reward = batch->target_reward + k,
        .reward_mask = batch->reward_mask + k,
        .policy = batch->target_policy + v * (size_t)cm_policy_size(batch->form),
        .policy_mask = batch->policy_mask + v,
        .consistency_mask = batch->consistency_mask + k,
    };
    cm_target_compute(rule, &window, &row);
    for (size_t i = 0; i < k1; i++)
        batch->value_bootstrap[v + i] = batch->offset[i] < 0 ? 0.0f : window.row[batch->offset[i]].root_value;
    if (g->actions) permute_policy(g, row.policy);
    gather_keys(g, &window);
}

static void gather_row(const cm_replay *replay, cm_batch *batch, int row) {
    gather g = {.replay = replay,
                .batch = batch,
                .row = (size_t)row,
                .slot = batch->slot[row],
                .reader = batch->reader,
                .status = &batch->status};
    g.left = cm_slot_left(replay, g.slot);
    batch->index[row] = replay->row[g.slot].index;
    if (replay->config.symmetries > 1) {
        size_t s = (size_t)batch->symmetry[row];
        g.elements = replay->symmetry_elements + s * (size_t)cm_frame_size(&replay->config);
        g.actions = replay->symmetry_actions + s * (size_t)replay->config.actions;
        g.inverse = replay->symmetry_inverse + s * (size_t)replay->config.actions;
    }
    gather_targets(&g);
    gather_actions(&g);
    gather_legal(&g);
    gather_observations(&g);
}

enum { FETCH_AHEAD = 4, FETCH_BYTES = 1024 }; /* rows; bytes of each field */

/* Fetches the lines of rows [first, last] of a field, the first of them where they are many. (A function that does
 * nothing but fetch counts as one without effect, and its calls are dropped, unless it has been inlined before.) */
static inline __attribute__((always_inline)) void fetch_rows(const cm_replay *replay, cm_field field, int32_t first,
                                                             int32_t last) {
    size_t stride = replay->info[field].width * replay->info[field].columns;
    size_t bytes = (size_t)(last - first + 1) * stride;
    const unsigned char *from = replay->field[field] + (size_t)first * stride;
    for (size_t i = 0; i < bytes && i < FETCH_BYTES; i += CM_ALIGN) __builtin_prefetch(from + i);
    __builtin_prefetch(from + (bytes < FETCH_BYTES ? bytes : FETCH_BYTES) - 1);
}

/* Starts fetching what a row will read, so that the misses of several rows overlap. Rows after the end of the ring or
 * of an open episode are not fetched. */
static inline __attribute__((always_inline)) void fetch_row(const cm_replay *replay, int32_t slot) {
    int32_t unroll = replay->config.targets.unroll, n = replay->config.targets.td_steps, last = replay->slots - 1;
    int32_t near = slot + unroll < last ? slot + unroll : last, far = n < last - near ? near + n : last;
    fetch_rows(replay, FIELD_OBSERVATION, slot, slot);
    fetch_rows(replay, FIELD_POLICY, slot, near);
    fetch_rows(replay, FIELD_ROW, slot, far);
}

static void add_bootstrap(cm_batch *batch, size_t i) {
    float coefficient = batch->value_coefficient[i], bootstrap = batch->value_bootstrap[i];
    batch->target_value[i] = batch->value_partial[i] + (coefficient == 0.0f ? 0.0f : coefficient * bootstrap);
}

static void add_bootstraps(cm_batch *batch) {
    size_t count = (size_t)batch->config.rows * (size_t)(batch->unroll + 1);
    for (size_t i = 0; i < count; i++) add_bootstrap(batch, i);
}

void cm_batch_set_value(cm_batch *batch, int position, float value) {
    batch->target_value[position] = batch->value_partial[position] = value;
    batch->value_coefficient[position] = batch->value_bootstrap[position] = 0.0f;
}

void cm_batch_set_bootstrap(cm_batch *batch, int position, float value) {
    batch->value_bootstrap[position] = value;
    add_bootstrap(batch, (size_t)position);
}

cm_status cm_replay_sample(const cm_replay *replay, uint64_t update, double beta, cm_batch *batch) {
    if (replay->positions == 0) return cm_fail(CM_ERR_STATE, "replay: nothing to draw from; append and commit first");
    int rows = batch->config.rows;
    batch->update = update, batch->collected = (uint32_t)replay->collected;
    batch->status = CM_OK;
    if (replay->frames) cm_frame_reader_forget(batch->reader);
    batch->policy_drift = 0.0, batch->policies_reanalysed = 0;
    draw_slots(replay, batch);
    weigh(replay, beta, batch);
    draw_symmetries(replay, batch);
    for (int row = 0; row < rows && row < FETCH_AHEAD; row++) fetch_row(replay, batch->slot[row]);
    for (int row = 0; row < rows; row++) {
        if (row + FETCH_AHEAD < rows) fetch_row(replay, batch->slot[row + FETCH_AHEAD]);
        gather_row(replay, batch, row);
    }
    add_bootstraps(batch);
    return batch->status;
}

cm_status cm_batch_set_policy(cm_batch *batch, int position, float *weights, float *drift) {
    const int entries = cm_policy_size(batch->form), numbers = batch->form.numbers;
    float *target = batch->target_policy + (size_t)position * (size_t)entries;
    double distance = 0.0;
    CM_TRY(cm_policy_normalise(weights, batch->form, weights));
    cm_policy_smooth(batch->policy_smoothing, batch->form, weights, 1, weights);
    for (int a = 0; a < entries; a++) distance += fabs((double)weights[a] - (double)target[a]);
    memcpy(target, weights, (size_t)entries * sizeof *target);
    *drift = (float)(0.5 * distance / numbers);
    return CM_OK;
}
