/* Offline runs: they learn from the games of another run alone. */
#include <check.h>
#include <signal.h>

#include "run/metrics.h"
#include "runs.h"

#define TINY                                                                                                           \
    " --set hidden_dim=32 --set num_simulations=4 --set final_evaluation_episodes=4"                                   \
    " --set batch_size=32 --set replay_ratio=8"                                                                        \
    " --set evaluation_episodes=4 --set evaluation_simulations=4"
/* 64 updates an iteration, an evaluation every 128, a checkpoint every 64 */
#define OFFLINE                                                                                                        \
    TINY " --replay-from old --set collect=false --updates 320 --set checkpoint_updates=64"                            \
         " --set evaluation_interval=512"

enum { UPDATES = 320, ROUND = 64, ITERATIONS = UPDATES / ROUND };

static void expect_refusal(const char *arguments, const char *message) {
    run(arguments);
    cm_program_expect_error(&result, 2, message);
}

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run old --env-steps 1024 --set min_memory_steps=256" TINY);
    expect_ok("train --run off" OFFLINE);
    hash_of("off", reference);
}

static void expect_in(const char *text, const char *part) {
    ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text);
}

START_TEST(what_is_said_goes_by_updates) {
    static const char *const parts[] = {"\nuntil     320 updates\n",           "it 1  64 updates ",
                                        "\nevaluated after 128 updates: ",     "\nevaluated after 256 updates: ",
                                        "\nlimit reached after 320 updates, ", "train --resume said --updates 640\n"};
    expect_ok("train --run said --set log_interval=0.001" OFFLINE);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) expect_in(result.out, parts[i]);
    ck_assert_ptr_null(strstr(result.out, " steps/s"));
    ck_assert_ptr_null(strstr(result.out, "  acting "));
    ck_assert_str_eq(result.err, "");
    expect_reference("said");
}
END_TEST

START_TEST(only_old_games_are_learnt_from) {
    char path[160];
    cm_metrics *rows;
    int count;
    snprintf(path, sizeof path, "%s/off/metrics.jsonl", cm_test_folder);
    ck_assert_int_eq(cm_metrics_read(path, &rows, &count), CM_OK);
    ck_assert_int_eq(count, ITERATIONS);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(rows[i].env_steps + rows[i].episodes, 0);
        ck_assert_int_eq(rows[i].updates, (i + 1) * ROUND);
        ck_assert_double_eq(rows[i].replay_fill, rows[0].replay_fill);
        ck_assert(rows[i].policy_drift > 0.0); /* reanalysed */
    }
    ck_assert(rows[count - 1].total_loss < 0.9 * rows[0].total_loss);
    free(rows);
    snprintf(path, sizeof path, "%s/off/latest/environments.bin", cm_test_folder);
    ck_assert(!cm_file_exists(path));
}
END_TEST

START_TEST(threads_prefetch_and_overlap_change_no_parameter) {
    static const char *const ways[] = {"--threads 1", "--threads 3 --set prefetch_threads=3", "--set prefetch_depth=0",
                                       "--set overlap=on"};
    char line[512], dir[32];
    snprintf(dir, sizeof dir, "way-%d", _i);
    snprintf(line, sizeof line, "train --quiet --run %s %s" OFFLINE, dir, ways[_i]);
    expect_ok(line);
    expect_reference(dir);
}
END_TEST

/* Wherever the kill falls: before the first checkpoint there is nothing to go on from, which is said. */
START_TEST(killed_run_goes_on_to_the_same_parameters) {
    char line[512], path[160], dir[32];
    snprintf(dir, sizeof dir, "killed-%d", _i);
    snprintf(line, sizeof line, "train --quiet --run %s" OFFLINE, dir);
    pid_t child = cm_program_start(cm_test_folder, line);
    snprintf(path, sizeof path, "%s/%s/latest/manifest.json", cm_test_folder, dir);
    for (int i = 0; i < 20000 && !cm_file_exists(path); i++) usleep(1000);
    usleep(60000 * (unsigned)_i);
    kill(child, SIGKILL);
    cm_program_wait(child);
    snprintf(line, sizeof line, "train --quiet --resume %s", dir);
    expect_ok(line);
    expect_reference(dir);
}
END_TEST

