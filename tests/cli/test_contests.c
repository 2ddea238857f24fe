/* Opponents and ladders as a user meets them. */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "env/env.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

/* Runs of a second each; how well they play does not matter here. */
#define SMALL                                                                                                          \
    " --set env_steps=512 --set min_memory_steps=256 --set num_simulations=8 --set final_evaluation_episodes=2"        \
    " --set num_envs=16 --set hidden_dim=16 --set head_hidden=16 --set evaluation_simulations=9"

static cm_output result;

static void run(const char *arguments) { cm_program_run(cm_test_folder, arguments, &result); }

static void expect_ok(const char *arguments) {
    run(arguments);
    ck_assert_msg(result.status == 0, "%s: status %d: %s", arguments, result.status, result.err);
}

static void expect_error(const char *arguments, int status, const char *text) {
    run(arguments);
    cm_program_expect_error(&result, status, text);
    ck_assert_str_eq(result.out, "");
}

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run runs/a --seed 1 --config default --set env_name=tictactoe" SMALL);
    expect_ok("train --quiet --run runs/b --seed 2 --config default --set env_name=tictactoe" SMALL);
    expect_ok("train --quiet --run four --config default --set env_name=connect4" SMALL);
    expect_ok("train --quiet --run flip --config default --set env_name=othello" SMALL);
    expect_ok("train --quiet --run pole --set env_name=CartPole-v1" SMALL);
}

/* ---- reading what was printed ---- */

static cm_json_doc *doc;

static const cm_json *printed(void) {
    cm_json_free(doc);
    ck_assert_msg(cm_json_parse(result.out, strlen(result.out), "stdout", &doc) == CM_OK, "%s", cm_error_message());
    return cm_json_root(doc);
}

static double number(const cm_json *object, const char *key) {
    double value = cm_json_number(cm_json_get(object, key), (double)NAN);
    ck_assert_msg(isfinite(value), "%s is missing: %s", key, result.out);
    return value;
}

static void expect_sum(const cm_json *score) {
    ck_assert_double_eq(number(score, "wins") + number(score, "draws") + number(score, "losses"),
                        number(score, "games"));
}

/* ---- eval ---- */

START_TEST(games_are_counted_in_all_and_per_side) {
    expect_ok("eval --run runs/a --opponent mcts:10 --games 30 --json");
    const cm_json *root = printed();
    const cm_json *first = cm_json_get(root, "first"), *second = cm_json_get(root, "second");
    expect_sum(root);
    expect_sum(first);
    expect_sum(second);
    ck_assert_double_eq(number(root, "games"), 30);
    ck_assert_double_eq(number(first, "games"), 15);
    ck_assert_double_eq(number(first, "wins") + number(second, "wins"), number(root, "wins"));
    ck_assert_double_eq_tol(number(root, "mean"), (number(root, "wins") - number(root, "losses")) / 30, 1e-12);
    ck_assert_str_eq(cm_json_string(cm_json_get(root, "opponent")), "mcts:10");
    ck_assert_double_eq(number(root, "simulations"), 9);
    expect_ok("eval --run runs/a --opponent mcts:10 --games 2 --simulations 3 --json");
    ck_assert_double_eq(number(printed(), "simulations"), 3);
}
END_TEST

START_TEST(threads_change_no_game_and_seeds_do) {
    static char one[CM_OUTPUT_BYTES];
    expect_ok("eval --run runs/a --opponent mcts:10 --games 80 --threads 1 --save-games one.jsonl");
    cm_program_file(cm_test_folder, "one.jsonl", one, sizeof one);
    expect_ok("eval --run runs/a --opponent mcts:10 --games 80 --threads 3 --save-games two.jsonl");
    cm_program_file(cm_test_folder, "two.jsonl", result.out, sizeof result.out);
    ck_assert_str_eq(one, result.out);
    expect_ok("eval --run runs/a --opponent mcts:10 --games 80 --seed 5 --save-games two.jsonl");
    cm_program_file(cm_test_folder, "two.jsonl", result.out, sizeof result.out);
    ck_assert_str_ne(one, result.out);
}
END_TEST

