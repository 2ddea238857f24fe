/* Fake quantisation on tapes: gradients are those of the straight-through estimator, and the maxima of all calls of a
 * range are neighbours. */
#include <math.h>

#include "backend/graph.h"
#include "backend/int8.h"
#include "support/main.h"

enum { INPUTS = 5, HIDDEN = 7, PROBES = 35, PLACE = 16 /* floats of an input: actions, coefficient, x, target */ };
static const float ranges[2] = {1.1f, 0.9f}; /* of the input and of the hidden layer; both clip */

static cm_var range_of(graph *g, const char *name) { return vector(g, name, 1); } /* "running" is of the state */

/* Two layers, each behind a quantiser, the second one called for two steps. */
static void record_layers(graph *g) {
    cm_tape *t = g->tape;
    (void)actions(g);
    g->coefficient = input_1d(g);
    cm_var x = input_2d(g, INPUTS), first = matrix(g, "first", HIDDEN, INPUTS), bias = vector(g, "bias", HIDDEN);
    cm_var of_x = range_of(g, "running_x"), of_h = range_of(g, "running_h");
    x = cm_tape_fake_quantise(t, x, of_x);
    cm_var h = cm_tape_activation(t, cm_tape_dense(t, x, first, bias, NULL, CM_ACT_NONE), CM_ACT_TANH);
    cm_var second = matrix(g, "second", HIDDEN, HIDDEN);
    h = cm_tape_dense(t, cm_tape_fake_quantise(t, h, of_h), second, CM_NO_VAR, NULL, CM_ACT_NONE);
    add_scalar_loss(g, cm_tape_fake_quantise(t, h, of_h), HIDDEN);
}

static graph *open_graph(void) {
    graph *g = make(record_layers, true);
    g->state[cm_param_table_find(&g->table, "running_x")->offset] = ranges[0];
    g->state[cm_param_table_find(&g->table, "running_h")->offset] = ranges[1];
    return g;
}

/* ---- the same network in double, with quantisers as the estimator sees them: clipping, and a constant ---- */

typedef struct surrogate {
    double offset[3][B * HIDDEN]; /* what a quantiser added to its clipped input at the point where slopes are taken */
    bool is_frozen;
} surrogate;

static double quantise(surrogate *s, int place, int i, double x, double range) {
    const double clipped = fmax(-range, fmin(range, x));
    if (!s->is_frozen) s->offset[place][i] = (double)cm_int8_fake((float)x, (float)range) - clipped;
    return clipped + s->offset[place][i];
}

/* y[B, out] = x[B, in] weight[out, in]^T + bias */
static void multiply(const double *x, int in, const float *weight, const float *bias, int out, double *y) {
    for (int b = 0; b < B; b++)
        for (int o = 0; o < out; o++) {
            double sum = bias ? (double)bias[o] : 0.0;
            for (int i = 0; i < in; i++) sum += x[b * in + i] * (double)weight[o * in + i];
            y[b * out + o] = sum;
        }
}

static const float *at(const graph *g, const char *name) {
    return g->parameter + cm_param_table_find(&g->table, name)->offset;
}

static double loss_of(const graph *g, surrogate *s) {
    double x[B * HIDDEN], y[B * HIDDEN], total = 0.0;
    const float *coefficient = g->input + PLACE, *from = coefficient + PLACE, *target = from + PLACE;
    for (int i = 0; i < B * INPUTS; i++) x[i] = quantise(s, 0, i, (double)from[i], (double)ranges[0]);
    multiply(x, INPUTS, at(g, "first"), at(g, "bias"), HIDDEN, y);
    for (int i = 0; i < B * HIDDEN; i++) x[i] = quantise(s, 1, i, tanh(y[i]), (double)ranges[1]);
    multiply(x, HIDDEN, at(g, "second"), NULL, HIDDEN, y);
    for (int i = 0; i < B * HIDDEN; i++) x[i] = quantise(s, 2, i, y[i], (double)ranges[1]);
    multiply(x, HIDDEN, at(g, "output0"), NULL, 1, y);
    for (int b = 0; b < B; b++) {
        const double error = y[b] - (double)target[b];
        total += (double)coefficient[b] * error * error;
    }
    return total;
}

