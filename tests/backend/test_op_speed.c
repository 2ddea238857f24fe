/* Errors and times of every operation of a backend, as a table: what `make gpu-check` puts into its report.
 *
 *     test_op_speed [BACKEND [large]]      default: cpu, on sizes that take no time
 *
 * A time is set against what the backend reaches at best: products against the largest product of their type,
 * everything else against a copy within the device's memory. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/clock.h"
#include "support/main.h"
#include "support/op_bench.h"

static struct {
    const char *backend;
    bool large;
    double matmul[CM_PRODUCT_TYPES], copy; /* FLOP/s by type; bytes per second, read and written */
} speed = {.backend = "cpu"};

static op_bench bench;

static void open_bench(void) {
    ck_assert_msg(cm_backend_open(speed.backend, &bench.backend) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_backend_open("ref", &bench.ref), CM_OK);
    ck_assert_int_eq(cm_stream_open(bench.backend, &bench.stream), CM_OK);
    ck_assert_int_eq(cm_stream_open(bench.ref, &bench.ref_stream), CM_OK);
}

static void close_bench(void) {
    cm_stream_close(bench.stream);
    cm_stream_close(bench.ref_stream);
    cm_backend_close(bench.backend);
    cm_backend_close(bench.ref);
}

/* ---- errors ---- */

static void put_error(char row[160], double error) {
    const size_t used = strlen(row);
    snprintf(row + used, 160 - used, error < 0.0 ? "  |" : " %.1e |", error);
}

/* A row for an operation: one that fails keeps no other from being in the table. */
START_TEST(errors_of_an_operation_are_within_tolerance) {
    char row[160];
    snprintf(row, sizeof row, "| %s |", cm_op_name((cm_op)_i));
    if (_i == 0) printf("\n| operation | largest error, float32 | bfloat16 | float16 |\n|---|---|---|---|\n");
    for (int type = CM_F32; type < CM_PRODUCT_TYPES; type++) {
        double error = op_bench_error(&bench, (cm_op)_i, (cm_dtype)type);
        put_error(row, error);
        ck_assert_msg((type != CM_F32 || error >= 0.0) && isfinite(error), "%s in %s: error %g", cm_op_name((cm_op)_i),
                      cm_dtype_name((cm_dtype)type), error);
    }
    printf("%s\n", row);
    fflush(stdout);
}
END_TEST

/* ---- times ---- */

/* Waits for the stream where work on it is not done when a call returns. */
static void wait_for(const op_place *place) {
    float first;
    const cm_device *device = bench.backend->device;
    if (!device->is_host) ck_assert_int_eq(device->read(device, &first, place->call.t[0].data, sizeof first), CM_OK);
}

static double seconds_of(op_place *place) {
    const double least = speed.large ? 0.05 : 0.001;
    ck_assert_msg(cm_call_eager(bench.stream, &place->call) == CM_OK, "%s", cm_error_message());
    for (int runs = 1;; runs *= 2) {
        wait_for(place);
        double start = cm_clock_seconds();
        for (int i = 0; i < runs; i++) ck_assert_int_eq(cm_call_run(bench.stream, &place->call), CM_OK);
        wait_for(place);
        double seconds = cm_clock_seconds() - start;
        if (seconds >= least) return seconds / runs;
    }
}

/* One row of the table: what is timed, and its products. */
typedef struct timed {
    op_case row;
    cm_op op;
    double flop;
    bool bare; /* of dense: without bias and action, and x of 16 bits where products are: nothing else is timed */
} timed;

static void make_half(op_place *place) {
    ck_assert_msg(cm_call_eager(bench.stream, &place->call) == CM_OK, "%s", cm_error_message());
    place->call.t[CM_T_dense_x] = place->call.t[CM_T_dense_half_x];
    place->call.t[CM_T_dense_half_x].data = NULL;
}

/* What a call reads and writes: of a table of rows only those that it takes. */
static double bytes_of(const cm_call *call) {
    const bool takes_rows = call->op == CM_OP_gather_rows || call->op == CM_OP_scatter_rows;
    double all = 0.0, most = 0.0;
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        const double bytes = call->t[i].data ? (double)cm_tensor_bytes(&call->t[i]) : 0.0;
        all += bytes;
        most = fmax(most, bytes);
    }
    return takes_rows ? 2.0 * (all - most) : all;
}

static double time_of(const timed *t, cm_dtype compute, double *bytes) {
    const bool half = t->bare && compute != CM_F32 && bench.backend->kind->takes_half;
    const op_variant variant = {.absent = t->bare ? -2 : -1, .half = half, .compute = compute, .seed = 1};
    op_run run;
    op_place place;
    op_run_make(&run, &t->row, t->op, variant);
    op_place_make(&place, bench.stream, &run);
    if (half) make_half(&place);
    double seconds = seconds_of(&place);
    *bytes = bytes_of(&run.call);
    op_place_free(&place);
    op_run_free(&run);
    return seconds;
}