START_TEST(random_opponent_is_that_of_plain_evaluation) {
    expect_ok("eval --run runs/a --episodes 40 --seed 6 --json");
    double mean = number(printed(), "mean");
    expect_ok("eval --run runs/a --opponent random --games 40 --seed 6 --json");
    ck_assert_double_eq(number(printed(), "mean"), mean);
    expect_ok("eval --run runs/a --games 40 --seed 6 --json");
    ck_assert_double_eq(number(printed(), "mean"), mean);
}
END_TEST

START_TEST(run_against_itself_wins_as_often_as_it_loses) {
    expect_ok("eval --run runs/a --opponent runs/a --games 40 --json");
    const cm_json *root = printed();
    ck_assert_double_eq(number(root, "wins"), number(root, "losses"));
    ck_assert_double_eq(number(root, "opening"), 2); /* a quarter of nine moves */
    ck_assert_double_gt(number(root, "wins"), 0);
}
END_TEST

START_TEST(perfect_opponent_is_never_beaten_and_scores_moves) {
    expect_ok("eval --run runs/a --opponent perfect --games 60 --json");
    const cm_json *root = printed(), *kept = cm_json_get(root, "value_kept");
    ck_assert_double_eq(number(root, "wins"), 0);
    double moves = 0, choices = 0;
    int phases = 0, ply = 0;
    for (const cm_json *p = cm_json_first(cm_json_get(kept, "phases")); p; p = cm_json_next(p), phases++) {
        ck_assert_double_eq(number(p, "first_ply"), ply);
        ply = (int)number(p, "last_ply") + 1;
        moves += number(p, "moves"), choices += number(p, "choices");
        ck_assert_double_eq_tol(number(p, "share"), number(p, "kept") / number(p, "moves"), 1e-12);
    }
    ck_assert_int_eq(phases, 3);
    ck_assert_int_eq(ply, 9);
    ck_assert_double_eq(number(kept, "moves"), moves);
    ck_assert_double_eq(number(kept, "choices"), choices);
    /* a move that keeps less was a choice; every lost game has one, for each side draws at the start */
    ck_assert_double_eq(moves - number(kept, "kept"), choices - number(kept, "kept_choices"));
    ck_assert_double_ge(moves - number(kept, "kept"), number(root, "losses"));
}
END_TEST

