/* Runs whose searches have another model than a learnt deterministic one, as a user meets them: the true rules, and a
 * learnt one with chance; and a run in float16, on the backend that has it everywhere. */
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

/* Runs of a second: 16 games at a time, a checkpoint every 20 updates. */
enum { ALPHAZERO, CHANCE, GIVEN, HALF, MODELS };
static const char *const small[MODELS] = {
    " --set policy=alphazero --config default --set env_name=tictactoe --set num_envs=16 --set env_steps=1024 --set "
    "temperature_threshold=3"
    " --set min_memory_steps=256 --set replay_ratio=8 --set checkpoint_updates=20"
    " --set evaluation_interval=1024 --set evaluation_episodes=4 --set final_evaluation_episodes=4",
    " --set policy=stochastic_muzero --config default --set env_name=2048 --set num_envs=16 --set env_steps=768 --set "
    "hidden_dim=32"
    " --set min_memory_steps=256 --set replay_ratio=8 --set checkpoint_updates=10 --set evaluation_simulations=8"
    " --set evaluation_interval=512 --set evaluation_episodes=4 --set final_evaluation_episodes=4",
    " --set policy=stochastic_muzero --config default --set env_name=2048 --set num_envs=16 --set env_steps=768 --set "
    "chance_codes=0"
    " --set preset=none --set family=resnet --set conv_channels=4 --set head_channels=2"
    " --set min_memory_steps=256 --set replay_ratio=4 --set checkpoint_updates=6 --set evaluation_simulations=8"
    " --set evaluation_interval=256 --set evaluation_episodes=2 --set final_evaluation_episodes=2",
    " --backend ref --dtype float16 --set loss_scale=16777216 --set loss_scale_growth_interval=10"
    " --config default --set env_name=tictactoe --set num_envs=8 --set steps_per_iteration=4 --set env_steps=256 --set "
    "num_simulations=4"
    " --set hidden_dim=16 --set min_memory_steps=64 --set batch_size=8 --set num_unroll_steps=2 --set replay_ratio=8"
    " --set checkpoint_updates=20 --set evaluation_interval=0 --set final_evaluation_episodes=2",
};

static char reference[MODELS][64];
static cm_output result;

static void expect_ok(const char *arguments) {
    cm_program_run(cm_test_folder, arguments, &result);
    ck_assert_msg(result.status == 0, "%s: status %d: %s", arguments, result.status, result.err);
}

static cm_json_doc *result_of(const char *dir) {
    char path[160];
    cm_json_doc *doc = NULL;
    snprintf(path, sizeof path, "%s/%s/result.json", cm_test_folder, dir);
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    return doc;
}

static void hash_of(const char *dir, char hash[64]) {
    cm_json_doc *doc = result_of(dir);
    snprintf(hash, 64, "%s", cm_json_string(cm_json_get(cm_json_root(doc), "parameter_hash")));
    cm_json_free(doc);
}

/* Trains in a folder of its own with further arguments. */
static void train(int model, const char *dir, const char *more) {
    char line[1024];
    snprintf(line, sizeof line, "train --quiet --run %s-%d %s%s", dir, model, more, small[model]);
    expect_ok(line);
}

static void expect_reference(int model, const char *dir) {
    char hash[64], name[64];
    snprintf(name, sizeof name, "%s-%d", dir, model);
    hash_of(name, hash);
    ck_assert_str_eq(hash, reference[model]);
}

static void begin_all(void) {
    cm_test_folder_make();
    for (int model = 0; model < MODELS; model++) {
        char name[64];
        train(model, "ref", "--threads 1");
        snprintf(name, sizeof name, "ref-%d", model);
        hash_of(name, reference[model]);
    }
}

START_TEST(threads_change_no_parameter) {
    train(_i, "two", "--threads 2");
    train(_i, "three", "--threads 3 --set prefetch_depth=0");
    expect_reference(_i, "two");
    expect_reference(_i, "three");
}
END_TEST

