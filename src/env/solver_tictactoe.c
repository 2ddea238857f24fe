/* TicTacToe: all 19,683 arrangements in a table, filled by minimax before the first question. */
#include "env/solver.h"
#include "env/tictactoe.h"

enum { ARRANGEMENTS = 19683 }; /* 3^9 */

static int index_of(const cm_tictactoe *s) {
    int index = 0;
    for (int cell = 8; cell >= 0; cell--) {
        index = 3 * index + (s->stones[0] >> cell & 1) + 2 * (s->stones[1] >> cell & 1);
    }
    return index;
}

/* What a position or a move is worth, and how many plies the game still has if the winner hurries and the loser resists
 * (a draw fills the board). */
typedef struct worth {
    int value, plies;
} worth;

static bool is_better(worth a, worth b) {
    if (a.value != b.value) return a.value > b.value;
    return a.value > 0 ? a.plies < b.plies : a.plies > b.plies;
}

static worth exact_value_of(int8_t *table, const cm_tictactoe *s);

static worth after(int8_t *table, const cm_tictactoe *s, int cell) {
    cm_tictactoe next = *s;
    int result;
    if (cm_tictactoe_play(&next, cell, &result)) return (worth){result, 1};
    const worth reply = exact_value_of(table, &next);
    return (worth){-reply.value, 1 + reply.plies};
}

/* For the player to move; table entries are 3 plies + value + 1, 0 where nothing is known yet (plies are 1 .. 9). */
static worth exact_value_of(int8_t *table, const cm_tictactoe *s) {
    int8_t *entry = &table[index_of(s)];
    if (*entry != 0) return (worth){*entry % 3 - 1, *entry / 3};
    worth best = {-1, 0};
    for (int cell = 0; cell < 9; cell++) {
        if (!cm_tictactoe_is_legal(s, cell)) continue;
        const worth w = after(table, s, cell);
        if (is_better(w, best)) best = w;
    }
    *entry = (int8_t)(3 * best.plies + best.value + 1);
    return best;
}

static void prepare(const cm_env_params *params, const cm_arena *memory) {
    (void)params;
    const cm_tictactoe start = {{0, 0}, 0};
    (void)exact_value_of((int8_t *)memory->base, &start);
}

static void solve(const cm_env_params *params, const cm_arena *memory, const void *rules, const cm_stop *stop,
                  int8_t *value) {
    (void)params, (void)stop;
    const cm_tictactoe *s = (const cm_tictactoe *)rules;
    for (int cell = 0; cell < 9; cell++) {
        value[cell] = CM_SOLVER_ILLEGAL;
        if (cm_tictactoe_is_legal(s, cell)) value[cell] = (int8_t)after((int8_t *)memory->base, s, cell).value;
    }
}

static void count_plies(const cm_env_params *params, const cm_arena *memory, const void *rules, uint8_t *plies) {
    (void)params;
    const cm_tictactoe *s = (const cm_tictactoe *)rules;
    for (int cell = 0; cell < 9; cell++) {
        plies[cell] = 0;
        if (cm_tictactoe_is_legal(s, cell)) plies[cell] = (uint8_t)after((int8_t *)memory->base, s, cell).plies;
    }
}

const cm_solver_def cm_solver_tictactoe = {.about = "minimax table of all positions",
                                           .bytes = ARRANGEMENTS,
                                           .prepare = prepare,
                                           .solve = solve,
                                           .plies = count_plies};
