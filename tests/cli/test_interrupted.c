/* Runs that are asked to stop while something does not come to its end. */
#include <check.h>
#include <signal.h>
#include <sys/stat.h>

#include "runs.h"
#include "support/same_metrics.h"

#define LIBRARY CM_TEST_MODULES "/late_fault.so"
#define TRAIN                                                                                                          \
    "train --set num_envs=4 --set min_memory_steps=64 --set hidden_dim=32 --set num_simulations=4 "                    \
    "--set evaluation_interval=0 --set final_evaluation_episodes=0 --run run "

static char folder[160]; /* of the test */

static void write_file(const char *name, const char *text) {
    char path[320];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

static void await_file(const char *name) {
    char path[320];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (int i = 0; i < 30000 && !cm_file_exists(path); i++) usleep(1000);
    ck_assert_msg(cm_file_exists(path), "%s is not there", path);
}

/* Where an environment of Python hangs as long as there is a file "hang"; it makes a file "hanging" then. */
#define PYTHON(head, reset, step)                                                                                      \
    "import os, time\n"                                                                                                \
    "def hang():\n"                                                                                                    \
    "  if os.path.exists('hang'):\n"                                                                                   \
    "    open('hanging', 'w').close()\n"                                                                               \
    "    while True: time.sleep(1)\n" head "class Walk:\n"                                                             \
    "  actions, max_steps = 2, 20\n"                                                                                   \
    "  def reset(self, seed): " reset "self.at = seed % 5; return [self.at / 9]\n"                                     \
    "  def step(self, action):\n"                                                                                      \
    "    " step "self.at += 1 if action else -1\n"                                                                     \
    "    return [self.at / 9], float(self.at == 7), abs(self.at) > 8\n"

static const struct hang {
    const char *name, *text, *arguments;
    int status;
    const char *says;
} hangs[] = {
    {"step", NULL, "--set rows=13 --set env_name=" LIBRARY, 0, "warning: acting was left behind"},
    {"reset", NULL, "--set rows=14 --set env_name=" LIBRARY, 130,
     "train: interrupted while it began, before there was"},
    {"import", PYTHON("hang()\n", "", ""), "--set env_name=./walk.py", 130,
     "train: interrupted while it began: Environment.env_name: walk.py: its import, constructor or first reset"},
};
enum { HANGS = sizeof hangs / sizeof *hangs };

static pid_t start_hanging(const struct hang *h) {
    char command[1024];
    snprintf(folder, sizeof folder, "%s/%s", cm_test_folder, h->name);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    write_file("hang", "");
    if (h->text) write_file("walk.py", h->text);
    snprintf(command, sizeof command, TRAIN "%s", h->arguments);
    const pid_t child = cm_program_start(folder, command);
    await_file("hanging");
    return child;
}

static void expect_end(const struct hang *h, pid_t child) {
    char text[8192], path[320];
    ck_assert_int_eq(cm_program_wait(child), h->status);
    snprintf(folder, sizeof folder, "%s/%s", cm_test_folder, h->name);
    cm_program_file(folder, "err.txt", text, sizeof text);
    ck_assert_msg(strstr(text, h->says) != NULL, "%s: %s", h->name, text);
    if (h->status == 0) ck_assert_ptr_nonnull(strstr(text, "warning: asked to stop 3 s ago, and still "));
    snprintf(path, sizeof path, "%s/run", folder);
    ck_assert_int_eq(cm_file_exists(path), h->status == 0); /* nothing is left of a run that never began */
    cm_program_file(folder, "out.txt", text, sizeof text);
    ck_assert_msg((strstr(text, "stopped and saved; go on with: ") != NULL) == (h->status == 0), "%s", text);
}

/* All side by side: each takes seconds in which nothing happens. */
START_TEST(what_hangs_does_not_hinder_the_end) {
    pid_t child[HANGS];
    for (int i = 0; i < HANGS; i++) child[i] = start_hanging(&hangs[i]);
    for (int i = 0; i < HANGS; i++) kill(child[i], SIGTERM);
    for (int i = 0; i < HANGS; i++) expect_end(&hangs[i], child[i]);
}
END_TEST

/* Steps of all environments take 13 s, each of them 50 ms, once the run acts. */
START_TEST(many_short_steps_in_python_are_waited_for_no_longer_than_a_long_one) {
    char text[8192];
    snprintf(folder, sizeof folder, "%s/short", cm_test_folder);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    write_file("short.py", "import os, time\n"
                           "class Short:\n"
                           "  actions, max_steps = 2, 20\n"
                           "  def reset(self): return [0.0]\n"
                           "  def step(self, action):\n"
                           "    if os.path.exists('run/log.txt'):\n"
                           "      open('slow', 'w').close()\n"
                           "      time.sleep(0.05)\n"
                           "    return [float(action)], 0.0, False\n");
    const pid_t child = cm_program_start(folder, "train --env ./short.py --run run --threads 1 --set num_envs=256 "
                                                 "--set num_simulations=2 --set hidden_dim=16 --env-steps 1M");
    await_file("slow");
    kill(child, SIGTERM);
    ck_assert_int_eq(cm_program_wait(child), 0);
    cm_program_file(folder, "err.txt", text, sizeof text);
    ck_assert_msg(strstr(text, "has not come back since the request to stop; its process was ended") != NULL, "%s",
                  text);
}
END_TEST

/* All processes hang in their first resets, and one line says so. */
START_TEST(of_many_processes_that_hang_one_line_tells) {
    char text[8192];
    snprintf(folder, sizeof folder, "%s/many", cm_test_folder);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    write_file("many.py", "import os, time\n"
                          "class Many:\n"
                          "  actions, max_steps = 2, 20\n"
                          "  def reset(self):\n"
                          "    if os.path.exists('run/log.txt'):\n"
                          "      open('slow', 'w').close()\n"
                          "      time.sleep(60)\n"
                          "    return [0.0]\n"
                          "  def step(self, action): return [float(action)], 0.0, False\n");
    const pid_t child = cm_program_start(folder, "train --env ./many.py --run run --threads 2 --set num_envs=8");
    await_file("slow");
    kill(child, SIGTERM);
    cm_program_wait(child);
    cm_program_file(folder, "err.txt", text, sizeof text);
    const char *line = strstr(text, "warning: "),
               *said = "has not come back since the request to stop; its process was ended\n";
    ck_assert_msg(line && strstr(line, said) && !strstr(strstr(line, said) + 1, said), "%s", text);
}
END_TEST

#define STEPS TRAIN "--env-steps 2048 --set env_name=./walk.py --seed 3 --quiet "

/* The last whole iteration is saved, and what was acted of the next one is acted again. */
START_TEST(a_run_whose_environment_hung_goes_on_to_the_same_bits) {
    char hash[64];
    snprintf(folder, sizeof folder, "%s/walk", cm_test_folder);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    write_file("walk.py", PYTHON("", "", "hang(); "));
    cm_program_run(folder, STEPS, &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    hash_of("walk/run", hash);
    char path[320];
    snprintf(path, sizeof path, "%s/run", folder);
    ck_assert_int_eq(cm_directory_remove(path), CM_OK);
    const pid_t child = cm_program_start(folder, STEPS);
    await_file("run/README.md");
    usleep(100000);
    write_file("hang", "");
    await_file("hanging");
    kill(child, SIGTERM);
    ck_assert_int_eq(cm_program_wait(child), 0);
    snprintf(path, sizeof path, "%s/hang", folder);
    ck_assert_int_eq(unlink(path), 0);
    cm_program_run(folder, "train --quiet --resume run", &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    hash_of("walk/run", reference);
    ck_assert_str_eq(hash, reference);
}
END_TEST

/* Whether the run's newest checkpoint is one within learning; *made: updates of that. */
static bool is_within(const char *run_name, double *made) {
    char path[320];
    cm_json_doc *doc;
    snprintf(path, sizeof path, "%s/%s/latest/state.json", cm_test_folder, run_name);
    ck_assert_msg(cm_json_read(path, &doc) == CM_OK, "%s", cm_error_message());
    const cm_json *round = cm_json_get(cm_json_root(doc), "learning");
    *made = cm_json_number(cm_json_get(round, "made"), -1.0);
    cm_json_free(doc);
    return round != NULL;
}

#define KIND(i) ((i) ? " --set overlap=on" : "")

/* Updates that are made of a round that is broken off after a while; -1: it was not within one. */
static double break_off(const char *command, const char *name, unsigned milliseconds) {
    double made;
    const pid_t child = cm_program_start(cm_test_folder, command);
    cm_program_await_handler(child, SIGTERM);
    await_run(name);
    usleep(1000 * milliseconds);
    kill(child, SIGTERM);
    ck_assert_int_eq(cm_program_wait(child), 0);
    return is_within(name, &made) ? made : -1.0;
}

/* The updates of an iteration would take hours. How long it takes until they begin is not known: it is tried for longer
 * and longer. */
START_TEST(learning_is_broken_off_and_saved) {
    char command[512], resume[64], name[16];
    double made = -1.0, before;
    unsigned milliseconds = 250;
    snprintf(name, sizeof name, "long-%d", _i);
    snprintf(resume, sizeof resume, "train --quiet --resume %s", name);
    snprintf(command, sizeof command, "train --quiet --run %s" SMALL " --set updates_per_iteration=1000000%s", name,
             KIND(_i));
    made = break_off(command, name, milliseconds);
    for (int again = 0; again < 2; again++) {
        before = made;
        for (; made <= before && milliseconds < 20000; milliseconds *= 2) made = break_off(resume, name, milliseconds);
        ck_assert_double_gt(made, before);
    }
}
END_TEST

/* Broken off three times, wherever it is. */
START_TEST(what_was_broken_off_goes_on_to_the_same_bits) {
    static const char kind[] = " --set updates_per_iteration=60 --set reanalyse_ratio=0.5 --set num_simulations=8";
    char command[1024], name[2][16], hash[64];
    for (int i = 0; i < 2; i++) {
        snprintf(name[i], sizeof name[i], "%s-%d", i ? "cut" : "whole", _i);
        snprintf(command, sizeof command, "train --quiet --run %s" SMALL "%s%s", name[i], kind, KIND(_i));
        if (i == 0) expect_ok(command);
    }
    for (unsigned again = 0; again < 3; again++) {
        const pid_t child = cm_program_start(cm_test_folder, command);
        cm_program_await_handler(child, SIGTERM);
        if (again == 0) await_run(name[1]);
        usleep(120000 + 50000 * again);
        kill(child, SIGTERM);
        ck_assert_int_eq(cm_program_wait(child), 0);
        snprintf(command, sizeof command, "train --quiet --resume %s", name[1]);
    }
    expect_ok(command);
    hash_of(name[0], hash);
    hash_of(name[1], reference);
    ck_assert_str_eq(hash, reference);
    expect_same_metrics(name[0], name[1]);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/interrupted");
    TCase *tests = tcase_create("interrupted");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 120);
    tcase_add_unchecked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(tests, what_hangs_does_not_hinder_the_end);
    tcase_add_test(tests, many_short_steps_in_python_are_waited_for_no_longer_than_a_long_one);
    tcase_add_test(tests, of_many_processes_that_hang_one_line_tells);
    tcase_add_test(tests, a_run_whose_environment_hung_goes_on_to_the_same_bits);
    tcase_add_loop_test(tests, learning_is_broken_off_and_saved, 0, 2);
    tcase_add_loop_test(tests, what_was_broken_off_goes_on_to_the_same_bits, 0, 2);
    return cm_test_main(suite);
}
