/* The rules of the games: numbers of positions (perft), known positions, and what must hold in every random game. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "env/board.h"
#include "env/connect4.h"
#include "env/env.h"
#include "env/game2048.h"
#include "env/go.h"
#include "env/hex.h"
#include "env/othello.h"
#include "env/silent_check.h"
#include "env/tictactoe.h"
#include "support/main.h"

/* ---- perft: leaves of the game tree at a depth; a finished game contributes no deeper leaf ---- */

static long perft_tictactoe(cm_tictactoe s, int depth) {
    long leaves = 0;
    for (int cell = 0; cell < 9; cell++) {
        cm_tictactoe next = s;
        int result;
        if (!cm_tictactoe_is_legal(&s, cell)) continue;
        bool ended = cm_tictactoe_play(&next, cell, &result);
        leaves += depth == 1 ? 1 : ended ? 0 : perft_tictactoe(next, depth - 1);
    }
    return leaves;
}

START_TEST(tictactoe_has_the_known_numbers_of_positions) {
    const long known[9] = {9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872};
    for (int depth = 1; depth <= 9; depth++)
        must_equal(perft_tictactoe((cm_tictactoe){{0, 0}, 0}, depth), known[depth - 1]);
}
END_TEST

/* Leaves and, of them, wins. */
static long perft_connect4(cm_connect4 s, int depth, long *wins) {
    long leaves = 0;
    for (int column = 0; column < 7; column++) {
        cm_connect4 next = s;
        int result;
        if (!cm_connect4_is_legal(&s, column)) continue;
        bool ended = cm_connect4_play(&next, column, &result);
        if (depth == 1) leaves++, *wins += result;
        if (depth > 1 && !ended) leaves += perft_connect4(next, depth - 1, wins);
    }
    return leaves;
}

START_TEST(connect4_has_the_known_numbers_of_positions_and_wins) {
    const long known[8] = {7, 49, 343, 2401, 16807, 117649, 823536, 5673234}, wins[8] = {[6] = 13032, [7] = 44430};
    for (int depth = 1; depth <= 8; depth++) {
        long won = 0;
        must_equal(perft_connect4((cm_connect4){{0, 0}, 0}, depth, &won), known[depth - 1]);
        if (depth >= 7) must_equal(won, wins[depth - 1]);
    }
}
END_TEST

static long perft_othello(cm_othello s, int depth) {
    int mover = (int)(s.ply & 1), result;
    uint64_t moves = cm_othello_moves(s.discs[mover], s.discs[1 - mover]);
    long leaves = 0;
    for (int action = 0; action < CM_OTHELLO_ACTIONS; action++) {
        cm_othello next = s;
        if (action == CM_OTHELLO_PASS ? moves != 0 : !(moves >> action & 1)) continue;
        bool ended = cm_othello_play(&next, action, &result);
        leaves += depth == 1 ? 1 : ended ? 0 : perft_othello(next, depth - 1);
    }
    return leaves;
}

START_TEST(othello_has_the_known_numbers_of_positions) {
    const long known[8] = {4, 12, 56, 244, 1396, 8200, 55092, 390216};
    cm_othello start;
    cm_othello_reset(&start);
    for (int depth = 1; depth <= 8; depth++) must_equal(perft_othello(start, depth), known[depth - 1]);
}
END_TEST

static long perft_go(const cm_go *s, int depth) {
    long leaves = 1; /* the pass */
    const int points = s->n * s->n;
    if (depth == 1) {
        for (int p = 0; p < points; p++) leaves += cm_go_is_legal(s, p);
        return leaves;
    }
    leaves = 0;
    for (int p = 0; p <= points; p++) {
        cm_go next;
        if (p < points && !cm_go_is_legal(s, p)) continue;
        memcpy(&next, s, sizeof next);
        if (!cm_go_play(&next, p)) leaves += perft_go(&next, depth - 1);
    }
    return leaves;
}

START_TEST(go_has_the_known_numbers_of_positions) {
    static const struct {
        int n, depths;
        long known[10];
    } boards[] = {{2, 10, {5, 21, 68, 156, 316, 604, 1088, 2184, 4184, 8024}},
                  {3, 6, {10, 91, 738, 5281, 33384, 179712}},
                  {4, 5, {17, 273, 4112, 57984, 764016}},
                  {5, 4, {26, 651, 15650, 361041}}};
    static cm_go start;
    for (size_t b = 0; b < sizeof boards / sizeof *boards; b++) {
        cm_go_reset(&start, boards[b].n);
        start.limit = INT64_MAX; /* the table counts without a limit of plies */
        for (int depth = 1; depth <= boards[b].depths; depth++) {
            must_equal(perft_go(&start, depth), boards[b].known[depth - 1]);
        }
    }
}
END_TEST

