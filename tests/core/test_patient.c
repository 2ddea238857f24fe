/* A thread for calls that may never come back. */
#include <check.h>
#include <unistd.h>

#include "core/patient.h"
#include "support/main.h"

static cm_patient *patient;

static cm_status add_one(void *context) {
    ++*(int *)context;
    return CM_OK;
}

static cm_status refuse(void *context) { return cm_fail(CM_ERR_INPUT, "no %d", *(int *)context); }

static cm_status hang(void *context) {
    (void)context;
    while (pause() < 0) {
    }
    return CM_OK;
}

START_TEST(calls_are_made_in_turn_and_their_errors_are_told) {
    cm_stop stop = {0};
    int count = 0;
    ck_assert_int_eq(cm_patient_create(&patient), CM_OK);
    for (int i = 1; i <= 1000; i++) {
        ck_assert_int_eq(cm_patient_call(patient, &stop, 1.0, add_one, &count), CM_OK);
        ck_assert_int_eq(count, i);
    }
    ck_assert_int_eq(cm_patient_call(patient, NULL, 1.0, refuse, &count), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "no 1000");
    cm_stop_ask(&stop);
    ck_assert_int_eq(cm_patient_call(patient, &stop, 60.0, add_one, &count), CM_OK);
    ck_assert(!cm_patient_is_left(patient));
    cm_patient_destroy(patient);
}
END_TEST

START_TEST(what_hangs_is_left_when_that_was_asked) {
    static cm_stop stop;
    ck_assert_int_eq(cm_patient_create(&patient), CM_OK);
    ck_assert(!cm_patient_is_left(patient) && !cm_patient_is_left(NULL));
    cm_stop_ask(&stop);
    ck_assert_int_eq(cm_patient_call(patient, &stop, 0.0, hang, NULL), CM_ERR_INTERRUPTED);
    ck_assert_str_eq(cm_error_message(), "it did not come back within 0 s");
    ck_assert(cm_patient_is_left(patient));
    cm_patient_destroy(patient);
    cm_patient_destroy(NULL);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("core/patient");
    TCase *tests = tcase_create("patient");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, calls_are_made_in_turn_and_their_errors_are_told);
    tcase_add_test(tests, what_hangs_is_left_when_that_was_asked);
    return cm_test_main(suite);
}
