/* Continuous tasks whose actions are several numbers: every combination of their values is an action. */
#include <math.h>
#include <string.h>

#include "env/env.h"
#include "env/glide.h"
#include "env/vector.h"
#include "silent_check.h"
#include "support/main.h"

enum { E = 300 }; /* more instances than are stepped at once */

static cm_status open_with(cm_env *env, const char *name, int bins) {
    cm_env_params params = cm_env_params_default();
    params.action_bins = bins;
    return cm_env_open(env, name, &params);
}

/* Under a steady force the speed is f (1 - 0.9^t) after t steps, and the place its sum, up to the wall. */
START_TEST(a_steady_force_pushes_the_point_to_the_wall) {
    const double start[3] = {2 * .7739560485559633 - 1, 2 * .4388784397520523 - 1, 2 * .8585979199113825 - 1};
    const float push[3] = {0.5f, -1.0f, 3.0f}; /* which counts as 1 */
    const double force[3] = {0.5, -1.0, 1.0};
    cm_env env;
    cm_env_outcome out = {0};
    double state[32];
    float observation[6];
    must_equal(cm_env_open(&env, "glide3", NULL), CM_OK);
    cm_env_reset(&env, state, 42);
    for (int t = 1; t <= 50; t++) {
        double distance = 0.0, gone = 1.0 - pow(0.9, t);
        must_msg(cm_env_step_value(&env, state, push, &out) == CM_OK, "%s", cm_error_message());
        cm_env_observe(&env, state, observation);
        for (int i = 0; i < 3; i++) {
            double x = fmax(-2.0, fmin(2.0, start[i] + force[i] * (t - 9.0 * gone))), v = force[i] * gone;
            must_msg(fabs((double)observation[i] - x) < 1e-6, "step %d: x%d is %g, not %g", t, i,
                     (double)observation[i], x);
            must(fabs((double)observation[3 + i] - 5.0 * v) < 1e-6);
            distance += x * x;
        }
        must_msg(fabs(out.reward + sqrt(distance) + 0.02 * 2.25) < 1e-9, "step %d: reward %.12g", t, out.reward);
        must(!out.terminated && out.truncated == (t == 50));
    }
    must(fabs(out.reward + sqrt(12.0) + 0.045) < 1e-9); /* in a corner */
    must(env.spec.reward_low == -sqrt(12.0) - 0.06 && env.spec.reward_high == 0.0);
}
END_TEST

START_TEST(sizes_are_1_to_6_with_bins_that_fit) {
    const int actions[CM_GLIDE_AXES] = {11, 121, 729, 625, 243, 729};
    cm_env env;
    char name[] = "glide0";
    for (int axes = 1; axes <= CM_GLIDE_AXES; axes++) {
        name[5] = (char)('0' + axes);
        must_msg(cm_env_open(&env, name, NULL) == CM_OK, "%s", cm_error_message());
        must_equal(env.spec.action_size, axes);
        must_equal(env.spec.actions, actions[axes - 1]);
        must_equal(env.spec.observation_size, 2 * axes);
        float value[CM_ENV_MAX_NUMBERS];
        cm_env_action_values(&env, env.spec.actions / 2, value); /* the middle one is no force */
        for (int i = 0; i < axes; i++) {
            must(env.spec.channels[i][1] == '1' + i && env.spec.channels[axes + i][3] == '1' + i);
            must(value[i] == 0.0f);
        }
        must_msg(cm_env_try(&env, 200) == CM_OK, "%s", cm_error_message());
    }
    must_equal(cm_env_open(&env, "glide7", NULL), CM_ERR_INPUT);
    must_msg(strcmp(cm_error_message(), "glide: the size must be in [1, 6], got 7") == 0, "%s", cm_error_message());
}
END_TEST

