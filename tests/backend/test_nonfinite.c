/* NaN and Inf are seen, and stay in their row, on every backend; extreme but finite numbers give finite results. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cuda/cuda_cpu.h"
#include "support/main.h"
#include "support/op_place.h"

/* Poison in element 0 of row `row` of tensor `in` shows in the same row of tensor `out`. */
typedef struct poison {
    cm_op op;
    const char *in, *out;
    cm_activation activation;
} poison;

static const poison poisons[] = {
    {CM_OP_dense, "x", "y", CM_ACT_NONE},
    {CM_OP_dense, "x", "y", CM_ACT_RELU},
    {CM_OP_conv2d, "x", "y", CM_ACT_NONE},
    {CM_OP_conv2d_norm, "x", "y", CM_ACT_RELU},
    {CM_OP_activation, "x", "y", CM_ACT_RELU},
    {CM_OP_activation, "x", "y", CM_ACT_GELU_TANH},
    {CM_OP_activation, "x", "y", CM_ACT_TANH},
    {CM_OP_activation, "x", "y", CM_ACT_SIGMOID},
    {CM_OP_activation, "x", "y", CM_ACT_ELU},
    {CM_OP_activation, "x", "y", CM_ACT_SOFTPLUS},
    {CM_OP_add, "a", "y", CM_ACT_RELU},
    {CM_OP_fake_quantise, "x", "y", CM_ACT_NONE},
    {CM_OP_fake_quantise_rows, "x", "y", CM_ACT_NONE},
    {CM_OP_layer_norm, "x", "y", CM_ACT_NONE},
    {CM_OP_layer_norm, "x", "y", CM_ACT_RELU},
    {CM_OP_layer_norm, "x", "y", CM_ACT_GELU_TANH},
    {CM_OP_layer_norm_backward, "dy", "dx", CM_ACT_NONE},
    {CM_OP_minmax, "x", "y", CM_ACT_NONE},
    {CM_OP_minmax_backward, "dy", "dx", CM_ACT_NONE},
    {CM_OP_softmax, "x", "y", CM_ACT_NONE},
    {CM_OP_log_softmax, "x", "y", CM_ACT_NONE},
    {CM_OP_sample_actions, "p", "logits", CM_ACT_NONE},
    {CM_OP_support_decode, "logits", "value", CM_ACT_NONE},
    {CM_OP_two_hot, "value", "y", CM_ACT_NONE},
    {CM_OP_categorical_loss, "logits", "loss", CM_ACT_NONE},
    {CM_OP_categorical_loss, "logits", "dlogits", CM_ACT_NONE},
    {CM_OP_categorical_loss, "logits", "decoded", CM_ACT_NONE},
    {CM_OP_categorical_loss, "target", "loss", CM_ACT_NONE},
    {CM_OP_categorical_loss, "coefficient", "dlogits", CM_ACT_NONE},
    {CM_OP_policy_loss, "logits", "loss", CM_ACT_NONE},
    {CM_OP_policy_loss, "logits", "entropy", CM_ACT_NONE},
    {CM_OP_policy_loss, "logits", "dlogits", CM_ACT_NONE},
    {CM_OP_policy_loss, "target", "loss", CM_ACT_NONE},
    {CM_OP_policy_loss, "coefficient", "dlogits", CM_ACT_NONE},
    {CM_OP_scalar_loss, "prediction", "loss", CM_ACT_NONE},
    {CM_OP_scalar_loss, "target", "dprediction", CM_ACT_NONE},
    {CM_OP_square_loss, "x", "loss", CM_ACT_NONE},
    {CM_OP_square_loss, "x", "dx", CM_ACT_NONE},
    {CM_OP_square_loss, "y", "loss", CM_ACT_NONE},
    {CM_OP_consistency_loss, "x", "loss", CM_ACT_NONE},
    {CM_OP_consistency_loss, "y", "loss", CM_ACT_NONE},
    {CM_OP_consistency_loss, "x", "dx", CM_ACT_NONE},
    {CM_OP_adam_step, "gradient", "parameter", CM_ACT_NONE},
    {CM_OP_sgd_step, "gradient", "parameter", CM_ACT_NONE},
    {CM_OP_add_into, "x", "y", CM_ACT_NONE},
};

