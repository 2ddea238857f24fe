/* Environments written in Python: the example of docs/ADDING_AN_ENVIRONMENT.md, and what they may do wrong. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu.h"
#include "core/file.h"
#include "env/python.h"
#include "env/quiet_check.h"
#include "env/vector.h"
#include "support/folder.h"
#include "support/main.h"

#define CORRIDOR "docs/examples/environment_corridor.py"

enum { LEFT, RIGHT };

static void open_named(const char *name, cm_env *env) {
    must_msg(cm_env_open(env, name, NULL) == CM_OK, "%s", cm_error_message());
}

/* Writes a file of the folder of the test; its path. */
static const char *write_text(const char *name, const char *text) {
    static char path[CM_TEST_PATH + 32];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    must_equal(cm_file_write(path, text, strlen(text)), CM_OK);
    return path;
}

static void expect_refused(const char *path, const char *says) {
    cm_env env;
    must_equal(cm_env_open(&env, path, NULL), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), says) != NULL, "%s", cm_error_message());
}

START_TEST(the_path_of_a_file_in_python_is_a_name) {
    cm_env env, again;
    open_named(CORRIDOR, &env);
    open_named(CORRIDOR, &again);
    must(cm_env_is_same(&env, &again) && cm_env_is_file(CORRIDOR) && !cm_env_is_library(CORRIDOR));
    must(cm_env_is_python("gymnasium:ale_py:ALE/Pong-v5") && !cm_env_is_file("gymnasium:ALE/Pong-v5"));
    ck_assert_str_eq(env.spec.name, "environment_corridor");
    must(env.spec.rank == 1 && env.spec.shape[0] == 9 && env.spec.actions == 2 && env.spec.max_steps == 40);
    must(env.spec.players == 1 && env.spec.max_plies == 40 && env.def->legal == NULL);
    char name[16];
    cm_env_action_name(&env, RIGHT, name, sizeof name);
    ck_assert_str_eq(name, "right");
    must_msg(cm_env_try(&env, 256) == CM_OK, "%s", cm_error_message());
}
END_TEST

static int cell_of(const cm_env *env, const void *state) {
    float observation[9];
    int cell = 0;
    cm_env_observe(env, state, observation);
    while (!(observation[cell] > 0.0f)) cell++;
    return cell;
}

/* Its object in Python has gone on; the copy is played again from its seed. */
START_TEST(a_copy_of_a_state_goes_on_from_where_it_was) {
    cm_env env;
    cm_env_outcome out;
    char *state, *copy, picture[CM_ENV_PICTURE_BYTES];
    open_named(CORRIDOR, &env);
    state = calloc(2, env.spec.state_size);
    copy = state + env.spec.state_size;
    cm_env_reset(&env, state, 5);
    const int begun = cell_of(&env, state), away = begun < 4 ? RIGHT : LEFT;
    must_equal(cm_env_step(&env, state, away, &out), CM_OK);
    must_equal(cm_env_step(&env, state, away, &out), CM_OK);
    memcpy(copy, state, env.spec.state_size);
    must_equal(cm_env_step(&env, state, away, &out), CM_OK);
    must_equal(cm_env_step(&env, copy, 1 - away, &out), CM_OK);
    const int sign = away == RIGHT ? 1 : -1;
    must_equal(cell_of(&env, state), begun + 3 * sign);
    must_equal(cell_of(&env, copy), begun + sign);
    cm_env_picture(&env, copy, picture, sizeof picture);
    must_msg(picture[begun + sign] == '@' && picture[8] == '$' && picture[9] == '\0', "%s", picture);
    must_equal(cm_env_step(&env, state, away, &out), CM_OK); /* the copy has not taken its object away */
    must_equal(cell_of(&env, state), begun + 4 * sign);
    free(state);
}
END_TEST

START_TEST(the_time_limit_is_the_files_or_the_callers) {
    cm_env env;
    cm_env_params params = cm_env_params_default();
    params.max_steps = 2;
    must_equal(cm_env_open(&env, CORRIDOR, &params), CM_OK);
    cm_env_outcome out = {0};
    char *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 5);
    const int away = cell_of(&env, state) < 4 ? RIGHT : LEFT;
    must_equal(cm_env_step(&env, state, away, &out), CM_OK);
    must(!out.truncated);
    must_equal(cm_env_step(&env, state, 1 - away, &out), CM_OK);
    must(out.truncated && !out.terminated);
    free(state);
}
END_TEST

