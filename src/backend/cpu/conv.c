/* Convolutions of NHWC activations as they are: by winograd.h or conv_lines.h where that gains, otherwise with oneDNN
 * and weights packed into the layout that its primitive asks for. */
#include "backend/cpu/conv_lines.h"
#include "backend/cpu/dnnl.h"
#include "backend/cpu/int8.h"
#include "backend/cpu/int8_winograd.h"
#include "backend/cpu/winograd.h"
#include "backend/ref/ref.h"

#include "core/arena.h"

#include <stdlib.h>
#include <string.h>

static int product_of_places(const cm_tensor *t) { return t->dim[0] * t->dim[1] * t->dim[2]; }

static cm_dnnl_shape nhwc(const cm_tensor *t, dnnl_data_type_t type) {
    int64_t h = t->dim[1], w = t->dim[2], c = t->dim[3];
    return (cm_dnnl_shape){.ndim = 4, .dim = {t->dim[0], c, h, w}, .stride = {h * w * c, 1, w * c, c}, .type = type};
}

static cm_dnnl_shape kernel(const cm_tensor *t, dnnl_data_type_t type, bool any) {
    int64_t k = t->dim[1], c = t->dim[3];
    return (cm_dnnl_shape){
        .ndim = 4, .dim = {t->dim[0], c, k, k}, .stride = {t->stride, 1, k * c, c}, .type = type, .any = any};
}

/* What all three directions share; `x`, `weight`, `y` may be gradients. */
static cm_dnnl_conv conv_of(const cm_call *call, const cm_tensor *x, const cm_tensor *weight, const cm_tensor *y,
                            bool bf16) {
    dnnl_data_type_t type = bf16 ? dnnl_bf16 : dnnl_f32;
    return (cm_dnnl_conv){.src = nhwc(x, type),
                          .weight = kernel(weight, type, true),
                          .dst = nhwc(y, type),
                          .stride = call->attr.stride ? call->attr.stride : 1,
                          .padding = weight->dim[1] / 2};
}

/* ---- packed weights ---- */

typedef struct reorder {
    cm_dnnl_op op;
    dnnl_stream_t stream;
    void *scratch; /* owned */
} reorder;

static void free_reorder(void *context) {
    reorder *r = context;
    cm_dnnl_op_free(&r->op);
    if (r->stream) dnnl_stream_destroy(r->stream);
    free(r->scratch);
    free(r);
}

static cm_status fill_reordered(const cm_pack *pack, void *out) {
    const reorder *r = pack->context;
    cm_dnnl_op_set(&r->op, 0, pack->weight);
    cm_dnnl_op_set(&r->op, 1, out);
    return cm_dnnl_op_run(&r->op, r->stream, r->scratch);
}

static cm_status make_reorder(const cm_cpu *cpu, const cm_tensor *weight, cm_dnnl_desc layout, reorder *r) {
    static const int args[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    cm_dnnl_shape plain = kernel(weight, dnnl_f32, false);
    omp_set_num_threads(1);
    CM_TRY(cm_dnnl_check(cm_dnnl_reorder_describe(&r->op.desc, cpu->engine, &plain, layout, false), "a reorder"));
    CM_TRY(cm_dnnl_op_make(&r->op, cpu, args, 2));
    CM_TRY(cm_dnnl_check(dnnl_stream_create(&r->stream, cpu->engine, dnnl_stream_default_flags), "opening a stream"));
    r->scratch = aligned_alloc(CM_ALIGN, cm_align(r->op.scratch_bytes + 1));
    return r->scratch ? CM_OK : cm_fail(CM_ERR_MEMORY, "oneDNN: no memory for a reorder");
}

/* Equal descriptions lead to equal layouts. */
static uint64_t tag_of(const cm_dnnl_conv *conv) {
    const int64_t parts[] = {conv->direction,  conv->src.dim[0], conv->src.dim[1], conv->src.dim[2], conv->src.dim[3],
                             conv->dst.dim[1], conv->stride,     conv->padding,    conv->src.type,   conv->relu,
                             conv->bias.ndim,  conv->dst.type,   conv->dst.dim[2], conv->dst.dim[3]};
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) h = (h ^ (uint64_t)parts[i]) * 0x100000001b3u + (h >> 29);
    return h;
}

