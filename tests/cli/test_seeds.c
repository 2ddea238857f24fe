/* Several seeds of one command: in processes of their own, as many at once as there are processors. */
#include <ctype.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "core/cpu.h"
#include "runs.h"
#include "support/same_metrics.h"

static int at_once(int seeds) { return cm_cpu_count() < seeds ? cm_cpu_count() : seeds; }

static void expect_same_text(const char *a, const char *b) {
    static char one[1 << 16], two[1 << 16];
    cm_program_file(cm_test_folder, a, one, sizeof one);
    cm_program_file(cm_test_folder, b, two, sizeof two);
    ck_assert_int_gt(strlen(one), 0);
    ck_assert_str_eq(one, two);
}

/* Each on its share of the processors; its lines stand after its name, and its run is that of its seed. */
START_TEST(seeds_at_once_are_what_each_is_alone) {
    char line[512];
    expect_ok("train --seeds 3-5 --run many" SMALL);
    for (int seed = 3; seed <= 5; seed++) {
        char many[32], alone[32], config[2][64];
        snprintf(many, sizeof many, "many/seed-%d", seed);
        snprintf(alone, sizeof alone, "alone-%d", seed);
        snprintf(line, sizeof line, "\n       %d ", seed);
        ck_assert_ptr_nonnull(strstr(result.out, line));
        snprintf(line, sizeof line, "seed %d  task      CartPole-v1, seed %d, ", seed, seed);
        ck_assert_msg(strstr(result.out, line) != NULL, "%s", result.out);
        snprintf(line, sizeof line, "\nseed %d  final: mean return ", seed);
        ck_assert_msg(strstr(result.out, line) != NULL, "%s", result.out);
        snprintf(config[0], sizeof config[0], "%s/config.json", many);
        snprintf(config[1], sizeof config[1], "%s/config.json", alone);
        snprintf(line, sizeof line, "train --quiet --seed %d --run %s" SMALL, seed, alone);
        cm_output *said = malloc(sizeof *said);
        cm_program_run(cm_test_folder, line, said);
        ck_assert_msg(said->status == 0, "%s", said->err);
        free(said);
        hash_of(alone, reference);
        expect_reference(many);
        expect_same_metrics(many, alone);
        expect_same_text(config[0], config[1]);
    }
    const int share = cm_cpu_count() / at_once(3);
    snprintf(line, sizeof line, ", %d thread%s, float32\n", share, share == 1 ? "" : "s");
    const char *machine = strstr(result.out, "seed 3  machine ");
    ck_assert(machine && strstr(machine, line) != NULL);
}
END_TEST

START_TEST(lines_for_programs_name_the_seed) {
    expect_ok("train --json --seeds 1,4 --run json" SMALL);
    ck_assert_ptr_nonnull(strstr(result.out, "{\"train_seed\": 1, \"event\": \"iteration\", "));
    ck_assert_ptr_nonnull(strstr(result.out, "{\"train_seed\": 4, \"event\": \"end\", "));
    ck_assert_ptr_nonnull(strstr(result.out, "\n{\"event\": \"seed\", \"seed\": 4, "));
    for (char *line = strtok(result.out, "\n"); line; line = strtok(NULL, "\n")) {
        cm_json_doc *doc;
        ck_assert_msg(cm_json_parse(line, strlen(line), "stdout", &doc) == CM_OK, "%s", line);
        cm_json_free(doc);
    }
}
END_TEST

/* Types ctrl-C; what the terminal got then is in result.out. */
static void type_interrupt(int terminal) {
    size_t used = 0;
    ck_assert_int_eq(write(terminal, "\003", 1), 1);
    for (ssize_t n; (n = read(terminal, result.out + used, sizeof result.out - 1 - used)) > 0;) used += (size_t)n;
    result.out[used] = '\0';
}

/* Ctrl-C comes to the parent alone, and by it to all. */
START_TEST(an_interrupt_ends_all_and_says_how_to_go_on) {
    static const char command[] = "train --seeds 7-9 --run several --env-steps 100M --set stop_at_goal=false";
    const int begun = at_once(3);
    char text[128], dir[32];
    int terminal = -1;
    const pid_t child = _i ? cm_program_start_terminal(cm_test_folder, command, 100, &terminal)
                           : cm_program_start(cm_test_folder, command);
    for (int i = 0; i < begun; i++) {
        snprintf(dir, sizeof dir, "several/seed-%d", 7 + i);
        await_run(dir);
    }
    if (_i) {
        type_interrupt(terminal);
    } else {
        kill(child, SIGINT);
    }
    ck_assert_int_eq(cm_program_wait(child), 0);
    if (!_i) cm_program_file(cm_test_folder, "out.txt", result.out, sizeof result.out);
    for (int i = 0; i < begun; i++) {
        snprintf(text, sizeof text, "stopped: seed %d is unfinished; --resume several/seed-%d goes on with it", 7 + i,
                 7 + i);
        ck_assert_msg(strstr(result.out, text) != NULL, "%s", result.out);
    }
    static const char *const left[] = {"2 of 3 seeds were not begun; --seeds 8,9 trains",
                                       "1 of 3 seeds were not begun; --seeds 9 trains"};
    if (begun < 3) ck_assert_msg(strstr(result.out, left[begun - 1]) != NULL, "%s", result.out);
    if (terminal >= 0) close(terminal);
    expect_ok("train --quiet --resume several/seed-7 --env-steps 256 --set final_evaluation_episodes=0");
}
END_TEST

