/* Breakout of MinAtar: the rules (docs/spec/minatar.md 1). */
#ifndef CM_ENV_MINATAR_BREAKOUT_H
#define CM_ENV_MINATAR_BREAKOUT_H

#include "env/minatar.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_BREAKOUT_CHANNELS = 4, CM_BREAKOUT_BRICKS = 30 };

/* Directions: 0 up-left, 1 up-right, 2 down-right, 3 down-left; d ^ 1 is mirrored sideways, d ^ 3 up-down. */
typedef struct cm_breakout {
    uint32_t bricks; /* bit 10 * (y - 1) + x of rows 1 .. 3 */
    int8_t paddle;   /* its column, in row 9 */
    int8_t x, y, direction;
    int8_t last_x, last_y; /* of the ball before the frame */
    uint8_t struck;        /* the ball has just taken a brick, and takes no other one */
    uint8_t last_action;
    uint32_t unused;
} cm_breakout;

#define CM_BREAKOUT_WALL (((uint32_t)1 << CM_BREAKOUT_BRICKS) - 1)

/* side 0: the ball comes from the left, 1: from the right. */
static CM_HD inline void cm_breakout_place(cm_breakout *s, int side) {
    s->bricks = CM_BREAKOUT_WALL;
    s->paddle = 4;
    s->x = s->last_x = (int8_t)(side == 0 ? 0 : CM_MINATAR_LAST), s->y = s->last_y = 3;
    s->direction = (int8_t)(2 + side);
    s->struck = 0, s->last_action = CM_MINATAR_NONE;
    s->unused = 0;
}

/* The ball reaches row 9 in column x: a new wall if there is none, and off the paddle. Returns whether it is lost. */
static CM_HD inline bool cm_breakout_fall(cm_breakout *s, int x, int *y) {
    if (s->bricks == 0) s->bricks = CM_BREAKOUT_WALL;
    if (s->last_x != s->paddle && x != s->paddle) return true;
    s->direction ^= s->last_x == s->paddle ? 3 : 2;
    *y = s->last_y;
    return false;
}

/* One frame. Returns whether it is the last; *reward is 1 for a brick, else 0. */
static CM_HD inline bool cm_breakout_step(cm_breakout *s, int action, int *reward) {
    s->paddle = (int8_t)cm_minatar_move(s->paddle, cm_minatar_dx(action), 0, CM_MINATAR_LAST);
    s->last_x = s->x, s->last_y = s->y;
    int x = s->x + (s->direction == 1 || s->direction == 2 ? 1 : -1), y = s->y + (s->direction >= 2 ? 1 : -1);
    if (x < 0 || x > CM_MINATAR_LAST) x = x < 0 ? 0 : CM_MINATAR_LAST, s->direction ^= 1;
    const uint32_t brick = y >= 1 && y <= 3 ? s->bricks & (uint32_t)1 << (10 * (y - 1) + x) : 0;
    bool ends = false;
    *reward = brick && !s->struck;
    if (y < 0) {
        y = 0, s->direction ^= 3;
    } else if (*reward) {
        s->bricks ^= brick;
        y = s->last_y, s->direction ^= 3;
    } else if (y == CM_MINATAR_LAST) {
        ends = cm_breakout_fall(s, x, &y);
    }
    s->struck = brick != 0;
    s->x = (int8_t)x, s->y = (int8_t)y;
    return ends;
}

static CM_HD inline void cm_breakout_planes(const cm_breakout *s, cm_minatar_cells planes[CM_BREAKOUT_CHANNELS]) {
    cm_minatar_put(&planes[0], s->paddle, CM_MINATAR_LAST);
    cm_minatar_put(&planes[1], s->x, s->y);
    cm_minatar_put(&planes[2], s->last_x, s->last_y);
    planes[3].half[0] = (uint64_t)s->bricks << CM_MINATAR_SIDE;
}

#ifdef __cplusplus
}
#endif
#endif