static float *row_of(const cm_call *call, const char *name, int row) {
    const cm_tensor *t = &call->t[op_tensor(call->op, name)];
    return (float *)t->data + (size_t)row * t->stride;
}

static int rows_of(const cm_call *call, const char *name) { return call->t[op_tensor(call->op, name)].dim[0]; }

static int row_size(const cm_call *call, const char *name) {
    return cm_tensor_row_size(&call->t[op_tensor(call->op, name)]);
}

static bool all_finite(const float *x, int n) {
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static void poison_row(cm_stream *stream, const op_case *row, const poison *p, float value) {
    char name[160];
    op_run run;
    op_run_make(&run, row, p->op, (op_variant){.absent = -1, .seed = 31, .activation = p->activation});
    op_describe(row, p->op, (op_variant){.absent = -1, .activation = p->activation}, name);
    int rows = rows_of(&run.call, p->out), bad = rows / 3, n = row_size(&run.call, p->out);
    if (p->op == CM_OP_policy_loss) *row_of(&run.call, "target", bad) = 1.0f; /* without a target there is no loss */
    *row_of(&run.call, p->in, bad) = value;
    ck_assert_int_eq(op_run_eager(stream, &run), CM_OK);
    for (int r = 0; r < rows; r++) {
        bool finite = all_finite(row_of(&run.call, p->out, r), n);
        ck_assert_msg(finite == (r != bad), "%s on %s: %g in %s[%d] %s in %s[%d]", name, stream->backend->kind->name,
                      (double)value, p->in, bad, finite ? "does not show" : "shows", p->out, r);
    }
    op_run_free(&run);
}

/* Every backend that opens here, with a stream; the last are the kernels of cuda on the CPU. */
enum { BACKENDS = 8 };
static cm_backend kernels, *backends[BACKENDS];
static cm_stream *streams[BACKENDS];
static int count;

static void open_backends(void) {
    for (const cm_backend_class *const *kind = cm_backend_classes(); *kind; kind++) {
        ck_assert_int_lt(count, BACKENDS - 1);
        if (cm_backend_open((*kind)->name, &backends[count]) == CM_ERR_ABSENT) continue;
        ck_assert_msg(cm_stream_open(backends[count], &streams[count]) == CM_OK, "%s", cm_error_message());
        count++;
    }
    cuda_cpu_open(&kernels);
    ck_assert_int_eq(cm_stream_open(&kernels, &streams[count]), CM_OK);
}

static void close_backends(void) {
    cm_stream_close(streams[count]);
    cuda_cpu_close(&kernels);
    while (count-- > 0) {
        cm_stream_close(streams[count]);
        cm_backend_close(backends[count]);
    }
}

static void on_every_backend(void (*test)(cm_stream *stream)) {
    for (int i = 0; i <= count; i++) test(streams[i]);
}

static const op_case *first_row(cm_op op) {
    for (int i = 0; i < op_case_count; i++)
        if (op_cases[i].op == op || op_cases[i].backward == op) return &op_cases[i];
    return NULL;
}

/* One of the poisons on one of the backends: those that fail keep no others from being tried. */
enum { POISONS = (int)(sizeof poisons / sizeof *poisons) };
START_TEST(a_nan_shows_in_its_row_and_in_no_other) {
    const poison *p = &poisons[_i % POISONS];
    for (int i = 0; _i / POISONS <= count && i < op_case_count; i++)
        if (op_cases[i].op == p->op || op_cases[i].backward == p->op)
            poison_row(streams[_i / POISONS], &op_cases[i], p, NAN);
}
END_TEST

static void poison_losses_with_infinity(cm_stream *stream) {
    static const poison losses[] = {{CM_OP_categorical_loss, "logits", "loss", CM_ACT_NONE},
                                    {CM_OP_policy_loss, "logits", "dlogits", CM_ACT_NONE},
                                    {CM_OP_scalar_loss, "prediction", "loss", CM_ACT_NONE},
                                    {CM_OP_consistency_loss, "x", "loss", CM_ACT_NONE}};
    for (size_t k = 0; k < sizeof losses / sizeof *losses; k++)
        poison_row(stream, first_row(losses[k].op), &losses[k], INFINITY);
}

START_TEST(an_infinity_shows_in_the_loss_of_its_row) { on_every_backend(poison_losses_with_infinity); }
END_TEST

static float norm_with(cm_stream *stream, float value) {
    op_run run;
    op_run_make(&run, first_row(CM_OP_sum_squares) + 2, CM_OP_sum_squares, (op_variant){.absent = -1, .seed = 2});
    ((float *)run.call.t[CM_T_sum_squares_x].data)[5000] = value;
    ck_assert_int_eq(op_run_eager(stream, &run), CM_OK);
    const float *partial = run.call.t[CM_T_sum_squares_partial].data;
    ck_assert(isfinite(partial[0]) && isfinite(partial[2]));
    float norm = partial[1];
    op_run_free(&run);
    return norm;
}

static void poison_norm(cm_stream *stream) {
    ck_assert(isnan(norm_with(stream, NAN)));
    ck_assert(isinf(norm_with(stream, -INFINITY)));
    ck_assert(isinf(norm_with(stream, 1e30f)));
}

/* A norm that is not finite leaves parameters, moments, averages and statistics as they are. */
static void steps_with_norm(cm_stream *stream) {
    static const struct {
        cm_op op;
        const char *in;
    } steps[] = {{CM_OP_adam_step, "gradient"},
                 {CM_OP_sgd_step, "gradient"},
                 {CM_OP_lerp, "x"},
                 {CM_OP_batch_norm_update, "stats"},
                 {CM_OP_range_update, "most"}};
    for (int k = 0; k < 2 * (int)(sizeof steps / sizeof *steps); k++) {
        op_run run, before;
        op_run_make(&run, first_row(steps[k / 2].op), steps[k / 2].op, (op_variant){.absent = -1, .seed = 2});
        row_of(&run.call, steps[k / 2].in, 0)[0] = NAN;
        row_of(&run.call, "factor", 0)[1] = k % 2 ? NAN : INFINITY;
        op_run_copy(&before, &run);
        ck_assert_int_eq(op_run_eager(stream, &run), CM_OK);
        for (int i = 0; i < CM_CALL_TENSORS; i++)
            ck_assert(!run.block[i] || memcmp(run.block[i], before.block[i], run.block_bytes[i]) == 0);
        op_run_free(&run);
        op_run_free(&before);
    }
}

START_TEST(a_step_with_a_norm_that_is_not_finite_changes_nothing) { on_every_backend(steps_with_norm); }
END_TEST

/* What clip is given to check decides on the norm; the factor alone would not. */
static void check_last(cm_stream *stream) {
    static const float values[] = {1e30f, NAN, INFINITY};
    for (int k = 0; k < 3; k++) {
        op_run run;
        op_run_make(&run, first_row(CM_OP_clip) + 1, CM_OP_clip, (op_variant){.absent = -1, .seed = 2});
        row_of(&run.call, "check", 0)[299] = values[k];
        ck_assert_int_eq(op_run_eager(stream, &run), CM_OK);
        const float *factor = row_of(&run.call, "factor", 0);
        ck_assert_msg(isfinite(factor[1]) == (k == 0), "%s: norm %g with %g", stream->backend->kind->name,
                      (double)factor[1], (double)values[k]);
        op_run_free(&run);
    }
}

START_TEST(a_number_to_check_that_is_not_finite_makes_the_norm_nan) { on_every_backend(check_last); }
END_TEST

START_TEST(the_gradient_norm_sees_nan_inf_and_overflow) { on_every_backend(poison_norm); }
END_TEST

/* ---- finite results of extreme inputs ---- */

static void extreme_logits(cm_stream *stream) {
    op_run run;
    op_run_make(&run, first_row(CM_OP_policy_loss) + 1, CM_OP_policy_loss, (op_variant){.absent = -1, .seed = 3});
    int rows = rows_of(&run.call, "logits"), n = row_size(&run.call, "logits");
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++) {
            row_of(&run.call, "logits", r)[i] *= 1e4f;
            row_of(&run.call, "legal", r)[i] = r == 1 ? 0.0f : (float)(i % 2); /* row 1: nothing is legal */
            if (i % 2 == 0) row_of(&run.call, "logits", r)[i] = r == 2 ? -FLT_MAX : FLT_MAX;
        }
    ck_assert_int_eq(op_run_eager(stream, &run), CM_OK);
    for (int r = 0; r < rows; r++) {
        float loss = row_of(&run.call, "loss", r)[0], entropy = row_of(&run.call, "entropy", r)[0];
        ck_assert_msg(isfinite(loss) && isfinite(entropy), "%s: row %d: loss %g, entropy %g",
                      stream->backend->kind->name, r, (double)loss, (double)entropy);
        const float *gradient = row_of(&run.call, "dlogits", r);
        ck_assert(all_finite(gradient, n));
        for (int i = 0; i < n; i += 2) ck_assert_float_eq(gradient[i], 0.0f); /* not legal: no gradient */
    }
    ck_assert_float_eq(row_of(&run.call, "loss", 1)[0], 0.0f);
    op_run_free(&run);
}