/* ---- go: every claim about liberties, hashes and superko against a slow second opinion ---- */

/* The board after a move by flood fill, or false if it is suicide or repeats. boards[count] are the earlier ones. */
static bool slow_move(const uint8_t *board, int n, int p, int mover, uint8_t *out) {
    uint8_t seen[CM_GO_POINTS];
    int near[4], around[4], stack[CM_GO_POINTS];
    memcpy(out, board, (size_t)(n * n));
    out[p] = (uint8_t)mover;
    for (int pass = 0; pass < 2; pass++) { /* first the opponent's groups, then the own one */
        int count = cm_go_neighbours(n, p, near);
        if (pass == 1) near[0] = p, count = 1;
        for (int i = 0; i < count; i++) {
            const uint8_t colour = pass == 0 ? (uint8_t)(3 - mover) : (uint8_t)mover;
            if (out[near[i]] != colour) continue;
            int depth = 0, size = 0, group[CM_GO_POINTS];
            bool alive = false;
            memset(seen, 0, sizeof seen);
            stack[depth++] = near[i], seen[near[i]] = 1;
            while (depth > 0) {
                int q = group[size++] = stack[--depth];
                for (int j = cm_go_neighbours(n, q, around) - 1; j >= 0; j--) {
                    if (out[around[j]] == 0) alive = true;
                    if (out[around[j]] != colour || seen[around[j]]) continue;
                    seen[around[j]] = 1, stack[depth++] = around[j];
                }
            }
            if (alive) continue;
            if (pass == 1) return false;
            for (int j = 0; j < size; j++) out[group[j]] = 0;
        }
    }
    return true;
}

START_TEST(go_agrees_with_a_flood_fill_program_on_random_games) {
    static cm_go s;
    static uint8_t boards[2 * CM_GO_POINTS + 2][CM_GO_POINTS];
    cm_rng rng = cm_rng_init(cm_key_make(5, CM_RNG_TEST, 0), 0);
    long refused = 0;
    for (int game = 0; game < 400; game++) {
        const int n = game % 4 == 3 ? 7 : 2 + game % 4; /* small boards repeat positions often */
        int count = 1, choices[CM_GO_POINTS];
        uint8_t next[CM_GO_POINTS];
        cm_go_reset(&s, n);
        memset(boards[0], 0, sizeof boards[0]);
        for (bool ended = false; !ended;) {
            const uint8_t *board = boards[count - 1];
            int legal = 0;
            for (int p = 0; p < n * n; p++) {
                must_equal(cm_go_colour(&s, p), board[p]);
                bool fine = board[p] == 0 && slow_move(board, n, p, 1 + s.ply % 2, next);
                for (int b = 0; fine && b < count; b++) {
                    if (memcmp(boards[b], next, (size_t)(n * n)) == 0) fine = false, refused++;
                }
                must_msg(cm_go_is_legal(&s, p) == fine, "game %d, ply %d, point %d", game, s.ply, p);
                if (fine) choices[legal++] = p;
            }
            int action =
                legal == 0 || cm_rng_below(&rng, 40) == 0 ? n * n : choices[cm_rng_below(&rng, (uint32_t)legal)];
            if (action < n * n) must(slow_move(board, n, action, 1 + s.ply % 2, boards[count++]));
            ended = cm_go_play(&s, action);
        }
    }
    must_msg(refused > 100, "only %ld repetitions were seen", refused);
}
END_TEST

START_TEST(go_scores_areas_and_leaves_an_empty_board_to_white) {
    static cm_go s;
    cm_go_reset(&s, 5);
    must_equal(cm_go_area(&s), 0);
    cm_go_play(&s, 12);
    must_equal(cm_go_area(&s), 25);
    cm_go_play(&s, 0);
    must_equal(cm_go_area(&s), 0); /* one stone each, the rest touches both */
    must(!cm_go_play(&s, 25));
    must(cm_go_play(&s, 25));
    cm_env env;
    cm_env_outcome out;
    must_equal(cm_env_open(&env, "go9", NULL), CM_OK);
    void *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 0);
    must_equal(cm_env_step(&env, state, 81, &out), CM_OK);
    must_equal(cm_env_step(&env, state, 81, &out), CM_OK);
    must(out.terminated && out.reward == 1.0); /* White made the last pass and wins by komi */
    free(state);
}
END_TEST

