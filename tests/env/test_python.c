/* Environments written in Python: the example of docs/ADDING_AN_ENVIRONMENT.md, and what they may do wrong. */
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include "core/clock.h"
#include "core/cpu.h"
#include "env/python_env.h"
#include "env/python_host.h"
#include "env/python_internal.h"

#define CORRIDOR "docs/examples/environment_corridor.py"

enum { LEFT, RIGHT };

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
    must(cm_env_is_python("atari:Pong") && !cm_env_is_file("atari:Pong"));
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

/* What the user names, as with --seed, is what the environment is reset with. */
START_TEST(a_seed_that_is_named_is_that_of_its_reset) {
    static const uint64_t seeds[] = {0, 7, 8, INT32_MAX - 1, INT32_MAX, UINT64_MAX};
    cm_env env;
    float halves[2];
    open_named(write_text("seeds.py", "class E:\n  actions, max_steps = 2, 9\n"
                                      "  def reset(s, seed): return [seed >> 16, seed & 65535]\n"
                                      "  def step(s, a): return [0.0, 0.0], 0.0, False\n"),
               &env);
    char *state = calloc(1, env.spec.state_size);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        cm_env_reset(&env, state, seeds[i]);
        cm_env_observe(&env, state, halves);
        const uint64_t seed = ((uint64_t)halves[0] << 16) + (uint64_t)halves[1];
        must(seed < INT32_MAX && (seed == seeds[i]) == (seeds[i] < INT32_MAX));
    }
    free(state);
}
END_TEST

START_TEST(a_task_without_a_limit_on_steps_gets_one_and_a_warning) {
    cm_env env;
    const char *path = write_text("endless.py", "class E:\n  actions = 2\n  def reset(s): return [0.0]\n"
                                                "  def step(s, a): return [0.0], 0.0, False\n");
    open_and_listen(path, &env);
    must_equal(env.spec.max_steps, 10000);
    must_msg(said[0] == '\0', "%s", said); /* the caller may still choose one */
    cm_env_warn_endless(&env, 480);
    must_msg(said[0] == '\0', "%s", said);
    cm_env_warn_endless(&env, 0);
    const char *warned = strstr(said, "endless has no limit on steps, so an episode gets 10000; --set max_steps=");
    must_msg(warned && !strstr(warned + 1, "endless"), "%s", said);
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
    open_and_listen(path, &env);
    cm_env_warn_endless(&env, 0);
    must_msg(said[0] == '\0', "%s", said); /* once is enough */
    cm_log_set_hook(NULL, NULL);
}
END_TEST

START_TEST(steps_together_are_those_of_single_states) {
    cm_env env;
    open_named(CORRIDOR, &env);
    compare_with_single_states(&env);
}
END_TEST

/* Chance of the whole process, in a file that is loaded, in a constructor, a reset that takes a seed and ignores it, a
 * step, a mask and a picture: each instance has its own. */
static const char shared[] =
    "import random, sys\n%s"
    "LEVEL = random.random()\n"
    "class G:\n  actions, max_steps = 3, 20\n"
    "  def __init__(s): s.made = draw()\n"
    "  def reset(s%s): return [LEVEL, s.made, draw(), random.gauss(0, 1)]\n"
    "  def legal_actions(s): return [random.randrange(3), 1]\n"
    "  def render(s): return '%%.9f' %% draw()\n"
    "  def step(s, a): return [draw(), draw(), float(random.choice([1, 2, 3])), draw()], draw(), "
    "draw() < 0.1\n";

