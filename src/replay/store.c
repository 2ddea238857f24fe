/* The replay's block of memory: checks, plan, create, and what can be asked of it. */
#include <math.h>
#include <string.h>

#include "replay/policy.h"

/* Plans of a given memory_bytes depend on it: an older run goes on with as many rows. */
_Static_assert(sizeof(struct cm_replay) > 27 * CM_ALIGN && sizeof(struct cm_replay) <= 28 * CM_ALIGN, "as it was");

/* ---- checks -------------------------------------------------------------------------------------------------------
 */

static cm_status check_range(const char *name, int64_t value, int64_t min, int64_t max) {
    if (value >= min && value <= max) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "replay: %s is %lld, must be in %lld .. %lld", name, (long long)value, (long long)min,
                   (long long)max);
}

enum { MOST_ENTRIES = 1 << 14 };

static cm_status check_policy(const cm_replay_config *c) {
    CM_TRY(check_range("actions", c->actions, 1, c->form.numbers > 0 ? CM_POLICY_ACTIONS : 65536));
    const cm_policy_form form = cm_replay_form(c);
    CM_TRY(check_range("actions", c->actions, cm_policy_actions(form), cm_policy_actions(form)));
    CM_TRY(check_range("entries of a policy", cm_policy_size(form), 1, 65536));
    CM_TRY(check_range("entries", c->entries, 0, MOST_ENTRIES));
    if (c->entries > 0 && (form.numbers > 1 || c->symmetries > 1))
        return cm_fail(CM_ERR_INPUT, "replay: entries are for joint policies without symmetries");
    if (form.numbers == 1 || c->symmetries <= 1) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "replay: symmetries are for joint policies, not for those per number");
}

static cm_status check_config(const cm_replay_config *c) {
    const int64_t mi = 1 << 20, many = INT64_C(1) << 53;
    CM_TRY(check_range("observation_size", c->observation_size, 1, 16 * mi));
    CM_TRY(check_policy(c));
    CM_TRY(check_range("environments", c->environments, 1, 65536));
    CM_TRY(check_range("max_steps", c->max_steps, 0, many));
    CM_TRY(check_range("max_episodes", c->max_episodes, 0, many));
    CM_TRY(check_range("segment_steps", c->segment_steps, 1, 16 * mi));
    CM_TRY(check_range("commit_steps", c->commit_steps, 1, mi));
    CM_TRY(check_range("symmetries", c->symmetries, 0, 4096));
    CM_TRY(check_range("frames", c->frames, 0, CM_FRAMES_MOST));
    if (c->frames > 1 && (c->frame_channels < 1 || c->observation_size % (c->frames * c->frame_channels) != 0))
        return cm_fail(CM_ERR_INPUT, "replay: observation_size %d is no stack of %d frames of %d channels",
                       c->observation_size, c->frames, c->frame_channels);
    if (!(c->observation_unit >= 0.0f && isfinite(c->observation_unit)))
        return cm_fail(CM_ERR_INPUT, "replay: observation_unit is %g, must be >= 0", (double)c->observation_unit);
    if (!(c->alpha >= 0.0 && c->alpha <= 16.0))
        return cm_fail(CM_ERR_INPUT, "replay: alpha is %g, must be in 0 .. 16", c->alpha);
    if (!(c->weight_min >= 0.0 && c->weight_min <= 1.0))
        return cm_fail(CM_ERR_INPUT, "replay: weight_min is %g, must be in 0 .. 1", c->weight_min);
    if (!(c->epsilon >= 0.0 && isfinite(c->epsilon)))
        return cm_fail(CM_ERR_INPUT, "replay: epsilon is %g, must be >= 0", c->epsilon);
    if (c->symmetries > 1 && (!c->symmetry_elements || !c->symmetry_actions))
        return cm_fail(CM_ERR_INPUT, "replay: %d symmetries without their tables", c->symmetries);
    if (cm_target_rule_check(&c->targets) != CM_OK) return cm_fail_in(CM_ERR_INPUT, "replay");
    return CM_OK;
}

/* ---- lay-out -------------------------------------------------------------------------------------------------------
 */

static int field_count(const cm_replay_config *c) { return c->prioritized ? FIELD_COUNT : FIELD_PRIORITY; }
static int symmetry_count(const cm_replay_config *c) { return c->symmetries > 1 ? c->symmetries : 0; }

