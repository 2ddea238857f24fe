/* The command line: help, errors in one line, exit codes, and the small commands. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "device/cuda/driver.h"
#include "env/env.h"
#include "run/configuration.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

static cm_output result;

static void run(const char *arguments) { cm_program_run(cm_test_folder, arguments, &result); }

static void write_file(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

/* Exit status, one line on stderr that begins with the program's name and contains `text`, nothing on stdout. */
static void expect_error(const char *arguments, int status, const char *text) {
    run(arguments);
    cm_program_expect_error(&result, status, text);
    ck_assert_msg(strncmp(result.err, "cumind: ", 8) == 0, "%s: stderr: %s", arguments, result.err);
    ck_assert_str_eq(result.out, "");
}

/* As they are typed; main writes the "-" of names. */
static char commands[][16] = {
#define CM_COMMAND(name) #name,
#include "cli/commands.def"
#undef CM_COMMAND
};
enum { COMMANDS = sizeof commands / sizeof *commands };

START_TEST(help_lists_every_command) {
    run("help");
    ck_assert_int_eq(result.status, 0);
    for (int i = 0; i < COMMANDS; i++)
        ck_assert_msg(strstr(result.out, commands[i]) != NULL, "%s is missing", commands[i]);
}
END_TEST

/* What stands there to be typed is not wrapped: the line of usage, examples; these fit 80 columns. */
START_TEST(help_fits_a_narrow_terminal) {
    static const int columns[] = {40, 80};
    for (int i = 0; i < 2; i++) {
        char line[64], *end, *rest;
        snprintf(line, sizeof line, "help %s", commands[_i]);
        cm_program_run_terminal(cm_test_folder, line, columns[i], "", &result);
        end = strstr(result.out, "Examples:");
        if (end && columns[i] < 80) *end = '\0';
        rest = result.out;
        for (char *row = strtok_r(rest, "\r\n", &rest); row; row = strtok_r(NULL, "\r\n", &rest))
            ck_assert_msg((int)strlen(row) < (strncmp(row, "Usage:", 6) == 0 ? 80 : columns[i]), "%d: %s", columns[i],
                          row);
    }
    cm_program_run_terminal(cm_test_folder, "help", 40, "", &result);
    for (char *rest = result.out, *row; (row = strtok_r(rest, "\r\n", &rest));)
        ck_assert_msg(strlen(row) < 40, "%s", row);
}
END_TEST

/* A flag's sentence speaks of flags that the command has. */
START_TEST(flags_in_the_help_of_flags_are_the_commands_own) {
    char line[64], row[64], name[48];
    snprintf(line, sizeof line, "help %s", commands[_i]);
    run(line);
    char *flags = strstr(result.out, "\nFlags:\n"), *end = strstr(result.out, "\nExamples:\n");
    if (end) *end = '\0';
    for (const char *at = flags; at && (at = strstr(at, " --")) != NULL;) {
        at++;
        snprintf(name, sizeof name, "%.*s", (int)(2 + strspn(at + 2, "abcdefghijklmnopqrstuvwxyz-")), at);
        snprintf(row, sizeof row, "\n  %s", name);
        ck_assert_msg(strstr(flags, row) != NULL, "%s: its flags speak of %s", commands[_i], name);
    }
}
END_TEST

START_TEST(every_command_has_help_and_a_man_page) {
    static char other[CM_OUTPUT_BYTES];
    char line[128];
    snprintf(line, sizeof line, "help %s", commands[_i]);
    run(line);
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "Usage: cumind "));
    strcpy(other, result.out);
    snprintf(line, sizeof line, "%s --help", commands[_i]);
    run(line);
    ck_assert_str_eq(result.out, other);
    snprintf(line, sizeof line, "help --man %s", commands[_i]);
    run(line);
    ck_assert_int_eq(strncmp(result.out, ".TH cumind-", 11), 0);
    for (char *row = strtok(other, "\n"); row; row = strtok(NULL, "\n")) ck_assert_int_le(strlen(row), 100);
}
END_TEST

