/* Runs as a user meets them: trained, interrupted, killed, gone on with, evaluated, damaged. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "core/json.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

/* A run of a quarter of a second: 1,024 steps, a checkpoint every 40 updates. */
#define SMALL                                                                                                          \
    " --set env_steps=1024 --set min_memory_steps=256 --set checkpoint_updates=40 --set final_evaluation_episodes=4"   \
    " --set evaluation_interval=512 --set evaluation_episodes=4 --set hidden_dim=32"

static cm_output result;
static char reference[64]; /* hash of the unbroken small run */

static void run(const char *arguments) { cm_program_run(cm_test_folder, arguments, &result); }

static void expect_ok(const char *arguments) {
    run(arguments);
    ck_assert_msg(result.status == 0, "%s: status %d: %s", arguments, result.status, result.err);
}

/* The parameter hash in DIR/result.json. */
static void hash_of(const char *dir, char hash[64]) {
    char name[64], path[160];
    cm_json_doc *doc = NULL;
    snprintf(name, sizeof name, "%s/result.json", dir);
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    const char *text = cm_json_string(cm_json_get(cm_json_root(doc), "parameter_hash"));
    ck_assert_ptr_nonnull(text);
    snprintf(hash, 64, "%s", text);
    cm_json_free(doc);
}

static void expect_reference(const char *dir) {
    char hash[64];
    hash_of(dir, hash);
    ck_assert_str_eq(hash, reference);
}

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run ref" SMALL);
    hash_of("ref", reference);
}

/* Waits until a started program has made the folder of its run. */
static void await_run(const char *dir) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s/README.md", cm_test_folder, dir);
    for (int i = 0; i < 20000 && !cm_file_exists(path); i++) usleep(1000);
    ck_assert_msg(cm_file_exists(path), "%s was never begun", dir);
}

/* ---- what a run is ---- */

START_TEST(run_folder_explains_itself) {
    const char *const files[] = {"config.json",
                                 "metrics.jsonl",
                                 "log.txt",
                                 "README.md",
                                 "result.json",
                                 "latest/manifest.json",
                                 "latest/parameters.safetensors",
                                 "best/state.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/ref/%s", cm_test_folder, files[i]);
        ck_assert_msg(cm_file_exists(path), "%s is missing", files[i]);
    }
    static char log[1 << 16];
    cm_program_file(cm_test_folder, "ref/log.txt", log, sizeof log);
    ck_assert_ptr_nonnull(strstr(log, "final: mean return"));
}
END_TEST

START_TEST(threads_and_prefetch_change_no_parameter) {
    static const char *const variants[] = {"--threads 1", "--threads 2", "--threads 3", "--set prefetch_depth=0"};
    char line[512], dir[32];
    snprintf(dir, sizeof dir, "variant-%d", _i);
    snprintf(line, sizeof line, "train --quiet --run %s %s" SMALL, dir, variants[_i]);
    expect_ok(line);
    expect_reference(dir);
}
END_TEST

/* Searches made anew go on beside the updates, on threads of their own. */
#define ANEW " --set reanalyse_ratio=0.3 --set num_simulations=4"
START_TEST(policies_searched_anew_are_those_of_any_threads) {
    static const char *const variants[] = {"--threads 1", "--threads 3 --set prefetch_threads=3",
                                           "--set prefetch_depth=0", "--set overlap=on --threads 1",
                                           "--set overlap=on --threads 3"};
    char hash[5][64], line[512];
    for (int i = 0; i < 5; i++) {
        snprintf(line, sizeof line, "train --quiet --run anew-%d %s" SMALL ANEW, i, variants[i]);
        expect_ok(line);
        snprintf(line, sizeof line, "anew-%d", i);
        hash_of(line, hash[i]);
    }
    ck_assert_str_eq(hash[0], hash[1]);
    ck_assert_str_eq(hash[0], hash[2]);
    ck_assert_str_eq(hash[3], hash[4]);
    ck_assert_str_ne(hash[0], hash[3]);
    ck_assert_str_ne(hash[0], reference);
    expect_ok("plot anew-0 --metric policy_drift --table");
    run("plot ref --metric policy_drift --table");
    ck_assert_int_ne(result.status, 0);
}
END_TEST

START_TEST(policies_searched_anew_are_those_of_the_same_weights_when_it_goes_on) {
    char whole[64], hash[64];
    expect_ok("train --quiet --run anew-whole --set schedule=constant" SMALL ANEW);
    expect_ok("train --quiet --run anew-parts --set schedule=constant" SMALL ANEW " --env-steps 512");
    expect_ok("train --quiet --resume anew-parts --env-steps 1024");
    hash_of("anew-whole", whole);
    hash_of("anew-parts", hash);
    ck_assert_str_eq(whole, hash);
}
END_TEST

