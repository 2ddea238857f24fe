/* Who goes on when: by hand, for plans of few trials whose scores are given; nothing is trained. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "support/main.h"
#include "sweep/schedule.h"

static cm_sweep_plan plan;
static cm_sweep_schedule *schedule;

static void begin(int trials, int rungs, int workers) {
    plan = (cm_sweep_plan){.trials = trials, .seeds = 1, .rungs = rungs, .workers = workers};
    ck_assert(cm_sweep_plan_divide(&plan, 900, 0) == CM_OK);
    ck_assert(cm_sweep_schedule_create(&plan, &schedule) == CM_OK);
}

/* The next lines are of these trials at these rungs, in this order, and reach these scores. */
static void expect_lines(const int rows[][3], size_t count) {
    for (size_t i = 0; i < count; i++) {
        const cm_sweep_place *next = cm_sweep_schedule_next(schedule);
        ck_assert_ptr_nonnull(next);
        ck_assert_msg(next->rung == rows[i][0] && next->trial == rows[i][1],
                      "line %zu: trial %d at rung %d, expected %d at %d", i, next->trial, next->rung, rows[i][1],
                      rows[i][0]);
        cm_sweep_schedule_take(schedule, rows[i][2] < 0 ? (double)NAN : rows[i][2]);
    }
}

static void expect_end(void) {
    ck_assert_ptr_null(cm_sweep_schedule_next(schedule));
    cm_sweep_schedule_destroy(schedule);
}

#define EXPECT(...)                                                                                                    \
    do {                                                                                                               \
        static const int rows[][3] = {__VA_ARGS__};                                                                    \
        expect_lines(rows, sizeof rows / sizeof *rows);                                                                \
    } while (0)

/* Algorithm 2 of the paper with eta 3: trial 2 goes on early, and stays the best of its rung after others have
 * surpassed it in the one before. */
START_TEST(a_trial_goes_on_when_it_is_in_the_best_third_of_its_rung) {
    begin(9, 3, 1);
    EXPECT({0, 0, 1}, {0, 1, 2}, {0, 2, 3}, {1, 2, 9}, {0, 3, 2}, {0, 4, 2}, {0, 5, 6}, {1, 5, 1}, {0, 6, 7});
    EXPECT({1, 6, 8});
    ck_assert_int_eq(cm_sweep_schedule_count(schedule, 2, false), 0);
    ck_assert_int_eq(cm_sweep_schedule_count(schedule, 2, true), 1);
    EXPECT({2, 2, 7}, {0, 7, 8}, {1, 7, 1}, {0, 8, 1});
    ck_assert_int_eq(cm_sweep_schedule_count(schedule, 1, false), 4);
    expect_end();
}
END_TEST

/* The other way round than they were begun. */
START_TEST(equal_scores_go_by_number) {
    begin(6, 2, 1);
    EXPECT({0, 0, 5}, {0, 1, 5}, {0, 2, 5}, {1, 0, 1}, {0, 3, 5}, {0, 4, 5}, {0, 5, 5}, {1, 1, 1});
    expect_end();
}
END_TEST

/* With two virtual workers: trial 1 at rung 1 takes 600 steps, two others 300 each meanwhile. */
START_TEST(lines_stand_where_their_virtual_workers_end) {
    int count;
    begin(6, 2, 2);
    EXPECT({0, 0, 1}, {0, 1, 9}, {0, 2, 1});
    const cm_sweep_place *place = cm_sweep_schedule_open(schedule, &count);
    ck_assert_int_eq(count, 2);
    ck_assert(place[0].rung == 0 && place[0].trial == 3 && place[0].end == 600);
    ck_assert(place[1].rung == 1 && place[1].trial == 1 && place[1].end == 1200);
    EXPECT({0, 3, 1}, {0, 4, 1}, {1, 1, 9}, {0, 5, 2}, {1, 5, 1});
    expect_end();
}
END_TEST

/* Two of nine reach a score: the best of them comes to the end although no rung has three results any more. */
START_TEST(failed_trials_leave_no_rung_empty) {
    begin(9, 3, 1);
    EXPECT({0, 0, -1}, {0, 1, 4}, {0, 2, -1}, {1, 1, 4}, {0, 3, -1}, {0, 4, 5}, {1, 4, 3}, {0, 5, -1});
    EXPECT({0, 6, -1}, {0, 7, -1}, {0, 8, -1}, {2, 1, 1});
    expect_end();
}
END_TEST

START_TEST(where_all_fail_nothing_goes_on) {
    begin(3, 2, 2);
    EXPECT({0, 0, -1}, {0, 1, -1}, {0, 2, -1});
    expect_end();
}
END_TEST

START_TEST(a_synchronous_rung_begins_when_the_one_before_it_is_complete) {
    int count;
    begin(9, 3, 0);
    (void)cm_sweep_schedule_open(schedule, &count);
    ck_assert_int_eq(count, 9);
    EXPECT({0, 0, 9}, {0, 1, 1}, {0, 2, 1}, {0, 3, 7}, {0, 4, 1}, {0, 5, 8}, {0, 6, 1}, {0, 7, 1}, {0, 8, 1});
    EXPECT({1, 0, 1}, {1, 5, 3}, {1, 3, 2}, {2, 5, 1});
    expect_end();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("schedule");
    TCase *cases = tcase_create("schedule");
    tcase_add_test(cases, a_trial_goes_on_when_it_is_in_the_best_third_of_its_rung);
    tcase_add_test(cases, equal_scores_go_by_number);
    tcase_add_test(cases, lines_stand_where_their_virtual_workers_end);
    tcase_add_test(cases, failed_trials_leave_no_rung_empty);
    tcase_add_test(cases, where_all_fail_nothing_goes_on);
    tcase_add_test(cases, a_synchronous_rung_begins_when_the_one_before_it_is_complete);
    suite_add_tcase(suite, cases);
    return cm_test_main(suite);
}