static void expect_own_chance(const char *name, const char *draw, const char *seed) {
    char text[1024], picture[CM_ENV_PICTURE_BYTES];
    cm_env env;
    snprintf(text, sizeof text, shared, draw, seed);
    open_named(write_text(name, text), &env);
    must_msg(cm_env_try(&env, 256) == CM_OK, "%s", cm_error_message()); /* it looks at pictures, too */
    compare_with_single_states(&env);
    char *states = calloc(2, env.spec.state_size);
    for (int i = 0; i < 2; i++) cm_env_reset(&env, states + (size_t)i * env.spec.state_size, 5);
    must_equal(memcmp(states, states + env.spec.state_size, env.spec.state_size), 0);
    cm_env_picture(&env, states, picture, sizeof picture);
    must(atof(picture) > 0.0);
    cm_env_reset(&env, states, 6);
    must(memcmp(states, states + env.spec.state_size, env.spec.state_size) != 0);
    free(states);
}

START_TEST(large_observations_come_by_shared_memory) {
    cm_env env;
    float *observation, first = 0.0f;
    open_named(write_text("large.py", COUNTS("None", "[float(s.t)] * 1000 + [0.5] * 1000")), &env);
    must_equal(env.spec.observation_size, 2000);
    const cm_worker *worker = env.params.python->worker[0];
    must(cm_worker_slot(worker, CM_ENV_TOGETHER - 1) != NULL && cm_worker_slot(worker, CM_ENV_TOGETHER) == NULL);
    compare_with_single_states(&env);
    observation = calloc(2000, sizeof *observation);
    env.params.together = true;
    observe_first(&env, observation);
    must(observation[0] == 1.0f && observation[999] == 1.0f && observation[1000] == 0.5f && observation[1999] == 0.5f);
    memcpy(&first, cm_worker_slot(worker, 0) + 16, sizeof first); /* after reward, player, ends */
    must(first == 1.0f);
    free(observation);
    open_named(write_text("small.py", COUNTS("None", "[float(s.t)] * 200")), &env);
    must(cm_worker_slot(env.params.python->worker[0], 0) == NULL);
}
END_TEST

START_TEST(each_instance_has_global_generators_of_its_own) {
    expect_own_chance("module.py", "draw = random.random\n", "");
    expect_own_chance("ignores.py", "from random import uniform\ndef draw(): return uniform(0, 1)\n", ", seed=None");
    if (!has_numpy("generators")) return;
    expect_own_chance("numbers.py", "import numpy\ndef draw(): return float(numpy.random.rand())\n", ", seed=None");
    expect_own_chance("before_1_24.py",
                      "import numpy\ndel numpy.random.set_bit_generator\n"
                      "def draw(): return float(abs(numpy.random.normal()))\n",
                      ", **options");
}
END_TEST

/* Between the steps of an episode others go on, which would have drawn from the same generator, or moved the same
 * piece. */
START_TEST(what_instances_share_is_found_by_the_trial) {
    static const char says[] =
        "draw from what reset(seed=...) seeds "
        "alone, self.np_random in Gymnasium, and keep what changes in self, as the class and the "
        "module are shared by all episodes";
    expect_tried("generator.py",
                 "return [g.random()], 0.0, False\n  def reset(s, seed): g.seed(seed); return [0.0]\n"
                 "g = random.Random()\ndef make(): return E()",
                 says);
    expect_tried("piece.py", "E.at += 1; return [E.at], 0.0, False\n  def reset(s): E.at = 0; return [0.0]", says);
}
END_TEST

/* The warning has promised that play goes on. */
START_TEST(a_process_that_render_ends_is_replaced) {
    char text[1024];
    cm_env env;
    snprintf(text, sizeof text, COUNTS("None", "[float(s.t)]") "  def render(s):\n    import os; os._exit(0)\n");
    open_and_listen(write_text("draws.py", text), &env);
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
    ck_assert_str_eq(said,
                     "2 draws: the Python process that plays it has ended, with status 0; its numbers are shown\n");
    compare_with_single_states(&env);
}
END_TEST