START_TEST(another_seed_gives_other_parameters) {
    char hash[64];
    expect_ok("train --quiet --run other --seed 7" SMALL);
    hash_of("other", hash);
    ck_assert_str_ne(hash, reference);
}
END_TEST

START_TEST(overlapped_run_is_the_same_for_any_threads) {
    char first[64], second[64];
    expect_ok("train --quiet --run over-1 --threads 1 --set overlap=on" SMALL);
    expect_ok("train --quiet --run over-2 --threads 2 --set overlap=on" SMALL);
    hash_of("over-1", first);
    hash_of("over-2", second);
    ck_assert_str_eq(first, second);
}
END_TEST

/* Every line of text is a JSON object with an "event"; counts those of `event`. */
static int count_events(char *text, const char *event) {
    int count = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        cm_json_doc *doc = NULL;
        ck_assert_msg(cm_json_parse(line, strlen(line), "line", &doc) == CM_OK, "%s: %s", cm_error_message(), line);
        const char *name = cm_json_string(cm_json_get(cm_json_root(doc), "event"));
        ck_assert_ptr_nonnull(name);
        count += strcmp(name, event) == 0;
        cm_json_free(doc);
    }
    return count;
}

START_TEST(json_lines_have_an_event_each) {
    static char copy[CM_OUTPUT_BYTES];
    expect_ok("train --json --run json" SMALL);
    strcpy(copy, result.out);
    ck_assert_int_eq(count_events(copy, "iteration"), 4);
    strcpy(copy, result.out);
    ck_assert_int_eq(count_events(copy, "evaluation"), 2);
    strcpy(copy, result.out);
    ck_assert_int_eq(count_events(copy, "start") + 10 * count_events(result.out, "end"), 11);
}
END_TEST

START_TEST(plain_output_ends_with_report_and_next_commands) {
    expect_ok("train --run plain" SMALL);
    ck_assert_ptr_null(strchr(result.out, '\033'));
    ck_assert_ptr_nonnull(strstr(result.out, "95 % interval"));
    ck_assert_ptr_nonnull(strstr(result.out, "cumind play --run plain"));
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train --resume plain"));
    ck_assert_ptr_nonnull(strstr(result.out, "memory "));
    expect_ok("train --run plain(2)" SMALL);
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train --resume 'plain(2)' --env-steps"));
}
END_TEST

START_TEST(next_commands_do_what_the_run_did) {
    expect_ok("train --run timed --time 0.01s --set final_evaluation_episodes=2");
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train --resume timed --time 0.01s\n"));
    ck_assert_ptr_nonnull(strstr(result.out, "cumind eval --run timed --episodes 100 --seed 1\n"));
    expect_ok("train --run game --set env_name=tictactoe --set evaluation_opponent=mcts:5 --env-steps 256"
              " --set final_evaluation_episodes=2");
    ck_assert_ptr_nonnull(strstr(result.out, "cumind eval --run game --opponent mcts:5 --games 100 --seed 1\n"));
    ck_assert_ptr_nonnull(strstr(result.out, "cumind train --resume game --env-steps "));
}
END_TEST

START_TEST(what_a_limit_on_time_does_not_cover_is_said) {
    static const char line[] = "\ntime is over: the evaluation of the result, 22 greedy episodes, comes on top\n";
    expect_ok("train --run late --time 0.01s --set final_evaluation_episodes=2");
    ck_assert_msg(strstr(result.out, line) != NULL, "%s", result.out);
    expect_ok("train --run bare --time 0.01s --set final_evaluation_episodes=0 --set evaluation_interval=0");
    ck_assert_ptr_null(strstr(result.out, "time is over"));
    expect_ok("train --run counted --env-steps 512 --set final_evaluation_episodes=2");
    ck_assert_ptr_null(strstr(result.out, "time is over"));
}
END_TEST

START_TEST(recipe_of_the_task_is_named_where_none_was_chosen) {
    static const char limits[] = " --env-steps 64 --set final_evaluation_episodes=0";
    char command[512], *path, *end;
    snprintf(command, sizeof command, "train --run tuned-1 --set env_name=Acrobot-v1%s", limits);
    expect_ok(command);
    path = strstr(result.out, "recipe    there is a tuned configuration for this task: --config /");
    ck_assert_ptr_nonnull(path);
    path = strchr(path, '/'), end = strchr(path, '\n');
    snprintf(command, sizeof command, "train --run tuned-2 --config %.*s%s", (int)(end - path), path, limits);
    ck_assert_msg(end - path > 21 && strncmp(end - 21, "/configs/acrobot.json", 21) == 0, "%s", command);
    expect_ok(command);
    ck_assert_ptr_null(strstr(result.out, "recipe "));
    snprintf(command, sizeof command, "train --run tuned-3%s", limits);
    expect_ok(command); /* CartPole */
    ck_assert_ptr_null(strstr(result.out, "recipe "));
}
END_TEST