/* Lines such as "12 of 60 games, 230 moves, 0s", and nothing else. */
static void expect_progress(const char *what) {
    char *rest = result.err;
    ck_assert_msg(*rest != '\0', "nothing was said: %s", what);
    for (char *line = strtok_r(rest, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        int64_t now, total;
        ck_assert_msg(sscanf(line, "%" SCNd64 " of %" SCNd64, &now, &total) == 2 && now <= total, "%s", line);
        ck_assert_msg(strstr(line, what) != NULL, "%s: %s", what, line);
    }
}

START_TEST(long_play_says_on_stderr_how_far_it_is) {
    expect_ok("eval --run runs/a --opponent mcts:20 --games 2000 --json --set log_interval=0.002");
    ck_assert_double_eq(number(printed(), "games"), 2000);
    expect_progress(" of 2000 games, ");
    expect_ok("eval --run runs/a --opponent perfect --games 2000 --set log_interval=0.002");
    expect_progress(" of 2000 games");
    expect_ok("eval --run pole --episodes 2000 --set log_interval=0.002");
    ck_assert_ptr_nonnull(strstr(result.out, "2000 greedy episodes"));
    expect_progress(" of 2000 episodes, ");
    expect_ok("ladder runs/a runs/b --include random --games 400 --set log_interval=0.002");
    expect_progress(" of 1200 games, ");
    expect_ok("eval --run runs/a --opponent all --simulations 1000 --set log_interval=0.002");
    ck_assert_msg(strstr(result.err, " lines at their end, ") && strstr(result.err, " moves chosen, "), "%s",
                  result.err);
    expect_ok("eval --run runs/a --opponent random --games 4"); /* done before there is anything to say */
    ck_assert_str_eq(result.err, "");
}
END_TEST

START_TEST(every_reply_is_followed_with_the_simulations_asked_for) {
    expect_ok("eval --run runs/a --opponent all --simulations 25 --json");
    const cm_json *root = printed(), *line = cm_json_get(root, "lost_line");
    expect_sum(root);
    ck_assert_double_eq(number(root, "simulations"), 25);
    ck_assert(number(root, "losses") > 0 ? cm_json_size(line) >= 5 : cm_json_type(line) == CM_JSON_NULL);
    ck_assert_double_ge(number(cm_json_get(root, "second"), "games"), 9 * 7);
    double losses = number(root, "losses");
    expect_ok("eval --run runs/a --opponent all --simulations 25");
    ck_assert_ptr_nonnull(strstr(result.out, losses > 0 ? "can be beaten: " : "never loses: "));
    ck_assert_ptr_nonnull(strstr(result.out, "every reply sequence"));
}
END_TEST

/* ---- eval --positions ---- */

#define CONNECT4 CM_TEST_CASES "/../data/connect4.jsonl"

START_TEST(solved_positions_are_counted_by_phase_and_source) {
    expect_ok("eval --run four --positions " CONNECT4 " --simulations 4 --json");
    const cm_json *root = printed();
    double positions = 0, kept = 0, low_high[2];
    int ply = 0;
    for (const cm_json *p = cm_json_first(cm_json_get(root, "phases")); p; p = cm_json_next(p)) {
        ck_assert_double_eq(number(p, "first_ply"), ply);
        ply = (int)number(p, "last_ply") + 1;
        positions += number(p, "positions"), kept += number(p, "kept");
    }
    ck_assert_int_eq(ply, 42);
    ck_assert_double_eq(positions, 1000);
    ck_assert_double_eq(number(root, "kept"), kept);
    ck_assert_double_eq(number(root, "share"), kept / 1000);
    ck_assert_double_gt(kept, 250); /* uniform moves keep some 400 */
    const cm_json *sources = cm_json_get(root, "sources");
    const cm_json *random = cm_json_get(sources, "random"), *games = cm_json_get(sources, "games");
    ck_assert_double_eq(number(random, "positions"), 500);
    ck_assert_double_eq(number(random, "kept") + number(games, "kept"), kept);
    ck_assert_int_eq(cm_json_doubles(cm_json_get(root, "ci95"), "ci95", 2, low_high), CM_OK);
    ck_assert(low_high[0] < kept / 1000 && kept / 1000 < low_high[1] && low_high[1] - low_high[0] < 0.063);
    ck_assert_double_eq(number(root, "simulations"), 4);
}
END_TEST

START_TEST(solved_positions_as_text_have_the_same_shares) {
    char share[32];
    expect_ok("eval --run four --positions " CONNECT4 " --simulations 4 --json --threads 1");
    snprintf(share, sizeof share, " 1000 %6.1f%%\n", 100.0 * number(printed(), "share"));
    expect_ok("eval --run four --positions " CONNECT4 " --simulations 4 --threads 3");
    ck_assert_msg(strstr(result.out, share) != NULL, "%s has no %s", result.out, share);
    ck_assert_ptr_nonnull(strstr(result.out, "\n14-27 "));
    ck_assert_ptr_nonnull(strstr(result.out, "\nfrom games "));
}
END_TEST

START_TEST(positions_that_cannot_be_scored_are_one_clear_line) {
    expect_error("eval --run runs/a --positions " CONNECT4, 2, ":1: positions of connect4, and not of tictactoe");
    expect_error("eval --run four --positions nowhere.jsonl", 2, "--positions: nowhere.jsonl: cannot open");
    expect_error("eval --run four --games 2 --positions " CONNECT4, 2, "--games is about games");
    expect_error("eval --run four --seed 2 --positions " CONNECT4, 2, "--seed is about games");
}
END_TEST

/* Plays one line of a file of games. */
static void replay(const cm_env *env, const char *line, int i) {
    cm_json_doc *game = NULL;
    char state[256];
    double rewards[2], total = 0.0;
    ck_assert_msg(cm_json_parse(line, strlen(line), "a game", &game) == CM_OK, "%s: %s", cm_error_message(), line);
    const cm_json *root = cm_json_root(game), *moves = cm_json_get(root, "moves");
    ck_assert_str_eq(cm_json_string(cm_json_get(root, "first")), i % 2 == 0 ? "agent" : "opponent");
    ck_assert_int_eq(cm_json_doubles(cm_json_get(root, "rewards"), "rewards", 2, rewards), CM_OK);
    cm_env_reset(env, state, 0);
    for (const cm_json *m = cm_json_first(moves); m; m = cm_json_next(m)) {
        cm_env_outcome outcome;
        int mover = cm_env_to_play(env, state);
        ck_assert_msg(cm_env_step(env, state, (int)cm_json_number(m, -1.0), &outcome) == CM_OK, "%s", line);
        total += mover == 0 ? outcome.reward : -outcome.reward;
    }
    ck_assert(cm_env_ended(state));
    ck_assert_double_eq(rewards[0], total);
    ck_assert_double_eq(rewards[1], -total);
    cm_json_free(game);
}

START_TEST(saved_games_replay_legally_to_their_rewards) {
    static const char *const opponents[] = {"mcts:20", "random", "perfect", "runs/b"};
    static char text[CM_OUTPUT_BYTES];
    char arguments[256];
    cm_env env;
    int lines = 0;
    ck_assert_int_eq(cm_env_open(&env, "tictactoe", NULL), CM_OK);
    snprintf(arguments, sizeof arguments, "eval --run runs/a --opponent %s --games 26 --save-games g.jsonl",
             opponents[_i]);
    expect_ok(arguments);
    cm_program_file(cm_test_folder, "g.jsonl", text, sizeof text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) replay(&env, line, lines++);
    ck_assert_int_eq(lines, 26);
}
END_TEST

static int characters(const char *text) {
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

START_TEST(plain_output_has_no_colours_and_lines_below_80_columns) {
    static const char *const commands[] = {"eval --run runs/a --opponent perfect --games 10",
                                           "eval --run runs/a --opponent all",
                                           "ladder runs --include random --games 4"};
    for (int c = 0; c < 3; c++) {
        expect_ok(commands[c]);
        ck_assert_ptr_null(strchr(result.out, '\033'));
        ck_assert_ptr_null(strchr(result.out, '\r'));
        for (char *line = strtok(result.out, "\n"); line; line = strtok(NULL, "\n")) {
            ck_assert_msg(characters(line) < 80, "%s", line);
        }
    }
}
END_TEST

/* A pole that is not balanced falls after some twenty steps. */
START_TEST(random_play_of_one_player_is_set_against_the_agent) {
    double random = 0.0, agent = 0.0, own = 0.0, apart = 0.0;
    char way[16];
    expect_ok("eval --run pole --opponent random --episodes 50 --seed 3");
    const char *line = strstr(result.out, "\nrandom play: ");
    ck_assert_msg(line && sscanf(strstr(result.out, "mean return "), "mean return %lf", &own) == 1, "%s", result.out);
    ck_assert_msg(sscanf(line, "\nrandom play: mean return %lf,", &random) == 1, "%s", line);
    ck_assert_int_eq(sscanf(strstr(line, "; the agent: "), "; the agent: %lf, %lf %15s", &agent, &apart, way), 3);
    ck_assert(random > 15.0 && random < 32.0);
    ck_assert(own == agent && fabs(fabs(own - random) - apart) < 0.011);
    ck_assert_str_eq(way, own < random ? "lower" : "higher");
    expect_ok("eval --run pole --opponent random --episodes 50 --seed 3 --threads 1 --json");
    const cm_json *about = cm_json_get(printed(), "random");
    ck_assert_double_eq_tol(cm_json_number(cm_json_get(about, "mean"), 0.0), random, 0.006);
    ck_assert_double_eq_tol(cm_json_number(cm_json_get(cm_json_root(doc), "mean"), 0.0), own, 0.006);
    expect_error("eval --run pole --opponent random --games 4", 2, "games of two players, CartPole-v1 has one");
}
END_TEST

static const struct wrong_case {
    const char *arguments;
    int status;
    const char *says;
} wrongs[] = {
    {"eval --run runs/a --opponent perfct", 2,
     "\"perfct\" is neither random, perfect, mcts:N, all nor the folder of a run"},
    {"eval --run runs/a --opponent catch", 2, "--opponent: catch: there is no such run; cumind train catch makes one"},
    {"eval --run runs/a --opponent mcts:0", 2, "--opponent: mcts: needs a number of rollouts"},
    {"eval --run runs/a --opponent random --games 7", 2, "--games: must be even"},
    {"eval --run runs/a --opponent random --games 0", 2, "--games"},
    {"eval --run runs/a --opponent random --episodes 8", 2, "--games N, not --episodes"},
    {"eval --run runs/a --opponent random --opening 9", 2, "an opening of 9 moves"},
    {"eval --run runs/a --opponent all --games 8", 2, "leave out --games"},
    {"eval --run runs/a --opponent random --save-games nowhere/g.jsonl", 1, "--save-games: nowhere/g.jsonl"},
    {"eval --run runs/a --opponent four", 2, "runs/a plays tictactoe, four plays connect4"},
    {"eval --run four --opponent all", 2, "more than 10000 lines"},
    {"eval --run flip --opponent perfect", 2,
     "perfect: othello: has no exact solver; tictactoe, connect4 and hex up to 4 x 4 have one"},
    {"eval --run pole --opponent mcts:8", 2, "games of two players, CartPole-v1 has one"},
    {"ladder flip --include perfect", 2, "perfect: othello: has no exact solver"},
    {"ladder", 2, "needs the folders of runs"},
    {"ladder runs/a", 2, "two players at least"},
    {"ladder runs/a runs/a", 2, "runs/a is named twice"},
    {"ladder runs/a nowhere", 2, "nowhere is no run and holds none"},
    {"ladder runs/a four", 2, "runs/a plays tictactoe, four plays connect4"},
    {"ladder pole --include random", 2, "CartPole-v1 has one"},
    {"ladder runs --include perfct", 2, "--include: \"perfct\" is neither"},
    {"ladder runs --svg nowhere/l.svg --games 2", 1, "nowhere/l.svg"},
};

START_TEST(wrong_contests_are_one_line) { expect_error(wrongs[_i].arguments, wrongs[_i].status, wrongs[_i].says); }
END_TEST

/* ---- ladder ---- */

START_TEST(ladder_rates_every_run_below_a_folder) {
    expect_ok("ladder runs --include random --include perfect --games 20 --json --svg ladder.svg");
    const cm_json *root = printed(), *players = cm_json_get(root, "players");
    double sum = 0, before = INFINITY;
    ck_assert_int_eq(cm_json_size(players), 4);
    ck_assert_int_eq(cm_json_size(cm_json_get(root, "pairs")), 6);
    for (const cm_json *p = cm_json_first(players); p; p = cm_json_next(p)) {
        double interval[2];
        expect_sum(p);
        ck_assert_double_eq(number(p, "games"), 60);
        ck_assert_double_le(number(p, "elo"), before);
        before = number(p, "elo");
        sum += before;
        ck_assert_int_eq(cm_json_doubles(cm_json_get(p, "ci95"), "ci95", 2, interval), CM_OK);
        ck_assert(interval[0] < before && before < interval[1]);
    }
    ck_assert_double_eq_tol(sum, 0.0, 1e-6);
    cm_program_file(cm_test_folder, "ladder.svg", result.out, sizeof result.out);
    ck_assert_ptr_nonnull(strstr(result.out, ">runs/a</text>"));
    ck_assert_ptr_nonnull(strstr(result.out, "<circle"));
}
END_TEST

/* Without the program that makes it. */
START_TEST(a_ladder_whose_picture_fails_has_printed_its_ratings) {
    char before[4096];
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    cm_program_run(cm_test_folder, "ladder runs/a --include random --games 2 --json --png ladder.png", &result);
    setenv("PATH", before, 1);
    ck_assert_int_ne(result.status, 0);
    ck_assert_msg(strstr(result.err, "rsvg-convert") != NULL, "%s", result.err);
    ck_assert_msg(strstr(result.out, "\"elo\": ") != NULL, "%s", result.out);
}
END_TEST

START_TEST(ladder_prints_pairs_table_and_plot) {
    expect_ok("ladder runs/a runs/b --include random --games 6");
    ck_assert_ptr_nonnull(strstr(result.out, "runs/a - runs/b: "));
    ck_assert_ptr_nonnull(strstr(result.out, "runs/b - random: "));
    ck_assert_ptr_nonnull(strstr(result.out, "tictactoe, 6 games a pair, openings of 2 random moves"));
    ck_assert_ptr_nonnull(strstr(result.out, "  3 "));
    ck_assert_ptr_nonnull(strstr(result.out, "Elo with 95 % intervals"));
}
END_TEST

/* ---- Ctrl-C ---- */

static const struct broken {
    const char *arguments, *said, *printed; /* said: where in a line the number of what is done ends */
    long enough;                            /* is done, then it is interrupted */
} brokens[] = {
    {"eval --run pole --episodes 1000000", " of 1000000 episodes", " greedy episodes after ", 2000},
    {"eval --run runs/a --opponent random --games 1000000", " of 1000000 games", " games against random", 2000},
    {"ladder runs/a --include random --games 1000000", " of 1000000 games", "runs/a - random: ", 2000},
    {"eval --run runs/a --opponent all --simulations 4000", " lines", " lines, not every reply sequence", 1},
    {"eval --run four --positions " CONNECT4 " --simulations 4000", " of 1000 positions", " solved positions of ", 1},
};
enum { BROKENS = sizeof brokens / sizeof *brokens };

/* The largest number in front of `part` in the text; 0: none. */
static long number_before(const char *text, const char *part) {
    long most = 0;
    for (const char *at = text; (at = strstr(at, part)); at++) {
        const char *digits = at;
        while (digits > text && digits[-1] >= '0' && digits[-1] <= '9') digits--;
        const long value = strtol(digits, NULL, 10);
        most = value > most ? value : most;
    }
    return most;
}

START_TEST(what_an_interrupt_has_left_is_printed) {
    const struct broken *b = &brokens[_i];
    char command[256], line[64];
    snprintf(command, sizeof command, "%s --set log_interval=0.02", b->arguments);
    const pid_t child = cm_program_start(cm_test_folder, command);
    for (int i = 0; i < 20000 && number_before(result.err, b->said) < b->enough; i++) {
        usleep(1000);
        cm_program_file(cm_test_folder, "err.txt", result.err, sizeof result.err);
    }
    kill(child, SIGINT);
    ck_assert_int_eq(cm_program_wait(child), 130);
    cm_program_file(cm_test_folder, "err.txt", result.err, sizeof result.err);
    cm_program_file(cm_test_folder, "out.txt", result.out, sizeof result.out);
    const char *said = strstr(result.err, "interrupted after ");
    ck_assert_msg(said && strstr(said, b->said), "%s", result.err);
    const long done = number_before(said, b->said);
    ck_assert_int_ge(done, 1);
    ck_assert_int_lt(done, 1000000);
    snprintf(line, sizeof line, "%ld", done);
    ck_assert_msg(strstr(result.out, b->printed) != NULL, "%s", result.out);
    if (strstr(b->arguments, "eval")) ck_assert_ptr_eq(strstr(result.out, line), result.out);
    result.err[0] = '\0';
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/contests");
    TCase *tests = tcase_create("contests");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, games_are_counted_in_all_and_per_side);
    tcase_add_test(tests, threads_change_no_game_and_seeds_do);
    tcase_add_test(tests, random_opponent_is_that_of_plain_evaluation);
    tcase_add_test(tests, run_against_itself_wins_as_often_as_it_loses);
    tcase_add_test(tests, perfect_opponent_is_never_beaten_and_scores_moves);
    tcase_add_test(tests, solved_positions_are_counted_by_phase_and_source);
    tcase_add_test(tests, solved_positions_as_text_have_the_same_shares);
    tcase_add_test(tests, positions_that_cannot_be_scored_are_one_clear_line);
    tcase_add_test(tests, long_play_says_on_stderr_how_far_it_is);
    tcase_add_test(tests, every_reply_is_followed_with_the_simulations_asked_for);
    tcase_add_loop_test(tests, saved_games_replay_legally_to_their_rewards, 0, 4);
    tcase_add_test(tests, plain_output_has_no_colours_and_lines_below_80_columns);
    tcase_add_loop_test(tests, wrong_contests_are_one_line, 0, (int)(sizeof wrongs / sizeof *wrongs));
    tcase_add_test(tests, ladder_rates_every_run_below_a_folder);
    tcase_add_test(tests, ladder_prints_pairs_table_and_plot);
    tcase_add_test(tests, a_ladder_whose_picture_fails_has_printed_its_ratings);
    tcase_add_loop_test(tests, what_an_interrupt_has_left_is_printed, 0, BROKENS);
    tcase_add_test(tests, random_play_of_one_player_is_set_against_the_agent);
    return cm_test_main(suite);
}