enum { INSTANCES = 40, STEPS = 60 };

/* The same games by a vector, whose steps go to the processes together, and by single states. */
static void compare_with_single_states(const cm_env *env) {
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

START_TEST(steps_together_are_those_of_single_states) {
    cm_env env;
    open_named(CORRIDOR, &env);
    compare_with_single_states(&env);
}
END_TEST

/* Nim with seven stones: a game of two with legal actions, to_play, and a limit of its own that truncates. */
static const char nim[] = "class Nim:\n"
                          "    actions, players, max_steps = 3, 2, 50\n"
                          "    def reset(self, seed):\n"
                          "        self.left, self.player, self.moves = 7 + seed % 5, 0, 0\n"
                          "        return [[self.left, 0.5], [self.player, 1.0]]\n"
                          "    def legal_actions(self):\n"
                          "        return [a for a in range(3) if a < self.left]\n"
                          "    def to_play(self):\n"
                          "        return self.player\n"
                          "    def step(self, action):\n"
                          "        self.left -= action + 1\n"
                          "        self.player, self.moves = 1 - self.player, self.moves + 1\n"
                          "        won = self.left == 0\n"
                          "        return [[self.left, 0.5], [self.player, 1.0]], float(won), won, "
                          "self.moves == 6 and not won, {}\n";

/* An episode of so many stones. */
static void begin_with(const cm_env *env, char *state, int stones) {
    float observation[4] = {0};
    for (uint64_t seed = 0; (int)observation[0] != stones; seed++) {
        cm_env_reset(env, state, seed);
        cm_env_observe(env, state, observation);
    }
}

START_TEST(games_of_two_have_masks_players_and_truncations_of_their_own) {
    cm_env env;
    cm_env_outcome out = {0};
    uint8_t mask[3];
    open_named(write_text("nim.py", nim), &env);
    must(env.spec.players == 2 && env.spec.rank == 3 && env.spec.shape[0] == 2 && env.spec.shape[1] == 2);
    must_msg(cm_env_try(&env, 256) == CM_OK, "%s", cm_error_message());
    compare_with_single_states(&env);
    char *state = calloc(1, env.spec.state_size);
    begin_with(&env, state, 11);
    for (int move = 0; move < 5; move++) {
        must_equal(cm_env_to_play(&env, state), move % 2);
        must_equal(cm_env_step(&env, state, 0, &out), CM_OK);
    }
    must_equal(cm_env_step(&env, state, 2, &out), CM_OK);
    must(out.truncated && !out.terminated);
    begin_with(&env, state, 7);
    for (int rest = 7; rest > 2; rest--) must_equal(cm_env_step(&env, state, 0, &out), CM_OK);
    cm_env_legal(&env, state, mask);
    must(mask[0] == 1 && mask[1] == 1 && mask[2] == 0);
    must_equal(cm_env_step(&env, state, 2, &out), CM_ERR_INPUT);
    must_equal(cm_env_step(&env, state, 1, &out), CM_OK);
    must(out.terminated && out.reward == 1.0);
    free(state);
}
END_TEST

/* A reset that leaves how many episodes there were before: nobody sees it where each has an object of its own. */
static const char worn[] = "class Worn:\n"
                           "    actions, max_steps, episodes = 2, 3, 0\n"
                           "    %s\n"
                           "    def reset(self, seed):\n"
                           "        self.episodes += 1\n"
                           "        return [seed %% 7, self.episodes]\n"
                           "    def step(self, action):\n"
                           "        return [action, self.episodes], 0.0, False\n";

START_TEST(episodes_may_have_objects_of_their_own) {
    cm_env env;
    char text[512];
    snprintf(text, sizeof text, worn, "");
    open_named(write_text("worn.py", text), &env);
    must_equal(cm_env_try(&env, 64), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "if a reset leaves something of the last episode, set reusable = False"), "%s",
             cm_error_message());
    snprintf(text, sizeof text, worn, "reusable = False");
    open_named(write_text("fresh.py", text), &env);
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
    compare_with_single_states(&env);
}
END_TEST