START_TEST(quiet_run_prints_nothing) {
    expect_ok("train --quiet --run quiet" SMALL);
    ck_assert_str_eq(result.out, "");
}
END_TEST

START_TEST(what_is_printed_to_a_closed_output_is_in_no_file) {
    char command[512], text[64];
    snprintf(command, sizeof command, "cd %s && %s train --run closed --set gumbel_scale=2" SMALL " >&- 2>&-",
             cm_test_folder, CM_TEST_PROGRAM);
    ck_assert_int_eq(system(command), 0);
    expect_reference("closed");
    cm_program_file(cm_test_folder, "closed/lock", text, sizeof text);
    ck_assert_str_eq(text, "");
    snprintf(command, sizeof command, "%s help >&- 2>/dev/null", CM_TEST_PROGRAM);
    ck_assert_int_eq(WEXITSTATUS(system(command)), 1); /* nobody was helped */
}
END_TEST

START_TEST(several_seeds_end_with_a_table) {
    expect_ok("train --quiet --seeds 3-4 --run seeds" SMALL);
    ck_assert_ptr_nonnull(strstr(result.out, "\n       3 "));
    ck_assert_ptr_nonnull(strstr(result.out, "\n       4 "));
    char one[64], two[64];
    hash_of("seeds/seed-3", one);
    hash_of("seeds/seed-4", two);
    ck_assert_str_ne(one, two);
}
END_TEST