static void describe_fields(const cm_replay_config *c, cm_field_info info[FIELD_COUNT]) {
    size_t observation = (size_t)c->observation_size;
    size_t entries = (size_t)cm_policy_size(cm_replay_form(c));
    bool bytes = c->observation_unit > 0.0f;
    const cm_field_info rows[FIELD_COUNT] = {
        [FIELD_OBSERVATION] = {"observation", bytes ? "uint8" : "float32", bytes ? 1 : 4, observation},
        [FIELD_POLICY] = {"policy", "float32", 4, cm_policy_columns(c)},
        [FIELD_LEGAL] = {"legal mask", "bits", 1, (entries + 7) / 8},
        [FIELD_ROW] = {"step", "struct", sizeof(cm_replay_row), 1},
        [FIELD_PRIORITY] = {"priority", "float32", 4, 1},
        [FIELD_UPDATE] = {"new priority", "float32", 4, 1},
        [FIELD_UPDATED] = {"new priority list", "int32", 4, 1},
    };
    memcpy(info, rows, sizeof rows);
    if (cm_frames_are_apart(c)) info[FIELD_OBSERVATION] = (cm_field_info){"frame", "int32", 4, 1};
}

static void add_row(cm_replay_plan *plan, const char *name, const char *dtype, int64_t rows, int64_t columns,
                    uint64_t bytes) {
    plan->row[plan->count++] = (cm_replay_plan_row){name, dtype, rows, columns, bytes};
    plan->bytes += bytes;
}

/* How much is kept. */
typedef struct extent {
    int32_t ring_rows, frames; /* frames: 0 where they are not apart */
} extent;

static void lay_out_frames(cm_replay *replay, cm_arena *arena, const cm_replay_config *c, int32_t frames,
                           cm_replay_plan *plan) {
    size_t start = arena->used;
    cm_frame_store measured, *store = cm_arena_alloc(arena, sizeof *store);
    replay->frames = store;
    if (!store) store = &measured; /* while only measuring */
    const int count = c->frames > 1 ? c->frames : 1, channels = c->frames > 1 ? c->frame_channels : cm_frame_size(c);
    *store = (cm_frame_store){.shape = {count, (size_t)cm_frame_size(c), (size_t)channels},
                              .unit = c->observation_unit,
                              .environments = c->environments,
                              .capacity = frames,
                              .each = cm_frame_store_each(count, c->commit_steps, c->segment_steps),
                              .is_file = c->place == CM_REPLAY_FILE,
                              .is_packed = c->place == CM_REPLAY_PACKED};
    plan->frames = frames;
    cm_frame_store_lay_out(store, arena);
    const bool are_staged = store->is_file || store->is_packed;
    const int64_t kept = are_staged ? c->environments + 1 : frames; /* in memory */
    const uint64_t data = cm_align((size_t)kept * store->bytes);
    plan->file_bytes = store->is_file ? (uint64_t)frames * store->bytes : 0;
    add_row(plan, are_staged ? "frames on their way" : "frames", store->unit > 0.0f ? "uint8" : "float32", kept,
            (int64_t)store->shape.size, data);
    const uint64_t packed = store->is_packed ? cm_align((size_t)store->packed.chunks * store->packed.chunk) : 0;
    if (packed > 0)
        add_row(plan, "compressed frames", "uint8", store->packed.chunks, (int64_t)store->packed.chunk, packed);
    add_row(plan, "order of frames", "int32", frames, 2, arena->used - start - data - packed);
}

/* Takes everything from `arena` for so many rows and frames: fills replay's pointers and, row by row, the plan. With an
 * arena that only measures the pointers are NULL. `replay` itself has been taken already. */
