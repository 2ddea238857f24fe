/* Exact solvers against plain search without any of their shortcuts, and against what is known of the games. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/rng.h"
#include "env/connect4.h"
#include "env/silent_check.h"
#include "env/solver.h"
#include "support/alarm.h"
#include "support/main.h"

enum { BYTES = 1024, ACTIONS = 32 };

/* Value for the player to move by searching everything through the public rules. */
static int plain_value(const cm_env *env, const void *state) {
    uint8_t mask[ACTIONS];
    char next[BYTES];
    int best = -1;
    cm_env_legal(env, state, mask);
    for (int a = 0; a < env->spec.actions && best < 1; a++) {
        cm_env_outcome out;
        if (!mask[a]) continue;
        memcpy(next, state, env->spec.state_size);
        must_equal(cm_env_step(env, next, a, &out), CM_OK);
        int value = out.terminated ? (int)out.reward : -plain_value(env, next);
        if (value > best) best = value;
    }
    return best;
}

/* Every value that the solver gives for this position is that of plain search. */
static void check_position(const cm_env *env, cm_solver *solver, const void *state) {
    int8_t value[ACTIONS];
    uint8_t mask[ACTIONS];
    char next[BYTES];
    must_equal(cm_solver_solve(solver, state, NULL, value), CM_OK);
    cm_env_legal(env, state, mask);
    for (int a = 0; a < env->spec.actions; a++) {
        cm_env_outcome out;
        must(mask[a] == (value[a] != CM_SOLVER_ILLEGAL));
        if (!mask[a]) continue;
        memcpy(next, state, env->spec.state_size);
        must_equal(cm_env_step(env, next, a, &out), CM_OK);
        must_equal(value[a], out.terminated ? (int)out.reward : -plain_value(env, next));
    }
}

/* A random game up to a ply; false if it ended before. */
static bool random_position(const cm_env *env, void *state, int plies, cm_rng *rng) {
    cm_env_outcome out = {0.0, false, false};
    cm_env_reset(env, state, 0);
    for (int i = 0; i < plies; i++) {
        uint8_t mask[ACTIONS];
        int a;
        if (out.terminated) return false;
        cm_env_legal(env, state, mask);
        do {
            a = (int)cm_rng_below(rng, (uint32_t)env->spec.actions);
        } while (!mask[a]);
        must_equal(cm_env_step(env, state, a, &out), CM_OK);
    }
    return !out.terminated;
}

static void check_random(const char *name, int first, int last, int count) {
    cm_env env;
    cm_solver *solver;
    char state[BYTES];
    cm_rng rng = cm_rng_init(cm_key_make(11, CM_RNG_TEST, 0), 0);
    must_equal(cm_env_open(&env, name, NULL), CM_OK);
    must(env.spec.state_size <= BYTES && env.spec.actions <= ACTIONS);
    must_equal(cm_solver_create(&env, &solver), CM_OK);
    for (int ply = first; ply <= last; ply++) {
        for (int i = 0; i < count; i++) {
            if (random_position(&env, state, ply, &rng)) check_position(&env, solver, state);
        }
    }
    cm_solver_destroy(solver);
}

START_TEST(tictactoe_agrees_with_plain_search_at_every_ply) { check_random("tictactoe", 0, 8, 20); }
END_TEST

START_TEST(connect4_agrees_with_plain_search_near_the_end) { check_random("connect4", 32, 41, 60); }
END_TEST

/* Alpha-beta with the rules alone: no table, no order of moves, no knowledge. */
static int connect4_value(const cm_connect4 *s, int alpha, int beta) {
    for (int column = 0; column < CM_CONNECT4_COLUMNS && alpha < beta; column++) {
        cm_connect4 next = *s;
        int result;
        if (!cm_connect4_is_legal(s, column)) continue;
        int value = cm_connect4_play(&next, column, &result) ? result : -connect4_value(&next, -beta, -alpha);
        if (value > alpha) alpha = value;
    }
    return alpha;
}

/* All moves of random positions of this ply; those that a question by zugzwang decides are among them. */
static void check_connect4(cm_solver *solver, const cm_env *env, int ply, int count, cm_rng *rng) {
    char state[BYTES];
    while (count > 0) {
        int8_t value[7];
        if (!random_position(env, state, ply, rng)) continue;
        must_equal(cm_solver_solve(solver, state, NULL, value), CM_OK);
        for (int column = 0; column < 7; column++) {
            cm_connect4 next = *(const cm_connect4 *)cm_env_rules_of(state);
            int result;
            if (value[column] == CM_SOLVER_ILLEGAL) continue;
            int want = cm_connect4_play(&next, column, &result) ? result : -connect4_value(&next, -1, 1);
            must_msg(value[column] == want, "ply %d, column %d: %d, not %d", ply, column, value[column], want);
        }
        count--;
    }
}

