/* Environments of include/cumind.h: batches, their resets, and every wrong argument by its name. */
#include <check.h>
#include <cumind.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "env/env.h"
#include "support/folder.h"
#include "support/main.h"

static cumind_env *env;

static void open_env(const char *name, int instances, const char *setting) {
    const cumind_status status = cumind_env_open(name, instances, 7, &setting, setting != NULL, &env);
    ck_assert_msg(status == CUMIND_OK, "%s: %s", name, cumind_error_message());
}

static void expect(cumind_status got, cumind_status want, const char *text) {
    ck_assert_msg(got == want, "%d, not %d: %s", (int)got, (int)want, cumind_error_message());
    ck_assert_msg(strstr(cumind_error_message(), text) != NULL, "%s: %s", text, cumind_error_message());
}

static void step(const int32_t *actions) {
    ck_assert_msg(cumind_env_step(env, actions) == CUMIND_OK, "%s", cumind_error_message());
}

/* The first legal action of each that goes on; 0 where none are listed. */
static void first_legal(int32_t *actions, int instances) {
    const cumind_env_arrays a = cumind_env_get_arrays(env);
    cumind_spec spec;
    cumind_env_get_spec(env, &spec);
    for (int i = 0; i < instances; i++) {
        actions[i] = 0;
        if (!a.legal) continue;
        const uint8_t *legal = a.legal + (size_t)i * (size_t)spec.actions;
        const uint8_t *one = memchr(legal, 1, (size_t)spec.actions);
        actions[i] = one ? (int32_t)(one - legal) : -1;
    }
}

START_TEST(every_environment_of_the_registry_plays_episodes_to_their_end) {
    int rows = 0;
    for (const char *name; (name = cumind_env_name(rows)) != NULL; rows++) {
        int32_t actions[3];
        int ended = 0;
        open_env(name, 3, "max_steps=40");
        const cumind_env_arrays a = cumind_env_get_arrays(env);
        for (int t = 0; t < 400 && ended < 3; t++) {
            first_legal(actions, 3);
            step(actions);
            for (int i = 0; i < 3; i++) ended += a.terminated[i] | a.truncated[i];
        }
        ck_assert_msg(ended >= 3, "%s", name);
        cumind_env_close(env);
    }
    ck_assert_int_gt(rows, 10);
    ck_assert_ptr_null(cumind_env_name(-1));
}
END_TEST

START_TEST(an_episode_that_has_ended_begins_again_in_the_next_step) {
    open_env("CartPole-v1", 2, "max_steps=3");
    const cumind_env_arrays a = cumind_env_get_arrays(env);
    const int32_t actions[2] = {0, 1};
    const int32_t unread[2] = {-9, 99};
    float begun[2][4];
    const uint8_t second[2] = {0, 1};
    for (int t = 0; t < 2; t++) step(actions);
    ck_assert_int_eq(cumind_env_reset(env, second, NULL), CUMIND_OK);
    step(actions);
    ck_assert(a.truncated[0] && !a.truncated[1]);
    ck_assert_float_eq(a.reward[0], 1.0f);
    memcpy(begun, a.observation, sizeof begun);
    const int32_t mixed[2] = {unread[0], 1};
    step(mixed);
    ck_assert(!a.truncated[0] && !a.terminated[0] && !a.truncated[1]);
    ck_assert_float_eq(a.reward[0], 0.0f);
    ck_assert_float_eq(a.reward[1], 1.0f);
    for (int k = 0; k < 4; k++) ck_assert(fabsf(a.observation[k]) <= 0.05f); /* a first observation */
    ck_assert(memcmp(begun[0], a.observation, sizeof begun[0]) != 0);
    step(actions);
    ck_assert(a.truncated[1] && !a.truncated[0]);
    cumind_env_close(env);
}
END_TEST