static cm_status acquire_reordered(cm_cpu *cpu, const cm_tensor *weight, const cm_dnnl_conv *conv, const cm_dnnl_op *op,
                                   cm_pack **out) {
    reorder *r = NULL;
    CM_TRY(cm_alloc(&r, 1, sizeof *r, "a layout of weights"));
    cm_dnnl_desc layout = cm_dnnl_op_layout(op, DNNL_ARG_WEIGHTS);
    cm_status status = make_reorder(cpu, weight, layout, r);
    if (status != CM_OK) {
        free_reorder(r);
        return status;
    }
    cm_pack wanted = {.layout = CM_PACK_OTHER,
                      .weight = weight->data,
                      .rows = weight->dim[0],
                      .columns = cm_tensor_row_size(weight),
                      .stride = weight->stride,
                      .tag = tag_of(conv),
                      .bytes = dnnl_memory_desc_get_size(layout),
                      .fill = fill_reordered,
                      .context = r,
                      .free_context = free_reorder};
    return cm_pack_acquire(cpu, &wanted, out);
}

/* ---- forward ---- */

typedef struct conv_plan {
    cm_plan plan;
    bool bf16, accumulate;
    cm_dnnl_op op;               /* src, weight, dst, bias? */
    size_t input, output, space; /* places in the scratch memory: converted x, y before it is added, oneDNN's own */
} conv_plan;

static void free_conv(cm_plan *plan) { cm_dnnl_op_free(&((conv_plan *)plan)->op); }

static size_t alloc(size_t *used, size_t bytes) {
    size_t place = *used;
    *used += cm_align(bytes);
    return place;
}

static cm_status describe(cm_cpu *cpu, cm_dnnl_op *op, const cm_dnnl_conv *conv, const_dnnl_primitive_desc_t forward) {
    omp_set_num_threads(1);
    return cm_dnnl_check(cm_dnnl_conv_describe(&op->desc, cpu->engine, conv, forward), "describing a convolution");
}

static cm_status run_forward(cm_stream *stream, const cm_call *call);

static cm_status plan_forward(cm_stream *stream, const cm_call *call, cm_plan **out) {
    static const int args[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS};
    const cm_tensor *x = &call->t[CM_T_conv2d_x], *weight = &call->t[CM_T_conv2d_weight], *y = &call->t[CM_T_conv2d_y];
    cm_cpu *cpu = cm_cpu_of(stream);
    conv_plan *p = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->plan.free_rest = free_conv;
    p->plan.run = run_forward;
    p->bf16 = cm_cpu_uses_bf16(stream, call);
    p->accumulate = call->attr.accumulate >> CM_T_conv2d_y & 1u;
    cm_dnnl_conv conv = conv_of(call, x, weight, y, p->bf16);
    conv.dst.type = dnnl_f32;
    conv.relu = call->attr.activation == CM_ACT_RELU;
    bool bias = call->t[CM_T_conv2d_bias].data != NULL;
    if (bias) conv.bias = (cm_dnnl_shape){.ndim = 1, .dim = {weight->dim[0]}, .stride = {1}, .type = dnnl_f32};
    CM_TRY(describe(cpu, &p->op, &conv, NULL));
    CM_TRY(cm_dnnl_op_make(&p->op, cpu, args, bias ? 4 : 3));
    CM_TRY(acquire_reordered(cpu, weight, &conv, &p->op, &p->plan.packs[0]));
    cm_dnnl_op_set(&p->op, 1, p->plan.packs[0]->data);
    CM_TRY(cm_dnnl_stream_open(cpu, cm_lane_of(stream)));
    size_t used = 0;
    p->input = alloc(&used, p->bf16 ? cm_tensor_count(x) * sizeof(uint16_t) : 0);
    p->output = alloc(&used, p->accumulate ? cm_tensor_count(y) * sizeof(float) : 0);
    p->space = alloc(&used, p->op.scratch_bytes);
    return cm_cpu_reserve(stream, used);
}