START_TEST(the_picture_shows_the_point_next_to_the_middle) {
    cm_env env;
    double state[32];
    char text[CM_ENV_PICTURE_BYTES];
    must_equal(cm_env_open(&env, "glide3", NULL), CM_OK);
    cm_env_reset(&env, state, 1);
    *(cm_glide *)cm_env_rules(state) = (cm_glide){.x = {-1.5, 1.0, 0.25}, .v = {0.0, -0.5, 1.0}};
    cm_env_picture(&env, state, text, sizeof text);
    must_msg(strcmp(text, ".     .     .     .     .\n"
                          "\n"
                          "\n"
                          ".  O  .     .     .     .\n"
                          "\n"
                          "\n"
                          ".     .     +     .     .\n"
                          "\n"
                          "\n"
                          ".     .     .     .     .\n"
                          "\n"
                          "\n"
                          ".     .     .     .     .\n"
                          "x -1.50 +1.00 +0.25\n"
                          "v +0.00 -0.50 +1.00\n") == 0,
             "\n%s", text);
    must_equal(cm_env_open(&env, "glide1", NULL), CM_OK);
    *(cm_glide *)cm_env_rules(state) = (cm_glide){.x = {2.0}};
    cm_env_picture(&env, state, text, sizeof text);
    must_msg(strcmp(text, ".     .     +     .     O\nx +2.00\nv +0.00\n") == 0, "\n%s", text);
}
END_TEST

