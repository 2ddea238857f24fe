/* What other programs read of a run: event files and monitor.csv of whole runs, plain, resumed, killed, of files that
 * are gone, and what becomes of links. Read by a decoder of the tests' own. */
#include <math.h>
#include <signal.h>
#include <sys/stat.h>

#include "cli/runs.h"
#include "run/metrics.h"
#include "support/events.h"

static cm_events events;

static void path_of(const char *run, const char *name, char path[256]) {
    snprintf(path, 256, "%s/%s/%s", cm_test_folder, run, name);
}

static int read_metrics(const char *run, cm_metrics **rows) {
    char path[256];
    int count;
    path_of(run, "metrics.jsonl", path);
    ck_assert_msg(cm_metrics_read(path, rows, &count) == CM_OK, "%s", cm_error_message());
    return count;
}

/* The numbers of one metric stand at their steps, once each, in their order. `is_offline`: steps are updates. */
static void expect_curve(const cm_metrics_field *field, const cm_metrics *rows, int count, bool is_offline) {
    static double value[4096];
    static int64_t step[4096];
    const int points = cm_events_scalars(&events, field->tag, value, step, 4096);
    int at = 0;
    for (int i = 0; i < count; i++) {
        const double number = cm_metrics_number(&rows[i], field);
        if (!isfinite(number)) continue;
        ck_assert_msg(at < points, "%s: row %d of %d is missing", field->tag, i, count);
        ck_assert_int_eq(step[at], is_offline ? rows[i].updates : rows[i].env_steps);
        ck_assert_double_le(fabs(value[at] - number), 2e-7 * fabs(number)); /* of floats, and nine digits of text */
        at++;
    }
    ck_assert_msg(at == points, "%s: %d points where there are %d numbers", field->tag, points, at);
}

static void read_events(const char *run) {
    char folder[256];
    path_of(run, "tensorboard", folder);
    cm_events_free(&events);
    cm_events_read(folder, &events);
}

/* Every number of metrics.jsonl, and no other. Returns how many rows there are. */
static int expect_curves(const char *run, bool is_offline) {
    cm_metrics *rows;
    int fields;
    const int count = read_metrics(run, &rows);
    const cm_metrics_field *field = cm_metrics_fields(&fields);
    read_events(run);
    for (int i = 0; i < fields; i++) expect_curve(&field[i], rows, count, is_offline);
    free(rows);
    return count;
}

/* monitor.csv has every episode: as many as the last row of metrics counts, the last ones of the mean return there. */
static void expect_episodes(const char *run) {
    static char text[1 << 20];
    char name[64];
    cm_metrics *rows;
    const int count = read_metrics(run, &rows);
    const cm_metrics last = rows[count - 1];
    enum { RECENT = 32 };
    int64_t episodes = 0, steps = 0;
    double before = 0.0, recent[RECENT] = {0.0}, sum = 0.0;
    free(rows);
    snprintf(name, sizeof name, "%s/monitor.csv", run);
    cm_program_file(cm_test_folder, name, text, sizeof text);
    const char *at = strstr(text, "\nr,l,t\n");
    ck_assert_ptr_nonnull(at);
    for (at += 7; *at; at = strchr(at, '\n') + 1, episodes++) {
        double total, seconds;
        long long length;
        ck_assert_int_eq(sscanf(at, "%lf,%lld,%lf\n", &total, &length, &seconds), 3);
        ck_assert(seconds >= before);
        sum += total - recent[episodes % RECENT];
        recent[episodes % RECENT] = total;
        before = seconds, steps += length;
    }
    ck_assert_int_eq(episodes, last.episodes);
    ck_assert_int_le(steps, last.env_steps);
    ck_assert_double_eq_tol(sum / (double)(episodes < RECENT ? episodes : RECENT), last.mean_return, 1e-5);
}

START_TEST(every_number_of_metrics_stands_at_its_step_and_every_episode_in_the_monitor) {
    expect_ok("train --quiet --run plain" SMALL " --set histogram_interval=100");
    ck_assert_str_eq(result.err, "");
    ck_assert_int_eq(expect_curves("plain", false), 4);
    expect_episodes("plain");
    int histograms = 0, pictures = 0;
    for (int i = 0; i < events.count; i++) {
        cm_part_field summary, value, content;
        if (!cm_part_find(events.event[i], 5, &summary) || !cm_part_find(summary.bytes, 1, &value)) continue;
        histograms += cm_part_find(value.bytes, 5, &content);
        if (!cm_part_find(value.bytes, 4, &content)) continue;
        ck_assert_int_eq(cm_event_step(events.event[i]), 512 * ++pictures);
        ck_assert_mem_eq(cm_part_at(content.bytes, "4").at, "GIF8", 4);
    }
    ck_assert_int_eq(pictures, 2); /* of as many evaluations */
    ck_assert_int_gt(histograms, 20);
    ck_assert_int_eq(histograms % 2, 0); /* weights and gradients */
}
END_TEST