START_TEST(go_observes_eight_positions_newest_first) {
    cm_env env;
    cm_env_outcome out;
    must_equal(cm_env_open(&env, "go5", NULL), CM_OK);
    void *state = calloc(1, env.spec.state_size);
    float *observation = calloc((size_t)env.spec.observation_size, sizeof(float));
    cm_env_reset(&env, state, 0);
    for (int i = 0; i < 10; i++) must_equal(cm_env_step(&env, state, i == 9 ? 25 : 2 * i, &out), CM_OK);
    cm_env_observe(&env, state, observation); /* Black moves; stones of ply 0, 2, ... are its own */
    for (int ply = 0; ply < 9; ply++) {
        for (int age = 0; age < 8; age++) { /* a pass was the last ply: age 0 and 1 show the same board */
            float want = 10 - age > ply ? 1.0f : 0.0f;
            must(observation[2 * ply * 18 + 2 * age + ply % 2] == want);
            must(observation[2 * ply * 18 + 2 * age + 1 - ply % 2] == 0.0f);
        }
    }
    must(observation[16] == 1.0f && observation[17] == 0.0f);
    free(state), free(observation);
}
END_TEST

/* ---- the others ---- */

static cm_env_outcome play_all(cm_env *env, void *state, const int *actions, int count) {
    cm_env_outcome out = {0.0, false, false};
    cm_env_reset(env, state, 0);
    for (int i = 0; i < count; i++) must_equal(cm_env_step(env, state, actions[i], &out), CM_OK);
    return out;
}

START_TEST(exactly_five_lets_a_line_of_six_go_on) {
    const int overline[11] = {107, 0, 108, 1, 109, 2, 111, 3, 112, 15, 110},
              five[9] = {107, 0, 108, 1, 109, 2, 110, 3, 111};
    cm_env_params params = cm_env_params_default();
    for (int option = 0; option < 2; option++) {
        cm_env env;
        params.exactly_five = option == 1;
        must_equal(cm_env_open(&env, "gomoku15", &params), CM_OK);
        void *state = calloc(1, env.spec.state_size);
        must_equal(play_all(&env, state, overline, 11).terminated, option == 0);
        must_equal(play_all(&env, state, five, 9).terminated, true);
        free(state);
    }
}
END_TEST

START_TEST(every_full_hex_board_has_exactly_one_winner) {
    /* all fillings of 3 x 3 with 5 and 4 stones, and random orders on 11 x 11 */
    static cm_hex s;
    cm_rng rng = cm_rng_init(cm_key_make(6, CM_RNG_TEST, 0), 0);
    int first = 0, balanced = 0;
    for (int mask = 0; mask < 512; mask++) {
        int own[9], other[9], stones[2] = {0, 0};
        for (int c = 0; c < 9; c++) *(mask >> c & 1 ? &own[stones[0]++] : &other[stones[1]++]) = c;
        if (stones[0] != 5) continue;
        memset(&s, 0, sizeof s), s.n = 3;
        int winners[2] = {0, 0};
        for (int ply = 0; ply < 9; ply++)
            winners[ply % 2] |= cm_hex_play(&s, ply % 2 == 0 ? own[ply / 2] : other[ply / 2]);
        must_equal(winners[0] + winners[1], 1);
        first += winners[0], balanced++;
    }
    must_equal(balanced, 126);
    must_equal(first, 84);
    for (int game = 0; game < 500; game++) {
        int cells[121], winners[2] = {0, 0};
        for (int c = 0; c < 121; c++) cells[c] = c;
        for (int c = 120; c > 0; c--) {
            int other = (int)cm_rng_below(&rng, (uint32_t)c + 1), kept = cells[c];
            cells[c] = cells[other], cells[other] = kept;
        }
        memset(&s, 0, sizeof s), s.n = 11;
        for (int ply = 0; ply < 121; ply++) winners[ply % 2] |= cm_hex_play(&s, cells[ply]);
        must_equal(winners[0] + winners[1], 1);
    }
}
END_TEST

