/* Seaquest of MinAtar: the rules (docs/spec/minatar.md 5). */
#ifndef CM_ENV_MINATAR_SEAQUEST_H
#define CM_ENV_MINATAR_SEAQUEST_H

#include <string.h>

#include "env/minatar.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SEAQUEST_CHANNELS = 10, CM_SEAQUEST_ROWS = 8, CM_SEAQUEST_OXYGEN = 200, CM_SEAQUEST_CREW = 6 };
enum { CM_SEAQUEST_SPAWN = 20, CM_SEAQUEST_DIVER = 30, CM_SEAQUEST_RAMPS = 19 };
enum { CM_SEAQUEST_MOVE = 5, CM_SEAQUEST_FASTEST = 2, CM_SEAQUEST_COOL = 5, CM_SEAQUEST_SHOOT = 10 };

/* More than there can ever be at once: two of FEW, which come every 5 frames and stay 10, or every 30 and stay 60; of
 * MANY some 30, of which one comes a frame and stays 30, or shoots every 11 and has bullets that stay 10. */
enum { CM_SEAQUEST_FEW = 4, CM_SEAQUEST_MANY = 48 };

/* What swims, or flies: a row, a column, where it goes (-1 left, 1 right), and frames to its next cell and shot. */
typedef struct cm_seaquest_thing {
    int8_t x, y, side, move_in, shoot_in;
} cm_seaquest_thing;

typedef struct cm_seaquest {
    int32_t carried; /* divers, at most 6; after a full crew below 0, and one less after every ascent */
    int16_t oxygen;
    int8_t x, y, side;    /* of the boat's front */
    uint8_t has_surfaced; /* and has not dived since */
    uint8_t last_action;
    int8_t spawn_in, diver_in, cool, ramps;
    uint8_t own_count, bullet_count, fish_count, submarine_count, diver_count;
    cm_seaquest_thing own[CM_SEAQUEST_FEW], divers[CM_SEAQUEST_FEW];
    cm_seaquest_thing bullets[CM_SEAQUEST_MANY], fish[CM_SEAQUEST_MANY], submarines[CM_SEAQUEST_MANY];
    uint8_t unused[4];
} cm_seaquest;

/* Frames between two enemies, and between two moves of one: fewer after every ramp. */
static CM_HD inline int cm_seaquest_spawn_every(const cm_seaquest *s) { return CM_SEAQUEST_SPAWN - s->ramps; }
static CM_HD inline int cm_seaquest_move_every(const cm_seaquest *s) {
    const int every = CM_SEAQUEST_MOVE - s->ramps / 2;
    return every < CM_SEAQUEST_FASTEST ? CM_SEAQUEST_FASTEST : every;
}

static CM_HD inline void cm_seaquest_start(cm_seaquest *s) {
    memset(s, 0, sizeof *s);
    s->oxygen = CM_SEAQUEST_OXYGEN;
    s->x = 5, s->side = -1;
    s->has_surfaced = 1;
    s->spawn_in = CM_SEAQUEST_SPAWN, s->diver_in = CM_SEAQUEST_DIVER;
}

/* ---- lists: things[count], oldest first ---- */

/* Nothing is added where there is no space, which play does not lead to. */
static CM_HD inline void cm_seaquest_add(cm_seaquest_thing *things, uint8_t *count, int room, cm_seaquest_thing thing) {
    if (*count < room) things[(*count)++] = thing;
}

static CM_HD inline void cm_seaquest_remove(cm_seaquest_thing *things, uint8_t *count, int i) {
    for (--*count; i < *count; i++) things[i] = things[i + 1];
}

/* Removes the oldest thing of a cell. Returns whether there was one. */
static CM_HD inline bool cm_seaquest_take(cm_seaquest_thing *things, uint8_t *count, int x, int y) {
    for (int i = 0; i < *count; i++) {
        if (things[i].x != x || things[i].y != y) continue;
        cm_seaquest_remove(things, count, i);
        return true;
    }
    return false;
}