START_TEST(connect4_agrees_with_alpha_beta_without_knowledge_whatever_its_table) {
    cm_env env;
    cm_solver *solver[2];
    cm_rng rng = cm_rng_init(cm_key_make(13, CM_RNG_TEST, 0), 0);
    must_equal(cm_env_open(&env, "connect4", NULL), CM_OK);
    must_equal(cm_solver_create(&env, &solver[0]), CM_OK);
    must_equal(cm_solver_create_sized(&env, 5000, &solver[1]), CM_OK); /* 256 buckets: positions push each other out */
    for (int i = 0; i < 2; i++) {
        for (int ply = 25; ply < 32; ply++) check_connect4(solver[i], &env, ply, 30, &rng);
        cm_solver_destroy(solver[i]);
    }
}
END_TEST

START_TEST(connect4_mirror_images_have_mirrored_values) {
    cm_env env;
    cm_solver *solver;
    cm_rng rng = cm_rng_init(cm_key_make(14, CM_RNG_TEST, 0), 0);
    must_equal(cm_env_open(&env, "connect4", NULL), CM_OK);
    must_equal(cm_solver_create(&env, &solver), CM_OK);
    for (int i = 0; i < 20; i++) {
        char state[BYTES], mirrored[BYTES];
        int8_t value[7], other[7];
        cm_env_outcome out = {0.0, false, false};
        cm_env_reset(&env, state, 0), cm_env_reset(&env, mirrored, 0);
        for (int ply = 0; ply < 12 + i % 10 && !out.terminated; ply++) {
            uint8_t mask[7];
            cm_env_legal(&env, state, mask);
            const int a = cm_rng_pick(&rng, mask, 7);
            must_equal(cm_env_step(&env, state, a, &out), CM_OK);
            must_equal(cm_env_step(&env, mirrored, 6 - a, &out), CM_OK);
        }
        if (out.terminated) continue;
        must_equal(cm_solver_solve(solver, state, NULL, value), CM_OK);
        must_equal(cm_solver_solve(solver, mirrored, NULL, other), CM_OK);
        for (int a = 0; a < 7; a++) must_equal(value[a], other[6 - a]);
    }
    cm_solver_destroy(solver);
}
END_TEST

/* The start of a game takes minutes. */
START_TEST(connect4_that_is_asked_to_stop_does_at_once) {
    cm_env env;
    cm_solver *solver;
    char state[BYTES];
    int8_t value[7];
    must_equal(cm_env_open(&env, "connect4", NULL), CM_OK);
    must_equal(cm_solver_create(&env, &solver), CM_OK);
    cm_env_reset(&env, state, 0);
    const cm_stop *stop = stop_after(50);
    const double before = cm_clock_seconds();
    must_equal(cm_solver_solve(solver, state, stop, value), CM_ERR_INTERRUPTED);
    const double seconds = cm_clock_seconds() - before;
    must_msg(seconds < 1.0, "it took %.2f s", seconds);
    must(strstr(cm_error_message(), "connect4: solving was interrupted") != NULL);
    cm_solver_destroy(solver);
}
END_TEST

/* Wherever a question was broken off, what it left in the table is true. */
START_TEST(connect4_that_was_interrupted_answers_as_if_it_had_not_been) {
    cm_env env;
    cm_solver *solver, *fresh;
    char state[BYTES];
    int interrupted = 0;
    cm_rng rng = cm_rng_init(cm_key_make(15, CM_RNG_TEST, 0), 0);
    must_equal(cm_env_open(&env, "connect4", NULL), CM_OK);
    must_equal(cm_solver_create(&env, &solver), CM_OK);
    must_equal(cm_solver_create(&env, &fresh), CM_OK);
    for (int i = 0; i < 20; i++) {
        int8_t value[7], other[7];
        while (!random_position(&env, state, 10, &rng)) continue;
        for (int k = 1; k <= 3; k++) {
            interrupted += cm_solver_solve(solver, state, stop_after(k), value) == CM_ERR_INTERRUPTED;
        }
        must_equal(cm_solver_solve(solver, state, NULL, value), CM_OK);
        must_equal(cm_solver_solve(fresh, state, NULL, other), CM_OK);
        for (int a = 0; a < 7; a++) must_equal(value[a], other[a]);
    }
    must_msg(interrupted >= 20, "%d of 60 questions were interrupted", interrupted);
    cm_solver_destroy(solver), cm_solver_destroy(fresh);
}
END_TEST

