/* Connect4: win, draw or loss by alpha-beta with null windows on bitboards (bit 7 * column + height), a transposition
 * table, and moves ordered by the threats they make (after P. Pons, "Solving Connect 4", 2015). */
#include "env/connect4.h"
#include "env/solver.h"

enum { COLUMNS = CM_CONNECT4_COLUMNS, ROWS = CM_CONNECT4_ROWS, ENTRIES = 8388593 /* a prime */ };

#define BOTTOM                                                                                                         \
    ((uint64_t)1 | (uint64_t)1 << 7 | (uint64_t)1 << 14 | (uint64_t)1 << 21 | (uint64_t)1 << 28 | (uint64_t)1 << 35 |  \
     (uint64_t)1 << 42)
#define BOARD (BOTTOM * 63)

/* The key is own + all: with fewer than 49 bits, its remainder and its low 32 bits identify it (ENTRIES is odd). */
typedef struct table {
    uint32_t key[ENTRIES];
    uint8_t bound[ENTRIES]; /* 0 nothing; 1..3 the value is at most -1..1; 4..6 it is at least -1..1 */
} table;

typedef struct position {
    uint64_t own, all; /* stones of the player to move, and of both */
    int ply;
} position;

/* Cells that would complete four for `own`, whether they can be reached yet or not. */
static uint64_t winning_cells(uint64_t own, uint64_t all) {
    uint64_t cells = own << 1 & own << 2 & own << 3; /* vertical */
    const int directions[3] = {7, 6, 8};
    for (int i = 0; i < 3; i++) {
        const int d = directions[i];
        uint64_t pair = own << d & own << 2 * d;
        cells |= pair & own << 3 * d; /* xxx. */
        cells |= pair & own >> d;     /* xx.x */
        pair = own >> d & own >> 2 * d;
        cells |= pair & own << d;     /* x.xx */
        cells |= pair & own >> 3 * d; /* .xxx */
    }
    return cells & (BOARD ^ all);
}

static uint64_t playable(const position *p) { return (p->all + BOTTOM) & BOARD; }

/* Moves after which the opponent cannot win at once; 0 if there are none. The mover cannot win at once himself. */
static uint64_t safe_moves(const position *p) {
    uint64_t moves = playable(p), danger = winning_cells(p->own ^ p->all, p->all), forced = moves & danger;
    if (forced) {
        if (forced & (forced - 1)) return 0;
        moves = forced;
    }
    return moves & ~(danger >> 1); /* not below a cell that the opponent wants */
}

static position after(const position *p, uint64_t move) {
    position next = {p->own ^ p->all, p->all | move, p->ply + 1};
    return next;
}

static int count_bits(uint64_t b) { return __builtin_popcountll(b); }

/* Fills moves[] from the most threatening to the least, the middle first among equals; returns how many. */
static int order_moves(const position *p, uint64_t safe, uint64_t moves[COLUMNS]) {
    const int from_the_middle[COLUMNS] = {3, 2, 4, 1, 5, 0, 6};
    int threats[COLUMNS], count = 0;
    for (int i = 0; i < COLUMNS; i++) {
        uint64_t move = safe & (uint64_t)63 << 7 * from_the_middle[i];
        if (!move) continue;
        int made = count_bits(winning_cells(p->own | move, p->all | move)), at = count++;
        for (; at > 0 && threats[at - 1] < made; at--) threats[at] = threats[at - 1], moves[at] = moves[at - 1];
        threats[at] = made, moves[at] = move;
    }
    return count;
}

/* Value for the mover, exact if alpha < value < beta, else a bound. The mover cannot win at once. */
static int negamax(table *t, const position *p, int alpha, int beta) {
    const uint64_t safe = safe_moves(p);
    if (!safe) return playable(p) ? -1 : 0;
    if (p->ply >= ROWS * COLUMNS - 2) return 0;
    const uint64_t key = p->own + p->all;
    const size_t slot = (size_t)(key % ENTRIES);
    if (t->key[slot] == (uint32_t)key && t->bound[slot] != 0) {
        const int bound = t->bound[slot];
        if (bound <= 3 && bound - 2 < beta) beta = bound - 2;
        if (bound >= 4 && bound - 5 > alpha) alpha = bound - 5;
        if (alpha >= beta) return bound <= 3 ? beta : alpha;
    }
    uint64_t moves[COLUMNS];
    const int count = order_moves(p, safe, moves);
    for (int i = 0; i < count; i++) {
        position next = after(p, moves[i]);
        int value = -negamax(t, &next, -beta, -alpha);
        if (value >= beta) {
            t->key[slot] = (uint32_t)key, t->bound[slot] = (uint8_t)(value + 5);
            return value;
        }
        if (value > alpha) alpha = value;
    }
    t->key[slot] = (uint32_t)key, t->bound[slot] = (uint8_t)(alpha + 2);
    return alpha;
}

/* Value for the mover of a position that has not ended. */
static int value_of(table *t, const position *p) {
    if (winning_cells(p->own, p->all) & playable(p)) return 1;
    int value = negamax(t, p, 0, 1);
    return value > 0 ? 1 : negamax(t, p, -1, 0) < 0 ? -1 : 0;
}

static void solve(const cm_env_params *params, void *memory, const void *rules, int8_t *value) {
    (void)params;
    const cm_connect4 *s = (const cm_connect4 *)rules;
    const int mover = (int)(s->ply & 1);
    const position p = {s->stones[mover], s->stones[0] | s->stones[1], (int)s->ply};
    const uint64_t wins = winning_cells(p.own, p.all);
    for (int column = 0; column < COLUMNS; column++) {
        const uint64_t move = playable(&p) & (uint64_t)63 << 7 * column;
        value[column] = CM_SOLVER_ILLEGAL;
        if (!move) continue;
        position next = after(&p, move);
        value[column] = (int8_t)(move & wins ? 1 : next.ply == ROWS * COLUMNS ? 0 : -value_of((table *)memory, &next));
    }
}

const cm_solver_def cm_solver_connect4 = {
    .about = "alpha-beta with a transposition table of 42 MB", .bytes = sizeof(table), .solve = solve};
