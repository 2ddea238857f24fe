/* Continuous tasks whose actions are several numbers: every combination of their values is an action. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "env/env.h"
#include "env/vector.h"
#include "quiet_check.h"
#include "support/main.h"

enum { D = 2, E = 300 }; /* more instances than are stepped at once */

/* A point that two forces push about a plane. */
typedef struct glide {
    double x, y, vx, vy;
} glide;

static int numbers;

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    if (params->action_bins == 0) params->action_bins = 5;
    spec->shape[0] = 4;
    spec->action_size = numbers, spec->action_low = -1.0f, spec->action_high = 1.0f;
    spec->action_bins = params->action_bins;
    spec->max_steps = 20;
    spec->rules_size = sizeof(glide);
    return CM_OK;
}

static void reset(const cm_env_params *params, void *rules, cm_pcg64 *random) {
    (void)params;
    *(glide *)rules = (glide){cm_pcg64_uniform(random, -1.0, 1.0), cm_pcg64_uniform(random, -1.0, 1.0), 0.0, 0.0};
}

static cm_env_outcome step_value(const cm_env_params *params, void *rules, const float *value) {
    (void)params;
    glide *g = rules;
    g->vx += 0.1 * (double)value[0], g->vy += 0.1 * (double)value[1];
    g->x += g->vx, g->y += g->vy;
    return (cm_env_outcome){-hypot(g->x, g->y), false, false};
}

static void observe(const cm_env_params *params, const void *rules, float *observation) {
    (void)params;
    const glide *g = rules;
    observation[0] = (float)g->x, observation[1] = (float)g->y;
    observation[2] = (float)g->vx, observation[3] = (float)g->vy;
}

static void picture(const cm_env_params *params, const void *rules, char *text, size_t size) {
    const glide *g = rules;
    (void)params;
    snprintf(text, size, "%.2f %.2f", g->x, g->y);
}

static const cm_env_def row = {.name = "glide",
                               .about = "Push a point to the middle",
                               .options = CM_ENV_ACTION_BINS,
                               .describe = describe,
                               .reset = reset,
                               .step_value = step_value,
                               .observe = observe,
                               .picture = picture};

static cm_status open_with(cm_env *env, int size, int bins) {
    cm_env_params params = cm_env_params_default();
    params.action_bins = bins;
    numbers = size;
    return cm_env_open_def(env, &row, "glide", &params);
}

START_TEST(the_last_number_changes_fastest) {
    cm_env env;
    float value[CM_ENV_MAX_NUMBERS];
    char name[16];
    must_msg(open_with(&env, D, 0) == CM_OK, "%s", cm_error_message());
    must_equal(env.spec.actions, 25);
    must_equal(env.spec.max_legal, 25);
    for (int a = 0; a < env.spec.actions; a++) {
        cm_env_action_values(&env, a, value);
        must(value[0] == -1.0f + 0.5f * (float)(a / 5) && value[1] == -1.0f + 0.5f * (float)(a % 5));
        cm_env_action_name(&env, a, name, sizeof name);
        must(name[0] == '0' + a / 5 && name[1] == ',' && name[2] == '0' + a % 5 && name[3] == '\0');
        must_equal(cm_env_action_parse(&env, name), a);
    }
    must_equal(cm_env_action_parse(&env, "24"), 24);
    must_equal(cm_env_action_parse(&env, "5,0"), -1);
    must_msg(cm_env_try(&env, 200) == CM_OK, "%s", cm_error_message());
}
END_TEST

/* By an action, by its values, one by one and many at once. */
START_TEST(an_action_is_its_values) {
    cm_env env;
    cm_vector_env *by_action, *by_value;
    static float value[E * D], reward[2][E];
    static int32_t action[E];
    double state[16];
    cm_env_outcome out;
    must_equal(open_with(&env, D, 7), CM_OK);
    must_equal(cm_vector_env_create(&env, E, 3, 0, &by_action), CM_OK);
    must_equal(cm_vector_env_create(&env, E, 3, 0, &by_value), CM_OK);
    const cm_env_rows rows[2] = {{.reward = reward[0]}, {.reward = reward[1]}};
    for (int t = 0; t < 5; t++) {
        for (int i = 0; i < E; i++) {
            action[i] = (i * 11 + t) % env.spec.actions;
            cm_env_action_values(&env, action[i], value + i * D);
        }
        cm_vector_env_get(by_action, 7, state);
        must_equal(cm_env_step(&env, state, action[7], &out), CM_OK);
        must_equal(cm_vector_env_step(by_action, 0, E, action, &rows[0]), CM_OK);
        must_equal(cm_vector_env_step_value(by_value, 0, E, value, &rows[1]), CM_OK);
        must(memcmp(reward[0], reward[1], sizeof reward[0]) == 0);
        must((float)out.reward == reward[0][7]);
    }
    cm_vector_env_destroy(by_action);
    cm_vector_env_destroy(by_value);
}
END_TEST

START_TEST(too_many_combinations_are_refused) {
    cm_env env;
    must_equal(open_with(&env, 2, 32), CM_OK);
    must_equal(env.spec.actions, 1024);
    must_equal(open_with(&env, 2, 33), CM_ERR_INPUT);
    must_msg(strcmp(cm_error_message(),
                    "glide: action_bins: with 33 values of each of the 2 numbers of an action there "
                    "are more than 1024 actions; take at most 32") == 0,
             "%s", cm_error_message());
    must_equal(open_with(&env, 8, 3), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "take at most 2") != NULL, "%s", cm_error_message());
    must_equal(open_with(&env, 8, 2), CM_OK);
    must_equal(env.spec.actions, 256);
    must_equal(open_with(&env, 9, 2), CM_ERR_INPUT);
    must_msg(strcmp(cm_error_message(), "glide: its describe sets action_size to 9; must be in 0..8") == 0, "%s",
             cm_error_message());
}
END_TEST

int main(void) {
    Suite *suite = suite_create("env/numbers");
    TCase *tests = tcase_create("several numbers");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, the_last_number_changes_fastest);
    tcase_add_test(tests, an_action_is_its_values);
    tcase_add_test(tests, too_many_combinations_are_refused);
    return cm_test_main(suite);
}
