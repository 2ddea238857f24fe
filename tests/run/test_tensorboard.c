/* Event files of TensorBoard, read by a decoder of the tests' own: what is in them, what is cut off, what is refused.
 */
#include "run/tensorboard.h"

#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "run/configuration.h"
#include "support/events.h"
#include "support/folder.h"
#include "support/main.h"

static cm_dir dir;
static char folder[64];
static cm_tensorboard board;
static cm_events events;
static const cm_event_history nothing = {.known = -1};

static void begin(void) {
    cm_log_set_level(CM_ERROR);
    cm_test_folder_make();
    snprintf(folder, sizeof folder, "%s/tensorboard", cm_test_folder);
    ck_assert_int_eq(cm_dir_open(&dir, cm_test_folder), CM_OK);
    ck_assert_int_eq(cm_tensorboard_open(&board, &dir, &nothing), CM_OK);
}

static void end(void) {
    cm_tensorboard_close(&board);
    cm_events_free(&events);
    cm_dir_close(&dir);
    cm_test_folder_remove();
}

static void put_rows(int from, int to) {
    for (int i = from; i <= to; i++) {
        cm_metrics row = cm_metrics_empty();
        row.iteration = i, row.env_steps = 100 * i, row.mean_return = 0.5 * i;
        cm_tensorboard_put_row(&board, &row, row.env_steps, 1e9 + i);
    }
    ck_assert_int_eq(board.lost, 0);
}

/* Whether the mean returns of all events are those of rows `from` to `to`. */
static void expect_rows(int from, int to) {
    double value[64];
    int64_t step[64];
    cm_events_free(&events);
    cm_events_read(folder, &events);
    const int count = cm_events_scalars(&events, "rollout/ep_rew_mean", value, step, 64);
    ck_assert_int_eq(count, to - from + 1);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(step[i], 100 * (from + i));
        ck_assert_double_eq(value[i], 0.5 * (from + i));
    }
}

static cm_status cut(int64_t last, cm_event_history *history) { return cm_tensorboard_cut(&dir, last, history); }

static const char *path_of(int file) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, events.name[file]);
    return path;
}

static long size_of(const char *path) {
    struct stat about;
    ck_assert_int_eq(stat(path, &about), 0);
    return (long)about.st_size;
}

static void put_bytes(const char *path, long at, const char *text) {
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, at, at < 0 ? SEEK_END : SEEK_SET), 0);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(every_number_of_a_row_has_the_tag_of_its_metric_and_others_none) {
    int count, values = 0;
    const cm_metrics_field *fields = cm_metrics_fields(&count);
    cm_metrics row = cm_metrics_empty();
    double value;
    int64_t step;
    cm_part_field field;
    row.iteration = 3, row.env_steps = 768, row.eval_return = 1e-9, row.learning_rate = 0.1, row.total_loss = INFINITY;
    cm_tensorboard_put_row(&board, &row, 768, 1234.5);
    cm_events_read(folder, &events);
    ck_assert_int_eq(events.count, 2);
    ck_assert(cm_part_is(cm_part_at(events.event[0], "3"), "brain.Event:2"));
    ck_assert(cm_part_find(events.event[1], 1, &field) && field.real == 1234.5);
    for (int i = 0; i < count; i++) {
        const double number = cm_metrics_number(&row, &fields[i]);
        const int found = cm_events_scalars(&events, fields[i].tag, &value, &step, 1);
        ck_assert_int_eq(found, isfinite(number) ? 1 : 0);
        if (found) ck_assert(value == (double)(float)number && step == 768);
        ck_assert_msg(strchr(fields[i].tag, '/') != NULL, "%s has no group", fields[i].tag);
        for (int k = 0; k < i; k++) ck_assert_str_ne(fields[i].tag, fields[k].tag);
    }
    for (cm_part left = cm_part_at(events.event[1], "5"); cm_part_next(&left, &field);) values++;
    ck_assert_int_eq(values, 6);
}
END_TEST

