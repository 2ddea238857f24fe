/* What people see: the progress line at several widths, the plots, the run's folder. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/curve_plot.h"
#include "core/busy.h"
#include "core/clock.h"
#include "core/file.h"
#include "run/directory.h"
#include "run/progress.h"
#include "support/folder.h"
#include "support/logged.h"
#include "support/main.h"

static int characters(const char *text) {
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static cm_metrics busy(void) {
    cm_metrics m = cm_metrics_empty();
    m.iteration = 57, m.env_steps = 14592, m.env_steps_per_second = 3123.4, m.seconds = 5;
    m.simulations_per_second = 412345, m.updates_per_second = 812.3, m.mean_return = 187.25;
    m.total_loss = 2.3456, m.loss[CM_LOSS_value] = 1.2, m.loss[CM_LOSS_policy] = 0.6, m.loss[CM_LOSS_reward] = 0.01;
    return m;
}

START_TEST(progress_line_never_wraps) {
    cm_metrics m = busy();
    double history[16];
    for (int i = 0; i < 16; i++) history[i] = 10.0 * i;
    for (int columns = 1; columns <= 200; columns++) {
        for (int utf8 = 0; utf8 < 2; utf8++) {
            cm_progress_style style = {.columns = columns, .utf8 = utf8};
            char line[1024];
            cm_format_progress(&m, history, 16, 0.5, &style, line, sizeof line);
            ck_assert_int_le(characters(line), columns);
        }
    }
}
END_TEST

START_TEST(eighty_columns_hold_steps_rates_return_and_eta) {
    cm_metrics m = busy();
    double history[3] = {1, 2, 3};
    cm_progress_style style = {.columns = 80};
    char line[1024];
    cm_format_progress(&m, history, 3, 0.5, &style, line, sizeof line);
    ck_assert_str_eq(line, "it 57  14.6k steps 3123/s  412k sim/s  812 upd/s  return 187  _-#  ETA 5s");
    style.columns = 40;
    cm_format_progress(&m, history, 3, 0.5, &style, line, sizeof line);
    ck_assert_str_eq(line, "14.6k steps 3123/s  return 187  ETA 5s");
    style.self_play = true;
    cm_format_progress(&m, history, 3, 0.5, &style, line, sizeof line);
    ck_assert_str_eq(line, "14.6k steps 3123/s  self-play 187");
}
END_TEST

START_TEST(eighty_columns_hold_who_waits_and_the_use_of_a_gpu) {
    cm_metrics m = busy();
    double history[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    cm_progress_style style = {.columns = 79};
    char line[1024];
    m.time[CM_TIME_ACTING] = 3.0, m.time[CM_TIME_LEARNING] = 1.5, m.time[CM_TIME_REANALYSIS] = 0.5;
    m.time[CM_TIME_EVALUATION] = 7.0, m.gpu_use = 0.874;
    cm_format_progress(&m, history, 10, 0.5, &style, line, sizeof line);
    ck_assert_str_eq(line, "it 57  14.6k steps 3123/s  act 60 %  GPU 87 %  return 187  __.:-=+*##  ETA 5s");
    style.columns = 40;
    cm_format_progress(&m, history, 10, 0.5, &style, line, sizeof line);
    ck_assert_str_eq(line, "14.6k steps 3123/s  return 187  ETA 5s");
    style.columns = 79, m.env_steps_per_second = (double)NAN; /* offline */
    cm_format_progress(&m, history, 10, 0.5, &style, line, sizeof line);
    ck_assert_str_eq(line, "it 57  0 updates 812/s  GPU 87 %  return 10  __.:-=+*##  loss 2.35  ETA 5s");
}
END_TEST

