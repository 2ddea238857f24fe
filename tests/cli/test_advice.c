/* What people type first, and what is said to them: one line with the right command. */
#include <sys/stat.h>

#include "cli/runs.h"

static const struct {
    const char *arguments, *says;
} first[] = {
    /* environments of others */
    {"train LunarLander-v3",
     "LunarLander-v3: is one of Gymnasium's: cumind train gymnasium:LunarLander-v3 (it needs pip "
     "install \"gymnasium[box2d]\")\n"},
    {"train --set env_name=LunarLander-v2", "cumind train gymnasium:LunarLander-v2 (it"},
    {"train LunarLanderContinuous-v3", "cumind train gymnasium:LunarLanderContinuous-v3 (it"},
    {"config lunar-lander", "cumind train gymnasium:LunarLander (it needs"},
    {"train --env frozenlake", "cumind train gymnasium:FrozenLake (it needs pip install gymnasium)\n"},
    {"train Humanoid-v5", "cumind train gymnasium:Humanoid-v5 (it needs pip install \"gymnasium[mujoco]\")\n"},
    {"train ALE/Pong-v5", "cumind train atari:Pong (it needs pip install ale-py)\n"},
    {"train ALE/Zaxxon-v5", "cumind train atari:Zaxxon (it needs pip install ale-py)\n"},
    {"train PongNoFrameskip-v4", "cumind train atari:Pong (it"},
    {"train Pong", "cumind train atari:Pong (it"},
    {"train MiniGrid-FourRooms-v0",
     "cumind train gymnasium:minigrid:MiniGrid-FourRooms-v0 (it needs pip install minigrid)\n"},
    {"train minigrid", "cumind train gymnasium:minigrid:MiniGrid-Empty-5x5 (it"},
    {"train Breakout-v5", "cumind train atari:Breakout (it"},
    {"train MinAtar/Breakout-v1",
     "MinAtar/Breakout-v1: is built in: cumind train minatar_breakout --set minimal_actions=true\n"},
    {"train MinAtar/SpaceInvaders-v0", "MinAtar/SpaceInvaders-v0: is built in: cumind train minatar_space_invaders\n"},
    {"train minatar:breakout", "minatar:breakout: is built in: cumind train minatar_breakout\n"},
    {"train FlappyBird-v0",
     "cumind train gymnasium:flappy_bird_gymnasium:FlappyBird-v0 (it needs pip install flappy-bird-gymnasium)\n"},
    {"train PointMaze_UMaze-v3",
     "cumind train gymnasium:gymnasium_robotics:PointMaze_UMaze-v3 (it needs pip install gymnasium-robotics)\n"},
    {"train PyFlyt/QuadX-Hover-v4",
     "cumind train gymnasium:PyFlyt.gym_envs:PyFlyt/QuadX-Hover-v4 (it needs pip install PyFlyt)\n"},
    {"train own:Own-v0", "own:Own-v0: write gymnasium:own:Own-v0\n"}, /* as gymnasium.make has it */
    {"train gymnasium/Own-v0", "gymnasium/Own-v0: write gymnasium:Own-v0\n"},
    {"train Own/Breakout-v0",
     "Own/Breakout-v0: there is no such environment; one of Gymnasium's is written gymnasium:Own/Breakout-v0, one that "
     "a package registers gymnasium:PACKAGE:Own/Breakout-v0\n"},
    {"train gym:Taxi-v3", "gym:Taxi-v3: write gymnasium:Taxi-v3, "},
    {"train Own-v0", "Own-v0: there is no such environment; one of Gymnasium's is written gymnasium:Own-v0, one that a "
                     "package registers gymnasium:PACKAGE:Own-v0\n"},
    {"train CartPole-v7", "the nearest one is CartPole-v1\n"}, /* of our own */
    {"train chess", "chess: there is no such environment; cumind environments lists all\n"},
    /* files */
    {"train ./grid.c", "/grid.c: is a source; build a library: cc -O2 -shared -fPIC /"},
    {"train ./grid.c", "/grid.c $(pkg-config --cflags cumind) -o /"},
    {"train ./grid.c", "/grid.so; then cumind train /"},
    {"train --set env_name=grid.cpp", "build a library: c++ -O2 -shared -fPIC "},
    {"train --env own.json", "own.json: is a configuration: --config own.json\n"},
    {"train ./other.c", "./other.c: there is no such file\n"},
    {"train --env other.json", "other.json: there is no such file\n"},
    {"train ./folder.c", "/folder.c: not a regular file\n"},
    {"train ./other.so", "./other.so: there is no such file; if it has moved, "},
    {"train walk", "walk: there is no such environment; the file here is ./walk.py\n"},
    {"train ./walk", "./walk: there is no such environment; the file here is ./walk.py\n"},
    {"train ./Taxi", "./Taxi: there is no such file; if it has moved, "}, /* a path is no id */
    /* words in the wrong place */
    {"catch", "catch: a command comes first; did you mean cumind train catch?\n"},
    {"play catch",
     "play: unexpected argument \"catch\"; did you mean --set env_name=catch, or, once cumind train catch "
     "has made a run, --run DIR?\n"},
    {"inspect hex5", "did you mean --set env_name=hex5, or, once cumind train hex5 has made a run, --run DIR?\n"},
    /* what is trained in place of the folder of a run */
    {"eval catch", "eval: unexpected argument \"catch\"; once cumind train catch has made a run: --run DIR\n"},
    {"search connect4_muzero", "; once cumind train connect4_muzero has made a run: --run DIR\n"},
    {"plot catch", "catch: there is no such run; cumind train catch makes one, cumind runs lists those here\n"},
    {"ladder Go9", "Go9: there is no such run; cumind train Go9 makes one, "},
    {"runs catch", "catch: there is no such run; cumind train catch makes one, "},
    {"eval --run catch", "catch: there is no such run; cumind train catch makes one, "},
    {"play --run lunarlander", "cumind train lunarlander makes one, "},
    {"search --run catch --positions -", "cumind train catch makes one, "},
    {"plot --run catch", "cumind train catch makes one, "},
    {"inspect --run CartPole-v1", "cumind train CartPole-v1 makes one, "},
    {"train --resume catch", "catch: there is no such run; cumind train catch makes one, "},
    {"train --init-from catch", "cumind train catch makes one, "},
    {"train --replay-from catch", "cumind train catch makes one, "},
    {"plot chess", "plot: chess is no run and holds none\n"},
    {"play mine.json", "did you mean --config mine.json?\n"},
    /* names that keys have elsewhere */
    {"train lr=0.1", "train: unexpected argument \"lr=0.1\"; did you mean --set learning_rate=0.1?\n"},
    {"train --set lr=0.1", "unknown key \"lr\"; did you mean Training.learning_rate?\n"},
    {"train --set LR=0.1", "unknown key \"LR\"; did you mean Training.learning_rate?\n"},
    {"train --set Learning-Rate=1", "unknown key \"Learning-Rate\"; did you mean Training.learning_rate?\n"},
    {"train --set learningrate=1", "did you mean Training.learning_rate?\n"},
    {"train --set LEARNING_RATE=1", "did you mean Training.learning_rate?\n"},
    {"train --set Training.Batch-Size=1", "did you mean Training.batch_size?\n"},
    {"train --set n-envs=4", "did you mean Environment.num_envs?\n"},
    {"config --explain LR", "did you mean Training.learning_rate?\n"},
    {"train LR=0.1", "did you mean --set learning_rate=0.1?\n"},
    {"train Learning-Rate=0.1", "did you mean --set learning_rate=0.1?\n"},
    {"train --LR 0.1", "unknown flag --LR; learning_rate is a key of the configuration: --set learning_rate=VALUE\n"},
    {"train --Learning_Rate 1", "--set learning_rate=VALUE\n"},
    {"train --ENV_STEPS 9", "unknown flag --ENV_STEPS; did you mean --env-steps? (cumind help train lists all)\n"},
    {"train --numdevices 2", "unknown flag --numdevices; did you mean --num-devices? ("},
    {"train --lr 0.1", "unknown flag --lr; learning_rate is a key of the configuration: --set learning_rate=VALUE\n"},
    {"train --learning-rate 0.1", "learning_rate is a key of the configuration: --set learning_rate=VALUE\n"},
    {"train --device cuda", "unknown flag --device; did you mean --backend? (cumind help train lists all)\n"},
    {"train --algo alphazero", "policy is a key of the configuration: --set policy=VALUE\n"},
    {"train --n-envs 4", "num_envs is a key of the configuration: --set num_envs=VALUE\n"},
    {"play --env catch", "env_name is a key of the configuration: --set env_name=VALUE\n"},
    {"train --set buffer_size=4", "did you mean Memory.memory_steps?\n"},
};

