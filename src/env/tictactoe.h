/* TicTacToe: the rules, on two masks of nine bits. */
#ifndef CM_ENV_TICTACTOE_H
#define CM_ENV_TICTACTOE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_tictactoe {
    uint16_t stones[2]; /* bit i: cell i */
    int32_t ply;        /* player ply % 2 moves */
} cm_tictactoe;

static CM_HD inline bool cm_tictactoe_has_line(unsigned stones) {
    const unsigned lines[8] = {0007, 0070, 0700, 0111, 0222, 0444, 0421, 0124};
    bool found = false;
    for (int i = 0; i < 8; i++) found |= (stones & lines[i]) == lines[i];
    return found;
}

static CM_HD inline bool cm_tictactoe_is_legal(const cm_tictactoe *s, int cell) {
    return !((s->stones[0] | s->stones[1]) >> cell & 1);
}

/* Plays a legal cell. Returns whether the game has ended; *result is then 1 if the mover has won, 0 for a draw. */
static CM_HD inline bool cm_tictactoe_play(cm_tictactoe *s, int cell, int *result) {
    int mover = s->ply % 2;
    s->stones[mover] = (uint16_t)(s->stones[mover] | 1u << cell);
    s->ply++;
    *result = cm_tictactoe_has_line(s->stones[mover]);
    return *result == 1 || s->ply == 9;
}

#ifdef __cplusplus
}
#endif
#endif