START_TEST(what_is_no_environment_is_refused_in_one_line) {
    expect_refused("nowhere.py", "nowhere.py: there is no such file; if it has moved, say where it is with --set");
    expect_refused(write_text("none.py", "x = 1\n"), "none.py: needed is one class with reset and step");
    expect_refused(write_text("torn.py", "def make(:\n"), "torn.py: SyntaxError: ");
    expect_refused(write_text("needs.py", "import no_such_package\n"),
                   "needs.py: ModuleNotFoundError: No module named 'no_such_package' (needs.py:1); ");
    expect_refused(write_text("many.py", "class A:\n  def reset(s): pass\n  def step(s, a): pass\n"
                                         "class B(A): pass\n"),
                   "; here: A, B");
    expect_refused(write_text("dies.py", "import os\nos._exit(3)\n"),
                   "dies.py: the Python process that plays it has ended, with status 3");
    expect_refused(write_text("endless.py", "class E:\n  actions = 2\n  def reset(s): return [0.0]\n"
                                            "  def step(s, a): return [0.0], 0.0, False\n"),
                   "endless: it has no limit on the steps of an episode: give its class max_steps = 500, say");
    expect_refused(write_text("vast.py", "class V:\n  actions, max_steps = 2, 10**9\n"
                                         "  def reset(s): return [0.0]\n  def step(s, a): pass\n"),
                   "vast: max_steps: must be");
    expect_refused(write_text("nameless.py", "class N:\n  actions, max_steps = 2, 9\n  action_names = ['a']\n"
                                             "  def reset(s): return [0.0]\n  def step(s, a): pass\n"),
                   "nameless: it has 1 action_names, but 2 actions");
}
END_TEST

/* Each option asks whether its environment reads it: that it cannot be opened is found out once. */
START_TEST(what_fails_is_not_started_again_at_once) {
    char path[CM_TEST_PATH + 32], counted[CM_TEST_PATH + 64], *text;
    size_t size;
    snprintf(path, sizeof path, "%s",
             write_text("counts.py", "with open(__file__ + '.count', 'a') as file: file.write('x')\nraise OSError\n"));
    snprintf(counted, sizeof counted, "%s.count", path);
    for (int i = 0; i < 20; i++) expect_refused(path, "counts.py: OSError (counts.py:2)");
    must_equal(cm_file_read(counted, 64, &text, &size), CM_OK);
    must_msg(size < 8, "%zu processes", size); /* one, unless this takes very long */
    free(text);
}
END_TEST