/* Whether a thing of this row goes the other way. */
static CM_HD inline bool cm_seaquest_is_against(const cm_seaquest_thing *things, int count, int y, int side) {
    for (int i = 0; i < count; i++)
        if (things[i].y == y && things[i].side != side) return true;
    return false;
}

static CM_HD inline bool cm_seaquest_is_outside(const cm_seaquest_thing *thing) {
    return thing->x < 0 || thing->x > CM_MINATAR_LAST;
}

static CM_HD inline bool cm_seaquest_is_at_boat(const cm_seaquest *s, const cm_seaquest_thing *thing) {
    return thing->x == s->x && thing->y == s->y;
}

/* ---- the parts of a frame ---- */

/* At the edge from which it comes. */
static CM_HD inline cm_seaquest_thing cm_seaquest_arrive(bool is_rightward, int y, int move_in, int shoot_in) {
    cm_seaquest_thing thing;
    thing.x = (int8_t)(is_rightward ? 0 : CM_MINATAR_LAST), thing.y = (int8_t)y;
    thing.side = is_rightward ? 1 : -1;
    thing.move_in = (int8_t)move_in, thing.shoot_in = (int8_t)shoot_in;
    return thing;
}

/* Draws: direction, kind, row. */
static CM_HD inline void cm_seaquest_spawn_enemy(cm_seaquest *s, cm_pcg64 *random) {
    const bool is_rightward = cm_pcg64_double(random) < 0.5, is_submarine = cm_pcg64_double(random) < 1.0 / 3.0;
    const int y = 1 + cm_pcg64_below(random, CM_SEAQUEST_ROWS), side = is_rightward ? 1 : -1;
    s->spawn_in = (int8_t)cm_seaquest_spawn_every(s);
    if (cm_seaquest_is_against(s->fish, s->fish_count, y, side)) return;
    if (cm_seaquest_is_against(s->submarines, s->submarine_count, y, side)) return;
    const cm_seaquest_thing enemy =
        cm_seaquest_arrive(is_rightward, y, cm_seaquest_move_every(s), is_submarine ? CM_SEAQUEST_SHOOT : 0);
    if (is_submarine) {
        cm_seaquest_add(s->submarines, &s->submarine_count, CM_SEAQUEST_MANY, enemy);
    } else {
        cm_seaquest_add(s->fish, &s->fish_count, CM_SEAQUEST_MANY, enemy);
    }
}

/* Draws: direction, row. */
static CM_HD inline void cm_seaquest_spawn_diver(cm_seaquest *s, cm_pcg64 *random) {
    const bool is_rightward = cm_pcg64_double(random) < 0.5;
    const int y = 1 + cm_pcg64_below(random, CM_SEAQUEST_ROWS);
    s->diver_in = CM_SEAQUEST_DIVER;
    cm_seaquest_add(s->divers, &s->diver_count, CM_SEAQUEST_FEW,
                    cm_seaquest_arrive(is_rightward, y, CM_SEAQUEST_MOVE, 0));
}

static CM_HD inline void cm_seaquest_act(cm_seaquest *s, int action) {
    const int dx = cm_minatar_dx(action);
    if (action == CM_MINATAR_FIRE && s->cool == 0) {
        const cm_seaquest_thing bullet = {s->x, s->y, s->side, 0, 0};
        cm_seaquest_add(s->own, &s->own_count, CM_SEAQUEST_FEW, bullet);
        s->cool = CM_SEAQUEST_COOL;
    }
    s->x = (int8_t)cm_minatar_move(s->x, dx, 0, CM_MINATAR_LAST);
    s->y = (int8_t)cm_minatar_move(s->y, cm_minatar_dy(action), 0, CM_SEAQUEST_ROWS);
    if (dx != 0) s->side = (int8_t)dx;
}

/* Returns the number of enemies that were hit. */
static CM_HD inline int cm_seaquest_move_own(cm_seaquest *s) {
    int hits = 0;
    for (int i = s->own_count - 1; i >= 0; i--) {
        cm_seaquest_thing *bullet = &s->own[i];
        bullet->x = (int8_t)(bullet->x + bullet->side);
        const bool has_hit = cm_seaquest_take(s->fish, &s->fish_count, bullet->x, bullet->y) ||
                             cm_seaquest_take(s->submarines, &s->submarine_count, bullet->x, bullet->y);
        hits += has_hit;
        if (has_hit || cm_seaquest_is_outside(bullet)) cm_seaquest_remove(s->own, &s->own_count, i);
    }
    return hits;
}

