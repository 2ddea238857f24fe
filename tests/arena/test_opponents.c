/* Opponents and scores: exact play, plain tree search, exact values of moves, every reply sequence. */
#include <string.h>

#include "agent/seats.h"
#include "arena/exhaustive.h"
#include "arena/move_scores.h"
#include "arena/perfect.h"
#include "arena/uct.h"
#include "core/clock.h"
#include "env/solver.h"
#include "support/alarm.h"

static void seat_perfect_and_random(seats *s, const char *game, int games) {
    open_seats(s, game, games, 2);
    expect_status(cm_player_perfect(&s->env, &s->config.shape, &s->config.players[0]));
    expect_status(cm_player_random(&s->env, &s->config.players[1]));
}

/* ---- exact play ---- */

START_TEST(exact_player_never_loses_tictactoe) {
    seats s;
    cm_score score;
    seat_perfect_and_random(&s, "tictactoe", 400);
    cm_games_score(play(&s, 1, 0), &score);
    ck_assert_int_eq(score.all.losses, 0);
    ck_assert_int_gt(score.all.wins, 300);
    close_seats(&s);
}
END_TEST

START_TEST(exact_player_wins_every_hex_game_that_it_begins) {
    seats s;
    cm_score score;
    seat_perfect_and_random(&s, "hex3", 100);
    cm_games_score(play(&s, 1, 0), &score);
    ck_assert_int_eq(score.first.wins, 50);
    close_seats(&s);
}
END_TEST

START_TEST(exact_player_draws_uniformly_among_the_best_moves) {
    seats s;
    int seen[9] = {0}, kinds = 0;
    seat_perfect_and_random(&s, "tictactoe", 400);
    const cm_games *games = play(&s, 1, 0);
    for (int i = 0; i < 400; i += 2) seen[games->moves[i * games->stride]]++;
    for (int a = 0; a < 9; a++) kinds += seen[a] > 0;
    ck_assert_int_eq(kinds, 9); /* every first move draws */
    close_seats(&s);
}
END_TEST

/* Corner, edge, middle: the second player has lost, by a double threat if he parries the one that is there. */
START_TEST(exact_player_resists_in_a_lost_position) {
    static const int moves[] = {0, 1, 4};
    const cm_match_shape shape = {.workers = 1, .rows = 1};
    const uint64_t step = 3;
    cm_env env;
    cm_player *player;
    char state[256];
    cm_env_outcome outcome;
    expect_status(cm_env_open(&env, "tictactoe", NULL));
    expect_status(cm_player_perfect(&env, &shape, &player));
    cm_env_reset(&env, state, 0);
    for (int i = 0; i < 3; i++) expect_status(cm_env_step(&env, state, moves[i], &outcome));
    for (uint64_t game = 0; game < 50; game++) {
        const cm_key key = cm_key_make(1, CM_RNG_TEST, game);
        const void *const states[] = {state};
        int32_t action = -1;
        const cm_turn turn = {.count = 1, .states = states, .keys = &key, .steps = &step, .actions = &action};
        expect_status(player->choose(player, &turn));
        ck_assert_int_eq(action, 8);
    }
    player->destroy(player);
}
END_TEST

/* Known before the solvers of the other workers are opened. */
START_TEST(exact_player_counts_the_solvers_of_all_its_workers) {
    cm_env env;
    cm_player *player;
    size_t bytes[2];
    expect_status(cm_env_open(&env, "connect4", NULL));
    for (int i = 0; i < 2; i++) {
        const cm_match_shape shape = {.shards = 4, .rows = 1, .workers = 1 + 3 * i};
        expect_status(cm_player_perfect(&env, &shape, &player));
        bytes[i] = player->bytes;
        cm_player_destroy(player);
    }
    ck_assert_uint_eq(bytes[1] - bytes[0], 3 * env.def->solver->bytes);
}
END_TEST

START_TEST(game_without_a_solver_has_no_exact_player) {
    seats s;
    open_seats(&s, "othello", 2, 1);
    ck_assert_int_eq(cm_player_perfect(&s.env, &s.config.shape, &s.config.players[0]), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "tictactoe, connect4 and hex"));
    close_seats(&s);
}
END_TEST

/* ---- plain tree search ---- */