static void lay_out(cm_replay *replay, cm_arena *arena, const cm_replay_config *c, extent kept, cm_replay_plan *plan) {
    size_t start = arena->used, symmetries = (size_t)symmetry_count(c);
    const int32_t ring_rows = kept.ring_rows;
    memset(plan, 0, sizeof *plan);
    replay->ring = plan->ring_rows = ring_rows;
    replay->open_rows = plan->open_rows = c->segment_steps + 1 + 2 * c->commit_steps;
    replay->slots = (int32_t)(ring_rows + (int64_t)c->environments * replay->open_rows);
    add_row(plan, "replay", "struct", 1, 1, cm_align(sizeof *replay));

    replay->open = cm_arena_alloc(arena, (size_t)c->environments * sizeof(cm_open_episode));
    add_row(plan, "open", "struct", c->environments, 1, arena->used - start);

    start = arena->used;
    int64_t reach = cm_target_reach(&c->targets);
    replay->window_rows = (int32_t)(reach < c->segment_steps ? reach : c->segment_steps) + 1;
    cm_window_scratch_init(&replay->scratch, arena, c, replay->window_rows, false);
    add_row(plan, "window", "struct", replay->window_rows, 1, arena->used - start);

    start = arena->used;
    replay->symmetry_elements = cm_arena_alloc(arena, symmetries * (size_t)cm_frame_size(c) * sizeof(int32_t));
    replay->symmetry_actions = cm_arena_alloc(arena, symmetries * (size_t)c->actions * sizeof(int32_t));
    replay->symmetry_inverse = cm_arena_alloc(arena, symmetries * (size_t)c->actions * sizeof(int32_t));
    add_row(plan, "symmetries", "int32", (int64_t)symmetries, (int64_t)cm_frame_size(c) + 2 * c->actions,
            arena->used - start);

    describe_fields(c, replay->info);
    for (int f = 0; f < field_count(c); f++) {
        const cm_field_info *info = &replay->info[f];
        start = arena->used;
        replay->field[f] = cm_arena_alloc(arena, (size_t)replay->slots * info->width * info->columns);
        add_row(plan, info->name, info->dtype, replay->slots, (int64_t)info->columns, arena->used - start);
    }
    start = arena->used;
    cm_sum_tree_init(&replay->tree, arena, replay->slots);
    add_row(plan, "sum tree", "float64", (int64_t)((arena->used - start) / sizeof(double)), 1, arena->used - start);
    if (cm_frames_are_apart(c)) lay_out_frames(replay, arena, c, kept.frames, plan);
}

void cm_window_scratch_init(cm_window_scratch *scratch, cm_arena *arena, const cm_replay_config *config,
                            int32_t window_rows, bool has_policies) {
    size_t rows = (size_t)window_rows, policies = (size_t)config->targets.unroll + 1;
    size_t entries = (size_t)cm_policy_size(cm_replay_form(config));
    scratch->row = cm_arena_alloc(arena, rows * sizeof(cm_replay_row));
    scratch->policy = NULL;
    if (has_policies) scratch->policy = cm_arena_alloc(arena, policies * entries * sizeof(float));
}

/* ---- plan ----------------------------------------------------------------------------------------------------------
 */

static uint64_t measure(const cm_replay_config *c, extent kept, cm_replay_plan *plan) {
    cm_arena arena = {.base = NULL, .capacity = SIZE_MAX};
    cm_replay replay;
    lay_out(&replay, &arena, c, kept, plan);
    return plan->bytes;
}

/* Rows that the limits on steps and episodes can ever fill, before the oldest are removed in a commit. */
static double useful_rows(const cm_replay_config *c) {
    double rows = HUGE_VAL, arriving = (double)c->environments * (double)c->commit_steps;
    /* Old steps of segments that are not all old yet. */
    double begun = (double)c->environments * ((double)c->segment_steps + 1.0);
    if (c->max_steps > 0) rows = 2.0 * ((double)c->max_steps + arriving) + begun;
    if (c->max_episodes > 0)
        rows = fmin(rows, (double)c->max_episodes * ((double)c->segment_steps + 1.0) + 2.0 * arriving);
    return rows;
}

/* Frames that a limit on steps can ever fill: besides the steps ends of episodes, beginnings of segments that go on,
 * and old steps of segments that are not all old yet, as many as there usually are. Where that is too few the oldest
 * segments leave earlier. */
static double useful_frames(const cm_replay_config *c) {
    const int count = c->frames > 1 ? c->frames : 1;
    const double each = (double)cm_frame_store_each(count, c->commit_steps, c->segment_steps);
    const double begun = (double)c->environments * ((double)c->segment_steps + 1.0), steps = (double)c->max_steps;
    const double coming = (double)c->environments * ((double)c->commit_steps + each + count);
    double frames = HUGE_VAL;
    if (count == 1) return useful_rows(c) + begun + coming; /* as many as whole observations would be */
    const double ends = steps / 16.0 + steps * count / c->segment_steps;
    if (c->max_steps > 0) frames = steps + ends + fmin(begun, steps / 4.0) + coming;
    if (c->max_episodes > 0) frames = fmin(frames, useful_rows(c) + begun + coming);
    return frames;
}

/* So many that every environment can play its longest segment, next to one that is finished. */
static int64_t fewest_frames(const cm_replay_config *c) {
    const int count = c->frames > 1 ? c->frames : 1;
    const int64_t each = cm_frame_store_each(count, c->commit_steps, c->segment_steps);
    const int64_t longest = (int64_t)c->segment_steps + count;
    return c->environments * (longest + each) + longest;
}

/* What can be chosen: rows of the ring, or frames and with them rows. */
typedef struct choice {
    int64_t low, high;
    int32_t rows; /* of the ring, with as many frames as there may be; 0: they are what is chosen */
} choice;