START_TEST(seeds_without_a_report_have_none_in_the_table) {
    expect_ok("train --quiet --seeds 3 --run bare --env-steps 256 --set final_evaluation_episodes=0");
    ck_assert_msg(strstr(result.out, "\n       3          -          -        256 ") != NULL, "%s", result.out);
    expect_ok("train --json --seeds 4 --run bare --env-steps 256 --set final_evaluation_episodes=0");
    ck_assert_ptr_nonnull(strstr(result.out, "\"seed\": 4, \"mean\": null, \"std\": null, \"env_steps\": 256"));
}
END_TEST

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
    char text[4096];
    pid_t child = cm_program_start(cm_test_folder, "train --run stopped" SMALL);
    await_run("stopped");
    usleep(40000);
    kill(child, _i ? SIGTERM : SIGINT);
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
    pid_t child = cm_program_start(cm_test_folder, "train --run solving" SMALL " --set env_name=connect4"
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

START_TEST(second_interrupt_ends_at_once_and_loses_nothing_saved) {
    pid_t child = cm_program_start(cm_test_folder, "train --quiet --run twice" SMALL);
    await_run("twice");
    usleep(50000);
    kill(child, SIGINT);
    usleep(2000);
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
    expect_ok("train --quiet --run won --set env_name=tictactoe" SMALL);
    expect_ok("train --resume won");
    const char *line = strstr(result.out, "against random: ");
    ck_assert_ptr_nonnull(line);
    ck_assert_int_eq(sscanf(line, "against random: %d won, %d drawn, %d lost", &won, &drawn, &lost), 3);
    ck_assert_int_eq(won + drawn + lost, 4);
}
END_TEST

/* Nobody beats perfect play at TicTacToe; an agent that has just begun wins some games of a random player. */
START_TEST(opponent_of_evaluations_is_chosen) {
    int won = -1, drawn = -1, lost = -1;
    expect_ok("train --run strict" SMALL " --set env_name=tictactoe --set evaluation_opponent=perfect"
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
    expect_refused("train --set env_name=connect4 --set evaluation_opponent=mcts:none",
                   "Evaluation.evaluation_opponent: mcts: needs a number of rollouts");
    expect_refused("train --set env_name=connect4 --set evaluation_opponent=somebody",
                   "\"somebody\" is none of random, mcts:N and perfect");
    expect_refused("train --set evaluation_opponent=mcts:5", "CartPole-v1 is no game of two players");
    cm_program_run(cm_test_folder, "train --run none --set env_name=hex5 --set evaluation_opponent=perfect", &result);
    cm_program_expect_error(&result, 1, "Evaluation.evaluation_opponent: hex5: has no exact solver");
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
    expect_ok("train --quiet --resume pointed --checkpoint 0 --env-steps 512");
    ck_assert_int_gt(readlink(link, target, sizeof target - 1), 0);
    ck_assert_str_eq(target, "checkpoints/00000000");
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

static void expect_exit(const char *arguments, int status, const char *text) {
    run(arguments);
    cm_program_expect_error(&result, status, text);
}

START_TEST(a_folder_of_a_later_seed_that_is_taken_is_known_before_the_first) {
    expect_ok("train --quiet --run taken/seed-6 --env-steps 256 --set final_evaluation_episodes=0");
    expect_exit("train --quiet --seeds 5-6 --run taken" SMALL, 2,
                "taken/seed-6: holds a run already; go on with --resume taken/seed-6, leave 6 out of --seeds");
    expect_exit("inspect --run taken/seed-5", 2, "there is no such run");
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
    expect_exit("train --quiet --run z --set env_name=catch --set family=cumind --set conv_channels=0", 2,
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
                1, "most of it is searches anew: set reanalyse_ratio to 0, or lower num_simulations, threads or");
    expect_exit("train --quiet --run z --set action_encoding=board", 2,
                "cumind: Network architecture.action_encoding: \"board\" is for family resnet");
    expect_exit(
        "train --quiet --run z --set family=resnet", 2,
        "cumind: Network architecture.family: resnet needs observations of rank 3, these have rank 1; use mlp or "
        "cumind\n");
    expect_exit("train --quiet --run y --init-from ref --set hidden_dim=48", 2, "this network has");
}
END_TEST

/* A million million steps are on no machine. */
START_TEST(memory_that_is_not_there_is_named_with_the_keys_to_lower) {
    expect_exit("train --quiet --run huge --set memory_steps=1000000000000", 1, "B of memory");
    ck_assert_ptr_nonnull(strstr(result.err, "the replay: cannot take "));
    ck_assert_ptr_nonnull(strstr(
        result.err, "; lower memory_steps, memory_capacity, num_envs or steps_per_iteration, or set memory_bytes"));
}
END_TEST

START_TEST(new_run_starts_from_old_weights) {
    expect_ok("train --quiet --run young --init-from ref --set learning_rate=1e-12 --set weight_decay=0" SMALL);
    char hash[64];
    hash_of("young", hash);
    ck_assert_str_ne(hash, reference); /* it starts from the average */
    expect_ok("eval --run young --episodes 3 --json");
}
END_TEST

/* Also for a network of another size, and with the same games for any number of threads. */
START_TEST(new_run_starts_with_old_games) {
    char one[64], two[64];
    double steps = 0.0, episodes = 0.0;
    run("train --run fed-1 --threads 1 --replay-from ref --set hidden_dim=48" SMALL);
    ck_assert_msg(result.status == 0, "%s", result.err);
    const char *line = strstr(result.out, "replay    begins with ");
    ck_assert_ptr_nonnull(line);
    ck_assert_int_eq(sscanf(line, "replay begins with %lf steps of %lf episodes, from ref\n", &steps, &episodes), 2);
    ck_assert(steps > 300.0 && steps <= 1024.0 && episodes > 10.0);
    expect_ok("train --quiet --run fed-2 --threads 2 --replay-from ref --set hidden_dim=48" SMALL);
    hash_of("fed-1", one);
    hash_of("fed-2", two);
    ck_assert_str_eq(one, two);
}
END_TEST

/* Killed before any other checkpoint, it still begins with what it was given. */
START_TEST(beginning_is_kept_for_a_run_that_is_killed) {
    static const char *const from[] = {"init", "replay"};
    char line[512], whole[64], again[64];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "train --quiet --run begun-%d --%s-from ref --set keep_checkpoints=100" SMALL, i,
                 from[i]);
        expect_ok(line);
        snprintf(line, sizeof line, "begun-%d", i);
        hash_of(line, whole);
        snprintf(line, sizeof line, "train --quiet --resume begun-%d --checkpoint 0", i);
        expect_ok(line);
        snprintf(line, sizeof line, "begun-%d", i);
        hash_of(line, again);
        ck_assert_str_eq(whole, again);
    }
}
END_TEST

/* It points at its first checkpoint before it is a run: wherever it is killed, it does not begin anew without it. */
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

/* What the first update waits for is there from the beginning. */
START_TEST(old_games_are_learnt_from_at_once) {
    static const char *const from[] = {"", " --replay-from ref"};
    char line[512];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "train --run at-once-%d%s" SMALL " --env-steps 128 --set final_evaluation_episodes=0", i, from[i]);
        expect_ok(line);
        ck_assert_int_eq(strstr(result.out, " steps, 0 updates,") != NULL, i == 0);
    }
}
END_TEST

