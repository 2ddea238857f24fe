/* Asterix of MinAtar: the rules (docs/spec/minatar.md 2). */
#ifndef CM_ENV_MINATAR_ASTERIX_H
#define CM_ENV_MINATAR_ASTERIX_H

#include "env/minatar.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ASTERIX_CHANNELS = 4, CM_ASTERIX_SLOTS = 8 };
enum { CM_ASTERIX_SPAWN = 10, CM_ASTERIX_MOVE = 5, CM_ASTERIX_RAMP = 100, CM_ASTERIX_RAMPS = 9 };

/* Slot i is row i + 1. Bit i of a mask speaks of it; columns of empty slots mean nothing. */
typedef struct cm_asterix {
    int8_t column[CM_ASTERIX_SLOTS];
    uint8_t used, rightward, gold; /* masks */
    uint8_t last_action;
    int8_t x, y; /* of the player, rows 1 .. 8 */
    int8_t spawn_in, move_in, ramp_in, ramps;
    uint8_t unused[6];
} cm_asterix;

/* Frames between two spawns, and between two moves of everything: fewer after every ramp. */
static CM_HD inline int cm_asterix_spawn_every(const cm_asterix *s) {
    return s->ramps < CM_ASTERIX_RAMPS ? CM_ASTERIX_SPAWN - s->ramps : 1;
}
static CM_HD inline int cm_asterix_move_every(const cm_asterix *s) {
    return s->ramps < CM_ASTERIX_RAMPS ? CM_ASTERIX_MOVE - s->ramps / 2 : 1;
}

static CM_HD inline void cm_asterix_start(cm_asterix *s) {
    for (int i = 0; i < CM_ASTERIX_SLOTS; i++) s->column[i] = 0;
    s->used = s->rightward = s->gold = 0;
    s->last_action = CM_MINATAR_NONE;
    s->x = s->y = 5;
    s->spawn_in = CM_ASTERIX_SPAWN, s->move_in = CM_ASTERIX_MOVE, s->ramp_in = CM_ASTERIX_RAMP, s->ramps = 0;
    for (int i = 0; i < 6; i++) s->unused[i] = 0;
}

/* Bit number `skip` of those of a mask that are not set, which are more than that. */
static CM_HD inline int cm_asterix_free_slot(unsigned used, int skip) {
    int slot = 0;
    while ((used >> slot & 1) || skip-- > 0) slot++;
    return slot;
}

/* Something new in an empty slot, if there is one. Draws: direction, kind, slot. */
static CM_HD inline void cm_asterix_spawn(cm_asterix *s, cm_pcg64 *random) {
    const bool rightward = cm_pcg64_double(random) < 0.5, gold = cm_pcg64_double(random) < 1.0 / 3.0;
    int empty = 0;
    for (unsigned rest = ~(unsigned)s->used & 0xffu; rest; rest &= rest - 1) empty++;
    if (empty == 0) return;
    const int slot = cm_asterix_free_slot(s->used, cm_pcg64_below(random, empty));
    const unsigned bit = 1u << slot;
    s->column[slot] = (int8_t)(rightward ? 0 : CM_MINATAR_LAST);
    s->used = (uint8_t)(s->used | bit);
    s->rightward = (uint8_t)(rightward ? s->rightward | bit : s->rightward & ~bit);
    s->gold = (uint8_t)(gold ? s->gold | bit : s->gold & ~bit);
}

/* What is on the player's cell: gold is taken, an enemy is the end. Returns whether it is. */
static CM_HD inline bool cm_asterix_meet(cm_asterix *s, int *reward) {
    const int slot = s->y - 1;
    const unsigned bit = 1u << slot;
    if (!(s->used & bit) || s->column[slot] != s->x) return false;
    if (!(s->gold & bit)) return true;
    s->used = (uint8_t)(s->used & ~bit);
    ++*reward;
    return false;
}

static CM_HD inline void cm_asterix_move(cm_asterix *s) {
    for (int i = 0; i < CM_ASTERIX_SLOTS; i++) {
        const int x = s->column[i] + (s->rightward >> i & 1 ? 1 : -1);
        const bool is_inside = x >= 0 && x <= CM_MINATAR_LAST;
        s->used = (uint8_t)(s->used & ~((unsigned)!is_inside << i));
        s->column[i] = (int8_t)(is_inside ? x : 0);
    }
}

static CM_HD inline void cm_asterix_ramp(cm_asterix *s) {
    if (s->ramps >= CM_ASTERIX_RAMPS) return;
    if (s->ramp_in >= 0) {
        s->ramp_in--;
    } else {
        s->ramps++;
        s->ramp_in = CM_ASTERIX_RAMP;
    }
}

/* One frame. Returns whether it is the last; *reward is 1 for gold, else 0. */
static CM_HD inline bool cm_asterix_step(cm_asterix *s, int action, bool ramping, cm_pcg64 *random, int *reward) {
    *reward = 0;
    if (s->spawn_in == 0) {
        cm_asterix_spawn(s, random);
        s->spawn_in = (int8_t)cm_asterix_spawn_every(s);
    }
    s->x = (int8_t)cm_minatar_move(s->x, cm_minatar_dx(action), 0, CM_MINATAR_LAST);
    s->y = (int8_t)cm_minatar_move(s->y, cm_minatar_dy(action), 1, CM_ASTERIX_SLOTS);
    bool ends = cm_asterix_meet(s, reward);
    if (s->move_in == 0) {
        s->move_in = (int8_t)cm_asterix_move_every(s);
        cm_asterix_move(s);
        ends |= cm_asterix_meet(s, reward);
    }
    s->spawn_in--, s->move_in--;
    if (ramping) cm_asterix_ramp(s);
    return ends;
}

/* Channels: player, enemy, trail, gold. */
static CM_HD inline void cm_asterix_planes(const cm_asterix *s, cm_minatar_cells planes[CM_ASTERIX_CHANNELS]) {
    cm_minatar_put(&planes[0], s->x, s->y);
    for (int i = 0; i < CM_ASTERIX_SLOTS; i++) {
        if (!(s->used >> i & 1)) continue;
        cm_minatar_put(&planes[s->gold >> i & 1 ? 3 : 1], s->column[i], i + 1);
        cm_minatar_put_inside(&planes[2], s->column[i] - (s->rightward >> i & 1 ? 1 : -1), i + 1);
    }
}

#ifdef __cplusplus
}
#endif
#endif