START_TEST(illegal_logits_of_any_size_take_no_part) { on_every_backend(extreme_logits); }
END_TEST

static void extreme_softmax(cm_stream *stream) {
    op_run run;
    op_run_make(&run, first_row(CM_OP_softmax) + 1, CM_OP_softmax, (op_variant){.absent = -1, .seed = 4});
    int rows = rows_of(&run.call, "x"), n = row_size(&run.call, "x");
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++) {
            row_of(&run.call, "x", r)[i] = r == 0 ? 1e38f : r == 1 ? -3e38f : 1e3f * (float)i;
            row_of(&run.call, "legal", r)[i] = r == 2 ? 0.0f : 1.0f;
        }
    ck_assert_int_eq(op_run_eager(stream, &run), CM_OK);
    for (int r = 0; r < rows; r++) {
        double sum = 0.0;
        for (int i = 0; i < n; i++) sum += (double)row_of(&run.call, "y", r)[i];
        ck_assert_msg(fabs(sum - (r == 2 ? 0.0 : 1.0)) < 1e-6, "%s: row %d sums to %g", stream->backend->kind->name, r,
                      sum);
    }
    op_run_free(&run);
}

START_TEST(softmax_of_huge_logits_sums_to_one_and_of_no_legal_ones_to_zero) { on_every_backend(extreme_softmax); }
END_TEST