/* A set's order would else be another one in each process. */
START_TEST(hashes_are_the_same_in_all_processes) {
    float first = 0.0f, other;
    cm_env env;
    open_named(write_text("hashes.py", "class H:\n  actions, max_steps = 2, 9\n"
                                       "  def reset(s): return [float(hash('abc') % 9973)]\n"
                                       "  def step(s, a): return s.reset(), 0.0, False\n"),
               &env);
    char *state = calloc(1, env.spec.state_size);
    for (uint64_t seed = 0; seed < 16; seed++) {
        cm_env_reset(&env, state, seed);
        cm_env_observe(&env, state, &other);
        if (seed == 0) first = other;
        must(first == other);
    }
    free(state);
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

/* Of python_rules (env/python.c), four numbers of an observation, three flags and the actions. */
START_TEST(states_of_a_checkpoint_are_checked) {
    enum { SEED = 0, KEY = 8, TAKEN = 16, FAILED = 20, REWARD = 24, PLAYER = 32, OVER = 36, SEEN = 40, MASK = 56 };
    enum { ACTIONS = 64, RULES = (int)sizeof(cm_env_common) };
    static const struct {
        int at, bytes;
        int64_t value;
        const char *says;
    } wrong[] = {{SEED, 8, INT32_MAX, "its seed is 2147483647"},
                 {SEED, 8, 6, "its key is not that of its seed and actions"},
                 {KEY, 8, 6, "its key is not that of its seed and actions"},
                 {TAKEN, 4, 40000, "the number of its actions is 40000; must be 3"},
                 {FAILED, 4, 1, "its mark of a failure is 1; must be 0"},
                 {REWARD, 8, -1, "its reward is nan; must be -1.79769e+308..1.79769e+308"},
                 {PLAYER, 4, 7, "its player is 7; must be 0..1"},
                 {OVER, 1, 2, "its mark of an end is 2; must be 0..1"},
                 {SEEN + 4, 4, 0x7f800000, "a number of its observation is inf; must be -3.40282e+38..3.40282e+38"},
                 {MASK, 1, 2, "a flag of its legal actions is 2; must be 0..1"},
                 {MASK, 3, 0, "the number of its legal actions is 0; must be 1..3"},
                 {ACTIONS + 4, 4, 3, "an action of its episode is 3; must be 0..2"},
                 {ACTIONS + 4, 4, 2, "its key is not that of its seed and actions"}};
    cm_env env;
    cm_env_outcome out;
    open_named(write_text("nim.py", nim), &env);
    const size_t size = env.spec.state_size;
    char *state = calloc(2, size), *copy = state + size;
    begin_with(&env, state, 9);
    for (int step = 0; step < 3; step++) must_equal(cm_env_step(&env, state, 0, &out), CM_OK);
    must_msg(cm_env_check_state(&env, state) == CM_OK, "%s", cm_error_message());
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(copy, state, size);
        memcpy(copy + RULES + wrong[i].at, &wrong[i].value, (size_t)wrong[i].bytes);
        must_equal(cm_env_check_state(&env, copy), CM_ERR_INPUT);
        must_msg(strcmp(cm_error_message(), wrong[i].says) == 0, "%s", cm_error_message());
    }
    free(state);
}
END_TEST

/* A reset that leaves how many episodes there were before: it is not seen where each has an object of its own. */
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
    must_msg(strstr(cm_error_message(), "if a reset leaves something of the last episode, --set reusable=false"), "%s",
             cm_error_message());
    snprintf(text, sizeof text, worn, "reusable = False");
    open_named(write_text("fresh.py", text), &env);
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
    compare_with_single_states(&env);
    cm_env_params each = cm_env_params_default();
    each.fresh = true;
    snprintf(text, sizeof text, worn, "");
    must_equal(cm_env_open(&env, write_text("each.py", text), &each), CM_OK);
    must_msg(cm_env_try(&env, 64) == CM_OK, "%s", cm_error_message());
    compare_with_single_states(&env);
}
END_TEST