START_TEST(help_of_train_lists_every_key_that_may_change_on_resume) {
    cm_configuration configuration;
    cm_config *config;
    const cm_option *row;
    char word[64];
    ck_assert_int_eq(cm_configuration_create(&configuration, &config), CM_OK);
    run("help --man train");
    char *list = strstr(result.out, "these keys may change"), *end = list ? strchr(list, '\n') : NULL;
    ck_assert_ptr_nonnull(end);
    for (*end = '\0'; *list != ':'; list++) continue;
    end[-1] = ','; /* in place of the full stop */
    for (int i = 0; (row = cm_config_row(config, i)) != NULL; i++) {
        snprintf(word, sizeof word, " %s,", row->key);
        ck_assert_msg((strstr(list, word) != NULL) == ((row->flags & CM_OPTION_RESUME) != 0), "%s", row->key);
    }
    cm_config_destroy(config);
}
END_TEST

static const struct usage_case {
    const char *arguments, *says;
} usages[] = {
    {"trian", "did you mean train?"},
    {"--hlep", "unknown flag \"--hlep\"; did you mean --help?"},
    {"--verison", "unknown flag \"--verison\"; did you mean --version?"},
    {"--seed 3", "--seed: a command comes first; cumind help lists all"},
    {"train --sed 3", "unknown flag --sed; did you mean --seed?"},
    {"train --steps 5k", "unknown flag --steps; did you mean --env-steps?"},
    {"train --batch-size 64", "batch_size is a key of the configuration: --set batch_size=VALUE"},
    {"eval --num_simulations=64 --run x", "num_simulations is a key of the configuration: --set num_simulations=VALUE"},
    {"plot --batch-size 64", "unknown flag --batch-size; cumind help plot lists all"},
    {"train --seed 9007199254740993", "--seed 9007199254740993: must be an integer in 0..9007199254740991"},
    {"train --hlep", "unknown flag --hlep; did you mean --help?"},
    {"train --xyzzy", "unknown flag --xyzzy; cumind help train lists all"},
    {"xyzzy", "unknown command \"xyzzy\"; cumind help lists all"},
    {"train --seed", "--seed: needs a value"},
    {"train --run --quiet", "--run: needs a value: --run DIR"},
    {"train --config --set=seed=3", "--config: needs a value: --config FILE"},
    {"train --seed x", "seed"},
    {"train --seed=-1", "seed"},
    {"train --env-steps 20q", "--env-steps: must be an integer such as 100 or 20k, got \"20q\""},
    {"train --time nan", "--time: must be a time"},
    {"play --delay x", "--delay: must be a time"},
    {"play --set env_name=tictactoe --delay 1d", "--delay: must be a time"}, /* where nothing is watched, too */
    {"play --episodes 1.5", "--episodes: must be an integer"},
    {"play --seed 3x", "--seed: must be an integer"},
    {"plot --run . --columns wide", "--columns"},
    {"search --run . --positions - --simulations 0x10", "simulations"},
    {"runs --depth", "unknown flag --depth"},
    {"ladder . --threads few", "--threads: must be an integer"},
    {"benchmark --seconds many", "--seconds"},
    {"train --set num_unroll_steps=65", "must be an integer in 0..64"},
    {"train --quiet=1", "--quiet: takes no value"},
    {"train --quiet --json", "--quiet prints nothing, --json a line for every iteration; leave one of them out"},
    {"version surplus", "unexpected argument \"surplus\""},
    {"train --run=", "--run: needs a value: --run DIR"},
    {"plot --svg= --run x", "--svg: needs a value: --svg FILE"},
    {"train --set Training.batch_size 64", "--set Training.batch_size: must be KEY=VALUE in one word"},
    {"train num_envs=8", "unexpected argument \"num_envs=8\"; did you mean --set num_envs=8?"},
    {"train -seed 8", "unknown flag -seed; did you mean --seed?"},
    {"evaluate", "unknown command \"evaluate\"; did you mean eval?"},
    {"train --set learning_rate=.0e", "must be a number in 1e-12..1, got \".0e\""},
    {"train mine.json", "mine.json: cannot open: No such file or directory"},
    {"benchmark graph --backend ref", "benchmark graph: backend ref records nothing"},
    {"benchmark search --set num_sampled_actions=3 --batch 2",
     "MCTS.num_sampled_actions: 3 draws are no fewer than the 2 actions of the benchmark (--actions); 0 searches all"},
    {"train --set num_sampled_actions=3",
     "MCTS.num_sampled_actions: 3 draws are no fewer than the 2 actions of CartPole-v1; 0 searches all of them"},
    {"benchmark search --set policy=alphazero --batch 2", "policy alphazero searches on the true rules; add --policy"},
    {"benchmark search --env nope", "benchmark search: --env is for the part env; leave it out"},
    {"benchmark tree --svg tree.svg", "benchmark tree: --svg is for the part sample; leave it out"},
    {"benchmark scaling --env catch", "benchmark scaling: --env is for the part env"},
    {"benchmark --env nope", "--env: nope: there is no such environment"},
    {"benchmark env --env catch --set rows=1", "--env: catch: rows: must be an integer in [2, 64], got 1"},
    {"benchmark tree surplus", "unexpected argument \"surplus\""},
    {"completion bash surplus", "unexpected argument \"surplus\""},
    {"train --config missing.json", "missing.json"},
    {"train --set num_simulatoins=3", "num_simulations"},
    {"train --set MCTS.num_simulations=0", "1..65536"},
    {"train --time 5x", "--time: must be a time"},
    {"train --seeds 5-1", "--seeds: must be a range"},
    {"train --seeds 2,1-3", "--seeds: 2 stands twice in \"2,1-3\""},
    {"train --seeds 1-2 --seed 4", "either --seed or --seeds"},
    {"train --checkpoint 3", "--resume"},
    {"train --overwrite", "--overwrite: goes together with --resume"},
    {"train --resume nowhere --overwrite", "nowhere: there is no such run"},
    {"train --resume nowhere", "nowhere: there is no such run"},
    {"train --set env_name=CartPole-v7", "CartPole-v1"},
    {"train --set env_name=nowhere.so",
     "Environment.env_name: nowhere.so: there is no such file; if it has moved, say where it is with "
     "--set env_name=PATH"},
    {"train --set action_space_size=3", "CartPole-v1 has 2 actions, not 3"},
    {"train --set observation_shape=5", "[4]"},
    {"train --backend cuba", "backend"},
    {"train --set model_dtype=float16 --backend cpu", "bfloat16"},
    {"train --set device_type=tpu", "TPU"},
    {"train --init-from nowhere", "nowhere: there is no such run"},
    {"eval", "needs --run DIR"},
    {"eval --run nowhere", "nowhere: there is no such run"},
    {"play --human second", "has one player"},
    {"plot --run nowhere", "no such run"},
    {"runs nowhere", "no such folder"},
    {"runs /dev/null", "/dev/null: is a file; give folders"},
    {"benchmark scaling --updates 0", "--updates: must be an integer in 1..2147483647, got \"0\""},
    {"search", "--case"},
    {"search --case nowhere.json", "nowhere.json"},
    {"help trian", "did you mean train?"},
    {"config --set env_name=hex25", "Environment.env_name: hex: the size must be in [2, 19], got 25"},
    {"config --set env_name=hex7 --set board_size=3 --write c.json", "hex7: the size is set to 3"},
    {"config --explain num_simulatoins", "num_simulations"},
};

