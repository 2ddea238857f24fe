/* What surrounds the program: the locale, and the terminal that it writes to. */
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>

#include "cli/runs.h"

START_TEST(names_are_understood_in_every_case_in_a_turkish_locale) {
    locale_t turkish = newlocale(LC_CTYPE_MASK, "tr_TR.UTF-8", (locale_t)0);
    if (!turkish) {
        printf("SKIP turkish: there is no locale tr_TR.UTF-8 here\n");
        return;
    }
    freelocale(turkish);
    setenv("LC_ALL", "tr_TR.UTF-8", 1);
    expect_ok("play --quiet --set env_name=MOUNTAINCAR-V0");
    expect_ok("config --set mcts.num_simulations=7");
    cm_program_run_with(cm_test_folder, "play --set env_name=TICTACTOE --opponent human", "HINT\nB2\nQUIT\n", &result);
    ck_assert_ptr_nonnull(strstr(result.out, "There is no agent to ask"));
}
END_TEST

START_TEST(terminals_that_say_no_kind_get_no_escape_sequences) {
    static const char *const kinds[] = {"dumb", "", NULL, "xterm"};
    for (int i = 0; i < 4; i++) {
        cm_program_term = kinds[i];
        cm_program_run_terminal(cm_test_folder, "play --delay 0", 80, "", &result);
        ck_assert_int_eq(result.status, 0);
        ck_assert_int_eq(strchr(result.out, '\033') != NULL, i == 3);
    }
}
END_TEST

START_TEST(grids_have_their_colours_in_a_terminal) {
    static const char *const kinds[] = {"dumb", "xterm"};
    for (int i = 0; i < 2; i++) {
        cm_program_term = kinds[i];
        cm_program_run_terminal(cm_test_folder, "play --delay 0 --set env_name=minatar_breakout", 80, "", &result);
        ck_assert_int_eq(result.status, 0);
        ck_assert_int_eq(strstr(result.out, "\033[1;31m#\033[0m \033[1;31m#\033[0m") != NULL, i == 1);
    }
}
END_TEST

/* It is hung up, and what is written to it from then on fails. */
START_TEST(a_run_whose_terminal_closes_saves_and_ends_well) {
    char text[4096], path[160];
    int terminal;
    cm_program_term = _i ? "dumb" : "xterm";
    pid_t child =
        cm_program_start_terminal(cm_test_folder, "train --run closed" SMALL " --env-steps 100M", 80, &terminal);
    cm_program_await_handler(child, SIGHUP);
    ck_assert_int_gt(read(terminal, text, sizeof text), 0);
    close(terminal);
    ck_assert_int_eq(cm_program_wait(child), 0);
    snprintf(path, sizeof path, "%s/closed/latest/manifest.json", cm_test_folder);
    ck_assert(cm_file_exists(path));
}
END_TEST

/* An environment in Python whose import waits. */
START_TEST(a_beginning_is_seen_to_go_on) {
    static const char waits[] = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\nclass Walk:\n"
                                "  actions, max_steps = 2, 9\n  def reset(self): return [0.0]\n"
                                "  def step(self, action): return [0.0], 0.0, False\n";
    char text[1 << 14], path[320];
    size_t used = 0;
    int terminal;
    cm_program_term = "xterm";
    snprintf(path, sizeof path, "%s/waits.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, waits, strlen(waits)), CM_OK);
    pid_t child = cm_program_start_terminal(cm_test_folder,
                                            "train --env ./waits.py --run waits --env-steps 64"
                                            " --set evaluation_interval=0 --set final_evaluation_episodes=0",
                                            80, &terminal);
    text[0] = '\0';
    while (!strstr(text, "\r\033[Kbeginning, ")) {
        const ssize_t n = read(terminal, text + used, sizeof text - 1 - used);
        ck_assert_msg(n > 0, "%s", text);
        text[used += (size_t)n] = '\0';
    }
    snprintf(path, sizeof path, "%s/go", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    while (read(terminal, text, sizeof text) > 0) {
    }
    close(terminal);
    ck_assert_int_eq(cm_program_wait(child), 0);
}
END_TEST

/* An evaluation that would take hours, in the first iteration. */
START_TEST(an_evaluation_is_seen_to_go_on) {
    char text[1 << 16];
    size_t used = 0;
    int terminal;
    cm_program_term = "xterm";
    pid_t child = cm_program_start_terminal(
        cm_test_folder, "train --run seen" SMALL " --set evaluation_interval=256 --set evaluation_episodes=100000", 80,
        &terminal);
    text[0] = '\0';
    while (!strstr(text, " of 100000 episodes, ")) {
        const ssize_t n = read(terminal, text + used, sizeof text - 1 - used);
        ck_assert_msg(n > 0, "%s", text);
        text[used += (size_t)n] = '\0';
    }
    kill(child, SIGTERM);
    while (read(terminal, text, sizeof text) > 0) {
    }
    close(terminal);
    ck_assert_int_eq(cm_program_wait(child), 0);
}
END_TEST

START_TEST(networks_fit_a_narrow_terminal) {
    static const char *const networks[] = {"policy=stochastic_muzero", "env_name=connect4 --set family=resnet"};
    char line[128];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "inspect --set %s", networks[i]);
        cm_program_run_terminal(cm_test_folder, line, 80, "", &result);
        ck_assert_ptr_nonnull(strstr(result.out, "\nparameters  "));
        ck_assert_ptr_nonnull(strstr(result.out, "\n* statistics"));
        for (char *row = strtok(result.out, "\r\n"); row; row = strtok(NULL, "\r\n")) ck_assert_int_lt(strlen(row), 80);
    }
}
END_TEST

