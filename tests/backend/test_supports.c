/* 51 atoms from -25 to 25 are, for what clipped rewards add up to, 601 atoms from -300 to 300: both are one apart, so
 * the targets are the same numbers on the atoms that both have, and so are decoded values, losses and gradients. */
#include "backend/pair.h"

enum { FEW = 51, MANY = 601, OFFSET = 275, VALUES = 2403 };

static const cm_support few = {-25, 25, FEW, true}, many = {-300, 300, MANY, true};

/* -600 .. 600 in steps of a half, and two that lie next to 0. */
static cm_tensor values(void) {
    const int n = VALUES;
    float *x = malloc(sizeof(float) * VALUES);
    for (int i = 0; i < VALUES - 2; i++) x[i] = -600.0f + 0.5f * (float)i;
    x[VALUES - 2] = 1e-6f, x[VALUES - 1] = -1e-6f;
    return cm_tensor_make(x, CM_F32, 1, &n);
}

static cm_tensor zeros(int ndim, int columns) {
    cm_tensor t = cm_tensor_make(NULL, CM_F32, ndim, (int[]){VALUES, columns});
    t.data = calloc((size_t)t.dim[0] * t.stride, sizeof(float));
    return t;
}

/* Random logits of 51 atoms, and of 601 that are these in the middle and weigh nothing elsewhere. */
static void make_logits(pair *p, cm_tensor *of_few, cm_tensor *of_many) {
    *of_few = zeros(2, FEW), *of_many = zeros(2, MANY);
    float *a = of_few->data, *b = of_many->data;
    for (size_t i = 0; i < (size_t)VALUES * MANY; i++) b[i] = -1e4f;
    for (size_t i = 0; i < (size_t)VALUES * FEW; i++) {
        a[i] = 4.0f * pair_random(p);
        b[i / FEW * MANY + OFFSET + i % FEW] = a[i];
    }
}

static void expect_same(const cm_tensor *of_few, const cm_tensor *of_many, double tolerance) {
    const float *a = of_few->data, *b = of_many->data;
    for (int row = 0; row < VALUES; row++) {
        for (int i = 0; i < MANY; i++) {
            const bool is_shared = i >= OFFSET && i < OFFSET + FEW;
            const double want = is_shared ? (double)a[row * FEW + i - OFFSET] : 0.0;
            ck_assert_double_eq_tol((double)b[row * MANY + i], want, tolerance);
        }
    }
}

/* _i: the backend. */
static cm_stream *stream_of(const pair *p, int which) { return which ? p->stream : p->reference; }

START_TEST(targets_are_the_same_numbers) {
    pair p;
    pair_open(&p);
    cm_call a = {.op = CM_OP_two_hot, .attr.support = few, .t = {zeros(2, FEW), values()}};
    cm_call b = {.op = CM_OP_two_hot, .attr.support = many, .t = {zeros(2, MANY), values()}};
    CHECK_OK(cm_call_eager(stream_of(&p, _i), &a));
    CHECK_OK(cm_call_eager(stream_of(&p, _i), &b));
    expect_same(&a.t[0], &b.t[0], 4e-6); /* a place on 300 atoms has fewer bits behind the point than one on 25 */
    const float *y = a.t[0].data;
    ck_assert_double_eq_tol((double)y[1220 * FEW + 27], .673375210, 1e-6); /* learning 2: of 10 on atoms 2 and 3 */
    ck_assert_double_eq_tol((double)y[1220 * FEW + 28], .326624790, 1e-6);
    pair_free(&a);
    pair_free(&b);
    pair_close(&p);
}
END_TEST

START_TEST(decoded_values_are_the_same) {
    pair p;
    pair_open(&p);
    cm_call a = {.op = CM_OP_support_decode, .attr.support = few, .t = {zeros(1, 1)}};
    cm_call b = {.op = CM_OP_support_decode, .attr.support = many, .t = {zeros(1, 1)}};
    make_logits(&p, &a.t[1], &b.t[1]);
    CHECK_OK(cm_call_eager(stream_of(&p, _i), &a));
    CHECK_OK(cm_call_eager(stream_of(&p, _i), &b));
    const float *x = a.t[0].data, *y = b.t[0].data;
    for (int row = 0; row < VALUES; row++)
        ck_assert_double_eq_tol((double)x[row], (double)y[row], 1e-5 * (1.0 + fabs((double)x[row])));
    pair_free(&a);
    pair_free(&b);
    pair_close(&p);
}
END_TEST

START_TEST(losses_and_gradients_are_the_same) {
    pair p;
    pair_open(&p);
    cm_call a = {.op = CM_OP_categorical_loss, .attr.support = few}, b = {.op = CM_OP_categorical_loss};
    b.attr.support = many;
    make_logits(&p, &a.t[CM_T_categorical_loss_logits], &b.t[CM_T_categorical_loss_logits]);
    for (int k = 0; k < 2; k++) {
        cm_call *call = k ? &b : &a;
        call->t[CM_T_categorical_loss_loss] = zeros(1, 1), call->t[CM_T_categorical_loss_decoded] = zeros(1, 1);
        call->t[CM_T_categorical_loss_dlogits] = zeros(2, k ? MANY : FEW);
        call->t[CM_T_categorical_loss_target] = values(), call->t[CM_T_categorical_loss_coefficient] = zeros(1, 1);
        for (int i = 0; i < VALUES; i++) ((float *)call->t[CM_T_categorical_loss_coefficient].data)[i] = 1.0f;
        CHECK_OK(cm_call_eager(stream_of(&p, _i), call));
    }
    expect_same(&a.t[CM_T_categorical_loss_dlogits], &b.t[CM_T_categorical_loss_dlogits], 4e-6);
    const float *x = a.t[CM_T_categorical_loss_loss].data, *y = b.t[CM_T_categorical_loss_loss].data;
    for (int row = 0; row < VALUES; row++) ck_assert_double_eq_tol((double)x[row], (double)y[row], 1e-4);
    pair_free(&a);
    pair_free(&b);
    pair_close(&p);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("supports");
    tcase_add_loop_test(tests, targets_are_the_same_numbers, 0, 2);
    tcase_add_loop_test(tests, decoded_values_are_the_same, 0, 2);
    tcase_add_loop_test(tests, losses_and_gradients_are_the_same, 0, 2);
    return pair_main("supports", tests);
}