START_TEST(wrong_usage_is_one_line_and_exit_2) { expect_error(usages[_i].arguments, 2, usages[_i].says); }
END_TEST

START_TEST(every_environment_is_listed_by_a_name_that_opens_it) {
    static char names[CM_OUTPUT_BYTES];
    int rows, count = 0;
    run("environments");
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "; n: 2 to 19"));
    strcpy(names, result.out);
    strtok(names, "\n");
    for (char *row; (row = strtok(NULL, "\n")); count++) {
        cm_env env;
        ck_assert_int_le(strlen(row), 119);
        row[strcspn(row, " ")] = '\0';
        ck_assert_msg(cm_env_open(&env, row, NULL) == CM_OK, "%s", cm_error_message());
    }
    cm_env_registry(&rows);
    ck_assert_int_eq(count, rows);
    run("environments --json");
    ck_assert_ptr_nonnull(strstr(result.out, "\"goal_return\": 475"));
}
END_TEST

START_TEST(environments_fit_a_narrow_terminal) {
    cm_program_run_terminal(cm_test_folder, "environments", 80, "", &result);
    ck_assert_ptr_nonnull(strstr(result.out, "11x11x4      -\r\n    Connect two opposite sides"));
    for (char *row = strtok(result.out, "\r\n"); row; row = strtok(NULL, "\r\n")) ck_assert_int_lt(strlen(row), 80);
}
END_TEST