START_TEST(episodes_of_named_seeds_are_those_of_gymnasium) {
    cm_env row;
    float want[4];
    const uint64_t seeds[2] = {123, 9};
    ck_assert_int_eq(cm_env_open(&row, "CartPole-v1", NULL), CM_OK);
    _Alignas(8) char state[512];
    ck_assert_uint_le(row.spec.state_size, sizeof state);
    open_env("CartPole-v1", 2, NULL);
    ck_assert_int_eq(cumind_env_reset(env, NULL, seeds), CUMIND_OK);
    for (int i = 0; i < 2; i++) {
        cm_env_reset(&row, state, seeds[i]);
        cm_env_observe(&row, state, want);
        ck_assert_mem_eq(want, cumind_env_get_arrays(env).observation + 4 * i, sizeof want);
    }
    ck_assert_int_eq(cumind_env_copy(env, 1, 0), CUMIND_OK); /* and the generator of the named seed with it */
    ck_assert_int_eq(cumind_env_reset(env, NULL, NULL), CUMIND_OK);
    cm_env_reset(&row, state, seeds[0]);
    cm_env_restart(&row, state);
    cm_env_observe(&row, state, want);
    for (int i = 0; i < 2; i++) ck_assert_mem_eq(want, cumind_env_get_arrays(env).observation + 4 * i, sizeof want);
    cumind_env_close(env);
}
END_TEST

START_TEST(an_instance_does_not_depend_on_how_many_there_are) {
    float one[60][4];
    int32_t actions[5] = {0};
    open_env("CartPole-v1", 1, NULL);
    for (int t = 0; t < 60; t++) {
        memcpy(one[t], cumind_env_get_arrays(env).observation, sizeof one[t]);
        actions[0] = t % 3 == 0;
        step(actions);
    }
    cumind_env_close(env);
    open_env("CartPole-v1", 5, NULL);
    for (int t = 0; t < 60; t++) {
        ck_assert_mem_eq(one[t], cumind_env_get_arrays(env).observation, sizeof one[t]);
        actions[0] = t % 3 == 0;
        for (int i = 1; i < 5; i++) actions[i] = (t + i) % 2;
        step(actions);
    }
    cumind_env_close(env);
}
END_TEST

static void compare_copies(const cumind_env_arrays *a, const cumind_env_copies *copy, const cumind_spec *spec, int n) {
    const size_t rows = (size_t)n;
    ck_assert_mem_eq(copy->observation, a->observation, rows * (size_t)spec->observation_size * sizeof(float));
    if (a->legal) ck_assert_mem_eq(copy->legal, a->legal, rows * (size_t)spec->actions);
    ck_assert_mem_eq(copy->to_play, a->to_play, rows * sizeof(int32_t));
    ck_assert_mem_eq(copy->terminated, a->terminated, rows);
    ck_assert_mem_eq(copy->truncated, a->truncated, rows);
    for (int i = 0; i < n; i++) ck_assert_double_eq(copy->reward[i], (double)a->reward[i]);
}

START_TEST(a_step_by_actions_of_64_bits_is_the_same_and_gives_copies) {
    enum { N = 3, SIZE = 8192 };
    static float observation[SIZE];
    static uint8_t legal[SIZE], terminated[N], truncated[N];
    static int32_t to_play[N], actions[N];
    static double reward[N];
    const cumind_env_copies copies = {observation, legal, to_play, reward, terminated, truncated};
    for (int row = 0; cumind_env_name(row); row++) {
        cumind_spec spec;
        cumind_env *narrow;
        open_env(cumind_env_name(row), N, "max_steps=20");
        narrow = env;
        open_env(cumind_env_name(row), N, "max_steps=20");
        cumind_env_get_spec(env, &spec);
        const cumind_env_arrays a = cumind_env_get_arrays(env);
        ck_assert_uint_le((size_t)N * (size_t)spec.observation_size, SIZE);
        for (int t = 0; t < 50; t++) {
            int64_t wide[N];
            first_legal(actions, N);
            for (int i = 0; i < N; i++) wide[i] = actions[i];
            ck_assert_int_eq(cumind_env_step(narrow, actions), CUMIND_OK);
            ck_assert_msg(cumind_env_step_int64(env, wide, &copies) == CUMIND_OK, "%s", cumind_error_message());
            compare_copies(&a, &copies, &spec, N);
            const cumind_env_arrays other = cumind_env_get_arrays(narrow);
            compare_copies(&other, &copies, &spec, N);
        }
        ck_assert_int_eq(cumind_env_reset(env, NULL, NULL), CUMIND_OK);
        ck_assert_int_eq(cumind_env_copy_arrays(env, &copies), CUMIND_OK);
        compare_copies(&a, &copies, &spec, N);
        cumind_env_close(narrow);
        cumind_env_close(env);
    }
}
END_TEST

