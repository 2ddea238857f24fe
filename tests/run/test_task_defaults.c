/* What a task asks for where nothing is given. */
#include <check.h>
#include <string.h>

#include "run/configuration.h"
#include "run/task_defaults.h"
#include "support/main.h"

static cm_configuration c;
static cm_config *config;
static char why[CM_TASK_LINE];

static int limit = 100, states = 48;

static void apply(const cm_env_survey *seen, int players, const char *given) {
    const cm_env_spec spec = {.players = players, .actions = 4, .observation_size = states, .max_steps = limit};
    cm_config_destroy(config);
    ck_assert_int_eq(cm_configuration_create(&c, &config), CM_OK);
    if (given) ck_assert_int_eq(cm_config_set(config, given), CM_OK);
    cm_task_defaults_apply(&spec, seen, config, why);
    ck_assert_msg(cm_configuration_finish(config, &c) == CM_OK, "%s", cm_error_message());
}

static const cm_env_survey cart_pole = {.steps = 1000,
                                        .ends = 40,
                                        .paid = 1000,
                                        .paid_within = 960,
                                        .reward_low = 1,
                                        .reward_high = 1,
                                        .kinds = 1,
                                        .kind = {1}};
static const cm_env_survey grid = {.steps = 1000, .cuts = 10, .kinds = 1};
static const cm_env_survey lake = {.steps = 1000,
                                   .ends = 120,
                                   .paid = 2,
                                   .reward_high = 1,
                                   .kinds = 2,
                                   .kind = {0, 1},
                                   .has_chance = true,
                                   .is_onehot = true};
static const cm_env_survey cliff = {.steps = 1000,
                                    .paid = 1000,
                                    .paid_within = 1000,
                                    .reward_low = -100,
                                    .reward_high = -1,
                                    .kinds = 2,
                                    .kind = {-1, -100},
                                    .is_onehot = true};
static const cm_env_survey pendulum = {.steps = 1000,
                                       .cuts = 5,
                                       .paid = 1000,
                                       .paid_within = 1000,
                                       .reward_low = -15,
                                       .reward_high = -0.1,
                                       .kinds = CM_ENV_SURVEY_KINDS};
static const cm_env_survey hill = {.steps = 1000,
                                   .cuts = 5,
                                   .paid = 1000,
                                   .paid_within = 1000,
                                   .reward_low = -1,
                                   .reward_high = -1,
                                   .kinds = 1,
                                   .kind = {-1}};

/* Whether a row fits, by its words. */
static bool tells(const char *words) { return strstr(why, words) != NULL; }

