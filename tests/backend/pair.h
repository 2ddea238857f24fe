/* Runs calls on ref and on cpu with the same numbers and compares what they write. For the tests of the cpu backend. */
#ifndef TESTS_BACKEND_PAIR_H
#define TESTS_BACKEND_PAIR_H

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "support/main.h"

typedef struct pair {
    cm_backend *ref, *cpu;
    cm_stream *reference, *stream;
    uint64_t random;
    double worst; /* largest error seen, relative to the largest number of its tensor */
} pair;

#define CHECK_OK(expression) ck_assert_msg((expression) == CM_OK, "%s: %s", #expression, cm_error_message())

static inline void pair_open(pair *p) {
    memset(p, 0, sizeof *p);
    p->random = 1;
    CHECK_OK(cm_backend_open("ref", &p->ref));
    CHECK_OK(cm_backend_open("cpu", &p->cpu));
    CHECK_OK(cm_stream_open(p->ref, &p->reference));
    CHECK_OK(cm_stream_open(p->cpu, &p->stream));
}

static inline void pair_close(pair *p) {
    cm_stream_close(p->reference);
    cm_stream_close(p->stream);
    cm_backend_close(p->ref);
    cm_backend_close(p->cpu);
}

/* In -1 .. 1. */
static inline float pair_random(pair *p) {
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return (float)(p->random >> 40) * 0x1p-23f - 1.0f;
}

/* Random columns of a matrix (or of NHWC activations) whose rows are `gap` elements longer; freed with pair_free. */
static inline cm_tensor pair_tensor(pair *p, int ndim, const int *dim, int gap) {
    cm_tensor t = cm_tensor_make(NULL, CM_F32, ndim, dim);
    t.stride += gap;
    size_t n = (size_t)t.dim[0] * t.stride;
    float *data = malloc(n * sizeof(float));
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < n; i++) data[i] = pair_random(p);
    t.data = data;
    return t;
}
static inline cm_tensor pair_matrix(pair *p, int rows, int columns, int gap) {
    return pair_tensor(p, 2, (int[]){rows, columns}, gap);
}
static inline cm_tensor pair_vector(pair *p, int n) { return pair_tensor(p, 1, &n, 0); }
static inline cm_tensor pair_actions(pair *p, int n, int actions) {
    cm_tensor t = cm_tensor_make(malloc((size_t)n * sizeof(int32_t)), CM_I32, 1, &n);
    for (int i = 0; i < n; i++) ((int32_t *)t.data)[i] = (int32_t)((pair_random(p) + 1.0f) * 0.499f * (float)actions);
    return t;
}
static inline void pair_free(cm_call *call) {
    for (int i = 0; i < CM_CALL_TENSORS; i++) free(call->t[i].data);
}

static inline size_t pair_elements(const cm_tensor *t) { return (size_t)t->dim[0] * t->stride; }

static inline void pair_compare(pair *p, const cm_call *call, int index, const float *want, double tolerance) {
    const float *got = call->t[index].data;
    double largest = 1e-30;
    char name[64];
    snprintf(name, sizeof name, "%s, tensor %d", cm_op_name(call->op), index);
    for (size_t i = 0; i < pair_elements(&call->t[index]); i++)
        if (isfinite(want[i])) largest = fmax(largest, fabs((double)want[i]));
    for (size_t i = 0; i < pair_elements(&call->t[index]); i++) {
        if (isnan(want[i]) && isnan(got[i])) continue;
        double error = want[i] == got[i] ? 0.0 : fabs((double)got[i] - (double)want[i]) / largest;
        if (!(error <= tolerance))
            ck_abort_msg("%s [%d, %d]: element %zu is %.9g, ref has %.9g", name, call->t[index].dim[0],
                         cm_tensor_row_size(&call->t[index]), i, (double)got[i], (double)want[i]);
        p->worst = fmax(p->worst, error);
    }
}

/* The first `outputs` tensors must agree within `tolerance` of the largest number in them; what lies between their rows
 * must stay as it was. They hold cpu's results afterwards. bfloat16 on a processor without it is compared as the
 * float32 that it is computed in. */
static inline void pair_run(pair *p, cm_call *call, int outputs, double tolerance) {
    cm_call expected = *call;
    if (expected.attr.compute == CM_BF16 && !p->cpu->native[CM_BF16]) expected.attr.compute = CM_F32;
    for (int i = 0; i < outputs; i++) {
        if (!call->t[i].data) continue;
        size_t bytes = pair_elements(&call->t[i]) * sizeof(float);
        expected.t[i].data = memcpy(malloc(bytes), call->t[i].data, bytes);
    }
    CHECK_OK(cm_call_eager(p->reference, &expected));
    CHECK_OK(cm_call_eager(p->stream, call));
    for (int i = 0; i < outputs; i++) {
        if (!call->t[i].data) continue;
        pair_compare(p, call, i, expected.t[i].data, tolerance);
        free(expected.t[i].data);
    }
}

/* main of a test program with one case. */
static inline int pair_main(const char *name, TCase *tests) {
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, tests);
    return cm_test_main_in_process(suite);
}

#endif
