/* `cumind benchmark scaling`: what it measures holds together. */
#include <check.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

static cm_output output;

#define SMALL                                                                                                          \
    "benchmark scaling --num-devices 2 --oversubscribe --seconds 0.01 --updates 8 --set min_memory_steps=256 "         \
    "--set num_simulations=4 --set hidden_dim=32 --set memory_steps=8192 "

static double number(const cm_json *object, const char *key) {
    double value;
    ck_assert_msg(cm_json_need_number(object, key, &value) == CM_OK, "%s", cm_error_message());
    return value;
}

static void check_sums(const cm_json *row) {
    const cm_json *sums = cm_json_get(row, "all_reduce");
    double bytes = 0.0;
    ck_assert_int_eq(cm_json_size(sums), 6);
    for (const cm_json *at = cm_json_first(sums); at; at = cm_json_next(at)) {
        ck_assert_double_gt(number(at, "seconds"), 0.0);
        bytes = number(at, "bytes");
    }
    ck_assert_double_eq(bytes, 4.0 * number(row, "parameters"));
}

/* The lines of `output`, one per number of ranks; the caller frees them. */
static void read_rows(cm_json_doc *docs[2]) {
    const char *at = output.out;
    for (int i = 0; i < 2; i++) {
        size_t size = strcspn(at, "\n");
        ck_assert_msg(cm_json_parse(at, size, "a line", &docs[i]) == CM_OK, "%s in: %s", cm_error_message(),
                      output.out);
        at += size + 1;
    }
    ck_assert_msg(*at == '\0', "more than two lines: %s", output.out);
}

START_TEST(one_and_two_ranks_make_the_same_training_and_two_sum_gradients) {
    cm_json_doc *docs[2];
    if (!cm_program_has_mpi()) return;
    cm_program_run(cm_test_folder, SMALL "--json", &output);
    ck_assert_msg(output.status == 0, "%s", output.err);
    read_rows(docs);
    const cm_json *one = cm_json_root(docs[0]), *two = cm_json_root(docs[1]);
    static const char *const same[] = {"threads", "batch", "parameters", "env_steps", "updates"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        ck_assert_msg(number(one, same[i]) == number(two, same[i]), "%s in: %s", same[i], output.out);
    }
    ck_assert_double_eq(number(one, "ranks"), 1.0);
    ck_assert_double_eq(number(two, "ranks"), 2.0);
    ck_assert_double_eq(number(two, "updates"), 8.0);
    ck_assert_double_ge(number(two, "env_steps"), 256.0);
    ck_assert_double_eq(number(one, "reduce_seconds"), 0.0);
    ck_assert_int_eq(cm_json_size(cm_json_get(one, "all_reduce")), 0);
    ck_assert_int_eq(cm_json_type(cm_json_get(one, "overlap_share")), CM_JSON_NULL);
    double reduce = number(two, "reduce_seconds"), exposed = number(two, "exposed_seconds");
    ck_assert_double_gt(reduce, 0.0);
    ck_assert_double_gt(exposed, 0.0);
    ck_assert_double_le(exposed, reduce);
    ck_assert_double_eq_tol(number(two, "overlap_share"), 1.0 - exposed / reduce, 1e-9);
    ck_assert_double_gt(number(two, "update_seconds"), exposed);
    check_sums(two);
    for (int i = 0; i < 2; i++) cm_json_free(docs[i]);
}
END_TEST

START_TEST(the_table_has_a_row_per_number_of_ranks_and_nothing_is_left_behind) {
    char path[128];
    if (!cm_program_has_mpi()) return;
    cm_program_run(cm_test_folder, SMALL, &output);
    ck_assert_msg(output.status == 0, "%s", output.err);
    ck_assert_msg(strstr(output.out, "\n    1 ") && strstr(output.out, "\n    2 "), "%s", output.out);
    ck_assert_msg(strstr(output.out, "overlap") && strstr(output.out, "100 %"), "%s", output.out);
    ck_assert_str_eq(output.err, "");
    snprintf(path, sizeof path, "%s/checkpoints", cm_test_folder);
    ck_assert(!cm_file_exists(path));
}
END_TEST

START_TEST(a_warning_of_the_configuration_is_said_once) {
    if (!cm_program_has_mpi()) return;
    cm_program_run(cm_test_folder, SMALL "--set warmup_steps=60", &output);
    ck_assert_msg(output.status == 0, "%s", output.err);
    cm_program_expect_line(output.err, "warning: --set: Training.warmup_steps: the run makes about 8 updates");
}
END_TEST

START_TEST(what_cannot_be_shared_or_started_is_one_line) {
    static const struct {
        const char *arguments, *says;
    } rows[] = {{SMALL "--set batch_size=33", "Training.batch_size is 33, which 2 ranks"},
                {"benchmark scaling --num-devices 4000", "add --oversubscribe"},
                {"benchmark scaling --num-devices 0", "--num-devices"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cm_program_run(cm_test_folder, rows[i].arguments, &output);
        cm_program_expect_error(&output, 2, rows[i].says);
    }
}
END_TEST

/* The first rank is gone then, two others are at work: one line, and no rank goes on. */
START_TEST(a_request_to_stop_ends_every_rank_at_once) {
    const int number = _i ? SIGTERM : SIGINT;
    char text[1024];
    pid_t second = 0;
    if (!cm_program_has_mpi()) return;
    pid_t job = cm_program_start(cm_test_folder, SMALL "--updates 2000");
    for (int i = 0; i < 2400 && second == 0; i++, usleep(50000)) second = cm_program_find_rank(job, 1);
    ck_assert_int_gt(second, 0);
    kill(job, number);
    ck_assert_int_eq(cm_program_wait(job), 128 + number);
    cm_program_file(cm_test_folder, "err.txt", text, sizeof text);
    ck_assert_str_eq(text, "cumind: benchmark scaling: interrupted; it has no result\n");
    for (int i = 0; i < 100 && kill(second, 0) == 0; i++) usleep(50000); /* until somebody has buried it */
    ck_assert_int_eq(kill(second, 0), -1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("scaling");
    TCase *tc = tcase_create("scaling");
    tcase_add_checked_fixture(tc, cm_program_folder_for_ranks, cm_test_folder_remove);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, one_and_two_ranks_make_the_same_training_and_two_sum_gradients);
    tcase_add_test(tc, the_table_has_a_row_per_number_of_ranks_and_nothing_is_left_behind);
    tcase_add_test(tc, a_warning_of_the_configuration_is_said_once);
    tcase_add_test(tc, what_cannot_be_shared_or_started_is_one_line);
    tcase_add_loop_test(tc, a_request_to_stop_ends_every_rank_at_once, 0, 2);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