START_TEST(games_that_cannot_be_taken_are_refused_in_one_line) {
    expect_exit("train --quiet --run no --replay-from nowhere", 2, "nowhere: there is no such run");
    expect_exit("train --quiet --run no --replay-from ref --set env_name=tictactoe", 2,
                "--replay-from ref, a run of CartPole-v1: replay-segment-0-");
    expect_exit("train --quiet --resume ref --replay-from ref", 2, "--replay-from belongs to new ones");
    expect_ok("train --quiet --run short --env-steps 1 --set num_envs=1 --set steps_per_iteration=1"
              " --set final_evaluation_episodes=0");
    expect_exit("train --quiet --run no --replay-from short", 2, "short has saved no finished episode");
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
    snprintf(line, sizeof line, "train --quiet --resume hurt --checkpoint %s", number);
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

/* ---- using a run ---- */

static double number_in(const char *key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(result.out, quoted);
    ck_assert_msg(at != NULL, "%s is missing: %s", key, result.out);
    return strtod(at + strlen(quoted), NULL);
}

START_TEST(what_is_warned_of_is_said_once_and_of_the_process_that_trains) {
    static const char configuration[] = "{\"Training\": {\"momentum\": 0.5}}";
    char path[128];
    snprintf(path, sizeof path, "%s/configuration.json", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, configuration, sizeof configuration - 1), CM_OK);
    expect_ok("train --quiet --run warned" SMALL);
    cm_program_expect_line(result.err, "configuration.json:1: Training.momentum has no effect");
    expect_ok("train --quiet --run mute --set log_level=error" SMALL);
    ck_assert_str_eq(result.err, "");
    expect_ok("eval --run warned --episodes 2 --set gumbel_scale=2");
    ck_assert_str_eq(result.err, "");
    expect_ok("train --quiet --resume warned --env-steps 2048 --set goal_return=3");
    cm_program_expect_line(result.err, "--set: Evaluation.goal_return has no effect");
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

START_TEST(run_without_its_flag_is_understood) {
    expect_exit("eval ref", 2, "unexpected argument \"ref\"; did you mean --run ref?");
    expect_exit("train ref", 2, "unexpected argument \"ref\"; did you mean --resume ref?");
    expect_exit("eval nowhere", 2, "unexpected argument \"nowhere\" (cumind help eval)");
}
END_TEST

START_TEST(run_whose_checkpoints_are_gone_does_not_begin_anew) {
    char path[160];
    expect_ok("train --quiet --run lost" SMALL);
    snprintf(path, sizeof path, "%s/lost/checkpoints", cm_test_folder);
    ck_assert_int_eq(cm_directory_remove(path), CM_OK);
    expect_exit("train --quiet --resume lost", 1,
                "lost: its checkpoints are gone, or it was killed while it began: put them back, or train anew with "
                "--config lost/config.json");
    snprintf(path, sizeof path, "%s/lost/latest", cm_test_folder);
    ck_assert_int_eq(unlink(path), 0); /* as if it had been killed before the first */
    expect_ok("train --resume lost");
    ck_assert_ptr_nonnull(strstr(result.out, "resumed   from the start: it has no checkpoint yet"));
    expect_reference("lost");
}
END_TEST

START_TEST(fixed_key_that_was_changed_by_hand_is_found_out) {
    char path[160], text[16384];
    size_t size = 0;
    expect_ok("train --quiet --run edited" SMALL);
    snprintf(path, sizeof path, "%s/edited/config.json", cm_test_folder);
    FILE *file = fopen(path, "r+");
    ck_assert_ptr_nonnull(file);
    size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    char *value = strstr(text, "\"batch_size\": 128");
    ck_assert_ptr_nonnull(value);
    ck_assert_int_eq(fseek(file, (long)(value + strlen("\"batch_size\": ") - text), SEEK_SET), 0);
    ck_assert_int_eq(fputs("256", file), 1);
    ck_assert_int_eq(fclose(file), 0);
    expect_exit("train --quiet --resume edited", 2,
                "batch_size is fixed for a run: this one was trained with 128, and");
}
END_TEST

START_TEST(run_without_an_update_says_that_nothing_was_learnt) {
    expect_ok("train --quiet --run unlearnt --env-steps 512 --set batch_size=320 --set final_evaluation_episodes=0");
    ck_assert_str_eq(result.err,
                     "warning: nothing was learnt: the first update waits for 1000 steps (min_memory_steps), "
                     "and one is due every 10 steps (batch_size / replay_ratio); train longer\n");
    expect_ok("train --quiet --run few --env-steps 512 --set batch_size=320 --set final_evaluation_episodes=0 "
              "--set memory_capacity=500 --set min_memory_size=90 --set min_memory_pct=0.2");
    ck_assert_str_eq(result.err,
                     "warning: nothing was learnt: the first update waits for 90 episodes (min_memory_size) and 100 "
                     "episodes (min_memory_pct), and one is due every 10 steps (batch_size / replay_ratio); train "
                     "longer\n");
    expect_ok("train --quiet --run learnt" SMALL);
    ck_assert_str_eq(result.err, "");
}
END_TEST

/* With a decay of 10 at a learning rate of 1 every weight grows by a factor of -9 in each update. */
START_TEST(learning_that_diverges_between_two_looks_at_the_weights_says_what_to_lower) {
    run("train --quiet --run wild --env-steps 900 --set preset=plain --set updates_per_iteration=1 "
        "--set ema_decay=0 --set learning_rate=1 --set weight_decay=10 --set warmup_steps=0 "
        "--set schedule=constant --set min_memory_steps=8 --set num_envs=4 --set steps_per_iteration=4 "
        "--set batch_size=4");
    ck_assert_int_eq(result.status, 1);
    ck_assert_msg(strstr(result.err, "learn again with a lower learning_rate") != NULL, "%s", result.err);
}
END_TEST

/* The last td_steps of the 32 games under way cannot be drawn yet: 1,000 steps that can are never there. */
START_TEST(memory_that_is_full_is_learnt_from_whatever_the_first_update_waits_for) {
    static const struct {
        const char *settings, *warning;
    } cases[] = {
        {"memory_steps=1000 --set min_memory_steps=1000", NULL},
        {"memory_capacity=5 --set min_memory_steps=1000",
         "fewer than the first update waits for, and learning begins: raise memory_capacity or lower min_memory_steps"},
        {"memory_steps=100 --set min_memory_size=90", "raise memory_steps or lower min_memory_size"},
        {"memory_bytes=1000000 --set min_memory_size=900", "raise memory_bytes or lower min_memory_size"},
    };
    char line[512], text[8192];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line,
                 "train --quiet --run full-%zu --env-steps 2048 --set hidden_dim=8 --set evaluation_interval=0 "
                 "--set final_evaluation_episodes=0 --set %s",
                 i, cases[i].settings);
        expect_ok(line);
        if (cases[i].warning) {
            ck_assert_msg(strstr(result.err, cases[i].warning) != NULL, "%s: %s", cases[i].settings, result.err);
        } else {
            ck_assert_str_eq(result.err, "");
        }
        snprintf(line, sizeof line, "full-%zu/result.json", i);
        cm_program_file(cm_test_folder, line, text, sizeof text);
        ck_assert_msg(strstr(text, "\"updates\": 0,") == NULL, "%s: %s", cases[i].settings, text);
    }
}
END_TEST

