/* Hex on n x n, 2 <= n <= 19: the rules. Player 0 connects row 0 with row n-1, player 1 column 0 with column n-1;
 * neighbours of (r, c) are (r, c+-1), (r+-1, c), (r-1, c+1), (r+1, c-1). There is no draw.
 *
 * Every stone knows which of its owner's two sides it is connected with. A new stone gathers this from its neighbours
 * and spreads what they did not know; a stone learns a side once, so a game costs O(cells) in all. */
#ifndef CM_ENV_HEX_H
#define CM_ENV_HEX_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CM_HEX_SIZE = 19,
    CM_HEX_BYTES = 368,
    CM_HEX_COLOUR = 3, /* bits of a cell: 0 empty, 1 player 0, 2 player 1 */
    CM_HEX_FIRST = 4,  /* connected with row 0 or column 0                */
    CM_HEX_LAST = 8,   /* connected with row n-1 or column n-1            */
    CM_HEX_SIDES = 12
};

/* Only the first n * n cells are part of a state (cm_hex_bytes). */
typedef struct cm_hex {
    int32_t n;
    int32_t ply; /* player ply % 2 moves; a swap is a ply */
    uint8_t cell[CM_HEX_BYTES];
} cm_hex;

static CM_HD inline size_t cm_hex_bytes(int n) { return 8 + ((size_t)(n * n) + 7) / 8 * 8; }

/* The neighbours of a cell; returns how many. */
static CM_HD inline int cm_hex_neighbours(int n, int cell, int out[6]) {
    const int step[6][2] = {{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {-1, 1}, {1, -1}};
    int count = 0;
    for (int i = 0; i < 6; i++) {
        int r = cell / n + step[i][0], c = cell % n + step[i][1];
        if (r >= 0 && r < n && c >= 0 && c < n) out[count++] = r * n + c;
    }
    return count;
}

/* Sides that a stone of a colour touches by its place alone. */
static CM_HD inline int cm_hex_edges(int n, int cell, int colour) {
    int along = colour == 1 ? cell / n : cell % n;
    return (along == 0 ? CM_HEX_FIRST : 0) | (along == n - 1 ? CM_HEX_LAST : 0);
}

/* Tells the sides in cell[from] to all stones of its chain. */
static CM_HD inline void cm_hex_spread(cm_hex *s, int from) {
    uint16_t stack[CM_HEX_SIZE * CM_HEX_SIZE];
    int depth = 0, near[6];
    const int value = s->cell[from];
    stack[depth++] = (uint16_t)from;
    while (depth > 0) {
        int count = cm_hex_neighbours(s->n, stack[--depth], near);
        for (int i = 0; i < count; i++) {
            if ((s->cell[near[i]] & CM_HEX_COLOUR) != (value & CM_HEX_COLOUR) || s->cell[near[i]] == value) continue;
            s->cell[near[i]] = (uint8_t)value;
            stack[depth++] = (uint16_t)near[i];
        }
    }
}

/* The second player takes over the only stone: it moves to the mirrored cell and changes its colour. */
static CM_HD inline void cm_hex_swap(cm_hex *s) {
    int cell = 0, n = s->n;
    while (!s->cell[cell]) cell++;
    int mirrored = cell % n * n + cell / n;
    s->cell[cell] = 0;
    s->cell[mirrored] = (uint8_t)(2 | cm_hex_edges(n, mirrored, 2));
    s->ply++;
}

/* Puts a stone on an empty cell. Returns whether the mover has won, which ends the game. */
static CM_HD inline bool cm_hex_play(cm_hex *s, int cell) {
    const int colour = 1 + s->ply % 2;
    int near[6], count = cm_hex_neighbours(s->n, cell, near);
    int value = colour | cm_hex_edges(s->n, cell, colour);
    for (int i = 0; i < count; i++) {
        if ((s->cell[near[i]] & CM_HEX_COLOUR) == colour) value |= s->cell[near[i]];
    }
    s->cell[cell] = (uint8_t)value;
    s->ply++;
    if (value & CM_HEX_SIDES) cm_hex_spread(s, cell);
    return (value & CM_HEX_SIDES) == CM_HEX_SIDES;
}

#ifdef __cplusplus
}
#endif
#endif
