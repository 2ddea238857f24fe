/* Between iterations: priorities take effect, open episodes go into the ring, the oldest leave. */
#include <math.h>
#include <string.h>

#include "core/log.h"
#include "replay/internal.h"
#include "replay/priority.h"

/* ---- leaves of the sum tree ---------------------------------------------------------------------------------------
 */

void cm_replay_set_leaf(cm_replay *replay, int32_t slot) {
    bool one = !replay->config.prioritized || replay->flat;
    double mass = one ? 1.0 : cm_priority_mass(replay->priority[slot], replay->config.alpha);
    cm_sum_tree_set(&replay->tree, slot, cm_slot_is_old(replay, slot, replay->collected) ? 0.0 : mass);
}

static void clear_leaf(cm_replay *replay, int32_t slot) { cm_sum_tree_set(&replay->tree, slot, 0.0); }

void cm_replay_visit(cm_replay *replay, void (*visit)(cm_replay *replay, int32_t slot, void *context), void *context) {
    int32_t slot = replay->tail;
    for (int32_t i = 0; i < replay->used; i++, slot = cm_slot_add(replay, slot, 1)) {
        bool shown = replay->row[slot].left > 0 && !cm_slot_is_old(replay, slot, replay->collected);
        if (shown) visit(replay, slot, context);
    }
    for (int e = 0; e < replay->config.environments; e++) {
        for (int32_t t = 0; t < replay->open[e].visible; t++) {
            slot = cm_open_slot(replay, e, t);
            if (!cm_slot_is_old(replay, slot, replay->collected)) visit(replay, slot, context);
        }
    }
}

static void set_leaf_of(cm_replay *replay, int32_t slot, void *context) {
    (void)context;
    cm_replay_set_leaf(replay, slot);
}

static void set_flat(cm_replay *replay, bool flat) {
    if (replay->flat == flat) return;
    replay->flat = flat;
    cm_replay_visit(replay, set_leaf_of, NULL);
}

void cm_replay_unflatten(cm_replay *replay) { set_flat(replay, false); }

/* ---- priorities ---------------------------------------------------------------------------------------------------
 */

static void keep_larger(cm_replay *replay, int32_t slot, void *largest) {
    float p = replay->priority[slot];
    if (p > *(float *)largest) *(float *)largest = p;
}

/* The largest priority of a position that may be drawn, 1 if there is none. */
static float largest_priority(cm_replay *replay) {
    float largest = -1.0f;
    cm_replay_visit(replay, keep_larger, &largest);
    return largest < 0.0f ? 1.0f : largest;
}

float cm_replay_newest_priority(cm_replay *replay) {
    return replay->config.prioritized && replay->config.new_is_max ? largest_priority(replay) : 0.0f;
}

cm_status cm_replay_update_priorities(cm_replay *replay, int n, const int32_t *slot, const uint32_t *index,
                                      const float *priority) {
    if (!replay->config.prioritized) return CM_OK;
    if (replay->loading) return cm_fail(CM_ERR_STATE, "replay: priorities updated before loading has ended");
    for (int i = 0; i < n; i++) {
        int32_t s = slot[i];
        if (s < 0 || s >= replay->slots)
            return cm_fail(CM_ERR_INPUT, "replay: priority %d is for slot %d, must be in 0 .. %d", i, s,
                           replay->slots - 1);
        if (priority[i] < 0.0f)
            return cm_fail(CM_ERR_INPUT, "replay: priority %d is %g, must be >= 0", i, (double)priority[i]);
        if (cm_slot_left(replay, s) == 0 || replay->row[s].index != index[i]) {
            replay->late_updates++;
            continue;
        }
        if (replay->update[s] == -1.0f) replay->updated[replay->updates++] = s;
        replay->update[s] = priority[i];
    }
    return CM_OK;
}

static void set_priority(cm_replay *replay, int32_t slot, float priority) {
    replay->priority[slot] = priority;
    replay->row[slot].flags |= FLAG_TRAINED;
    replay->update[slot] = -1.0f;
    cm_replay_set_leaf(replay, slot);
}

static void apply_updates(cm_replay *replay) {
    int32_t unknown = 0;
    for (int32_t i = 0; i < replay->updates; i++) {
        int32_t slot = replay->updated[i];
        if (isfinite(replay->update[slot]))
            set_priority(replay, slot, replay->update[slot]);
        else
            replay->updated[unknown++] = slot;
    }
    float largest = unknown ? largest_priority(replay) : 0.0f;
    for (int32_t i = 0; i < unknown; i++) set_priority(replay, replay->updated[i], largest);
    replay->updates = 0;
}

/* The priority of a position that training has not seen: |search value - n-step return| + epsilon of what is known now.
 */
static float error_priority(cm_replay *replay, int32_t slot) {
    cm_target_window window;
    cm_window_open(replay, slot, cm_slot_left(replay, slot), &replay->scratch, &window);
    double target = cm_target_return(&replay->config.targets, &window);
    return cm_priority_error((double)window.row[0].root_value, target, replay->config.epsilon);
}

