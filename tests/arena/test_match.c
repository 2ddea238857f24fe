/* Matches: the first player, openings, independence of threads, and the files of games. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/seats.h"
#include "core/json.h"
#include "support/folder.h"

static const int16_t *moves_of(const cm_games *games, int i) {
    return games->moves + (size_t)i * (size_t)games->stride;
}

static void seat_lowest_and_random(seats *s) {
    s->config.players[0] = lowest(&s->env);
    expect_status(cm_player_random(&s->env, &s->config.players[1]));
}

START_TEST(we_move_first_in_even_games_and_second_in_odd_ones) {
    seats s;
    open_seats(&s, "connect4", 41, 1);
    seat_lowest_and_random(&s);
    const cm_games *games = play(&s, 3, 0);
    ck_assert_int_eq(games->count, 41);
    for (int i = 0; i < 41; i++) {
        ck_assert_int_eq(games->theirs[i], i % 2);
        char state[256];
        cm_env_outcome outcome;
        cm_env_reset(&s.env, state, 0);
        for (int k = 0; k < games->length[i]; k++) {
            if ((k + i) % 2 == 0) ck_assert_int_eq(moves_of(games, i)[k], lowest_legal(&s.env, state));
            expect_status(cm_env_step(&s.env, state, moves_of(games, i)[k], &outcome));
        }
        ck_assert(outcome.terminated);
    }
    close_seats(&s);
}
END_TEST

START_TEST(workers_change_no_move_of_a_match) {
    seats one, three;
    open_seats(&one, "connect4", 70, 1);
    open_seats(&three, "connect4", 70, 3);
    for (int i = 0; i < 2; i++) {
        expect_status(cm_player_random(&one.env, &one.config.players[i]));
        expect_status(cm_player_random(&three.env, &three.config.players[i]));
    }
    const cm_games *a = play(&one, 8, 2), *b = play(&three, 8, 2);
    ck_assert_mem_eq(a->length, b->length, 70 * sizeof *a->length);
    ck_assert_mem_eq(a->result, b->result, 70 * sizeof *a->result);
    for (int i = 0; i < 70; i++) ck_assert_mem_eq(moves_of(a, i), moves_of(b, i), (size_t)a->length[i] * 2);
    close_seats(&one);
    close_seats(&three);
}
END_TEST

START_TEST(games_and_moves_are_tallied_on_the_way) {
    seats s;
    cm_tally tally = {0, 0};
    int64_t moves = 0;
    open_seats(&s, "connect4", 70, 3);
    for (int i = 0; i < 2; i++) expect_status(cm_player_random(&s.env, &s.config.players[i]));
    s.config.tally = &tally;
    const cm_games *games = play(&s, 8, 2);
    for (int i = 0; i < 70; i++) moves += games->length[i] - games->opening[i];
    ck_assert_int_eq(cm_tally_read(&tally).games, 70);
    ck_assert_int_eq(cm_tally_read(&tally).moves, moves);
    close_seats(&s);
}
END_TEST

START_TEST(parts_of_a_match_are_its_games) {
    seats all;
    open_seats(&all, "connect4", 11, 1);
    seat_lowest_and_random(&all);
    const cm_games *whole = play(&all, 8, 2);
    for (int part = 0; part < 3; part++) {
        seats some;
        open_seats(&some, "connect4", 11, 1);
        some.config.part = part, some.config.parts = 3;
        seat_lowest_and_random(&some);
        const cm_games *own = play(&some, 8, 2);
        ck_assert_int_eq(own->count, part < 2 ? 4 : 3);
        for (int k = 0; k < own->count; k++) {
            const int i = part + 3 * k;
            ck_assert_int_eq(own->theirs[k], whole->theirs[i]);
            ck_assert_int_eq(own->length[k], whole->length[i]);
            ck_assert_double_eq(own->result[k], whole->result[i]);
            ck_assert_mem_eq(moves_of(own, k), moves_of(whole, i), (size_t)own->length[k] * 2);
        }
        close_seats(&some);
    }
    close_seats(&all);
}
END_TEST

START_TEST(another_seed_gives_other_games) {
    seats s;
    open_seats(&s, "tictactoe", 20, 1);
    seat_lowest_and_random(&s);
    int16_t before[9], same = 0;
    memcpy(before, moves_of(play(&s, 1, 0), 1), sizeof before);
    expect_status(cm_match_run(s.match, 20, 2, 0));
    same = memcmp(before, moves_of(cm_match_games(s.match), 1), 4) == 0;
    expect_status(cm_match_run(s.match, 20, 1, 0));
    ck_assert_mem_eq(before, moves_of(cm_match_games(s.match), 1), 4); /* and the first one the first games */
    ck_assert(!same);
    close_seats(&s);
}
END_TEST

