/* What differs from device to device is asked once on each. */
#include <check.h>

#include "device/cuda/known.h"
#include "support/main.h"

static int asked;

static bool is_true(const void *of) {
    asked++;
    return *(const bool *)of;
}

static bool known_on(cm_known *known, int device, bool is_so) { return cm_known_on(known, device, is_true, &is_so); }

/* The first device decides for itself alone, whether it says yes or no. */
START_TEST(each_device_is_asked_once) {
    cm_known known = {{0}};
    for (int time = 0; time < 3; time++) {
        const bool says = time == 0; /* later answers are not asked for */
        ck_assert_int_eq(known_on(&known, 0, says == (_i == 0)), _i == 0);
        ck_assert_int_eq(known_on(&known, 1, says == (_i == 1)), _i == 1);
        ck_assert_int_eq(known_on(&known, CM_KNOWN_DEVICES - 1, says), true);
        ck_assert_int_eq(asked, 3);
    }
}
END_TEST

START_TEST(devices_of_higher_numbers_are_asked_each_time) {
    cm_known known = {{0}};
    for (int time = 0; time < 3; time++)
        ck_assert_int_eq(known_on(&known, CM_KNOWN_DEVICES, time % 2 == 0), time % 2 == 0);
    ck_assert_int_eq(known_on(&known, -1, true), true);
    ck_assert_int_eq(asked, 4);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("device/known");
    TCase *tests = tcase_create("devices");
    tcase_add_loop_test(tests, each_device_is_asked_once, 0, 2);
    tcase_add_test(tests, devices_of_higher_numbers_are_asked_each_time);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