static double slope(graph *g, surrogate *s, float *x, float step) {
    const float keep = *x, above = keep + step, below = keep - step;
    *x = above;
    const double high = loss_of(g, s);
    *x = below;
    const double low = loss_of(g, s);
    *x = keep;
    return (high - low) / ((double)above - (double)below);
}

static double loss_of_tape(const graph *g) {
    double total = 0.0;
    const float *loss = cm_pass_data(g->pass, g->loss[0]), *coefficient = cm_pass_data(g->pass, g->weight[0]);
    for (int b = 0; b < B; b++) total += (double)coefficient[b] * (double)loss[b];
    return total;
}

/* A kink of a clip in reach of a step is rare: at most one probe in ten may be off. */
START_TEST(gradients_are_those_of_clipping_and_a_constant) {
    graph *g = open_graph();
    surrogate s = {.is_frozen = false};
    int off = 0, probes = 0, not_zero = 0;
    ck_assert_int_eq(cm_pass_forward(g->pass), CM_OK);
    ck_assert_int_eq(cm_pass_backward(g->pass), CM_OK);
    ck_assert_double_eq_tol(loss_of_tape(g), loss_of(g, &s), 1e-4 * (1.0 + fabs(loss_of(g, &s))));
    s.is_frozen = true;
    for (int p = 0; p < g->table.count; p++) {
        const cm_param *row = &g->table.param[p];
        for (size_t k = 0; !row->state && k < row->count && k < PROBES; k++, probes++) {
            const double want = slope(g, &s, &g->parameter[row->offset + k], 0x1p-10f);
            const double got = (double)g->gradient[row->offset + k];
            off += fabs(got - want) > 2e-3 * (1.0 + fabs(want));
            not_zero += fabs(want) > 1e-3;
        }
    }
    ck_assert_int_gt(probes, 80);
    ck_assert_int_gt(2 * not_zero, probes);
    ck_assert_msg(10 * off <= probes, "%d of %d slopes are others", off, probes);
    destroy(g);
}
END_TEST

START_TEST(maxima_of_a_range_are_neighbours) {
    graph *g = open_graph();
    const size_t of_h = cm_param_table_find(&g->table, "running_h")->offset * sizeof(float);
    ck_assert_int_eq(cm_pass_forward(g->pass), CM_OK);
    ck_assert_int_eq(cm_tape_range_calls(g->tape), 2);
    for (int i = 0; i < 2; i++) {
        const cm_range_call *r = cm_tape_range_call(g->tape, i);
        const float *most = (const float *)((const char *)g->stats + r->most);
        ck_assert_int_eq(r->numbers, (r->range == of_h ? 2 : 1) * CM_INT8_PARTS);
        for (int k = 0; k < r->numbers; k++) ck_assert_int_eq(most[k] > 0.0f, k % CM_INT8_PARTS < B);
    }
    destroy(g);
}
END_TEST

START_TEST(an_inference_has_no_quantisers) {
    graph *g = make(record_layers, false);
    ck_assert_int_eq(cm_tape_range_calls(g->tape), 0);
    for (int i = 0; i < g->tape->forward.count; i++) ck_assert_int_ne(g->tape->forward.node[i].op, CM_OP_fake_quantise);
    destroy(g);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/tape_ranges");
    TCase *tests = tcase_create("ranges");
    tcase_add_test(tests, gradients_are_those_of_clipping_and_a_constant);
    tcase_add_test(tests, maxima_of_a_range_are_neighbours);
    tcase_add_test(tests, an_inference_has_no_quantisers);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