/* A contiguous tensor as the primitive wants it: itself, or converted to bfloat16 at `place`. */
static const void *converted(const cm_kernels *kernels, const cm_tensor *t, bool bf16, void *place) {
    if (!bf16) return t->data;
    kernels->bf16_rows(place, t->data, 0, 1, (int)cm_tensor_count(t));
    return place;
}

static void add_to(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

static cm_status run_forward(cm_stream *stream, const cm_call *call) {
    const conv_plan *p = call->plan;
    const cm_tensor *x = &call->t[CM_T_conv2d_x], *y = &call->t[CM_T_conv2d_y];
    cm_cpu_stream *lane = cm_lane_of(stream);
    float *direct = p->accumulate ? (float *)(lane->scratch + p->output) : y->data;
    cm_dnnl_op_set(&p->op, 0, converted(&cm_cpu_of(stream)->kernels, x, p->bf16, lane->scratch + p->input));
    cm_dnnl_op_set(&p->op, 2, direct);
    if (p->op.count == 5) cm_dnnl_op_set(&p->op, 3, call->t[CM_T_conv2d_bias].data);
    CM_TRY(cm_dnnl_op_run(&p->op, lane->dnnl, lane->scratch + p->space));
    if (p->accumulate) add_to(y->data, direct, cm_tensor_count(y));
    return CM_OK;
}

/* ---- backward ---- */

typedef struct conv_backward_plan {
    cm_plan plan;
    bool bf16;
    cm_dnnl_op forward; /* only its description, the hint of the others */
    cm_dnnl_op data;    /* diff src, weight, diff dst */
    cm_dnnl_op weights; /* src, diff weight, diff dst */
    cm_dnnl_op plain;   /* diff weight from its layout to the plain one */
    size_t x, dy, dx, layout, dweight, space;
} conv_backward_plan;

static void free_conv_backward(cm_plan *plan) {
    conv_backward_plan *p = (conv_backward_plan *)plan;
    cm_dnnl_op_free(&p->data);
    cm_dnnl_op_free(&p->weights);
    cm_dnnl_op_free(&p->plain);
    cm_dnnl_op_free(&p->forward);
}

static cm_status plan_data(cm_cpu *cpu, conv_backward_plan *p, const cm_tensor *weight, cm_dnnl_conv conv) {
    static const int args[] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST};
    conv.direction = CM_DNNL_BACKWARD_DATA;
    conv.src.type = dnnl_f32;
    CM_TRY(describe(cpu, &p->data, &conv, p->forward.desc));
    CM_TRY(cm_dnnl_op_make(&p->data, cpu, args, 3));
    CM_TRY(acquire_reordered(cpu, weight, &conv, &p->data, &p->plan.packs[0]));
    cm_dnnl_op_set(&p->data, 1, p->plan.packs[0]->data);
    return CM_OK;
}

static cm_status plan_weights(cm_cpu *cpu, conv_backward_plan *p, const cm_tensor *weight, cm_dnnl_conv conv) {
    static const int args[] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST};
    static const int reorder_args[] = {DNNL_ARG_FROM, DNNL_ARG_TO};
    conv.direction = CM_DNNL_BACKWARD_WEIGHTS;
    conv.weight.type = dnnl_f32;
    CM_TRY(describe(cpu, &p->weights, &conv, p->forward.desc));
    CM_TRY(cm_dnnl_op_make(&p->weights, cpu, args, 3));
    cm_dnnl_shape plain = kernel(weight, dnnl_f32, false);
    cm_dnnl_desc layout = cm_dnnl_op_layout(&p->weights, DNNL_ARG_DIFF_WEIGHTS);
    CM_TRY(cm_dnnl_check(cm_dnnl_reorder_describe(&p->plain.desc, cpu->engine, &plain, layout, true), "a reorder"));
    return cm_dnnl_op_make(&p->plain, cpu, reorder_args, 2);
}