START_TEST(killed_run_resumes_to_the_same_parameters) {
    char line[1024], path[160];
    snprintf(line, sizeof line, "train --quiet --run killed-%d%s", _i, small[_i]);
    pid_t child = cm_program_start(cm_test_folder, line);
    snprintf(path, sizeof path, "%s/killed-%d/latest/manifest.json", cm_test_folder, _i);
    for (int i = 0; i < 20000 && !cm_file_exists(path); i++) usleep(1000);
    kill(child, SIGKILL);
    cm_program_wait(child);
    snprintf(line, sizeof line, "train --quiet --resume killed-%d", _i);
    expect_ok(line);
    expect_reference(_i, "killed");
}
END_TEST

START_TEST(trees_that_are_kept_play_other_games) {
    char hash[64];
    train(ALPHAZERO, "again", "--set reuse_tree=false");
    hash_of("again-0", hash);
    ck_assert_str_ne(hash, reference[ALPHAZERO]);
}
END_TEST

START_TEST(agents_are_evaluated_shown_and_inspected) {
    expect_ok("eval --run ref-0 --episodes 40 --set evaluation_simulations=50");
    ck_assert_ptr_nonnull(strstr(result.out, "against random"));
    expect_ok("play --run ref-0 --episodes 2 --quiet");
    ck_assert_ptr_nonnull(strstr(result.out, "episode 1: return"));
    expect_ok("inspect --run ref-0");
    ck_assert_ptr_nonnull(strstr(result.out, "prediction.value_head"));
    ck_assert_ptr_null(strstr(result.out, "dynamics"));
    ck_assert_ptr_null(strstr(result.out, "recurrent"));
    expect_ok("eval --run ref-1 --episodes 3");
    expect_ok("inspect --run ref-1");
    ck_assert_ptr_nonnull(strstr(result.out, "encoder.2.weight"));
    ck_assert_ptr_nonnull(strstr(result.out, "dynamics.code.weight"));
    ck_assert_ptr_nonnull(strstr(result.out, "\nafterstate "));
    expect_ok("inspect --run ref-2");
    ck_assert_ptr_null(strstr(result.out, "encoder"));
    ck_assert_ptr_nonnull(strstr(result.out, "afterstate.stem.weight"));
}
END_TEST

START_TEST(metrics_hold_what_chance_costs) {
    for (int model = 0; model < MODELS; model++) {
        char text[1 << 16], name[64];
        snprintf(name, sizeof name, "ref-%d/metrics.jsonl", model);
        cm_program_file(cm_test_folder, name, text, sizeof text);
        ck_assert((strstr(text, "\"code_loss\": ") != NULL) == (model == CHANCE || model == GIVEN));
        ck_assert((strstr(text, "\"commitment_loss\": ") != NULL) == (model == CHANCE));
    }
}
END_TEST

/* What the last line of a run's metrics says. */
static void last_scaling(const char *metrics, double *scale, double *skipped) {
    char text[1 << 16];
    const char *last = NULL;
    cm_program_file(cm_test_folder, metrics, text, sizeof text);
    for (const char *at = text; (at = strstr(at, "\"loss_scale\": ")); at++) last = at;
    ck_assert_ptr_nonnull(last);
    ck_assert_int_eq(sscanf(last, "\"loss_scale\": %lf, \"skipped_steps\": %lf", scale, skipped), 2);
}

/* From 2^24 the scale falls until gradients fit, and then tries more again and again. */
START_TEST(metrics_and_report_tell_of_loss_scale_and_skipped_steps) {
    char line[1024];
    double scale, skipped;
    last_scaling("ref-3/metrics.jsonl", &scale, &skipped);
    ck_assert_msg(scale < 16777216.0 && scale > 1.0, "scale %g", scale);
    ck_assert_msg(skipped > log2(16777216.0 / scale), "%g skipped, scale %g", skipped, scale);
    snprintf(line, sizeof line, "train --run said%s", small[HALF]);
    expect_ok(line);
    ck_assert_msg(strstr(result.out, " of 192 updates were skipped") != NULL, "%s", result.out);
}
END_TEST