/* `body`: the lines of step. Returns how the trial refuses it. */
static void expect_tried(const char *name, const char *body, const char *says) {
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

START_TEST(what_goes_wrong_in_a_step_is_said_in_one_line) {
    expect_tried("raises.py", "return [1 / a], 0.0, False",
                 "raises: its step raises ZeroDivisionError: division by zero (raises.py:6)");
    expect_tried("longer.py", "return [0.0, 1.0], 0.0, False",
                 "longer: its step gives an observation of 2 numbers, not 1");
    expect_tried("dead.py", "os.kill(os.getpid(), signal.SIGKILL)",
                 "dead: the Python process that plays it was ended by signal 9 (Killed)");
    expect_tried("exits.py", "os._exit(0)", "exits: the Python process that plays it has ended, with status 0");
    expect_tried("nan.py", "return [0.0], float('nan'), False", "nan: its step gives reward nan (step 1)");
    expect_tried("drawn.py", "return [random.SystemRandom().random()], 0.0, False",
                 "episodes of equal seeds and actions differ");
    expect_tried("leaves.py", "raise SystemExit('bye')", "its step raises SystemExit: bye (leaves.py:6)");
    expect_tried("nothing.py", "pass", "its step gives no tuple of observation, reward, terminated, truncated, info");
    expect_tried("strange.py", "return [0.0], None, False", "a reward that is no number, but of the kind NoneType");
    expect_tried("words.py", "return 'left', 0.0, False", "that is no array of numbers, but of the kind str");
    expect_tried("masks.py", "return [0.0], 0.0, False, {'action_mask': [1, 1]}", "an action_mask in info, where");
    expect_tried("stuck.py", "return [0.0], 0.0, False\n  def legal_actions(s): return []",
                 "gives no legal action, but");
    expect_tried("beyond.py", "return [0.0], 0.0, False\n  def legal_actions(s): return [2]",
                 "legal_actions with 2; they are from 0 to 1");
    expect_tried("infinite.py", "return [float('inf')], 0.0, False", "sets it to inf (step 2)");
}
END_TEST

/* Such a state must not get into a checkpoint, where nobody would know any more what is wrong with it. */
START_TEST(a_reset_that_raises_is_said_before_a_step) {
    cm_env env;
    cm_vector_env *vector;
    const cm_env_rows none = {NULL, NULL, NULL, NULL, NULL, NULL};
    const int32_t actions[3] = {0, 0, 0};
    open_named(write_text("begins.py", "import os\nclass E:\n  actions, max_steps = 2, 1\n  def reset(s):\n"
                                       "    assert not os.path.exists(__file__ + '.stop'), 'no more'\n"
                                       "    return [0.0]\n  def step(s, a): return [0.0], 0.0, False\n"),
               &env);
    must_equal(cm_vector_env_create(&env, 3, 7, 0, &vector), CM_OK);
    must_msg(cm_vector_env_step(vector, 0, 3, actions, &none) == CM_OK, "%s", cm_error_message());
    write_text("begins.py.stop", "");
    must_equal(cm_vector_env_check_begun(vector, 0, 3), CM_OK);
    must_equal(cm_vector_env_reset_ended(vector, 0, 3, &none), 3);
    const cm_status status = cm_vector_env_check_begun(vector, 0, 3);
    must_equal(status, CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "begins: instance 0: its reset raises AssertionError: no more (begins.py:5)") !=
                 NULL,
             "%s", cm_error_message());
    cm_vector_env_destroy(vector);
}
END_TEST

START_TEST(a_file_that_changes_while_it_is_played_is_refused) {
    static const char text[] = "class E:\n  actions, max_steps = 2, 9\n  def reset(s): return [0.0]%s\n"
                               "  def step(s, a): return [0.0]%s, 0.0, False\n";
    char before[256], after[256];
    cm_env env;
    cm_env_outcome out;
    snprintf(before, sizeof before, text, "", "");
    snprintf(after, sizeof after, text, " * 2", " * 2");
    open_named(write_text("changes.py", before), &env);
    write_text("changes.py", after);
    char *state = calloc(1, env.spec.state_size);
    cm_status status = CM_OK;
    for (uint64_t seed = 0; seed < 64 && status == CM_OK; seed++) { /* until a second process is needed */
        cm_env_reset(&env, state, seed);
        status = cm_env_step(&env, state, 0, &out);
    }
    if (cm_cpu_count() > 1) {
        must_equal(status, CM_ERR_INPUT);
        must_msg(strstr(cm_error_message(), "changes.py: has changed since it was opened") != NULL, "%s",
                 cm_error_message());
    }
    free(state);
}
END_TEST

/* What an environment prints is no answer, and it has no terminal to read. */
START_TEST(an_environment_may_print) {
    cm_env env;
    open_named(write_text("prints.py", "import sys\nclass E:\n  actions, max_steps = 2, 9\n"
                                       "  def reset(s): sys.stdout.write(''); return [float(len(sys.stdin.read()))]\n"
                                       "  def step(s, a): return [0.0], 0.0, False, {}\n"),
               &env);
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
}
END_TEST

/* A process of the environment, which ends with the one that plays it, holds nothing open and may be ended by it. */
START_TEST(an_environment_may_have_processes_of_its_own) {
    cm_env env;
    open_named(write_text("forks.py", "import multiprocessing, os, subprocess, time\n"
                                      "class E:\n  actions, max_steps = 2, 9\n"
                                      "  def reset(s):\n    assert os.getpgrp() == os.getpid()\n"
                                      "    p = subprocess.Popen(['sleep', '1000']); p.terminate()\n"
                                      "    q = multiprocessing.get_context('fork').Process(target=time.sleep, "
                                      "args=(1000,)); q.start(); q.terminate(); q.join()\n"
                                      "    return [float(p.wait()), float(q.exitcode)]\n"
                                      "  def step(s, a): return [0.0, 0.0], 0.0, True\n"),
               &env);
    char *state = calloc(1, env.spec.state_size);
    float observation[2];
    cm_env_reset(&env, state, 1);
    cm_env_observe(&env, state, observation);
    must(observation[0] == -15.0f && observation[1] == -15.0f);
    free(state);
}
END_TEST

