/* The positions that are kept, for who searches all of them. */
#include "replay/internal.h"

int32_t cm_replay_slots(const cm_replay *replay) { return replay->slots; }

/* Whether the row ends a segment whose last return has a bootstrap there. */
static bool is_bootstrap_end(const cm_replay_row *row) {
    return row->left == 0 && (row->flags & (FLAG_TRUNCATED | FLAG_CUT)) && !(row->flags & FLAG_TERMINATED);
}

static void list_ring(const cm_replay *replay, cm_replay_position *out, int32_t *count) {
    int32_t slot = replay->tail;
    for (int32_t i = 0; i < replay->used; i++, slot = cm_slot_add(replay, slot, 1)) {
        const cm_replay_row *row = &replay->row[slot];
        const bool is_end = is_bootstrap_end(row);
        if ((row->left == 0 && !is_end) || cm_slot_is_old(replay, slot, replay->collected)) continue;
        out[(*count)++] = (cm_replay_position){cm_row_key(row, is_end), slot};
    }
}

/* Of open episodes that are drawn from, up to the row that serves as the end. */
static void list_open(const cm_replay *replay, int environment, cm_replay_position *out, int32_t *count) {
    const cm_open_episode *episode = &replay->open[environment];
    for (int32_t t = 0; episode->visible > 0 && t < episode->committed; t++) {
        const int32_t slot = cm_open_slot(replay, environment, t);
        if (cm_slot_is_old(replay, slot, replay->collected)) continue;
        out[(*count)++] = (cm_replay_position){cm_row_key(&replay->row[slot], false), slot};
    }
}

void cm_replay_positions(const cm_replay *replay, cm_replay_position *out, int32_t *count) {
    *count = 0;
    list_ring(replay, out, count);
    for (int e = 0; e < replay->config.environments; e++) list_open(replay, e, out, count);
}