START_TEST(hex_swap_moves_the_stone_to_the_mirrored_cell) {
    cm_env env;
    cm_env_params params = cm_env_params_default();
    cm_env_outcome out;
    params.swap = true;
    must_equal(cm_env_open(&env, "hex5", &params), CM_OK);
    must_equal(env.spec.actions, 26);
    void *state = calloc(1, env.spec.state_size);
    int32_t cells[25];
    cm_env_reset(&env, state, 0);
    must_equal(cm_env_step(&env, state, 25, &out), CM_ERR_INPUT); /* not as the first ply */
    must_equal(cm_env_step(&env, state, 3, &out), CM_OK);         /* (0, 3) */
    must_equal(cm_env_step(&env, state, 25, &out), CM_OK);
    cm_env_board(&env, state, cells);
    must(cells[3] == 0 && cells[15] == 2 && cm_env_to_play(&env, state) == 0);
    must_equal(cm_env_step(&env, state, 25, &out), CM_ERR_INPUT); /* nor as the third */
    free(state);
}
END_TEST

START_TEST(othello_counts_four_discs_and_one_for_every_move) {
    cm_rng rng = cm_rng_init(cm_key_make(8, CM_RNG_TEST, 0), 0);
    for (int game = 0; game < 300; game++) {
        cm_othello s;
        cm_othello_reset(&s);
        int placed = 0, result;
        for (bool ended = false; !ended;) {
            int mover = (int)(s.ply & 1), action = CM_OTHELLO_PASS;
            uint64_t moves = cm_othello_moves(s.discs[mover], s.discs[1 - mover]);
            if (moves) {
                do {
                    action = (int)cm_rng_below(&rng, 64);
                } while (!(moves >> action & 1));
            }
            ended = cm_othello_play(&s, action, &result);
            placed += action != CM_OTHELLO_PASS;
            must((s.discs[0] & s.discs[1]) == 0);
            must_equal(cm_othello_count(s.discs[0]) + cm_othello_count(s.discs[1]), 4 + placed);
        }
    }
}
END_TEST

static void check_slide(const uint8_t line[4], int direction, const uint8_t want[4], double reward, bool changes) {
    cm_2048 s = {{line[0], line[1], line[2], line[3]}};
    double got;
    must_equal(cm_2048_slide(&s, direction, &got), changes);
    must(memcmp(s.tile, want, 4) == 0 && got == reward);
}

START_TEST(slides_of_2048_merge_each_tile_once) {
    const uint8_t a[4] = {1, 0, 1, 0}, a_left[4] = {2, 0, 0, 0};
    const uint8_t b[4] = {1, 1, 1, 1}, b_left[4] = {2, 2, 0, 0};
    const uint8_t c[4] = {2, 0, 1, 1}, c_left[4] = {2, 2, 0, 0};
    const uint8_t d[4] = {1, 1, 2, 3}, d_left[4] = {2, 2, 3, 0};
    const uint8_t e[4] = {1, 2, 1, 2};
    const uint8_t f[4] = {1, 1, 1, 0}, f_right[4] = {0, 0, 1, 2};
    check_slide(a, 3, a_left, 4, true);
    check_slide(b, 3, b_left, 8, true);
    check_slide(c, 3, c_left, 4, true);
    check_slide(d, 3, d_left, 4, true);
    check_slide(e, 3, e, 0, false);
    check_slide(f, 1, f_right, 4, true);
}
END_TEST

START_TEST(sums_of_2048_grow_by_spawns_alone_and_random_play_scores_about_1100) {
    cm_env env;
    must_equal(cm_env_open(&env, "2048", NULL), CM_OK);
    void *state = calloc(1, env.spec.state_size);
    cm_rng rng = cm_rng_init(cm_key_make(9, CM_RNG_TEST, 0), 0);
    double score = 0.0;
    long fours = 0, spawns = 0;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        cm_env_outcome out = {0.0, false, false};
        cm_env_reset(&env, state, seed);
        while (!out.terminated) {
            int32_t before[16], after[16], grown = 0;
            uint8_t mask[4];
            int action;
            cm_env_legal(&env, state, mask);
            do {
                action = (int)cm_rng_below(&rng, 4);
            } while (!mask[action]);
            cm_env_board(&env, state, before);
            must_equal(cm_env_step(&env, state, action, &out), CM_OK);
            cm_env_board(&env, state, after);
            for (int c = 0; c < 16; c++) grown += after[c] - before[c];
            must(grown == 2 || grown == 4);
            fours += grown == 4, spawns++;
            score += out.reward;
        }
    }
    must_msg(score / 1000 > 1000 && score / 1000 < 1200, "mean score %g", score / 1000);
    must_msg((double)fours / (double)spawns > 0.095 && (double)fours / (double)spawns < 0.105, "%ld of %ld", fours,
             spawns);
    free(state);
}
END_TEST

