/* cumind report: which runs it is of, what it says of the others, and its forms. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

static cm_output result;

static void write_file(const char *run, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", cm_test_folder, run, name);
    ck_assert_msg(cm_file_write(path, text, strlen(text)) == CM_OK, "%s", cm_error_message());
}

/* A run of `env_name` with further keys of its configuration; `score` NULL: one that has not finished. */
static void write_run(const char *run, const char *env_name, const char *keys, const char *score) {
    char text[512];
    snprintf(text, sizeof text, "%s/%s", cm_test_folder, run);
    ck_assert_int_eq(cm_directory_make(text), CM_OK);
    snprintf(text, sizeof text, "{\"Environment\": {\"env_name\": \"%s\"}%s}\n", env_name, keys);
    write_file(run, "config.json", text);
    write_file(run, "lock", "");
    if (!score) return;
    snprintf(text, sizeof text, "{\"end\": \"limit\", \"updates\": 7, \"env_steps\": 100000, \"episodes\": 32, %s}\n",
             score);
    write_file(run, "result.json", text);
}

static void begin_all(void) {
    cm_test_folder_make();
    write_run("two/b1", "minatar_breakout", ", \"Other\": {\"seed\": 1}", "\"mean\": 10, \"std\": 2");
    write_run("two/b2", "minatar_breakout", ", \"Other\": {\"seed\": 2}", "\"mean\": 19.5");
    write_run("two/f1", "minatar_freeway", ", \"Self-Play\": {\"discount\": 0.9}", "\"mean\": 0.1");
    write_run("two/f2", "minatar_freeway", ", \"Self-Play\": {\"discount\": 0.9}", "\"mean\": 50");
    write_run("odd/going", "minatar_breakout", "", NULL);
    write_run("odd/other", "catch", "", "\"mean\": 1");
    write_run("odd/unjudged", "minatar_breakout", "", "\"seconds\": 1");
    write_run("odd/torn", "minatar_breakout", "", "\"mean\"");
    write_run("odd/unread", "minatar_breakout", ", \"MCTS\": {\"policy\": 3}", "\"mean\": 1");
    write_run("recipes/1", "minatar_breakout", "", "\"mean\": 1");
    write_run("recipes/2", "minatar_breakout", ", \"Training\": {\"batch_size\": 64}", "\"mean\": 1");
    write_run("recipes/3", "minatar_breakout", ", \"Device\": {\"threads\": 2}", "\"mean\": 1");
    write_run("pong", "gymnasium:ale_py:ALE/Pong-v5", "", "\"mean\": -3.05");
}

static void report(const char *arguments) {
    cm_program_run(cm_test_folder, arguments, &result);
    ck_assert_msg(result.status == 0, "%s: status %d: %s", arguments, result.status, result.err);
}

static void expect(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in: %s", part, text);
}

/* Normalised: (10 - 0.5) / (10 - 0.5) = 1 and (19.5 - 0.5) / 9.5 = 2; 0 and 1. */
START_TEST(a_table_has_the_games_next_to_published_scores) {
    report("report minatar two --resamples 1000");
    expect(result.out, "\n4 runs of 2 of 5 games.\n");
    expect(result.out, "\n| Breakout | 2 | 100k | 64 | 14.75 ± 6.72 | 1.500 | 0.5 | 10 | 17.5 | 28 | 50 |\n");
    expect(result.out, "\n| Freeway | 2 | 100k | 64 | 25.05 ± 35.28 | 0.500 | 0.1 | 50 | 47.5 | 58 | 63.5 |\n");
    expect(result.out, "\n| Seaquest | 0 | - | - | - | - | 0.1 | 20 | 15.5 | - | 54 |\n");
    expect(result.out, "\n| mean | 1.000 [0.500, 1.500] |");
    expect(result.out, "\n| IQM | 1.000 [");
    expect(result.out, "3 of 5 games have no run: Asterix, Seaquest, SpaceInvaders; all aggregates");
    expect(result.out, "\n- games have recipes of their own, which differ in discount\n");
    ck_assert_ptr_null(strstr(result.out, "optimality gap"));
}
END_TEST

/* Of actor-critic over the same two games: (17.5 - 0.5) / 9.5 and 47.4 / 49.9. */
START_TEST(published_aggregates_are_of_the_same_games) {
    report("report minatar two --json");
    expect(result.out, "\"name\": \"actor-critic\"");
    expect(strstr(result.out, "\"name\": \"actor-critic\""), "\"mean\": 1.3696867");
    expect(result.out, "\"games_with_runs\": 2");
    expect(result.out, "\"measure\": \"DQN-normalised score\"");
}
END_TEST

START_TEST(atari_has_an_optimality_gap_and_its_own_games) {
    report("report atari100k pong");
    expect(result.out, "\n| Pong | 1 | 100k | 32 | -3.05 | 0.500 |");
    expect(result.out, "\n| optimality gap (less is better) | 0.500 |");
    expect(result.out, "every game has one run, so that there are no intervals");
    expect(result.out, "- EfficientZero: Ye et al. 2021");
}
END_TEST

