/* Runs that are interrupted, killed, damaged, and gone on with. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "run/metrics.h"
#include "runs.h"

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run ref" SMALL);
    hash_of("ref", reference);
}

/* ---- going on ---- */

START_TEST(killed_run_resumes_to_the_same_parameters) {
    char dir[32], line[512];
    snprintf(dir, sizeof dir, "killed-%d", _i);
    snprintf(line, sizeof line, "train --quiet --run %s%s" SMALL, dir, _i % 2 ? " --set prefetch_depth=0" : "");
    pid_t child = cm_program_start(cm_test_folder, line);
    await_run(dir);
    usleep(40000 * (unsigned)_i);
    kill(child, SIGKILL);
    cm_program_wait(child);
    snprintf(line, sizeof line, "train --quiet --resume %s", dir);
    child = cm_program_start(cm_test_folder, line);
    usleep(30000 + 15000 * (unsigned)_i);
    kill(child, SIGKILL);
    cm_program_wait(child);
    expect_ok(line);
    expect_reference(dir);
}
END_TEST

START_TEST(interrupted_run_saves_says_how_to_go_on_and_does) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
    char text[4096];
    pid_t child = cm_program_start(cm_test_folder, "train --run stopped" SMALL);
    await_run("stopped");
    usleep(40000);
    kill(child, signals[_i]);
    ck_assert_int_eq(cm_program_wait(child), 0);
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_msg(strstr(text, "cumind train --resume stopped") != NULL, "%s", text);
    expect_ok("train --quiet --resume stopped");
    expect_reference("stopped");
    char path[128];
    snprintf(path, sizeof path, "%s/stopped", cm_test_folder);
    ck_assert_int_eq(cm_directory_remove(path), CM_OK);
}
END_TEST

/* As under nohup: what starts a run may want it to outlive the terminal. */
START_TEST(hangup_that_is_ignored_stays_so) {
    void (*before)(int) = signal(SIGHUP, SIG_IGN);
    pid_t child = cm_program_start(cm_test_folder, "train --quiet --run unhung" SMALL);
    signal(SIGHUP, before);
    await_run("unhung");
    kill(child, SIGHUP);
    ck_assert_int_eq(cm_program_wait(child), 0);
    expect_reference("unhung"); /* it was not asked to stop */
}
END_TEST

/* An evaluation of a million episodes would take minutes. */
START_TEST(interrupt_breaks_off_an_evaluation) {
    char text[4096], dir[16], line[512];
    snprintf(dir, sizeof dir, "broken-%d", _i);
    snprintf(line, sizeof line, "train --run %s%s --set evaluation_interval=256 --set evaluation_episodes=1000000", dir,
             SMALL);
    pid_t child = cm_program_start(cm_test_folder, line);
    cm_program_await_handler(child, SIGINT);
    usleep(700000);
    kill(child, _i ? SIGTERM : SIGINT);
    ck_assert_int_eq(cm_program_wait(child), 0);
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_msg(strstr(text, "the evaluation that is due will be made when the run goes on") != NULL, "%s", text);
    ck_assert_msg(strstr(text, "cumind train --resume broken-") != NULL, "%s", text);
    snprintf(line, sizeof line, "train --quiet --resume %s --set evaluation_episodes=4", dir);
    expect_ok(line);
    expect_reference(dir);
}
END_TEST

/* The first move of an exact opponent would take minutes. */
START_TEST(interrupt_breaks_off_an_exact_solver) {
    char text[4096];
    pid_t child =
        cm_program_start(cm_test_folder, "train --run solving" SMALL " --config default --set env_name=connect4"
                                         " --set evaluation_opponent=perfect --set evaluation_interval=256");
    cm_program_await_handler(child, SIGINT);
    usleep(1500000);
    const double before = cm_clock_seconds();
    kill(child, SIGINT);
    ck_assert_int_eq(cm_program_wait(child), 0);
    ck_assert_double_lt(cm_clock_seconds() - before, 5.0);
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_msg(strstr(text, "the evaluation that is due will be made when the run goes on") != NULL, "%s", text);
    expect_ok("train --quiet --resume solving --set evaluation_interval=0 --set final_evaluation_episodes=0");
}
END_TEST