START_TEST(actions_beyond_32_bits_are_refused) {
    const int64_t beyond[2] = {0, (int64_t)1 << 32}, wrong[2] = {0, 3}, right[2] = {0, 2};
    const cumind_env_copies none = {0};
    open_env("catch", 2, NULL);
    expect(cumind_env_step_int64(env, beyond, NULL), CUMIND_ERR_INPUT, "actions: numbers out of the range of int32");
    expect(cumind_env_step_int64(env, wrong, NULL), CUMIND_ERR_INPUT, "instance 1: action 3 is not in [0, 3)");
    expect(cumind_env_step_int64(env, NULL, NULL), CUMIND_ERR_INPUT, "actions must not be NULL");
    expect(cumind_env_step_int64(NULL, right, NULL), CUMIND_ERR_INPUT, "the handle is NULL");
    expect(cumind_env_copy_arrays(env, NULL), CUMIND_ERR_INPUT, "copies must not be NULL");
    expect(cumind_env_copy_arrays(NULL, &none), CUMIND_ERR_INPUT, "the handle is NULL");
    ck_assert_int_eq(cumind_env_step_int64(env, right, &none), CUMIND_OK);
    cumind_env_close(env);
}
END_TEST

/* Also where another has just ended, so that the batch moves in parts. */
START_TEST(an_illegal_action_moves_nothing) {
    static const int32_t games[5][2] = {{0, 4}, {3, 0}, {1, 8}, {4, 2}, {2, 5}}; /* the first is won by then */
    static const int32_t taken[2] = {7, 4}, beyond[2] = {7, 9};
    open_env("tictactoe", 2, NULL);
    cumind_spec spec;
    cumind_env_get_spec(env, &spec);
    const size_t bytes = 2 * (size_t)spec.observation_size * sizeof(float);
    const cumind_env_arrays a = cumind_env_get_arrays(env);
    for (int t = 0; t < 5; t++) step(games[t]);
    ck_assert(a.terminated[0] && !a.terminated[1]);
    float *seen = malloc(bytes);
    memcpy(seen, a.observation, bytes);
    expect(cumind_env_step(env, taken), CUMIND_ERR_INPUT, "tictactoe: instance 1: action 4 is illegal here");
    expect(cumind_env_step(env, beyond), CUMIND_ERR_INPUT, "instance 1: action 9 is not in [0, 9)");
    ck_assert_mem_eq(seen, a.observation, bytes);
    ck_assert(a.terminated[0]);
    free(seen);
    cumind_env_close(env);
}
END_TEST

START_TEST(what_a_caller_writes_into_the_arrays_changes_no_step) {
    int32_t actions[2] = {0, 0};
    open_env("catch", 2, NULL);
    const cumind_env_arrays a = cumind_env_get_arrays(env);
    for (int t = 0; t < 3; t++) {
        memset(a.terminated, 1, 2);
        memset(a.legal, 0, 6);
        step(actions);
        ck_assert(!a.terminated[0] && a.legal[0] == 1);
    }
    for (int t = 0; t < 20 && !a.terminated[0]; t++) step(actions);
    ck_assert(a.terminated[0] && a.reward[0] != 0.0f);
    memset(a.terminated, 0, 2);
    step(actions); /* begins again all the same */
    ck_assert(!a.terminated[0] && a.reward[0] == 0.0f);
    cumind_env_close(env);
}
END_TEST

START_TEST(continuous_tasks_take_values) {
    float values[2] = {2.0f, -2.0f};
    open_env("Pendulum-v1", 2, NULL);
    cumind_spec spec;
    cumind_env_get_spec(env, &spec);
    ck_assert_int_eq(spec.action_size, 1);
    ck_assert_float_eq(spec.action_high, 2.0f);
    ck_assert_int_eq(cumind_env_step_values(env, values), CUMIND_OK);
    ck_assert(cumind_env_get_arrays(env).reward[0] < 0.0f);
    values[1] = NAN;
    expect(cumind_env_step_values(env, values), CUMIND_ERR_INPUT, "instance 1: the action is NaN");
    cumind_env_close(env);
    open_env("catch", 1, NULL);
    expect(cumind_env_step_values(env, values), CUMIND_ERR_INPUT, "catch has 3 actions and takes no values");
    cumind_env_close(env);
}
END_TEST