/* Outside of a terminal a key is a line, whatever its width. */
START_TEST(explanations_fit_a_narrow_terminal) {
    static const char *const subjects[] = {"MCTS", "policy"};
    static const int columns[] = {40, 80};
    char line[64];
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof line, "config --explain %s", subjects[i / 2]);
        cm_program_run_terminal(cm_test_folder, line, columns[i % 2], "", &result);
        ck_assert_ptr_nonnull(strstr(result.out, "\r\n    "));
        for (char *row = strtok(result.out, "\r\n"); row; row = strtok(NULL, "\r\n"))
            ck_assert_msg((int)strlen(row) < columns[i % 2], "%d: %s", columns[i % 2], row);
    }
    run("config --explain MCTS");
    ck_assert_ptr_nonnull(
        strstr(result.out, "\"muzero\"     one of \"muzero\", \"gumbel_muzero\", \"stochastic_muzero\", "));
}
END_TEST

/* How a part was run, in words of the configuration. */
START_TEST(benchmarks_say_which_optimizer_and_policy_they_took) {
    static const char *const rows[][2] = {
        {"train", "unroll 5, adamw; cpu"},
        {"train --set optimizer=adam", "unroll 5, adam; cpu"},
        {"train --set optimizer=sgd", "unroll 5, sgd; cpu"},
        {"search --simulations 2", "2 actions, muzero; cpu"},
        {"search --simulations 2 --set policy=stochastic_muzero", "2 actions, stochastic_muzero; cpu"},
        {"search --simulations 2 --policy gumbel_muzero", "actions, gumbel_muzero;"},
        {"act --simulations 2", "CartPole-v1, 2 environments x 2 simulations, muzero, 1 threads"},
        {"act --simulations 2 --policy gumbel_muzero", "2 simulations, gumbel_muzero, 1 threads"},
        {"act --simulations 2 --set policy=alphazero --set env_name=tictactoe", "tictactoe, 2 environments x"}};
    char line[160];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(line, sizeof line, "benchmark %s --batch 2 --threads 1 --seconds 0.01", rows[i][0]);
        run(line);
        ck_assert_msg(result.status == 0 && strstr(result.out, rows[i][1]), "%s: %s%s", line, result.out, result.err);
    }
}
END_TEST

START_TEST(the_benchmark_of_draws_has_a_picture) {
    char path[128];
    char *svg = NULL;
    size_t size;
    run("benchmark sample --seconds 0.001 --svg angles.svg");
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "draws/s (von Mises, kappa 4, float32, calls of 16384, one thread)"));
    ck_assert_ptr_nonnull(strstr(result.out, "\nfloat64_kappa_1e6 "));
    snprintf(path, sizeof path, "%s/angles.svg", cm_test_folder);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &svg, &size), CM_OK);
    ck_assert_ptr_nonnull(strstr(svg, "float32_calls_of_1<"));
    free(svg);
    run("benchmark sample --seconds 0.001 --json");
    ck_assert_ptr_nonnull(strstr(result.out, "\"float64_kappa_0.1\""));
    ck_assert_ptr_null(strstr(result.out, "\n\n"));
}
END_TEST

START_TEST(the_benchmark_of_an_environment_takes_its_options) {
    run("benchmark env --env catch --set rows=7 --batch 8 --seconds 0.01");
    ck_assert_msg(result.status == 0 && strstr(result.out, "catch, 8 instances"), "%s%s", result.out, result.err);
    ck_assert_str_eq(result.err, "");
}
END_TEST

START_TEST(what_is_to_be_measured_and_does_not_fit_is_refused_before_it_takes_memory) {
    run("benchmark inference --batch 1M --set hidden_dim=2048 --threads 1");
    cm_program_expect_error(&result, 1, "inferences: cannot take ");
    run("benchmark search --batch 1M --simulations 4000 --threads 1");
    cm_program_expect_error(&result, 1, "search trees: cannot take ");
    cm_program_expect_line(result.err, " are available; lower --batch or --simulations");
}
END_TEST

START_TEST(no_arguments_print_help_and_exit_2) {
    run("");
    ck_assert_int_eq(result.status, 2);
    ck_assert_ptr_nonnull(strstr(result.err, "Usage: cumind COMMAND"));
}
END_TEST

START_TEST(broken_configuration_names_file_and_line) {
    write_file("c.json", "{\n  \"MCTS\": {\n    \"num_simulations\": }\n}\n");
    expect_error("train --config c.json", 2, "c.json:3");
    write_file("c.json", "{\n  \"MCTS\": {\n    \"num_simulatons\": 3\n  }\n}\n");
    expect_error("train --config c.json", 2, "c.json:3");
    write_file("c.json", "");
    expect_error("train --config c.json", 2, "c.json");
}
END_TEST