static void find_ceilings(void) {
    static const struct {
        const char *dense, *copied;
        double flop;
    } sizes[2] = {{"B=128 i=128 o=128", "n=100000", 2.0 * 128 * 128 * 128},
                  {"B=8192 i=4096 o=4096", "n=50000000", 2.0 * 8192 * 4096 * 4096}};
    double bytes;
    timed dense = {{CM_OP_dense, CM_OP_dense_backward, 0, 0, sizes[speed.large].dense, {.actions = 1}},
                   CM_OP_dense,
                   sizes[speed.large].flop,
                   true};
    timed copy = {{CM_OP_lerp, CM_OP_lerp, 0, 0, sizes[speed.large].copied, {.scale = 0.5f}}, CM_OP_lerp, 0.0, false};
    for (int type = CM_F32; type < CM_PRODUCT_TYPES; type++)
        speed.matmul[type] = dense.flop / time_of(&dense, (cm_dtype)type, &bytes);
    double seconds = time_of(&copy, CM_F32, &bytes);
    speed.copy = 1.5 * bytes / seconds; /* y is read and written */
    printf("\nCeilings: products %.3g TFLOP/s float32, %.3g TFLOP/s bfloat16, %.3g TFLOP/s float16; memory %.3g GB/s "
           "(lerp).\n",
           speed.matmul[CM_F32] * 1e-12, speed.matmul[CM_BF16] * 1e-12, speed.matmul[CM_F16] * 1e-12,
           speed.copy * 1e-9);
}

static void print_time(const timed *t, cm_dtype compute) {
    double bytes, seconds = time_of(t, compute, &bytes);
    double products = t->flop / seconds / speed.matmul[compute], memory = bytes / seconds / speed.copy;
    printf("| %s | %s | %s | %.1f | %.3g | %.3g | %.0f %% |\n", cm_op_name(t->op), t->row.sizes,
           t->flop > 0.0 ? cm_dtype_name(compute) : "", seconds * 1e6, t->flop / seconds * 1e-12,
           bytes / seconds * 1e-9, 100.0 * fmax(products, memory));
    ck_assert(seconds > 0.0);
}

#define NORMS "R=1024 N=512"
#define PLANE "B=1024 H=6 W=7 C=128 O=128 k=3"
#define ROW(name, backward, sizes, flop, ...)                                                                          \
    { {CM_OP_##name, CM_OP_##backward, 0, 0, sizes, {__VA_ARGS__}}, CM_OP_##name, flop, false }
/* What a training step and a search at a batch of 1024 are made of. */
static const timed rows[] = {
    ROW(dense, dense_backward, "B=1024 i=128 o=128", 2.0 * 1024 * 128 * 128, .actions = 1),
    ROW(dense, dense_backward, "B=1024 i=512 o=512", 2.0 * 1024 * 512 * 512, .actions = 1),
    ROW(conv2d, conv2d_backward, PLANE, 2.0 * 1024 * 42 * 128 * 128 * 9, .stride = 1),
    ROW(conv2d_norm, conv2d_norm, PLANE, 2.0 * 1024 * 42 * 128 * 128 * 9, .stride = 1, .epsilon = 1e-5f),
    ROW(layer_norm, layer_norm_backward, NORMS, 0.0, .epsilon = 1e-5f),
    ROW(activation, activation_backward, "any=1024x512", 0.0, .stride = 0),
    ROW(add, add, "any=1024x6x7x128", 0.0, .stride = 0),
    ROW(softmax, softmax_backward, "*=1024 n=601", 0.0, .stride = 0),
    ROW(categorical_loss, categorical_loss, "B=1024", 0.0, .support = {-300, 300, 601, true}),
    ROW(policy_loss, policy_loss, "B=1024 A=82", 0.0, .stride = 0),
    ROW(gather_rows, gather_rows, "n=65536 m=1024 N=512", 0.0, .stride = 0),
    ROW(scatter_rows, scatter_rows, "n=65536 m=1024 N=512", 0.0, .stride = 0),
    ROW(add_into, add_into, "n=10000000", 0.0, .stride = 0),
    ROW(sum_squares, sum_squares, "n=10000000", 0.0, .stride = 0),
    ROW(adam_step, adam_step, "n=10000000", 0.0, .decoupled = true, .learning_rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999,
        .correction1 = 0.1, .correction2 = 0.001, .epsilon = 1e-8f, .gradient_scale = 1.0),
};

START_TEST(times_of_operations_stand_next_to_the_ceilings) {
    const timed *t = &rows[_i];
    if (_i == 0) {
        find_ceilings();
        printf("\n| operation | sizes | type | microseconds | TFLOP/s | GB/s | share of the ceiling |\n"
               "|---|---|---|---|---|---|---|\n");
    }
    for (int type = CM_F32; type < (t->flop > 0.0 ? CM_PRODUCT_TYPES : CM_F32 + 1); type++)
        print_time(t, (cm_dtype)type);
    fflush(stdout);
}
END_TEST

int main(int argc, char **argv) {
    Suite *suite = suite_create("backend/op_speed");
    TCase *tests = tcase_create("all");
    if (argc > 1) speed.backend = argv[1];
    speed.large = argc > 2 && strcmp(argv[2], "large") == 0;
    /* without `large` the first time alone: enough to see that the table is made */
    const int times = speed.large ? (int)(sizeof rows / sizeof *rows) : 1;
    tcase_add_unchecked_fixture(tests, open_bench, close_bench);
    tcase_add_loop_test(tests, errors_of_an_operation_are_within_tolerance, 0, CM_OP_COUNT);
    tcase_add_loop_test(tests, times_of_operations_stand_next_to_the_ceilings, 0, times);
    suite_add_tcase(suite, tests);
    return cm_test_main_in_process(suite);
}