/* Columns of what a terminal got of a line, which ends at `end`. */
static int width_of(const char *line, const char *end) {
    int width = 0;
    for (const char *c = line; c < end; c++) {
        if (*c == '\033') {
            while (c < end && *c != 'm' && *c != 'K') c++;
        } else {
            width += ((unsigned char)*c & 0xc0) != 0x80;
        }
    }
    return width;
}

/* Rows of the terminal above the first line of progress, which alone is drawn at the start of a row that it clears. */
static int rows_at_start(int columns) {
    int rows = 0;
    const char *progress = strstr(result.out, "\r\033[K");
    ck_assert_msg(progress && strstr(progress, "/s"), "%s", result.out);
    for (const char *at = result.out; at < progress; at += strcspn(at, "\n") + 1) {
        const int width = width_of(at, at + strcspn(at, "\r\n"));
        rows += width > 0 ? (width + columns - 1) / columns : 1;
    }
    return rows;
}

/* A task whose defaults are chosen for several reasons, one of them a limit on steps, which it has not. */
static void write_cliff(void) {
    static const char text[] = "class Cliff:\n  actions = 4\n"
                               "  def reset(self, seed):\n    self.at = 36\n    return self.look()\n"
                               "  def look(self):\n    return [float(i == self.at) for i in range(48)]\n"
                               "  def step(self, a):\n"
                               "    x, y = self.at % 12, self.at // 12\n"
                               "    x = min(11, max(0, x + (a == 1) - (a == 3)))\n"
                               "    y = min(3, max(0, y + (a == 2) - (a == 0)))\n"
                               "    falls = y == 3 and 0 < x < 11\n"
                               "    self.at = 36 if falls else 12 * y + x\n"
                               "    return self.look(), -100.0 if falls else -1.0, self.at == 47\n";
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/cliff.py", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, text, sizeof text - 1), CM_OK);
}

START_TEST(the_start_of_a_training_leaves_most_of_the_screen_to_the_training) {
    static const char rest[] = "--env-steps 256 --set evaluation_interval=0 --set final_evaluation_episodes=0"
                               " --set log_level=error";
    static const struct {
        const char *env;
        int columns;
    } starts[] = {{"CartPole-v1", 40},
                  {"CartPole-v1", 80},
                  {"tictactoe", 40},
                  {"tictactoe", 80},
                  {"Acrobot-v1", 80},
                  {"MountainCarContinuous-v0", 40},
                  {"./cliff.py --set log_level=warning", 40},
                  {"./cliff.py --set log_level=warning", 80}};
    char line[512];
    write_cliff();
    for (int i = 0; i < (int)(sizeof starts / sizeof *starts); i++) {
        snprintf(line, sizeof line, "train --run start-%d %s --set env_name=%s", i, rest, starts[i].env);
        cm_program_run_terminal(cm_test_folder, line, starts[i].columns, "", &result);
        ck_assert_msg(result.status == 0, "%s", result.out);
        ck_assert_msg(rows_at_start(starts[i].columns) <= 8, "%s", result.out);
        ck_assert_ptr_null(strstr(result.out, "optimizer moments"));
    }
    ck_assert_ptr_nonnull(strstr(result.out, "max_steps=480"));
    static char log[1 << 16];
    cm_program_file(cm_test_folder, "start-0/log.txt", log, sizeof log); /* nothing is lost */
    ck_assert_ptr_nonnull(strstr(log, "optimizer moments"));
    ck_assert_ptr_nonnull(strstr(log, "machine   "));
}
END_TEST

