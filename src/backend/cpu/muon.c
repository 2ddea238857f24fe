/* Muon: a step of one matrix. Its products are those of rows, on numbers that are rounded where a call computes in 16
 * bits; matrices in the scratch memory have rows of whole panels. */
#include <math.h>
#include <string.h>

#include "backend/muon.h"

#include "backend/cpu/product.h"
#include "backend/formulas.h"
#include "core/arena.h"

typedef struct muon_plan {
    cm_plan plan;
    size_t x, next, turned, gram, update; /* places: [rows, columns] twice, [columns, rows], [rows, rows] twice */
} muon_plan;

typedef struct work {
    cm_muon_shape shape;
    cm_dtype compute;
    void (*gemm)(const cm_gemm *g);
    float *x, *next, *turned, *gram, *update;
    int wide, narrow; /* elements from row to row of x, next; of turned, gram, update */
} work;

cm_status cm_cpu_plan_muon_step(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_muon_shape shape = cm_muon_shape_of(CM_ARG(call, muon_step, parameter));
    const size_t rows = (size_t)shape.rows, columns = (size_t)shape.columns;
    const size_t wide = (size_t)cm_padded(shape.columns), narrow = (size_t)cm_padded(shape.rows);
    muon_plan *p = NULL;
    size_t used = 0;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->x = cm_product_alloc(&used, rows * wide);
    p->next = cm_product_alloc(&used, rows * wide);
    p->turned = cm_product_alloc(&used, columns * narrow);
    p->gram = cm_product_alloc(&used, rows * narrow);
    p->update = cm_product_alloc(&used, rows * narrow);
    return cm_cpu_reserve(stream, used);
}

static work work_of(cm_stream *stream, const cm_call *call) {
    const muon_plan *p = call->plan;
    unsigned char *scratch = cm_lane_of(stream)->scratch;
    const cm_muon_shape shape = cm_muon_shape_of(CM_ARG(call, muon_step, parameter));
    return (work){.shape = shape,
                  .compute = call->attr.compute,
                  .gemm = cm_cpu_of(stream)->kernels.gemm,
                  .x = (float *)(void *)(scratch + p->x),
                  .next = (float *)(void *)(scratch + p->next),
                  .turned = (float *)(void *)(scratch + p->turned),
                  .gram = (float *)(void *)(scratch + p->gram),
                  .update = (float *)(void *)(scratch + p->update),
                  .wide = cm_padded(shape.columns),
                  .narrow = cm_padded(shape.rows)};
}

/* c[rows, n] = a[rows, k] b[k, n], rows of b `b_row` apart. */
static void multiply(const work *w, float *c, int n, const float *a, int a_row, int k, const float *b, int b_row) {
    const cm_gemm g = {.m = w->shape.rows,
                       .n = n,
                       .k = k,
                       .a = a,
                       .lda = a_row,
                       .b = b,
                       .b_panel = CM_GEMM_PANEL,
                       .b_step = (size_t)b_row,
                       .n_load = n,
                       .c = c,
                       .ldc = b_row};
    w->gemm(&g);
}

/* y = scale_y y + scale_x x, rounded, of rows of n numbers. */
static void combine(const work *w, float *y, float scale_y, const float *x, float scale_x, int n, int row) {
    for (int i = 0; i < w->shape.rows; i++)
        for (int j = 0; j < n; j++) {
            const size_t at = (size_t)i * (size_t)row + (size_t)j;
            y[at] = cm_rounded(scale_y * y[at] + scale_x * x[at], w->compute);
        }
}

/* Where element [i, j] of the parameter lies in X. */
static float *x_at(const work *w, int i, int j) {
    return w->x +
           (w->shape.is_turned ? (size_t)j * (size_t)w->wide + (size_t)i : (size_t)i * (size_t)w->wide + (size_t)j);
}

static void begin(const work *w, const cm_call *call, float scale) {
    const cm_tensor *momentum = CM_ARG(call, muon_step, momentum), *gradient = CM_ARG(call, muon_step, gradient);
    memset(w->x, 0, (size_t)w->shape.rows * (size_t)w->wide * sizeof(float));
    double sum = 0.0;
    for (int i = 0; i < momentum->dim[0]; i++) {
        float *m = (float *)momentum->data + (size_t)i * (size_t)momentum->stride;
        const float *g = (const float *)gradient->data + (size_t)i * (size_t)gradient->stride;
        for (int j = 0; j < momentum->dim[1]; j++) {
            const float x = cm_rounded(cm_muon_momentum(m + j, scale * g[j], (float)call->attr.beta1), w->compute);
            *x_at(w, i, j) = x;
            sum += (double)x * (double)x;
        }
    }
    const float norm = fmaxf(cm_rounded((float)sqrt(sum), w->compute), CM_MUON_FLOOR);
    for (size_t i = 0; i < (size_t)w->shape.rows * (size_t)w->wide; i++)
        w->x[i] = cm_rounded(w->x[i] / norm, w->compute);
}

static void turn(const work *w) {
    memset(w->turned, 0, (size_t)w->shape.columns * (size_t)w->narrow * sizeof(float));
    for (int i = 0; i < w->shape.rows; i++)
        for (int j = 0; j < w->shape.columns; j++)
            w->turned[(size_t)j * (size_t)w->narrow + (size_t)i] = w->x[(size_t)i * (size_t)w->wide + (size_t)j];
}

static void iterate(work *w) {
    const int rows = w->shape.rows, columns = w->shape.columns;
    turn(w);
    multiply(w, w->gram, rows, w->x, w->wide, columns, w->turned, w->narrow);
    combine(w, w->gram, 1.0f, w->gram, 0.0f, rows, w->narrow);
    multiply(w, w->update, rows, w->gram, w->narrow, rows, w->gram, w->narrow);
    combine(w, w->update, (float)CM_MUON_C, w->gram, (float)CM_MUON_B, rows, w->narrow);
    multiply(w, w->next, columns, w->update, w->narrow, rows, w->x, w->wide);
    combine(w, w->next, 1.0f, w->x, (float)CM_MUON_A, columns, w->wide);
    float *x = w->x;
    w->x = w->next;
    w->next = x;
}

static void finish(const work *w, const cm_call *call) {
    const cm_tensor *parameter = CM_ARG(call, muon_step, parameter);
    const double rate = call->attr.learning_rate;
    const float keep = (float)(1.0 - rate * call->attr.weight_decay), step = (float)(rate * w->shape.scale);
    for (int i = 0; i < parameter->dim[0]; i++) {
        float *p = (float *)parameter->data + (size_t)i * (size_t)parameter->stride;
        for (int j = 0; j < parameter->dim[1]; j++) p[j] = keep * p[j] - step * *x_at(w, i, j);
    }
}

cm_status cm_cpu_muon_step(cm_stream *stream, const cm_call *call) {
    const float *factor = CM_ARG(call, muon_step, factor)->data;
    if (!cm_step_counts(factor)) return CM_OK;
    work w = work_of(stream, call);
    begin(&w, call, (float)call->attr.gradient_scale * (factor ? factor[0] : 1.0f));
    for (int i = 0; i < CM_MUON_ITERATIONS; i++) iterate(&w);
    finish(&w, call);
    return CM_OK;
}
