#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/log.h"
#include "run/configuration.h"
#include "run/learner.h"
#include "support/folder.h"
#include "support/main.h"

#define ROOT CM_TEST_CASES "/../.."

static cm_configuration c;
static cm_config *config;
static int warnings;
static char warning[512]; /* the last one */

static bool count_warning(void *context, cm_log_level level, const char *line) {
    (void)context;
    if (level != CM_WARNING) return true;
    warnings++;
    snprintf(warning, sizeof warning, "%s", line);
    return true;
}

static void setup(void) {
    warnings = 0;
    cm_log_set_hook(count_warning, NULL);
}

static void teardown(void) {
    cm_config_destroy(config);
    config = NULL;
    cm_log_set_hook(NULL, NULL);
}

/* Loads a file (NULL: none) and up to two assignments. */
static cm_status load(const char *path, const char *a, const char *b) {
    const char *assignments[] = {a, b};
    cm_config_destroy(config);
    return cm_configuration_load(path, assignments, (a != NULL) + (b != NULL), &c, &config);
}

static void assert_loads(const char *path, const char *a, const char *b) {
    cm_status status = load(path, a, b);
    ck_assert_msg(status == CM_OK, "%s", cm_error_message());
}

START_TEST(defaults_are_the_cartpole_recipe) {
    assert_loads(NULL, NULL, NULL);
    ck_assert_int_eq(warnings, 0);
    ck_assert_str_eq(c.env.env_name, "CartPole-v1");
    ck_assert_int_eq(c.env.num_envs, 32);
    ck_assert_int_eq(c.agent.steps_per_iteration, 8);
    ck_assert_int_eq(c.mcts.policy, CM_MCTS_MUZERO);
    ck_assert_int_eq(c.mcts.num_simulations, 8);
    ck_assert_double_eq(c.mcts.exploration_fraction, 0.25);
    ck_assert_double_eq(c.mcts.dirichlet_alpha, 0.3);
    ck_assert_double_eq(c.agent.temperature, 1.0);
    /* 64 updates of 128 positions per 256 new steps */
    ck_assert_double_eq(c.trainer.replay_ratio * c.env.num_envs * c.agent.steps_per_iteration,
                        64.0 * c.trainer.batch_size);
    ck_assert_int_eq(c.replay.num_unroll_steps, 3);
    ck_assert_int_eq(c.replay.td_steps, 30);
    ck_assert_double_eq(c.replay.discount, 0.997);
    ck_assert_int_eq(c.replay.memory_steps, 5000);
    ck_assert_int_eq(c.replay.min_memory_steps, 1000);
    ck_assert(!c.replay.prioritized);
    ck_assert_double_eq(c.trainer.ema_decay, 0.98);
    ck_assert(c.trainer.ema_acts && c.trainer.ema_evaluates && c.trainer.ema_bootstraps);
    ck_assert_int_eq(c.trainer.target_update_frequency, 0);
    ck_assert_int_eq(c.trainer.optimizer, CM_OPTIMIZER_ADAMW);
    ck_assert_double_eq(c.trainer.learning_rate, 3e-3);
    ck_assert_double_eq(c.trainer.final_learning_rate, 0.02 * c.trainer.learning_rate);
    ck_assert_int_eq(c.trainer.schedule, CM_RATE_COSINE);
    ck_assert_int_eq(c.trainer.warmup_steps, 50);
    ck_assert_int_eq(c.run.env_steps, 15872);
    ck_assert_int_eq(c.network.value_support_size, 41);
}
END_TEST

START_TEST(default_network_is_preset_small) {
    assert_loads(NULL, NULL, NULL);
    cm_network_options before = c.network;
    cm_network_options_apply(&c.network, CM_PRESET_SMALL);
    ck_assert_mem_eq(&before, &c.network, sizeof before);
}
END_TEST

START_TEST(shipped_configuration_is_the_defaults) {
    char path[CM_TEST_PATH], *shipped, *want;
    size_t size, want_size;
    assert_loads(NULL, NULL, NULL);
    cm_test_file_make(path);
    ck_assert_int_eq(cm_config_save(config, path), CM_OK);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &want, &want_size), CM_OK);
    ck_assert_int_eq(cm_file_read(ROOT "/configuration.json", 1 << 20, &shipped, &size), CM_OK);
    ck_assert_msg(size == want_size && memcmp(shipped, want, want_size) == 0,
                  "configuration.json is stale: run `make docs`");
    free(shipped);
    free(want);
    assert_loads(ROOT "/configuration.json", NULL, NULL);
    ck_assert_int_eq(warnings, 0);
}
END_TEST