START_TEST(evaluation_has_the_statistics_of_its_returns) {
    double returns[5], sum = 0, squares = 0;
    expect_ok("eval --run ref --episodes 5 --seed 11 --json");
    const char *at = strstr(result.out, "\"returns\": [");
    ck_assert_ptr_nonnull(at);
    char *end = (char *)at + strlen("\"returns\": [");
    for (int i = 0; i < 5; i++) {
        returns[i] = strtod(end, &end);
        end += 2;
        sum += returns[i] / 5;
    }
    for (int i = 0; i < 5; i++) squares += (returns[i] - sum) * (returns[i] - sum);
    ck_assert_double_eq_tol(number_in("mean"), sum, 1e-9);
    ck_assert_double_eq_tol(number_in("std"), sqrt(squares / 4), 1e-9);
    ck_assert_double_eq(number_in("episodes"), 5);
}
END_TEST

START_TEST(episode_i_starts_from_seed_plus_i) {
    char shifted[256];
    expect_ok("eval --run ref --episodes 6 --seed 100 --json --threads 1");
    const char *at = strchr(strstr(result.out, "\"returns\": ["), ',');
    snprintf(shifted, sizeof shifted, "%s", at + 2); /* without the first */
    expect_ok("eval --run ref --episodes 5 --seed 101 --json --threads 2");
    at = strstr(result.out, "\"returns\": [") + strlen("\"returns\": [");
    ck_assert_str_eq(at, shifted);
}
END_TEST

START_TEST(inspect_tells_hash_updates_and_steps) {
    expect_ok("inspect --run ref --json");
    ck_assert_ptr_nonnull(strstr(result.out, reference));
    ck_assert_double_eq(number_in("env_steps"), 1024);
    ck_assert_double_gt(number_in("updates"), 0);
}
END_TEST