/* A file of a package, one that has the name of a module of Python's own, and one that seeds as old Gym does. */
START_TEST(a_file_may_stand_anywhere) {
    cm_env env;
    open_named(write_text("random.py", "import random\nclass E:\n  actions, max_steps = 2, 9\n"
                                       "  def seed(s, seed): s.chance = random.Random(seed)\n"
                                       "  def reset(s): return [s.chance.random()]\n"
                                       "  def step(s, a): return [s.chance.random()], 0.0, False, {}\n"),
               &env);
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
    (void)write_text("__init__.py", "");
    (void)write_text("half.py", "HALF = 0.5\n");
    open_named(write_text("inner.py", "from .half import HALF\nclass E:\n  actions, max_steps = 2, 9\n"
                                      "  def reset(s): return [HALF]\n"
                                      "  def step(s, a): return [HALF], 0.0, False\n"),
               &env);
}
END_TEST

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
static void observe_first(const cm_env *env, float *observation) {
    cm_env_outcome out;
    char *state = calloc(1, env->spec.state_size);
    cm_env_reset(env, state, 5);
    must_msg(cm_env_step(env, state, 0, &out) == CM_OK, "%s", cm_error_message());
    cm_env_observe(env, state, observation);
    free(state);
}

START_TEST(spaces_of_values_are_bytes_of_which_each_is_1) {
    static const float want[5] = {0, 1, 0, 0, 0}, both[6] = {0, 1, 0, 0, 1, 0};
    float observation[6];
    cm_env env;
    open_named(write_text("values.py", COUNTS("Discrete(5, 2)", "s.t % 5 + 2")), &env);
    must(env.spec.observation_size == 5 && env.spec.observation_unit == 1.0f);
    observe_first(&env, observation);
    must(memcmp(observation, want, sizeof want) == 0);
    compare_with_single_states(&env);
    open_named(write_text("both.py", COUNTS("Dict(a=Discrete(2), b=Discrete(4))", "{'a': s.t % 2, 'b': s.t % 3 + 1}")),
               &env);
    must(env.spec.observation_size == 6 && env.spec.observation_unit == 1.0f);
    observe_first(&env, observation);
    must(memcmp(observation, both, sizeof both) == 0);
    compare_with_single_states(&env);
}
END_TEST

START_TEST(parts_of_several_kinds_are_float32) {
    static const float want[3] = {0, 1, 2.5f};
    float observation[3];
    cm_env env;
    open_named(write_text("mixed.py", COUNTS("Dict(a=Discrete(2), b=Box())", "{'a': s.t % 2, 'b': [s.t + 1.5]}")),
               &env);
    must(env.spec.observation_size == 3 && !(env.spec.observation_unit > 0.0f));
    observe_first(&env, observation);
    must(memcmp(observation, want, sizeof want) == 0);
    compare_with_single_states(&env);
}
END_TEST

/* False: there is no numpy here, and it has been said. */
static bool has_numpy(const char *who) {
    cm_env env;
    const char *path = write_text("numpy_there.py", "import numpy\n" COUNTS("None", "[0.0]"));
    if (cm_env_open(&env, path, NULL) == CM_OK) return true;
    must_msg(strstr(cm_error_message(), "No module named 'numpy'") != NULL, "%s", cm_error_message());
    printf("SKIP numpy %s: %s\n", who, cm_error_message());
    return false;
}

#define PICTURE                                                                                                        \
    "import numpy\n"                                                                                                   \
    "class E:\n  actions, max_steps = 2, 300\n"                                                                        \
    "  def reset(s):\n    s.t = 250\n    return numpy.full((2, 3), s.t, numpy.uint8)\n"                                \
    "  def step(s, a):\n    s.t += 1\n    return numpy.full((2, 3), s.t, "