START_TEST(manual_in_docs_is_fresh) {
    char *want, *is;
    size_t size;
    assert_loads(NULL, NULL, NULL);
    ck_assert_int_eq(cm_config_manual(config, &want), CM_OK);
    ck_assert_int_eq(cm_file_read(ROOT "/docs/CONFIGURATION.md", 1 << 20, &is, &size), CM_OK);
    ck_assert_msg(strcmp(want, is) == 0, "docs/CONFIGURATION.md is stale: run `make docs`");
    free(want);
    free(is);
}
END_TEST

START_TEST(sections_stand_in_the_order_of_the_original) {
    static const char *const original[] = {"Network architecture", "Training",  "MCTS",
                                           "Environment",          "Self-Play", "Memory",
                                           "Data Types",           "Device",    "Other"};
    assert_loads(NULL, NULL, NULL);
    int next = 0;
    for (int i = 0; cm_config_row(config, i); i++)
        if (next < 9 && strcmp(cm_config_row(config, i)->section, original[next]) == 0) next++;
    ck_assert_int_eq(next, 9);
}
END_TEST

START_TEST(file_of_the_original_is_accepted_with_its_meaning) {
    assert_loads(CM_TEST_CASES "/cumind/configuration.json", NULL, NULL);
    ck_assert_int_eq(warnings, 0);
    ck_assert_int_eq(c.network.hidden_dim, 128);
    ck_assert_int_eq(c.trainer.batch_size, 64);
    ck_assert_double_eq(c.trainer.learning_rate, 0.01);
    ck_assert_int_eq(c.trainer.target_update_frequency, 250);
    ck_assert(!c.trainer.ema_bootstraps);
    ck_assert_int_eq(c.trainer.train_frequency, 2);
    ck_assert_double_eq(c.trainer.replay_ratio, 0.0); /* gave way */
    ck_assert_int_eq(c.run.num_episodes, 1220);
    ck_assert_int_eq(c.run.env_steps, 0);
    ck_assert_int_eq(c.run.checkpoint_interval, 50);
    ck_assert_int_eq(c.run.checkpoint_updates, 0);
    ck_assert_str_eq(c.run.checkpoint_root_dir, "checkpoints");
    ck_assert_int_eq(c.mcts.num_simulations, 25);
    ck_assert_double_eq(c.mcts.dirichlet_alpha, 0.25);
    ck_assert_int_eq(c.env.action_space_size, 2);
    ck_assert_int_eq(c.env.observation_shape.rank, 1);
    ck_assert_int_eq(c.env.observation_shape.extent[0], 4);
    ck_assert_int_eq(c.replay.memory_capacity, 2000);
    ck_assert_int_eq(c.replay.memory_steps, 0);
    ck_assert_int_eq(c.replay.min_memory_size, 100);
    ck_assert_int_eq(c.replay.min_memory_steps, 0);
    ck_assert_double_eq(c.replay.min_memory_pct, 0.1);
    ck_assert_double_eq(c.replay.per_epsilon, 1e-6);
    ck_assert_int_eq(c.run.device_type, CM_DEVICE_TYPE_CPU);
    ck_assert_int_eq(c.run.seed, 42);
}
END_TEST

/* The effective configuration of the original's file, read back, means the same. */
/* A run where configuration.json lies has supports that fit, too; what a file says is meant. */
START_TEST(a_file_for_new_runs_leaves_out_what_fits_the_task) {
    char path[CM_TEST_PATH], *text;
    size_t size;
    cm_test_file_make(path);
    assert_loads(NULL, "reward_support_max=30", NULL);
    ck_assert_int_eq(cm_config_save(config, path), CM_OK);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    ck_assert_ptr_null(strstr(text, "value_support_size"));
    ck_assert_ptr_nonnull(strstr(text, "\"reward_support_max\": 30.0"));
    assert_loads(path, NULL, NULL);
    ck_assert(c.network.fits_value_support && !c.network.fits_reward_support);
    free(text);
}
END_TEST

START_TEST(effective_configuration_reads_back_to_itself) {
    static const char *const assignments[] = {"preset=plain", "family=cumind",        "ema_decay=0",
                                              "updates=7",    "policy=gumbel_muzero", "policy=alphazero"};
    for (int i = 0; i < 6; i++) {
        assert_loads(CM_TEST_CASES "/cumind/configuration.json", assignments[i], NULL);
        cm_configuration before = c, after;
        cm_json_writer *writer;
        cm_config *again;
        cm_config_difference *difference;
        size_t size;
        int count;
        ck_assert_int_eq(cm_json_writer_create(2, &writer), CM_OK);
        ck_assert_int_eq(cm_config_write(config, writer), CM_OK);
        const char *text = cm_json_writer_text(writer, &size);
        ck_assert_int_eq(cm_configuration_create(&after, &again), CM_OK);
        ck_assert_int_eq(cm_config_parse(again, text, size, "effective"), CM_OK);
        ck_assert_int_eq(cm_configuration_finish(again, &after), CM_OK);
        ck_assert_int_eq(cm_config_compare(config, again, &difference, &count), CM_OK);
        ck_assert_msg(count == 0, "%s: %s", assignments[i], count ? difference[0].key : "");
        ck_assert_int_eq(before.run.updates, after.run.updates);
        free(difference);
        cm_config_destroy(again);
        cm_json_writer_destroy(writer);
    }
}
END_TEST