START_TEST(interrupted_eval_is_one_line_and_no_result) {
    char text[4096];
    pid_t child = cm_program_start(cm_test_folder, "eval --run ref --episodes 1000000");
    cm_program_await_handler(child, SIGTERM);
    kill(child, _i ? SIGTERM : SIGINT);
    ck_assert_int_eq(cm_program_wait(child), _i ? 143 : 130);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_str_eq(text, "cumind: eval: interrupted; it has no result\n");
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

/* As from `timeout -s INT`, which sends one to the process and one to its group. */
START_TEST(two_interrupts_at_once_are_one) {
    char text[4096];
    pid_t child = cm_program_start(cm_test_folder, "train --run both" SMALL);
    await_run("both");
    usleep(40000);
    kill(child, SIGINT);
    usleep(2000);
    kill(child, SIGINT);
    ck_assert_int_eq(cm_program_wait(child), 0);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    const char *line = strstr(text, "again to end at once");
    ck_assert_msg(line && !strstr(line + 1, "again to end at once"), "%s", text);
    expect_ok("train --quiet --resume both");
    expect_reference("both");
}
END_TEST

START_TEST(second_interrupt_ends_at_once_and_loses_nothing_saved) {
    pid_t child = cm_program_start(cm_test_folder, "train --quiet --run twice" SMALL);
    await_run("twice");
    usleep(50000);
    kill(child, SIGINT);
    usleep(300000);
    kill(child, SIGINT);
    int status = cm_program_wait(child);
    ck_assert_msg(status == 130 || status == 0, "status %d", status);
    expect_ok("train --quiet --resume twice");
    expect_reference("twice");
}
END_TEST

START_TEST(finished_run_resumes_to_exit_0_and_changes_nothing) {
    expect_ok("train --resume ref");
    ck_assert_ptr_nonnull(strstr(result.out, "finished already"));
    expect_reference("ref");
}
END_TEST

START_TEST(finished_game_run_says_again_how_it_was_won) {
    int won = 0, drawn = 0, lost = 0;
    expect_ok("train --quiet --run won --config default --set env_name=tictactoe" SMALL);
    expect_ok("train --resume won");
    const char *line = strstr(result.out, "against random: ");
    ck_assert_ptr_nonnull(line);
    ck_assert_int_eq(sscanf(line, "against random: %d won, %d drawn, %d lost", &won, &drawn, &lost), 3);
    ck_assert_int_eq(won + drawn + lost, 4);
}
END_TEST

/* No player beats perfect play at TicTacToe; an agent that has just begun wins some games of a random player. */
START_TEST(opponent_of_evaluations_is_chosen) {
    int won = -1, drawn = -1, lost = -1;
    expect_ok("train --run strict" SMALL " --config default --set env_name=tictactoe --set evaluation_opponent=perfect"
              " --set final_evaluation_episodes=20");
    const char *line = strstr(result.out, "against perfect: ");
    ck_assert_ptr_nonnull(line);
    ck_assert_int_eq(sscanf(line, "against perfect: %d won, %d drawn, %d lost", &won, &drawn, &lost), 3);
    ck_assert_int_eq(won, 0);
    ck_assert_int_ge(lost, 1);
}
END_TEST

static void expect_refused(const char *arguments, const char *error) {
    cm_program_run(cm_test_folder, arguments, &result);
    cm_program_expect_error(&result, 2, error);
}

START_TEST(opponent_that_cannot_be_is_refused_in_one_line) {
    expect_refused("train --config default --set env_name=connect4 --set evaluation_opponent=mcts:none",
                   "Evaluation.evaluation_opponent: mcts: needs a number of rollouts");
    expect_refused("train --config default --set env_name=connect4 --set evaluation_opponent=somebody",
                   "\"somebody\" is none of random, mcts:N and perfect");
    expect_refused("train --set evaluation_opponent=mcts:5", "CartPole-v1 is no game of two players");
    cm_program_run(cm_test_folder, "train --run none --set env_name=hex5 --set evaluation_opponent=perfect", &result);
    cm_program_expect_error(&result, 2, "Evaluation.evaluation_opponent: hex5: has no exact solver");
}
END_TEST

START_TEST(run_that_goes_on_is_unfinished_again) {
    char path[128];
    expect_ok("train --quiet --run further" SMALL);
    snprintf(path, sizeof path, "%s/further/result.json", cm_test_folder);
    pid_t child = cm_program_start(cm_test_folder, "train --quiet --resume further --env-steps 100000000");
    for (int i = 0; i < 20000 && cm_file_exists(path); i++) usleep(1000);
    expect_ok("runs further");
    ck_assert_msg(strstr(result.out, "training") != NULL, "%s", result.out);
    kill(child, SIGINT);
    ck_assert_int_eq(cm_program_wait(child), 0);
    expect_ok("runs further");
    ck_assert_msg(strstr(result.out, "unfinished") != NULL, "%s", result.out);
}
END_TEST

/* Any CartPole agent balances for 5 steps. */
START_TEST(reached_goal_is_confirmed_and_ends_the_run_until_more_steps_are_asked_for) {
    char text[8192];
    expect_ok("train --run goal" SMALL " --set stop_at_goal=true --set goal_return=5");
    ck_assert_ptr_nonnull(strstr(result.out, "over 4 greedy episodes: goal\n"));
    ck_assert_ptr_nonnull(strstr(result.out, "the goal is confirmed"));
    ck_assert_ptr_nonnull(strstr(result.out, "goal reached after 512 steps"));
    expect_ok("train --resume goal");
    ck_assert_ptr_nonnull(strstr(result.out, "finished already"));
    expect_ok("train --quiet --resume goal --env-steps 1024");
    cm_program_file(cm_test_folder, "goal/result.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"end\": \"limit\""));
    ck_assert_ptr_nonnull(strstr(text, "\"env_steps\": 1024"));
}
END_TEST