START_TEST(what_is_measured_from_row_to_row_stays_in_the_line_until_the_next_row) {
    char text[1024] = "";
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    const cm_progress_style style = {.file = ends[1], .interval = 1e-9};
    cm_progress *progress;
    cm_metrics m = busy();
    ck_assert_int_eq(cm_progress_create(&style, &progress), CM_OK);
    cm_progress_show(progress, &m, 0.25);
    m.time[CM_TIME_ACTING] = m.time[CM_TIME_LEARNING] = m.time[CM_TIME_REANALYSIS] = 1.0, m.gpu_use = 0.5;
    cm_progress_show(progress, &m, 0.25);
    m = busy();
    cm_progress_show(progress, &m, 0.25);
    m.time[CM_TIME_ACTING] = m.time[CM_TIME_LEARNING] = m.time[CM_TIME_REANALYSIS] = 1.0; /* a row without the GPU */
    cm_progress_show(progress, &m, 0.25);
    cm_progress_destroy(progress);
    close(ends[1]);
    ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
    close(ends[0]);
    const char *first = strtok(text, "\n"), *second = strtok(NULL, "\n"), *third = strtok(NULL, "\n"),
               *fourth = strtok(NULL, "\n");
    ck_assert(!strstr(first, "act ") && !strstr(first, "GPU "));
    ck_assert_ptr_nonnull(strstr(second, "  act 33 %  GPU 50 %  "));
    ck_assert_ptr_nonnull(strstr(third, "  act 33 %  GPU 50 %  "));
    ck_assert(strstr(fourth, "  act 33 %  ") && !strstr(fourth, "GPU "));
}
END_TEST

START_TEST(updates_of_an_offline_run_are_counted_and_the_last_evaluation_is_the_return) {
    cm_metrics m = busy();
    double history[3] = {1, 2, 3};
    cm_progress_style style = {.columns = 80};
    char line[1024];
    m.updates = 12345, m.env_steps = 0;
    m.env_steps_per_second = m.simulations_per_second = m.mean_return = (double)NAN;
    cm_format_progress(&m, history, 3, 0.5, &style, line, sizeof line);
    ck_assert_str_eq(line, "it 57  12.3k updates 812/s  return 3  _-#  loss 2.35  ETA 5s");
    cm_format_progress(&m, NULL, 0, 0.5, &style, line, sizeof line);
    ck_assert_str_eq(line, "it 57  12.3k updates 812/s  return -  loss 2.35  ETA 5s");
}
END_TEST