START_TEST(preset_beats_a_file_but_not_a_key_next_to_it) {
    assert_loads(ROOT "/configuration.json", "preset=plain", "norm=batch");
    ck_assert_int_eq(c.network.norm, CM_NORM_BATCH);
    ck_assert_int_eq(c.network.state_norm, CM_STATE_NORM_NONE);
    ck_assert_int_eq(c.network.value_support_size, 21);
    ck_assert_str_eq(cm_config_origin_of(config, "state_norm"), "preset plain");
    assert_loads(NULL, "state_norm=none", NULL); /* beats the default preset */
    ck_assert_int_eq(c.network.state_norm, CM_STATE_NORM_NONE);
    ck_assert_int_eq(c.network.value_support_size, 41);
}
END_TEST

/* Whether the supports fit the task. */
static void expect_fits(const char *one, const char *two, bool value, bool reward) {
    assert_loads(NULL, one, two);
    ck_assert_int_eq(c.network.fits_value_support, value);
    ck_assert_int_eq(c.network.fits_reward_support, reward);
}

START_TEST(supports_fit_the_task_unless_they_are_given) {
    expect_fits(NULL, NULL, true, true);
    expect_fits("family=resnet", NULL, true, true);
    expect_fits("value_support_max=30", NULL, false, true);
    expect_fits("value_support_min=-30", "reward_support_size=51", false, false);
    expect_fits("preset=small", NULL, true, true);
    expect_fits("preset=plain", NULL, false, false);
    expect_fits("family=cumind", NULL, false, false);
    expect_fits("policy=alphazero", NULL, true, false);
    assert_loads(ROOT "/configuration.json", NULL, NULL);
    ck_assert(c.network.fits_value_support && c.network.fits_reward_support);
}
END_TEST

START_TEST(family_leaves_the_preset_and_the_original_has_scalar_heads) {
    assert_loads(ROOT "/configuration.json", "family=cumind", NULL);
    ck_assert_int_eq(c.network.preset, CM_PRESET_NONE);
    ck_assert_int_eq(c.network.value_support_size, 1);
    assert_loads(NULL, "family=resnet", NULL);
    ck_assert_int_eq(c.network.value_support_size, 41);
}
END_TEST

START_TEST(limit_on_the_command_line_takes_the_place_of_the_file_s) {
    assert_loads(ROOT "/configuration.json", "updates=20000", NULL);
    ck_assert_int_eq(c.run.updates, 20000);
    ck_assert_int_eq(c.run.env_steps, 0);
    assert_loads(ROOT "/configuration.json", "time_limit=60", NULL); /* a cap, not an alternative */
    ck_assert_int_eq(c.run.env_steps, 15872);
}
END_TEST

START_TEST(length_on_the_command_line_is_not_cut_short_by_the_time_of_a_file) {
    static const char *const lengths[] = {"env_steps=100000", "updates=900", "num_episodes=50"};
    static const char file[] = "{\"Training\": {\"time_limit\": 60}}";
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(cm_configuration_create(&c, &config), CM_OK);
        ck_assert_int_eq(cm_config_parse(config, file, sizeof file - 1, "c.json"), CM_OK);
        ck_assert_int_eq(cm_config_set(config, lengths[i]), CM_OK);
        ck_assert_int_eq(cm_configuration_finish(config, &c), CM_OK);
        ck_assert_double_eq(c.run.time_limit, 0.0);
        cm_config_destroy(config), config = NULL;
    }
    assert_loads(NULL, "time_limit=60", NULL);
    ck_assert_int_eq(cm_config_assign(config, "updates", "900", "--updates"), CM_OK); /* both are meant */
    ck_assert_int_eq(cm_configuration_finish(config, &c), CM_OK);
    ck_assert_double_eq(c.run.time_limit, 60.0);
}
END_TEST