static size_t plan_backward_scratch(conv_backward_plan *p, const cm_call *call) {
    const cm_tensor *dy = &call->t[CM_T_conv2d_backward_dy], *x = &call->t[CM_T_conv2d_backward_x];
    size_t used = 0, own[] = {p->data.scratch_bytes, p->weights.scratch_bytes, p->plain.scratch_bytes}, most = 0;
    for (int i = 0; i < 3; i++) most = own[i] > most ? own[i] : most;
    p->x = alloc(&used, p->bf16 ? cm_tensor_count(x) * sizeof(uint16_t) : 0);
    p->dy = alloc(&used, p->bf16 ? cm_tensor_count(dy) * sizeof(uint16_t) : 0);
    p->dx = alloc(&used, cm_tensor_count(x) * sizeof(float));
    if (p->weights.primitive) {
        p->layout = alloc(&used, dnnl_memory_desc_get_size(cm_dnnl_op_layout(&p->weights, DNNL_ARG_DIFF_WEIGHTS)));
        p->dweight = alloc(&used, cm_tensor_count(&call->t[CM_T_conv2d_backward_weight]) * sizeof(float));
    }
    p->space = alloc(&used, most);
    return used;
}

static cm_status run_backward(cm_stream *stream, const cm_call *call);

static cm_status plan_backward(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *dy = &call->t[CM_T_conv2d_backward_dy], *x = &call->t[CM_T_conv2d_backward_x];
    const cm_tensor *weight = &call->t[CM_T_conv2d_backward_weight], *dx = &call->t[CM_T_conv2d_backward_dx];
    const cm_tensor *dweight = &call->t[CM_T_conv2d_backward_dweight];
    cm_cpu *cpu = cm_cpu_of(stream);
    conv_backward_plan *p = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a plan"));
    *out = &p->plan;
    p->plan.free_rest = free_conv_backward;
    p->plan.run = run_backward;
    /* oneDNN 2.6 gives garbage as bfloat16 weight gradients where the output is one column wide. */
    p->bf16 = cm_cpu_uses_bf16(stream, call) && dy->dim[2] > 1;
    cm_dnnl_conv conv = conv_of(call, x, weight, dy, p->bf16);
    CM_TRY(describe(cpu, &p->forward, &conv, NULL));
    if (dx->data) CM_TRY(plan_data(cpu, p, weight, conv));
    if (dweight->data) CM_TRY(plan_weights(cpu, p, weight, conv));
    CM_TRY(cm_dnnl_stream_open(cpu, cm_lane_of(stream)));
    return cm_cpu_reserve(stream, plan_backward_scratch(p, call));
}

static cm_status run_weights(const conv_backward_plan *p, const cm_call *call, cm_cpu_stream *lane, const void *x,
                             const void *dy) {
    const cm_tensor *dweight = &call->t[CM_T_conv2d_backward_dweight];
    bool accumulate = call->attr.accumulate >> CM_T_conv2d_backward_dweight & 1u;
    float *direct = accumulate ? (float *)(lane->scratch + p->dweight) : dweight->data;
    cm_dnnl_op_set(&p->weights, 0, x);
    cm_dnnl_op_set(&p->weights, 1, lane->scratch + p->layout);
    cm_dnnl_op_set(&p->weights, 2, dy);
    CM_TRY(cm_dnnl_op_run(&p->weights, lane->dnnl, lane->scratch + p->space));
    cm_dnnl_op_set(&p->plain, 0, lane->scratch + p->layout);
    cm_dnnl_op_set(&p->plain, 1, direct);
    CM_TRY(cm_dnnl_op_run(&p->plain, lane->dnnl, lane->scratch + p->space));
    if (accumulate) add_to(dweight->data, direct, cm_tensor_count(dweight));
    return CM_OK;
}

static cm_status run_data(const conv_backward_plan *p, const cm_call *call, cm_cpu_stream *lane, const void *dy) {
    const cm_tensor *dx = &call->t[CM_T_conv2d_backward_dx];
    bool accumulate = call->attr.accumulate >> CM_T_conv2d_backward_dx & 1u;
    float *direct = accumulate ? (float *)(lane->scratch + p->dx) : dx->data;
    cm_dnnl_op_set(&p->data, 0, direct);
    cm_dnnl_op_set(&p->data, 2, dy);
    CM_TRY(cm_dnnl_op_run(&p->data, lane->dnnl, lane->scratch + p->space));
    if (accumulate) add_to(dx->data, direct, cm_tensor_count(dx));
    return CM_OK;
}