/* Whether a diver is taken aboard. */
static CM_HD inline bool cm_seaquest_boards(cm_seaquest *s, const cm_seaquest_thing *diver) {
    if (!cm_seaquest_is_at_boat(s, diver) || s->carried >= CM_SEAQUEST_CREW) return false;
    s->carried++;
    return true;
}

/* Whether a thing, whose clock is set to `every` then, goes on by one cell in this frame. */
static CM_HD inline bool cm_seaquest_goes(cm_seaquest_thing *thing, int every) {
    const bool goes = thing->move_in == 0;
    thing->move_in = (int8_t)(goes ? every : thing->move_in - 1);
    thing->x = (int8_t)(thing->x + (goes ? thing->side : 0));
    return goes;
}

static CM_HD inline void cm_seaquest_move_divers(cm_seaquest *s) {
    for (int i = s->diver_count - 1; i >= 0; i--) {
        cm_seaquest_thing *diver = &s->divers[i];
        bool is_gone = cm_seaquest_boards(s, diver);
        if (!is_gone && cm_seaquest_goes(diver, CM_SEAQUEST_MOVE))
            is_gone = cm_seaquest_is_outside(diver) || cm_seaquest_boards(s, diver);
        if (is_gone) cm_seaquest_remove(s->divers, &s->diver_count, i);
    }
}

/* The move of an enemy: whether it is gone, and what that pays. Sets *ends where it is at the boat. */
static CM_HD inline bool cm_seaquest_move_enemy(cm_seaquest *s, cm_seaquest_thing *enemy, bool *ends, int *reward) {
    *ends |= cm_seaquest_is_at_boat(s, enemy);
    if (!cm_seaquest_goes(enemy, cm_seaquest_move_every(s))) return false;
    if (cm_seaquest_is_outside(enemy)) return true;
    if (cm_seaquest_is_at_boat(s, enemy)) {
        *ends = true;
        return false;
    }
    if (!cm_seaquest_take(s->own, &s->own_count, enemy->x, enemy->y)) return false;
    ++*reward;
    return true;
}

/* Lets a bullet go every few frames, also where it has just gone. */
static CM_HD inline void cm_seaquest_shoot(cm_seaquest *s, cm_seaquest_thing *submarine) {
    if (submarine->shoot_in-- > 0) return;
    submarine->shoot_in = CM_SEAQUEST_SHOOT;
    cm_seaquest_add(s->bullets, &s->bullet_count, CM_SEAQUEST_MANY, *submarine);
}

static CM_HD inline bool cm_seaquest_move_submarines(cm_seaquest *s, int *reward) {
    bool ends = false;
    for (int i = s->submarine_count - 1; i >= 0; i--) {
        const bool is_gone = cm_seaquest_move_enemy(s, &s->submarines[i], &ends, reward);
        cm_seaquest_shoot(s, &s->submarines[i]);
        if (is_gone) cm_seaquest_remove(s->submarines, &s->submarine_count, i);
    }
    return ends;
}

static CM_HD inline bool cm_seaquest_move_bullets(cm_seaquest *s) {
    bool ends = false;
    for (int i = s->bullet_count - 1; i >= 0; i--) {
        cm_seaquest_thing *bullet = &s->bullets[i];
        ends |= cm_seaquest_is_at_boat(s, bullet);
        bullet->x = (int8_t)(bullet->x + bullet->side);
        ends |= cm_seaquest_is_at_boat(s, bullet);
        if (cm_seaquest_is_outside(bullet)) cm_seaquest_remove(s->bullets, &s->bullet_count, i);
    }
    return ends;
}