START_TEST(time_that_is_given_alone_is_the_length_of_a_new_run) {
    assert_loads(NULL, NULL, NULL);
    ck_assert_int_eq(cm_config_assign(config, "time_limit", "60", "--time"), CM_OK);
    cm_configuration_prefer_time(config, &c);
    ck_assert_int_eq(cm_configuration_finish(config, &c), CM_OK);
    ck_assert(c.run.env_steps == 0 && c.run.updates == 0 && !c.run.stop_at_goal && c.run.time_limit == 60.0);
    ck_assert_str_eq(cm_config_origin_of(config, "env_steps"), "time_limit");
    ck_assert(cm_run_learner_is_timed(&c));
    assert_loads(NULL, "time_limit=60", "env_steps=9000"); /* whichever comes first */
    cm_configuration_prefer_time(config, &c);
    ck_assert(c.run.env_steps == 9000 && !cm_run_learner_is_timed(&c));
    static const char file[] = "{\"Training\": {\"time_limit\": 60}}";
    assert_loads(NULL, NULL, NULL);
    ck_assert_int_eq(cm_config_parse(config, file, sizeof file - 1, "c.json"), CM_OK);
    cm_configuration_prefer_time(config, &c); /* a cap of a file */
    ck_assert(c.run.env_steps == 15872 && c.run.stop_at_goal);
}
END_TEST

