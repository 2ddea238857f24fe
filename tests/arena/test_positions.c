/* Positions collected from games, players scored on them, and the file of Connect4 positions of tests/data. */
#include <string.h>
#include <unistd.h>

#include "agent/seats.h"
#include "arena/collect.h"
#include "arena/perfect.h"
#include "arena/solved_positions.h"
#include "core/file.h"
#include "env/solver.h"
#include "support/folder.h"
#include "support/main.h"

#define CONNECT4 CM_TEST_CASES "/../data/connect4.jsonl"

static char path[CM_TEST_PATH];

static void begin(void) { cm_test_file_make(path); }

static void open_random(seats *s, const char *game, int games) {
    open_seats(s, game, games, 2);
    for (int i = 0; i < 2; i++) expect_status(cm_player_random(&s->env, &s->config.players[i]));
}

/* ---- files of games ---- */

START_TEST(games_read_back_as_they_were_saved) {
    seats s;
    cm_games again;
    open_random(&s, "connect4", 50);
    const cm_games *games = play(&s, 3, 0);
    expect_status(cm_games_save(games, "a", "b", path));
    expect_status(cm_games_read(path, &s.env, &again));
    ck_assert_int_eq(again.count, 50);
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(again.length[i], games->length[i]);
        for (int k = 0; k < games->length[i]; k++) {
            ck_assert_int_eq(again.moves[i * again.stride + k], games->moves[i * games->stride + k]);
        }
        ck_assert_double_eq(again.result[i], games->theirs[i] ? -games->result[i] : games->result[i]);
    }
    cm_games_free(&again);
    close_seats(&s);
}
END_TEST

static void refuse_games(const cm_env *env, const char *text, const char *message) {
    cm_games games;
    expect_status(cm_file_write(path, text, strlen(text)));
    ck_assert_msg(cm_games_read(path, env, &games) == CM_ERR_INPUT, "accepted: %s", text);
    ck_assert_msg(strstr(cm_error_message(), message) != NULL, "got \"%s\", want \"%s\"", cm_error_message(), message);
    ck_assert_ptr_null(games.moves);
}

START_TEST(wrong_games_are_refused_with_the_line) {
    cm_env env;
    expect_status(cm_env_open(&env, "tictactoe", NULL));
    refuse_games(&env, "{\"moves\": [0]}\n", ":1: rewards: missing");
    refuse_games(&env, "{\"rewards\": [0, 0], \"moves\": []}\n{\"rewards\": [0, 0], \"moves\": [0, 0]}\n",
                 ":2: move 2: ");
    refuse_games(&env, "{\"rewards\": [0, 0], \"moves\": [9]}\n", ":1: moves: must be actions, 0 to 8");
    refuse_games(&env, "{\"rewards\": [0], \"moves\": []}\n", ":1: rewards: ");
    refuse_games(&env, "{\"rewards\": [0, 0], \"moves\": [0,3,1,4,2,5]}\n", ":1: move 6: ");
    refuse_games(&env, "[]x\n", ":1: ");
}
END_TEST

/* ---- collecting ---- */

enum { FIRST = 3, LAST = 5, PER_PLY = 4 };

static cm_status collect(const seats *s, cm_solved_source source, const cm_games *games, cm_solved *solved) {
    const cm_collect_config config = {
        .env = &s->env, .source = source, .first_ply = FIRST, .last_ply = LAST, .per_ply = PER_PLY, .seed = 2};
    return cm_collect(&config, games, solved);
}

/* The board after a position's moves, turned so that equal positions have equal ones: the least of its images as a
 * number in base 3. */
static uint64_t image_of(const cm_solved *solved, const cm_env *env, int i) {
    int32_t cells[64], cell_map[64], action_map[64];
    char state[1024];
    uint64_t least = UINT64_MAX;
    expect_status(cm_solved_play(solved, env, i, state));
    cm_env_board(env, state, cells);
    for (int symmetry = 0; symmetry < env->spec.symmetries; symmetry++) {
        int32_t turned[64];
        uint64_t number = 0;
        cm_env_symmetry(env, symmetry, cell_map, action_map);
        for (int c = 0; c < env->spec.cells; c++) turned[cell_map[c]] = cells[c];
        for (int c = 0; c < env->spec.cells; c++) number = number * 3 + (uint64_t)turned[c]; /* may wrap around */
        if (number < least) least = number;
    }
    return least;
}