static CM_HD inline bool cm_seaquest_move_fish(cm_seaquest *s, int *reward) {
    bool ends = false;
    for (int i = s->fish_count - 1; i >= 0; i--)
        if (cm_seaquest_move_enemy(s, &s->fish[i], &ends, reward)) cm_seaquest_remove(s->fish, &s->fish_count, i);
    return ends;
}

/* The boat comes up: a full crew pays by the oxygen that is left, any other one costs a diver. */
static CM_HD inline bool cm_seaquest_surface(cm_seaquest *s, bool ramping, int *reward) {
    if (s->carried == 0) return true;
    s->has_surfaced = 1;
    if (s->carried == CM_SEAQUEST_CREW) {
        *reward += 10 * s->oxygen / CM_SEAQUEST_OXYGEN;
        s->carried = 0;
    }
    s->oxygen = CM_SEAQUEST_OXYGEN;
    s->carried--;
    if (ramping && s->ramps < CM_SEAQUEST_RAMPS) s->ramps++;
    return false;
}

static CM_HD inline bool cm_seaquest_breathe(cm_seaquest *s, bool ramping, int *reward) {
    bool ends = s->oxygen <= 0;
    if (s->y > 0) {
        s->oxygen--;
        s->has_surfaced = 0;
    } else if (!s->has_surfaced) {
        ends |= cm_seaquest_surface(s, ramping, reward);
    }
    return ends;
}

/* One frame. Returns whether it is the last; *reward: enemies that were hit, and what a full crew pays. */
static CM_HD inline bool cm_seaquest_step(cm_seaquest *s, int action, bool ramping, cm_pcg64 *random, int *reward) {
    if (s->spawn_in == 0) cm_seaquest_spawn_enemy(s, random);
    if (s->diver_in == 0) cm_seaquest_spawn_diver(s, random);
    cm_seaquest_act(s, action);
    *reward = cm_seaquest_move_own(s);
    cm_seaquest_move_divers(s);
    bool ends = cm_seaquest_move_submarines(s, reward);
    ends |= cm_seaquest_move_bullets(s);
    ends |= cm_seaquest_move_fish(s, reward);
    s->spawn_in = (int8_t)cm_minatar_less(s->spawn_in), s->diver_in = (int8_t)cm_minatar_less(s->diver_in);
    s->cool = (int8_t)cm_minatar_less(s->cool);
    return cm_seaquest_breathe(s, ramping, reward) | ends;
}

/* ---- the picture ---- */

static CM_HD inline void cm_seaquest_plot(const cm_seaquest_thing *things, int count, cm_minatar_cells *plane,
                                          cm_minatar_cells *trail) {
    for (int i = 0; i < count; i++) {
        cm_minatar_put(plane, things[i].x, things[i].y);
        if (trail) cm_minatar_put_inside(trail, things[i].x - things[i].side, things[i].y);
    }
}

/* Channels: front, back, bullet, trail, bullet of an enemy, fish, submarine, oxygen, divers carried, diver. */
static CM_HD inline void cm_seaquest_planes(const cm_seaquest *s, cm_minatar_cells planes[CM_SEAQUEST_CHANNELS]) {
    cm_minatar_put(&planes[0], s->x, s->y);
    cm_minatar_put(&planes[1], s->x - s->side, s->y);
    cm_seaquest_plot(s->own, s->own_count, &planes[2], NULL);
    cm_seaquest_plot(s->bullets, s->bullet_count, &planes[4], NULL);
    cm_seaquest_plot(s->fish, s->fish_count, &planes[5], &planes[3]);
    cm_seaquest_plot(s->submarines, s->submarine_count, &planes[6], &planes[3]);
    cm_seaquest_plot(s->divers, s->diver_count, &planes[9], &planes[3]);
    for (int x = 0; x < CM_MINATAR_SIDE * s->oxygen / CM_SEAQUEST_OXYGEN; x++)
        cm_minatar_put(&planes[7], x, CM_MINATAR_LAST);
    for (int x = CM_MINATAR_LAST - s->carried; x < CM_MINATAR_LAST; x++) cm_minatar_put(&planes[8], x, CM_MINATAR_LAST);
}

#ifdef __cplusplus
}
#endif
#endif