START_TEST(runs_plots_and_games_are_shown) {
    expect_ok("runs . --json");
    ck_assert_ptr_nonnull(strstr(result.out, "./ref"));
    expect_ok("runs .");
    ck_assert_ptr_nonnull(strstr(result.out, "CartPole-v1"));
    expect_ok("plot --run ref --columns 60 --rows 12");
    ck_assert_ptr_nonnull(strstr(result.out, "env steps"));
    expect_ok("plot --run ref --svg curve.svg");
    static char svg[1 << 16];
    cm_program_file(cm_test_folder, "curve.svg", svg, sizeof svg);
    ck_assert_ptr_nonnull(strstr(svg, "<polyline"));
    expect_ok("play --run ref --episodes 2 --quiet");
    ck_assert_ptr_nonnull(strstr(result.out, "episode 1: return "));
}
END_TEST

/* Two runs of an iteration each below checkpoints, the older one with the later name. */
START_TEST(newest_run_is_taken_where_none_is_named) {
    static const char *const calls[] = {"eval --episodes 2", "plot", "play --quiet", "inspect",
                                        "search --positions p.txt"};
    static const char brief[] =
        " --env-steps 1024 --set min_memory_steps=1024 --set final_evaluation_episodes=0 --set evaluation_interval=0";
    char line[256], path[128];
    snprintf(path, sizeof path, "%s/p.txt", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "0\n", 2), CM_OK);
    expect_exit("eval", 2, "eval: needs --run DIR: there is no run here yet");
    snprintf(line, sizeof line, "train --quiet --run checkpoints/pole/z-old%s", brief);
    expect_ok(line);
    snprintf(line, sizeof line, "train --quiet --run checkpoints/pole/a-new%s", brief);
    expect_ok(line);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        expect_ok(calls[i]);
        ck_assert_msg(strstr(result.err, ": the newest run, checkpoints/pole/a-new (") != NULL, "%s: %s", calls[i],
                      result.err);
    }
    expect_ok("eval --episodes 2 --run checkpoints/pole/z-old");
    ck_assert_str_eq(result.err, "");
    expect_ok("inspect --set env_name=catch"); /* of a configuration, not of a run */
    ck_assert_ptr_nonnull(strstr(result.out, "catch: 3 actions"));
    snprintf(path, sizeof path, "%s/checkpoints", cm_test_folder);
    ck_assert_int_eq(cm_directory_remove(path), CM_OK);
}
END_TEST

START_TEST(runs_of_several_folders_are_listed_and_where_it_looked_is_said) {
    expect_ok("runs");
    ck_assert_ptr_nonnull(strstr(result.out, "(none below checkpoints; cumind runs DIR... looks elsewhere)"));
    expect_ok(
        "train --quiet --run mine/cased --env-steps 256 --set final_evaluation_episodes=0 --set env_name=TICTACTOE");
    expect_ok("runs mine ref");
    ck_assert_ptr_nonnull(strstr(result.out, "tictactoe "));
    ck_assert_ptr_nonnull(strstr(result.out, " mine/cased\n"));
    ck_assert_ptr_nonnull(strstr(result.out, " ref\n"));
    cm_program_run_terminal(cm_test_folder, "runs mine ref", 80, "", &result);
    ck_assert_ptr_nonnull(strstr(result.out, "  mine/cased\r\n")); /* 76 + 10 columns */
    for (char *row = strtok(result.out, "\r\n"); row; row = strtok(NULL, "\r\n")) ck_assert_int_lt(strlen(row), 80);
    static const char *const heads[] = {"environment            seed    steps  updates   return    final  state\r\n",
                                        "environment            seed    steps   return    final  state\r\n",
                                        "environment             steps   return    final  state\r\n"};
    static const int widths[][2] = {{80, 0}, {76, 0}, {75, 1}, {67, 1}, {66, 2}, {60, 2}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        cm_program_run_terminal(cm_test_folder, "runs mine ref", widths[i][0], "", &result);
        ck_assert_msg(strstr(result.out, heads[widths[i][1]]) != NULL, "%d: %s", widths[i][0], result.out);
        for (char *row = strtok(result.out, "\r\n"); row; row = strtok(NULL, "\r\n"))
            ck_assert_int_lt(strlen(row), widths[i][0]);
    }
    cm_program_run_terminal(cm_test_folder, "runs", 60, "", &result);
    ck_assert_ptr_nonnull(strstr(result.out, "(none below checkpoints; cumind runs DIR... looks"));
    for (char *row = strtok(result.out, "\r\n"); row; row = strtok(NULL, "\r\n")) ck_assert_int_lt(strlen(row), 60);
    cm_program_run_terminal(cm_test_folder, "runs mine ref", 87, "", &result);
    ck_assert_ptr_null(strstr(result.out, "\n    "));
    expect_exit("runs ref nowhere", 2, "nowhere: there is no such folder");
}
END_TEST