START_TEST(counts_are_short_and_rounded) {
    const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},         {9.5, "9.50"},     {950, "950"},      {9999, "9999"},
                 {12345, "12.3k"}, {999949, "1000k"}, {4.56e6, "4.56M"}, {NAN, "-"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[16];
        cm_format_count(cases[i].value, text);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(sparkline_goes_from_lowest_to_highest) {
    double values[5] = {0, 50, NAN, 100, 0};
    char text[64];
    cm_format_sparkline(values, 5, false, text, sizeof text);
    ck_assert_str_eq(text, "_- #_");
    cm_format_sparkline(values, 5, true, text, sizeof text);
    ck_assert_str_eq(text, "\u2581\u2584 \u2588\u2581");
}
END_TEST

/* What a display writes into a pipe. */
static void capture(const cm_progress_style *style, char *out, size_t size) {
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    cm_progress_style piped = *style;
    piped.file = ends[1];
    cm_progress *progress;
    ck_assert_int_eq(cm_progress_create(&piped, &progress), CM_OK);
    cm_metrics m = busy();
    cm_progress_say(progress, "hello %d", 3);
    cm_progress_show(progress, &m, 0.25);
    cm_progress_event(progress, "done", "\"ok\": true");
    cm_progress_destroy(progress);
    close(ends[1]);
    ssize_t n = read(ends[0], out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    close(ends[0]);
}

/* A display, an iteration if `has_one`, and pulses half a second and 1.1 s after that: what these write. */
static void capture_pulses(const cm_progress_style *style, bool has_one, char *out, size_t size) {
    int ends[2];
    char rest[1024];
    double since; /* the evaluation goes on */
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    cm_progress_style piped = *style;
    piped.file = ends[1];
    cm_progress *progress;
    const cm_metrics m = busy();
    ck_assert_int_eq(cm_progress_create(&piped, &progress), CM_OK);
    const double before = cm_clock_seconds();
    if (has_one) cm_progress_show(progress, &m, 0.25);
    cm_busy_with("evaluating", CM_BUSY_ASKED);
    cm_busy_format(rest, &since);
    while (read(ends[0], rest, sizeof rest) > 0) {
    }
    if (has_one) cm_progress_pulse(progress, before + 0.5);
    cm_busy_of(CM_BUSY_EPISODES, 120);
    cm_busy_count(CM_BUSY_EPISODES, 12);
    cm_busy_count(CM_BUSY_STEPS, 500); /* these are not what is counted */
    cm_progress_pulse(progress, since + 1.1);
    const ssize_t n = read(ends[0], out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    cm_progress_destroy(progress);
    close(ends[1]);
    close(ends[0]);
}

static const struct pulse {
    cm_progress_style style;
    bool has_one;
    const char *written;
} pulses[] = {
    {{.tty = true, .columns = 80},
     true,
     "\r\033[K14.6k steps 3123/s  return 187  ETA 15s  evaluating 12 of 120 episodes, 1s"},
    {{.tty = true, .columns = 80}, false, "\r\033[Kevaluating 12 of 120 episodes, 1s"},
    {{.tty = true, .columns = 30}, true, "\r\033[Kevaluating 12 of 120 episodes,"},
    {{.interval = 1.0}, true, "evaluating 12 of 120 episodes, 1s\n"},
    {{.interval = 5.0}, true, ""},
    {{.tty = true, .columns = 80, .json = true}, true, ""},
    {{.tty = true, .columns = 80, .quiet = true}, true, ""},
};

START_TEST(what_goes_on_is_shown_where_no_line_was_for_a_second) {
    char text[1024];
    capture_pulses(&pulses[_i].style, pulses[_i].has_one, text, sizeof text);
    ck_assert_str_eq(text, pulses[_i].written);
}
END_TEST

START_TEST(plain_output_has_no_escape_sequences) {
    char text[4096];
    cm_progress_style style = {.colour = true};
    capture(&style, text, sizeof text);
    ck_assert_ptr_null(strchr(text, '\033'));
    ck_assert_ptr_null(strchr(text, '\r'));
    ck_assert_int_eq(strncmp(text, "hello 3\nit 57  ", 15), 0);
    ck_assert_ptr_null(strstr(text, "done"));
}
END_TEST

START_TEST(terminal_output_redraws_and_clears_its_line) {
    char text[4096];
    cm_progress_style style = {.tty = true, .columns = 79};
    capture(&style, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\r\033[Kit 57"));
    ck_assert_str_eq(text + strlen(text) - 4, "\r\033[K");
}
END_TEST

START_TEST(lines_that_a_terminal_has_no_space_for_go_on_below_themselves) {
    static const struct {
        const char *text, *lines, *offered; /* offered: as a command, which is not broken */
    } cases[] = {
        {"machine   AVX2, oneDNN, 2 threads, float32", "machine   AVX2, oneDNN, 2\n          threads, float32\n",
         "machine\n  AVX2, oneDNN, 2 threads, float32\n"},
        {"final: mean return 500.00, std 0.00 over 20", "final: mean return 500.00,\n    std 0.00 over 20\n",
         "final: mean return 500.00, std 0.00 over 20\n"},
        {"go on with:  cumind train --resume a", "go on with:  cumind train\n    --resume a\n",
         "go on with:\n  cumind train --resume a\n"},
        {"run       a/folder/of/very/long/names now", "run       a/folder/of/very/long/names\n          now\n",
         "run\n  a/folder/of/very/long/names now\n"},
        {"run       a/b", "run       a/b\n", "run       a/b\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int tty = 0; tty < 2; tty++) {
            char text[256] = "", whole[256];
            int ends[2];
            ck_assert_int_eq(pipe(ends), 0);
            const cm_progress_style style = {.file = ends[1], .tty = tty, .columns = 28};
            cm_progress *progress;
            ck_assert_int_eq(cm_progress_create(&style, &progress), CM_OK);
            cm_progress_say(progress, "%s", cases[i].text);
            cm_progress_offer(progress, "%s", cases[i].text);
            cm_progress_destroy(progress);
            close(ends[1]);
            ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
            close(ends[0]);
            if (tty) {
                snprintf(whole, sizeof whole, "%s%s", cases[i].lines, cases[i].offered);
            } else {
                snprintf(whole, sizeof whole, "%s\n%s\n", cases[i].text, cases[i].text);
            }
            ck_assert_str_eq(text, whole);
        }
    }
}
END_TEST

START_TEST(json_output_is_json_lines_and_nothing_else) {
    char text[4096];
    cm_progress_style style = {.json = true};
    capture(&style, text, sizeof text);
    ck_assert_int_eq(strncmp(text, "{\"event\": \"iteration\", \"iteration\": 57, \"env_steps\": 14592,", 56), 0);
    ck_assert_ptr_nonnull(strstr(text, "}\n{\"event\": \"done\", \"ok\": true}\n"));
    ck_assert_ptr_null(strstr(text, "hello"));
}
END_TEST

START_TEST(quiet_output_is_empty) {
    char text[4096];
    cm_progress_style style = {.quiet = true};
    capture(&style, text, sizeof text);
    ck_assert_str_eq(text, "");
}
END_TEST

static const double xs[3] = {0, 100, 300}, ys[3] = {0, 10, 30};
static const cm_plot_series series[1] = {{.label = "return", .x = xs, .y = ys, .n = 3, .dots = true}};
static const cm_plot picture = {"a <b> & c", "steps", "return", series, 1};

START_TEST(plot_puts_the_last_point_in_the_top_right_corner) {
    char *text;
    ck_assert_msg(cm_plot_text(&picture, &(cm_plot_style){48, 14, false, false}, &text) == CM_OK, "%s",
                  cm_error_message());
    strtok(text, "\n");
    char *line = strtok(NULL, "\n");
    ck_assert_str_eq(line, "    30 |                                       o");
    int longest = 0;
    for (; line; line = strtok(NULL, "\n")) longest = (int)strlen(line) > longest ? (int)strlen(line) : longest;
    ck_assert_int_le(longest, 48);
    free(text);
}
END_TEST

START_TEST(plot_legend_takes_the_lines_it_needs) {
    const cm_plot_series two[2] = {{.label = "self-play, last 32 episodes", .x = xs, .y = ys, .n = 3},
                                   {.label = "evaluation", .x = xs, .y = ys, .n = 3, .dots = true}};
    const cm_plot plot = {"run", "steps", "return", two, 2};
    for (int columns = 30; columns <= 90; columns++) {
        char *text;
        ck_assert_int_eq(cm_plot_text(&plot, &(cm_plot_style){columns, 10, false, false}, &text), CM_OK);
        if (columns >= 60)
            ck_assert_ptr_nonnull(strstr(text, "steps   . self-play, last 32 episodes   x evaluation\n"));
        if (columns == 40) {
            ck_assert_ptr_nonnull(strstr(text, "steps\n        . self-play, last 32 episodes\n        x evaluation\n"));
        }
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            ck_assert_int_le(characters(line), columns);
        }
        free(text);
    }
}
END_TEST

/* Rows of the picture from the second line on, between the axis and the end of the line. */
static void expect_rows(const cm_plot *plot, const char *const *rows, int count) {
    char *text;
    ck_assert_int_eq(cm_plot_text(plot, &(cm_plot_style){8 + 7, 4 + count, false, false}, &text), CM_ERR_INPUT);
    ck_assert_int_eq(cm_plot_text(plot, &(cm_plot_style){8 + 13, 4 + count, false, false}, &text), CM_OK);
    strtok(text, "\n");
    for (int i = 0; i < count; i++) ck_assert_str_eq(strchr(strtok(NULL, "\n"), '|') + 1, rows[i]);
    free(text);
}

START_TEST(plot_fills_the_band_behind_its_line_and_those_of_others) {
    static const double x[2] = {0, 12}, middle[2] = {2, 2}, low[2] = {0, 1}, high[2] = {2, 4}, top[2] = {4, 4};
    const cm_plot_series both[2] = {{.label = "mean", .x = x, .y = middle, .n = 2, .low = low, .high = high},
                                    {.label = "top", .x = x, .y = top, .n = 2, .dots = true}};
    const cm_plot plot = {"run", "x", "y", both, 2};
    static const char *const rows[5] = {
        "x         ::x", /* 4 */
        "    :::::::::", /* 3 */
        ".............", /* 2 */
        ":::::::::::::", /* 1 */
        ":::::::",       /* 0 */
    };
    expect_rows(&plot, rows, 5);
}
END_TEST

START_TEST(plot_colours_each_series_and_its_name) {
    const cm_plot_series two[2] = {{.label = "a", .x = xs, .y = ys, .n = 3},
                                   {.label = "b", .x = xs, .y = ys, .n = 3, .dots = true}};
    const cm_plot plot = {"run", "steps", "return", two, 2};
    char *text;
    ck_assert_int_eq(cm_plot_text(&plot, &(cm_plot_style){40, 10, false, true}, &text), CM_OK);
    ck_assert_ptr_nonnull(strstr(text, "\033[34m.\033[0m a   \033[31mx\033[0m b\n"));
    free(text);
}
END_TEST

START_TEST(plot_without_points_says_so) {
    cm_plot_series empty = {.label = "x", .x = xs, .y = ys, .n = 0};
    cm_plot plot = {"run", "x", "y", &empty, 1};
    char *text;
    ck_assert_int_eq(cm_plot_text(&plot, &(cm_plot_style){40, 10, false, false}, &text), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "run: there is nothing to plot yet");
}
END_TEST

/* ---- the folder of a run ---- */

static cm_status create(cm_run_directory *run, const char *path) {
    CM_TRY(cm_run_directory_create(run, path));
    return cm_run_directory_begin(run, "{}");
}

START_TEST(folder_that_holds_a_run_is_refused_naming_resume) {
    char path[128];
    cm_run_directory run, other;
    snprintf(path, sizeof path, "%s/a/b", cm_test_folder);
    ck_assert_int_eq(create(&run, path), CM_OK);
    ck_assert_int_eq(create(&other, path), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "--resume"));
    cm_run_directory_close(&run);
}
END_TEST

static void put(const char *folder, const char *name, const char *text) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

START_TEST(folder_of_a_run_that_was_killed_before_it_began_is_taken_over) {
    char path[64], left[96];
    cm_run_directory run, other;
    snprintf(path, sizeof path, "%s/killed", cm_test_folder);
    snprintf(left, sizeof left, "%s/config.json.tmp-1", path);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
    put(path, "lock", "");
    put(path, "config.json.tmp-1", "{");
    put(path, "latest.tmp-1", "");
    put(path, "latest", ""); /* as that of one that was to begin with old games */
    ck_assert_int_eq(cm_run_directory_open(&other, path), CM_ERR_INPUT);
    ck_assert_int_eq(create(&run, path), CM_OK);
    ck_assert(!cm_file_exists(left));
    snprintf(left, sizeof left, "%s/latest", path);
    ck_assert(!cm_file_exists(left));
    ck_assert_int_eq(create(&other, path), CM_ERR_INPUT);
    cm_run_directory_close(&run);
    ck_assert_int_eq(cm_run_directory_open(&other, path), CM_OK);
    cm_run_directory_close(&other);
    snprintf(path, sizeof path, "%s/notes", cm_test_folder);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
    put(path, "lock", "");
    put(path, "notes.txt", "mine");
    ck_assert_int_eq(create(&run, path), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "is not empty"));
}
END_TEST

/* Files of no bytes are all that the limit leaves. */
START_TEST(run_that_cannot_begin_leaves_a_folder_that_is_taken_over) {
    char path[128];
    cm_run_directory run, other;
    struct rlimit before, none;
    snprintf(path, sizeof path, "%s/full", cm_test_folder);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    cm_status status = create(&run, path);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(status, CM_ERR_IO);
    cm_run_directory_close(&run);
    ck_assert_int_eq(cm_run_directory_open(&other, path), CM_ERR_INPUT);
    ck_assert_int_eq(create(&run, path), CM_OK);
    cm_run_directory_close(&run);
}
END_TEST

START_TEST(one_process_at_a_time_writes_to_a_run) {
    char path[128];
    cm_run_directory run;
    snprintf(path, sizeof path, "%s/a", cm_test_folder);
    ck_assert_int_eq(create(&run, path), CM_OK);
    pid_t child = fork();
    if (child == 0) {
        cm_run_directory other;
        _exit(cm_run_directory_open(&other, path) == CM_ERR_STATE ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    cm_run_directory_close(&run);
    ck_assert_int_eq(cm_run_directory_open(&run, path), CM_OK);
    cm_run_directory_close(&run);
}
END_TEST

START_TEST(what_is_no_run_is_said) {
    char path[128], hidden[128];
    cm_run_directory run;
    ck_assert_int_eq(cm_run_directory_open(&run, cm_test_folder), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "holds no run"));
    snprintf(path, sizeof path, "%s/x", cm_test_folder);
    ck_assert_int_eq(cm_run_directory_open(&run, path), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "no such run"));
    snprintf(hidden, sizeof hidden, "%s/hidden", cm_test_folder);
    ck_assert_int_eq(cm_directory_make(hidden), CM_OK);
    ck_assert_int_eq(chmod(cm_test_folder, 0755), 0);
    ck_assert_int_eq(chmod(hidden, 0), 0);
    if (geteuid() == 0) ck_assert_int_eq(seteuid(65534), 0); /* permissions do not bind root */
    ck_assert_int_eq(cm_run_directory_check(hidden), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/hidden: cannot be read: Permission denied"));
    if (getuid() == 0) ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chmod(hidden, 0755), 0);
    ck_assert_int_eq(cm_file_write(path, "x", 1), CM_OK);
    ck_assert_int_eq(create(&run, cm_test_folder), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "is not empty"));
}
END_TEST

static cm_status count_run(void *context, const char *path) {
    (void)path;
    ++*(int *)context;
    return CM_OK;
}

START_TEST(names_are_free_and_found_again) {
    char name[256];
    cm_run_directory run;
    int found = 0;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(cm_run_directory_name(cm_test_folder, "ALE/Pong-v5", name, sizeof name), CM_OK);
        ck_assert_int_eq(create(&run, name), CM_OK);
        cm_run_directory_close(&run);
    }
    ck_assert_ptr_nonnull(strstr(name, "/ALE_Pong-v5/"));
    ck_assert_int_eq(cm_run_directory_visit(cm_test_folder, count_run, &found), CM_OK);
    ck_assert_int_eq(found, 3);
}
END_TEST