START_TEST(keys_that_contradict_each_other_are_one_clear_error) {
    static const struct {
        const char *a, *b, *message;
    } cases[] = {
        {"device_type=tpu", NULL, "--set: Device.device_type: cumind does not run on TPUs"},
        {"device_type=cpu", "backend=cuda", "--set: Device.backend: does not run on device_type \"cpu\""},
        {"device_type=gpu", "backend=ref", "--set: Device.backend: does not run on device_type \"gpu\""},
        {"device_type=cpu", "model_dtype=float16", "use \"bfloat16\""},
        {"backend=cpu", "model_dtype=float16", "use \"bfloat16\""},
        {"observation_shape=4,5", NULL, "must be [features] or [height, width, channels], got 2 numbers"},
        {"reset_low=0.5", "reset_high=0.1", "0.5 is above reset_high 0.1"},
        {"qtransform=min_max", "max_value=-2", "must be above min_value -1, got -2"},
        {"value_support_max=-20", NULL, "must be above value_support_min -20 with value_support_size 41, got -20"},
        {"reward_support_min=30", NULL, "reward_support_max: must be above reward_support_min 30 with"},
        {"preset=small", "family=resnet", "the presets are networks of family mlp"},
        {"family=resnet", "conv_channels=0", "family resnet needs at least 1"},
        {"replay_ratio=0", NULL, "how much is to be learnt?"},
        {"target_update_frequency=100", "ema_bootstraps=true", "set this to 0, or ema_bootstraps to false"},
        {"env_steps=0", NULL, "the run would never end"},
        {"memory_steps=0", NULL, "the memory has no size"},
        {"min_memory_steps=5001", NULL, "waits for 5001 steps, but the memory holds 5000"},
        {"min_memory_pct=0.5", NULL, "is a fraction of memory_capacity, which is 0"},
        {"policy=stochastic_muzero", "family=cumind",
         "policy stochastic_muzero needs a network of family mlp or resnet"},
        {"policy=stochastic_muzero", "num_unroll_steps=0", "learns what chance does by unrolling"},
        {"policy=stochastic_muzero", "augmentation_shift=4", "two pictures, which would be shifted apart"},
        {"policy=stochastic_muzero", "augmentation_intensity=0.1", "two pictures, which must be equally bright"},
        {"policy=alphazero", "num_unroll_steps=3", "policy alphazero has no dynamics to unroll"},
        {"policy=alphazero", "consistency_weight=2", "policy alphazero predicts no states to compare"},
        {"policy=alphazero", "reanalyse_ratio=0.5", "which the memory does not keep"},
        {"policy=alphazero", "reanalyse=buffer", "which the memory does not keep: set it to batch"},
        {"reanalyse=buffer", NULL, "buffer searches with the target network: set target_update_frequency"},
        {"collect=false", "updates=0", "Self-Play.collect: no steps end an offline run"},
        {"collect=false", "env_steps=9", "Training.env_steps: the run is offline (collect is false)"},
        {"collect=false", "num_episodes=9", "Training.num_episodes: the run is offline (collect is false)"},
        {"collect=false", "checkpoint_interval=9", "the run is offline (collect is false): set checkpoint_updates"},
        {"value_prefix=true", "family=cumind", "Network architecture.value_prefix: is for networks of family mlp or"},
        {"value_prefix=true", "policy=alphazero", "Network architecture.value_prefix: policy alphazero predicts no"},
        {"memory_capacity=5", "min_memory_size=6", "waits for 6 episodes, but the memory holds 5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(load(NULL, cases[i].a, cases[i].b) == CM_ERR_INPUT, "accepted: %s", cases[i].a);
        ck_assert_msg(strstr(cm_error_message(), cases[i].message) != NULL, "%s: got \"%s\"", cases[i].a,
                      cm_error_message());
        ck_assert_ptr_null(config);
    }
}
END_TEST

START_TEST(alphazero_unrolls_nothing_and_selects_as_it_is_told) {
    assert_loads(ROOT "/configuration.json", "policy=alphazero", NULL);
    ck_assert_int_eq(c.replay.num_unroll_steps, 0);
    ck_assert_str_eq(cm_config_origin_of(config, "num_unroll_steps"), "policy alphazero");
    ck_assert(!cm_mcts_is_gumbel(&c.mcts) && cm_mcts_keeps_trees(&c.mcts));
    assert_loads(NULL, "policy=alphazero", "selection=gumbel");
    ck_assert(cm_mcts_is_gumbel(&c.mcts) && !cm_mcts_keeps_trees(&c.mcts));
    assert_loads(NULL, "policy=alphazero", "max_depth=5");
    ck_assert(!cm_mcts_keeps_trees(&c.mcts));
    assert_loads(NULL, "policy=gumbel_muzero", NULL);
    ck_assert(cm_mcts_is_gumbel(&c.mcts));
    assert_loads(NULL, "policy=muzero", NULL);
    ck_assert(!cm_mcts_is_gumbel(&c.mcts) && !cm_mcts_keeps_trees(&c.mcts));
}
END_TEST

/* 10,000 steps of 8 environments: 1,250 of each are drawn. */
START_TEST(no_more_of_an_episode_is_kept_in_one_segment_than_is_drawn_of_its_environment) {
    static const struct {
        const char *memory, *environments;
        cm_env_spec spec;
        int want;
    } cases[] = {
        {"memory_steps=10000", "num_envs=8", {.max_steps = 500, .max_plies = 500}, 500},
        {"memory_steps=10000", "num_envs=8", {.max_steps = 27000, .max_plies = 27000}, 1250},
        {"memory_steps=10000", "num_envs=64", {.max_steps = 27000, .max_plies = 27000}, 1000},
        {"memory_steps=1000000", "num_envs=8", {.max_steps = 27000, .max_plies = 27000}, 27000},
        {"memory_steps=1000000", "num_envs=8", {.max_steps = 108000, .max_plies = 108000}, 65536},
        {"memory_steps=10000", "num_envs=8", {.max_plies = 81}, 81},
        {"memory_steps=10000", "num_envs=8", {.max_plies = 0}, 1000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_loads(NULL, cases[i].memory, cases[i].environments);
        ck_assert_int_eq(cm_run_learner_segment(&c, &cases[i].spec), cases[i].want);
    }
    assert_loads(CM_TEST_CASES "/cumind/configuration.json", NULL, NULL); /* so many episodes, however long */
    ck_assert_int_eq(cm_run_learner_segment(&c, &cases[1].spec), 27000);
}
END_TEST

/* 64 updates for 256 steps: an evaluation every 2,048 steps is one every 512 updates. */
START_TEST(everything_of_an_offline_run_goes_by_updates) {
    assert_loads(ROOT "/configuration.json", "collect=false", "updates=900");
    ck_assert(c.run.env_steps == 0 && c.run.updates == 900 && c.run.evaluation_interval == 0);
    ck_assert_int_eq(c.run.evaluation_updates, 512);
    ck_assert_double_eq(c.agent.reanalyse_ratio, 1.0);
    ck_assert_str_eq(cm_config_origin_of(config, "reanalyse_ratio"), "collect false");
    ck_assert_int_eq(cm_run_learner_round(&c), 64);
    ck_assert_int_eq(cm_run_learner_plan(&c), 900);
    const char *const rates[] = {"collect=false",           "updates=9",
                                 "evaluation_interval=300", "num_envs=10",
                                 "steps_per_iteration=10",  "updates_per_iteration=7"};
    cm_config_destroy(config);
    ck_assert_int_eq(cm_configuration_load(NULL, rates, 6, &c, &config), CM_OK);
    ck_assert_int_eq(cm_run_learner_round(&c), 7);
    ck_assert_int_eq(c.run.evaluation_updates, 21);
    const char *const episodes[] = {"collect=false", "updates=9", "evaluation_updates=8", "train_frequency=5"};
    cm_config_destroy(config);
    ck_assert_int_eq(cm_configuration_load(NULL, episodes, 4, &c, &config), CM_OK);
    ck_assert_int_eq(cm_run_learner_round(&c), 1);
    ck_assert_int_eq(c.run.evaluation_updates, 8);
    assert_loads(CM_TEST_CASES "/cumind/configuration.json", NULL, NULL);
    ck_assert_int_gt(c.run.checkpoint_interval, 0); /* finished episodes, of which there will be none */
    assert_loads(CM_TEST_CASES "/cumind/configuration.json", "collect=false", "updates=9");
    ck_assert(c.run.checkpoint_interval == 0 && c.run.checkpoint_updates == 1000);
}
END_TEST

START_TEST(nothing_of_an_offline_run_waits_for_steps) {
    const char *const small[] = {"memory_steps=300", "updates=9", "collect=false"};
    ck_assert_int_eq(cm_configuration_load(NULL, small, 2, &c, &config), CM_ERR_INPUT);
    ck_assert_int_eq(cm_configuration_load(NULL, small, 3, &c, &config), CM_OK);
}
END_TEST

START_TEST(average_of_decay_0_is_used_for_nothing) {
    assert_loads(ROOT "/configuration.json", "ema_decay=0", NULL);
    ck_assert(!c.trainer.ema_acts && !c.trainer.ema_evaluates && !c.trainer.ema_bootstraps);
    ck_assert_str_eq(cm_config_origin_of(config, "ema_acts"), "ema_decay 0");
}
END_TEST

START_TEST(length_of_higher_precedence_than_the_goal_is_meant) {
    assert_loads(ROOT "/configuration.json", "seed=1", NULL);
    ck_assert(c.run.stop_at_goal);
    assert_loads(ROOT "/configuration.json", "env_steps=5000", NULL);
    ck_assert(!c.run.stop_at_goal);
    ck_assert_str_eq(cm_config_origin_of(config, "stop_at_goal"), "env_steps");
    assert_loads(ROOT "/configuration.json", "num_episodes=50", NULL);
    ck_assert(!c.run.stop_at_goal);
    assert_loads(ROOT "/configuration.json", "env_steps=5000", "stop_at_goal=true");
    ck_assert(c.run.stop_at_goal);
}
END_TEST

/* A flag comes after all --set, whose goal or time would be lost. */
START_TEST(goal_and_time_with_a_length_of_a_flag_stand) {
    ck_assert_int_eq(cm_configuration_create(&c, &config), CM_OK);
    ck_assert_int_eq(cm_config_read(config, ROOT "/configuration.json"), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "stop_at_goal=true"), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "goal_return=5"), CM_OK);
    ck_assert_int_eq(cm_config_set(config, "time_limit=60"), CM_OK);
    ck_assert_int_eq(cm_config_assign(config, "updates", "40", "--updates"), CM_OK);
    warnings = 0;
    ck_assert_int_eq(cm_configuration_finish(config, &c), CM_OK);
    ck_assert(c.run.stop_at_goal);
    ck_assert_double_eq(c.run.time_limit, 60.0);
    ck_assert_int_eq(warnings, 0);
}
END_TEST

