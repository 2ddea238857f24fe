/* Othello 8 x 8: the rules, on bitboards (bit i: cell i). */
#ifndef CM_ENV_OTHELLO_H
#define CM_ENV_OTHELLO_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_OTHELLO_PASS = 64, CM_OTHELLO_ACTIONS = 65 };

typedef struct cm_othello {
    uint64_t discs[2]; /* of player 0 and 1 */
    int64_t ply;       /* player ply % 2 moves; a pass is a ply */
} cm_othello;

static CM_HD inline void cm_othello_reset(cm_othello *s) {
    s->discs[0] = (uint64_t)1 << 28 | (uint64_t)1 << 35;
    s->discs[1] = (uint64_t)1 << 27 | (uint64_t)1 << 36;
    s->ply = 0;
}

/* All of `b` moved one cell in direction d of 8; what leaves the board is gone. */
static CM_HD inline uint64_t cm_othello_shift(uint64_t b, int d) {
    const uint64_t not_a = 0xfefefefefefefefeu, not_h = 0x7f7f7f7f7f7f7f7fu;
    switch (d) {
    case 0: return b << 1 & not_a;
    case 1: return b >> 1 & not_h;
    case 2: return b << 8;
    case 3: return b >> 8;
    case 4: return b << 9 & not_a;
    case 5: return b >> 9 & not_h;
    case 6: return b << 7 & not_h;
    default: return b >> 7 & not_a;
    }
}

/* The opponent's discs in a row from `from` in direction d. */
static CM_HD inline uint64_t cm_othello_row(uint64_t from, uint64_t opponent, int d) {
    uint64_t row = cm_othello_shift(from, d) & opponent;
    for (int i = 0; i < 5; i++) row |= cm_othello_shift(row, d) & opponent;
    return row;
}

/* Cells where a disc flips at least one. */
static CM_HD inline uint64_t cm_othello_moves(uint64_t own, uint64_t opponent) {
    uint64_t moves = 0;
    for (int d = 0; d < 8; d++) moves |= cm_othello_shift(cm_othello_row(own, opponent, d), d);
    return moves & ~(own | opponent);
}

static CM_HD inline uint64_t cm_othello_flips(uint64_t own, uint64_t opponent, int cell) {
    uint64_t flips = 0;
    for (int d = 0; d < 8; d++) {
        uint64_t row = cm_othello_row((uint64_t)1 << cell, opponent, d);
        if (cm_othello_shift(row, d) & own) flips |= row;
    }
    return flips;
}

static CM_HD inline int cm_othello_count(uint64_t b) {
    int count = 0;
    for (; b; b &= b - 1) count++;
    return count;
}

/* Plays a legal action. Returns whether the game has ended; *result is then 1, 0 or -1 for the mover. */
static CM_HD inline bool cm_othello_play(cm_othello *s, int action, int *result) {
    int mover = (int)(s->ply & 1);
    s->ply++;
    *result = 0;
    if (action == CM_OTHELLO_PASS) return false; /* legal only when the other side has a move */
    uint64_t flips = cm_othello_flips(s->discs[mover], s->discs[1 - mover], action);
    uint64_t own = s->discs[mover] | flips | (uint64_t)1 << action, opponent = s->discs[1 - mover] & ~flips;
    s->discs[mover] = own, s->discs[1 - mover] = opponent;
    if (cm_othello_moves(opponent, own) || cm_othello_moves(own, opponent)) return false;
    int difference = cm_othello_count(own) - cm_othello_count(opponent);
    *result = (difference > 0) - (difference < 0);
    return true;
}

#ifdef __cplusplus
}
#endif
#endif
