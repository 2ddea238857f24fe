/* Environments in Python that tests write, play and look at. */
#ifndef TESTS_ENV_PYTHON_ENV_H
#define TESTS_ENV_PYTHON_ENV_H

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/log.h"
#include "env/python.h"
#include "env/silent_check.h"
#include "env/vector.h"
#include "support/folder.h"
#include "support/main.h"

static inline void open_named(const char *name, cm_env *env) {
    must_msg(cm_env_open(env, name, NULL) == CM_OK, "%s", cm_error_message());
}

/* Writes a file of the folder of the test; its path. */
static inline const char *write_text(const char *name, const char *text) {
    static char path[CM_TEST_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    must_equal(cm_file_write(path, text, strlen(text)), CM_OK);
    return path;
}

enum { INSTANCES = 40, STEPS = 60 };

/* The same games by a vector, whose steps go to the processes together, and by single states. */
static inline void compare_with_single_states(const cm_env *env) {
    const size_t width = (size_t)env->spec.observation_size;
    cm_vector_env *vector;
    must_equal(cm_vector_env_create(env, INSTANCES, 7, 0, &vector), CM_OK);
    float *observation = calloc(INSTANCES * width, sizeof *observation), *single = calloc(width, sizeof *single);
    float reward[INSTANCES];
    uint8_t terminated[INSTANCES], truncated[INSTANCES];
    int32_t actions[INSTANCES], to_play[INSTANCES];
    cm_env_rows rows = {observation, NULL, to_play, reward, terminated, truncated};
    char *states = calloc(INSTANCES, env->spec.state_size);
    for (int i = 0; i < INSTANCES; i++) cm_vector_env_get(vector, i, states + (size_t)i * env->spec.state_size);
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_EVALUATE, 0), 0);
    for (int t = 0; t < STEPS; t++) {
        for (int i = 0; i < INSTANCES; i++)
            actions[i] = cm_env_random_action(env, states + (size_t)i * env->spec.state_size, &rng);
        must_msg(cm_vector_env_step(vector, 0, INSTANCES, actions, &rows) == CM_OK, "%s", cm_error_message());
        for (int i = 0; i < INSTANCES; i++) {
            char *state = states + (size_t)i * env->spec.state_size;
            cm_env_outcome out;
            must_msg(cm_env_step(env, state, actions[i], &out) == CM_OK, "%s", cm_error_message());
            cm_env_observe(env, state, single);
            must_equal(memcmp(single, observation + (size_t)i * width, width * sizeof *single), 0);
            must((float)out.reward == reward[i] && out.terminated == terminated[i] && out.truncated == truncated[i]);
            must_equal(to_play[i], cm_env_to_play(env, state));
        }
        cm_vector_env_reset_ended(vector, 0, INSTANCES, &rows);
        for (int i = 0; i < INSTANCES; i++) {
            char *state = states + (size_t)i * env->spec.state_size;
            if (cm_env_ended(state)) cm_vector_env_get(vector, i, state);
        }
    }
    cm_vector_env_destroy(vector);
    free(states);
    free(observation);
    free(single);
}

/* Observes, after some steps, how many they are, in each of `numbers` numbers. */
#define COUNTS(SPACE, VALUE)                                                                                           \
    "class Discrete:\n  def __init__(s, n, start=0): s.n, s.start = n, start\n"                                        \
    "class Dict:\n  def __init__(s, **spaces): s.spaces = spaces\n"                                                    \
    "class Box:\n  dtype = 'float32'\n"                                                                                \
    "def make(): return E()\n"                                                                                         \
    "class E:\n  actions, max_steps, observation_space = 2, 9, " SPACE "\n"                                            \
    "  def now(s): return " VALUE "\n"                                                                                 \
    "  def reset(s):\n    s.t = 0\n    return s.now()\n"                                                               \
    "  def step(s, a):\n    s.t += 1\n    return s.now(), 0.0, False\n"

/* The observation after one step. */
static inline void observe_first(const cm_env *env, float *observation) {
    cm_env_outcome out;
    char *state = calloc(1, env->spec.state_size);
    cm_env_reset(env, state, 5);
    must_msg(cm_env_step(env, state, 0, &out) == CM_OK, "%s", cm_error_message());
    cm_env_observe(env, state, observation);
    free(state);
}

/* False: there is no numpy here, and it has been said. */
static inline bool has_numpy(const char *who) {
    cm_env env;
    const char *path = write_text("numpy_there.py", "import numpy\n" COUNTS("None", "[0.0]"));
    if (cm_env_open(&env, path, NULL) == CM_OK) return true;
    must_msg(strstr(cm_error_message(), "No module named 'numpy'") != NULL, "%s", cm_error_message());
    printf("SKIP numpy %s: %s\n", who, cm_error_message());
    return false;
}

static char said[2048]; /* lines of the log, to be compared */

static inline bool keep_line(void *context, cm_log_level level, const char *line) {
    (void)context;
    const size_t length = strlen(said);
    snprintf(said + length, sizeof said - length, "%d %s\n", (int)level, line);
    return true;
}

static inline void open_and_listen(const char *path, cm_env *env) {
    said[0] = '\0';
    cm_log_set_hook(keep_line, NULL);
    open_named(path, env);
}

/* `body`: the lines of step. Returns how the trial refuses it. */
static inline void expect_tried(const char *name, const char *body, const char *says) {
    char text[1024];
    cm_env env;
    snprintf(text, sizeof text,
             "import os, random, signal\nclass E:\n  actions, max_steps = 2, 9\n  def reset(s): return [0.0]\n"
             "  def step(s, a):\n    %s\n",
             body);
    open_named(write_text(name, text), &env);
    must(cm_env_try(&env, 64) != CM_OK);
    must_msg(strstr(cm_error_message(), says) != NULL, "%s", cm_error_message());
}

#endif