START_TEST(a_copy_goes_on_as_the_other) {
    int32_t actions[2] = {3, 0};
    char one[4096], two[4096], name[16];
    open_env("connect4", 2, NULL);
    const cumind_env_arrays a = cumind_env_get_arrays(env);
    step(actions);
    ck_assert_int_eq(cumind_env_copy(env, 1, 0), CUMIND_OK);
    for (int t = 0; t < 20; t++) {
        ck_assert_int_eq(cumind_env_picture(env, 0, one, sizeof one), CUMIND_OK);
        ck_assert_int_eq(cumind_env_picture(env, 1, two, sizeof two), CUMIND_OK);
        ck_assert_str_eq(one, two);
        ck_assert_int_eq(a.to_play[0], a.to_play[1]);
        first_legal(actions, 2);
        step(actions);
    }
    ck_assert_int_eq(cumind_env_action_name(env, 3, name, sizeof name), CUMIND_OK);
    ck_assert_str_eq(name, "d");
    cumind_env_close(env);
}
END_TEST

START_TEST(a_library_is_opened_by_its_path_and_a_text_in_python_is_given_seeds) {
    open_env(CM_TEST_MODULES "/environment_corridor.so", 2, NULL);
    const int32_t actions[2] = {1, 1};
    step(actions);
    cumind_env_close(env);
    static const char text[] = "class Told:\n  actions, max_steps = 2, 4\n"
                               "  def reset(self, seed):\n    self.seed = seed\n    return [seed % 1000 / 1000]\n"
                               "  def step(self, action): return [0.0], 1.0, False\n";
    char path[PATH_MAX];
    cm_test_folder_make();
    snprintf(path, sizeof path, "%s/told.py", cm_test_folder);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    open_env(path, 2, NULL);
    const uint64_t seeds[2] = {250, 1750};
    ck_assert_msg(cumind_env_reset(env, NULL, seeds) == CUMIND_OK, "%s", cumind_error_message());
    ck_assert_float_eq_tol(cumind_env_get_arrays(env).observation[0], 0.25f, 1e-6f);
    ck_assert_float_eq_tol(cumind_env_get_arrays(env).observation[1], 0.75f, 1e-6f);
    cumind_env_close(env);
    cm_test_folder_remove();
}
END_TEST

START_TEST(wrong_arguments_are_named) {
    char text[8];
    const char *none = NULL, *wrong = "max_stepz=3", *range = "max_steps=-3", *elsewhere = "learning_rate=0.1";
    const int32_t actions[1] = {0};
    expect(cumind_env_open(NULL, 1, 0, NULL, 0, &env), CUMIND_ERR_INPUT, "name must not be NULL");
    expect(cumind_env_open("catch", 1, 0, NULL, 0, NULL), CUMIND_ERR_INPUT, "out must not be NULL");
    expect(cumind_env_open("catch", 0, 0, NULL, 0, &env), CUMIND_ERR_INPUT, "instances must be at least 1, got 0");
    expect(cumind_env_open("catch", 1, 0, NULL, 1, &env), CUMIND_ERR_INPUT, "settings must not be NULL");
    expect(cumind_env_open("catch", 1, 0, &none, 1, &env), CUMIND_ERR_INPUT, "settings[0] must not be NULL");
    expect(cumind_env_open("catch", 1, 0, &none, -1, &env), CUMIND_ERR_INPUT, "settings_count must be 0 or more");
    expect(cumind_env_open("catch", 1, 0, &wrong, 1, &env), CUMIND_ERR_INPUT, "max_steps");
    expect(cumind_env_open("catch", 1, 0, &range, 1, &env), CUMIND_ERR_INPUT, "max_steps");
    expect(cumind_env_open("catch", 1, 0, &elsewhere, 1, &env), CUMIND_ERR_INPUT,
           "learning_rate=0.1 is no key of the section Environment");
    expect(cumind_env_open("cartpole-v2", 1, 0, NULL, 0, &env), CUMIND_ERR_INPUT, "CartPole");
    expect(cumind_env_open("catch", INT_MAX, 0, NULL, 0, &env), CUMIND_ERR_MEMORY, "catch");
    ck_assert_ptr_null(env);
    expect(cumind_env_step(NULL, actions), CUMIND_ERR_INPUT, "the handle is NULL");
    open_env("catch", 1, NULL);
    expect(cumind_env_step(env, NULL), CUMIND_ERR_INPUT, "actions must not be NULL");
    expect(cumind_env_copy(env, 0, 1), CUMIND_ERR_INPUT, "instances 1 to 1 are asked for; there are 0 to 0");
    expect(cumind_env_picture(env, -1, text, sizeof text), CUMIND_ERR_INPUT, "instances -1");
    expect(cumind_env_picture(env, 0, text, 0), CUMIND_ERR_INPUT, "size must be at least 1");
    expect(cumind_env_action_name(env, 3, text, sizeof text), CUMIND_ERR_INPUT, "action 3 is not in [0, 3)");
    cumind_env_close(env);
    cumind_env_close(NULL);
}
END_TEST