/* Every position is a choice and no image of another; `per_ply` of each ply and source. */
static void check_collection(const cm_solved *solved, const cm_env *env, int first, int last, int per_ply) {
    static uint64_t image[1000];
    ck_assert_int_eq(solved->count, CM_SOLVED_SOURCES * per_ply * (last - first + 1));
    for (int source = 0; source < CM_SOLVED_SOURCES; source++) {
        for (int ply = first; ply <= last; ply++) {
            int found = 0;
            for (int i = 0; i < solved->count; i++) found += solved->source[i] == source && solved->ply[i] == ply;
            ck_assert_int_eq(found, per_ply);
        }
    }
    for (int i = 0; i < solved->count; i++) {
        ck_assert(cm_solver_is_choice(cm_solved_values(solved, i), solved->actions));
        image[i] = image_of(solved, env, i);
        for (int k = 0; k < i; k++) ck_assert(image[i] != image[k] || solved->ply[i] != solved->ply[k]);
    }
}

/* Values are those of a solver, for all positions from a ply on and every `step`th before. */
static void check_values(const cm_solved *solved, const cm_env *env, int all_from, int step) {
    cm_solver *solver;
    char state[1024];
    expect_status(cm_solver_create(env, &solver));
    for (int i = 0; i < solved->count; i++) {
        int8_t value[CM_ENV_MAX_ACTIONS];
        if (solved->ply[i] < all_from && i % step != 0) continue;
        expect_status(cm_solved_play(solved, env, i, state));
        expect_status(cm_solver_solve(solver, state, NULL, value));
        ck_assert_msg(memcmp(value, cm_solved_values(solved, i), (size_t)solved->actions) == 0, "position %d", i);
    }
    cm_solver_destroy(solver);
}

START_TEST(collected_positions_are_choices_that_differ_and_have_their_values) {
    seats s;
    cm_solved solved;
    open_random(&s, "tictactoe", 300);
    const cm_games *games = play(&s, 3, 0);
    expect_status(cm_solved_create(&s.env, 24, &solved));
    expect_status(collect(&s, CM_SOLVED_RANDOM, games, &solved));
    expect_status(collect(&s, CM_SOLVED_GAMES, games, &solved));
    check_collection(&solved, &s.env, FIRST, LAST, PER_PLY);
    check_values(&solved, &s.env, 0, 1);
    cm_solved_free(&solved);
    close_seats(&s);
}
END_TEST

START_TEST(too_few_games_are_refused_with_the_ply) {
    seats s;
    cm_solved solved;
    open_random(&s, "tictactoe", 2);
    const cm_games *games = play(&s, 3, 0);
    expect_status(cm_solved_create(&s.env, 24, &solved));
    ck_assert_int_eq(collect(&s, CM_SOLVED_RANDOM, games, &solved), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "2 games have"));
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "of ply 5"));
    cm_solved_free(&solved);
    close_seats(&s);
}
END_TEST

/* ---- tests on solved positions ---- */

static void read_connect4(cm_env *env, cm_solved *solved) {
    expect_status(cm_env_open(env, "connect4", NULL));
    expect_status(cm_solved_read(CONNECT4, env, solved));
}

static cm_solved_score test_positions(const cm_solved *solved, const cm_env *env, int threads, int kind) {
    cm_pool *pool;
    cm_player *player = NULL;
    cm_solved_score score;
    cm_tally tally = {0, 0};
    expect_status(cm_pool_create(threads, &pool));
    const cm_match_shape shape = cm_match_shape_of(solved->count, pool);
    if (kind == 0) player = lowest(env);
    if (kind == 1) expect_status(cm_player_random(env, &player));
    if (kind == 2) expect_status(cm_player_perfect(env, &shape, &player));
    expect_status(cm_solved_positions_test(solved, env, player, &shape, pool, &tally, NULL, &score));
    ck_assert_int_eq(tally.games, solved->count);
    cm_player_destroy(player);
    cm_pool_destroy(pool);
    return score;
}

START_TEST(player_is_scored_by_the_values_of_its_moves) {
    cm_env env;
    cm_solved solved;
    int kept = 0, opening = 0, random = 0;
    read_connect4(&env, &solved);
    for (int i = 0; i < solved.count; i++) {
        const int8_t *values = cm_solved_values(&solved, i);
        int lowest_action = 0;
        while (values[lowest_action] == CM_SOLVER_ILLEGAL) lowest_action++;
        const bool keeps = values[lowest_action] == cm_solver_best(values, 7);
        kept += keeps;
        opening += keeps && solved.ply[i] < 14;
        random += keeps && solved.source[i] == CM_SOLVED_RANDOM;
    }
    const cm_solved_score score = test_positions(&solved, &env, 2, 0);
    ck_assert_int_eq(score.scores.all.moves, 1000);
    ck_assert_int_eq(score.scores.all.choices, 1000);
    ck_assert_int_eq(score.scores.all.keeping, kept);
    ck_assert_int_eq(score.scores.phase[0].moves, 240);
    ck_assert_int_eq(score.scores.phase[0].keeping_choices, opening);
    ck_assert_int_eq(score.source[CM_SOLVED_RANDOM].moves, 500);
    ck_assert_int_eq(score.source[CM_SOLVED_RANDOM].keeping, random);
    ck_assert_int_eq(score.source[CM_SOLVED_GAMES].keeping, kept - random);
    cm_solved_free(&solved);
}
END_TEST