START_TEST(the_plan_of_memory_is_printed_on_request_and_where_it_takes_more_than_half) {
    static const char rest[] = "--env-steps 64 --set evaluation_interval=0 --set final_evaluation_episodes=0";
    static const char *const asked[] = {"-v", "--verbose", "--set memory_limit=20M"};
    char line[512];
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "train --run plan-%d %s --backend cpu %s", i, asked[i], rest);
        expect_ok(line);
        ck_assert_msg(strstr(result.out, "\n  optimizer moments    ") != NULL, "%s", result.out);
        const char *advice =
            strstr(result.out, "\n          most of it is "); /* and what to do about it, if it is much */
        ck_assert_int_eq(advice != NULL, i == 2);
        ck_assert(!advice || strstr(advice, "; to take less, lower memory_steps, batch_size, "));
    }
    snprintf(line, sizeof line, "train --run plan --set memory_limit=200M --backend cpu %s", rest);
    expect_ok(line);
    ck_assert_msg(strstr(result.out, "\n  optimizer moments    ") == NULL, "%s", result.out);
    expect_exit("eval -v", 2, "eval: unknown flag -v");
}
END_TEST

/* What is said of it where none is: only if something of one is there. */
START_TEST(a_gpu_that_is_not_used_is_told_of_where_one_is_expected) {
    static const char rest[] = "--env-steps 64 --set evaluation_interval=0 --set final_evaluation_episodes=0";
    char line[512], path[PATH_MAX], *before = strdup(getenv("PATH"));
    run("devices");
    const bool is_absent = strstr(result.out, "no CUDA driver") != NULL; /* neither GPU nor driver */
    snprintf(path, sizeof path, "%s/tool", cm_test_folder);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
    setenv("PATH", path, 1);
    snprintf(line, sizeof line, "train --run without %s", rest);
    expect_ok(line);
    if (is_absent) ck_assert_msg(!strstr(result.out, "no GPU"), "%s", result.out);
    snprintf(path, sizeof path, "%s/tool/nvidia-smi", cm_test_folder);
    ck_assert_int_eq(cm_file_write(path, "", 0), CM_OK);
    ck_assert_int_eq(chmod(path, 0755), 0);
    snprintf(line, sizeof line, "train --run with %s", rest);
    expect_ok(line);
    if (is_absent) ck_assert_msg(strstr(result.out, "\nno GPU    no CUDA driver: "), "%s", result.out);
    setenv("PATH", before, 1);
    free(before);
}
END_TEST

/* But for commands, which are there to be copied. */
START_TEST(what_a_training_says_fits_the_terminal) {
    static const int columns[] = {40, 80};
    static const char *const said[] = {"\nfinal: mean return ", "\n    seed       mean        std\r\n",
                                       "\n    seed       mean        std  env steps    updates   seconds\r\n"};
    char line[512];
    for (int k = 0; k < 4; k++) {
        const int i = k / 2, has_seeds = k % 2;
        snprintf(line, sizeof line, "train --run fits-%d%s" SMALL, k, has_seeds ? " --seeds 1,2" : "");
        cm_program_run_terminal(cm_test_folder, line, columns[i], "", &result);
        ck_assert_msg(result.status == 0, "%s", result.out);
        ck_assert_ptr_nonnull(strstr(result.out, said[has_seeds ? 1 + i : 0]));
        for (const char *at = result.out, *end; *at; at = end + strspn(end, "\r\n")) {
            end = at + strcspn(at, "\r\n");
            const bool is_command = memmem(at, (size_t)(end - at), "/cumind ", 8) != NULL;
            ck_assert_msg(is_command || width_of(at, end) < columns[i], "%d: %.*s", columns[i], (int)(end - at), at);
        }
    }
}
END_TEST

/* Lists, numbers and reports; a pipe gets a line each. */
START_TEST(what_commands_print_breaks_between_words_in_a_narrow_terminal) {
    static const char *const commands[] = {"environments",
                                           "devices",
                                           "eval --run n --episodes 4",
                                           "eval --run n --episodes 4 --opponent random",
                                           "benchmark search --seconds 0.01s",
                                           "inspect --run n"};
    expect_ok("train --quiet --run n" SMALL);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        cm_program_run_terminal(cm_test_folder, commands[i], 50, "", &result);
        ck_assert_msg(result.status == 0, "%s", result.out);
        for (const char *at = result.out, *end; *at; at = end + strspn(end, "\r\n")) {
            end = at + strcspn(at, "\r\n");
            ck_assert_msg(width_of(at, end) < 50, "%s: %.*s", commands[i], (int)(end - at), at);
        }
        run(commands[i]);
        ck_assert_msg(!strstr(result.out, "\n    i") && !strstr(result.out, "\n    m"), "%s", result.out);
    }
}
END_TEST