START_TEST(both_games_of_a_pair_have_the_same_opening) {
    seats s;
    open_seats(&s, "tictactoe", 60, 2);
    s.config.players[0] = lowest(&s.env);
    s.config.players[1] = lowest(&s.env);
    const cm_games *games = play(&s, 5, 4);
    int different = 0;
    for (int i = 0; i < 60; i += 2) {
        ck_assert_int_eq(games->opening[i], 4);
        ck_assert_int_gt(games->length[i], 4);
        /* players that are equal: the two games are the same, seen from two sides */
        ck_assert_mem_eq(moves_of(games, i), moves_of(games, i + 1), (size_t)games->length[i] * sizeof(int16_t));
        ck_assert_double_eq(games->result[i], -games->result[i + 1]);
        different += i > 0 && memcmp(moves_of(games, i), moves_of(games, 0), 8) != 0;
    }
    ck_assert_int_gt(different, 20);
    close_seats(&s);
}
END_TEST

START_TEST(opening_that_ends_every_game_is_refused) {
    seats s;
    open_seats(&s, "tictactoe", 4, 1);
    seat_lowest_and_random(&s);
    expect_status(cm_match_create(&s.config, &s.match));
    ck_assert_int_eq(cm_match_run(s.match, 4, 0, 9), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "tictactoe: an opening of 9 moves"));
    close_seats(&s);
}
END_TEST

START_TEST(moves_of_games_without_a_bound_are_not_kept) {
    seats s;
    open_seats(&s, "2048", 4, 1);
    ck_assert_int_eq(s.env.spec.max_plies, 0);
    ck_assert_int_eq(cm_match_create(&s.config, &s.match), CM_ERR_INPUT);
    close_seats(&s);
}
END_TEST

START_TEST(score_counts_sides_and_has_the_interval_of_the_mean) {
    double result[6] = {1, -1, 0, 0, 1, 1};
    uint8_t theirs[6] = {0, 1, 0, 1, 0, 1};
    int32_t length[6] = {5, 6, 9, 9, 7, 6};
    cm_games games = {.count = 6, .result = result, .theirs = theirs, .length = length};
    cm_score score;
    cm_games_score(&games, &score);
    ck_assert_int_eq(score.all.wins * 100 + score.all.draws * 10 + score.all.losses, 321);
    ck_assert_int_eq(score.first.games * 1000 + score.first.wins * 100 + score.first.draws * 10, 3210);
    ck_assert_int_eq(score.second.wins * 100 + score.second.draws * 10 + score.second.losses, 111);
    ck_assert_double_eq_tol(score.all.mean, 1.0 / 3.0, 1e-15);
    double deviation = sqrt((3 * 4.0 / 9 + 2 * 1.0 / 9 + 16.0 / 9) / 5);
    ck_assert_double_eq_tol(score.all.high - score.all.mean, 1.96 * deviation / sqrt(6.0), 1e-12);
    ck_assert_double_eq(score.all.mean_length, 7.0);
}
END_TEST