START_TEST(events_beyond_the_checkpoint_are_cut_off_and_the_next_file_goes_on) {
    cm_event_history history;
    put_rows(1, 9);
    cm_tensorboard_close(&board);
    ck_assert_int_eq(cut(500, &history), CM_OK);
    ck_assert_int_eq(history.known, 500);
    expect_rows(1, 5);
    ck_assert_int_eq(cm_tensorboard_open(&board, &dir, &history), CM_OK);
    cm_tensorboard_put_start(&board, 500);
    put_rows(6, 7);
    expect_rows(1, 7);
    ck_assert_int_eq(events.files, 2);
    ck_assert_str_lt(events.name[0], events.name[1]);
    /* the second file: version, start of a session at the step behind the checkpoint, rows */
    const int start = events.count - 3;
    cm_part_field status;
    ck_assert_int_eq(events.file[start], 1);
    ck_assert_int_eq(cm_event_step(events.event[start]), 501);
    ck_assert(cm_part_find(cm_part_at(events.event[start], "7"), 1, &status) && status.integer == 1);
    /* once more, back to before the second file, which goes */
    cm_tensorboard_close(&board);
    ck_assert_int_eq(cut(300, &history), CM_OK);
    expect_rows(1, 3);
    ck_assert_int_eq(events.files, 1);
}
END_TEST

START_TEST(a_folder_that_is_not_there_and_one_with_nothing_left_have_no_events) {
    cm_event_history history;
    put_rows(2, 3);
    cm_tensorboard_close(&board);
    ck_assert_int_eq(cut(100, &history), CM_OK);
    ck_assert_int_eq(history.known, -1);
    cm_events_read(folder, &events);
    ck_assert_int_eq(events.files, 0);
    ck_assert_int_eq(cm_dir_remove(&dir, "tensorboard"), CM_OK);
    ck_assert_int_eq(cut(100, &history), CM_OK);
    ck_assert(history.known == -1 && *history.newest == '\0');
}
END_TEST

/* At every byte of the last event, as a kill or a full disk leaves it. */
START_TEST(an_event_that_is_torn_anywhere_is_taken_off) {
    cm_event_history history;
    put_rows(1, 1);
    const int64_t whole = board.file.records.bytes;
    put_rows(2, 2);
    const int64_t all = board.file.records.bytes;
    cm_events_read(folder, &events);
    for (int64_t size = all - 1; size >= whole; size--) {
        ck_assert_int_eq(truncate(path_of(0), size), 0);
        ck_assert_int_eq(cut(1000, &history), CM_OK);
        ck_assert_int_eq(size_of(path_of(0)), whole);
        ck_assert_int_eq(history.known, 100);
        put_bytes(path_of(0), whole, "torn"); /* which the next round cuts */
        ck_assert_int_eq(cut(1000, &history), CM_OK);
        ck_assert_int_eq(size_of(path_of(0)), whole);
    }
    expect_rows(1, 1);
}
END_TEST

START_TEST(what_stands_in_front_of_damage_stays) {
    cm_event_history history;
    put_rows(1, 3);
    const long third = board.file.records.bytes;
    put_rows(4, 6);
    cm_events_read(folder, &events);
    put_bytes(path_of(0), third + 20, "?");
    ck_assert_int_eq(cut(1000, &history), CM_OK);
    ck_assert_int_eq(history.known, 300);
    expect_rows(1, 3);
}
END_TEST

/* Of clocks that were wrong, or of other programs: whatever its time and host, each session's file comes after it, and
 * is one of the run's. */