START_TEST(keys_without_effect_are_warned_of) {
    static const char *const idle[] = {"gumbel_scale=2",
                                       "momentum=0.5",
                                       "per_alpha=1",
                                       "head_channels=4",
                                       "conv_channels=64",
                                       "decay_rate=0.5",
                                       "min_value=-2",
                                       "value_scale=1",
                                       "stop_at_goal=false goal_return=5",
                                       "evaluation_interval=0 evaluation_episodes=7",
                                       "random_move_steps=4",
                                       "random_move_end=0.5",
                                       "train_frequency=4 replay_ratio=1",
                                       "target_dtype=bfloat16",
                                       "consistency_output=64",
                                       "policy=gumbel_muzero temperature=0.5",
                                       "selection=gumbel",
                                       "chance_codes=8",
                                       "chance_weight=2",
                                       "commitment_weight=2",
                                       "reuse_tree=false",
                                       "policy=alphazero reward_weight=2",
                                       "policy=alphazero value_scale=1",
                                       "komi=0.5",
                                       "swap=true",
                                       "env_name=go9 reset_low=-1",
                                       "board_size=9"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
        char first[64];
        const char *space = strchr(idle[i], ' ');
        snprintf(first, sizeof first, "%.*s", (int)(space ? space - idle[i] : (long)strlen(idle[i])), idle[i]);
        warnings = 0;
        assert_loads(NULL, first, space ? space + 1 : NULL);
        ck_assert_msg(warnings == 1, "%s: %d warnings", idle[i], warnings);
    }
    static const char *const used[][2] = {{"optimizer=sgd", "momentum=0.5"}, {"env_name=go9", "komi=0.5"},
                                          {"env_name=hex", "swap=true"},     {"env_name=Pendulum-v1", "x_init=1"},
                                          {"env_name=go", "board_size=5"},   {"env_name=unknown", "komi=1"}};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
        warnings = 0;
        assert_loads(NULL, used[i][0], used[i][1]);
        ck_assert_msg(warnings == 0, "%s: %d warnings", used[i][1], warnings);
    }
}
END_TEST

