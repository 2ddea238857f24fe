/* Muon: a step of one matrix, in plain loops. */
#include <stdlib.h>
#include <string.h>

#include "backend/muon.h"
#include "backend/ref/loops.h"
#include "backend/ref/ref.h"
#include "core/arena.h"

typedef struct work {
    cm_muon_shape shape;
    cm_dtype compute;
    float *x, *next;      /* [rows, columns] */
    float *gram, *update; /* [rows, rows]    */
    double *sums;         /* [columns]       */
} work;

static float rounded(const work *w, double x) { return cm_rounded((float)x, w->compute); }

static float *x_at(const work *w, int i, int j) {
    const int row = w->shape.is_turned ? j : i, column = w->shape.is_turned ? i : j;
    return w->x + (size_t)row * (size_t)w->shape.columns + column;
}

static void begin(work *w, const cm_call *call, float scale) {
    const cm_tensor *momentum = CM_ARG(call, muon_step, momentum), *gradient = CM_ARG(call, muon_step, gradient);
    for (int i = 0; i < momentum->dim[0]; i++)
        for (int j = 0; j < momentum->dim[1]; j++) {
            const float g = scale * ref_row(gradient, i)[j];
            *x_at(w, i, j) = rounded(w, (double)cm_muon_momentum(ref_row(momentum, i) + j, g, (float)call->attr.beta1));
        }
    const int n = w->shape.rows * w->shape.columns;
    const float norm = fmaxf(rounded(w, sqrt(ref_dot(w->x, w->x, n, CM_F32))), CM_MUON_FLOOR);
    for (int i = 0; i < n; i++) w->x[i] = rounded(w, (double)(w->x[i] / norm));
}

/* out[i, j] = scale_y y[i, j] + scale_x times the product of rows i and j of x[rows, n]. */
static void products(const work *w, float *out, const float *x, int n, double scale_x, const float *y, double scale_y) {
    for (int i = 0; i < w->shape.rows; i++)
        for (int j = 0; j < w->shape.rows; j++) {
            const size_t at = (size_t)i * (size_t)w->shape.rows + (size_t)j;
            const double product = ref_dot(x + (size_t)i * (size_t)n, x + (size_t)j * (size_t)n, n, CM_F32);
            out[at] = rounded(w, (y ? scale_y * (double)y[at] : 0.0) + scale_x * product);
        }
}

static void iterate(work *w) {
    const int rows = w->shape.rows, columns = w->shape.columns;
    products(w, w->gram, w->x, columns, 1.0, NULL, 0.0);
    products(w, w->update, w->gram, rows, CM_MUON_C, w->gram, CM_MUON_B);
    for (int i = 0; i < rows; i++) {
        memset(w->sums, 0, (size_t)columns * sizeof *w->sums);
        ref_add_scaled(w->sums, CM_MUON_A, w->x + (size_t)i * (size_t)columns, columns, CM_F32);
        for (int k = 0; k < rows; k++)
            ref_add_scaled(w->sums, (double)w->update[i * rows + k], w->x + (size_t)k * (size_t)columns, columns,
                           CM_F32);
        for (int j = 0; j < columns; j++) w->next[(size_t)i * (size_t)columns + (size_t)j] = rounded(w, w->sums[j]);
    }
    float *x = w->x;
    w->x = w->next;
    w->next = x;
}

static void finish(const work *w, const cm_call *call) {
    const cm_tensor *parameter = CM_ARG(call, muon_step, parameter);
    const double rate = call->attr.learning_rate, keep = 1.0 - rate * call->attr.weight_decay;
    for (int i = 0; i < parameter->dim[0]; i++)
        for (int j = 0; j < parameter->dim[1]; j++) {
            float *p = ref_row(parameter, i) + j;
            *p = (float)(keep * (double)*p - rate * w->shape.scale * (double)*x_at(w, i, j));
        }
}

cm_status cm_ref_muon_step(cm_stream *stream, const cm_call *call) {
    (void)stream;
    const float *factor = CM_ARG(call, muon_step, factor)->data;
    if (!cm_step_counts(factor)) return CM_OK;
    work w = {.shape = cm_muon_shape_of(CM_ARG(call, muon_step, parameter)), .compute = call->attr.compute};
    const size_t whole = (size_t)w.shape.rows * (size_t)w.shape.columns,
                 square = (size_t)w.shape.rows * (size_t)w.shape.rows;
    float *memory = NULL;
    CM_TRY(cm_alloc(&memory, 2 * (whole + square + (size_t)w.shape.columns), sizeof *memory, "a step of Muon"));
    w.sums = (double *)(void *)memory;
    w.x = memory + 2 * (size_t)w.shape.columns;
    w.next = w.x + whole;
    w.gram = w.next + whole;
    w.update = w.gram + square;
    begin(&w, call, (float)call->attr.gradient_scale * (factor ? factor[0] : 1.0f));
    for (int i = 0; i < CM_MUON_ITERATIONS; i++) iterate(&w);
    finish(&w, call);
    free(memory);
    return CM_OK;
}