START_TEST(each_task_gets_the_rows_that_fit_it) {
    static const struct {
        const cm_env_survey *seen;
        const char *rows[3];
    } cases[] = {{&cart_pole, {NULL}},          {&pendulum, {NULL}},
                 {&grid, {"rewards are rare"}}, {&lake, {"rewards are rare", "chance decides where moves lead"}},
                 {&hill, {"every step costs"}}, {&cliff, {"every step costs", "states are a list"}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        apply(cases[i].seen, 1, NULL);
        ck_assert_msg((cases[i].rows[0] == NULL) == (why[0] == '\0'), "%zu: %s", i, why);
        for (int r = 0; r < 3 && cases[i].rows[r]; r++) ck_assert_msg(tells(cases[i].rows[r]), "%zu: %s", i, why);
    }
    apply(&lake, 1, NULL); /* the later row counts more */
    ck_assert(c.mcts.policy == CM_MCTS_GUMBEL_MUZERO && c.mcts.max_depth == 1 && c.mcts.num_simulations == 8);
    states = 500;
    apply(&cliff, 1, NULL);
    states = 48;
    ck_assert_ptr_nonnull(strstr(why, "states are a list, of hundreds: "));
    ck_assert(c.mcts.policy == CM_MCTS_MUZERO && c.replay.td_steps == 3 && c.mcts.num_simulations == 16);
    apply(&grid, 2, NULL); /* games of two */
    ck_assert_str_eq(why, "");
}
END_TEST

START_TEST(what_is_given_stays_and_what_is_taken_is_told) {
    apply(&grid, 1, NULL);
    ck_assert_int_eq(c.mcts.policy, CM_MCTS_GUMBEL_MUZERO);
    ck_assert_str_eq(cm_config_origin_of(config, "policy"), "rewards are rare");
    ck_assert_int_eq(cm_config_source_of(config, "policy"), CM_FROM_DEFAULT);
    ck_assert(tells(" policy=gumbel_muzero"));
    ck_assert(c.run.stop_at_goal); /* its length is not the user's */
    apply(&grid, 1, "policy=muzero");
    ck_assert_int_eq(c.mcts.policy, CM_MCTS_MUZERO);
    ck_assert(!tells("policy="));
    apply(&grid, 1, "policy=gumbel_muzero"); /* as given as any other */
    ck_assert_str_eq(cm_config_origin_of(config, "policy"), "--set");
}
END_TEST

START_TEST(settings_follow_the_time_limit) {
    limit = 250;
    apply(&grid, 1, NULL);
    ck_assert_double_eq(c.replay.discount, 0.98);
    ck_assert_int_eq(c.run.env_steps, 150000);
    apply(&cliff, 1, NULL);
    ck_assert_int_eq(c.env.max_steps, 0); /* its own */
    limit = 10000;
    apply(&grid, 1, NULL);
    ck_assert_double_eq(c.replay.discount, 0.997);
    apply(&cliff, 1, NULL);
    ck_assert_int_eq(c.env.max_steps, 480);
}
END_TEST

START_TEST(chance_is_met_and_evaluated_as_long_as_episodes_ask_for) {
    static const int limits[][4] = {
        {100, 100, 1000, 300000}, {200, 50, 500, 600000}, {4000, 20, 100, 600000}, {10, 100, 1000, 300000}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        limit = limits[i][0];
        apply(&lake, 1, NULL);
        ck_assert_int_eq(c.run.evaluation_episodes, limits[i][1]);
        ck_assert_int_eq(c.run.final_evaluation_episodes, limits[i][2]);
        ck_assert_int_eq(c.run.env_steps, limits[i][3]);
    }
    limit = 100;
}
END_TEST

START_TEST(values_count_by_the_largest_reward_that_was_met) {
    static const struct {
        double low, high, scale;
    } cases[] = {{0, 0, 0.5},    {0, 1, 0.5},   {0, 100, 0.005}, {0, 0.01, 50},
                 {-10, 1, 0.05}, {0, 0.3, 0.5}, {0, 1e-6, 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_env_survey seen = grid;
        seen.reward_low = cases[i].low, seen.reward_high = cases[i].high;
        apply(&seen, 1, NULL);
        ck_assert_double_eq_tol(c.mcts.value_scale, cases[i].scale, 1e-9 * cases[i].scale);
    }
}
END_TEST

/* Atoms lie as close as the rewards let them, up to the next power of ten, which is what tells small values apart. */
START_TEST(supports_are_as_wide_as_rare_rewards) {
    static const struct {
        double low, high;
        int within; /* paid steps that end no episode */
        double value, reward;
    } cases[] = {{0, 1, 0, 1, 1}, {0, 0, 0, 1, 1}, {-5, 1, 0, 10, 10}, {0, 0.1, 0, 0.1, 0.1}, {0, 10, 1, 40, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cm_env_survey seen = lake;
        seen.reward_low = cases[i].low, seen.reward_high = cases[i].high, seen.paid_within = cases[i].within;
        apply(&seen, 1, NULL);
        ck_assert_double_eq(c.network.value_support_min, -cases[i].value);
        ck_assert_double_eq(c.network.value_support_max, cases[i].value);
        ck_assert_double_eq(c.network.reward_support_min, -cases[i].reward);
        ck_assert_double_eq(c.network.reward_support_max, cases[i].reward);
        ck_assert(!c.network.fits_value_support && !c.network.fits_reward_support);
    }
    cm_env_survey dry = lake;
    dry.paid = 0, dry.reward_high = 0;
    apply(&dry, 1, NULL);
    ck_assert_double_eq_tol(c.mcts.qtransform_epsilon, 0.01, 1e-9);
    apply(&lake, 1, "value_support_max=30");
    ck_assert_double_lt(c.mcts.qtransform_epsilon, 1e-6);
    ck_assert_double_eq(c.network.value_support_max, 30);
    apply(&hill, 1, NULL);
    ck_assert(c.network.fits_value_support && c.network.fits_reward_support);
}
END_TEST

/* As the configuration.json of the repository does. */
START_TEST(a_file_that_repeats_the_default_preset_leaves_the_task_its_supports) {
    static const char file[] = "{\"Network architecture\": {\"preset\": \"small\"}}";
    const cm_env_spec spec = {.players = 1, .actions = 4, .observation_size = 16, .max_steps = 100};
    cm_config_destroy(config);
    ck_assert_int_eq(cm_configuration_create(&c, &config), CM_OK);
    ck_assert_int_eq(cm_config_parse(config, file, sizeof file - 1, "configuration.json"), CM_OK);
    cm_task_defaults_apply(&spec, &lake, config, why);
    ck_assert_int_eq(cm_configuration_finish(config, &c), CM_OK);
    ck_assert_double_eq(c.network.value_support_max, 1);
    apply(&lake, 1, "preset=plain");
    ck_assert_double_eq(c.network.value_support_max, 10);
}
END_TEST

/* Every setting of every row is a value of its key. */
START_TEST(rows_can_be_taken) {
    int count;
    const cm_task_row *rows = cm_task_rows(&count);
    for (int r = 0; r < count; r++)
        for (const cm_task_setting *s = rows[r].settings; s->key; s++) {
            cm_config_destroy(config);
            ck_assert_int_eq(cm_configuration_create(&c, &config), CM_OK);
            const bool is_part = strcmp(s->key, "discount") == 0 || strcmp(s->key, "qtransform_epsilon") == 0;
            const char *value = s->value ? s->value : is_part ? "0.5" : "5";
            ck_assert_msg(cm_config_suggest(config, s->key, value, "row"), "%s=%s", s->key, value);
            ck_assert_str_eq(cm_config_origin_of(config, s->key), "row");
        }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("task defaults");
    TCase *tcase = tcase_create("task defaults");
    tcase_add_test(tcase, each_task_gets_the_rows_that_fit_it);
    tcase_add_test(tcase, what_is_given_stays_and_what_is_taken_is_told);
    tcase_add_test(tcase, settings_follow_the_time_limit);
    tcase_add_test(tcase, chance_is_met_and_evaluated_as_long_as_episodes_ask_for);
    tcase_add_test(tcase, values_count_by_the_largest_reward_that_was_met);
    tcase_add_test(tcase, supports_are_as_wide_as_rare_rewards);
    tcase_add_test(tcase, a_file_that_repeats_the_default_preset_leaves_the_task_its_supports);
    tcase_add_test(tcase, rows_can_be_taken);
    suite_add_tcase(suite, tcase);
    return cm_test_main(suite);
}