static void extreme_values(cm_stream *stream) {
    static const float targets[7] = {FLT_MAX, -FLT_MAX, 1e30f, INFINITY, -INFINITY, FLT_MIN, -0.0f};
    op_run run;
    op_run_make(&run, first_row(CM_OP_categorical_loss), CM_OP_categorical_loss, (op_variant){.absent = -1, .seed = 5});
    ck_assert_int_eq(rows_of(&run.call, "target"), 7);
    memcpy(row_of(&run.call, "target", 0), targets, sizeof targets);
    ck_assert_int_eq(op_run_eager(stream, &run), CM_OK);
    for (int r = 0; r < 7; r++) {
        ck_assert_msg(isfinite(row_of(&run.call, "loss", r)[0]), "target %g: loss %g", (double)targets[r],
                      (double)row_of(&run.call, "loss", r)[0]);
        ck_assert(all_finite(row_of(&run.call, "dlogits", r), 41));
    }
    op_run_free(&run);
}

START_TEST(targets_beyond_the_support_are_clamped_to_it) { on_every_backend(extreme_values); }
END_TEST

/* A NaN anywhere in a row must not move the positions of its extremes out of the row: backward writes there. */
static void positions_with_nan(cm_stream *stream) {
    op_run run;
    op_run_make(&run, first_row(CM_OP_minmax) + 1, CM_OP_minmax, (op_variant){.absent = -1, .seed = 8});
    int n = row_size(&run.call, "x");
    for (int r = 0; r < rows_of(&run.call, "x"); r++)
        for (int i = 0; i < n; i++)
            if (r == 8 || i == r * 4) row_of(&run.call, "x", r)[i] = NAN;
    ck_assert_int_eq(op_run_eager(stream, &run), CM_OK);
    for (int r = 0; r < rows_of(&run.call, "saved"); r++)
        for (int k = 0; k < 2; k++) {
            float position = row_of(&run.call, "saved", r)[k];
            ck_assert_msg(position >= 0.0f && position < (float)n, "%s: row %d: position %g",
                          stream->backend->kind->name, r, (double)position);
        }
    op_run_free(&run);
}