START_TEST(pictures_of_bytes_are_bytes_of_which_255_are_1) {
    float observation[6];
    cm_env env;
    if (!has_numpy("bytes")) return;
    open_named(write_text("picture.py", PICTURE "numpy.uint8), 0.0, s.t == 255\n"), &env);
    must(env.spec.rank == 3 && env.spec.shape[0] == 2 && env.spec.shape[1] == 3 && env.spec.shape[2] == 1);
    must(env.spec.observation_unit == 1.0f / 255.0f);
    observe_first(&env, observation);
    for (int i = 0; i < 6; i++) must(observation[i] == 251.0f * (1.0f / 255.0f));
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
    compare_with_single_states(&env);
    open_named(write_text("whole.py", PICTURE "int), 0.0, s.t == 255\n"), &env); /* of other numbers that are bytes */
    observe_first(&env, observation);
    must(observation[0] == 251.0f * (1.0f / 255.0f));
}
END_TEST

/* Channel c of row y and column x is 100 c + 10 y + x. */
START_TEST(pictures_get_their_channels_last) {
    float observation[24];
    cm_env env;
    if (!has_numpy("channels")) return;
    open_named(write_text("frames.py", "import numpy\nclass E:\n  actions, max_steps = 2, 9\n"
                                       "  now = numpy.add.outer([0, 100], numpy.add.outer([0, 10, 20], [0, 1, 2, 3])"
                                       ").astype(numpy.uint8)\n"
                                       "  def reset(s): return s.now\n"
                                       "  def step(s, a): return s.now, 0.0, False\n"),
               &env);
    must(env.spec.rank == 3 && env.spec.shape[0] == 3 && env.spec.shape[1] == 4 && env.spec.shape[2] == 2);
    observe_first(&env, observation);
    for (int y = 0, i = 0; y < 3; y++)
        for (int x = 0; x < 4; x++)
            for (int c = 0; c < 2; c++, i++) must(observation[i] == (float)(100 * c + 10 * y + x) * (1.0f / 255.0f));
}
END_TEST

START_TEST(numbers_that_are_no_bytes_are_refused_where_these_were_promised) {
    cm_env env;
    if (!has_numpy("no bytes")) return;
    open_named(write_text("late.py", PICTURE "int), 0.0, False\n"), &env);
    must_equal(cm_env_try(&env, 64), CM_ERR_INPUT);
    must_msg(strstr(cm_error_message(), "late: ") &&
                 strstr(cm_error_message(), "an observation of other numbers than 0"),
             "%s", cm_error_message());
}
END_TEST

static Suite *make_suite(void) {
    Suite *suite = suite_create("python");
    TCase *tcase = tcase_create("python");
    tcase_add_checked_fixture(tcase, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, the_path_of_a_file_in_python_is_a_name);
    tcase_add_test(tcase, a_copy_of_a_state_goes_on_from_where_it_was);
    tcase_add_test(tcase, the_time_limit_is_the_files_or_the_callers);
    tcase_add_test(tcase, steps_together_are_those_of_single_states);
    tcase_add_test(tcase, games_of_two_have_masks_players_and_truncations_of_their_own);
    tcase_add_test(tcase, episodes_may_have_objects_of_their_own);
    tcase_add_test(tcase, what_is_no_environment_is_refused_in_one_line);
    tcase_add_test(tcase, what_goes_wrong_in_a_step_is_said_in_one_line);
    tcase_add_test(tcase, a_reset_that_raises_is_said_before_a_step);
    tcase_add_test(tcase, a_file_that_changes_while_it_is_played_is_refused);
    tcase_add_test(tcase, what_fails_is_not_started_again_at_once);
    tcase_add_test(tcase, spaces_of_values_are_bytes_of_which_each_is_1);
    tcase_add_test(tcase, parts_of_several_kinds_are_float32);
    tcase_add_test(tcase, pictures_of_bytes_are_bytes_of_which_255_are_1);
    tcase_add_test(tcase, pictures_get_their_channels_last);
    tcase_add_test(tcase, numbers_that_are_no_bytes_are_refused_where_these_were_promised);
    tcase_add_test(tcase, an_environment_may_print);
    tcase_add_test(tcase, an_environment_may_have_processes_of_its_own);
    tcase_add_test(tcase, a_file_may_stand_anywhere);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void) { return cm_test_main(make_suite()); }