static void begin(void) {
    char folder[128];
    cm_test_folder_make();
    snprintf(folder, sizeof folder, "%s/folder.c", cm_test_folder);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    static const char *const files[] = {"walk.py", "grid.c", "grid.cpp", "own.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", cm_test_folder, files[i]);
        ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    }
}

START_TEST(what_is_typed_first_is_answered_by_the_right_command) {
    expect_exit(first[_i].arguments, 2, first[_i].says);
}
END_TEST

/* ---- what Python says ---- */

static void write_package(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s.py", cm_test_folder, name);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

static const struct {
    const char *env, *says;
} lacking[] = {
    {"gymnasium:ALE/Pong-v5", "NameNotFound: none; pip install ale-py, then cumind train atari:Pong\n"},
    {"gymnasium:MiniGrid-Empty-8x8-v0",
     "NameNotFound: none; pip install minigrid, then cumind train gymnasium:minigrid:MiniGrid-Empty-8x8-v0\n"},
    {"gymnasium:minigrid:MiniGrid-Empty-8x8-v0", "No module named 'minigrid'"},
    {"gymnasium:old_ones:Old-v0",
     "it is registered in gym, the predecessor of Gymnasium; name a file of your own that has: "
     "import gym, old_ones; make = lambda: gym.make('Old-v0', disable_env_checker=True)\n"},
    {"gymnasium:Own-v0", "NameNotFound: none; one that a package registers is written gymnasium:PACKAGE:Own-v0\n"},
    {"gymnasium:Own/Breakout-v0",
     "NameNotFound: none; one that a package registers is written gymnasium:PACKAGE:Own/Breakout-v0\n"},
    {"gymnasium:walk:Own-v0", "NameNotFound: none; walk registers nothing in Gymnasium: name a file of your own with "
                              "make(), which returns one\n"},
    {"gymnasium:kinds:Snek-v0", "NameNotFound: none; kinds registers Sneak-v0, "},
    {"gymnasium:kinds:Snek-v0", ", Hex-v0 and 1 more\n"},
    {"gymnasium:kinds:Hex-v7", ": Gymnasium has Hex-v0, not Hex-v7: cumind train gymnasium:kinds:Hex-v0\n"},
    {"gymnasium:Lake-v0", "Lake-v0: Gymnasium has Lake-v10, not Lake-v0: cumind train gymnasium:Lake-v10\n"},
    {"gymnasium:own-ones:Own-v0",
     "; modules have underscores in their names: cumind train gymnasium:own_ones:Own-v0\n"}};

/* A Gymnasium that has nothing, and a package that registers in gym. */
START_TEST(what_is_not_installed_is_named_with_its_package) {
    char line[256];
    write_package("gym", "class envs:\n    registry = {}\n");
    write_package("old_ones", "import gym\ngym.envs.registry['Old-v0'] = None\n");
    write_package("kinds", "import gymnasium\n"
                           "gymnasium.registry.update(dict.fromkeys(f'{k}-v0' for k in "
                           "('Hex', 'Snake', 'Snakes', 'Sneak', 'Sne', 'Zzz')))\n");
    write_package("gymnasium", "import importlib, warnings\nregistry = dict.fromkeys(('Lake-v9', 'Lake-v10'))\n"
                               "class NameNotFound(Exception):\n    pass\n"
                               "class VersionNotFound(Exception):\n    pass\n"
                               "class DeprecatedEnv(Exception):\n    pass\n"
                               "def make(name, **options):\n"
                               "    if 'Lake' in name:\n"
                               "        warnings.warn('The environment Lake-v0 is out of date', UserWarning)\n"
                               "        raise DeprecatedEnv('old')\n"
                               "    if ':' in name:\n        importlib.import_module(name.split(':')[0])\n"
                               "    raise (VersionNotFound if 'v7' in name else NameNotFound)('none')\n");
    setenv("PYTHONPATH", cm_test_folder, 1);
    snprintf(line, sizeof line, "train --env %s", lacking[_i].env);
    run(line);
    cm_program_expect_error(&result, 2, lacking[_i].env);
    char *place = strstr(result.err, " (gymnasium.py:"); /* where it was raised */
    if (place) memmove(place, strchr(place, ')') + 1, strlen(strchr(place, ')') + 1) + 1);
    ck_assert_msg(strstr(result.err, lacking[_i].says) != NULL, "%s", result.err);
    ck_assert_msg(!strstr(result.err, "Python prints"), "%s", result.err);
}
END_TEST

START_TEST(without_gymnasium_its_package_is_named) {
    write_package("gymnasium", "raise ModuleNotFoundError(\"No module named 'gymnasium'\")\n");
    setenv("PYTHONPATH", cm_test_folder, 1);
    expect_exit("train --env gymnasium:Taxi-v3", 2, "; pip install gymnasium\n");
    expect_exit("train --env gymnasium:LunarLander-v3", 2, "; pip install \"gymnasium[box2d]\"\n");
    expect_exit("train --env gymnasium:Own-v3", 2, "; pip install gymnasium\n");
}
END_TEST

/* As it is installed with an entry point of Gymnasium's, which from 1.0 on does nothing with it. */
START_TEST(what_an_installed_package_registers_is_found_by_its_namespace) {
    static const char info[] = "plugged-1.0.dist-info";
    char path[128];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, info);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/%s/METADATA", cm_test_folder, info);
    ck_assert_int_eq(cm_file_write(path, "Name: plugged\n", 14), CM_OK);
    static const char points[] = "[gymnasium.envs]\nPlugged = plugged:register\nother = nowhere:register\n";
    snprintf(path, sizeof path, "%s/%s/entry_points.txt", cm_test_folder, info);
    ck_assert_int_eq(cm_file_write(path, points, sizeof points - 1), CM_OK);
    write_package("gymnasium", "registry = {}\n"
                               "class NameNotFound(Exception):\n    pass\n"
                               "def make(name, **options):\n"
                               "    if name not in registry: raise NameNotFound('none')\n"
                               "    return registry[name]()\n");
    write_package("plugged", "import gymnasium\n"
                             "class Game:\n    actions, max_steps = 2, 9\n"
                             "    def reset(self): return [0.0]\n"
                             "    def step(self, action): return [0.0], 1.0, False\n"
                             "def register(): gymnasium.registry['Plugged/Game-v0'] = Game\n");
    setenv("PYTHONPATH", cm_test_folder, 1);
    run("play --quiet --set env_name=gymnasium:Plugged/Game-v0");
    ck_assert_msg(result.status == 0, "%s", result.err);
    expect_exit("play --quiet --set env_name=gymnasium:Plugged/Gone-v0", 2, "NameNotFound: none");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("advice");
    TCase *t = tcase_create("advice");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, begin, cm_test_folder_remove);
    tcase_add_loop_test(t, what_is_typed_first_is_answered_by_the_right_command, 0,
                        (int)(sizeof first / sizeof *first));
    tcase_add_loop_test(t, what_is_not_installed_is_named_with_its_package, 0, (int)(sizeof lacking / sizeof *lacking));
    tcase_add_test(t, without_gymnasium_its_package_is_named);
    tcase_add_test(t, what_an_installed_package_registers_is_found_by_its_namespace);
    suite_add_tcase(suite, t);
    return cm_test_main(suite);
}
