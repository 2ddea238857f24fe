/* Which candidate is taken and kept: by time, by rounds, by what is on disk, and what failing ones say. */
#include <check.h>
#include <string.h>

#include "device/cuda/autotuner.h"
#include "support/logged.h"
#include "support/main.h"

/* A candidate of this test. */
typedef struct runner {
    int number, round;
    bool takes, runs;
    float milliseconds;
} runner;

static const runner *field; /* all candidates of a test */
static int runners, entered, measured, taken;
static cm_status entry;

static cm_status enter(void *context, int round, void *candidates, int *count) {
    ck_assert_ptr_eq(context, &field);
    runner *out = candidates;
    *count = 0;
    entered++;
    for (int i = 0; i < runners; i++)
        if (field[i].round == round) out[(*count)++] = field[i];
    return entry == CM_OK ? CM_OK : cm_fail(entry, "no one may enter");
}

static cm_status use(void *context, const void *candidate) {
    const runner *r = candidate;
    (void)context;
    taken = -1;
    if (!r->takes) return cm_fail(CM_ERR_DEVICE, "number %d is not to be had", r->number);
    taken = r->number;
    return CM_OK;
}

static cm_status measure(void *context, float *milliseconds) {
    (void)context;
    measured++;
    for (int i = 0; i < runners; i++) {
        if (field[i].number != taken) continue;
        *milliseconds = field[i].milliseconds;
        return field[i].runs ? CM_OK : cm_fail(CM_ERR_DEVICE, "number %d does not run", taken);
    }
    ck_abort_msg("measured without one that was taken");
    return CM_ERR_STATE;
}

static int compared, reference,
    odd; /* calls of `agree`, the candidate that the others are compared with, the one that differs */

static cm_status agree(void *context, bool first) {
    (void)context;
    compared++;
    if (first) reference = taken;
    return taken == odd ? cm_fail(CM_ERR_DEVICE, "number %d differs from number %d", taken, reference) : CM_OK;
}

static cm_autotune_cache *cache;

static void set_up(void) {
    log_keep();
    odd = 0;
    ck_assert_int_eq(cm_autotune_cache_open(NULL, "a device", &cache), CM_OK);
}

static void tear_down(void) {
    cm_autotune_cache_close(cache);
    log_show();
}

static cm_status hold(const runner *of, int count, bool log) {
    const cm_autotuner autotuner = {.context = (void *)&field,
                                    .size = sizeof(runner),
                                    .rounds = 2,
                                    .log = log,
                                    .enter = enter,
                                    .use = use,
                                    .measure = measure,
                                    .agree = agree};
    field = of, runners = count;
    entered = measured = compared = 0, taken = reference = -1;
    return cm_autotuner_choose(&autotuner, cache, "sum 3 4");
}

START_TEST(the_fastest_that_runs_is_taken_and_kept) {
    static const runner all[] = {
        {1, 0, true, true, 3.0f},  {2, 0, true, false, 0.5f}, {3, 0, true, true, 2.0f},
        {4, 0, false, true, 1.0f}, {5, 0, true, true, 2.5f},  {6, 1, true, true, 0.1f},
    };
    runner kept;
    ck_assert_int_eq(hold(all, 6, false), CM_OK);
    ck_assert_int_eq(taken, 3);
    ck_assert_int_eq(entered, 1); /* one of the first round runs, so the second is not held */
    ck_assert_int_eq(measured, 4);
    ck_assert(cm_autotune_cache_find(cache, "sum 3 4", &kept, sizeof kept));
    ck_assert_int_eq(kept.number, 3);
    ck_assert_str_eq(logged, "");
}
END_TEST

START_TEST(one_with_other_results_is_left_out_and_a_line_of_the_plans_says_so) {
    static const runner all[] = {
        {1, 0, true, false, 0.5f}, {2, 0, true, true, 2.0f}, {3, 0, true, true, 1.0f}, {4, 0, true, true, 1.5f}};
    odd = 3;
    ck_assert_int_eq(hold(all, 4, true), CM_OK);
    ck_assert_int_eq(taken, 4);
    ck_assert_int_eq(compared, 3); /* number 1 does not run */
    ck_assert_int_eq(reference, 2);
    ck_assert_str_eq(logged, "sum 3 4: a way to compute it is left out: number 3 differs from number 2\n"
                             "sum 3 4: number 3 is the fastest of these, in ms: - 2 - 1.5\n");
}
END_TEST

