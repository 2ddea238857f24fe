/* The importance of keys: of a ledger whose scores follow from one of them. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/configuration.h"
#include "support/main.h"
#include "sweep/importance.h"

enum { TRIALS = 60 };
static cm_sweep_plan plan;
static cm_sweep_line lines[TRIALS];
static cm_sweep_ledger ledger;

/* 60 trials at one rung, of a rate, a number of steps and an optimizer. */
static void begin(void) {
    static const char *const words[] = {"learning_rate=1e-5..1e-1", "td_steps=1..50", "optimizer"};
    cm_configuration configuration;
    cm_config *config;
    plan = (cm_sweep_plan){.trials = TRIALS, .seeds = 1, .rungs = 1, .seed = 3};
    ck_assert(cm_configuration_create(&configuration, &config) == CM_OK);
    for (int i = 0; i < 3; i++) ck_assert(cm_sweep_space_add(&plan.space, config, words[i]) == CM_OK);
    cm_config_destroy(config);
    for (int t = 0; t < TRIALS; t++) lines[t] = (cm_sweep_line){.trial = t};
    ledger = (cm_sweep_ledger){.count = TRIALS, .line = lines};
}

static void draw(int trial, int key, char value[CM_SWEEP_TEXT]) {
    cm_sweep_space_draw(&plan.space, plan.seed, trial, key, value);
}

static double number(int trial, int key) {
    char value[CM_SWEEP_TEXT];
    draw(trial, key, value);
    return strtod(value, NULL);
}

static void measure(double share[CM_SWEEP_KEYS]) {
    ck_assert(cm_sweep_importance(&plan, &ledger, share) == CM_OK);
    for (int i = 0; i < 3; i++) ck_assert_msg(share[i] >= 0.0 && share[i] <= 1.0, "%d: %g", i, share[i]);
}

START_TEST(a_monotone_effect_is_explained_whatever_its_form) {
    double share[CM_SWEEP_KEYS];
    begin();
    for (int t = 0; t < TRIALS; t++) lines[t].score = exp(number(t, 1));
    measure(share);
    ck_assert(share[1] > 0.98 && share[0] < 0.2 && share[2] < 0.2);
}
END_TEST

/* A line alone would explain nothing of it. */
START_TEST(a_best_value_in_the_middle_is_an_effect) {
    double share[CM_SWEEP_KEYS];
    begin();
    for (int t = 0; t < TRIALS; t++) lines[t].score = -fabs(log10(number(t, 0)) + 3.0);
    measure(share);
    ck_assert(share[0] > 0.8 && share[1] < 0.2 && share[2] < 0.2);
}
END_TEST

START_TEST(a_choice_explains_what_the_means_of_its_words_do) {
    double share[CM_SWEEP_KEYS];
    begin();
    for (int t = 0; t < TRIALS; t++) {
        char value[CM_SWEEP_TEXT];
        draw(t, 2, value);
        lines[t].score = strcmp(value, "\"sgd\"") == 0 ? 0.0 : 1.0;
        if (t % 2 == 0 && lines[t].score < 0.5) lines[t].score = (double)NAN; /* failed is worse still */
    }
    measure(share);
    ck_assert(share[2] > 0.9 && share[0] < 0.2 && share[1] < 0.2);
}
END_TEST

START_TEST(equal_trials_and_too_few_of_them_have_no_importance) {
    double share[CM_SWEEP_KEYS];
    begin();
    ck_assert(cm_sweep_importance(&plan, &ledger, share) == CM_OK);
    for (int i = 0; i < 3; i++) ck_assert(isnan(share[i]));
    ledger.count = 3;
    for (int t = 0; t < 3; t++) lines[t].score = t;
    ck_assert(cm_sweep_importance(&plan, &ledger, share) == CM_OK);
    ck_assert(isnan(share[0]) && isnan(share[1]));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("importance");
    TCase *cases = tcase_create("importance");
    tcase_add_test(cases, a_monotone_effect_is_explained_whatever_its_form);
    tcase_add_test(cases, a_best_value_in_the_middle_is_an_effect);
    tcase_add_test(cases, a_choice_explains_what_the_means_of_its_words_do);
    tcase_add_test(cases, equal_trials_and_too_few_of_them_have_no_importance);
    suite_add_tcase(suite, cases);
    return cm_test_main(suite);
}