static cm_status run_backward(cm_stream *stream, const cm_call *call) {
    const conv_backward_plan *p = call->plan;
    const cm_kernels *kernels = &cm_cpu_of(stream)->kernels;
    cm_cpu_stream *lane = cm_lane_of(stream);
    const cm_tensor *y = &call->t[CM_T_conv2d_backward_dy], *dbias = &call->t[CM_T_conv2d_backward_dbias];
    const void *dy = converted(kernels, y, p->bf16, lane->scratch + p->dy);
    if (p->weights.primitive) {
        const cm_tensor *x = &call->t[CM_T_conv2d_backward_x];
        CM_TRY(run_weights(p, call, lane, converted(kernels, x, p->bf16, lane->scratch + p->x), dy));
    }
    if (dbias->data)
        kernels->column_sums(dbias->data, y->data, y->dim[3], product_of_places(y), y->dim[3],
                             call->attr.accumulate >> CM_T_conv2d_backward_dbias & 1u);
    return p->data.primitive ? run_data(p, call, lane, dy) : CM_OK;
}

/* ---- which of them ---- */

typedef cm_status (*plan_maker)(cm_stream *stream, const cm_call *call, cm_plan **out);

/* Of a layer's ways, the fastest. */
static plan_maker fastest(const cm_stream *stream, const cm_call *call, const cm_tensor *x, const cm_tensor *weight,
                          plan_maker tiles, plan_maker lines, plan_maker any) {
    if (cm_cpu_uses_bf16(stream, call)) return any;
    if (cm_winograd_fits(x, weight, call->attr.stride)) return tiles;
    return cm_conv_lines_fits(x, weight, &call->attr) ? lines : any;
}

static cm_status plan_int8(cm_stream *stream, const cm_call *call, const cm_tensor *x, const cm_tensor *weight,
                           cm_plan **out) {
    if (cm_int8_winograd_fits(cm_cpu_of(stream)->int8, x, weight, call->attr.stride))
        return cm_int8_winograd_plan(stream, call, out);
    return cm_int8_plan(stream, call, NULL, out);
}

cm_status cm_cpu_plan_conv2d(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *x = CM_ARG(call, conv2d, x), *weight = CM_ARG(call, conv2d, weight);
    if (call->attr.compute == CM_I8) return plan_int8(stream, call, x, weight, out);
    return fastest(stream, call, x, weight, cm_winograd_plan, cm_conv_lines_plan, plan_forward)(stream, call, out);
}

/* In floats a norm is a call of its own here. */
cm_status cm_cpu_plan_conv2d_norm(cm_stream *stream, const cm_call *call, cm_plan **out) {
    if (call->attr.compute == CM_I8)
        return plan_int8(stream, call, CM_ARG(call, conv2d_norm, x), CM_ARG(call, conv2d_norm, weight), out);
    CM_TRY(cm_alloc(out, 1, sizeof **out, "a plan"));
    (*out)->run = cm_ref_conv2d_norm;
    return CM_OK;
}

cm_status cm_cpu_plan_conv2d_backward(cm_stream *stream, const cm_call *call, cm_plan **out) {
    const cm_tensor *x = &call->t[CM_T_conv2d_backward_x], *weight = &call->t[CM_T_conv2d_backward_weight];
    return fastest(stream, call, x, weight, cm_winograd_plan_backward, cm_conv_lines_plan_backward,
                   plan_backward)(stream, call, out);
}

cm_status cm_cpu_conv2d(cm_stream *stream, const cm_call *call) {
    return ((const cm_plan *)call->plan)->run(stream, call);
}

cm_status cm_cpu_conv2d_norm(cm_stream *stream, const cm_call *call) {
    return ((const cm_plan *)call->plan)->run(stream, call);
}

cm_status cm_cpu_conv2d_backward(cm_stream *stream, const cm_call *call) {
    return ((const cm_plan *)call->plan)->run(stream, call);
}