/* The norm of the gradient that the histograms of a step have: of all arrays, by their sums of squares. */
static double norm_of_histograms(int64_t step) {
    double squares = 0.0;
    for (int i = 0; i < events.count; i++) {
        cm_part_field summary, value, tag, content, sum;
        if (cm_event_step(events.event[i]) != step || !cm_part_find(events.event[i], 5, &summary)) continue;
        if (!cm_part_find(summary.bytes, 1, &value) || !cm_part_find(value.bytes, 5, &content)) continue;
        ck_assert(cm_part_find(value.bytes, 1, &tag));
        if (memcmp(tag.bytes.at, "gradients/", 10) == 0 && cm_part_find(content.bytes, 5, &sum)) squares += sum.real;
    }
    return sqrt(squares);
}

/* One update an iteration, whose scale doubles after every second one and halves where a step is skipped. */
START_TEST(histograms_of_gradients_are_true_whatever_becomes_of_the_loss_scale) {
    static const char *const scales[] = {"64", "16777216"};
    char line[512];
    cm_metrics *rows;
    int doubled = 0;
    snprintf(line, sizeof line,
             "train --quiet --run scaled --backend ref --dtype float16 --set loss_scale=%s"
             " --set loss_scale_growth_interval=2 --set histogram_interval=1 --set min_memory_steps=64"
             " --set hidden_dim=8 --set batch_size=16 --set num_envs=4 --set steps_per_iteration=4"
             " --set num_simulations=2 --set replay_ratio=1 --set evaluation_interval=0"
             " --set final_evaluation_episodes=0 --env-steps 512",
             scales[_i]);
    expect_ok(line);
    read_events("scaled");
    const int count = read_metrics("scaled", &rows);
    for (int i = 1; i < count; i++) {
        if (!(rows[i].gradient_norm > 0.0)) continue; /* no update, or one that was skipped */
        ck_assert_int_eq(rows[i].updates, rows[i - 1].updates + 1);
        const double norm = norm_of_histograms(rows[i].env_steps);
        ck_assert_double_eq_tol(norm, rows[i].gradient_norm, 1e-4 * norm);
        doubled += rows[i].loss_scale > rows[i - 1].loss_scale;
    }
    free(rows);
    ck_assert_int_gt(doubled, 2);
}
END_TEST

START_TEST(a_resumed_run_has_one_curve) {
    expect_ok("train --quiet --run resumed" SMALL " --env-steps 512");
    expect_ok("train --quiet --resume resumed --env-steps 1024");
    ck_assert_str_eq(result.err, "");
    ck_assert_int_eq(expect_curves("resumed", false), 4);
    expect_episodes("resumed");
    ck_assert_int_eq(events.files, 2);
}
END_TEST

/* The newest event file of a run. */
static void newest_file(const char *run, char path[256]) {
    char name[160];
    read_events(run);
    snprintf(name, sizeof name, "tensorboard/%s", events.name[events.files - 1]);
    path_of(run, name, path);
}

/* Killed as soon as it has some lines behind a checkpoint; then in the midst of an event and of an episode's row. */
START_TEST(a_run_that_is_killed_in_the_midst_of_an_event_has_one_curve) {
    char path[256], *text;
    size_t size;
    struct stat about;
    const pid_t child = cm_program_start(cm_test_folder, "train --quiet --run killed" SMALL
                                                         " --env-steps 200000 --set checkpoint_updates=100");
    await_run("killed");
    path_of("killed", "metrics.jsonl", path);
    for (int i = 0; i < 20000 && (stat(path, &about) != 0 || about.st_size < 8000); i++) usleep(1000);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(cm_program_wait(child), 128 + SIGKILL);
    newest_file("killed", path);
    ck_assert_int_eq(cm_file_read(path, 1 << 24, &text, &size), CM_OK);
    free(text);
    ck_assert_int_eq(truncate(path, (off_t)size - 9), 0);
    path_of("killed", "monitor.csv", path);
    FILE *file = fopen(path, "a");
    ck_assert_ptr_nonnull(file);
    fputs("12.0,1", file);
    ck_assert_int_eq(fclose(file), 0);
    cm_metrics *rows;
    char line[128];
    const int count = read_metrics("killed", &rows);
    snprintf(line, sizeof line, "train --quiet --resume killed --env-steps %lld",
             (long long)rows[count - 1].env_steps + 512);
    free(rows);
    expect_ok(line);
    ck_assert_int_eq(expect_curves("killed", false), count + 2);
    expect_episodes("killed");
}
END_TEST