#define LEFT_OUT_UNJUDGED                                                                                              \
    "left out: odd/unjudged/result.json: has no final evaluation: final_evaluation_episodes was 0, or the time was "   \
    "over before an episode of it had ended\n"

/* Each of them in one line, as a warning and in the report. */
START_TEST(what_is_left_out_has_a_line_each) {
    static const char *const lines[] = {
        "left out: odd/going: has no result.json: it has not finished (cumind train --resume goes on with it)\n",
        "left out: odd/other: catch is no game of minatar\n", LEFT_OUT_UNJUDGED,
        "left out: odd/torn/result.json:1: ", "left out: odd/unread/config.json:1: MCTS.policy: "};
    report("report minatar odd two");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        expect(result.err, lines[i]);
        expect(result.out, lines[i]);
    }
    expect(result.out, "\n4 runs of 2 of 5 games.\n");
}
END_TEST

START_TEST(runs_of_one_game_with_different_recipes_are_named) {
    report("report minatar recipes");
    expect(result.err, "Breakout: its runs are of different recipes: recipes/2 has batch_size 64 (not 128); recipes/1 "
                       "has the others\n");
    ck_assert_ptr_null(strstr(result.err, "threads"));
}
END_TEST

START_TEST(a_run_that_is_named_twice_counts_once) {
    report("report minatar two ./two two/b1 --resamples 0");
    expect(result.out, "\n4 runs of 2 of 5 games.\n");
    expect(result.out, "\n| mean | 1.000 |");
}
END_TEST

START_TEST(games_with_different_numbers_of_runs_are_told) {
    report("report minatar two/b1 two/f1 two/f2");
    expect(result.out, "games have 1 to 2 runs: in mean, median and gap each game counts alike, in the IQM each run");
    expect(result.out, "games with one run: 1, which a resample does not vary; the intervals are too narrow");
}
END_TEST

START_TEST(the_same_seed_gives_the_same_report) {
    static char first[CM_OUTPUT_BYTES];
    report("report minatar two --json --resamples 100 --seed 5");
    strcpy(first, result.out);
    report("report minatar two --json --resamples 100 --seed 5");
    ck_assert_str_eq(result.out, first);
}
END_TEST

/* Two aggregates' dots more than rows, a small one per run, and one in the legend. */
START_TEST(a_picture_has_a_mark_for_every_run_and_number) {
    static char svg[1 << 16];
    int dots = 0, marks = 0;
    report("report minatar two --plot scores.svg");
    expect(result.err, "report: drawn to scores.svg\n");
    cm_program_file(cm_test_folder, "scores.svg", svg, sizeof svg);
    for (const char *at = svg; (at = strstr(at, "<circle")) != NULL; at++) dots++;
    for (const char *at = svg; (at = strstr(at, "<path class=\"line l2\"")) != NULL; at++) marks++;
    ck_assert_int_eq(dots, 3 + 2 + 4 + 1);
    ck_assert_int_eq(marks, 2 + 2 + 1); /* PPO, 10 M: mean and median of these games, the games, the legend */
    expect(svg, ">Breakout<");
    expect(svg, ">minatar: 4 runs of 2 of 5 games<");
    ck_assert_ptr_null(strstr(svg, "nan"));
}
END_TEST

START_TEST(what_cannot_be_reported_is_refused_in_a_line) {
    static const char *const refusals[][2] = {
        {"report", "report: needs a suite and the folders of runs"},
        {"report minatar", "report: needs the folders of runs, as in cumind report minatar runs/*"},
        {"report minatari two", "there is no suite \"minatari\"; did you mean minatar?"},
        {"report two minatar", "there is no suite \"two\""},
        {"report minatar nowhere", "nowhere"},
        {"report minatar two/b1/lock", "two/b1/lock"},
        {"report atari100k two --resamples 0", "of 4 runs none has a final evaluation of a game of atari100k"},
        {"report minatar two --plot a.gif", "--plot a.gif: must end with .svg or .png"},
        {"report minatar two --resamples x", "--resamples: must be an integer"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        cm_program_run(cm_test_folder, refusals[i][0], &result);
        ck_assert_msg(result.status == 2, "%s: status %d", refusals[i][0], result.status);
        expect(result.err, refusals[i][1]);
        ck_assert_str_eq(result.out, "");
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/report");
    TCase *tests = tcase_create("report");
    suite_add_tcase(suite, tests);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, a_table_has_the_games_next_to_published_scores);
    tcase_add_test(tests, published_aggregates_are_of_the_same_games);
    tcase_add_test(tests, atari_has_an_optimality_gap_and_its_own_games);
    tcase_add_test(tests, what_is_left_out_has_a_line_each);
    tcase_add_test(tests, runs_of_one_game_with_different_recipes_are_named);
    tcase_add_test(tests, a_run_that_is_named_twice_counts_once);
    tcase_add_test(tests, games_with_different_numbers_of_runs_are_told);
    tcase_add_test(tests, the_same_seed_gives_the_same_report);
    tcase_add_test(tests, a_picture_has_a_mark_for_every_run_and_number);
    tcase_add_test(tests, what_cannot_be_reported_is_refused_in_a_line);
    return cm_test_main(suite);
}
