/* Rows by slot: copying them, and the window of a position. */
#include <string.h>

#include "replay/policy.h"

_Static_assert(sizeof(cm_open_episode) == CM_ALIGN, "an open episode is a cache line");

int32_t cm_slot_left(const cm_replay *replay, int32_t slot) {
    if (slot < replay->ring) return replay->row[slot].left;
    int32_t offset = slot - replay->ring, t = offset % replay->open_rows;
    const cm_open_episode *episode = &replay->open[offset / replay->open_rows];
    return t < episode->visible ? episode->committed - 1 - t : 0;
}

/* Rows from `slot` on that lie after each other, at most `rows`. */
static int32_t straight_rows(const cm_replay *replay, int32_t slot, int32_t rows) {
    if (slot >= replay->ring || rows <= replay->ring - slot) return rows;
    return replay->ring - slot;
}

void cm_rows_copy(cm_replay *replay, int32_t to, int32_t from, int32_t rows, int fields) {
    while (rows > 0) {
        int32_t run = straight_rows(replay, from, straight_rows(replay, to, rows));
        for (int f = 0; f < fields; f++) {
            size_t stride = replay->info[f].width * replay->info[f].columns;
            memmove(replay->field[f] + (size_t)to * stride, replay->field[f] + (size_t)from * stride,
                    (size_t)run * stride);
        }
        to = cm_slot_add(replay, to, run);
        from = cm_slot_add(replay, from, run);
        rows -= run;
    }
}

/* out[rows, width] = the rows of an array from `slot` on. */
static void read_rows(const cm_replay *replay, const void *array, size_t width, int32_t slot, int32_t rows, void *out) {
    int32_t first = straight_rows(replay, slot, rows);
    const unsigned char *bytes = array;
    memcpy(out, bytes + (size_t)slot * width, (size_t)first * width);
    memcpy((unsigned char *)out + (size_t)first * width, bytes, (size_t)(rows - first) * width);
}

void cm_window_open(const cm_replay *replay, int32_t slot, int32_t left, const cm_window_scratch *scratch,
                    cm_target_window *out) {
    const cm_target_rule *rule = &replay->config.targets;
    size_t entries = (size_t)cm_policy_size(replay->config.form);
    int32_t rows = left < replay->window_rows - 1 ? left + 1 : replay->window_rows;
    *out = (cm_target_window){
        .left = left,
        .terminated = replay->row[slot].flags & FLAG_TERMINAL,
        .form = replay->config.form,
        .td_steps = rule->td_steps,
        .row = replay->row + slot,
        .policy = replay->policy + (size_t)slot * cm_policy_columns(&replay->config),
    };
    const bool is_straight = straight_rows(replay, slot, rows) == rows;
    if (!is_straight) {
        read_rows(replay, replay->row, sizeof(cm_replay_row), slot, rows, scratch->row);
        out->row = scratch->row;
    }
    if ((is_straight && replay->config.entries == 0) || !scratch->policy) return;
    int32_t policies = rows < rule->unroll + 1 ? rows : rule->unroll + 1;
    for (int32_t i = 0; i < policies; i++)
        cm_policy_load(replay, cm_slot_add(replay, slot, i), scratch->policy + (size_t)i * entries);
    out->policy = scratch->policy;
}