START_TEST(a_game_is_learnt_in_float16_though_steps_are_skipped) {
    expect_ok("train --quiet --run half --seed 1 --backend ref --dtype float16 --config default --set env_name=catch "
              "--set rows=5"
              " --set columns=3 --set num_simulations=8 --set td_steps=4 --set replay_ratio=16 --set batch_size=32"
              " --set num_envs=16 --set steps_per_iteration=4 --set min_memory_steps=200 --set env_steps=2400"
              " --set hidden_dim=16 --set value_transform=false --set value_support_min=-1 --set value_support_max=1"
              " --set value_support_size=3 --set reward_support_min=-1 --set reward_support_max=1"
              " --set reward_support_size=3 --set learning_rate=0.003 --set evaluation_interval=0");
    double scale, skipped;
    last_scaling("half/metrics.jsonl", &scale, &skipped);
    ck_assert_msg(skipped >= 1.0 && scale == ldexp(65536.0, (int)-skipped), "%g skipped, scale %g", skipped, scale);
    cm_json_doc *doc = result_of("half");
    double mean = cm_json_number(cm_json_get(cm_json_root(doc), "mean"), NAN);
    cm_json_free(doc);
    ck_assert_msg(mean >= 0.8, "mean return %g over 100 games", mean);
}
END_TEST

/* A game whose only chance is in its start: the codes have nothing to tell. */
START_TEST(a_game_without_chance_is_learnt_all_the_same) {
    expect_ok("train --quiet --run catch --seed 1 --set policy=stochastic_muzero --config default --set env_name=catch "
              "--set rows=5"
              " --set columns=3 --set chance_codes=4 --set num_simulations=16 --set td_steps=4 --set replay_ratio=64"
              " --set steps_per_iteration=4 --set min_memory_steps=200 --set env_steps=2400 --set hidden_dim=32"
              " --set value_transform=false --set value_support_min=-1 --set value_support_max=1"
              " --set value_support_size=3 --set reward_support_min=-1 --set reward_support_max=1"
              " --set reward_support_size=3 --set learning_rate=0.002 --set evaluation_interval=0"
              " --set evaluation_simulations=16");
    cm_json_doc *doc = result_of("catch");
    double mean = cm_json_number(cm_json_get(cm_json_root(doc), "mean"), NAN);
    cm_json_free(doc);
    ck_assert_msg(mean >= 0.8, "mean return %g over 100 games", mean);
}
END_TEST

static const struct {
    const char *arguments, *says;
} refused[] = {
    {"train --set policy=alphazero --config default --set env_name=2048",
     "MCTS.policy: alphazero searches on the true rules"},
    {"train --set policy=stochastic_muzero --config default --set env_name=connect4 --set chance_codes=0",
     "connect4 does not"},
};

START_TEST(a_policy_that_does_not_fit_the_game_is_one_line) {
    cm_program_run(cm_test_folder, refused[_i].arguments, &result);
    cm_program_expect_error(&result, 2, refused[_i].says);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/models");
    TCase *t = tcase_create("models");
    tcase_add_unchecked_fixture(t, begin_all, cm_test_folder_remove);
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, threads_change_no_parameter, 0, MODELS);
    tcase_add_loop_test(t, killed_run_resumes_to_the_same_parameters, 0, MODELS);
    tcase_add_test(t, trees_that_are_kept_play_other_games);
    tcase_add_test(t, agents_are_evaluated_shown_and_inspected);
    tcase_add_test(t, metrics_hold_what_chance_costs);
    tcase_add_test(t, metrics_and_report_tell_of_loss_scale_and_skipped_steps);
    tcase_add_loop_test(t, a_policy_that_does_not_fit_the_game_is_one_line, 0, 2);
    suite_add_tcase(suite, t);
    TCase *goals = tcase_create("goals");
    tcase_set_tags(goals, "goals");
    tcase_add_unchecked_fixture(goals, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(goals, 120);
    tcase_add_test(goals, a_game_is_learnt_in_float16_though_steps_are_skipped);
    tcase_add_test(goals, a_game_without_chance_is_learnt_all_the_same);
    suite_add_tcase(suite, goals);
    return cm_test_main(suite);
}