static void seat_uct_and_random(seats *s, const char *game, int games, int rollouts) {
    open_seats(s, game, games, 2);
    expect_status(cm_player_uct(&s->env, &s->config.shape, rollouts, &s->config.players[0]));
    expect_status(cm_player_random(&s->env, &s->config.players[1]));
}

START_TEST(tree_search_does_not_lose_tictactoe_to_random_moves) {
    seats s;
    cm_score score;
    seat_uct_and_random(&s, "tictactoe", 200, 400);
    cm_games_score(play(&s, 1, 0), &score);
    ck_assert_int_eq(score.all.losses, 0);
    ck_assert_int_gt(score.all.wins, 150);
    close_seats(&s);
}
END_TEST

START_TEST(tree_search_draws_tictactoe_with_exact_play) {
    seats s;
    cm_score score;
    open_seats(&s, "tictactoe", 60, 2);
    expect_status(cm_player_uct(&s.env, &s.config.shape, 2000, &s.config.players[0]));
    expect_status(cm_player_perfect(&s.env, &s.config.shape, &s.config.players[1]));
    cm_games_score(play(&s, 1, 0), &score);
    ck_assert_int_eq(score.all.draws, 60);
    close_seats(&s);
}
END_TEST

/* The action that a player takes after `moves`, a string of digits, in game number `game`. */
static int ask(seats *s, cm_player *player, const char *moves, uint64_t game) {
    char state[256];
    const void *states[1] = {state};
    cm_key key = cm_key_make(7, CM_RNG_EVALUATE, game);
    uint64_t step = 0;
    int32_t action = -1;
    cm_env_outcome outcome;
    cm_env_reset(&s->env, state, 0);
    for (const char *c = moves; *c; c++) expect_status(cm_env_step(&s->env, state, *c - '0', &outcome));
    cm_turn turn = {.count = 1, .states = states, .keys = &key, .steps = &step, .actions = &action};
    expect_status(player->choose(player, &turn));
    return action;
}

START_TEST(tree_search_wins_at_once_and_stops_a_win) {
    seats s;
    seat_uct_and_random(&s, "connect4", 2, 200);
    for (uint64_t game = 0; game < 20; game++) {
        ck_assert_int_eq(ask(&s, s.config.players[0], "010101", game), 0); /* his fourth in column 0 */
        ck_assert_int_eq(ask(&s, s.config.players[0], "01010", game), 0);  /* the other's */
    }
    close_seats(&s);
}
END_TEST

START_TEST(tree_search_depends_on_the_key_of_its_game_alone) {
    seats s;
    int moves[7] = {0}, kinds = 0;
    seat_uct_and_random(&s, "connect4", 2, 3);
    for (uint64_t game = 0; game < 60; game++) {
        int action = ask(&s, s.config.players[0], "33", game);
        ck_assert_int_eq(ask(&s, s.config.players[0], "33", game), action);
        moves[action]++;
    }
    for (int a = 0; a < 7; a++) kinds += moves[a] > 0;
    ck_assert_int_gt(kinds, 3);
    close_seats(&s);
}
END_TEST

START_TEST(one_rollout_and_the_last_move_of_a_game_are_enough) {
    seats s;
    seat_uct_and_random(&s, "tictactoe", 2, 1);
    ck_assert_int_ge(ask(&s, s.config.players[0], "", 0), 0);
    ck_assert_int_eq(ask(&s, s.config.players[0], "01243576", 0), 8);
    close_seats(&s);
    seat_uct_and_random(&s, "tictactoe", 2, 500);
    ck_assert_int_eq(ask(&s, s.config.players[0], "01243576", 0), 8);
    close_seats(&s);
}
END_TEST

START_TEST(tree_search_refuses_other_games_and_numbers) {
    seats s;
    open_seats(&s, "CartPole-v1", 2, 1);
    ck_assert_int_eq(cm_player_uct(&s.env, &s.config.shape, 10, &s.config.players[0]), CM_ERR_INPUT);
    close_seats(&s);
    open_seats(&s, "tictactoe", 2, 1);
    ck_assert_int_eq(cm_player_uct(&s.env, &s.config.shape, 0, &s.config.players[0]), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "got 0"));
    close_seats(&s);
}
END_TEST