START_TEST(score_that_is_broken_off_is_of_the_positions_that_were_answered) {
    cm_env env;
    cm_solved solved;
    cm_pool *pool;
    cm_solved_score score;
    cm_tally tally = {0, 0};
    int kept = 0;
    read_connect4(&env, &solved);
    expect_status(cm_pool_create(1, &pool));
    const cm_match_shape shape = {.shards = 1, .rows = 20, .workers = 1};
    lowest_player *player = (lowest_player *)(void *)lowest(&env);
    player->turns = 3;
    ck_assert_int_eq(
        cm_solved_positions_test(&solved, &env, &player->base, &shape, pool, &tally, &player->stop, &score),
        CM_ERR_INTERRUPTED);
    for (int i = 0; i < 60; i++) {
        const int8_t *values = cm_solved_values(&solved, i);
        int action = 0;
        while (values[action] == CM_SOLVER_ILLEGAL) action++;
        kept += values[action] == cm_solver_best(values, 7);
    }
    ck_assert_int_eq(tally.games, 60);
    ck_assert_int_eq(score.scores.all.moves, 60);
    ck_assert_int_eq(score.scores.all.keeping, kept);
    cm_player_destroy(&player->base);
    cm_pool_destroy(pool);
    cm_solved_free(&solved);
}
END_TEST

START_TEST(threads_do_not_change_a_score_and_chance_keeps_two_fifths) {
    cm_env env;
    cm_solved solved;
    read_connect4(&env, &solved);
    const cm_solved_score one = test_positions(&solved, &env, 1, 1), three = test_positions(&solved, &env, 3, 1);
    ck_assert_mem_eq(&one, &three, sizeof one);
    ck_assert_int_gt(one.scores.all.keeping, 350);
    ck_assert_int_lt(one.scores.all.keeping, 470);
    cm_solved_free(&solved);
}
END_TEST

START_TEST(exact_player_keeps_everything) {
    seats s;
    cm_solved solved;
    open_random(&s, "tictactoe", 300);
    expect_status(cm_solved_create(&s.env, 12, &solved));
    expect_status(collect(&s, CM_SOLVED_GAMES, play(&s, 3, 0), &solved));
    const cm_solved_score score = test_positions(&solved, &s.env, 2, 2);
    ck_assert_int_eq(score.scores.all.keeping, 12);
    ck_assert_int_eq(score.source[CM_SOLVED_RANDOM].moves, 0);
    cm_solved_free(&solved);
    close_seats(&s);
}
END_TEST

/* ---- tests/data/connect4.jsonl ---- */

START_TEST(connect4_file_has_forty_choices_of_every_ply_from_8_to_32) {
    cm_env env;
    cm_solved solved;
    read_connect4(&env, &solved);
    check_collection(&solved, &env, 8, 32, 20);
    cm_solved_free(&solved);
}
END_TEST

START_TEST(connect4_file_has_the_values_of_the_solver) {
    cm_env env;
    cm_solved solved;
    read_connect4(&env, &solved);
    check_values(&solved, &env, 14, 40);
    cm_solved_free(&solved);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("positions");
    TCase *tcase = tcase_create("positions");
    tcase_set_timeout(tcase, 120);
    tcase_add_checked_fixture(tcase, begin, NULL);
    tcase_add_test(tcase, games_read_back_as_they_were_saved);
    tcase_add_test(tcase, wrong_games_are_refused_with_the_line);
    tcase_add_test(tcase, collected_positions_are_choices_that_differ_and_have_their_values);
    tcase_add_test(tcase, too_few_games_are_refused_with_the_ply);
    tcase_add_test(tcase, player_is_scored_by_the_values_of_its_moves);
    tcase_add_test(tcase, score_that_is_broken_off_is_of_the_positions_that_were_answered);
    tcase_add_test(tcase, threads_do_not_change_a_score_and_chance_keeps_two_fifths);
    tcase_add_test(tcase, exact_player_keeps_everything);
    tcase_add_test(tcase, connect4_file_has_forty_choices_of_every_ply_from_8_to_32);
    tcase_add_test(tcase, connect4_file_has_the_values_of_the_solver);
    suite_add_tcase(suite, tcase);
    return cm_test_main(suite);
}