/* Waits until that many children are there, and all are stopped, or none is. */
static void await_children(pid_t parent, int count, bool are_stopped) {
    char path[64], text[512];
    int alike = 0;
    for (int i = 0; i < 2000 && alike != count; i++, usleep(10000)) {
        alike = 0;
        snprintf(path, sizeof path, "%d/task/%d/children", (int)parent, (int)parent);
        cm_program_file("/proc", path, text, sizeof text);
        for (char *rest = text, *pid; (pid = strtok_r(rest, " ", &rest)) && alike >= 0;) {
            char state[512];
            snprintf(path, sizeof path, "%s/stat", pid);
            cm_program_file("/proc", path, state, sizeof state);
            alike += (strstr(state, ") T ") != NULL) == are_stopped;
        }
    }
    ck_assert_int_eq(alike, count);
}

/* As ctrl-Z in a shell, and `fg`. */
START_TEST(a_stopped_job_of_seeds_works_no_more_until_it_goes_on) {
    int state;
    const pid_t job = cm_program_start_job(
        cm_test_folder, "train --quiet --seeds 7-9 --run halted --env-steps 100M --set stop_at_goal=false");
    for (int i = 0; i < at_once(3); i++) await_run(i ? "halted/seed-8" : "halted/seed-7");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(kill(job, SIGTSTP), 0);
        ck_assert_int_eq(waitpid(job, &state, WUNTRACED), job);
        ck_assert(WIFSTOPPED(state));
        await_children(job, at_once(3), true);
        ck_assert_int_eq(kill(job, SIGCONT), 0);
        await_children(job, at_once(3), false);
    }
    kill(job, SIGINT);
    ck_assert_int_eq(cm_program_wait(job), 0);
}
END_TEST

/* An environment that is made by the process that reads the configuration, and then holds the next one that makes it
 * until four have: this, the other that begins, and that of the seed which waits. */
START_TEST(a_seed_that_waits_begins_where_another_has_ended) {
    static const char text[] = "import os, time\n"
                               "me = str(os.getppid())\n"
                               "for name in 'reader', 'held':\n"
                               "  try: os.symlink(me, name)\n"
                               "  except FileExistsError: pass\n"
                               "  if os.readlink(name) == me: break\n"
                               "else: name = 'other'\n"
                               "os.makedirs(f'made/{me}', exist_ok=True)\n"
                               "class Waits:\n  actions, max_steps = 2, 9\n"
                               "  def reset(self, seed):\n"
                               "    while name == 'held' and len(os.listdir('made')) < 4: time.sleep(0.01)\n"
                               "    self.steps = 0\n    return [0.0]\n"
                               "  def step(self, action):\n    self.steps += 1\n"
                               "    return [self.steps / 9], 1.0, False\n";
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/waits.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
    if (cm_cpu_count() % 2 != 0) return;
    snprintf(path, sizeof path,
             "train --quiet --seeds 1-3 --run waits --set env_name=./waits.py --set env_timeout=50 --set num_envs=2 "
             "--env-steps 64 --set min_memory_steps=32 --set final_evaluation_episodes=0 --set hidden_dim=16 "
             "--set threads=%d",
             cm_cpu_count() / 2);
    run(path);
    ck_assert_msg(result.status == 0, "%s", result.err);
    cm_program_file(cm_test_folder, "waits/seed-3/result.json", result.out, sizeof result.out);
    ck_assert_ptr_nonnull(strstr(result.out, "parameter_hash"));
}
END_TEST

/* Each time the cursor goes up by as many lines as have been drawn since: one or two, as the seeds run. */
static void check_each_is_drawn_over(const char *text) {
    static const char up[] = "\033[", down[] = "A\r\033[J";
    int count = 0;
    for (const char *at; (at = strstr(text, down)); text = at + sizeof down - 1, count++) {
        int lines = 0;
        for (const char *c = text; c < at; c++) lines += *c == '\n';
        const char *number = at;
        while (number > text && isdigit((unsigned char)number[-1])) number--;
        ck_assert(number - text >= 2 && memcmp(number - 2, up, 2) == 0);
        ck_assert_int_eq(atoi(number), lines);
    }
    ck_assert_int_gt(count, 0);
}

/* A line for each that runs, the last that it has said; then the table. */
START_TEST(a_terminal_has_a_line_of_progress_for_each) {
    cm_program_run_terminal(cm_test_folder, "train --seeds 1,2 --run drawn" SMALL, 60, "", &result);
    ck_assert_msg(result.status == 0, "%s", result.out);
    ck_assert_ptr_nonnull(strstr(result.out, "seed 1  "));
    ck_assert_ptr_nonnull(strstr(result.out, "seed 2  "));
    check_each_is_drawn_over(result.out);
    const char *table = strstr(result.out, "\033[J\r\n    seed       mean        std  env steps    updates\r\n");
    ck_assert_msg(table != NULL, "%s", result.out);
    ck_assert_ptr_null(strstr(table + 3, "\033"));
}
END_TEST