static extent extent_of(choice all, int64_t chosen) {
    if (all.rows == 0) return (extent){.ring_rows = (int32_t)chosen};
    const bool are_most = chosen == all.high || chosen > all.rows;
    return (extent){.ring_rows = are_most ? all.rows : (int32_t)chosen, .frames = (int32_t)chosen};
}

static cm_status choose(const cm_replay_config *c, choice *out) {
    const int64_t open_rows = c->segment_steps + 1 + 2 * (int64_t)c->commit_steps, low = c->segment_steps + 1;
    const int64_t most = INT32_MAX - CM_TREE_FAN - c->environments * open_rows;
    if (most < low)
        return cm_fail(CM_ERR_INPUT, "replay: %d environments x segment_steps %d are more than 2^31 rows",
                       c->environments, c->segment_steps);
    const double useful = useful_rows(c);
    if (c->bytes == 0 && useful > (double)most)
        return cm_fail(CM_ERR_INPUT,
                       "replay: without a limit in bytes it needs one in steps or episodes that fits into 2^31 rows");
    int64_t rows = useful < (double)most ? (int64_t)useful : most;
    if (rows < low) rows = low;
    *out = (choice){low, rows, 0};
    if (!cm_frames_are_apart(c)) return CM_OK;
    const int64_t fewest = fewest_frames(c);
    const double frames = fmin(useful_frames(c), (double)most);
    if (fewest > most) return cm_fail(CM_ERR_INPUT, "replay: its environments need more than 2^31 frames");
    *out = (choice){fewest, (int64_t)frames > fewest ? (int64_t)frames : fewest, (int32_t)rows};
    return CM_OK;
}

cm_status cm_replay_plan_make(const cm_replay_config *config, cm_replay_plan *out) {
    choice all = {0, 0, 0};
    CM_TRY(check_config(config));
    CM_TRY(choose(config, &all));
    const uint64_t budget = config->bytes > 0 ? config->bytes : UINT64_MAX;
    const uint64_t least = measure(config, extent_of(all, all.low), out);
    int64_t low = all.low, high = all.high;
    if (least > budget)
        return cm_fail(CM_ERR_MEMORY,
                       "replay: %llu bytes cannot hold %d environments and one episode of %d steps; give it at least "
                       "%llu bytes, or fewer environments or shorter episodes",
                       (unsigned long long)budget, config->environments, config->segment_steps,
                       (unsigned long long)least);
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (measure(config, extent_of(all, middle), out) <= budget)
            low = middle;
        else
            high = middle - 1;
    }
    measure(config, extent_of(all, low), out);
    return CM_OK;
}

/* ---- create --------------------------------------------------------------------------------------------------------
 */

/* Checks that each row of table[rows, size] is a permutation; marks[size] is space for it, zeroed before and after. */
static cm_status check_permutations(const char *name, const int32_t *table, int rows, int size, uint8_t *marks) {
    for (int s = 0; s < rows; s++) {
        const int32_t *row = table + (size_t)s * (size_t)size;
        for (int i = 0; i < size; i++) {
            if (row[i] < 0 || row[i] >= size || marks[row[i]])
                return cm_fail(CM_ERR_INPUT, "replay: %s[%d] is no permutation of 0 .. %d: entry %d is %d", name, s,
                               size - 1, i, row[i]);
            marks[row[i]] = 1;
        }
        memset(marks, 0, (size_t)size);
    }
    return CM_OK;
}

static cm_status copy_symmetries(cm_replay *replay) {
    const cm_replay_config *c = &replay->config;
    size_t count = (size_t)symmetry_count(c), actions = (size_t)c->actions, elements = (size_t)cm_frame_size(c);
    if (count == 0) return CM_OK;
    /* The fields are still unused, and a row, or a frame, has at least a byte for each of its elements. */
    CM_TRY(check_permutations("symmetry_elements", c->symmetry_elements, (int)count, (int)elements,
                              replay->frames ? replay->frames->data : replay->observation));
    CM_TRY(check_permutations("symmetry_actions", c->symmetry_actions, (int)count, c->actions,
                              replay->field[FIELD_POLICY]));
    memcpy(replay->symmetry_elements, c->symmetry_elements, count * elements * sizeof(int32_t));
    memcpy(replay->symmetry_actions, c->symmetry_actions, count * actions * sizeof(int32_t));
    for (size_t i = 0; i < count * actions; i++) {
        size_t row = i - i % actions;
        replay->symmetry_inverse[row + (size_t)replay->symmetry_actions[i]] = (int32_t)(i % actions);
    }
    return CM_OK;
}