START_TEST(events_that_are_gone_or_were_not_written_are_written_again) {
    char path[256];
    expect_ok("train --quiet --run gone" SMALL " --env-steps 512 --set tensorboard=false --set monitor=false");
    path_of("gone", "tensorboard", path);
    ck_assert(!cm_file_is_named(path));
    path_of("gone", "monitor.csv", path);
    ck_assert(!cm_file_is_named(path));
    expect_ok("train --quiet --resume gone --env-steps 768 --set tensorboard=true");
    ck_assert_int_eq(expect_curves("gone", false), 3);
    newest_file("gone", path);
    ck_assert_int_eq(unlink(path), 0);
    expect_ok("train --quiet --resume gone --env-steps 1024");
    ck_assert_int_eq(expect_curves("gone", false), 4);
}
END_TEST

/* Cuts the newest file behind its first `count` events. */
static void keep_events(const char *run, int count) {
    char path[256];
    off_t bytes = 0;
    newest_file(run, path);
    ck_assert_int_eq(events.files, 1);
    ck_assert_int_gt(events.count, count);
    for (int i = 0; i < count; i++) bytes += (off_t)(16 + events.event[i].size);
    ck_assert_int_eq(truncate(path, bytes), 0);
}

START_TEST(a_run_that_is_killed_while_it_writes_events_again_writes_the_others_the_next_time) {
    expect_ok("train --quiet --run twice" SMALL " --env-steps 768 --set tensorboard=false");
    expect_ok("train --quiet --resume twice --env-steps 1024 --set tensorboard=true");
    ck_assert_int_eq(expect_curves("twice", false), 4);
    keep_events("twice", 4); /* the version, the start of the session, and two more */
    expect_ok("train --quiet --resume twice --env-steps 1280");
    ck_assert_int_eq(expect_curves("twice", false), 5);
}
END_TEST

START_TEST(episodes_behind_the_checkpoint_are_dropped_also_where_no_more_are_written) {
    static char before[1 << 20], after[1 << 20];
    char path[256];
    expect_ok("train --quiet --run dropped" SMALL " --env-steps 512");
    cm_program_file(cm_test_folder, "dropped/monitor.csv", before, sizeof before);
    path_of("dropped", "monitor.csv", path);
    FILE *file = fopen(path, "a");
    ck_assert_ptr_nonnull(file);
    fputs("1.0,9,1000000.0\n", file);
    ck_assert_int_eq(fclose(file), 0);
    expect_ok("train --quiet --resume dropped --env-steps 768 --set monitor=false");
    cm_program_file(cm_test_folder, "dropped/monitor.csv", after, sizeof after);
    ck_assert_str_eq(after, before);
}
END_TEST

START_TEST(offline_steps_are_updates) {
    expect_ok("train --quiet --run games" SMALL " --env-steps 512");
    expect_ok("train --quiet --run offline --replay-from games --set collect=false --updates 60 --set env_steps=0"
              " --set final_evaluation_episodes=0 --set hidden_dim=32 --set batch_size=32");
    char path[256];
    ck_assert_int_ge(expect_curves("offline", true), 1);
    path_of("offline", "monitor.csv", path);
    ck_assert(!cm_file_is_named(path));
}
END_TEST

/* Whoever has put them there: nothing behind them is read or written, and the run goes on without. */
START_TEST(links_among_the_event_files_are_left_alone_with_a_warning) {
    char path[256], other[256];
    expect_ok("train --quiet --run linked" SMALL " --env-steps 512");
    snprintf(other, sizeof other, "%s/other", cm_test_folder);
    ck_assert_int_eq(cm_file_write(other, "home", 4), CM_OK);
    path_of("linked", "tensorboard/events.out.tfevents.1234567890.x", path);
    ck_assert_int_eq(symlink("../../other", path), 0);
    expect_ok("train --quiet --resume linked --env-steps 1024");
    cm_program_expect_line(result.err, "is a link, which is not followed here");
    ck_assert_ptr_nonnull(strstr(result.err, "the run goes on and writes no event files"));
    cm_program_file(cm_test_folder, "other", path, sizeof path);
    ck_assert_str_eq(path, "home");
    expect_episodes("linked");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/records");
    TCase *tests = tcase_create("records");
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, every_number_of_metrics_stands_at_its_step_and_every_episode_in_the_monitor);
    tcase_add_loop_test(tests, histograms_of_gradients_are_true_whatever_becomes_of_the_loss_scale, 0, 2);
    tcase_add_test(tests, a_resumed_run_has_one_curve);
    tcase_add_test(tests, a_run_that_is_killed_in_the_midst_of_an_event_has_one_curve);
    tcase_add_test(tests, events_that_are_gone_or_were_not_written_are_written_again);
    tcase_add_test(tests, a_run_that_is_killed_while_it_writes_events_again_writes_the_others_the_next_time);
    tcase_add_test(tests, episodes_behind_the_checkpoint_are_dropped_also_where_no_more_are_written);
    tcase_add_test(tests, offline_steps_are_updates);
    tcase_add_test(tests, links_among_the_event_files_are_left_alone_with_a_warning);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