/* ---- both ---- */

static void expect_interrupted(seats *s) {
    expect_status(cm_player_random(&s->env, &s->config.players[1]));
    s->config.stop = stop_after(50);
    expect_status(cm_match_create(&s->config, &s->match));
    const double before = cm_clock_seconds();
    ck_assert_int_eq(cm_match_run(s->match, s->config.games, 0, 0), CM_ERR_INTERRUPTED);
    ck_assert_double_lt(cm_clock_seconds() - before, 1.0);
    close_seats(s);
}

/* Each would take a minute or more for its first turn. */
START_TEST(turn_of_minutes_ends_when_it_is_asked_to) {
    seats s;
    open_seats(&s, "connect4", 8, 2);
    expect_status(cm_player_perfect(&s.env, &s.config.shape, &s.config.players[0]));
    expect_interrupted(&s);
    open_seats(&s, "othello", 8, 2);
    expect_status(cm_player_uct(&s.env, &s.config.shape, 1000000, &s.config.players[0]));
    expect_interrupted(&s);
}
END_TEST

/* ---- exact values ---- */

START_TEST(values_from_the_memo_are_those_of_the_solver) {
    cm_env env;
    cm_exact *exact;
    cm_solver *solver;
    char state[256];
    int8_t value[32];
    expect_status(cm_env_open(&env, "hex3", NULL));
    expect_status(cm_exact_create(&env, &exact));
    expect_status(cm_solver_create(&env, &solver));
    for (int pass = 0; pass < 2; pass++) { /* the second time from the memo, on another worker */
        for (int a = 0; a < 9; a++) {
            cm_exact_values values;
            cm_env_outcome outcome;
            int legal = 0, keeping = 0;
            cm_env_reset(&env, state, 0);
            expect_status(cm_env_step(&env, state, a, &outcome));
            expect_status(cm_exact_solve(exact, pass, state, NULL, &values));
            expect_status(cm_solver_solve(solver, state, NULL, value));
            ck_assert_mem_eq(values.value, value, 9);
            for (int b = 0; b < 9; b++) legal += value[b] > -2, keeping += value[b] == values.best;
            ck_assert_int_eq(values.legal, legal);
            ck_assert_int_eq(values.keeping, keeping);
        }
    }
    cm_exact_destroy(exact);
    cm_solver_destroy(solver);
}
END_TEST

/* ---- scores of moves ---- */

START_TEST(exact_moves_keep_every_value) {
    seats s;
    cm_move_scores scored;
    seat_perfect_and_random(&s, "tictactoe", 200);
    const cm_games *games = play(&s, 1, 0);
    cm_tally tally = {0, 0};
    expect_status(
        cm_games_score_moves(games, &s.env, cm_player_exact(s.config.players[0]), s.pool, &tally, NULL, &scored));
    int64_t ours = 0;
    for (int i = 0; i < 200; i++) ours += (games->length[i] + (i % 2 == 0)) / 2;
    ck_assert_int_eq(scored.all.moves, ours);
    ck_assert_int_eq(tally.games, 200);
    ck_assert_int_eq(tally.moves, ours);
    ck_assert_int_eq(scored.all.keeping, scored.all.moves);
    ck_assert_int_eq(scored.all.keeping_choices, scored.all.choices);
    ck_assert_int_gt(scored.all.choices, 200);
    ck_assert_int_lt(scored.all.choices, scored.all.moves);
    close_seats(&s);
}
END_TEST

/* What has to be found, one position after the other. */
static void score_plainly(const cm_games *games, const cm_env *env, cm_move_scores *out) {
    cm_solver *solver;
    char state[256];
    memset(out, 0, sizeof *out);
    expect_status(cm_solver_create(env, &solver));
    for (int i = 0; i < games->count; i++) {
        cm_env_outcome outcome;
        cm_env_reset(env, state, 0);
        for (int k = 0; k < games->length[i]; k++) {
            int8_t value[32];
            int action = games->moves[i * games->stride + k], best = -2, legal = 0, keep = 0;
            expect_status(cm_solver_solve(solver, state, NULL, value));
            for (int a = 0; a < env->spec.actions; a++) best = value[a] > best ? value[a] : best;
            for (int a = 0; a < env->spec.actions; a++) legal += value[a] > -2, keep += value[a] == best;
            if (k >= games->opening[i] && k % 2 == games->theirs[i]) {
                cm_value_keeping *parts[2] = {&out->all, &out->phase[3 * k / env->spec.max_plies]};
                for (int p = 0; p < 2; p++) {
                    parts[p]->moves++;
                    parts[p]->keeping += value[action] == best;
                    parts[p]->choices += legal >= 2 && keep < legal;
                    parts[p]->keeping_choices += legal >= 2 && keep < legal && value[action] == best;
                }
            }
            expect_status(cm_env_step(env, state, action, &outcome));
        }
    }
    cm_solver_destroy(solver);
}