/* Plays a line of a file of games and checks what it says. */
static void replay(const cm_env *env, const char *line, double ours, bool first) {
    cm_json_doc *doc = NULL;
    char state[256];
    double total = 0.0, rewards[2];
    bool ended = false;
    expect_status(cm_json_parse(line, strlen(line), "a game", &doc));
    const cm_json *root = cm_json_root(doc);
    ck_assert_str_eq(cm_json_string(cm_json_get(root, "first")), first ? "agent" : "opponent");
    expect_status(cm_json_doubles(cm_json_get(root, "rewards"), "rewards", 2, rewards));
    cm_env_reset(env, state, 0);
    const cm_json *moves = cm_json_get(root, "moves");
    for (const cm_json *m = cm_json_first(moves); m; m = cm_json_next(m)) {
        cm_env_outcome outcome;
        int mover = cm_env_to_play(env, state);
        ck_assert(!ended);
        expect_status(cm_env_step(env, state, (int)cm_json_number(m, -1.0), &outcome));
        total += mover == 0 ? outcome.reward : -outcome.reward;
        ended = outcome.terminated;
    }
    ck_assert(ended);
    ck_assert_double_eq(rewards[0], total);
    ck_assert_double_eq(rewards[1], -total);
    ck_assert_double_eq(first ? rewards[0] : rewards[1], ours);
    cm_json_free(doc);
}

START_TEST(saved_games_replay_to_their_rewards) {
    seats s;
    char path[CM_TEST_PATH], line[4096];
    cm_test_file_make(path);
    open_seats(&s, "connect4", 30, 2);
    seat_lowest_and_random(&s);
    const cm_games *games = play(&s, 4, 2);
    expect_status(cm_games_save(games, "agent", "opponent", path));
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 30; i++) {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
        replay(&s.env, line, games->result[i], i % 2 == 0);
    }
    ck_assert_ptr_null(fgets(line, sizeof line, file));
    fclose(file);
    close_seats(&s);
}
END_TEST

START_TEST(games_are_not_saved_where_they_cannot_be_written) {
    seats s;
    open_seats(&s, "tictactoe", 2, 1);
    seat_lowest_and_random(&s);
    const cm_games *games = play(&s, 4, 0);
    ck_assert_int_eq(cm_games_save(games, "agent", "opponent", "/nowhere/games.jsonl"), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/nowhere"));
    close_seats(&s);
}
END_TEST

/* A player that asks to stop at its third turn. */
typedef struct stopping_player {
    lowest_player base;
    cm_stop *stop;
    int turns;
} stopping_player;

static cm_status stopping_choose(cm_player *player, const cm_turn *turn) {
    stopping_player *p = (stopping_player *)player;
    if (++p->turns == 3) cm_stop_ask(p->stop);
    return lowest_choose(player, turn);
}

START_TEST(match_that_is_asked_to_stop_makes_no_further_turn) {
    seats s;
    cm_stop stop = {0};
    open_seats(&s, "connect4", 8, 1);
    stopping_player *p = calloc(1, sizeof *p);
    *p = (stopping_player){.base = {.base = {.choose = stopping_choose, .destroy = lowest_destroy}, .env = &s.env},
                           .stop = &stop};
    s.config.players[0] = &p->base.base;
    expect_status(cm_player_random(&s.env, &s.config.players[1]));
    s.config.stop = &stop;
    expect_status(cm_match_create(&s.config, &s.match));
    ck_assert_int_eq(cm_match_run(s.match, 8, 0, 0), CM_ERR_INTERRUPTED);
    ck_assert_int_eq(p->turns, 3);
    stop = (cm_stop){0};
    expect_status(cm_match_run(s.match, 8, 0, 0)); /* and can be played again */
    ck_assert_int_gt(p->turns, 10);
    close_seats(&s);
}
END_TEST

int main(void) {
    const TTest *const tests[] = {we_move_first_in_even_games_and_second_in_odd_ones,
                                  workers_change_no_move_of_a_match,
                                  games_and_moves_are_tallied_on_the_way,
                                  parts_of_a_match_are_its_games,
                                  another_seed_gives_other_games,
                                  both_games_of_a_pair_have_the_same_opening,
                                  opening_that_ends_every_game_is_refused,
                                  moves_of_games_without_a_bound_are_not_kept,
                                  match_that_is_asked_to_stop_makes_no_further_turn,
                                  score_counts_sides_and_has_the_interval_of_the_mean,
                                  saved_games_replay_to_their_rewards,
                                  games_are_not_saved_where_they_cannot_be_written};
    return run_seats("agent/match", tests, (int)(sizeof tests / sizeof *tests));
}
