/* What cumind doctor measures of a GPU, on a device whose memory the host cannot touch. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/classes.h"
#include "cli/gpu_speed.h"
#include "support/far.h"
#include "support/main.h"

const cm_backend_class cm_cuda_class = {.name = "cuda", .open = cm_far_open};

static cm_backend *backend;
static cm_backend_class kind;
static cm_op_run run_activation;
static int products, launches;
static cm_op failing; /* CM_OP_COUNT: none */

/* The product is too large for plain loops: it is counted and left undone. */
static cm_status multiply(cm_stream *stream, const cm_call *call) {
    (void)stream;
    products++;
    ck_assert(call->attr.compute == (backend->native[CM_BF16] ? CM_BF16 : CM_F32));
    return failing == CM_OP_dense ? cm_fail(CM_ERR_DEVICE, "no products") : CM_OK;
}

static cm_status launch(cm_stream *stream, const cm_call *call) {
    launches++;
    if (failing == CM_OP_activation) return cm_fail(CM_ERR_DEVICE, "no launches");
    return run_activation(stream, call);
}

static void set_up(void) {
    ck_assert_int_eq(cm_backend_open("cuda", &backend), CM_OK);
    kind = *backend->kind;
    run_activation = kind.run[CM_OP_activation];
    kind.run[CM_OP_dense] = multiply, kind.run[CM_OP_activation] = launch;
    backend->kind = &kind;
    backend->native[CM_BF16] = true;
    failing = CM_OP_COUNT;
    products = launches = 0;
}

/* All that was allocated on the device is freed, also after an error. */
static void tear_down(void) {
    cm_backend_close(backend);
    ck_assert_uint_eq(cm_far_state.blocks + cm_far_state.pinned, 0);
}

/* Measures for a hundredth of a second. */
static cm_status measure(double flop, double bytes, char note[256]) {
    const cm_cuda_limits limits = {flop, bytes};
    return cm_cli_gpu_speed(backend, &limits, 0.01, note, 256);
}

START_TEST(a_product_a_copy_and_a_launch_are_measured_against_what_the_device_is_able_to) {
    char note[256];
    double flop, of_flop, bytes, of_bytes, launch_us;
    const size_t copies = cm_far_state.stops;
    ck_assert_int_eq(measure(1e12, 1e10, note), CM_OK);
    const int read =
        sscanf(note,
               "%lf TFLOP/s in bfloat16 (%lf %% of what it is able to), copies %lf GB/s (%lf %%), %lf us a "
               "launch",
               &flop, &of_flop, &bytes, &of_bytes, &launch_us);
    ck_assert_msg(read == 5, "%s", note);
    ck_assert_msg(flop > 0.0 && of_flop > 0.0 && of_bytes > 0.0 && launch_us > 0.0, "%s", note);
    ck_assert_int_gt(products, 0);
    ck_assert_int_gt(launches, 100);
    ck_assert_uint_ge(cm_far_state.stops - copies, 5);
    ck_assert_msg(fabs(of_bytes - 10.0 * bytes) <= 1.0, "%s", note); /* of 10 GB/s */
}
END_TEST

START_TEST(shares_are_left_out_where_the_limits_are_not_known) {
    char note[256];
    backend->native[CM_BF16] = false;
    ck_assert_int_eq(measure(1e12, 0.0, note), CM_OK); /* the first is of bfloat16 */
    ck_assert_msg(strchr(note, '%') == NULL && strstr(note, "FLOP/s in float32, copies "), "%s", note);
}
END_TEST

START_TEST(what_fails_is_said_and_leaves_nothing_behind) {
    char note[256];
    failing = CM_OP_dense;
    ck_assert_int_eq(measure(0.0, 0.0, note), CM_ERR_DEVICE);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "no products"));
    failing = CM_OP_activation;
    ck_assert_int_eq(measure(0.0, 0.0, note), CM_ERR_DEVICE);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "no launches"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/gpu_speed");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 30);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_product_a_copy_and_a_launch_are_measured_against_what_the_device_is_able_to);
    tcase_add_test(tests, shares_are_left_out_where_the_limits_are_not_known);
    tcase_add_test(tests, what_fails_is_said_and_leaves_nothing_behind);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
