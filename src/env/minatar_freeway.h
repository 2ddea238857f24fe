/* Freeway of MinAtar: the rules (docs/spec/minatar.md 3). */
#ifndef CM_ENV_MINATAR_FREEWAY_H
#define CM_ENV_MINATAR_FREEWAY_H

#include "env/minatar.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_FREEWAY_CHANNELS = 7, CM_FREEWAY_CARS = 8, CM_FREEWAY_SLOWEST = 5 };
enum { CM_FREEWAY_COLUMN = 4, CM_FREEWAY_WAIT = 3, CM_FREEWAY_TIME = 2500 };

/* Car i is in row i + 1. */
typedef struct cm_freeway {
    int8_t column[CM_FREEWAY_CARS];
    int8_t count[CM_FREEWAY_CARS];  /* frames to its next cell      */
    int8_t period[CM_FREEWAY_CARS]; /* speed 1 .. 5: frames of it   */
    int8_t side[CM_FREEWAY_CARS];   /* 1: it goes right, -1: left   */
    int8_t row;                     /* of the chicken, in column 4  */
    int8_t wait;                    /* frames until it may go on    */
    uint8_t last_action, unused;
    int32_t time; /* frames that are left, -1 after the last one */
} cm_freeway;

/* New speeds and directions; the cars stay where they are. Draws: eight speeds, eight directions. */
static CM_HD inline void cm_freeway_draw(cm_freeway *s, cm_pcg64 *random) {
    for (int i = 0; i < CM_FREEWAY_CARS; i++)
        s->period[i] = s->count[i] = (int8_t)(1 + cm_pcg64_below(random, CM_FREEWAY_SLOWEST));
    for (int i = 0; i < CM_FREEWAY_CARS; i++) s->side[i] = cm_pcg64_double(random) < 0.5 ? -1 : 1;
}

static CM_HD inline void cm_freeway_start(cm_freeway *s, cm_pcg64 *random) {
    for (int i = 0; i < CM_FREEWAY_CARS; i++) s->column[i] = 0;
    cm_freeway_draw(s, random);
    s->row = CM_MINATAR_LAST, s->wait = CM_FREEWAY_WAIT;
    s->last_action = CM_MINATAR_NONE, s->unused = 0;
    s->time = CM_FREEWAY_TIME;
}

/* Whether a car is on the chicken. */
static CM_HD inline bool cm_freeway_is_hit(const cm_freeway *s) {
    return s->row >= 1 && s->row <= CM_FREEWAY_CARS && s->column[s->row - 1] == CM_FREEWAY_COLUMN;
}

/* A car whose count is 0 goes on by one cell, around the edge; those of the others fall. */
static CM_HD inline void cm_freeway_drive(cm_freeway *s) {
    for (int i = 0; i < CM_FREEWAY_CARS; i++) {
        const int8_t goes = s->count[i] == 0, x = (int8_t)(s->column[i] + (goes ? s->side[i] : 0));
        s->column[i] = (int8_t)(x < 0 ? CM_MINATAR_LAST : x > CM_MINATAR_LAST ? 0 : x);
        s->count[i] = (int8_t)(goes ? s->period[i] : s->count[i] - 1);
    }
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
        const int behind = s->column[i] - s->side[i];
        cm_minatar_put(&planes[1], s->column[i], i + 1);
        cm_minatar_put(&planes[1 + s->period[i]],
                       behind < 0                 ? CM_MINATAR_LAST
                       : behind > CM_MINATAR_LAST ? 0
                                                  : behind,
                       i + 1);
    }
}

#ifdef __cplusplus
}
#endif
#endif