/* What is drawn before any reset, as a world that each episode shares with no other. */
START_TEST(an_object_of_one_episode_draws_from_its_seed_as_it_is_made) {
    static const char text[] = "import random\n"
                               "class World:\n"
                               "    actions, max_steps = 2, 3\n"
                               "    def __init__(self): self.world = random.random()\n"
                               "    def reset(self): return [self.world]\n"
                               "    def step(self, action): return [self.world], 0.0, False\n";
    cm_env_params params = cm_env_params_default();
    params.fresh = true;
    float world[3];
    cm_env env;
    must_equal(cm_env_open(&env, write_text("world.py", text), &params), CM_OK);
    char *state = calloc(1, env.spec.state_size);
    for (int i = 0; i < 3; i++) {
        cm_env_reset(&env, state, (uint64_t)(i % 2));
        cm_env_observe(&env, state, &world[i]);
    }
    must(world[0] != world[1] && world[0] == world[2]);
    free(state);
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

/* The number in a file. */
static int number_in(const char *name) {
    char path[CM_TEST_PATH + 64], *text;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    must_equal(cm_file_read(path, 64, &text, &size), CM_OK);
    const int number = atoi(text);
    free(text);
    return number;
}

START_TEST(a_host_owns_the_processes_of_what_it_has_opened) {
    static const char text[] = "import os\nopen(__file__ + '.pid', 'w').write(str(os.getpid()))\n"
                               "class E:\n  actions, max_steps = 2, 9\n  def reset(s): return [0.0]\n"
                               "  def step(s, a): return [0.0], 0.0, False\n";
    cm_python_host *host, *other;
    cm_python_env *env, *same, *elsewhere;
    const char *path = write_text("owned.py", text);
    must_equal(cm_python_host_create(&host), CM_OK);
    must_equal(cm_python_host_create(&other), CM_OK);
    must_msg(cm_python_host_open(host, path, 60.0, &env) == CM_OK, "%s", cm_error_message());
    const int process = number_in("owned.py.pid");
    must_equal(cm_python_host_open(host, path, 60.0, &same), CM_OK);
    must(same == env && number_in("owned.py.pid") == process);
    must_equal(cm_python_host_open(other, path, 60.0, &elsewhere), CM_OK);
    const int its = number_in("owned.py.pid");
    must(elsewhere != env && its != process);
    cm_python_host_destroy(host);
    must(kill(process, 0) != 0 && kill(its, 0) == 0);
    cm_python_host_destroy(other);
    must(kill(its, 0) != 0);
}
END_TEST

/* What one could not open another one tries for itself. */
START_TEST(a_host_remembers_its_own_failures) {
    cm_python_env *env;
    const char *path =
        write_text("own.py", "with open(__file__ + '.count', 'a') as file: file.write('1')\nraise OSError\n");
    for (int i = 0; i < 2; i++) {
        cm_python_host *host;
        must_equal(cm_python_host_create(&host), CM_OK);
        for (int again = 0; again < 3; again++) must_equal(cm_python_host_open(host, path, 60.0, &env), CM_ERR_INPUT);
        cm_python_host_destroy(host);
    }
    must_equal(number_in("own.py.count"), 11);
}
END_TEST

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
    expect_tried("strange.py", "return [0.0], None, False",
                 "a reward that is no number, but of the kind NoneType: wrap it so that it is one");
    expect_tried("words.py", "return 'left', 0.0, False", "that is no array of numbers, but of the kind str");
    expect_tried("masks.py", "return [0.0], 0.0, False, {'action_mask': [1, 1]}", "an action_mask in info, where");
    expect_tried("stuck.py", "return [0.0], 0.0, False\n  def legal_actions(s): return []",
                 "gives no legal action, but");
    expect_tried("beyond.py", "return [0.0], 0.0, False\n  def legal_actions(s): return [2]",
                 "legal_actions with 2; they are from 0 to 1");
    expect_tried("infinite.py", "return [float('inf')], 0.0, False",
                 "infinite: its step gives an observation whose number 0 is inf; must be finite: bound or replace it");
}
END_TEST