START_TEST(values_that_cannot_work_are_warned_of) {
    static const char *const foolish[][2] = {{"num_unroll_steps=0", NULL},
                                             {"num_simulations=1", NULL},
                                             {"temperature=0", "exploration_fraction=0"},
                                             {"batch_size=5001", NULL},
                                             {"warmup_steps=5000", NULL},
                                             {"updates=1000", "warmup_steps=1000"},
                                             {"ema_decay=0.9999", NULL},
                                             {"env_steps=2000", "min_memory_steps=2048"},
                                             {"steps_per_iteration=500", NULL},
                                             {"num_envs=2000", NULL},
                                             {"replay_ratio=0.008", NULL},
                                             {"num_episodes=9", "replay_ratio=0.0099"}};
    static const char *const sound[][2] = {{"policy=alphazero", NULL},
                                           {"num_simulations=1", "policy=gumbel_muzero"},
                                           {"temperature=0", NULL},
                                           {"batch_size=5000", NULL},
                                           {"updates=1", NULL},
                                           {"updates=1001", "warmup_steps=1000"},
                                           {"ema_decay=0.99", NULL},
                                           {"ema_decay=0", "updates=1"},
                                           {"env_steps=2000", "min_memory_steps=2047"},
                                           {"steps_per_iteration=496", NULL},
                                           {"updates=100", "min_memory_steps=5000"},
                                           {"replay_ratio=0.009", NULL},
                                           {"num_episodes=9", "replay_ratio=0.01"},
                                           {"num_episodes=9", "train_frequency=1"},
                                           {"env_steps=100", NULL}};
    for (size_t i = 0; i < sizeof foolish / sizeof *foolish; i++) {
        warnings = 0;
        assert_loads(NULL, foolish[i][0], foolish[i][1]);
        ck_assert_msg(warnings == 1, "%s: %d warnings", foolish[i][0], warnings);
    }
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        warnings = 0;
        assert_loads(NULL, sound[i][0], sound[i][1]);
        ck_assert_msg(warnings == 0, "%s: %d warnings", sound[i][0], warnings);
    }
    warnings = 0;
    assert_loads(ROOT "/configuration.json", "env_steps=10", NULL); /* a short trial of the defaults, written out */
    ck_assert_int_eq(warnings, 0);
}
END_TEST

START_TEST(a_row_that_a_batch_norm_sees_alone_is_warned_of) {
    assert_loads(NULL, "norm=batch", "batch_size=129");
    ck_assert_str_eq(warning, "--set: Training.batch_size: a batch of 129 in chunks of 64, as on a CPU, leaves one row "
                              "alone, of which a batch norm makes zeros: set another batch_size or chunk_rows");
    assert_loads(NULL, "norm=batch", "chunk_rows=1");
    ck_assert_str_eq(warning,
                     "--set: Training.chunk_rows: a batch of 128 in chunks of 1 leaves one row alone, of which a "
                     "batch norm makes zeros: set another batch_size or chunk_rows");
    assert_loads(NULL, "norm=batch", "batch_size=128");
    assert_loads(NULL, "norm=layer", "batch_size=129");
    ck_assert_int_eq(warnings, 2);
}
END_TEST

START_TEST(learning_that_hardly_ever_happens_is_warned_of_with_the_steps_it_takes) {
    assert_loads(NULL, "updates=10", "replay_ratio=8e-7");
    ck_assert_str_eq(warning, "--set: Training.replay_ratio: 8e-07 makes an update every 160.0M steps, and the 10 of "
                              "this run take 1.6G: raise it (1 trains as many positions as are played)");
    assert_loads(NULL, "num_episodes=9", "replay_ratio=8e-7");
    ck_assert_str_eq(warning, "--set: Training.replay_ratio: 8e-07 makes an update every 160.0M steps: raise it (1 "
                              "trains as many positions as are played)");
    assert_loads(NULL, "env_steps=2000", "replay_ratio=8e-7");
    ck_assert_str_eq(warning, "--set: Training.replay_ratio: nothing will be learnt: 8e-07 makes an update every "
                              "160.0M steps, and the run ends after 2048: raise it");
    ck_assert_int_eq(warnings, 3);
}
END_TEST