START_TEST(configuration_here_is_used_without_being_named) {
    write_file("configuration.json", "{\"MCTS\": {\"num_simulations\": 13}}");
    run("config --explain num_simulations");
    ck_assert_int_eq(result.status, 0);
    ck_assert_msg(strstr(result.out, "13") && strstr(result.out, "configuration.json"), "%s", result.out);
    run("config --set num_simulations=14 --explain num_simulations");
    ck_assert_msg(strstr(result.out, "14") && strstr(result.out, "--set"), "%s", result.out);
}
END_TEST

START_TEST(configuration_here_that_is_a_link_to_nothing_is_not_passed_over) {
    char link[128];
    snprintf(link, sizeof link, "%s/configuration.json", cm_test_folder);
    ck_assert_int_eq(symlink("gone.json", link), 0);
    expect_error("train", 2, "configuration.json: is a link to gone.json, which is not there");
    run("doctor");
    ck_assert_msg(strstr(result.out, "is a link to gone.json"), "%s", result.out);
}
END_TEST

START_TEST(written_configuration_reads_back_the_same) {
    static char c[1 << 16], d[1 << 16];
    run("config --set batch_size=96 --write c.json");
    ck_assert_int_eq(result.status, 0);
    run("config --config c.json --write d.json");
    ck_assert_int_eq(result.status, 0);
    cm_program_file(cm_test_folder, "c.json", c, sizeof c);
    cm_program_file(cm_test_folder, "d.json", d, sizeof d);
    ck_assert_str_eq(c, d);
    ck_assert_ptr_nonnull(strstr(c, "\"batch_size\": 96"));
}
END_TEST

/* A run fits supports to its task unless they are given: a file to begin with gives none that was not chosen. */
START_TEST(a_written_configuration_gives_no_supports_that_were_not_given_and_the_help_says_so) {
    static char text[1 << 16];
    run("config --set value_support_max=77 --write e.json");
    ck_assert_int_eq(result.status, 0);
    cm_program_file(cm_test_folder, "e.json", text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\"value_support_max\": 77"));
    ck_assert_ptr_null(strstr(text, "\"reward_support_max\""));
    run("config --config e.json");
    ck_assert_ptr_nonnull(strstr(result.out, "\"reward_support_max\""));
    run("help config");
    const char *flag = strstr(result.out, "--write FILE");
    ck_assert_msg(flag && strstr(flag, "supports that are not given"), "%s", result.out);
}
END_TEST

START_TEST(search_prints_its_tree_and_checks_it) {
    run("search --case " CM_TEST_CASES "/search/g01_basic.json");
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "\"action_weights\""));
    run("search --check --case " CM_TEST_CASES "/search/g01_basic.json");
    ck_assert_int_eq(result.status, 0);
    ck_assert_str_eq(result.out, "ok\n");
}
END_TEST

START_TEST(search_of_a_foreign_file_is_exit_2) {
    write_file("f.json", "{\"format\": \"something\"}");
    expect_error("search --case f.json --check", 2, "f.json");
}
END_TEST

START_TEST(empty_folder_of_cases_is_a_failure) {
    char path[128];
    snprintf(path, sizeof path, "%s/empty", cm_test_folder);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
    run("test-cases empty");
    ck_assert_int_eq(result.status, 1);
}
END_TEST

START_TEST(unknown_cases_are_failures_named_by_file) {
    write_file("a.json", "{\"format\": \"cumind-learning-case-1\", \"kind\": \"nonsense\"}");
    write_file("b.json", "[1, 2");
    run("test-cases .");
    ck_assert_int_eq(result.status, 1);
    ck_assert_ptr_nonnull(strstr(result.out, "a.json"));
    ck_assert_ptr_nonnull(strstr(result.out, "b.json"));
    ck_assert_ptr_nonnull(strstr(result.out, "0 passed, 2 failed"));
}
END_TEST

START_TEST(cases_pass_on_every_backend) {
    run("test-cases " CM_TEST_CASES " --threads 2");
    const char *failed = strstr(result.out, "FAIL");
    ck_assert_msg(result.status == 0, "%.300s", failed ? failed : result.out); /* Check takes no long message */
    ck_assert_ptr_nonnull(strstr(result.out, " passed, 0 failed"));
}
END_TEST