START_TEST(what_make_returns_is_an_environment) {
    expect_refused(write_text("none.py", "def make(): pass\n"),
                   "make() returns None, no environment with reset and step");
    expect_refused(write_text("one.py", "class E:\n  def reset(s): pass\n  step = reset\ndef make(): return E\n"),
                   "make() returns <class 'one.E'>, no environment with reset and step");
}
END_TEST

START_TEST(whatever_exceptions_ends_and_players_are_is_said_in_one_line) {
    expect_tried("told.py", "class X(Exception):\n      def __str__(s): return s\n    raise X()",
                 "its step raises X: (no text) (told.py:8)");
    expect_tried("surrogate.py", "raise ValueError('\\ud800')", "its step raises ValueError: ? (surrogate.py:6)");
    expect_tried("endless.py", "raise ValueError(5000 * 'x')", "xxx ... (endless.py:6)");
    expect_tried("four.py", "return [0.0], 0.0, False, False", "an info of the kind bool, no dict; four values are");
    expect_tried("never.py", "return [0.0], 0.0, None", "an end of the kind NoneType; must be True or False");
    expect_tried("turns.py", "return [0.0], 0.0, False\n  def to_play(s): return 1",
                 "a to_play of 1, but no number of players: players = 2 in its class makes it a game of two");
    expect_tried("white.py", "return [0.0], 0.0, False\n  players = 2\n  def to_play(s): return 'white'",
                 "a to_play of 'white'; must be 0 or 1");
}
END_TEST

/* Such a state must not get into a checkpoint, where no one would know any more what is wrong with it. */
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

START_TEST(the_last_picture_is_what_render_returns) {
    static const char *const reusable[] = {"True", "False"};
    for (int i = 0; i < 2; i++) {
        char text[1024], name[24], picture[CM_ENV_PICTURE_BYTES];
        cm_env env;
        cm_env_outcome out = {0};
        snprintf(text, sizeof text,
                 "class W:\n  actions, max_steps, reusable = 2, 10, %s\n  def reset(s):\n    s.at = 0\n"
                 "    return [0.0]\n  def step(s, a):\n    s.at += 1\n    return [float(s.at)], 1.0, s.at == 3\n"
                 "  def render(s): return '.' * s.at + 'x' * (not s.closed)\n  closed = False\n"
                 "  def close(s): s.closed = True\n",
                 reusable[i]);
        snprintf(name, sizeof name, "walk%d.py", i);
        open_named(write_text(name, text), &env);
        must_msg(cm_env_try(&env, 32) == CM_OK, "%s", cm_error_message());
        char *state = calloc(2, env.spec.state_size), *other = state + env.spec.state_size;
        cm_env_reset(&env, state, 1);
        while (!out.terminated) must_equal(cm_env_step(&env, state, 0, &out), CM_OK);
        for (int again = 0; again < 2; again++) {
            cm_env_picture(&env, state, picture, sizeof picture);
            ck_assert_str_eq(picture, "...x");
            cm_env_reset(&env, other, 1); /* its object goes on to another episode */
        }
        free(state);
    }
}
END_TEST

/* What the second episode of the trial meets is said, and not taken for chance. */
START_TEST(an_exception_of_the_trial_is_told) {
    static const char early[] = "class E:\n  actions, max_steps, begun = 2, 20, 0\n  def reset(s):\n    E.begun += 1\n"
                                "    %s\n    s.t = 0\n    return [0.0]\n  def step(s, a):\n    s.t += 1\n    %s\n"
                                "    return [s.t], 1.0, False\n";
    static const char raise[] = "if E.begun > 4: raise RuntimeError('out of licences')";
    char text[1024];
    cm_env env;
    for (int where = 0; where < 2; where++) {
        snprintf(text, sizeof text, early, where ? "pass" : raise, where ? raise : "pass");
        open_named(write_text(where ? "early_step.py" : "early_reset.py", text), &env);
        must_equal(cm_env_try(&env, 256), CM_ERR_INPUT);
        must_msg(strstr(cm_error_message(), where ? "early_step: its step raises RuntimeError: out of licences "
                                                    "(early_step.py:10) (step "
                                                  : "early_reset: its reset raises RuntimeError: out of licences "
                                                    "(early_reset.py:5) (step "),
                 "%s", cm_error_message());
    }
}
END_TEST