START_TEST(goal_that_the_last_evaluation_reaches_is_what_a_run_ends_with) {
    expect_ok("train --run atlast" SMALL " --set evaluation_interval=5000 --set stop_at_goal=true --set goal_return=5");
    ck_assert_ptr_nonnull(strstr(result.out, "goal reached after 1024 steps"));
}
END_TEST

/* The report is about the checkpoint that `best` points to, and so is eval without --checkpoint. */
START_TEST(best_evaluated_weights_are_what_a_run_ends_with) {
    char text[8192], call[128];
    double mean = 0.0, updates = 0.0, seed = 0.0;
    cm_json_doc *doc = NULL;
    cm_program_file(cm_test_folder, "ref/result.json", text, sizeof text);
    ck_assert_int_eq(cm_json_parse(text, strlen(text), "result.json", &doc), CM_OK);
    mean = cm_json_number(cm_json_get(cm_json_root(doc), "mean"), NAN);
    seed = cm_json_number(cm_json_get(cm_json_root(doc), "seed"), NAN);
    updates = cm_json_number(cm_json_get(cm_json_root(doc), "evaluated_updates"), NAN);
    cm_json_free(doc);
    static const char *const which[] = {"", " --checkpoint best"};
    for (int i = 0; i < 2; i++) {
        snprintf(call, sizeof call, "eval --json --run ref --episodes 4 --seed %.0f%s", seed, which[i]);
        expect_ok(call);
        ck_assert_int_eq(cm_json_parse(result.out, strlen(result.out), "eval", &doc), CM_OK);
        ck_assert_double_eq_tol(cm_json_number(cm_json_get(cm_json_root(doc), "mean"), NAN), mean, 1e-6);
        ck_assert_double_eq(cm_json_number(cm_json_get(cm_json_root(doc), "updates"), NAN), updates);
        cm_json_free(doc);
    }
}
END_TEST

/* As after a kill between the two. */
START_TEST(best_checkpoint_that_was_not_yet_pointed_at_is_known_from_itself) {
    char link[160], target[64] = "";
    expect_ok("train --quiet --run pointed --set keep_checkpoints=9" SMALL);
    snprintf(link, sizeof link, "%s/pointed/best", cm_test_folder);
    ck_assert_int_eq(unlink(link), 0);
    ck_assert_int_eq(symlink("checkpoints/00000064", link), 0);
    expect_ok("train --quiet --resume pointed --checkpoint 0 --overwrite --env-steps 512");
    ck_assert_int_gt(readlink(link, target, sizeof target - 1), 0);
    ck_assert_str_eq(target, "checkpoints/00000000");
}
END_TEST