START_TEST(scores_agree_with_the_solver_at_every_move) {
    const char *const names[] = {"tictactoe", "hex3"};
    for (int n = 0; n < 2; n++) {
        for (int threads = 1; threads <= 3; threads += 2) {
            seats s;
            cm_move_scores scored, wanted;
            cm_exact *exact;
            open_seats(&s, names[n], 90, threads);
            expect_status(cm_player_random(&s.env, &s.config.players[0]));
            s.config.players[1] = lowest(&s.env);
            const cm_games *games = play(&s, 3, n);
            expect_status(cm_exact_create(&s.env, &exact));
            expect_status(cm_games_score_moves(games, &s.env, exact, s.pool, NULL, NULL, &scored));
            cm_exact_destroy(exact);
            score_plainly(games, &s.env, &wanted);
            ck_assert_mem_eq(&scored, &wanted, sizeof wanted);
            ck_assert_int_lt(scored.all.keeping_choices, scored.all.choices);
            ck_assert_int_gt(scored.phase[0].moves, 0);
            close_seats(&s);
        }
    }
}
END_TEST

START_TEST(illegal_games_are_not_scored) {
    seats s;
    int16_t moves[9] = {4, 4};
    int32_t length = 2, opening = 0;
    uint8_t theirs = 0;
    double result = 0;
    cm_games games = {.count = 1,
                      .stride = 9,
                      .moves = moves,
                      .length = &length,
                      .opening = &opening,
                      .theirs = &theirs,
                      .result = &result};
    cm_move_scores scored;
    open_seats(&s, "tictactoe", 2, 1);
    cm_exact *exact;
    const cm_stop asked = {.asked = 1};
    expect_status(cm_exact_create(&s.env, &exact));
    ck_assert_int_eq(cm_games_score_moves(&games, &s.env, exact, s.pool, NULL, NULL, &scored), CM_ERR_INPUT);
    ck_assert_int_eq(cm_games_score_moves(&games, &s.env, exact, s.pool, NULL, &asked, &scored), CM_ERR_INTERRUPTED);
    cm_exact_destroy(exact);
    close_seats(&s);
}
END_TEST

/* ---- every reply sequence ---- */

/* Lines, and lost lines, of the player of lowest numbers from a position on. */
static void count_lines(const cm_env *env, const char *state, int side, double total, int *lines, int *lost) {
    bool ours = cm_env_to_play(env, state) == side;
    for (int a = 0; a < env->spec.actions; a++) {
        uint8_t legal[32];
        char next[256];
        cm_env_outcome outcome;
        cm_env_legal(env, state, legal);
        if (!legal[a] || (ours && a != lowest_legal(env, state))) continue;
        memcpy(next, state, env->spec.state_size);
        expect_status(cm_env_step(env, next, a, &outcome));
        double after = total + (ours ? outcome.reward : -outcome.reward);
        if (outcome.terminated) {
            ++*lines;
            *lost += after < 0;
        } else {
            count_lines(env, next, side, after, lines, lost);
        }
    }
}