/* The line is the user's own, whatever it calls. */
START_TEST(an_exception_of_what_an_environment_calls_is_told_with_its_own_line) {
    expect_tried("calls.py", "import json; json.loads('x')",
                 "JSONDecodeError: Expecting value: line 1 column 1 (char 0) "
                 "(calls.py:6) (step ");
}
END_TEST

static const struct wrong_attribute {
    const char *line, *says;
} wrong_attributes[] = {
    {"players = [0, 1]", ".py: players of [0, 1]; must be a whole number"},
    {"players = 0", ": players: must be an integer in [1, 2], got 0"},
    {"def players(s): return 2", ".py: players of the kind method; must be a whole number"},
    {"def max_steps(s): return 9", ".py: max_steps of the kind method; must be a whole number"},
    {"max_steps = float('inf')", ".py: max_steps of inf; must be a whole number"},
    {"max_steps = '9'", ".py: max_steps of '9'; must be a whole number"},
    {"action_names = {0: 'a', 1: 'b'}", ".py: action_names of {0: 'a', 1: 'b'}; must be a list of texts, one for each"},
    {"def action_names(s): return ['a', 'b']", ".py: action_names of the kind method; must be a list of texts"},
    {"actions = ['a', 'b']", ".py: actions of ['a', 'b']; must be a whole number"},
    {"def actions(s): return 2", ".py: actions of the kind method; must be a whole number"},
    {"reusable = 'no'", ".py: reusable of the kind str; must be True or False"},
    {"channels_last = 'no'", ".py: channels_last of the kind str; must be True or False"},
    {"def observation_space(s): return None", ".py: an observation_space of the kind method; must be a space"},
    {"step = 5", ".py: a step of 5; must be a method"},
};
enum { WRONG_ATTRIBUTES = sizeof wrong_attributes / sizeof *wrong_attributes };

START_TEST(an_attribute_of_the_wrong_kind_is_named) {
    const struct wrong_attribute *w = &wrong_attributes[_i];
    char text[512], name[32];
    snprintf(text, sizeof text,
             "class E:\n  actions, max_steps = 2, 9\n  def reset(s): return [0.0]\n"
             "  def step(s, a): return [0.0], 0.0, False\n  %s\n",
             w->line);
    snprintf(name, sizeof name, "wrong_%d.py", _i);
    expect_refused(write_text(name, text), w->says);
}
END_TEST

static void expect_abandoned(cm_status status, const char *what) {
    must(status != CM_OK);
    must_msg(strstr(cm_error_message(), what) &&
                 strstr(cm_error_message(), " has not come back for 0.3 s, the env_timeout"),
             "%s", cm_error_message());
}

/* However slow the machine is: what hangs never comes back, and what does not has the usual minute. */
START_TEST(a_call_that_hangs_is_given_up_and_its_process_ended) {
    static const char text[] = "import os, time\nclass H:\n  actions, max_steps, begun = 2, 9, 0\n"
                               "  def reset(s):\n    H.begun += 1\n    while H.begun == 3: time.sleep(1)\n"
                               "    return [float(os.getpid())]\n"
                               "  def step(s, a):\n    while a == 1: time.sleep(1)\n    return [0.0], 0.0, False\n";
    cm_env env;
    cm_env_outcome out;
    float process;
    cm_env_params params = cm_env_params_default();
    params.timeout = 0.3;
    expect_abandoned(cm_env_open(&env, write_text("asleep.py", "import time\nwhile True: time.sleep(1)\n"), &params),
                     "asleep.py: its import, constructor or first reset");
    for (int hangs = 0; hangs < 2; hangs++) {
        open_named(write_text(hangs ? "hangs_step.py" : "hangs_reset.py", text), &env);
        char *state = calloc(1, env.spec.state_size);
        cm_env_reset(&env, state, 1);
        cm_env_observe(&env, state, &process);
        must_equal(cm_env_step(&env, state, 0, &out), CM_OK);
        env.params.timeout = 0.3;
        if (hangs == 0) cm_env_reset(&env, state, 1);
        expect_abandoned(cm_env_step(&env, state, 1, &out), hangs ? "hangs_step: its step" : "hangs_reset: its reset");
        must(kill((pid_t)process, 0) != 0);
        free(state);
    }
}
END_TEST

