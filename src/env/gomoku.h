/* Gomoku on n x n, 5 <= n <= 19: the rules. Both colours have the same rule; no swap, no forbidden moves. */
#ifndef CM_ENV_GOMOKU_H
#define CM_ENV_GOMOKU_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_GOMOKU_SIZE = 19, CM_GOMOKU_BYTES = 368 };

/* Only the first n * n cells are part of a state (cm_gomoku_bytes). */
typedef struct cm_gomoku {
    int32_t n;
    int32_t ply;                   /* player ply % 2 moves */
    uint8_t cell[CM_GOMOKU_BYTES]; /* 0 empty, 1 player 0, 2 player 1 */
} cm_gomoku;

static CM_HD inline size_t cm_gomoku_bytes(int n) { return 8 + ((size_t)(n * n) + 7) / 8 * 8; }

/* Stones of one colour in a line from (r, c), which is not counted, in steps of (dr, dc). */
static CM_HD inline int cm_gomoku_run(const cm_gomoku *s, int r, int c, int dr, int dc) {
    const int n = s->n;
    const uint8_t colour = s->cell[r * n + c];
    int run = 0;
    for (r += dr, c += dc; r >= 0 && r < n && c >= 0 && c < n && s->cell[r * n + c] == colour; r += dr, c += dc) run++;
    return run;
}

/* Whether a line of five through a stone wins. */
static CM_HD inline bool cm_gomoku_wins(const cm_gomoku *s, int cell, bool exactly_five) {
    const int direction[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    const int r = cell / s->n, c = cell % s->n;
    bool won = false;
    for (int d = 0; d < 4; d++) {
        int dr = direction[d][0], dc = direction[d][1];
        int run = 1 + cm_gomoku_run(s, r, c, dr, dc) + cm_gomoku_run(s, r, c, -dr, -dc);
        won |= run == 5 || (run > 5 && !exactly_five);
    }
    return won;
}

/* Plays an empty cell. Returns whether the game has ended; *result is then 1 if the mover has won, 0 for a draw. */
static CM_HD inline bool cm_gomoku_play(cm_gomoku *s, int cell, bool exactly_five, int *result) {
    s->cell[cell] = (uint8_t)(1 + s->ply % 2);
    s->ply++;
    *result = cm_gomoku_wins(s, cell, exactly_five);
    return *result == 1 || s->ply == s->n * s->n;
}

#ifdef __cplusplus
}
#endif
#endif