START_TEST(what_is_kept_is_taken_without_measuring) {
    static const runner all[] = {{1, 0, true, true, 1.0f}, {2, 0, true, true, 2.0f}};
    ck_assert_int_eq(cm_autotune_cache_keep(cache, "sum 3 4", &all[1], sizeof all[1]), CM_OK);
    ck_assert_int_eq(hold(all, 2, true), CM_OK);
    ck_assert_int_eq(taken, 2);
    ck_assert_int_eq(entered + measured, 0);
    ck_assert_str_eq(logged, "");
}
END_TEST

START_TEST(a_kept_one_that_is_not_to_be_had_is_chosen_again_with_one_line) {
    static const runner all[] = {{1, 0, true, true, 1.0f}}, gone = {9, 0, false, true, 0.5f};
    runner kept;
    ck_assert_int_eq(cm_autotune_cache_keep(cache, "sum 3 4", &gone, sizeof gone), CM_OK);
    ck_assert_int_eq(hold(all, 1, false), CM_OK);
    ck_assert_int_eq(taken, 1);
    ck_assert(cm_autotune_cache_find(cache, "sum 3 4", &kept, sizeof kept));
    ck_assert_int_eq(kept.number, 1);
    ck_assert_str_eq(logged, "sum 3 4 is chosen again, its choice is of no use here: number 9 is not to be had\n");
}
END_TEST

START_TEST(one_of_another_size_is_not_looked_at) {
    static const runner all[] = {{1, 0, true, true, 1.0f}};
    ck_assert_int_eq(cm_autotune_cache_keep(cache, "sum 3 4", "an older version's", 18), CM_OK);
    ck_assert_int_eq(hold(all, 1, false), CM_OK);
    ck_assert_int_eq(taken, 1);
    ck_assert_int_eq(measured, 1);
    ck_assert_str_eq(logged, "");
}
END_TEST

START_TEST(the_second_round_is_held_where_none_of_the_first_runs) {
    static const runner all[] = {{1, 0, true, false, 1.0f}, {2, 0, false, true, 1.0f}, {3, 1, true, true, 7.0f}};
    ck_assert_int_eq(hold(all, 3, true), CM_OK);
    ck_assert_int_eq(taken, 3);
    ck_assert_int_eq(entered, 2);
    ck_assert_str_eq(logged, "sum 3 4: number 0 is the fastest of these, in ms: 7\n");
}
END_TEST

START_TEST(all_times_are_logged_where_that_is_asked_for) {
    static const runner all[] = {{1, 0, true, true, 0.25f}, {2, 0, true, false, 1.0f}, {3, 0, true, true, 0.125f}};
    ck_assert_int_eq(hold(all, 3, true), CM_OK);
    ck_assert_str_eq(logged, "sum 3 4: number 2 is the fastest of these, in ms: 0.25 - 0.125\n");
}
END_TEST

START_TEST(where_none_runs_the_error_says_what_the_last_one_said) {
    static const runner all[] = {{1, 0, false, true, 1.0f}, {2, 1, true, false, 1.0f}};
    runner kept;
    ck_assert_int_eq(hold(all, 2, false), CM_ERR_DEVICE);
    ck_assert_str_eq(cm_error_message(), "sum 3 4: none of 2 ways to compute it runs: number 2 does not run");
    ck_assert(!cm_autotune_cache_find(cache, "sum 3 4", &kept, sizeof kept));
}
END_TEST

START_TEST(where_none_enters_or_entering_fails_the_error_says_so) {
    ck_assert_int_eq(hold(NULL, 0, false), CM_ERR_DEVICE);
    ck_assert_str_eq(cm_error_message(), "sum 3 4: there is no way to compute it");
    ck_assert_int_eq(entered, 2);
    entry = CM_ERR_MEMORY;
    ck_assert_int_eq(hold(NULL, 0, false), CM_ERR_MEMORY);
    ck_assert_str_eq(cm_error_message(), "no one may enter");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device/autotuner");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, the_fastest_that_runs_is_taken_and_kept);
    tcase_add_test(tests, one_with_other_results_is_left_out_and_a_line_of_the_plans_says_so);
    tcase_add_test(tests, what_is_kept_is_taken_without_measuring);
    tcase_add_test(tests, a_kept_one_that_is_not_to_be_had_is_chosen_again_with_one_line);
    tcase_add_test(tests, one_of_another_size_is_not_looked_at);
    tcase_add_test(tests, the_second_round_is_held_where_none_of_the_first_runs);
    tcase_add_test(tests, all_times_are_logged_where_that_is_asked_for);
    tcase_add_test(tests, where_none_runs_the_error_says_what_the_last_one_said);
    tcase_add_test(tests, where_none_enters_or_entering_fails_the_error_says_so);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