START_TEST(a_table_of_no_size_is_refused_where_its_size_matters) {
    cm_env env;
    cm_solver *solver;
    must_equal(cm_env_open(&env, "connect4", NULL), CM_OK);
    must_equal(cm_solver_create_sized(&env, 100, &solver), CM_ERR_INPUT);
    must(solver == NULL && strstr(cm_error_message(), "at least 4096 bytes, got 100") != NULL);
    must_equal(cm_env_open(&env, "tictactoe", NULL), CM_OK);
    must_equal(cm_solver_create_sized(&env, 100, &solver), CM_OK);
    cm_solver_destroy(solver);
    must_equal(cm_env_open(&env, "go5", NULL), CM_OK);
    must_equal(cm_solver_create_sized(&env, 1 << 20, &solver), CM_ERR_INPUT);
}
END_TEST

START_TEST(hex_agrees_with_plain_search_on_small_boards) {
    check_random("hex2", 0, 3, 10);
    check_random("hex3", 0, 8, 10);
    check_random("hex4", 8, 15, 20);
}
END_TEST

START_TEST(tictactoe_is_a_draw_whatever_the_first_move) {
    cm_env env;
    cm_solver *solver;
    char state[BYTES];
    int8_t value[9];
    cm_env_outcome out;
    must_equal(cm_env_open(&env, "tictactoe", NULL), CM_OK);
    must_equal(cm_solver_create(&env, &solver), CM_OK);
    cm_env_reset(&env, state, 0);
    must_equal(cm_solver_solve(solver, state, NULL, value), CM_OK);
    for (int a = 0; a < 9; a++) must_equal(value[a], 0);
    must_equal(cm_env_step(&env, state, 0, &out), CM_OK); /* after a corner only the middle holds the draw */
    must_equal(cm_solver_solve(solver, state, NULL, value), CM_OK);
    for (int a = 1; a < 9; a++) must_equal(value[a], a == 4 ? 0 : -1);
    must_equal(value[0], CM_SOLVER_ILLEGAL);
    const int rest[4] = {1, 3, 2, 6};
    for (int i = 0; i < 4 && !out.terminated; i++) must_equal(cm_env_step(&env, state, rest[i], &out), CM_OK);
    must(out.terminated);
    must_equal(cm_solver_solve(solver, state, NULL, value), CM_ERR_STATE);
    cm_solver_destroy(solver);
}
END_TEST

/* The value for the player to move, and in *plies the moves that the game lasts, by searching everything. */
static int plain_plies(const cm_env *env, const void *state, int *plies) {
    uint8_t mask[ACTIONS];
    char next[BYTES];
    int best = -2;
    cm_env_legal(env, state, mask);
    for (int a = 0; a < env->spec.actions; a++) {
        cm_env_outcome out;
        int rest = 0;
        if (!mask[a]) continue;
        memcpy(next, state, env->spec.state_size);
        must_equal(cm_env_step(env, next, a, &out), CM_OK);
        const int value = out.terminated ? (int)out.reward : -plain_plies(env, next, &rest);
        const bool is_sooner = rest + 1 < *plies;
        if (value < best || (value == best && is_sooner != (value == 1))) continue;
        best = value, *plies = rest + 1;
    }
    return best;
}

START_TEST(tictactoe_counts_the_moves_of_a_winner_who_hurries_and_a_loser_who_resists) {
    cm_env env;
    cm_solver *solver;
    char state[BYTES], next[BYTES];
    uint8_t plies[9], mask[ACTIONS];
    cm_rng rng = cm_rng_init(cm_key_make(17, CM_RNG_TEST, 0), 0);
    must_equal(cm_env_open(&env, "tictactoe", NULL), CM_OK);
    must_equal(cm_solver_create(&env, &solver), CM_OK);
    for (int i = 0; i < 400; i++) {
        if (!random_position(&env, state, 2 + i % 7, &rng)) continue;
        must_equal(cm_solver_plies(solver, state, plies), CM_OK);
        cm_env_legal(&env, state, mask);
        for (int a = 0; a < 9; a++) {
            cm_env_outcome out;
            int rest = 0;
            memcpy(next, state, env.spec.state_size);
            if (mask[a]) must_equal(cm_env_step(&env, next, a, &out), CM_OK);
            if (mask[a] && !out.terminated) (void)plain_plies(&env, next, &rest);
            must_equal(plies[a], mask[a] ? rest + 1 : 0);
        }
    }
    cm_solver_destroy(solver);
    must_equal(cm_env_open(&env, "hex3", NULL), CM_OK);
    must_equal(cm_solver_create(&env, &solver), CM_OK);
    cm_env_reset(&env, state, 0);
    must_equal(cm_solver_plies(solver, state, plies), CM_ERR_ABSENT);
    cm_solver_destroy(solver);
}
END_TEST