START_TEST(chance_halves_of_a_step_refuse_what_is_out_of_turn) {
    cm_env env, chess;
    cm_env_outcome out;
    double reward;
    float weights[32], sum = 0.0f;
    const int32_t start[2] = {0, 16 + 1}, twice[2] = {5, 16 + 5}, wild[2] = {0, 32};
    must_equal(cm_env_open(&env, "2048", NULL), CM_OK);
    must_equal(cm_env_open(&chess, "connect4", NULL), CM_OK);
    void *state = calloc(1, env.spec.state_size), *other = calloc(1, chess.spec.state_size);
    cm_env_reset(&env, state, 0), cm_env_reset(&chess, other, 0);
    must_equal(cm_env_reset_outcomes(&env, state, twice), CM_ERR_INPUT);
    must_equal(cm_env_reset_outcomes(&env, state, wild), CM_ERR_INPUT);
    must_equal(cm_env_reset_outcomes(&env, state, start), CM_OK); /* 2 on cell 0, 4 on cell 1 */
    must_equal(cm_env_chance(&env, state, 3, &out), CM_ERR_STATE);
    must_equal(cm_env_chance_weights(&env, state, weights), CM_ERR_STATE);
    must_equal(cm_env_afterstate(&env, state, 0, &reward), CM_ERR_INPUT);
    must_equal(cm_env_afterstate(&env, state, 2, &reward), CM_OK); /* down */
    must_equal(cm_env_step(&env, state, 1, &out), CM_ERR_STATE);
    must_equal(cm_env_chance(&env, state, 12, &out), CM_ERR_INPUT); /* occupied */
    must_equal(cm_env_chance_weights(&env, state, weights), CM_OK);
    for (int i = 0; i < 32; i++) sum += weights[i];
    must(sum > 0.999f && sum < 1.001f && weights[12] == 0.0f && weights[3] > 0.06f);
    must_equal(cm_env_chance(&env, state, 16 + 3, &out), CM_OK);
    must(!out.terminated);
    must_equal(cm_env_afterstate(&chess, other, 0, &reward), CM_ERR_INPUT);
    must_equal(cm_env_chance(&chess, other, 0, &out), CM_ERR_INPUT);
    must_equal(cm_env_reset_outcomes(&chess, other, start), CM_ERR_INPUT);
    free(state), free(other);
}
END_TEST

START_TEST(spawns_of_2048_are_read_off_the_observations_around_a_step) {
    cm_env env;
    must_equal(cm_env_open(&env, "2048", NULL), CM_OK);
    void *state = calloc(1, env.spec.state_size);
    float *before = calloc(256, sizeof *before), *after = calloc(256, sizeof *after), weights[32];
    cm_rng rng = cm_rng_init(cm_key_make(10, CM_RNG_TEST, 0), 0);
    for (uint64_t seed = 0; seed < 20; seed++) {
        cm_env_outcome out = {0.0, false, false};
        cm_env_reset(&env, state, seed);
        while (!out.terminated) {
            uint8_t mask[4];
            double reward;
            int action, spawn;
            cm_env_legal(&env, state, mask);
            cm_env_observe(&env, state, before);
            must_equal(cm_env_outcome_between(&env, before, 0, before), -1); /* nothing came */
            do action = (int)cm_rng_below(&rng, 4);
            while (!mask[action]);
            must_equal(cm_env_afterstate(&env, state, action, &reward), CM_OK);
            must_equal(cm_env_chance_weights(&env, state, weights), CM_OK);
            do spawn = (int)cm_rng_below(&rng, 32);
            while (!(weights[spawn] > 0.0f));
            must_equal(cm_env_chance(&env, state, spawn, &out), CM_OK);
            cm_env_observe(&env, state, after);
            must_equal(cm_env_outcome_between(&env, before, action, after), spawn);
        }
    }
    free(state), free(before), free(after);
}
END_TEST

START_TEST(catch_is_won_by_following_the_ball) {
    cm_env env;
    must_equal(cm_env_open(&env, "Catch", NULL), CM_OK);
    must_equal(env.spec.observation_size, 50);
    double storage[16];
    for (int column = 0; column < 5; column++) {
        cm_env_outcome out = {0.0, false, false};
        const int32_t outcome = column;
        cm_env_reset(&env, storage, 0);
        must_equal(cm_env_reset_outcomes(&env, storage, &outcome), CM_OK);
        for (int t = 0, paddle = 2; t < 9; t++) {
            must(out.reward == 0.0 && !out.terminated);
            int action = 1 + (column > paddle) - (column < paddle);
            paddle += action - 1;
            must_equal(cm_env_step(&env, storage, action, &out), CM_OK);
        }
        must(out.reward == 1.0 && out.terminated && !out.truncated);
    }
}
END_TEST