START_TEST(exhaustive_play_follows_every_reply_once) {
    const char *const names[] = {"tictactoe", "hex3"};
    for (int n = 0; n < 2; n++) {
        seats s;
        cm_games games;
        cm_score score;
        int lines[2] = {0}, lost[2] = {0};
        char state[256];
        open_seats(&s, names[n], 2, 1);
        s.config.players[0] = lowest(&s.env);
        expect_status(cm_exhaustive_play(&s.env, s.config.players[0], NULL, NULL, &games));
        cm_games_score(&games, &score);
        cm_env_reset(&s.env, state, 0);
        for (int side = 0; side < 2; side++) count_lines(&s.env, state, side, 0.0, &lines[side], &lost[side]);
        ck_assert_int_eq(score.first.games, lines[0]);
        ck_assert_int_eq(score.first.losses, lost[0]);
        ck_assert_int_eq(score.second.games, lines[1]);
        ck_assert_int_eq(score.second.losses, lost[1]);
        ck_assert_int_gt(score.all.losses, 0);
        cm_games_free(&games);
        close_seats(&s);
    }
}
END_TEST

START_TEST(exact_player_loses_no_line_of_tictactoe) {
    seats s;
    cm_games games;
    cm_score score;
    open_seats(&s, "tictactoe", 2, 1);
    expect_status(cm_player_perfect(&s.env, &s.config.shape, &s.config.players[0]));
    expect_status(cm_exhaustive_play(&s.env, s.config.players[0], NULL, NULL, &games));
    cm_games_score(&games, &score);
    ck_assert_int_eq(score.all.losses, 0);
    ck_assert_int_gt(score.second.games, 300);
    cm_games_free(&games);
    close_seats(&s);
}
END_TEST

START_TEST(exhaustive_play_of_a_large_game_is_refused_with_its_bound) {
    seats s;
    cm_games games;
    open_seats(&s, "connect4", 2, 1);
    s.config.players[0] = lowest(&s.env);
    ck_assert_int_eq(cm_exhaustive_play(&s.env, s.config.players[0], NULL, NULL, &games), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "connect4: too large to follow every reply: more than 10000"));
    close_seats(&s);
}
END_TEST

START_TEST(exhaustive_play_that_is_broken_off_has_the_lines_that_have_ended) {
    seats s;
    cm_games all, some;
    open_seats(&s, "tictactoe", 2, 1);
    lowest_player *player = (lowest_player *)(void *)(s.config.players[0] = lowest(&s.env));
    expect_status(cm_exhaustive_play(&s.env, &player->base, NULL, &player->stop, &all));
    player->turns = 8;
    ck_assert_int_eq(cm_exhaustive_play(&s.env, &player->base, NULL, &player->stop, &some), CM_ERR_INTERRUPTED);
    ck_assert_int_eq(player->turns, 0);
    ck_assert(some.count > 0 && some.count < all.count);
    ck_assert_mem_eq(some.result, all.result, (size_t)some.count * sizeof *some.result);
    ck_assert_mem_eq(some.length, all.length, (size_t)some.count * sizeof *some.length);
    for (int i = 0; i < some.count; i++)
        ck_assert_mem_eq(some.moves + i * some.stride, all.moves + i * all.stride, (size_t)some.length[i] * 2);
    cm_games_free(&some);
    cm_games_free(&all);
    close_seats(&s);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {exact_player_never_loses_tictactoe,
                                  exact_player_wins_every_hex_game_that_it_begins,
                                  exact_player_draws_uniformly_among_the_best_moves,
                                  exact_player_resists_in_a_lost_position,
                                  exact_player_counts_the_solvers_of_all_its_workers,
                                  game_without_a_solver_has_no_exact_player,
                                  tree_search_does_not_lose_tictactoe_to_random_moves,
                                  tree_search_draws_tictactoe_with_exact_play,
                                  tree_search_wins_at_once_and_stops_a_win,
                                  tree_search_depends_on_the_key_of_its_game_alone,
                                  one_rollout_and_the_last_move_of_a_game_are_enough,
                                  tree_search_refuses_other_games_and_numbers,
                                  turn_of_minutes_ends_when_it_is_asked_to,
                                  values_from_the_memo_are_those_of_the_solver,
                                  exact_moves_keep_every_value,
                                  scores_agree_with_the_solver_at_every_move,
                                  illegal_games_are_not_scored,
                                  exhaustive_play_follows_every_reply_once,
                                  exact_player_loses_no_line_of_tictactoe,
                                  exhaustive_play_of_a_large_game_is_refused_with_its_bound,
                                  exhaustive_play_that_is_broken_off_has_the_lines_that_have_ended};
    return run_seats("agent/opponents", tests, (int)(sizeof tests / sizeof *tests));
}
