/* Space Invaders of MinAtar: the rules (docs/spec/minatar.md 4). */
#ifndef CM_ENV_MINATAR_SPACE_INVADERS_H
#define CM_ENV_MINATAR_SPACE_INVADERS_H

#include "env/minatar.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_INVADERS_CHANNELS = 6, CM_INVADERS_WAVE = 24 };
enum { CM_INVADERS_SLOWEST = 12, CM_INVADERS_FASTEST = 6, CM_INVADERS_SHOOT = 10, CM_INVADERS_COOL = 5 };

typedef struct cm_invaders {
    cm_minatar_cells own, bullets, aliens; /* own: bullets of the cannon; bullets: of the aliens */
    int8_t cannon;                         /* its column, in row 9 */
    int8_t side;                           /* where aliens go: -1 left, 1 right */
    int8_t move_every, move_in, shoot_in;
    int8_t cool; /* frames until the cannon may fire */
    uint8_t last_action, unused;
} cm_invaders;

/* Rows 0 .. 3, columns 2 .. 7. */
static CM_HD inline void cm_invaders_enter(cm_invaders *s) {
    const uint64_t row = 0x0fc;
    s->aliens.half[0] = row | row << 10 | row << 20 | row << 30;
    s->aliens.half[1] = 0;
}

static CM_HD inline void cm_invaders_start(cm_invaders *s) {
    const cm_minatar_cells none = {{0, 0}};
    s->own = s->bullets = none;
    cm_invaders_enter(s);
    s->cannon = 5, s->side = -1;
    s->move_every = s->move_in = CM_INVADERS_SLOWEST, s->shoot_in = CM_INVADERS_SHOOT;
    s->cool = 0;
    s->last_action = CM_MINATAR_NONE, s->unused = 0;
}

static CM_HD inline void cm_invaders_act(cm_invaders *s, int action) {
    if (action == CM_MINATAR_FIRE && s->cool == 0) {
        cm_minatar_put(&s->own, s->cannon, CM_MINATAR_LAST);
        s->cool = CM_INVADERS_COOL;
    }
    s->cannon = (int8_t)cm_minatar_move(s->cannon, cm_minatar_dx(action), 0, CM_MINATAR_LAST);
}

/* All aliens one row down; those of row 9, with which the game ends, come in again in row 0. */
static CM_HD inline void cm_invaders_sink(cm_invaders *s) {
    const uint64_t lowest = s->aliens.half[1] >> (CM_MINATAR_HALF - CM_MINATAR_SIDE);
    s->aliens = cm_minatar_down(s->aliens);
    s->aliens.half[0] |= lowest;
}

/* All aliens one column on, or at the edge one row down and round. Returns whether one was in row 9 then. */
static CM_HD inline bool cm_invaders_march(cm_invaders *s) {
    const unsigned edge = s->side < 0 ? 1u : 1u << CM_MINATAR_LAST;
    if (cm_minatar_columns(&s->aliens) & edge) {
        const bool has_landed = s->aliens.half[1] >> (CM_MINATAR_HALF - CM_MINATAR_SIDE) != 0;
        s->side = (int8_t)-s->side;
        cm_invaders_sink(s);
        return has_landed;
    }
    for (int h = 0; h < 2; h++) s->aliens.half[h] = s->side < 0 ? s->aliens.half[h] >> 1 : s->aliens.half[h] << 1;
    return false;
}

static CM_HD inline bool cm_invaders_is_caught(const cm_invaders *s, const cm_minatar_cells *by) {
    return cm_minatar_has(by, s->cannon, CM_MINATAR_LAST);
}

/* The aliens' part of a frame. Returns whether it ends the game. */
static CM_HD inline bool cm_invaders_move(cm_invaders *s) {
    if (s->move_in > 0) return cm_invaders_is_caught(s, &s->aliens);
    const int count = cm_minatar_count(&s->aliens);
    bool ends = cm_invaders_is_caught(s, &s->aliens);
    s->move_in = (int8_t)(count < s->move_every ? count : s->move_every);
    ends |= cm_invaders_march(s);
    return ends | cm_invaders_is_caught(s, &s->aliens);
}

/* Of the columns with aliens the one nearest to the cannon, of two the left one. There is one. */
static CM_HD inline int cm_invaders_nearest(const cm_invaders *s) {
    const unsigned columns = cm_minatar_columns(&s->aliens);
    for (int away = 0; away < CM_MINATAR_SIDE; away++) {
        if (s->cannon - away >= 0 && (columns >> (s->cannon - away) & 1)) return s->cannon - away;
        if (columns >> (s->cannon + away) & 1) return s->cannon + away;
    }
    return s->cannon;
}

/* The lowest alien of that column lets a bullet go. */
static CM_HD inline void cm_invaders_shoot(cm_invaders *s) {
    const int x = cm_invaders_nearest(s);
    int y = CM_MINATAR_LAST;
    while (y > 0 && !cm_minatar_has(&s->aliens, x, y)) y--;
    cm_minatar_put(&s->bullets, x, y);
    s->shoot_in = CM_INVADERS_SHOOT;
}

/* Bullets of the cannon and aliens in one cell are both gone. Returns how many. */
static CM_HD inline int cm_invaders_hit(cm_invaders *s) {
    cm_minatar_cells hit;
    for (int h = 0; h < 2; h++) {
        hit.half[h] = s->own.half[h] & s->aliens.half[h];
        s->own.half[h] ^= hit.half[h], s->aliens.half[h] ^= hit.half[h];
    }
    return cm_minatar_count(&hit);
}

/* One frame. Returns whether it is the last; *reward is the number of aliens that were hit. */
static CM_HD inline bool cm_invaders_step(cm_invaders *s, int action, bool ramping, int *reward) {
    cm_invaders_act(s, action);
    s->own = cm_minatar_up(s->own);
    s->bullets = cm_minatar_down(s->bullets);
    bool ends = cm_invaders_is_caught(s, &s->bullets);
    ends |= cm_invaders_move(s);
    if (s->shoot_in == 0) cm_invaders_shoot(s);
    *reward = cm_invaders_hit(s);
    s->cool = (int8_t)cm_minatar_less(s->cool);
    s->move_in--, s->shoot_in--;
    if (cm_minatar_is_empty(&s->aliens)) {
        if (ramping && s->move_every > CM_INVADERS_FASTEST) s->move_every--;
        cm_invaders_enter(s);
    }
    return ends;
}

/* Channels: cannon, alien, alien going left, alien going right, bullet, bullet of an alien. */
static CM_HD inline void cm_invaders_planes(const cm_invaders *s, cm_minatar_cells planes[CM_INVADERS_CHANNELS]) {
    cm_minatar_put(&planes[0], s->cannon, CM_MINATAR_LAST);
    planes[1] = s->aliens;
    planes[s->side < 0 ? 2 : 3] = s->aliens;
    planes[4] = s->own;
    planes[5] = s->bullets;
}

#ifdef __cplusplus
}
#endif
#endif