START_TEST(inspect_prints_the_network_of_a_configuration) {
    run("inspect --json --set hidden_dim=64");
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "\"parameters\": "));
    ck_assert_ptr_nonnull(strstr(result.out, "\"recurrent\": {"));
}
END_TEST

START_TEST(random_play_draws_and_ends) {
    run("play --set env_name=catch --seed 3");
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "episode 0: return "));
}
END_TEST

START_TEST(doctor_finds_this_machine_well) {
    run("doctor");
    ck_assert_msg(result.status == 0, "%s", result.out);
    ck_assert_ptr_nonnull(strstr(result.out, "training       ok"));
    ck_assert_ptr_nonnull(strstr(result.out, "\ngpu            ok     "));
}
END_TEST

/* As pip installs it, with NVIDIA's packages and without the module. */
START_TEST(doctor_finds_libraries_of_nvidia_in_packages_of_python) {
    char command[512], text[4096], said[256];
    snprintf(
        command, sizeof command,
        "cd %s && mkdir -p site/cumind/lib site/nvidia/cu13/lib site/nvidia/cudnn/lib && cp %s site/cumind/lib/ && "
        "touch site/nvidia/cu13/lib/libcublasLt.so.13 site/nvidia/cudnn/lib/libcudnn.so.9 && "
        "site/cumind/lib/cumind doctor >out.txt",
        cm_test_folder, CM_TEST_PROGRAM);
    ck_assert_int_eq(system(command), 0);
    cm_program_file(cm_test_folder, "out.txt", text, sizeof text);
    ck_assert_msg(strstr(text,
                         "\ngpu libraries  ok     the module cumind_cuda.so is not installed: have the wheel of "
                         "`make wheel-cuda`, and pip install --find-links FOLDER 'cumind[cuda]'; cuBLASLt ") != NULL,
                  "%s", text);
    snprintf(said, sizeof said, "%s/site/nvidia/cudnn/lib/libcudnn.so.9; NCCL ", cm_test_folder);
    ck_assert_msg(strstr(text, "/site/nvidia/cu13/lib/libcublasLt.so.13; cuDNN ") && strstr(text, said), "%s", text);
}
END_TEST

/* The folder of its training is found by the files that it has open there. */
static void find_folder_of_training(pid_t doctor, char folder[64]) {
    static const char name[] = "/tmp/cumind-doctor-XXXXXX";
    char path[64], target[256];
    for (int i = 0; i < 20000 * 16; i++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)doctor, 3 + i % 16);
        const ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        snprintf(folder, 64, "%.*s", (int)strlen(name), target);
        if (strncmp(folder, name, strlen("/tmp/cumind-doctor-")) == 0) return;
        if (i % 16 == 15) usleep(1000);
    }
    ck_abort_msg("it does not train");
}

START_TEST(doctor_that_is_interrupted_leaves_no_folder) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    char folder[64], said[256];
    signal(SIGHUP, SIG_DFL); /* under nohup it is ignored, here and there */
    pid_t child = cm_program_start(cm_test_folder, "doctor");
    find_folder_of_training(child, folder);
    ck_assert(cm_file_exists(folder));
    kill(child, signals[_i]);
    ck_assert_int_eq(cm_program_wait(child), 128 + signals[_i]);
    ck_assert(!cm_file_exists(folder));
    if (signals[_i] == SIGHUP) return; /* of which nothing is said, as there is no terminal */
    cm_program_file(cm_test_folder, "err.txt", said, sizeof said);
    cm_program_expect_line(said, "cumind: doctor: interrupted; it has no result");
}
END_TEST

START_TEST(without_a_gpu_cuda_is_exit_1_with_the_reason_and_auto_takes_the_cpu) {
    char reason[512];
    run("devices");
    ck_assert_int_eq(result.status, 0);
    ck_assert_ptr_nonnull(strstr(result.out, "bfloat16 native, float16 native")); /* ref rounds to both */
    if (sscanf(result.out, "cuda absent %511[^\n]", reason) != 1) return;         /* this machine has one */
    expect_error("train --dtype float16", 2, "float16 is not possible on backend cpu");
    expect_error("train --backend cuda", 1, "cumind: backend cuda: ");
    ck_assert_ptr_nonnull(strstr(result.err, reason));
    expect_error("train --set device_type=gpu", 1, reason);
    run("doctor");
    ck_assert_ptr_nonnull(strstr(result.out, "\ngpu            ok     none is used: "));
    ck_assert_ptr_nonnull(strstr(result.out, reason));
    run("train --set env_steps=600 --set min_memory_steps=512 --set final_evaluation_episodes=1");
    ck_assert_int_eq(result.status, 0);
    ck_assert_int_eq(strstr(result.out, "\nno GPU    ") != NULL, cm_cuda_is_expected()); /* also test_terminal.c */
    run("train --set env_steps=600 --set min_memory_steps=512 --set final_evaluation_episodes=1 --backend cpu");
    ck_assert_ptr_null(strstr(result.out, "no GPU"));
}
END_TEST