START_TEST(positions_of_extremes_stay_in_their_row) { on_every_backend(positions_with_nan); }
END_TEST

static void constant_rows(cm_stream *stream) {
    op_run norm, minmax;
    op_run_make(&norm, first_row(CM_OP_layer_norm) + 1, CM_OP_layer_norm, (op_variant){.absent = -1, .seed = 6});
    op_run_make(&minmax, first_row(CM_OP_minmax) + 1, CM_OP_minmax, (op_variant){.absent = -1, .seed = 6});
    for (int i = 0; i < row_size(&norm.call, "x"); i++) row_of(&norm.call, "x", 0)[i] = 3.0f;
    for (int i = 0; i < row_size(&minmax.call, "x"); i++) row_of(&minmax.call, "x", 0)[i] = 3.0f;
    ck_assert_int_eq(op_run_eager(stream, &norm), CM_OK);
    ck_assert_int_eq(op_run_eager(stream, &minmax), CM_OK);
    const float *shift = norm.call.t[CM_T_layer_norm_shift].data;
    for (int i = 0; i < row_size(&norm.call, "y"); i++)
        ck_assert_float_eq_tol(row_of(&norm.call, "y", 0)[i], shift[i], 1e-6f);
    for (int i = 0; i < row_size(&minmax.call, "y"); i++) ck_assert_float_eq(row_of(&minmax.call, "y", 0)[i], 0.0f);
    op_run_free(&norm);
    op_run_free(&minmax);
}

START_TEST(constant_rows_normalise_to_zero) { on_every_backend(constant_rows); }
END_TEST

/* Poisons of all backends in turn; the first part has all else. */
static Suite *make_suite(int part, int parts) {
    int classes = 0;
    while (cm_backend_classes()[classes]) classes++;
    const int all = (classes + 1) * POISONS;
    Suite *suite = suite_create("backend/nonfinite");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, open_backends, close_backends);
    tcase_add_loop_test(tests, a_nan_shows_in_its_row_and_in_no_other, all * part / parts, all * (part + 1) / parts);
    suite_add_tcase(suite, tests);
    if (part > 0) return suite;
    tcase_add_test(tests, an_infinity_shows_in_the_loss_of_its_row);
    tcase_add_test(tests, a_step_with_a_norm_that_is_not_finite_changes_nothing);
    tcase_add_test(tests, a_number_to_check_that_is_not_finite_makes_the_norm_nan);
    tcase_add_test(tests, the_gradient_norm_sees_nan_inf_and_overflow);
    tcase_add_test(tests, illegal_logits_of_any_size_take_no_part);
    tcase_add_test(tests, softmax_of_huge_logits_sums_to_one_and_of_no_legal_ones_to_zero);
    tcase_add_test(tests, targets_beyond_the_support_are_clamped_to_it);
    tcase_add_test(tests, positions_of_extremes_stay_in_their_row);
    tcase_add_test(tests, constant_rows_normalise_to_zero);
    return suite;
}

int main(void) { return cm_test_main_in_parts(make_suite, 4); }
