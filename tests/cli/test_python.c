/* Runs of environments that are written in Python. */
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>

#include "runs.h"

static char train_corridor[PATH_MAX + 512];

/* The example, and the command that trains it for some seconds. */
static void begin_all(void) {
    char place[PATH_MAX], path[PATH_MAX], *text;
    size_t size;
    cm_test_folder_make();
    ck_assert_ptr_nonnull(realpath("docs/examples/environment_corridor.py", place));
    ck_assert_int_eq(cm_file_read(place, 1 << 20, &text, &size), CM_OK);
    snprintf(path, sizeof path, "%s/corridor.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, size), CM_OK);
    free(text);
    snprintf(train_corridor, sizeof train_corridor, "train --quiet --set num_envs=8 --set env_name=./corridor.py%s",
             SMALL);
}

static const char *with(const char *rest) {
    static char line[PATH_MAX + 1024];
    snprintf(line, sizeof line, "%s%s", train_corridor, rest);
    return line;
}

START_TEST(an_environment_in_python_is_trained_watched_and_evaluated) {
    expect_ok(with(" --run one --env-steps 3000"));
    expect_ok("eval --run one --episodes 20 --seed 100 --json");
    char *mean = strstr(result.out, "\"mean\":");
    ck_assert_msg(mean && strtod(mean + 7, NULL) >= 0.95, "%s", result.out);
    expect_ok("play --run one --episodes 1");
    ck_assert_msg(strstr(result.out, "@") && strstr(result.out, "right"), "%s", result.out);
    expect_ok("runs .");
    ck_assert_msg(strstr(result.out, "corridor.py"), "%s", result.out);
}
END_TEST

START_TEST(a_run_does_not_depend_on_threads) {
    expect_ok(with(" --run whole --set num_envs=64"));
    hash_of("whole", reference);
    expect_ok(with(" --run threads --set num_envs=64 --threads 1"));
    expect_reference("threads");
}
END_TEST

/* Episodes that were open are played again from their seeds, in processes that have not seen them. */
START_TEST(a_run_that_is_interrupted_saves_and_goes_on) {
    expect_ok(with(" --run whole --env-steps 8000"));
    hash_of("whole", reference);
    const pid_t child = cm_program_start(cm_test_folder, with(" --run cut --env-steps 8000"));
    cm_program_await_handler(child, SIGINT);
    await_run("cut");
    usleep(300000);
    kill(child, SIGINT);
    ck_assert_int_eq(cm_program_wait(child), 0);
    expect_ok("train --quiet --resume cut");
    expect_reference("cut");
}
END_TEST

/* Chance from the generators of the whole process, which other instances there draw from, too. */
START_TEST(chance_of_the_process_depends_on_nothing_but_the_seed) {
    static const char text[] = "import random\n"
                               "class G:\n  actions, max_steps = 2, 20\n  def reset(self): return [random.random()]\n"
                               "  def step(self, action): return [random.gauss(0, 1)], random.random(), False\n";
    static const char command[] =
        "train --quiet --set num_envs=8 --set env_name=./global.py" SMALL " --env-steps 3000 --run ";
    char path[PATH_MAX], line[1024];
    cpu_set_t all, one;
    snprintf(path, sizeof path, "%s/global.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
    snprintf(line, sizeof line, "%swhole", command);
    expect_ok(line);
    hash_of("whole", reference);
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    snprintf(line, sizeof line, "%sone", command);
    expect_ok(line);
    expect_reference("one");
    ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
    snprintf(line, sizeof line, "%scut", command);
    const pid_t child = cm_program_start(cm_test_folder, line);
    cm_program_await_handler(child, SIGINT);
    await_run("cut");
    usleep(200000);
    kill(child, SIGINT);
    ck_assert_int_eq(cm_program_wait(child), 0);
    expect_ok("train --quiet --resume cut");
    expect_reference("cut");
}
END_TEST

START_TEST(a_file_that_has_changed_or_gone_is_no_longer_that_of_the_run) {
    char path[PATH_MAX], away[PATH_MAX], *text;
    size_t size;
    expect_ok(with(" --run one --env-steps 200"));
    snprintf(path, sizeof path, "%s/corridor.py", cm_test_folder);
    snprintf(away, sizeof away, "%s/away.py", cm_test_folder);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    char *limit = strstr(text, "max_steps = 40");
    ck_assert_ptr_nonnull(limit);
    memcpy(limit, "max_steps = 30", 14);
    ck_assert_int_eq(cm_file_write(path, text, size), CM_OK);
    free(text);
    expect_exit("train --quiet --resume one --env-steps 400", 2, "is not as it was when you trained with it");
    expect_exit("train --quiet --resume one --env-steps 400 --set env_name=./corridor.py", 2,
                "its time limit in steps is 30, was 40; go on with the old Python code, or start again");
    ck_assert_int_eq(rename(path, away), 0);
    expect_exit("train --quiet --resume one --env-steps 400", 2,
                "corridor.py: there is no such file; if it has moved, say where it is with --set env_name=PATH");
}
END_TEST

START_TEST(what_needs_copies_of_states_is_refused) {
    expect_exit(with(" --run no --set policy=alphazero"), 2,
                "MCTS.policy: alphazero searches on the true rules, but those of corridor, in Python, can only be "
                "played from the start; choose muzero or gumbel_muzero");
    expect_exit("train --quiet --run no --set env_name=./corrido.py", 2,
                "Environment.env_name: ./corrido.py: there is no such file");
}
END_TEST

/* A step that raises when the run has long begun: what is saved stays. */
START_TEST(an_error_of_the_environment_ends_the_run_in_one_line) {
    char path[PATH_MAX];
    static const char text[] = "import os\nclass Late:\n  actions, max_steps = 2, 9\n"
                               "  def reset(self, seed): self.seen = 0.0; return [0.0]\n"
                               "  def step(self, action):\n"
                               "    if os.path.exists('late.stop'): raise RuntimeError('no more')\n"
                               "    if os.path.exists('late.die'): os._exit(9)\n"
                               "    self.seen += 1.0\n    return [self.seen], 1.0, False\n";
    static const char *const ends[][2] = {{"late.stop", "its step raises RuntimeError: no more (late.py:6)"},
                                          {"late.die", "the Python process that plays it has ended, with "
                                                       "status 9"}};
    snprintf(path, sizeof path, "%s/late.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
    const pid_t child = cm_program_start(
        cm_test_folder, "train --quiet --run late --set env_name=./late.py --env-steps 10M --set num_envs=4");
    await_run("late");
    usleep(300000);
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, ends[_i][0]);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    ck_assert_int_ne(cm_program_wait(child), 0);
    char said[4096];
    cm_program_file(cm_test_folder, "err.txt", said, sizeof said);
    cm_program_expect_line(said, ends[_i][1]);
}
END_TEST

/* What an iteration has acted before the error is taken back, so that the run goes on to the parameters of an unbroken
 * one. Where learning has gone on meanwhile its updates are kept. */
START_TEST(an_error_of_the_environment_keeps_what_was_learnt) {
    char path[PATH_MAX], line[1024];
    const char *const said = result.err;
    static const char text[] = "import os\nclass Late:\n  actions, max_steps = 2, 9\n"
                               "  def reset(self, seed):\n    self.seen = seed % 7\n    return [self.seen]\n"
                               "  def step(self, action):\n    if os.path.exists('late.stop'):\n"
                               "      with open('late.stop', 'ab') as file: file.write(b'x')\n"
                               "      if os.path.getsize('late.stop') > 5360: raise OSError('connection lost')\n"
                               "    self.seen = (self.seen * 3 + action) % 7\n    return [self.seen], 1.0, False\n";
    const char *const overlap = _i ? "on" : "off";
    static const char command[] = "train --quiet --set env_name=./late.py --set num_envs=4 --set overlap=%s" SMALL
                                  " --set checkpoint_updates=0 --env-steps 3000 --run %s";
    snprintf(path, sizeof path, "%s/late.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
    snprintf(line, sizeof line, command, overlap, "whole");
    expect_ok(line);
    hash_of("whole", reference);
    snprintf(path, sizeof path, "%s/late.stop", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    snprintf(line, sizeof line, command, overlap, "late");
    run(line);
    ck_assert_int_eq(result.status, 2);
    ck_assert_msg(strstr(said, "its step raises OSError: connection lost (late.py:10) (step "), "%s", said);
    const char *saved = strstr(said, "; update ");
    ck_assert_msg(saved && atoi(saved + 9) > 0, "%s", said);
    ck_assert_msg(strstr(said, " is saved: go on from it with --resume late\n"), "%s", said);
    ck_assert_int_eq(unlink(path), 0);
    expect_ok("train --quiet --resume late");
    if (!_i) expect_reference("late");
}
END_TEST

/* A process that was not waited for may stay as a zombie. */
static bool is_running(const char *pid) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", atoi(pid));
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const bool is_read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    return is_read && strstr(text, ") Z ") == NULL;
}

/* Begins a run whose step does not come back any more; `pid`: of its Python. */
static pid_t begin_to_hang(char pid[64]) {
    char path[PATH_MAX];
    static const char text[] = "import os\nclass Hangs:\n  actions, max_steps = 2, 9\n"
                               "  def reset(self, seed): self.seen = 0.0; return [0.0]\n"
                               "  def step(self, action):\n"
                               "    if os.path.exists('hang'):\n"
                               "      with open('pid', 'w') as file: file.write(str(os.getpid()))\n"
                               "      while True: pass\n"
                               "    self.seen += 1.0\n    return [self.seen], 1.0, False\n";
    snprintf(path, sizeof path, "%s/hangs.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
    const pid_t child = cm_program_start(
        cm_test_folder, "train --quiet --run hangs --set env_name=./hangs.py --env-steps 10M --set num_envs=1");
    await_run("hangs");
    snprintf(path, sizeof path, "%s/hang", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    for (int i = 0; i < 1000 && pid[0] == '\0'; i++, usleep(10000)) cm_program_file(cm_test_folder, "pid", pid, 64);
    ck_assert(is_running(pid));
    return child;
}

static void expect_gone(const char *pid) {
    for (int i = 0; i < 1000 && is_running(pid); i++) usleep(10000);
    ck_assert(!is_running(pid));
}

/* A user who does not wait for it. */
START_TEST(a_second_interrupt_ends_an_environment_that_hangs_with_the_run) {
    char pid[64] = "", said[4096];
    const pid_t child = begin_to_hang(pid);
    kill(child, SIGINT);
    usleep(300000); /* sooner would be the same wish */
    kill(child, SIGINT);
    ck_assert_int_eq(cm_program_wait(child), 130);
    expect_gone(pid);
    cm_program_file(cm_test_folder, "err.txt", said, sizeof said);
    ck_assert_msg(strstr(said, "Traceback") == NULL, "%s", said);
}
END_TEST

/* A batch system that kills what has not ended some seconds after its signal. */
START_TEST(one_signal_ends_and_saves_a_run_whose_environment_hangs) {
    char pid[64] = "", said[4096];
    const pid_t child = begin_to_hang(pid);
    kill(child, SIGTERM);
    ck_assert_int_eq(cm_program_wait(child), 0);
    expect_gone(pid);
    cm_program_file(cm_test_folder, "err.txt", said, sizeof said);
    ck_assert_msg(strstr(said, "hangs.py: its step has not come back since the request to stop; its process was ended"),
                  "%s", said);
    expect_ok("inspect --run hangs");
}
END_TEST

/* Three of 3,000 actions are legal, another one at every step; what is not legal raises. */
START_TEST(of_thousands_of_actions_some_are_drawn) {
    static const char text[] = "class Wide:\n"
                               "    actions, max_steps = 3000, 2\n"
                               "    def legal_actions(self): return [self.at, 1000 + self.at, 2999]\n"
                               "    def reset(self):\n"
                               "        self.at = 0\n"
                               "        return [0.0]\n"
                               "    def step(self, action):\n"
                               "        assert action in self.legal_actions(), action\n"
                               "        self.at += 1\n"
                               "        return [float(self.at)], float(action == 2999), False\n";
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/wide.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
    expect_ok("train --run wide --set num_envs=4 --set env_name=./wide.py --set batch_size=16" SMALL
              " --env-steps 400");
    ck_assert_msg(strstr(result.out, "3000, of which a search draws 32 at every node (num_sampled_actions)"), "%s",
                  result.out);
    expect_ok("train --resume wide --quiet --env-steps 800");
    expect_ok("eval --run wide --episodes 8 --seed 100 --json");
    char *mean = strstr(result.out, "\"mean\":");
    ck_assert_msg(mean && strtod(mean + 7, NULL) >= 1.9, "%s", result.out);
    expect_ok("play --run wide --episodes 1");
    expect_exit("train --set env_name=./wide.py --set policy=stochastic_muzero", 2,
                "searches all actions, at most 1024");
}
END_TEST

/* A Gymnasium whose only environment says what its constructor was given. */
START_TEST(arguments_stand_after_an_id) {
    static const char text[] = "class Grid:\n"
                               "    max_steps = 9\n"
                               "    def __init__(self, size, **more):\n"
                               "        self.actions = size\n"
                               "        if more: raise ValueError(repr(more))\n"
                               "    def reset(self, seed): return [0.0], {}\n"
                               "    def step(self, action): return [0.0], 0.0, True, False, {}\n"
                               "def make(id, disable_env_checker, **arguments):\n"
                               "    assert id == 'Grid-v0', id\n"
                               "    return Grid(**arguments)\n";
    static const char *const wrong[][2] = {
        {"size=3,slippery=false,map=8x8,wind=-0.5,no=None,list=[1]",
         "{'slippery': False, 'map': '8x8', 'wind': -0.5, 'no': None, 'list': '[1]'}"},
        {"size", "arguments are written ID,KEY=VALUE,KEY=VALUE; 'size' is none"},
        {"size=3,", "arguments are written ID,KEY=VALUE,KEY=VALUE; '' is none"}};
    char path[PATH_MAX], line[512];
    snprintf(path, sizeof path, "%s/gymnasium.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
    setenv("PYTHONPATH", cm_test_folder, 1);
    expect_ok("benchmark env --env gymnasium:Grid-v0,size=3 --seconds 0.01 --batch 2");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(line, sizeof line, "train --env gymnasium:Grid-v0,%s", wrong[i][0]);
        expect_exit(line, 2, wrong[i][1]);
    }
    unsetenv("PYTHONPATH");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("python");
    TCase *tcase = tcase_create("python");
    tcase_add_checked_fixture(tcase, begin_all, cm_test_folder_remove);
    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, an_environment_in_python_is_trained_watched_and_evaluated);
    tcase_add_test(tcase, arguments_stand_after_an_id);
    tcase_add_test(tcase, a_run_does_not_depend_on_threads);
    tcase_add_test(tcase, a_run_that_is_interrupted_saves_and_goes_on);
    tcase_add_test(tcase, chance_of_the_process_depends_on_nothing_but_the_seed);
    tcase_add_test(tcase, a_file_that_has_changed_or_gone_is_no_longer_that_of_the_run);
    tcase_add_test(tcase, of_thousands_of_actions_some_are_drawn);
    tcase_add_test(tcase, what_needs_copies_of_states_is_refused);
    tcase_add_test(tcase, a_second_interrupt_ends_an_environment_that_hangs_with_the_run);
    tcase_add_test(tcase, one_signal_ends_and_saves_a_run_whose_environment_hangs);
    tcase_add_loop_test(tcase, an_error_of_the_environment_keeps_what_was_learnt, 0, 2);
    tcase_add_loop_test(tcase, an_error_of_the_environment_ends_the_run_in_one_line, 0, 2);
    suite_add_tcase(suite, tcase);
    return cm_test_main(suite);
}