/* What is said below it is broken where there is no space for it, and goes away with it. */
START_TEST(a_picture_is_drawn_again_in_its_place_in_a_narrow_terminal) {
    int rows = 0, up = 0;
    expect_ok("train --quiet --run car --set env_name=MountainCar-v0 --env-steps 256 --set hidden_dim=8"
              " --set final_evaluation_episodes=0");
    cm_program_run_terminal(cm_test_folder, "play --run car --delay 0", 40, "", &result);
    ck_assert_ptr_nonnull(strstr(result.out, "  expects\r\n  "));
    for (const char *at = result.out; *at; at++) {
        rows += *at == '\n';
        if (sscanf(at, "\033[%dA", &up) == 1) rows -= up;
        ck_assert_int_ge(rows, 0);
        ck_assert_int_le(rows, 24);
    }
    ck_assert_int_gt(up, 0);
}
END_TEST

/* Errors, warnings and notes; a pipe gets each as one line (test_usage.c). */
START_TEST(what_goes_wrong_is_told_in_lines_that_break_between_words) {
    static const char *const cases[][2] = {
        {"train --foo", "cumind: train: unknown flag --foo;\r\n    cumind help train lists all\r\n"},
        {"train --set learning_rate=1 --set env_name=nope",
         "warning: --set: Training.learning_rate:\r\n    1 is far from what is usual,\r\n    1e-06..0.3\r\n"}};
    for (int i = 0; i < 2; i++) {
        cm_program_run_terminal(cm_test_folder, cases[i][0], 40, "", &result);
        ck_assert_int_eq(result.status, 2);
        ck_assert_msg(strncmp(result.out, cases[i][1], strlen(cases[i][1])) == 0, "%s", result.out);
        run(cases[i][0]);
        ck_assert_ptr_null(strstr(result.err, "\n "));
    }
}
END_TEST

/* Its line of progress comes from the first of them, via two pipes; a pipe gets lines, as without ranks. */
START_TEST(several_ranks_draw_the_line_of_progress_of_one) {
    static const char line[] = "train --num-devices 2 --oversubscribe --run ranks-%d" SMALL;
    char command[512];
    if (!cm_program_has_mpi()) return;
    snprintf(command, sizeof command, line, 1);
    cm_program_run_terminal(cm_test_folder, command, 80, "", &result);
    ck_assert_msg(result.status == 0, "%s", result.out);
    const char *drawn = strstr(result.out, "\r\033[Kit ");
    ck_assert_msg(drawn && strstr(drawn, " steps ") && strstr(drawn, "\033[Kevaluated after "), "%s", result.out);
    ck_assert_int_lt(width_of(drawn + 1, drawn + 1 + strcspn(drawn + 1, "\r")), 80);
    snprintf(command, sizeof command, line, 2);
    expect_ok(command);
    ck_assert_ptr_null(strchr(result.out, '\033'));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/terminal");
    TCase *tests = tcase_create("terminal");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, cm_program_folder_for_ranks, cm_test_folder_remove);
    tcase_add_test(tests, names_are_understood_in_every_case_in_a_turkish_locale);
    tcase_add_test(tests, terminals_that_say_no_kind_get_no_escape_sequences);
    tcase_add_test(tests, grids_have_their_colours_in_a_terminal);
    tcase_add_loop_test(tests, a_run_whose_terminal_closes_saves_and_ends_well, 0, 2);
    tcase_add_test(tests, a_beginning_is_seen_to_go_on);
    tcase_add_test(tests, an_evaluation_is_seen_to_go_on);
    tcase_add_test(tests, networks_fit_a_narrow_terminal);
    tcase_add_test(tests, what_a_training_says_fits_the_terminal);
    tcase_add_test(tests, what_commands_print_breaks_between_words_in_a_narrow_terminal);
    tcase_add_test(tests, a_picture_is_drawn_again_in_its_place_in_a_narrow_terminal);
    tcase_add_test(tests, what_goes_wrong_is_told_in_lines_that_break_between_words);
    tcase_add_test(tests, several_ranks_draw_the_line_of_progress_of_one);
    tcase_add_test(tests, the_start_of_a_training_leaves_most_of_the_screen_to_the_training);
    tcase_add_test(tests, the_plan_of_memory_is_printed_on_request_and_where_it_takes_more_than_half);
    tcase_add_test(tests, a_gpu_that_is_not_used_is_told_of_where_one_is_expected);
    return cm_test_main(suite);
}