/* Planes of a board, which only networks of convolutions take, and vectors, which they refuse. */
START_TEST(configured_network_is_timed_on_what_its_environment_shows) {
    static const char resnet[] =
        "benchmark inference --network configured --batch 2 --threads 1 --seconds 0.01s --json"
        " --set env_name=connect4 --set family=resnet --set num_blocks=1 --set conv_channels=16";
    char line[512];
    run(resnet);
    ck_assert_msg(result.status == 0, "%s", result.err);
    ck_assert_ptr_nonnull(strstr(result.out, "\"inferences_per_second\": "));
    ck_assert_ptr_nonnull(strstr(result.out, "\"int8_inferences_per_second\": "));
    snprintf(line, sizeof line, "%s --observation 8", resnet);
    run(line);
    ck_assert_int_ne(result.status, 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/usage");
    TCase *tests = tcase_create("usage");
    suite_add_tcase(suite, tests);
    for (int i = 0; i < COMMANDS; i++)
        for (char *c = commands[i]; *c; c++) *c = *c == '_' ? '-' : *c;
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, help_lists_every_command);
    tcase_add_loop_test(tests, every_command_has_help_and_a_man_page, 0, COMMANDS);
    tcase_add_loop_test(tests, flags_in_the_help_of_flags_are_the_commands_own, 0, COMMANDS);
    tcase_add_loop_test(tests, help_fits_a_narrow_terminal, 0, COMMANDS);
    tcase_add_test(tests, help_of_train_lists_every_key_that_may_change_on_resume);
    tcase_add_loop_test(tests, wrong_usage_is_one_line_and_exit_2, 0, (int)(sizeof usages / sizeof *usages));
    tcase_add_test(tests, every_environment_is_listed_by_a_name_that_opens_it);
    tcase_add_test(tests, environments_fit_a_narrow_terminal);
    tcase_add_test(tests, explanations_fit_a_narrow_terminal);
    tcase_add_test(tests, benchmarks_say_which_optimizer_and_policy_they_took);
    tcase_add_test(tests, the_benchmark_of_draws_has_a_picture);
    tcase_add_test(tests, the_benchmark_of_an_environment_takes_its_options);
    tcase_add_test(tests, what_is_to_be_measured_and_does_not_fit_is_refused_before_it_takes_memory);
    tcase_add_test(tests, no_arguments_print_help_and_exit_2);
    tcase_add_test(tests, broken_configuration_names_file_and_line);
    tcase_add_test(tests, configuration_here_is_used_without_being_named);
    tcase_add_test(tests, configuration_here_that_is_a_link_to_nothing_is_not_passed_over);
    tcase_add_test(tests, written_configuration_reads_back_the_same);
    tcase_add_test(tests, a_written_configuration_gives_no_supports_that_were_not_given_and_the_help_says_so);
    tcase_add_test(tests, search_prints_its_tree_and_checks_it);
    tcase_add_test(tests, search_of_a_foreign_file_is_exit_2);
    tcase_add_test(tests, empty_folder_of_cases_is_a_failure);
    tcase_add_test(tests, unknown_cases_are_failures_named_by_file);
    tcase_add_test(tests, cases_pass_on_every_backend);
    tcase_add_test(tests, inspect_prints_the_network_of_a_configuration);
    tcase_add_test(tests, random_play_draws_and_ends);
    tcase_add_test(tests, doctor_finds_this_machine_well);
    tcase_add_test(tests, doctor_finds_libraries_of_nvidia_in_packages_of_python);
    tcase_add_loop_test(tests, doctor_that_is_interrupted_leaves_no_folder, 0, 3);
    tcase_add_test(tests, configured_network_is_timed_on_what_its_environment_shows);
    tcase_add_test(tests, without_a_gpu_cuda_is_exit_1_with_the_reason_and_auto_takes_the_cpu);
    return cm_test_main(suite);
}