START_TEST(values_far_from_what_is_usual_are_warned_of_where_they_are_given) {
    static const struct {
        const char *value;
        const char *says;
    } rows[] = {{"learning_rate=0.5", "--set: Training.learning_rate: 0.5 is far from what is usual, 1e-06..0.3"},
                {"learning_rate=1e-7", "--set: Training.learning_rate: 1e-07 is far from what is usual, 1e-06..0.3"},
                {"weight_decay=0.2", "--set: Training.weight_decay: 0.2 is far from what is usual, 0..0.1"},
                {"discount=0.5", "--set: Self-Play.discount: 0.5 is far from what is usual, 0.8..1"},
                {"c_puct=100", "--set: MCTS.c_puct: 100 is far from what is usual, 0.25..10"},
                {"value_weight=0", "--set: Training.value_weight: 0 is far from what is usual, 0.01..100"},
                {"policy_smoothing=1", "--set: Memory.policy_smoothing: 1 is far from what is usual, 0..0.5"},
                {"beta2=0.1", "--set: Training.beta2: 0.1 is far from what is usual, 0.9..0.99999"},
                {"learning_rate=0.3", ""},
                {"discount=1", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        warnings = 0, warning[0] = '\0';
        assert_loads(NULL, rows[i].value, NULL);
        ck_assert_str_eq(warning, rows[i].says);
        ck_assert_int_eq(warnings, *rows[i].says != '\0');
    }
    warnings = 0;
    assert_loads(NULL, "c_puct=100", "policy=gumbel_muzero"); /* it is not even used */
    ck_assert_int_eq(warnings, 1);
    ck_assert_ptr_nonnull(strstr(warning, "c_puct has no effect"));
}
END_TEST

START_TEST(learning_rates_that_cannot_work_are_refused) {
    ck_assert_int_eq(load(NULL, "learning_rate=10", NULL), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "--set learning_rate=10: must be a number in 1e-12..1, got 10");
    ck_assert_int_eq(load(NULL, "final_learning_rate=2", NULL), CM_ERR_INPUT);
}
END_TEST

START_TEST(missing_file_is_an_error_that_names_it) {
    ck_assert_int_eq(load("/nonexistent/configuration.json", NULL, NULL), CM_ERR_IO);
    ck_assert_str_eq(cm_error_message(), "/nonexistent/configuration.json: cannot open: No such file or directory");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("configuration");
    TCase *t = tcase_create("configuration");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, defaults_are_the_cartpole_recipe);
    tcase_add_test(t, default_network_is_preset_small);
    tcase_add_test(t, shipped_configuration_is_the_defaults);
    tcase_add_test(t, manual_in_docs_is_fresh);
    tcase_add_test(t, sections_stand_in_the_order_of_the_original);
    tcase_add_test(t, file_of_the_original_is_accepted_with_its_meaning);
    tcase_add_test(t, a_file_for_new_runs_leaves_out_what_fits_the_task);
    tcase_add_test(t, effective_configuration_reads_back_to_itself);
    tcase_add_test(t, preset_beats_a_file_but_not_a_key_next_to_it);
    tcase_add_test(t, family_leaves_the_preset_and_the_original_has_scalar_heads);
    tcase_add_test(t, supports_fit_the_task_unless_they_are_given);
    tcase_add_test(t, limit_on_the_command_line_takes_the_place_of_the_file_s);
    tcase_add_test(t, length_on_the_command_line_is_not_cut_short_by_the_time_of_a_file);
    tcase_add_test(t, time_that_is_given_alone_is_the_length_of_a_new_run);
    tcase_add_test(t, keys_that_contradict_each_other_are_one_clear_error);
    tcase_add_test(t, alphazero_unrolls_nothing_and_selects_as_it_is_told);
    tcase_add_test(t, average_of_decay_0_is_used_for_nothing);
    tcase_add_test(t, no_more_of_an_episode_is_kept_in_one_segment_than_is_drawn_of_its_environment);
    tcase_add_test(t, everything_of_an_offline_run_goes_by_updates);
    tcase_add_test(t, nothing_of_an_offline_run_waits_for_steps);
    tcase_add_test(t, length_of_higher_precedence_than_the_goal_is_meant);
    tcase_add_test(t, goal_and_time_with_a_length_of_a_flag_stand);
    tcase_add_test(t, keys_without_effect_are_warned_of);
    tcase_add_test(t, values_that_cannot_work_are_warned_of);
    tcase_add_test(t, a_row_that_a_batch_norm_sees_alone_is_warned_of);
    tcase_add_test(t, learning_that_hardly_ever_happens_is_warned_of_with_the_steps_it_takes);
    tcase_add_test(t, values_far_from_what_is_usual_are_warned_of_where_they_are_given);
    tcase_add_test(t, learning_rates_that_cannot_work_are_refused);
    tcase_add_test(t, missing_file_is_an_error_that_names_it);
    suite_add_tcase(suite, t);
    return cm_test_main(suite);
}