static char logged[256];

static void keep_line(void *context, cumind_log_level level, const char *line) {
    ck_assert_ptr_eq(context, logged);
    ck_assert_int_eq(level, CUMIND_WARNING);
    snprintf(logged, sizeof logged, "%s", line);
}

START_TEST(lines_of_the_log_go_where_the_caller_wants_them) {
    cumind_log_to(keep_line, logged);
    cm_log(CM_WARNING, "one line");
    ck_assert_str_eq(logged, "one line");
    cumind_log_to(NULL, NULL);
    ck_assert_int_eq(cumind_interface(), CUMIND_INTERFACE);
    ck_assert_int_eq(cumind_version()[0], '0');
    expect(cumind_fail(CUMIND_ERR_MODEL, "mine"), CUMIND_ERR_MODEL, "mine");
}
END_TEST

START_TEST(names_have_the_size_that_they_mean) {
    cumind_spec spec;
    bool has_go = false;
    open_env("go", 1, NULL);
    cumind_env_get_spec(env, &spec);
    cumind_env_close(env);
    for (int i = 0; cumind_env_name(i); i++) has_go |= strcmp(cumind_env_name(i), spec.name) == 0;
    ck_assert_str_eq(spec.name, "go9");
    ck_assert(has_go);
}
END_TEST

static int use_what_the_parent_opened(void) {
    const int32_t action = 0;
    cumind_env *own = NULL;
    const bool is_refused = cumind_env_step(env, &action) == CUMIND_ERR_STATE &&
                            strstr(cumind_error_message(), "the process that this one was forked from");
    cumind_env_close(env);
    const bool opens =
        cumind_env_open("catch", 1, 1, NULL, 0, &own) == CUMIND_OK && cumind_env_step(own, &action) == CUMIND_OK;
    cumind_env_close(own);
    return is_refused && opens ? 0 : 1;
}

START_TEST(a_forked_process_opens_environments_of_its_own) {
    int status = -1;
    open_env("catch", 1, NULL);
    const pid_t child = fork();
    if (child == 0) _exit(use_what_the_parent_opened());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    const int32_t action = 0;
    step(&action);
    cumind_env_close(env);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("api/env");
    TCase *tests = tcase_create("environments");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, every_environment_of_the_registry_plays_episodes_to_their_end);
    tcase_add_test(tests, an_episode_that_has_ended_begins_again_in_the_next_step);
    tcase_add_test(tests, episodes_of_named_seeds_are_those_of_gymnasium);
    tcase_add_test(tests, an_instance_does_not_depend_on_how_many_there_are);
    tcase_add_test(tests, an_illegal_action_moves_nothing);
    tcase_add_test(tests, what_a_caller_writes_into_the_arrays_changes_no_step);
    tcase_add_test(tests, continuous_tasks_take_values);
    tcase_add_test(tests, a_copy_goes_on_as_the_other);
    tcase_add_test(tests, a_library_is_opened_by_its_path_and_a_text_in_python_is_given_seeds);
    tcase_add_test(tests, a_step_by_actions_of_64_bits_is_the_same_and_gives_copies);
    tcase_add_test(tests, actions_beyond_32_bits_are_refused);
    tcase_add_test(tests, wrong_arguments_are_named);
    tcase_add_test(tests, names_have_the_size_that_they_mean);
    tcase_add_test(tests, a_forked_process_opens_environments_of_its_own);
    tcase_add_test(tests, lines_of_the_log_go_where_the_caller_wants_them);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