/* TicTacToe's functions on a row of cells. */
extern const cm_env_def cm_env_tictactoe;
static int columns_of_wide, more_actions;

static cm_status describe_wide(cm_env_params *params, cm_env_spec *spec) {
    (void)params;
    cm_board_describe(spec, 1, columns_of_wide, columns_of_wide + more_actions);
    spec->rules_size = sizeof(cm_tictactoe);
    return CM_OK;
}

START_TEST(what_a_board_game_leaves_out_is_made_of_its_cells_where_it_can_be_drawn) {
    cm_env_def wide = cm_env_tictactoe;
    cm_env env;
    char name[16];
    must(!wide.observe && !wide.picture && !wide.action_name);
    wide.describe = describe_wide, wide.solver = NULL;
    columns_of_wide = 26;
    must_equal(cm_env_open_def(&env, &wide, "tictactoe", NULL), CM_OK);
    cm_env_action_name(&env, 25, name, sizeof name);
    must(strcmp(name, "z1") == 0);
    columns_of_wide = 27;
    must_equal(cm_env_open_def(&env, &wide, "tictactoe", NULL), CM_ERR_INPUT);
    must(strstr(cm_error_message(), "its row lacks the function picture") != NULL);
    columns_of_wide = 1, more_actions = 65536;
    must_equal(cm_env_open_def(&env, &wide, "tictactoe", NULL), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "its describe sets actions to 65537") != NULL, "%s", cm_error_message());
    columns_of_wide = 9, more_actions = 0, wide.board = NULL;
    must_equal(cm_env_open_def(&env, &wide, "tictactoe", NULL), CM_ERR_INPUT);
    must(strstr(cm_error_message(), "its row lacks the functions observe, picture") != NULL);
}
END_TEST

START_TEST(names_mean_the_same_in_capitals_or_not) {
    static const char *const names[][2] = {
        {"TicTacToe", "tictactoe"},    {"CATCH", "catch"}, {"HEX7", "hex7"}, {"Go", "go9"}, {"cartpole", "CartPole-v1"},
        {"pendulum-V1", "Pendulum-v1"}};
    cm_env env;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        must_equal(cm_env_open(&env, names[i][0], NULL), CM_OK);
        must(strcmp(env.spec.name, names[i][1]) == 0);
    }
    must_equal(cm_env_open(&env, "TICTACTO", NULL), CM_ERR_INPUT);
    must(strstr(cm_error_message(), "the nearest one is tictactoe") != NULL);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("games");
    TCase *tcase = tcase_create("rules");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, tictactoe_has_the_known_numbers_of_positions);
    tcase_add_test(tcase, connect4_has_the_known_numbers_of_positions_and_wins);
    tcase_add_test(tcase, othello_has_the_known_numbers_of_positions);
    tcase_add_test(tcase, go_has_the_known_numbers_of_positions);
    tcase_add_test(tcase, go_agrees_with_a_flood_fill_program_on_random_games);
    tcase_add_test(tcase, go_scores_areas_and_leaves_an_empty_board_to_white);
    tcase_add_test(tcase, go_observes_eight_positions_newest_first);
    tcase_add_test(tcase, exactly_five_lets_a_line_of_six_go_on);
    tcase_add_test(tcase, every_full_hex_board_has_exactly_one_winner);
    tcase_add_test(tcase, hex_swap_moves_the_stone_to_the_mirrored_cell);
    tcase_add_test(tcase, othello_counts_four_discs_and_one_for_every_move);
    tcase_add_test(tcase, slides_of_2048_merge_each_tile_once);
    tcase_add_test(tcase, spawns_of_2048_are_read_off_the_observations_around_a_step);
    tcase_add_test(tcase, sums_of_2048_grow_by_spawns_alone_and_random_play_scores_about_1100);
    tcase_add_test(tcase, chance_halves_of_a_step_refuse_what_is_out_of_turn);
    tcase_add_test(tcase, catch_is_won_by_following_the_ball);
    tcase_add_test(tcase, what_a_board_game_leaves_out_is_made_of_its_cells_where_it_can_be_drawn);
    tcase_add_test(tcase, names_mean_the_same_in_capitals_or_not);
    suite_add_tcase(suite, tcase);
    return cm_test_main_in_process(suite);
}