static cm_stop stop;

/* Asks to stop once the file is there. */
static void *ask_when_there(void *path) {
    while (!cm_file_exists(path)) usleep(1000);
    cm_stop_ask(&stop);
    return NULL;
}

/* The last step of an episode waits for what closes a used object. */
START_TEST(a_close_that_hangs_is_named) {
    char text[512], path[64];
    pthread_t thread;
    cm_env env;
    cm_env_outcome out;
    snprintf(path, sizeof path, "%s/closing", cm_test_folder);
    snprintf(text, sizeof text,
             "import time\nclass E:\n  actions, max_steps, reusable, closed = 2, 9, False, 0\n"
             "  def reset(s): return [0.0]\n  def step(s, a): return [0.0], 0.0, a == 1\n"
             "  def close(s):\n    E.closed += 1\n    if E.closed > 1: open('%s', 'w').close()\n"
             "    while E.closed > 1: time.sleep(1)\n",
             path);
    cm_env_heed(&stop);
    open_named(write_text("closes.py", text), &env);
    char *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 1);
    must_equal(pthread_create(&thread, NULL, ask_when_there, path), 0);
    must_equal(cm_env_step(&env, state, 1, &out), CM_ERR_INTERRUPTED);
    must_equal(pthread_join(thread, NULL), 0);
    must_msg(strstr(cm_error_message(), "closes: its close has not come back since the request to stop") != NULL, "%s",
             cm_error_message());
    free(state);
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

/* Lines of the log that tell of what was printed, and how many lines of it they stand for. */
static struct printed {
    pthread_mutex_t lock; /* another thread logs */
    int lines, stand_for;
    bool has_first, has_count;
} printed = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool count_printed(void *context, cm_log_level level, const char *line) {
    (void)context, (void)level;
    int before = 0;
    const int read = sscanf(line, "Python prints: a word (and %d lines before it)", &before);
    pthread_mutex_lock(&printed.lock);
    printed.lines++, printed.stand_for += 1 + before;
    printed.has_first |= strcmp(line, "Python prints: a word") == 0;
    printed.has_count |= read == 1;
    pthread_mutex_unlock(&printed.lock);
    return true;
}

static struct printed look_at_printed(void) {
    pthread_mutex_lock(&printed.lock);
    const struct printed now = printed;
    pthread_mutex_unlock(&printed.lock);
    return now;
}