/* Folders of rights 0, and of names that can be seen where what they stand for cannot. */
START_TEST(a_folder_that_cannot_be_looked_through_for_runs_is_said) {
    static const mode_t rights[] = {0, 0444};
    char hidden[64], run[96], line[128];
    int found = 0;
    snprintf(hidden, sizeof hidden, "%s/hidden", cm_test_folder);
    snprintf(run, sizeof run, "%s/run", hidden);
    snprintf(line, sizeof line, "%s: cannot be looked through for runs: Permission denied\n", hidden);
    ck_assert_int_eq(cm_directory_make(run), CM_OK);
    ck_assert_int_eq(chmod(cm_test_folder, 0755), 0);
    ck_assert_int_eq(chmod(hidden, rights[_i]), 0);
    if (geteuid() == 0) ck_assert_int_eq(seteuid(65534), 0); /* permissions do not bind root */
    log_keep();
    ck_assert_int_eq(cm_run_directory_visit(cm_test_folder, count_run, &found), CM_OK);
    ck_assert_int_eq(cm_run_directory_check(run), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "/hidden/run: cannot be read: Permission denied"));
    if (getuid() == 0) ck_assert_int_eq(seteuid(0), 0);
    log_show();
    ck_assert_int_eq(chmod(hidden, 0755), 0);
    ck_assert_int_eq(found, 0);
    ck_assert_str_eq(logged, line);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/display");
    TCase *tests = tcase_create("display");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, progress_line_never_wraps);
    tcase_add_test(tests, eighty_columns_hold_steps_rates_return_and_eta);
    tcase_add_test(tests, eighty_columns_hold_who_waits_and_the_use_of_a_gpu);
    tcase_add_test(tests, what_is_measured_from_row_to_row_stays_in_the_line_until_the_next_row);
    tcase_add_test(tests, updates_of_an_offline_run_are_counted_and_the_last_evaluation_is_the_return);
    tcase_add_test(tests, counts_are_short_and_rounded);
    tcase_add_test(tests, sparkline_goes_from_lowest_to_highest);
    tcase_add_test(tests, plain_output_has_no_escape_sequences);
    tcase_add_loop_test(tests, what_goes_on_is_shown_where_no_line_was_for_a_second, 0,
                        (int)(sizeof pulses / sizeof *pulses));
    tcase_add_test(tests, terminal_output_redraws_and_clears_its_line);
    tcase_add_test(tests, lines_that_a_terminal_has_no_space_for_go_on_below_themselves);
    tcase_add_test(tests, json_output_is_json_lines_and_nothing_else);
    tcase_add_test(tests, quiet_output_is_empty);
    tcase_add_test(tests, plot_puts_the_last_point_in_the_top_right_corner);
    tcase_add_test(tests, plot_legend_takes_the_lines_it_needs);
    tcase_add_test(tests, plot_fills_the_band_behind_its_line_and_those_of_others);
    tcase_add_test(tests, plot_colours_each_series_and_its_name);
    tcase_add_test(tests, plot_without_points_says_so);
    TCase *folder = tcase_create("folder");
    suite_add_tcase(suite, folder);
    tcase_add_checked_fixture(folder, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_test(folder, folder_that_holds_a_run_is_refused_naming_resume);
    tcase_add_test(folder, folder_of_a_run_that_was_killed_before_it_began_is_taken_over);
    tcase_add_test(folder, run_that_cannot_begin_leaves_a_folder_that_is_taken_over);
    tcase_add_test(folder, one_process_at_a_time_writes_to_a_run);
    tcase_add_test(folder, what_is_no_run_is_said);
    tcase_add_test(folder, names_are_free_and_found_again);
    tcase_add_loop_test(folder, a_folder_that_cannot_be_looked_through_for_runs_is_said, 0, 2);
    return cm_test_main(suite);
}