/* Shows a position: `known` if it has had a priority before; `newest` is what a new one gets under new_is_max. */
static void show_position(cm_replay *replay, int32_t slot, bool known, float newest) {
    const cm_replay_config *c = &replay->config;
    bool keep = !c->prioritized || (replay->row[slot].flags & FLAG_TRAINED) || (known && c->new_is_max);
    if (!keep) replay->priority[slot] = c->new_is_max ? newest : error_priority(replay, slot);
    cm_replay_set_leaf(replay, slot);
}

/* ---- the ring -----------------------------------------------------------------------------------------------------
 */

void cm_replay_evict(cm_replay *replay) {
    int32_t steps = replay->row[replay->tail].left, slot = replay->tail;
    for (int32_t t = 0; t < steps; t++, slot = cm_slot_add(replay, slot, 1)) {
        clear_leaf(replay, slot);
        replay->row[slot].left = 0;
    }
    if (replay->frames) cm_frames_release_segment(replay, replay->tail, slot);
    replay->episodes -= !(replay->row[slot].flags & FLAG_CUT);
    replay->steps -= steps;
    replay->used -= steps + 1;
    replay->tail = cm_slot_add(replay, slot, 1);
    replay->first_segment++;
}

int32_t cm_ring_reserve(cm_replay *replay, int32_t steps) {
    while (replay->used + steps + 1 > replay->ring) cm_replay_evict(replay);
    return cm_slot_add(replay, replay->tail, replay->used);
}

void cm_ring_adopt(cm_replay *replay, int32_t slot, int32_t steps, int32_t known, float newest) {
    int32_t row = slot;
    int32_t last = cm_slot_add(replay, slot, steps);
    uint8_t terminal = replay->row[last].flags & FLAG_TERMINATED ? FLAG_TERMINAL : 0;
    for (int32_t t = 0; t <= steps; t++, row = cm_slot_add(replay, row, 1)) {
        replay->row[row].left = steps - t;
        if (t < steps) replay->row[row].flags = (uint8_t)((replay->row[row].flags & ~FLAG_LAST) | terminal);
    }
    replay->episodes += !(replay->row[last].flags & FLAG_CUT);
    replay->steps += steps;
    replay->used += steps + 1;
    replay->next_segment++;
    if (replay->config.prioritized) replay->priority[last] = 0.0f; /* it is never drawn, but saved */
    for (int32_t t = 0; t < steps; t++, slot = cm_slot_add(replay, slot, 1)) {
        show_position(replay, slot, t < known, newest);
    }
}

/* Moves `steps` steps of an open episode and the row after them into the ring; the first `known` have priorities. */
static void store_segment(cm_replay *replay, int32_t from, int32_t steps, int32_t known, float newest) {
    int fields = replay->config.prioritized ? FIELD_UPDATE : FIELD_PRIORITY;
    int32_t to = cm_ring_reserve(replay, steps);
    cm_rows_copy(replay, to, from, steps + 1, fields);
    cm_ring_adopt(replay, to, steps, known, newest);
}

/* ---- open episodes ----------------------------------------------------------------------------------------
 */

/* Shows the steps of the open episode whose n-step returns are complete: later rewards change nothing about them. */
static void show_open(cm_replay *replay, int environment, float newest) {
    cm_open_episode *episode = &replay->open[environment];
    int32_t before = episode->visible;
    episode->visible = episode->open ? cm_open_complete(replay, episode->rows) : 0;
    for (int32_t t = before; t < episode->visible; t++) {
        show_position(replay, cm_open_slot(replay, environment, t), false, newest);
    }
}

static void commit_open(cm_replay *replay, int environment, float newest) {
    cm_open_episode *episode = &replay->open[environment];
    int32_t start = 0, base = cm_open_slot(replay, environment, 0), shown = episode->visible;
    for (int32_t row = episode->committed; row < episode->rows; row++) {
        uint8_t last = replay->row[base + row].flags & FLAG_LAST;
        if (!last) continue;
        store_segment(replay, base + start, row - start, start == 0 ? shown : 0, newest);
        start = last & FLAG_CUT ? row : row + 1;
        if (replay->frames && start == row)
            cm_frames_begin_segment(replay, environment, base + row, row == episode->rows - 1);
    }
    if (start > 0) {
        for (int32_t t = 0; t < shown; t++) clear_leaf(replay, base + t);
        episode->visible = 0;
        episode->rows -= start;
        episode->segment -= start;
        cm_rows_copy(replay, base, base + start, episode->rows, FIELD_PRIORITY);
    }
    episode->committed = episode->rows;
    episode->fresh = 0;
    show_open(replay, environment, newest);
}

/* ---- commit -------------------------------------------------------------------------------------------------------
 */

void cm_replay_count_collected(cm_replay *replay) {
    replay->collected = 0;
    for (int e = 0; e < replay->config.environments; e++) replay->collected += replay->open[e].steps;
}