START_TEST(the_next_file_comes_after_every_other_whatever_its_name) {
    static const char *const names[] = {
        "4102444800.a.1.0",    "9999999998.zzzz.1.0",   "9999999999.zzzz.1.0",
        "9999999999.",         "9999999999.~\xff~",     "9999999999.00000041",
        "9999999999.99999999", "9999999999.a.00000000", "9999999999.a.1.0.123456789",
    };
    enum { SESSIONS = 12 };
    char path[256];
    cm_event_history history;
    cm_tensorboard_close(&board);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        cm_events_free(&events);
        cm_events_read(folder, &events);
        for (int i = 0; i < events.files; i++) ck_assert_int_eq(unlink(path_of(i)), 0);
        cm_events_free(&events);
        ck_assert_int_eq(cm_tensorboard_open(&board, &dir, &nothing), CM_OK);
        put_rows(1, 1);
        cm_tensorboard_close(&board);
        cm_events_read(folder, &events);
        snprintf(path, sizeof path, "%s/events.out.tfevents.%s", folder, names[n]);
        ck_assert_int_eq(rename(path_of(0), path), 0);
        for (int row = 2; row <= SESSIONS; row++) {
            ck_assert_int_eq(cut(100 * row - 100, &history), CM_OK);
            ck_assert_int_eq(history.known, 100 * row - 100);
            ck_assert_int_eq(cm_tensorboard_open(&board, &dir, &history), CM_OK);
            put_rows(row, row);
            cm_tensorboard_close(&board);
        }
        expect_rows(1, SESSIONS); /* in the order of the files */
        ck_assert_int_eq(cut(300, &history), CM_OK);
        expect_rows(1, 3);
    }
}
END_TEST

START_TEST(a_name_that_is_too_long_to_be_counted_on_is_said) {
    cm_event_history history = {.known = -1};
    cm_tensorboard_close(&board);
    memset(history.newest, 'a', NAME_MAX);
    memcpy(history.newest, "events.out.tfevents.9999999999.", 31);
    ck_assert_int_eq(cm_tensorboard_open(&board, &dir, &history), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "too long for one of an event file that comes after it"));
}
END_TEST

START_TEST(files_of_other_names_stay_as_they_are) {
    static const char *const names[] = {"notes",
                                        "events.out.tfevents.12.x",
                                        "events.out.tfevents.12345678901.x",
                                        ".nfs01",
                                        "my.events.out.tfevents.1234567890.x",
                                        "events.out.tfevents.1234567890"};
    cm_event_history history;
    char path[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ck_assert_int_eq(cm_file_write(path, "other", 5), CM_OK);
    }
    ck_assert_int_eq(cut(0, &history), CM_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        ck_assert_int_eq(size_of(path), 5);
    }
}
END_TEST

START_TEST(links_are_not_followed_and_another_name_is_not_cut) {
    cm_event_history history;
    char link_path[256], other[256];
    put_rows(1, 4);
    cm_tensorboard_close(&board);
    expect_rows(1, 4);
    snprintf(other, sizeof other, "%s/other", cm_test_folder);
    ck_assert_int_eq(link(path_of(0), other), 0);
    const long size = size_of(other);
    ck_assert_int_eq(cut(400, &history), CM_OK); /* nothing is to be cut */
    ck_assert_int_eq(cut(200, &history), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "has another name elsewhere (a hard link)"));
    ck_assert_int_eq(size_of(other), size);
    ck_assert_int_eq(unlink(path_of(0)), 0);
    snprintf(link_path, sizeof link_path, "%s/events.out.tfevents.1234567890.x", folder);
    ck_assert_int_eq(symlink("../other", link_path), 0);
    ck_assert_int_eq(cut(200, &history), CM_ERR_IO);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "is a link, which is not followed"));
    ck_assert_int_eq(size_of(other), size);
}
END_TEST

START_TEST(events_that_find_no_space_are_counted_and_leave_whole_files) {
    put_rows(1, 2);
    cm_metrics row = cm_metrics_empty();
    ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    cm_test_limit_files((rlim_t)board.file.records.bytes + 10);
    for (int i = 0; i < 3; i++) cm_tensorboard_put_row(&board, &row, 1, 1.0);
    ck_assert_int_eq(board.lost, 3);
    cm_test_limit_files(RLIM_INFINITY);
    board.lost = 0;
    put_rows(3, 3);
    expect_rows(1, 3);
}
END_TEST

