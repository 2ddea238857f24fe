/* Connect4: the rules, on bitboards of seven bits a column (bit 7 * column + height; the seventh bit stays empty). */
#ifndef CM_ENV_CONNECT4_H
#define CM_ENV_CONNECT4_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_CONNECT4_ROWS = 6, CM_CONNECT4_COLUMNS = 7, CM_CONNECT4_CELLS = 42 };

typedef struct cm_connect4 {
    uint64_t stones[2]; /* of player 0 and 1 */
    int64_t ply;        /* player ply % 2 moves */
} cm_connect4;

static CM_HD inline bool cm_connect4_has_four(uint64_t stones) {
    const int directions[4] = {1, 7, 6, 8}; /* up, right, right-down, right-up */
    bool found = false;
    for (int d = 0; d < 4; d++) {
        uint64_t pairs = stones & stones >> directions[d];
        found |= (pairs & pairs >> 2 * directions[d]) != 0;
    }
    return found;
}

static CM_HD inline bool cm_connect4_is_legal(const cm_connect4 *s, int column) {
    return !((s->stones[0] | s->stones[1]) >> (7 * column + 5) & 1);
}

/* Drops into a legal column. Returns whether the game has ended; *result is then 1 if the mover has won, 0 for a draw.
 */
static CM_HD inline bool cm_connect4_play(cm_connect4 *s, int column, int *result) {
    int mover = (int)(s->ply & 1);
    uint64_t all = s->stones[0] | s->stones[1], bottom = (uint64_t)1 << 7 * column;
    s->stones[mover] |= (all + bottom) & (uint64_t)0x3f << 7 * column;
    s->ply++;
    *result = cm_connect4_has_four(s->stones[mover]);
    return *result == 1 || s->ply == CM_CONNECT4_CELLS;
}

#ifdef __cplusplus
}
#endif
#endif