/* Hides the old steps among the first `steps` from `slot` on, which come in order of age; how many there are. */
static int64_t hide_old(cm_replay *replay, int32_t slot, int32_t steps) {
    int32_t t = 0;
    for (; t < steps && cm_slot_is_old(replay, slot, replay->collected); t++, slot = cm_slot_add(replay, slot, 1)) {
        if (!cm_slot_is_old(replay, slot, replay->hidden_at)) clear_leaf(replay, slot);
    }
    return t;
}

/* Removes the oldest segments as long as they are all old and hides the old beginnings of others; the number of steps
 * hidden in the ring. */
static int64_t limit_ring(cm_replay *replay) {
    int64_t hidden = 0;
    bool oldest = true;
    for (int32_t slot = replay->tail, rows = replay->used, next; rows > 0; slot = next) {
        int32_t steps = replay->row[slot].left, last = cm_slot_add(replay, slot, steps - 1);
        next = cm_slot_add(replay, slot, steps + 1);
        rows -= steps + 1;
        oldest = oldest && cm_slot_is_old(replay, last, replay->collected);
        if (oldest) {
            cm_replay_evict(replay);
        } else {
            hidden += hide_old(replay, slot, steps);
        }
    }
    return hidden;
}

void cm_replay_refresh(cm_replay *replay) {
    const cm_replay_config *c = &replay->config;
    while (c->max_episodes > 0 && replay->episodes > c->max_episodes) cm_replay_evict(replay);
    int64_t hidden = c->max_steps > 0 ? limit_ring(replay) : 0;
    replay->positions = replay->steps - hidden;
    for (int e = 0; e < c->environments; e++) {
        int32_t shown = replay->open[e].visible;
        replay->positions += shown - hide_old(replay, cm_open_slot(replay, e, 0), shown);
    }
    replay->hidden_at = replay->collected;
    if (replay->positions > 0 && !(cm_sum_tree_total(&replay->tree) > 0.0)) set_flat(replay, true);
}

void cm_frames_make_room(cm_replay *replay, int64_t more) {
    if (!replay->frames) return;
    while (!cm_frame_store_fits(replay->frames, more) && replay->used > 0) cm_replay_evict(replay);
    if (!replay->loading) return;
    replay->load_segment = replay->first_segment;
    replay->load_slot = replay->tail;
}

/* Room for what comes until the next commit. */
static void commit_frames(cm_replay *replay) {
    if (!replay->frames) return;
    cm_frame_store_count(replay->frames);
    cm_frames_make_room(replay, 0);
    cm_frame_store_refill(replay->frames);
}

/* Once, when the first steps leave because of the space and not of their age. */
static void say_short(cm_replay *replay) {
    const int64_t wanted = replay->config.max_steps;
    if (replay->frames->is_told || replay->positions >= wanted) return;
    replay->frames->is_told = true;
    cm_log(CM_WARNING,
           "memory_store compressed: its space is full with %lld of %lld steps, as observations shrink to more than a "
           "quarter: the oldest leave early; set memory_store to file to keep all",
           (long long)replay->positions, (long long)wanted);
}

cm_status cm_replay_commit(cm_replay *replay) {
    CM_TRY(cm_replay_claim(replay, "commit"));
    if (replay->loading) return cm_fail(CM_ERR_STATE, "replay: commit before loading has ended");
    if (replay->frames && replay->frames->has_failed)
        return cm_fail(CM_ERR_IO, "the memory could not be read when positions were reanalysed");
    cm_replay_count_collected(replay);
    set_flat(replay, false);
    apply_updates(replay);
    const bool is_short = replay->frames && cm_frame_store_is_packed_full(replay->frames);
    float newest = cm_replay_newest_priority(replay);
    for (int e = 0; e < replay->config.environments; e++) commit_open(replay, e, newest);
    commit_frames(replay);
    cm_replay_refresh(replay);
    if (is_short) say_short(replay);
    return CM_OK;
}

void cm_replay_empty(cm_replay *replay) {
    replay->flat = false;
    for (int32_t i = 0; i < replay->updates; i++) replay->update[replay->updated[i]] = -1.0f;
    replay->updates = 0;
    while (replay->used > 0) cm_replay_evict(replay);
    for (int e = 0; e < replay->config.environments; e++) {
        cm_open_episode *episode = &replay->open[e];
        for (int32_t t = 0; t < episode->visible; t++) clear_leaf(replay, cm_open_slot(replay, e, t));
        *episode = (cm_open_episode){.steps = episode->steps};
    }
    if (replay->frames) cm_frame_store_reset(replay->frames);
    replay->tail = 0;
    replay->steps = replay->episodes = 0;
    replay->loading = false;
    cm_replay_count_collected(replay);
    cm_replay_refresh(replay);
}

cm_status cm_replay_clear(cm_replay *replay) {
    CM_TRY(cm_replay_claim(replay, "clear"));
    cm_replay_empty(replay);
    return CM_OK;
}