START_TEST(a_longer_run_goes_on_from_a_shorter_one) {
    char whole[64], parts[64];
    expect_ok("train --quiet --run whole --set schedule=constant" OFFLINE);
    expect_ok("train --quiet --run parts --set schedule=constant" OFFLINE " --updates 130");
    expect_ok("train --quiet --resume parts --updates 320");
    hash_of("whole", whole);
    hash_of("parts", parts);
    ck_assert_str_ne(whole, parts); /* its iterations end elsewhere: at 130, 194, ... */
    expect_ok("train --quiet --run even --set schedule=constant" OFFLINE " --updates 128");
    expect_ok("train --quiet --resume even --updates 320");
    hash_of("even", parts);
    ck_assert_str_eq(whole, parts);
}
END_TEST

START_TEST(its_curve_is_that_of_evaluations_over_updates) {
    double first, second;
    expect_ok("plot off --table");
    ck_assert_msg(sscanf(result.out, "| updates | greedy evaluation |\n|---|---|\n| 128 | %lf |\n| 256 | %lf |\n",
                         &first, &second) == 2,
                  "%s", result.out);
    expect_ok("plot off --over iteration --table");
    expect_in(result.out, "| iteration | greedy evaluation |\n|---|---|\n| 2 |");
    expect_ok("plot off old --metric value_loss --table");
    expect_in(result.out, "| updates | off | old |\n");
}
END_TEST

START_TEST(without_evaluations_its_curve_is_that_of_the_loss) {
    expect_ok("train --quiet --run unseen" OFFLINE " --updates 64 --set evaluation_interval=0");
    expect_ok("plot unseen --table");
    expect_in(result.out, "| updates | total_loss |\n|---|---|\n| 64 |");
    expect_ok("plot unseen off --table"); /* evaluations of those that have some */
    expect_in(result.out, "| updates | unseen | off |\n|---|---|---|\n| 128 | - |");
}
END_TEST

START_TEST(a_policy_that_searches_by_rules_learns_the_stored_targets) {
#define GAME TINY " --config default --set env_name=tictactoe --set policy=alphazero --set num_unroll_steps=0"
    expect_ok("train --quiet --run games --env-steps 1024" GAME);
    expect_ok("train --quiet --run stored --replay-from games --set collect=false --updates 64" GAME);
    run("plot stored --metric policy_drift --table");
    ck_assert_int_ne(result.status, 0);
    expect_refusal(
        "train --quiet --run no --replay-from games --set collect=false --set reanalyse_ratio=1 --updates 64" GAME,
        "Self-Play.reanalyse_ratio: policy alphazero");
}
END_TEST

START_TEST(what_cannot_be_learnt_from_is_refused_in_one_line) {
    expect_refusal("train --quiet --run no --set collect=false --updates 9",
                   "begin with those of a run, --replay-from DIR");
    expect_refusal("train --quiet --run no --replay-from old --set collect=false",
                   "--set: Self-Play.collect: no steps end an offline run: set updates or time_limit");
    expect_refusal("train --quiet --run no --replay-from old --set collect=false --env-steps 64",
                   "--env-steps: Training.env_steps: the run is offline");
    expect_refusal("train --quiet --resume off --set collect=true", "Self-Play.collect cannot change on resume");
    expect_refusal("train --quiet --resume off --env-steps 64", "--env-steps: Training.env_steps: the run is offline");
}
END_TEST

/* Those that a file sets for acting are passed over. */
START_TEST(keys_of_acting_that_are_given_with_it_are_warned_of) {
    expect_ok("train --quiet --run warned --set temperature=0.5 --set overlap=on" OFFLINE " --updates 1");
    expect_in(result.err, "--set: Self-Play.temperature has no effect: the run is offline (collect is false)");
    expect_in(result.err, "--set: Training.overlap has no effect: the run is offline (collect is false)");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/offline");
    TCase *tests = tcase_create("offline");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, what_is_said_goes_by_updates);
    tcase_add_test(tests, only_old_games_are_learnt_from);
    tcase_add_loop_test(tests, threads_prefetch_and_overlap_change_no_parameter, 0, 4);
    tcase_add_loop_test(tests, killed_run_goes_on_to_the_same_parameters, 0, 4);
    tcase_add_test(tests, a_longer_run_goes_on_from_a_shorter_one);
    tcase_add_test(tests, its_curve_is_that_of_evaluations_over_updates);
    tcase_add_test(tests, without_evaluations_its_curve_is_that_of_the_loss);
    tcase_add_test(tests, a_policy_that_searches_by_rules_learns_the_stored_targets);
    tcase_add_test(tests, what_cannot_be_learnt_from_is_refused_in_one_line);
    tcase_add_test(tests, keys_of_acting_that_are_given_with_it_are_warned_of);
    return cm_test_main(suite);
}