/* Fields of `event`: the summary's value has this plugin and this tag. */
static cm_part value_of(cm_part event, const char *tag, const char *plugin) {
    const cm_part value = cm_part_at(event, "5 1");
    ck_assert(cm_part_is(cm_part_at(value, "1"), tag));
    ck_assert(cm_part_is(cm_part_at(value, "9 1 1"), plugin));
    return value;
}

/* The value of a hyper-parameter. */
static cm_part_field hparam(cm_part session, const char *key) {
    cm_part_field entry, value = {.kind = 9};
    while (value.kind == 9 && cm_part_next(&session, &entry)) {
        cm_part_field kind;
        if (entry.number != 1 || !cm_part_is(cm_part_at(entry.bytes, "1"), key)) continue;
        cm_part content = cm_part_at(entry.bytes, "2");
        ck_assert(cm_part_next(&content, &kind));
        value = kind;
    }
    ck_assert_msg(value.kind != 9, "no %s", key);
    return value;
}

START_TEST(the_configuration_is_a_text_and_hyper_parameters) {
    static const char *const settings[] = {"learning_rate=0.5", "env_name=catch", "stop_at_goal=false",
                                           "checkpoint_root_dir=a|b"};
    cm_configuration values;
    cm_config *config;
    cm_part_field type;
    ck_assert_int_eq(cm_configuration_load(NULL, settings, 4, &values, &config), CM_OK);
    cm_tensorboard_put_configuration(&board, config, 40);
    cm_tensorboard_put_end(&board, 50);
    cm_config_destroy(config);
    cm_events_read(folder, &events);
    ck_assert_int_eq(events.count, 4);
    ck_assert_int_eq(cm_event_step(events.event[1]), 40);
    const cm_part start = cm_part_at(value_of(events.event[1], "_hparams_/session_start_info", "hparams"), "9 1 2 3");
    cm_part_field field = hparam(start, "learning_rate");
    ck_assert(field.number == 2 && field.kind == 1 && field.real == 0.5);
    field = hparam(start, "env_name");
    ck_assert(field.number == 3 && cm_part_is(field.bytes, "catch"));
    field = hparam(start, "stop_at_goal");
    ck_assert(field.number == 4 && field.kind == 0 && field.integer == 0);
    field = hparam(start, "goal_return");
    ck_assert(field.number == 3 && cm_part_is(field.bytes, "null"));
    const cm_part tensor = cm_part_at(value_of(events.event[2], "configuration", "text"), "8");
    ck_assert(cm_part_find(tensor, 1, &type) && type.integer == 7);
    char text[65536];
    const cm_part table = cm_part_at(tensor, "8");
    snprintf(text, sizeof text, "%.*s", (int)table.size, (const char *)table.at);
    ck_assert_ptr_nonnull(strstr(text, "| Training.learning_rate | 0.5 |\n"));
    ck_assert_ptr_nonnull(strstr(text, "| Training.checkpoint_root_dir | \"a\\|b\" |\n"));
    const cm_part finish = cm_part_at(value_of(events.event[3], "_hparams_/session_end_info", "hparams"), "9 1 2 4");
    ck_assert(cm_part_find(finish, 1, &type) && type.integer == 1);
}
END_TEST