static void bind_fields(cm_replay *replay) {
    if (replay->frames) {
        replay->frame = (int32_t *)(void *)replay->field[FIELD_OBSERVATION];
    } else {
        replay->observation = replay->field[FIELD_OBSERVATION];
    }
    replay->policy = (float *)(void *)replay->field[FIELD_POLICY];
    replay->legal = replay->field[FIELD_LEGAL];
    replay->row = (cm_replay_row *)(void *)replay->field[FIELD_ROW];
    replay->priority = (float *)(void *)replay->field[FIELD_PRIORITY];
    replay->update = (float *)(void *)replay->field[FIELD_UPDATE];
    replay->updated = (int32_t *)(void *)replay->field[FIELD_UPDATED];
}

cm_status cm_replay_create(const cm_replay_config *config, cm_replay **out) {
    *out = NULL;
    cm_replay_plan plan;
    CM_TRY(cm_replay_plan_make(config, &plan));
    cm_arena arena;
    CM_TRY(cm_arena_create(&arena, plan.bytes, "the replay"));
    cm_replay *replay = cm_arena_alloc(&arena, sizeof *replay);
    lay_out(replay, &arena, config, (extent){plan.ring_rows, plan.frames}, &replay->plan);
    replay->arena = arena;
    replay->config = *config;
    replay->config.form = cm_replay_form(config);
    replay->legal_bytes = replay->info[FIELD_LEGAL].columns;
    bind_fields(replay);
    if (replay->frames && cm_frame_store_open(replay->frames) != CM_OK) {
        cm_replay_destroy(replay);
        return CM_ERR_MEMORY;
    }
    if (replay->frames) cm_frame_store_reset(replay->frames);
    if (config->prioritized) {
        for (int32_t i = 0; i < replay->slots; i++) replay->update[i] = -1.0f;
    }
    cm_status status = copy_symmetries(replay);
    replay->config.symmetry_elements = replay->symmetry_elements;
    replay->config.symmetry_actions = replay->symmetry_actions;
    if (status != CM_OK) {
        cm_replay_destroy(replay);
        return status;
    }
    *out = replay;
    return CM_OK;
}

void cm_replay_destroy(cm_replay *replay) {
    if (!replay) return;
    cm_arena arena = replay->arena; /* the struct goes with its block */
    if (replay->frames) cm_frame_store_close(replay->frames);
    cm_arena_destroy(&arena);
}

cm_status cm_replay_open_file(cm_replay *replay, const char *folder) {
    return replay->config.place == CM_REPLAY_FILE ? cm_frame_file_open(replay->frames, folder) : CM_OK;
}

/* ---- looking -------------------------------------------------------------------------------------------------------
 */

const cm_replay_config *cm_replay_configuration(const cm_replay *replay) { return &replay->config; }

cm_status cm_replay_claim(cm_replay *replay, const char *what) {
    if (__atomic_load_n(&replay->readers, __ATOMIC_ACQUIRE) == 0) return CM_OK;
    return cm_fail(CM_ERR_STATE, "replay: %s while batches are being drawn; end the prefetch first", what);
}

void cm_replay_count(const cm_replay *replay, cm_replay_counts *out) {
    *out = (cm_replay_counts){
        .bytes = replay->plan.bytes,
        .file_bytes = replay->plan.file_bytes,
        .positions = replay->positions,
        .episodes = replay->episodes,
        .segments = (int64_t)(replay->next_segment - replay->first_segment),
        .steps = replay->steps,
        .rows = replay->used,
        .ring_rows = replay->ring,
        .first_segment = replay->first_segment,
        .collected = replay->collected,
        .late_updates = replay->late_updates,
    };
}

cm_status cm_replay_is_ready(int64_t episodes, int64_t max_episodes, int64_t min_size, double min_fill, bool *ready) {
    if (min_size < 0 || !(min_fill >= 0.0 && min_fill <= 1.0))
        return cm_fail(CM_ERR_INPUT, "min_size must be non-negative and min_fill_pct must be between 0 and 1");
    if (min_size == 0 && min_fill == 0.0)
        return cm_fail(CM_ERR_INPUT, "at least one of min_size or min_fill_pct must be greater than zero");
    if (min_fill > 0.0 && max_episodes == 0)
        return cm_fail(CM_ERR_INPUT, "min_fill_pct needs a capacity in episodes: set memory_capacity");
    *ready = episodes >= min_size && (double)episodes >= min_fill * (double)max_episodes;
    return CM_OK;
}