/* What the folder of a run holds: its names, sizes and links. */
static void content_of(const char *run, char *text, size_t size) {
    char command[256];
    snprintf(command, sizeof command, "cd %s/%s && find . -printf '%%p %%s %%l\n' | sort", cm_test_folder, run);
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    text[fread(text, 1, size - 1, pipe)] = '\0';
    ck_assert_int_eq(pclose(pipe), 0);
}

/* Later checkpoints, the best and lines of metrics are not lost without being asked for. */
START_TEST(an_older_checkpoint_is_gone_on_from_only_where_the_later_ones_may_go) {
    static char before[1 << 14], after[1 << 14];
    expect_ok("train --quiet --run kept --set keep_checkpoints=9" SMALL);
    content_of("kept", before, sizeof before);
    expect_exit("train --quiet --resume kept --checkpoint 64 --env-steps 2048", 2,
                "kept: has checkpoints up to 128; to go on from 64 gives up those behind it, and their lines of "
                "metrics: add --overwrite, or go on in a copy of the folder");
    expect_exit("train --quiet --resume kept --overwrite", 2, "--overwrite: goes together with --checkpoint");
    content_of("kept", after, sizeof after);
    ck_assert_str_eq(before, after);
    expect_ok("train --quiet --resume kept --checkpoint 128 --env-steps 1024");
    expect_ok("train --quiet --resume kept --checkpoint latest --env-steps 1024");
    expect_ok("train --quiet --resume kept --checkpoint 64 --overwrite");
    expect_reference("kept");
}
END_TEST

static double reached(const char *run, const char *key) {
    char path[640];
    cm_json_doc *doc = NULL;
    snprintf(path, sizeof path, "%s/%s/result.json", cm_test_folder, run);
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    const double value = cm_json_number(cm_json_get(cm_json_root(doc), key), NAN);
    cm_json_free(doc);
    return value;
}

#define GOAL " --set stop_at_goal=true --set goal_return=5"

/* Endings: what is given, how it ends, and by what the run is told to go on. */
static const struct {
    const char *given, *end, *flag, *key;
} endings[] = {
    {"", "limit reached", "--env-steps ", "env_steps"},
    {" --updates 40", "limit reached", "--updates ", "updates"},
    {" --updates 40 --env-steps 4096", "limit reached", "--updates ", "updates"},
    {" --set env_steps=0 --set num_episodes=20", "limit reached", "--set num_episodes=", "episodes_played"},
    {" --updates 4000" GOAL " --set evaluation_interval=768", "goal reached", "--updates ", "updates"},
    {" --updates 4000" GOAL " --set evaluation_interval=256", "goal reached", "--env-steps ", "env_steps"},
    {" --env-steps 4096" GOAL " --set evaluation_interval=768", "goal reached", "--env-steps ", "env_steps"},
    {" --set env_steps=0 --set stop_at_goal=false --time 3", "limit reached", "--time ", "env_steps"},
};

START_TEST(advice_of_every_ending_trains_on) {
    char line[512], dir[16], advice[256];
    snprintf(dir, sizeof dir, "ends-%d", _i);
    snprintf(line, sizeof line, "train --run %s" SMALL "%s", dir, endings[_i].given);
    expect_ok(line);
    ck_assert_msg(strstr(result.out, endings[_i].end) != NULL, "%s", result.out);
    ck_assert_ptr_null(strstr(result.err, "has no effect"));
    const double before = reached(dir, endings[_i].key);
    const char *at = strstr(result.out, "train on ");
    ck_assert_ptr_nonnull(at);
    at = strstr(at, "train --resume ");
    snprintf(advice, sizeof advice, "%.*s", (int)strcspn(at, "\n"), at);
    snprintf(line, sizeof line, "train --resume %s %s", dir, endings[_i].flag);
    ck_assert_msg(strncmp(advice, line, strlen(line)) == 0, "%s is not advised: %s", line, advice);
    expect_ok(advice);
    ck_assert_double_gt(reached(dir, endings[_i].key), before);
    if (!strstr(line, "--time")) ck_assert_double_ge(reached(dir, endings[_i].key), 2.0 * before);
}
END_TEST

