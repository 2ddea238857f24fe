/* Gradients of ref against finite differences of its forward, for every operation that has one. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/main.h"
#include "support/op_cases.h"

enum { PROBES = 12 }; /* elements of each input that are moved */
#define STEP      0x1p-8
#define TOLERANCE 2e-3 /* of the largest element of the gradient, at least 1 */

/* What is differentiated: the sum of dy y, or of coefficient (loss - scale entropy). */
typedef struct objective {
    cm_stream *stream;
    cm_call *forward;
    const cm_tensor *weight, *y, *loss, *entropy; /* weight: dy or coefficient */
    bool kinked; /* it has kinks: a step may cross some, a wrong gradient is wrong nearly everywhere */
    int probed, off;
} objective;

static float *element(const cm_tensor *t, int index) {
    int row = cm_tensor_row_size(t);
    return (float *)t->data + (size_t)(index / row) * t->stride + index % row;
}

static const cm_tensor *tensor_of(const cm_call *call, const char *name) {
    int i = op_tensor(call->op, name);
    return i >= 0 && call->t[i].data ? &call->t[i] : NULL;
}

static double evaluate(const objective *o) {
    ck_assert_int_eq(cm_call_eager(o->stream, o->forward), CM_OK);
    const cm_tensor *result = o->y ? o->y : o->loss;
    double sum = 0.0;
    for (int i = 0; i < (int)cm_tensor_count(result); i++) {
        double value = (double)*element(result, i);
        if (o->entropy) value -= (double)o->forward->attr.scale * (double)*element(o->entropy, i);
        sum += (double)*element(o->weight, i) * value;
    }
    return sum;
}

static double central_difference(const objective *o, float *x, double step) {
    float keep = *x, above = (float)((double)keep + step), below = (float)((double)keep - step);
    *x = above;
    double high = evaluate(o);
    *x = below;
    double low = evaluate(o);
    *x = keep;
    return (high - low) / ((double)above - (double)below);
}

static void check_tensor(objective *o, const cm_tensor *input, const cm_tensor *gradient, const char *name) {
    int n = (int)cm_tensor_count(input), probes = n < PROBES ? n : PROBES;
    double largest = 1.0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs((double)*element(gradient, i)));
    for (int k = 0; k < probes; k++) {
        int i = (int)((long long)k * n / probes);
        double near = central_difference(o, element(input, i), STEP);
        double far = central_difference(o, element(input, i), 2.0 * STEP);
        o->probed++;
        double want = (4.0 * near - far) / 3.0, got = (double)*element(gradient, i);
        if (fabs(got - want) <= TOLERANCE * largest) continue;
        o->off++;
        if (o->kinked) continue;
        ck_abort_msg("%s[%d]: got %.6g, differences give %.6g (largest %.3g)", name, i, got, want, largest);
    }
}

static void check_gradients(objective *o, const cm_call *backward, const char *name) {
    for (int i = 0; i < cm_op_tensor_count(backward->op); i++) {
        char tensor[CM_OP_NAME_BYTES], what[224];
        cm_op_tensor_name(backward->op, i, tensor);
        if (!cm_op_tensor_written(backward->op, i) || tensor[0] != 'd' || strcmp(tensor, "decoded") == 0) continue;
        const cm_tensor *input = tensor_of(o->forward, tensor + 1);
        ck_assert_msg(input != NULL, "%s: %s is the gradient of nothing", name, tensor);
        snprintf(what, sizeof what, "%s: %s", name, tensor);
        check_tensor(o, input, &backward->t[i], what);
    }
}

static void check_row(const op_case *row, cm_activation activation, cm_stream *stream, int *probed) {
    op_variant v = {.absent = -1, .seed = 21, .activation = activation};
    char name[160];
    op_describe(row, row->backward, v, name);
    op_run run, copy = {0};
    op_run_make(&run, row, row->backward, v);
    ck_assert_msg(cm_call_eager(stream, &run.call) == CM_OK, "%s", cm_error_message());
    objective o = {.stream = stream, .kinked = activation == CM_ACT_RELU || row->op == CM_OP_minmax};
    if (run.forward_run) {
        o.forward = &run.forward_run->call;
        o.weight = tensor_of(&run.call, "dy");
        o.y = tensor_of(o.forward, "y");
    } else { /* a loss is its own forward; its results go to a copy, so that the gradient stays */
        op_run_copy(&copy, &run);
        o.forward = &copy.call;
        o.weight = tensor_of(&run.call, "coefficient");
        o.loss = tensor_of(o.forward, "loss");
        o.entropy = tensor_of(o.forward, "entropy");
    }
    check_gradients(&o, &run.call, name);
    ck_assert_msg(o.off * 8 <= o.probed, "%s: %d of %d probes are off", name, o.off, o.probed);
    *probed += o.probed;
    op_run_free(&copy);
    op_run_free(&run);
}

START_TEST(gradients_of_ref_are_the_slopes_of_its_forward) {
    cm_backend *ref;
    cm_stream *stream;
    ck_assert_int_eq(cm_backend_open("ref", &ref), CM_OK);
    ck_assert_int_eq(cm_stream_open(ref, &stream), CM_OK);
    int probed = 0;
    for (int i = 0; i < op_case_count; i++) {
        const op_case *row = &op_cases[i];
        if (row->backward == row->op && op_tensor(row->op, "coefficient") < 0) continue;
        if (row->op == CM_OP_fake_quantise) continue; /* steps have no slope: test_fake_quantise.c */
        unsigned activations = row->backward_activations ? row->backward_activations : 1u;
        for (int a = 0; a < CM_ACT_COUNT; a++)
            if (activations >> a & 1u) check_row(row, (cm_activation)a, stream, &probed);
    }
    ck_assert_int_gt(probed, 2000);
    cm_stream_close(stream);
    cm_backend_close(ref);
}
END_TEST

START_TEST(every_operation_with_a_backward_is_checked) {
    for (int op = 0; op < CM_OP_COUNT; op++) {
        char backward[64];
        snprintf(backward, sizeof backward, "%s_backward", cm_op_name((cm_op)op));
        for (int other = 0; other < CM_OP_COUNT; other++) {
            if (strcmp(cm_op_name((cm_op)other), backward) != 0) continue;
            int rows = 0;
            for (int i = 0; i < op_case_count; i++) rows += op_cases[i].backward == (cm_op)other;
            ck_assert_msg(rows > 0, "%s has no row in tests/support/op_table.c", backward);
        }
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/gradients");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, every_operation_with_a_backward_is_checked);
    tcase_add_test(tests, gradients_of_ref_are_the_slopes_of_its_forward);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