START_TEST(connect4_values_of_a_position_and_its_successors_agree) {
    cm_env env;
    cm_solver *solver, *fresh;
    char state[BYTES], next[BYTES];
    cm_rng rng = cm_rng_init(cm_key_make(12, CM_RNG_TEST, 0), 0);
    must_equal(cm_env_open(&env, "connect4", NULL), CM_OK);
    must_equal(cm_solver_create(&env, &solver), CM_OK);
    must_equal(cm_solver_create(&env, &fresh), CM_OK);
    for (int ply = 18; ply < 34; ply += 2) {
        for (int i = 0; i < 4; i++) {
            int8_t value[7], other[7];
            if (!random_position(&env, state, ply, &rng)) continue;
            must_equal(cm_solver_solve(solver, state, NULL, value), CM_OK);
            for (int a = 0; a < 7; a++) {
                cm_env_outcome out;
                if (value[a] == CM_SOLVER_ILLEGAL) continue;
                memcpy(next, state, env.spec.state_size);
                must_equal(cm_env_step(&env, next, a, &out), CM_OK);
                if (out.terminated) continue;
                int best = -1; /* from a solver that has not seen the parent */
                must_equal(cm_solver_solve(fresh, next, NULL, other), CM_OK);
                for (int b = 0; b < 7; b++) best = other[b] > best ? other[b] : best;
                must_equal(value[a], -best);
            }
        }
    }
    cm_solver_destroy(solver), cm_solver_destroy(fresh);
}
END_TEST

START_TEST(hex_is_won_by_the_first_player_and_lost_with_the_swap) {
    const char *const names[] = {"hex2", "hex3", "hex4"};
    for (int i = 0; i < 3; i++) {
        for (int swap = 0; swap < 2; swap++) {
            cm_env env;
            cm_env_params params = cm_env_params_default();
            cm_solver *solver;
            char state[BYTES];
            int8_t value[ACTIONS];
            int wins = 0;
            params.swap = swap == 1;
            must_equal(cm_env_open(&env, names[i], &params), CM_OK);
            must_equal(cm_solver_create(&env, &solver), CM_OK);
            cm_env_reset(&env, state, 0);
            must_equal(cm_solver_solve(solver, state, NULL, value), CM_OK);
            const int cells = env.spec.cells;
            for (int a = 0; a < cells; a++) {
                wins += value[a] == 1;
                must_equal(value[a], value[cells - 1 - a]); /* the half turn */
            }
            must(swap == 1 ? wins == 0 : wins > 0 && wins < cells);
            if (i == 1 && swap == 0) must_equal(value[4], 1); /* the middle of 3 x 3 wins */
            cm_solver_destroy(solver);
        }
    }
}
END_TEST

START_TEST(games_without_a_solver_say_so) {
    const char *const names[] = {"hex5", "go5", "CartPole-v1"};
    for (int i = 0; i < 3; i++) {
        cm_env env;
        cm_solver *solver;
        must_equal(cm_env_open(&env, names[i], NULL), CM_OK);
        must_equal(cm_solver_create(&env, &solver), CM_ERR_INPUT);
        must(strstr(cm_error_message(), names[i]) != NULL && solver == NULL);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("exact solvers");
    TCase *tcase = tcase_create("solvers");
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, tictactoe_agrees_with_plain_search_at_every_ply);
    tcase_add_test(tcase, connect4_agrees_with_plain_search_near_the_end);
    tcase_add_test(tcase, connect4_agrees_with_alpha_beta_without_knowledge_whatever_its_table);
    tcase_add_test(tcase, connect4_mirror_images_have_mirrored_values);
    tcase_add_test(tcase, connect4_that_is_asked_to_stop_does_at_once);
    tcase_add_test(tcase, connect4_that_was_interrupted_answers_as_if_it_had_not_been);
    tcase_add_test(tcase, a_table_of_no_size_is_refused_where_its_size_matters);
    tcase_add_test(tcase, hex_agrees_with_plain_search_on_small_boards);
    tcase_add_test(tcase, tictactoe_is_a_draw_whatever_the_first_move);
    tcase_add_test(tcase, tictactoe_counts_the_moves_of_a_winner_who_hurries_and_a_loser_who_resists);
    tcase_add_test(tcase, connect4_values_of_a_position_and_its_successors_agree);
    tcase_add_test(tcase, hex_is_won_by_the_first_player_and_lost_with_the_swap);
    tcase_add_test(tcase, games_without_a_solver_say_so);
    suite_add_tcase(suite, tcase);
    return cm_test_main_in_process(suite);
}
