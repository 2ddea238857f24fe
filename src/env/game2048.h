/* 2048: the rules. A step is a slide, whose reward is the sum of the new tiles, and then a spawn, which is chance. */
#ifndef CM_ENV_GAME2048_H
#define CM_ENV_GAME2048_H

#include "env/pcg64.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_2048_CELLS = 16, CM_2048_OUTCOMES = 32 };

typedef struct cm_2048 {
    uint8_t tile[CM_2048_CELLS]; /* power of two, 0 empty: 3 is an 8 */
} cm_2048;

/* The k-th cell from the edge that line `line` slides to; directions 0 up, 1 right, 2 down, 3 left. */
static CM_HD inline int cm_2048_cell(int direction, int line, int k) {
    switch (direction) {
    case 0: return 4 * k + line;
    case 1: return 4 * line + 3 - k;
    case 2: return 4 * (3 - k) + line;
    default: return 4 * line + k;
    }
}

/* Slides and merges, each tile once, the pair nearest the edge first. Returns whether the board changed; *reward is the
 * sum of the values of the tiles that were made. */
static CM_HD inline bool cm_2048_slide(cm_2048 *s, int direction, double *reward) {
    bool changed = false;
    *reward = 0.0;
    for (int line = 0; line < 4; line++) {
        uint8_t old[4], next[4] = {0, 0, 0, 0};
        int filled = 0;
        bool may_merge = false; /* the last tile of `next` is not a merged one */
        for (int k = 0; k < 4; k++) {
            old[k] = s->tile[cm_2048_cell(direction, line, k)];
            if (old[k] == 0) continue;
            if (may_merge && next[filled - 1] == old[k]) {
                *reward += (double)(1u << ++next[filled - 1]);
                may_merge = false;
            } else {
                next[filled++] = old[k];
                may_merge = true;
            }
        }
        for (int k = 0; k < 4; k++) {
            changed |= next[k] != old[k];
            s->tile[cm_2048_cell(direction, line, k)] = next[k];
        }
    }
    return changed;
}

static CM_HD inline bool cm_2048_is_legal(const cm_2048 *s, int direction) {
    cm_2048 copy = *s;
    double reward;
    return cm_2048_slide(&copy, direction, &reward);
}

/* Whether no slide changes the board: it is full and no two neighbours are equal. */
static CM_HD inline bool cm_2048_is_stuck(const cm_2048 *s) {
    for (int cell = 0; cell < CM_2048_CELLS; cell++) {
        if (s->tile[cell] == 0) return false;
        if (cell % 4 < 3 && s->tile[cell] == s->tile[cell + 1]) return false;
        if (cell < 12 && s->tile[cell] == s->tile[cell + 4]) return false;
    }
    return true;
}

/* Outcome 16 * [tile is 4] + cell. */
static CM_HD inline void cm_2048_spawn(cm_2048 *s, int outcome) { s->tile[outcome % 16] = (uint8_t)(1 + outcome / 16); }

static CM_HD inline int cm_2048_empty(const cm_2048 *s) {
    int empty = 0;
    for (int cell = 0; cell < CM_2048_CELLS; cell++) empty += s->tile[cell] == 0;
    return empty;
}

/* A uniformly random empty cell, a 4 with probability 0.1. At least one cell is empty. */
static CM_HD inline int cm_2048_draw(const cm_2048 *s, cm_pcg64 *random) {
    int skip = cm_pcg64_below(random, cm_2048_empty(s)), cell = 0;
    while (s->tile[cell] != 0 || skip-- > 0) cell++;
    return cm_pcg64_double(random) < 0.1 ? 16 + cell : cell;
}

#ifdef __cplusplus
}
#endif
#endif
