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

/* Value for the player to move; table entries are value + 2, 0 where nothing is known yet. */
static int fill(int8_t *table, const cm_tictactoe *s) {
    int8_t *entry = &table[index_of(s)];
    if (*entry != 0) return *entry - 2;
    int best = -1;
    for (int cell = 0; cell < 9; cell++) {
        cm_tictactoe next = *s;
        int result;
        if (!cm_tictactoe_is_legal(s, cell)) continue;
        int value = cm_tictactoe_play(&next, cell, &result) ? result : -fill(table, &next);
        if (value > best) best = value;
    }
    *entry = (int8_t)(best + 2);
    return best;
}

static void prepare(const cm_env_params *params, const cm_arena *memory) {
    (void)params;
    const cm_tictactoe start = {{0, 0}, 0};
    fill((int8_t *)memory->base, &start);
}

static void solve(const cm_env_params *params, const cm_arena *memory, const void *rules, const cm_stop *stop,
                  int8_t *value) {
    (void)params, (void)stop;
    const cm_tictactoe *s = (const cm_tictactoe *)rules;
    for (int cell = 0; cell < 9; cell++) {
        cm_tictactoe next = *s;
        int result;
        value[cell] = CM_SOLVER_ILLEGAL;
        if (!cm_tictactoe_is_legal(s, cell)) continue;
        value[cell] = (int8_t)(cm_tictactoe_play(&next, cell, &result) ? result : -fill((int8_t *)memory->base, &next));
    }
}

const cm_solver_def cm_solver_tictactoe = {
    .about = "minimax table of all positions", .bytes = ARRANGEMENTS, .prepare = prepare, .solve = solve};
