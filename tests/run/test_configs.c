/* Every file in configs/ loads without a warning. */
#include <check.h>
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "run/configuration.h"
#include "run/learner.h"
#include "support/main.h"

#define CONFIGS CM_TEST_CASES "/../../configs"
enum { MOST = 64 };

static char names[MOST][256];
static int count, warnings;

static bool count_warning(void *context, cm_log_level level, const char *line) {
    (void)context, (void)line;
    warnings += level == CM_WARNING;
    return true;
}

static void list_configs(void) {
    DIR *folder = opendir(CONFIGS);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL && count < MOST;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (dot && strcmp(dot, ".json") == 0) snprintf(names[count++], sizeof names[0], "%s", entry->d_name);
    }
    closedir(folder);
}

static void load(const char *name, cm_configuration *configuration, cm_config **config) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, CONFIGS "/%.200s", name);
    ck_assert_int_lt(length, (int)sizeof path);
    warnings = 0;
    cm_log_set_hook(count_warning, NULL);
    cm_status status = cm_configuration_load(path, NULL, 0, configuration, config);
    cm_log_set_hook(NULL, NULL);
    ck_assert_msg(status == CM_OK, "%s: %s", name, cm_error_message());
}

START_TEST(every_named_run_loads_without_a_warning) {
    list_configs();
    ck_assert_int_ge(count, 3);
    for (int i = 0; i < count; i++) {
        cm_configuration configuration;
        cm_config *config = NULL;
        load(names[i], &configuration, &config);
        ck_assert_msg(warnings == 0, "%s: %d warnings", names[i], warnings);
        cm_config_destroy(config);
    }
}
END_TEST

START_TEST(tictactoe_is_played_for_the_result_without_an_average) {
    cm_configuration configuration;
    cm_config *config = NULL;
    load("tictactoe.json", &configuration, &config);
    ck_assert_int_eq(configuration.mcts.policy, CM_MCTS_GUMBEL_MUZERO);
    ck_assert(!configuration.mcts.rescale_values);
    ck_assert_double_eq(configuration.agent.random_move_probability, 0.2);
    ck_assert_int_ge(configuration.replay.td_steps, 9);
    ck_assert_int_eq(configuration.network.value_support_size, 3);
    ck_assert(!configuration.network.value_transform);
    ck_assert_double_eq(configuration.trainer.ema_decay, 0.0);
    cm_config_destroy(config);
}
END_TEST

/* Spec atari 5.1. Updates while acting are those of all steps but the first 2,000, in whole iterations. */
START_TEST(recipes_of_atari100k_have_the_numbers_of_their_table) {
    static const struct {
        const char *name;
        int ratio, extra, warmup, drop, simulations, interval, mixed;
    } rows[] = {{"atari100k_a.json", 256, 20000, 1000, 100000, 16, 200, 30000},
                {"atari100k_b.json", 128, 10000, 600, 50000, 16, 200, 0},
                {"atari100k_c.json", 64, 5000, 300, 25000, 8, 400, 0}};
    for (int i = 0; i < 3; i++) {
        cm_configuration c;
        cm_config *config = NULL;
        load(rows[i].name, &c, &config);
        const int64_t acting = (98000 + 63) / 64 * 64 * rows[i].ratio / 256;
        ck_assert_int_eq(cm_run_learner_plan(&c), acting + rows[i].extra);
        ck_assert_int_eq(c.trainer.warmup_steps, rows[i].warmup);
        ck_assert_int_eq(c.trainer.warmup_steps + c.trainer.decay_steps, rows[i].drop);
        ck_assert_int_eq(c.mcts.num_simulations, rows[i].simulations);
        ck_assert_int_eq(c.trainer.target_update_frequency, rows[i].interval);
        ck_assert_int_eq(c.agent.reanalyse, CM_REANALYSE_BUFFER);
        ck_assert_int_eq(c.agent.mixed_value_updates, rows[i].mixed);
        ck_assert_int_eq(c.agent.random_first_steps, 2000);
        ck_assert_int_eq(c.replay.augmentation_shift, 4);
        ck_assert_double_eq(c.replay.augmentation_intensity, 0.05);
        ck_assert_double_eq_tol(c.replay.discount, pow(0.997, 4), 1e-8);
        ck_assert_int_eq(c.network.value_support_size, 51);
        ck_assert_int_eq(c.network.reward_support_size, 51);
        cm_config_destroy(config);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("configs");
    TCase *t = tcase_create("configs");
    tcase_add_test(t, every_named_run_loads_without_a_warning);
    tcase_add_test(t, tictactoe_is_played_for_the_result_without_an_average);
    tcase_add_test(t, recipes_of_atari100k_have_the_numbers_of_their_table);
    suite_add_tcase(suite, t);
    return cm_test_main(suite);
}
