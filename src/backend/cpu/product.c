#include "backend/cpu/product.h"

#include "core/arena.h"
#include "core/log.h"

static int pairs(int n) { return (n + 1) / 2; }

size_t cm_product_alloc(size_t *used, size_t floats) {
    size_t place = *used;
    *used += cm_align(floats * sizeof(float));
    return place;
}

static cm_status acquire(cm_stream *stream, const cm_tensor *weight, int inputs, cm_pack_layout layout, cm_pack **out) {
    cm_pack wanted = {.layout = layout,
                      .kernels = &cm_cpu_of(stream)->kernels,
                      .weight = weight->data,
                      .rows = weight->dim[0],
                      .columns = inputs,
                      .stride = weight->stride};
    cm_pack_describe(&wanted);
    return cm_pack_acquire(cm_cpu_of(stream), &wanted, out);
}

cm_status cm_product_of_rows(cm_stream *stream, const cm_tensor *weight, int inputs, cm_pack_layout layout,
                             const cm_product_shape *shape, size_t *used, cm_product *out, cm_pack **pack) {
    const bool bf16 = shape->bf16, forward = layout == CM_PACK_FORWARD;
    const int depth = bf16 ? pairs(shape->k) : shape->k;
    if (bf16) layout = forward ? CM_PACK_FORWARD_BF16 : CM_PACK_BACKWARD_BF16;
    *out = (cm_product){.shape = *shape};
    out->gemm = (cm_gemm){.m = shape->m,
                          .n = shape->n,
                          .k = depth,
                          .lda = bf16 ? depth : shape->a_row,
                          .ldc = shape->c_row,
                          .accumulate = shape->accumulate};
    if (bf16) out->a = cm_product_alloc(used, (size_t)shape->m * (size_t)depth);
    CM_TRY(acquire(stream, weight, inputs, layout, pack));
    out->gemm.b = (*pack)->data;
    out->gemm.b_step = CM_GEMM_PANEL;
    out->gemm.b_panel = (size_t)depth * CM_GEMM_PANEL;
    return CM_OK;
}

cm_product cm_product_across(const cm_product_shape *shape, size_t *used) {
    const bool bf16 = shape->bf16;
    const int depth = bf16 ? pairs(shape->k) : shape->k, a_row = cm_padded(shape->m), b_row = cm_padded(shape->n);
    cm_product p = {.shape = *shape};
    p.gemm = (cm_gemm){.m = shape->m,
                       .n = shape->n,
                       .k = depth,
                       .lda = bf16 ? a_row : shape->a_row,
                       .b_panel = CM_GEMM_PANEL,
                       .b_step = (size_t)(bf16 ? b_row : shape->b_row),
                       .n_load = bf16 ? b_row : shape->n,
                       .ldc = shape->c_row,
                       .accumulate = shape->accumulate};
    if (!bf16) return p;
    p.a = cm_product_alloc(used, (size_t)depth * (size_t)a_row);
    p.b = cm_product_alloc(used, (size_t)depth * (size_t)b_row);
    return p;
}

static float *scratch_at(const cm_stream *stream, size_t place) {
    return (float *)(void *)(cm_lane_of(stream)->scratch + place);
}

void cm_product_run_rows(cm_stream *stream, const cm_product *product, const cm_gemm *gemm) {
    const cm_kernels *kernels = &cm_cpu_of(stream)->kernels;
    const cm_product_shape *s = &product->shape;
    cm_gemm g = *gemm;
    if (!s->bf16) {
        kernels->gemm(&g);
        return;
    }
    float *a = scratch_at(stream, product->a);
    kernels->bf16_rows(a, g.a, s->a_row, s->m, s->k);
    g.a = a;
    kernels->gemm_bf16(&g);
}

void cm_product_run_across(cm_stream *stream, const cm_product *product, const cm_gemm *gemm) {
    const cm_kernels *kernels = &cm_cpu_of(stream)->kernels;
    const cm_product_shape *s = &product->shape;
    cm_gemm g = *gemm;
    if (!s->bf16) {
        kernels->gemm_across(&g);
        return;
    }
    float *a = scratch_at(stream, product->a), *b = scratch_at(stream, product->b);
    kernels->bf16_pairs(a, g.lda, g.a, s->a_row, s->k, s->m);
    kernels->bf16_pairs(b, (int)g.b_step, g.b, s->b_row, s->k, s->n);
    g.a = a;
    g.b = b;
    kernels->gemm_bf16_across(&g);
}

bool cm_cpu_uses_bf16(const cm_stream *stream, const cm_call *call) {
    const cm_dtype type = call->attr.compute;
    if (stream->backend->native[type]) return type == CM_BF16;
    cm_cpu *cpu = cm_cpu_of(stream);
    pthread_mutex_lock(&cpu->lock);
    bool said = cpu->said_no[type];
    cpu->said_no[type] = true;
    pthread_mutex_unlock(&cpu->lock);
    const char *name = cm_dtype_name(type);
    if (!said) cm_log(CM_INFO, "no instructions for products in %s here: they are done in float32", name);
    return false;
}