START_TEST(limits_are_totals_of_the_run) {
    char text[8192];
    expect_ok("train --quiet --run longer" SMALL);
    expect_ok("train --quiet --resume longer --env-steps 1536");
    cm_program_file(cm_test_folder, "longer/result.json", text, sizeof text);
    ck_assert_msg(strstr(text, "\"env_steps\": 1536") != NULL, "%s", text);
}
END_TEST

START_TEST(metrics_of_a_resumed_run_have_no_line_twice) {
    static char text[1 << 16];
    char last = '\0';
    int lines = 0;
    cm_program_file(cm_test_folder, "killed-0/metrics.jsonl", text, sizeof text);
    for (char *c = text; *c; last = *c++) lines += *c == '\n';
    ck_assert_int_eq(last, '\n');
    ck_assert_int_eq(lines, 4);
}
END_TEST

/* Env steps of the rows of metrics with an evaluation, as in " 512 1024"; the count of all rows. */
static int evaluated_steps(const char *run, char out[64]) {
    char path[640];
    cm_metrics *rows;
    int count;
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", cm_test_folder, run);
    ck_assert_msg(cm_metrics_read(path, &rows, &count) == CM_OK, "%s", cm_error_message());
    out[0] = '\0';
    for (int i = 0, used = 0; i < count && used < 50; i++) {
        if (!isfinite(rows[i].eval_return)) continue;
        used += snprintf(out + used, 64 - (size_t)used, " %lld", (long long)rows[i].env_steps);
        ck_assert_double_eq(rows[i].eval_episodes, 4.0);
        ck_assert(isfinite(rows[i].mean_return));
    }
    free(rows);
    return count;
}