START_TEST(a_picture_is_the_bytes_of_its_file) {
    static const char gif[] = "GIF89a and so on";
    cm_part_field field;
    cm_tensorboard_put_image(&board, "eval/episode", gif, sizeof gif, 320, 240, 9);
    cm_events_read(folder, &events);
    ck_assert_int_eq(cm_event_step(events.event[1]), 9);
    ck_assert(cm_part_is(cm_part_at(events.event[1], "5 1 1"), "eval/episode"));
    const cm_part image = cm_part_at(events.event[1], "5 1 4");
    ck_assert(cm_part_find(image, 1, &field) && field.integer == 240);
    ck_assert(cm_part_find(image, 2, &field) && field.integer == 320);
    ck_assert(cm_part_find(image, 4, &field) && field.bytes.size == sizeof gif);
    ck_assert_mem_eq(field.bytes.at, gif, sizeof gif);
}
END_TEST

START_TEST(a_histogram_counts_every_number_once) {
    static const float data[] = {-1.0f, -0.99f, 0.0f, 0.0f, 0.5f, 2.0f}, wrong[] = {1.0f, NAN}, same[] = {3.0f, 3.0f};
    static const double facts[] = {-2.0, 4.0, 6.0, 2.0 * (0.51 - 0.0), 0.0};
    cm_part_field field;
    double count = 0.0, at_zero = 0.0, limit, bucket;
    cm_tensorboard_put_histogram(&board, "weights", "layer.weight", data, 6, 2.0f, 7);
    cm_tensorboard_put_histogram(&board, "weights", "wrong", wrong, 2, 1.0f, 7);
    cm_tensorboard_put_histogram(&board, "weights", "same", same, 2, 1.0f, 7);
    cm_events_read(folder, &events);
    ck_assert_int_eq(events.count, 3);
    ck_assert(cm_part_is(cm_part_at(events.event[1], "5 1 1"), "weights/layer.weight"));
    const cm_part numbers = cm_part_at(events.event[1], "5 1 5");
    for (unsigned i = 1; i <= 4; i++) {
        ck_assert(cm_part_find(numbers, i, &field));
        ck_assert_double_eq_tol(field.real, facts[i - 1], 1e-6);
    }
    const cm_part limits = cm_part_at(numbers, "6"), buckets = cm_part_at(numbers, "7");
    ck_assert_uint_eq(limits.size, 30 * sizeof(double));
    ck_assert_uint_eq(buckets.size, limits.size);
    for (size_t i = 0; i < limits.size; i += sizeof limit) {
        memcpy(&limit, limits.at + i, sizeof limit);
        memcpy(&bucket, buckets.at + i, sizeof bucket);
        count += bucket;
        if (limit > 0.0 && limit <= 0.2001) at_zero += bucket;
    }
    ck_assert_double_eq(limit, 4.0);
    ck_assert_double_eq(count, 6.0);
    ck_assert_double_eq(at_zero, 2.0);
    ck_assert(cm_part_find(cm_part_at(events.event[2], "5 1 5"), 3, &field) && field.real == 2.0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/tensorboard");
    TCase *tests = tcase_create("tensorboard");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, every_number_of_a_row_has_the_tag_of_its_metric_and_others_none);
    tcase_add_test(tests, events_beyond_the_checkpoint_are_cut_off_and_the_next_file_goes_on);
    tcase_add_test(tests, a_folder_that_is_not_there_and_one_with_nothing_left_have_no_events);
    tcase_add_test(tests, an_event_that_is_torn_anywhere_is_taken_off);
    tcase_add_test(tests, what_stands_in_front_of_damage_stays);
    tcase_add_test(tests, the_next_file_comes_after_every_other_whatever_its_name);
    tcase_add_test(tests, a_name_that_is_too_long_to_be_counted_on_is_said);
    tcase_add_test(tests, files_of_other_names_stay_as_they_are);
    tcase_add_test(tests, links_are_not_followed_and_another_name_is_not_cut);
    tcase_add_test(tests, events_that_find_no_space_are_counted_and_leave_whole_files);
    tcase_add_test(tests, the_configuration_is_a_text_and_hyper_parameters);
    tcase_add_test(tests, a_picture_is_the_bytes_of_its_file);
    tcase_add_test(tests, a_histogram_counts_every_number_once);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