START_TEST(what_an_environment_prints_is_held_back_to_a_line_a_second_with_a_count) {
    enum { PRINTED = 500, MANY = 3 };
    cm_env env;
    cm_env_outcome out;
    const double since = cm_clock_seconds();
    open_named(write_text("talks.py", "class E:\n  actions, max_steps = 2, 90000\n  def reset(s): return [0.0]\n"
                                      "  def step(s, a):\n    print('\\x1b[1;33ma word\\x1b[0m\\n  ')\n"
                                      "    return [0.0], 0.0, False\n"),
               &env);
    cm_log_set_hook(count_printed, NULL);
    char *state = calloc(1, env.spec.state_size);
    cm_env_reset(&env, state, 1);
    for (int i = 0; i < PRINTED; i++) must_equal(cm_env_step(&env, state, 0, &out), CM_OK);
    while (look_at_printed().stand_for < PRINTED) usleep(10000);
    must_equal(look_at_printed().stand_for, PRINTED);
    while (look_at_printed().lines < MANY) { /* which say nothing new, so that it takes 1 and 2 seconds */
        must_equal(cm_env_step(&env, state, 0, &out), CM_OK);
        usleep(1000);
    }
    must(cm_clock_seconds() - since >= 3.0);
    cm_log_set_hook(NULL, NULL);
    const struct printed now = look_at_printed();
    must(now.has_first && now.has_count);
    must(now.lines <= (int)(cm_clock_seconds() - since) + 2);
    free(state);
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

static Suite *make_suite(void) {
    Suite *suite = suite_create("python");
    TCase *tcase = tcase_create("python");
    tcase_add_checked_fixture(tcase, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, the_path_of_a_file_in_python_is_a_name);
    tcase_add_test(tcase, a_copy_of_a_state_goes_on_from_where_it_was);
    tcase_add_test(tcase, the_time_limit_is_the_files_or_the_callers);
    tcase_add_test(tcase, a_seed_that_is_named_is_that_of_its_reset);
    tcase_add_test(tcase, a_task_without_a_limit_on_steps_gets_one_and_a_warning);
    tcase_add_test(tcase, steps_together_are_those_of_single_states);
    tcase_add_test(tcase, games_of_two_have_masks_players_and_truncations_of_their_own);
    tcase_add_test(tcase, states_of_a_checkpoint_are_checked);
    tcase_add_test(tcase, large_observations_come_by_shared_memory);
    tcase_add_test(tcase, each_instance_has_global_generators_of_its_own);
    tcase_add_test(tcase, hashes_are_the_same_in_all_processes);
    tcase_add_test(tcase, what_instances_share_is_found_by_the_trial);
    tcase_add_test(tcase, a_process_that_render_ends_is_replaced);
    tcase_add_test(tcase, episodes_may_have_objects_of_their_own);
    tcase_add_test(tcase, an_object_of_one_episode_draws_from_its_seed_as_it_is_made);
    tcase_add_test(tcase, what_is_no_environment_is_refused_in_one_line);
    tcase_add_test(tcase, what_goes_wrong_in_a_step_is_said_in_one_line);
    tcase_add_test(tcase, what_make_returns_is_an_environment);
    tcase_add_test(tcase, whatever_exceptions_ends_and_players_are_is_said_in_one_line);
    tcase_add_test(tcase, a_reset_that_raises_is_said_before_a_step);
    tcase_add_test(tcase, the_last_picture_is_what_render_returns);
    tcase_add_test(tcase, an_exception_of_the_trial_is_told);
    tcase_add_test(tcase, an_exception_of_what_an_environment_calls_is_told_with_its_own_line);
    tcase_add_loop_test(tcase, an_attribute_of_the_wrong_kind_is_named, 0, WRONG_ATTRIBUTES);
    tcase_add_test(tcase, a_call_that_hangs_is_given_up_and_its_process_ended);
    tcase_add_test(tcase, a_close_that_hangs_is_named);
    tcase_add_test(tcase, a_file_that_changes_while_it_is_played_is_refused);
    tcase_add_test(tcase, a_host_owns_the_processes_of_what_it_has_opened);
    tcase_add_test(tcase, a_host_remembers_its_own_failures);
    tcase_add_test(tcase, what_fails_is_not_started_again_at_once);
    tcase_add_test(tcase, an_environment_may_print);
    tcase_add_test(tcase, what_an_environment_prints_is_held_back_to_a_line_a_second_with_a_count);
    tcase_add_test(tcase, an_environment_may_have_processes_of_its_own);
    tcase_add_test(tcase, a_file_may_stand_anywhere);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void) { return cm_test_main(make_suite()); }