START_TEST(the_last_number_changes_fastest) {
    cm_env env;
    float value[CM_ENV_MAX_NUMBERS];
    char name[16];
    must_msg(open_with(&env, "glide2", 5) == CM_OK, "%s", cm_error_message());
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

static const struct {
    const char *name;
    int bins;
} tasks[] = {{"glide2", 7}, {"glide3", 10}, {"glide6", 3}};

/* By an action, by its values, one by one and many at once. */
START_TEST(an_action_is_its_values) {
    cm_env env;
    cm_vector_env *by_action, *by_value;
    static float value[E * CM_GLIDE_AXES], reward[2][E];
    static int32_t action[E];
    double state[32];
    cm_env_outcome out;
    must_equal(open_with(&env, tasks[_i].name, tasks[_i].bins), CM_OK);
    must(env.spec.state_size <= sizeof state);
    must_equal(cm_vector_env_create(&env, E, 3, 0, &by_action), CM_OK);
    must_equal(cm_vector_env_create(&env, E, 3, 0, &by_value), CM_OK);
    const cm_env_rows rows[2] = {{.reward = reward[0]}, {.reward = reward[1]}};
    for (int t = 0; t < 5; t++) {
        for (int i = 0; i < E; i++) {
            action[i] = (i * 11 + t) % env.spec.actions;
            cm_env_action_values(&env, action[i], value + i * env.spec.action_size);
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

/* Shots that are off by 1, 2 .. 10 degrees: the return is minus the mean. */
START_TEST(aiming_pays_minus_the_mean_error_in_degrees) {
    const double degree = acos(-1.0) / 180.0;
    cm_env env;
    cm_env_outcome out;
    double state[32], sum = 0.0;
    float seen[2];
    must_equal(cm_env_open(&env, "aim", NULL), CM_OK);
    cm_env_reset(&env, state, 5);
    for (int shot = 1; shot <= 10; shot++) {
        cm_env_observe(&env, state, seen);
        const double side = shot % 2 ? 1.0 : -1.0, turns = shot % 3 - 1;
        const float value = (float)(atan2((double)seen[1], (double)seen[0]) + (side * shot + 360.0 * turns) * degree);
        must_equal(cm_env_step_value(&env, state, &value, &out), CM_OK);
        must_msg(fabs(out.reward + 0.1 * shot) < 1e-5, "shot %d: reward %g", shot, out.reward);
        must(!out.terminated && out.truncated == (shot == 10));
        sum += out.reward;
    }
    must(fabs(sum + 5.5) < 1e-4);
}
END_TEST

START_TEST(an_angle_has_no_value_at_the_end_of_its_turn) {
    cm_env env;
    float value;
    must_equal(cm_env_open(&env, "aim", NULL), CM_OK);
    must(env.spec.action_bins == 16 && env.spec.angle_steps == 4096 && env.spec.actions == 65536);
    for (int action = 0; action < env.spec.actions; action += 123) {
        cm_env_action_values(&env, action, &value);
        must(fabs((double)value - (action / 32768.0 - 1.0) * (double)env.spec.action_high) < 1e-6);
    }
    cm_env_action_values(&env, 65535, &value);
    must(value < env.spec.action_high);
    must(!cm_env_is_listed(&env));
}
END_TEST

/* More numbers than glide has axes: glide's row with another describe. It is opened, not played. */
static int numbers;
static uint32_t angles;

static cm_status describe(cm_env_params *params, cm_env_spec *spec) {
    spec->action_size = numbers, spec->action_low = -1.0f, spec->action_high = 1.0f;
    spec->action_bins = params->action_bins, spec->angles = angles;
    spec->max_steps = 1, spec->rules_size = sizeof(cm_glide);
    return CM_OK;
}

static cm_status open_wide(cm_env *env, int size, int bins) {
    static cm_env_def wide;
    cm_env_params params = cm_env_params_default();
    must_equal(cm_env_open(env, "glide", NULL), CM_OK);
    wide = *env->def;
    wide.name = "wide", wide.describe = describe;
    params.action_bins = bins;
    numbers = size;
    return cm_env_open_def(env, &wide, "wide", &params);
}

/* More than 1024 are not listed. */
START_TEST(too_many_combinations_are_refused) {
    cm_env env;
    must_equal(open_with(&env, "glide2", 32), CM_OK);
    must_equal(env.spec.actions, 1024);
    must(cm_env_is_listed(&env));
    must_equal(open_with(&env, "glide4", 11), CM_OK);
    must_equal(env.spec.actions, 14641);
    must(!cm_env_is_listed(&env));
    must_msg(cm_env_try(&env, 200) == CM_OK, "%s", cm_error_message());
    must_equal(open_wide(&env, 8, 8), CM_OK);
    must_equal(env.spec.actions, 1 << 24);
    must_equal(open_wide(&env, 8, 9), CM_ERR_INPUT);
    must_msg(strcmp(cm_error_message(), "wide: action_bins: with 9 values of each of the 8 numbers of an action there "
                                        "are more than 16777216 actions; take at most 8") == 0,
             "%s", cm_error_message());
    must_equal(open_wide(&env, 24, 2), CM_OK);
    must_equal(env.spec.actions, 1 << 24);
    must_equal(open_wide(&env, 25, 2), CM_ERR_INPUT);
    must_msg(strcmp(cm_error_message(), "wide: its describe sets action_size to 25; must be in 0..24") == 0, "%s",
             cm_error_message());
}
END_TEST

START_TEST(angles_are_among_the_numbers_of_an_action) {
    cm_env env;
    char name[16];
    float value[CM_ENV_MAX_NUMBERS];
    angles = 2;
    must_msg(open_wide(&env, 2, 5) == CM_OK, "%s", cm_error_message());
    must(env.spec.angle_steps == 65536 / 5 && env.spec.actions == 5 * 5 * (65536 / 5));
    cm_env_action_values(&env, env.spec.actions - 1, value);
    must(value[0] == 1.0f && value[1] < 1.0f && value[1] > 0.9999f);
    cm_env_action_name(&env, env.spec.actions - 1, name, sizeof name);
    must_msg(strcmp(name, "4,65534") == 0, "%s", name);
    angles = 4;
    must_equal(open_wide(&env, 2, 5), CM_ERR_INPUT);
    must_msg(strcmp(cm_error_message(), "wide: its describe sets angles to 0x4, of 2 numbers of an action") == 0, "%s",
             cm_error_message());
    angles = 0;
}
END_TEST

/* Names of up to 15 characters, all different. */
START_TEST(ten_numbers_have_names) {
    char name[16];
    cm_env env;
    must_equal(open_wide(&env, 10, 2), CM_OK);
    must(env.spec.actions == 1024 && cm_env_is_listed(&env));
    cm_env_action_name(&env, 5, name, sizeof name);
    must_msg(strcmp(name, "0000000101") == 0, "%s", name);
    must_equal(open_wide(&env, 8, 2), CM_OK);
    cm_env_action_name(&env, 5, name, sizeof name);
    must_msg(strcmp(name, "0,0,0,0,0,1,0,1") == 0, "%s", name);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("env/numbers");
    TCase *tests = tcase_create("several numbers");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, a_steady_force_pushes_the_point_to_the_wall);
    tcase_add_test(tests, sizes_are_1_to_6_with_bins_that_fit);
    tcase_add_test(tests, the_picture_shows_the_point_next_to_the_middle);
    tcase_add_test(tests, the_last_number_changes_fastest);
    tcase_add_loop_test(tests, an_action_is_its_values, 0, sizeof tasks / sizeof *tasks);
    tcase_add_test(tests, aiming_pays_minus_the_mean_error_in_degrees);
    tcase_add_test(tests, an_angle_has_no_value_at_the_end_of_its_turn);
    tcase_add_test(tests, angles_are_among_the_numbers_of_an_action);
    tcase_add_test(tests, ten_numbers_have_names);
    tcase_add_test(tests, too_many_combinations_are_refused);
    return cm_test_main(suite);
}