/* All steps of the seed that makes the link first: one alone could be that of a picture, which a run goes on without.
 * None ends before it may. */
static void write_failing(void) {
    static const char text[] = "import os, time\n"
                               "me = str(os.getppid())\n"
                               "class Falls:\n  actions, max_steps, all = 2, 9, 0\n"
                               "  def reset(self, seed):\n    self.steps = 0\n    return [0.0]\n"
                               "  def step(self, action):\n    self.steps += 1\n    self.all += 1\n"
                               "    while self.all > 900 and not os.path.exists('falls'): time.sleep(0.01)\n"
                               "    if os.path.exists('falls'):\n"
                               "      try: os.symlink(me, 'fallen')\n"
                               "      except FileExistsError: pass\n"
                               "      if os.readlink('fallen') == me: raise OSError('connection lost')\n"
                               "    return [self.steps / 9], 1.0, False\n";
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/falls.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
}

START_TEST(one_seed_that_fails_is_named_and_the_others_end) {
    char path[PATH_MAX], text[128];
    write_failing();
    const pid_t child =
        cm_program_start(cm_test_folder, "train --quiet --seeds 1-2 --run part --set env_name=./falls.py" SMALL
                                         " --env-steps 4096 --set num_envs=4");
    for (int i = 0; i < at_once(2); i++) await_run(i ? "part/seed-2" : "part/seed-1");
    snprintf(path, sizeof path, "%s/falls", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    ck_assert_int_eq(cm_program_wait(child), 2);
    cm_program_file(cm_test_folder, "err.txt", result.err, sizeof result.err);
    cm_program_expect_line(result.err, "its step raises OSError: connection lost (falls.py:15)");
    if (at_once(2) < 2) return;
    const int failed = strstr(result.err, "seed-1") ? 1 : 2;
    snprintf(text, sizeof text, "cumind: seed %d: falls: ", failed);
    ck_assert_ptr_nonnull(strstr(result.err, text));
    hash_of(failed == 1 ? "part/seed-2" : "part/seed-1", reference);
}
END_TEST

/* The first asks them to stop, which they do not hear; what is killed with them is gone. */
START_TEST(a_second_interrupt_ends_seeds_whose_environments_hang) {
    static const char text[] = "import os\n"
                               "class Hangs:\n  actions, max_steps = 2, 9\n"
                               "  def reset(self, seed):\n    self.steps = 0\n    return [0.0]\n"
                               "  def step(self, action):\n    self.steps += 1\n"
                               "    if os.path.exists('hang'):\n"
                               "      with open('pid', 'w') as file: file.write(str(os.getpid()))\n"
                               "      while True: pass\n"
                               "    return [self.steps / 9], 1.0, False\n";
    char path[PATH_MAX], pid[64] = "", state[512] = ") R";
    snprintf(path, sizeof path, "%s/hangs.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
    const pid_t child =
        cm_program_start(cm_test_folder, "train --quiet --seeds 1-2 --run hung --set env_name=./hangs.py "
                                         "--env-steps 100M --set num_envs=1");
    await_run("hung/seed-1");
    snprintf(path, sizeof path, "%s/hang", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    for (int i = 0; i < 2000 && pid[0] == '\0'; i++, usleep(10000))
        cm_program_file(cm_test_folder, "pid", pid, sizeof pid);
    kill(child, SIGINT);
    usleep(300000); /* sooner would be the same wish */
    kill(child, SIGINT);
    ck_assert_int_eq(cm_program_wait(child), 130);
    snprintf(path, sizeof path, "%d/stat", atoi(pid));
    for (int i = 0; i < 1000 && *state && !strstr(state, ") Z "); i++, usleep(10000))
        cm_program_file("/proc", path, state, sizeof state);
    ck_assert_msg(!*state || strstr(state, ") Z "), "%s", state);
}
END_TEST

START_TEST(what_all_seeds_find_wrong_is_one_line) {
    expect_exit("train --quiet --seeds 1-2 --run no --set env_name=./corrido.py", 2,
                "cumind: Environment.env_name: ./corrido.py: there is no such file");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("seeds");
    TCase *tests = tcase_create("seeds");
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, seeds_at_once_are_what_each_is_alone);
    tcase_add_test(tests, lines_for_programs_name_the_seed);
    tcase_add_loop_test(tests, an_interrupt_ends_all_and_says_how_to_go_on, 0, 2);
    tcase_add_test(tests, a_terminal_has_a_line_of_progress_for_each);
    tcase_add_test(tests, one_seed_that_fails_is_named_and_the_others_end);
    tcase_add_test(tests, a_second_interrupt_ends_seeds_whose_environments_hang);
    tcase_add_test(tests, a_stopped_job_of_seeds_works_no_more_until_it_goes_on);
    tcase_add_test(tests, a_seed_that_waits_begins_where_another_has_ended);
    tcase_add_test(tests, what_all_seeds_find_wrong_is_one_line);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