START_TEST(trace_is_a_file_of_events) {
    static char text[CM_OUTPUT_BYTES];
    expect_ok("train --quiet --run traced --trace t.json" SMALL);
    cm_program_file(cm_test_folder, "t.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"act\""));
    ck_assert_ptr_nonnull(strstr(text, "\"learn\""));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/runs");
    TCase *tests = tcase_create("runs");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_test(tests, run_folder_explains_itself);
    tcase_add_loop_test(tests, threads_and_prefetch_change_no_parameter, 0, 4);
    tcase_add_test(tests, policies_searched_anew_are_those_of_any_threads);
    tcase_add_test(tests, policies_searched_anew_are_those_of_the_same_weights_when_it_goes_on);
    tcase_add_test(tests, another_seed_gives_other_parameters);
    tcase_add_test(tests, overlapped_run_is_the_same_for_any_threads);
    tcase_add_test(tests, json_lines_have_an_event_each);
    tcase_add_test(tests, plain_output_ends_with_report_and_next_commands);
    tcase_add_test(tests, next_commands_do_what_the_run_did);
    tcase_add_test(tests, what_a_limit_on_time_does_not_cover_is_said);
    tcase_add_test(tests, recipe_of_the_task_is_named_where_none_was_chosen);
    tcase_add_test(tests, quiet_run_prints_nothing);
    tcase_add_test(tests, what_is_printed_to_a_closed_output_is_in_no_file);
    tcase_add_test(tests, several_seeds_end_with_a_table);
    tcase_add_test(tests, a_folder_of_a_later_seed_that_is_taken_is_known_before_the_first);
    tcase_add_test(tests, seeds_without_a_report_have_none_in_the_table);
    tcase_add_loop_test(tests, killed_run_resumes_to_the_same_parameters, 0, 5);
    tcase_add_loop_test(tests, interrupted_run_saves_says_how_to_go_on_and_does, 0, 2);
    tcase_add_loop_test(tests, interrupt_breaks_off_an_evaluation, 0, 2);
    tcase_add_test(tests, interrupt_breaks_off_an_exact_solver);
    tcase_add_loop_test(tests, interrupted_eval_is_one_line_and_no_result, 0, 2);
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
    tcase_add_test(tests, limits_are_totals_of_the_run);
    tcase_add_test(tests, metrics_of_a_resumed_run_have_no_line_twice);
    tcase_add_test(tests, refusals_name_what_to_do);
    tcase_add_test(tests, memory_that_is_not_there_is_named_with_the_keys_to_lower);
    tcase_add_test(tests, new_run_starts_from_old_weights);
    tcase_add_test(tests, new_run_starts_with_old_games);
    tcase_add_test(tests, beginning_is_kept_for_a_run_that_is_killed);
    tcase_add_test(tests, run_killed_while_it_begins_with_old_games_does_not_begin_without_them);
    tcase_add_test(tests, old_games_are_learnt_from_at_once);
    tcase_add_test(tests, games_that_cannot_be_taken_are_refused_in_one_line);
    tcase_add_test(tests, damaged_checkpoint_is_named_with_the_newest_intact_one);
    tcase_add_test(tests, an_older_checkpoint_that_does_not_fit_is_not_taken_for_a_damaged_one);
    tcase_add_test(tests, what_is_warned_of_is_said_once_and_of_the_process_that_trains);
    tcase_add_test(tests, run_without_its_flag_is_understood);
    tcase_add_test(tests, run_whose_checkpoints_are_gone_does_not_begin_anew);
    tcase_add_test(tests, fixed_key_that_was_changed_by_hand_is_found_out);
    tcase_add_test(tests, run_without_an_update_says_that_nothing_was_learnt);
    tcase_add_test(tests, learning_that_diverges_between_two_looks_at_the_weights_says_what_to_lower);
    tcase_add_test(tests, memory_that_is_full_is_learnt_from_whatever_the_first_update_waits_for);
    tcase_add_test(tests, evaluation_has_the_statistics_of_its_returns);
    tcase_add_test(tests, episode_i_starts_from_seed_plus_i);
    tcase_add_test(tests, inspect_tells_hash_updates_and_steps);
    tcase_add_test(tests, runs_plots_and_games_are_shown);
    tcase_add_test(tests, newest_run_is_taken_where_none_is_named);
    tcase_add_test(tests, runs_of_several_folders_are_listed_and_where_it_looked_is_said);
    tcase_add_test(tests, trace_is_a_file_of_events);
    return cm_test_main(suite);
}
