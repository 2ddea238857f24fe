/* Freeway of MinAtar: the rules (docs/spec/minatar.md 3). */
#ifndef CM_ENV_MINATAR_FREEWAY_H
#define CM_ENV_MINATAR_FREEWAY_H

#include "env/minatar.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_FREEWAY_CHANNELS = 7, CM_FREEWAY_CARS = 8, CM_FREEWAY_SLOWEST = 5 };
enum { CM_FREEWAY_COLUMN = 4, CM_FREEWAY_WAIT = 3, CM_FREEWAY_TIME = 2500 };

/* A byte for each car, that of car i, which is in row i + 1, from bit 8 i on. */
typedef uint64_t cm_freeway_cars;

typedef struct cm_freeway {
    cm_freeway_cars column;
    cm_freeway_cars count;  /* frames to its next cell                                          */
    cm_freeway_cars period; /* speed 1 .. 5: frames of it                                       */
    cm_freeway_cars stride; /* columns that it goes on by, around the edge: 1 right, or 9: left */
    int8_t row;             /* of the chicken, in column 4                                      */
    int8_t wait;            /* frames until it may go on                                        */
    uint8_t last_action, unused;
    int32_t time; /* frames that are left, -1 after the last one */
} cm_freeway;

#define CM_FREEWAY_EACH ((cm_freeway_cars)0x0101010101010101)

static CM_HD inline int cm_freeway_car(cm_freeway_cars cars, int i) { return (int)(cars >> 8 * i & 0xff); }

/* New speeds and directions; the cars stay where they are. Draws: eight speeds, eight directions. */
static CM_HD inline void cm_freeway_draw(cm_freeway *s, cm_pcg64 *random) {
    s->period = s->stride = 0;
    for (int i = 0; i < CM_FREEWAY_CARS; i++)
        s->period |= (cm_freeway_cars)(1 + cm_pcg64_below(random, CM_FREEWAY_SLOWEST)) << 8 * i;
    for (int i = 0; i < CM_FREEWAY_CARS; i++)
        s->stride |= (cm_freeway_cars)(cm_pcg64_double(random) < 0.5 ? CM_MINATAR_SIDE - 1 : 1) << 8 * i;
    s->count = s->period;
}

static CM_HD inline void cm_freeway_start(cm_freeway *s, cm_pcg64 *random) {
    s->column = 0;
    cm_freeway_draw(s, random);
    s->row = CM_MINATAR_LAST, s->wait = CM_FREEWAY_WAIT;
    s->last_action = CM_MINATAR_NONE, s->unused = 0;
    s->time = CM_FREEWAY_TIME;
}

/* Whether a car is on the chicken. */
static CM_HD inline bool cm_freeway_is_hit(const cm_freeway *s) {
    return s->row >= 1 && s->row <= CM_FREEWAY_CARS && cm_freeway_car(s->column, s->row - 1) == CM_FREEWAY_COLUMN;
}

/* A car whose count is 0 goes on by one cell, around the edge; those of the others fall. All bytes at once: they stay
 * below 128, so that none carries into the next one. */
static CM_HD inline void cm_freeway_drive(cm_freeway *s) {
    const cm_freeway_cars each = CM_FREEWAY_EACH, high = each << 7;
    const cm_freeway_cars zero = ~((s->count | high) - each) & high, goes = zero | (zero - (zero >> 7));
    s->count = (s->count - (each & ~goes)) | (s->period & goes);
    s->column += s->stride & goes;
    const cm_freeway_cars beyond = (s->column + each * (128 - CM_MINATAR_SIDE)) & high;
    s->column -= (beyond >> 7) * CM_MINATAR_SIDE;
}

/* One frame. Returns whether it is the last; *reward is 1 for a road that is crossed, else 0. A car can only meet the
 * chicken in its own row, before or after it drives, and a chicken that is hit is in a row without one: so all drive at
 * once. */
static CM_HD inline bool cm_freeway_step(cm_freeway *s, int action, cm_pcg64 *random, int *reward) {
    const int by = cm_minatar_dy(action);
    if (by != 0 && s->wait == 0) {
        s->wait = CM_FREEWAY_WAIT;
        s->row = (int8_t)cm_minatar_move(s->row, by, 0, CM_MINATAR_LAST);
    }
    *reward = s->row == 0;
    if (*reward) {
        cm_freeway_draw(s, random);
        s->row = CM_MINATAR_LAST;
    }
    bool is_hit = cm_freeway_is_hit(s);
    cm_freeway_drive(s);
    is_hit |= cm_freeway_is_hit(s);
    if (is_hit) s->row = CM_MINATAR_LAST;
    s->wait = (int8_t)cm_minatar_less(s->wait);
    return --s->time < 0;
}

/* Channels: chicken, car, and of the cell behind a car its speed. */
static CM_HD inline void cm_freeway_planes(const cm_freeway *s, cm_minatar_cells planes[CM_FREEWAY_CHANNELS]) {
    cm_minatar_put(&planes[0], CM_FREEWAY_COLUMN, s->row);
    for (int i = 0; i < CM_FREEWAY_CARS; i++) {
        const int x = cm_freeway_car(s->column, i), behind = x - cm_freeway_car(s->stride, i);
        cm_minatar_put(&planes[1], x, i + 1);
        cm_minatar_put(&planes[1 + cm_freeway_car(s->period, i)], behind < 0 ? behind + CM_MINATAR_SIDE : behind,
                       i + 1);
    }
}

#ifdef __cplusplus
}
#endif
#endif