/* As a kill leaves it: the last row is in the file, the checkpoint does not know of it, and there is no report. */
static void forget_the_end(const char *run) {
    char path[640];
    snprintf(path, sizeof path, "%s/%s/result.json", cm_test_folder, run);
    ck_assert_int_eq(unlink(path), 0);
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", cm_test_folder, run);
    FILE *file = fopen(path, "a");
    ck_assert_ptr_nonnull(file);
    fputs("{\"env_steps\": 1024, \"mean_return\": 1, \"eval_return\": 1, \"eval_episodes\": 4}\n", file);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(evaluation_at_the_end_of_a_run_stands_once_in_its_metrics) {
    char steps[64];
    static const char *const calls[][2] = {
        {"train --quiet --run ends" SMALL " --set evaluation_interval=5000 --set keep_checkpoints=9", " 1024"},
        {"train --quiet --resume ends", " 1024"},
        {"train --quiet --resume ends", " 1024"},
        {"train --quiet --resume ends --env-steps 1536 --threads 1 --set prefetch_depth=0", " 1024 1536"},
        {"train --quiet --resume ends --checkpoint 64 --overwrite --env-steps 512",
         " 768"}, /* where it has come already */
        {"train --quiet --resume ends --env-steps 1280 --set metrics_interval=7", " 768 1280"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (i == 2) forget_the_end("ends");
        expect_ok(calls[i][0]);
        const int rows = evaluated_steps("ends", steps);
        ck_assert_msg(strcmp(steps, calls[i][1]) == 0, "%s: evaluated at%s", calls[i][0], steps);
        if (i < 3) ck_assert_int_eq(rows, 4); /* it is no row of its own */
    }
}
END_TEST

START_TEST(a_folder_of_a_later_seed_that_is_taken_is_known_before_the_first) {
    char path[640];
    expect_ok("train --quiet --run taken/seed-6 --env-steps 256 --set final_evaluation_episodes=0");
    expect_exit("train --quiet --seeds 5-6 --run taken" SMALL, 2,
                "cumind: taken/seed-6: holds a finished run; leave 6 out of --seeds, or choose another --run\n");
    snprintf(path, sizeof path, "%s/taken/seed-6/result.json", cm_test_folder);
    ck_assert_int_eq(unlink(path), 0);
    expect_exit("train --quiet --seeds 5-6 --run taken" SMALL, 2,
                "taken/seed-6: holds a run already; go on with --resume taken/seed-6, leave 6 out of --seeds");
    expect_exit("inspect --run taken/seed-5", 2, "there is no such run");
}
END_TEST

START_TEST(seeds_do_not_go_into_what_is_a_run) {
    expect_exit("train --quiet --seeds 1 --run ref" SMALL, 2,
                "ref: is a run, and the runs of --seeds go below --run; choose another --run");
    expect_exit("inspect --run ref/seed-1", 2, "there is no such run");
}
END_TEST

/* A report that cannot be read is made again: the checkpoint has all that it takes. */
START_TEST(a_damaged_report_is_named_and_made_again) {
    static const struct {
        const char *text, *says;
    } cases[] = {{"{\n", "damaged/result.json:2: expected a key in double quotes"},
                 {"[1]\n", "must be an object, got an array"},
                 {NULL, "mean: must be a number, got a string"}};
    char path[640], whole[2048], odd[2560];
    expect_ok("train --quiet --run damaged" SMALL);
    snprintf(path, sizeof path, "%s/damaged/result.json", cm_test_folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_program_file(cm_test_folder, "damaged/result.json", whole, sizeof whole);
        char *mean = strstr(whole, "\"mean\": ");
        snprintf(odd, sizeof odd, "%.*s\"mean\": \"high\", \"was\": %s", (int)(mean - whole), whole, mean + 8);
        const char *text = cases[i].text ? cases[i].text : odd;
        ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
        expect_ok("runs damaged");
        cm_program_expect_line(result.err, cases[i].says);
        cm_program_expect_line(result.err, "; train --resume with this run makes it again");
        expect_ok("train --quiet --resume damaged");
        cm_program_expect_line(result.err, cases[i].says);
        cm_program_expect_line(result.err, "; the report is made again");
        expect_reference("damaged");
        expect_ok("runs damaged");
        ck_assert_str_eq(result.err, "");
    }
}
END_TEST

START_TEST(a_report_of_counts_that_are_none_is_made_again) {
    static const char *const counts[] = {"iterations", "episodes", "evaluated_updates", "wins"};
    char path[640], whole[2048], odd[2560], says[128], key[64];
    expect_ok("train --quiet --run counted" SMALL);
    snprintf(path, sizeof path, "%s/counted/result.json", cm_test_folder);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        cm_program_file(cm_test_folder, "counted/result.json", whole, sizeof whole);
        snprintf(key, sizeof key, "\"%s\": ", counts[i]);
        const char *at = strstr(whole, key);
        ck_assert_ptr_nonnull(at);
        at += strlen(key);
        snprintf(odd, sizeof odd, "%.*s1e300%s", (int)(at - whole), whole, at + strspn(at, "0123456789"));
        ck_assert_int_eq(cm_file_write(path, odd, strlen(odd)), CM_OK);
        expect_ok("train --quiet --resume counted");
        snprintf(says, sizeof says, "counted/result.json: %s: must be an integer in [0, ", counts[i]);
        cm_program_expect_line(result.err, says);
        cm_program_expect_line(result.err, "; the report is made again");
        expect_reference("counted");
    }
}
END_TEST

START_TEST(what_is_no_folder_is_not_taken_for_a_new_run) {
    char path[640];
    snprintf(path, sizeof path, "%s/plain", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    expect_exit("train --quiet --run plain", 2, "plain: a run is a folder, this is a file; choose another --run");
    snprintf(path, sizeof path, "%s/loop", cm_test_folder);
    ck_assert_int_eq(symlink("loop", path), 0);
    expect_exit("train --quiet --run loop", 2, "loop: is a link that leads to nothing; choose another --run");
}
END_TEST

START_TEST(refusals_name_what_to_do) {
    expect_exit("train --quiet --run ref", 2, "--resume ref");
    expect_exit("train --quiet --resume ref --set num_simulations=9", 2, "the run has 8, you ask for 9");
    expect_exit("train --quiet --resume ref --checkpoint 3", 2, "has no checkpoint 3");
    expect_exit("eval --run ref --checkpoint first", 2, "must be a number, best or latest, got \"first\"");
    expect_exit("train --quiet --resume ref --run x", 2, "--run belongs to new ones");
    expect_exit("train --quiet --run z --set memory_bytes=1000", 1,
                "Memory.memory_bytes: replay: 1000 bytes cannot hold");
    expect_exit("train --quiet --run z --set memory_bytes=1000", 1, "cannot hold"); /* no folder was left */
    expect_exit("train --quiet --run z --set reset_low=3", 2,
                "CartPole-v1: reset_low (3) must not exceed reset_high (0.05)");
    expect_exit("train --quiet --run z --config default --set env_name=catch --set family=cumind --set conv_channels=0",
                2,
                "cumind: Network architecture.conv_channels: family cumind needs at least 1 for observations of rank "
                "3, got 0\n");
    expect_exit(
        "train --quiet --run z --set family=cumind --set num_blocks=0", 2,
        "cumind: Network architecture.num_blocks: family cumind needs at least 1 for observations that are vectors");
    expect_exit("train --quiet --run z --threads 2 --set memory_limit=3000000", 1, /* the replay alone needs 2.5 MB */
                "Device.memory_limit: the run needs ");
    ck_assert_ptr_nonnull(strstr(result.err, ", 3.0 MB are allowed; most of it is "));
    ck_assert_ptr_null(strstr(result.err, "reanalyse_ratio"));
    expect_exit("train --quiet --run z --threads 2 --set memory_limit=3000000 --set memory_bytes=1000000"
                " --set hidden_dim=16 --set num_simulations=400 --set reanalyse_ratio=1 --set batch_size=64",
                1, "most of it is reanalysis: set reanalyse_ratio to 0, or lower num_simulations, threads or");
    expect_exit("train --quiet --run z --set action_encoding=board", 2,
                "cumind: Network architecture.action_encoding: \"board\" is for family resnet");
    expect_exit(
        "train --quiet --run z --set family=resnet", 2,
        "cumind: Network architecture.family: resnet needs observations of rank 3, these have rank 1; use mlp or "
        "cumind\n");
    expect_exit("train --quiet --run y --init-from ref --set hidden_dim=48", 2, "hidden_dim 32 (not 48)");
}
END_TEST

/* A million million steps are on no machine, nor are trees of 419 GB, the first of which would fit. */
START_TEST(memory_that_is_not_there_is_named_with_the_keys_to_lower) {
    expect_exit("train --quiet --run huge --env-steps 1G --set num_envs=16384 --set num_simulations=32768", 1,
                "search trees: cannot take 4");
    ck_assert_ptr_nonnull(strstr(result.err, "; lower num_envs, num_simulations or the sizes of the network"));
    expect_exit("train --quiet --run huge --set memory_steps=1000000000000", 1, "B of memory");
    ck_assert_ptr_nonnull(strstr(result.err, "the replay: cannot take "));
    ck_assert_ptr_nonnull(strstr(
        result.err, "; lower memory_steps, memory_capacity, num_envs or steps_per_iteration, or set memory_bytes"));
}
END_TEST

/* It points at its first checkpoint before it is a run: wherever it is killed, it does not begin again without it. */
START_TEST(run_killed_while_it_begins_with_old_games_does_not_begin_without_them) {
    char path[160], whole[64], own[64];
    snprintf(path, sizeof path, "%s/begins/config.json", cm_test_folder);
    pid_t child = cm_program_start(cm_test_folder, "train --quiet --run begins --replay-from ref" SMALL);
    for (int i = 0; i < 2000000 && !cm_file_exists(path); i++) usleep(10);
    kill(child, SIGKILL);
    cm_program_wait(child);
    run("train --quiet --resume begins");
    if (result.status != 0) {
        cm_program_expect_error(&result, 1, "begins: its checkpoints are gone, or it was killed while it began");
        return;
    }
    expect_ok("train --quiet --run begun" SMALL " --replay-from ref");
    hash_of("begun", whole);
    hash_of("begins", own);
    ck_assert_str_eq(own, whole);
}
END_TEST

/* ---- damage ---- */

static void damage(const char *dir, const char *file) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s/latest/%s", cm_test_folder, dir, file);
    int descriptor = open(path, O_RDWR);
    ck_assert_int_ge(descriptor, 0);
    char byte = 0;
    ck_assert_int_eq(pread(descriptor, &byte, 1, 100), 1);
    byte ^= 4;
    ck_assert_int_eq(pwrite(descriptor, &byte, 1, 100), 1);
    close(descriptor);
}

START_TEST(damaged_checkpoint_is_named_with_the_newest_intact_one) {
    char number[32];
    expect_ok("train --quiet --run hurt" SMALL);
    damage("hurt", "parameters.safetensors");
    expect_exit("train --quiet --resume hurt --env-steps 2048", 1, "parameters.safetensors: its checksum differs");
    expect_exit("inspect --run hurt", 1, "newest intact checkpoint is ");
    const char *intact = strstr(result.err, "--checkpoint ");
    ck_assert_ptr_nonnull(intact);
    ck_assert_int_eq(sscanf(intact, "--checkpoint %31[0-9]", number), 1);
    char line[128];
    snprintf(line, sizeof line, "train --quiet --resume hurt --checkpoint %s --overwrite", number);
    expect_ok(line);
    expect_reference("hurt");
}
END_TEST

START_TEST(an_older_checkpoint_that_does_not_fit_is_not_taken_for_a_damaged_one) {
    long long first = 0, last = 0;
    char line[128];
    expect_exit("eval --run ref --checkpoint 99999", 2, "has no checkpoint 99999");
    ck_assert_int_eq(sscanf(strstr(result.err, " from "), " from %lld to %lld", &first, &last), 2);
    ck_assert_int_lt(first, last);
    snprintf(line, sizeof line, "eval --run ref --checkpoint %lld --set hidden_dim=48", first);
    expect_exit(line, 2, "it is of another task or network");
    ck_assert_ptr_null(strstr(result.err, "intact"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/resume");
    TCase *tests = tcase_create("resume");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, a_folder_of_a_later_seed_that_is_taken_is_known_before_the_first);
    tcase_add_loop_test(tests, killed_run_resumes_to_the_same_parameters, 0, 5);
    tcase_add_loop_test(tests, interrupted_run_saves_says_how_to_go_on_and_does, 0, 6);
    tcase_add_test(tests, hangup_that_is_ignored_stays_so);
    tcase_add_loop_test(tests, interrupt_breaks_off_an_evaluation, 0, 2);
    tcase_add_test(tests, interrupt_breaks_off_an_exact_solver);
    tcase_add_loop_test(tests, interrupted_eval_is_one_line_and_no_result, 0, 2);
    tcase_add_test(tests, two_interrupts_at_once_are_one);
    tcase_add_test(tests, second_interrupt_ends_at_once_and_loses_nothing_saved);
    tcase_add_test(tests, finished_run_resumes_to_exit_0_and_changes_nothing);
    tcase_add_test(tests, finished_game_run_says_again_how_it_was_won);
    tcase_add_test(tests, opponent_of_evaluations_is_chosen);
    tcase_add_test(tests, opponent_that_cannot_be_is_refused_in_one_line);
    tcase_add_test(tests, run_that_goes_on_is_unfinished_again);
    tcase_add_test(tests, reached_goal_is_confirmed_and_ends_the_run_until_more_steps_are_asked_for);
    tcase_add_test(tests, goal_that_the_last_evaluation_reaches_is_what_a_run_ends_with);
    tcase_add_test(tests, best_evaluated_weights_are_what_a_run_ends_with);
    tcase_add_test(tests, best_checkpoint_that_was_not_yet_pointed_at_is_known_from_itself);
    tcase_add_test(tests, an_older_checkpoint_is_gone_on_from_only_where_the_later_ones_may_go);
    tcase_add_loop_test(tests, advice_of_every_ending_trains_on, 0, (int)(sizeof endings / sizeof *endings));
    tcase_add_test(tests, limits_are_totals_of_the_run);
    tcase_add_test(tests, metrics_of_a_resumed_run_have_no_line_twice);
    tcase_add_test(tests, evaluation_at_the_end_of_a_run_stands_once_in_its_metrics);
    tcase_add_test(tests, seeds_do_not_go_into_what_is_a_run);
    tcase_add_test(tests, a_damaged_report_is_named_and_made_again);
    tcase_add_test(tests, a_report_of_counts_that_are_none_is_made_again);
    tcase_add_test(tests, what_is_no_folder_is_not_taken_for_a_new_run);
    tcase_add_test(tests, refusals_name_what_to_do);
    tcase_add_test(tests, memory_that_is_not_there_is_named_with_the_keys_to_lower);
    tcase_add_test(tests, run_killed_while_it_begins_with_old_games_does_not_begin_without_them);
    tcase_add_test(tests, damaged_checkpoint_is_named_with_the_newest_intact_one);
    tcase_add_test(tests, an_older_checkpoint_that_does_not_fit_is_not_taken_for_a_damaged_one);
    return cm_test_main(suite);
}
