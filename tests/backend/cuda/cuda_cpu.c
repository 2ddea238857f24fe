#include "cuda_cpu.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/fused/norm_conv.h"
#include "backend/cuda/fused/norm_grad.h"
#include "backend/cuda/fused/row_kernel.h"
#include "backend/cuda/fused/segments.h"
#include "backend/cuda/module/cuda.h"
#include "backend/cuda/ops/batch_norm_half.h"
#include "backend/cuda/ops/dense.h"
#include "backend/cuda/ops/elementwise.h"
#include "backend/cuda/ops/fake_quantise.h"
#include "backend/cuda/ops/frames.h"
#include "backend/cuda/ops/int8.h"
#include "backend/cuda/ops/layer_norm.h"
#include "backend/cuda/ops/losses.h"
#include "backend/cuda/ops/lstm.h"
#include "backend/cuda/ops/minmax.h"
#include "backend/cuda/ops/muon.h"
#include "backend/cuda/ops/optimizer.h"
#include "backend/cuda/ops/plan.h"
#include "backend/cuda/ops/points.h"
#include "backend/cuda/ops/prefix.h"
#include "backend/cuda/ops/sampled.h"
#include "backend/cuda/ops/shape.h"
#include "backend/cuda/ops/softmax.h"
#include "backend/cuda/ops/sums.h"
#include "backend/cuda/ops/support.h"
#include "backend/ref/ref.h"
#include "support/compiled.h"
#include "support/fenced.h"
#include "support/lanes.h"

int cuda_cpu_launches, cuda_cpu_segments;
void (*cuda_cpu_told)(const char *kernel);
int cuda_cpu_winner = CUDA_CPU_LAST;
cuda_cpu_autotuning cuda_cpu_chosen;
bool cuda_cpu_passes_lose, cuda_cpu_unmeasured;
cm_ops_limits cuda_cpu_limits = {132, (227 << 10) - CM_BLOCK_KEPT, true}; /* an H100 */

/* ---- kernels ---- */

/* Of each launch; true: it is not to run. Those of convolutions, which may be several, are not counted. */
static bool is_told(const char *kernel) {
    cuda_cpu_launches += strcmp(kernel, "convolution") != 0;
    if (cuda_cpu_told) cuda_cpu_told(kernel);
    return cuda_cpu_told;
}

/* The arguments are copied: a kernel gets them by value. */
#define LAUNCHER(name, args) LAUNCHER_WITH(name, args, 0, 0)
#define LAUNCHER_WITH(name, args, used, memory)                                                                        \
    static void name##_body(const void *a, int64_t item, const cm_lanes *lanes) { name(a, item, lanes); }              \
    int name##_launch(const args *a, int64_t items, int lanes, void *queue) {                                          \
        args copy = *a;                                                                                                \
        (void)queue;                                                                                                   \
        if (is_told(#name)) return 0;                                                                                  \
        if (!compiled_run(#name, &copy, sizeof copy, items, lanes, used + memory))                                     \
            lanes_run(name##_body, &copy, items, lanes, memory);                                                       \
        return 0;                                                                                                      \
    }

CM_BATCH_NORM_KERNELS(LAUNCHER)
CM_COLUMNS_KERNELS(LAUNCHER)
CM_DENSE_KERNELS(LAUNCHER)
CM_ELEMENTWISE_KERNELS(LAUNCHER)
CM_FAKE_QUANTISE_KERNELS(LAUNCHER)
CM_FRAMES_KERNELS(LAUNCHER)
CM_INT8_KERNELS(LAUNCHER)
CM_LAYER_NORM_KERNELS(LAUNCHER)
CM_LOSSES_KERNELS(LAUNCHER)
CM_LSTM_KERNELS(LAUNCHER)
CM_MINMAX_KERNELS(LAUNCHER)
CM_MUON_KERNELS(LAUNCHER)
CM_OPTIMIZER_KERNELS(LAUNCHER)
CM_POINTS_KERNELS(LAUNCHER)
CM_PREFIX_KERNELS(LAUNCHER)
CM_SAMPLED_KERNELS(LAUNCHER)
CM_SHAPE_KERNELS(LAUNCHER)
CM_SOFTMAX_KERNELS(LAUNCHER)
CM_SUMS_KERNELS(LAUNCHER)
CM_SUPPORT_KERNELS(LAUNCHER)
CM_NORM_HALF_KERNELS(LAUNCHER)
#define SUM_LAUNCHER(name, args) LAUNCHER_WITH(name, args, 0, copy.memory)
CM_NORM_SUM_KERNELS(SUM_LAUNCHER)
#define ROW_LAUNCHER(name, args) LAUNCHER_WITH(name, args, copy.used, copy.memory)
CM_ROW_KERNELS(ROW_LAUNCHER)
#define TOWER_LAUNCHER(name, args, channels, type) LAUNCHER_WITH(name, args, 0, copy.memory)
CM_TOWER_KERNELS(TOWER_LAUNCHER)
CM_NORM_CONV_KERNELS(TOWER_LAUNCHER)
CM_NORM_GRAD_KERNELS(TOWER_LAUNCHER)

/* ---- products and convolutions ---- */

struct cm_product_plan {
    cm_cuda_product product;
};

bool cuda_cpu_bare;

cm_status cm_product_prepare(cm_stream *stream, const cm_cuda_product *product, cm_product_plan **out) {
    (void)stream;
    if (cuda_cpu_bare && (product->bias || product->relu)) return cm_fail(CM_ERR_DEVICE, "no product with an end");
    *out = malloc(sizeof **out);
    ck_assert_ptr_nonnull(*out);
    ck_assert(!(product->relu && product->accumulate));
    (*out)->product = *product;
    return CM_OK;
}

void cm_product_free(cm_product_plan *plan) { free(plan); }

/* Element (row, k) of an operand, which may lie across. */
static double operand_at(const void *data, int64_t step, bool across, cm_dtype type, int row, int k) {
    int64_t at = across ? k * step + row : row * step + k;
    return (double)(type == CM_F32 ? ((const float *)data)[at] : cm_widen(((const uint16_t *)data)[at], type));
}

/* Whether an address is as far from a multiple of 16 as was said, or nearer to one. */
static bool is_aligned(const void *address, int gap) {
    int there = cm_alignment_gap(address);
    return there == 0 || there == gap || (gap % 8 != 0 && there % 4 == 0);
}

/* An algorithm was chosen for addresses of this alignment: the library need not take others. */
static void check_alignment(const cm_cuda_product *p, const cm_product_data *data) {
    if (!is_aligned(data->a, p->a_gap) || !is_aligned(data->b, p->b_gap) || !is_aligned(data->c, p->c_gap) ||
        (p->bias && cm_alignment_gap(data->bias) != 0))
        ck_abort_msg("a product of [%d, %d] and [%d, %d] on addresses of another alignment", p->m, p->k, p->k, p->n);
}

cm_status cm_product_run(cm_stream *stream, const cm_product_plan *plan, const cm_product_data *data) {
    const cm_cuda_product *p = &plan->product;
    (void)stream;
    check_alignment(p, data);
    if (is_told("product")) return CM_OK;
    for (int i = 0; i < p->m; i++)
        for (int j = 0; j < p->n; j++) {
            float *c = data->c + i * p->c_row + j;
            double sum = p->accumulate ? (double)*c : 0.0;
            for (int k = 0; k < p->k; k++)
                sum += operand_at(data->a, p->a_row, p->a_across, p->type, i, k) *
                       operand_at(data->b, p->b_row, !p->b_across, p->type, j, k);
            if (p->bias) sum += (double)data->bias[j];
            *c = (float)(p->relu && sum <= 0.0 ? 0.0 : sum);
        }
    return CM_OK;
}

struct cm_convolution_plan {
    cm_convolution convolution;
};

/* In 16 bits there need not be another way than that of tensor cores. */
cm_status cm_convolution_prepare(cm_stream *stream, const cm_convolution *convolution, cm_convolution_plan **out) {
    (void)stream;
    if (convolution->type != CM_F32 && (convolution->C % 8 != 0 || convolution->O % 8 != 0))
        ck_abort_msg("a convolution in 16 bits from %d to %d channels", convolution->C, convolution->O);
    *out = malloc(sizeof **out);
    ck_assert_ptr_nonnull(*out);
    (*out)->convolution = *convolution;
    return CM_OK;
}

void cm_convolution_free(cm_convolution_plan *plan) { free(plan); }

/* The numbers of activations in float32; freed by the caller. */
static float *widened(const void *data, size_t n, cm_dtype type) {
    float *wide = malloc(n * sizeof *wide);
    ck_assert_ptr_nonnull(wide);
    if (type == CM_F32) return memcpy(wide, data, n * sizeof *wide);
    for (size_t i = 0; i < n; i++) wide[i] = cm_widen(((const uint16_t *)data)[i], type);
    return wide;
}

/* Tensors x, weight, y of a convolution without data. */
static void shapes_of(const cm_convolution *c, cm_tensor t[3]) {
    int x[4] = {c->B, c->H, c->W, c->C}, weight[4] = {c->O, c->k, c->k, c->C}, y[4] = {c->B, c->P, c->Q, c->O};
    t[0] = cm_tensor_make(NULL, CM_F32, 4, x);
    t[1] = cm_tensor_make(NULL, CM_F32, 4, weight);
    t[2] = cm_tensor_make(NULL, CM_F32, 4, y);
}

/* The call on ref, whose tensors are x, weight, y or their gradients. */
static cm_call ref_call(const cm_convolution *c, const cm_tensor t[3]) {
    cm_call call = {.attr = {.stride = c->stride}};
    if (c->way == CM_CONVOLVE) {
        call.op = CM_OP_conv2d;
        call.t[CM_T_conv2d_x] = t[0], call.t[CM_T_conv2d_weight] = t[1], call.t[CM_T_conv2d_y] = t[2];
        return call;
    }
    call.op = CM_OP_conv2d_backward;
    call.t[CM_T_conv2d_backward_dy] = t[2];
    call.t[CM_T_conv2d_backward_x] = t[0], call.t[CM_T_conv2d_backward_weight] = t[1];
    bool input = c->way == CM_CONVOLVE_INPUT;
    call.t[input ? CM_T_conv2d_backward_dx : CM_T_conv2d_backward_dweight] = t[input ? 0 : 1];
    return call;
}

static const int places[3][3] = {{0, 1, 2}, {2, 1, 0}, {2, 0, 1}}; /* of a, b, out among x, weight, y */

/* As for products. */
static void check_gaps(const cm_convolution *c, const void *a, const void *b, const void *out) {
    const int gaps[3] = {c->x_gap, c->weight_gap, c->y_gap}, *place = places[c->way];
    if (!is_aligned(a, gaps[place[0]]) || !is_aligned(b, gaps[place[1]]) || !is_aligned(out, gaps[place[2]]))
        ck_abort_msg("a convolution on addresses of another alignment");
}

/* The result in float32, for the caller to free; its size. */
static size_t convolve(cm_stream *stream, const cm_convolution *c, const void *a, const void *b, float **out) {
    const int *place = places[c->way];
    cm_tensor t[3];
    shapes_of(c, t);
    float *of_a = widened(a, cm_tensor_count(&t[place[0]]), c->type);
    float *of_b = widened(b, cm_tensor_count(&t[place[1]]), c->type);
    const size_t n = cm_tensor_count(&t[place[2]]);
    float *result = calloc(n, sizeof *result);
    ck_assert_ptr_nonnull(result);
    t[place[0]].data = of_a, t[place[1]].data = of_b, t[place[2]].data = result;
    cm_call call = ref_call(c, t);
    ck_assert_int_eq((c->way == CM_CONVOLVE ? cm_ref_conv2d : cm_ref_conv2d_backward)(stream, &call), CM_OK);
    free(of_a);
    free(of_b);
    *out = result;
    return n;
}

cm_status cm_convolution_run(cm_stream *stream, const cm_convolution_plan *plan, const void *a, const void *b,
                             void *out) {
    const cm_convolution *c = &plan->convolution;
    float *result;
    check_gaps(c, a, b, out);
    if (is_told("convolution")) return CM_OK;
    const size_t n = convolve(stream, c, a, b, &result);
    uint16_t *half = out;
    float *wide = out;
    for (size_t i = 0; i < n; i++) {
        if (c->accumulate) result[i] += c->type == CM_F32 ? wide[i] : cm_widen(half[i], c->type);
        if (c->type == CM_F32)
            wide[i] = result[i];
        else
            half[i] = cm_to_half(result[i], c->type);
    }
    free(result);
    return CM_OK;
}

struct cm_convolution_norm_plan {
    cm_convolution_norm norm;
};

bool cuda_cpu_whole;

/* A measurement overwrites what it reads of activations. */
static void overwrite(const void *numbers, cm_dtype type, size_t n) {
    for (size_t i = 0; i < n * cm_dtype_size(type); i++) ((unsigned char *)(uintptr_t)numbers)[i] = 0x5a;
}

/* Where one launch is to be had it is taken; else the other ones are run, as if they were measured. */
cm_status cm_convolution_norm_prepare(cm_stream *stream, const cm_convolution_norm *norm,
                                      const cm_convolution_norm_data *data, const cm_convolution_fallback *fallback,
                                      cm_convolution_norm_plan **out) {
    const cm_convolution *c = &norm->convolution;
    ck_assert(c->way == CM_CONVOLVE && c->type != CM_F32 && !c->accumulate && c->x_gap == 0 && c->weight_gap == 0 &&
              norm->adds == !!data->residual);
    *out = NULL;
    overwrite(data->x, c->type, (size_t)c->B * (size_t)c->H * (size_t)c->W * (size_t)c->C);
    if (norm->adds)
        overwrite(data->residual, norm->residual, (size_t)c->B * (size_t)c->P * (size_t)c->Q * (size_t)c->O);
    if (!cuda_cpu_whole) return fallback->run(stream, fallback->context);
    *out = malloc(sizeof **out);
    ck_assert_ptr_nonnull(*out);
    (*out)->norm = *norm;
    return CM_OK;
}

void cm_convolution_norm_free(cm_convolution_norm_plan *plan) { free(plan); }

/* Element i of the result; sum: of the convolution. */
static float normalised(const cm_convolution_norm *norm, const cm_convolution_norm_data *data, size_t i, float sum) {
    const size_t o = i % (size_t)norm->convolution.O;
    float value = (sum - data->mean[o]) / sqrtf(data->variance[o] + data->epsilon) * data->scale[o] + data->shift[o];
    if (norm->adds)
        value += norm->residual == CM_F32 ? ((const float *)data->residual)[i]
                                          : cm_widen(((const uint16_t *)data->residual)[i], norm->residual);
    return norm->relu && value < 0.0f ? 0.0f : value;
}

cm_status cm_convolution_norm_run(cm_stream *stream, const cm_convolution_norm_plan *plan,
                                  const cm_convolution_norm_data *data) {
    const cm_convolution_norm *norm = &plan->norm;
    float *sums;
    if (cm_alignment_gap(data->x) || cm_alignment_gap(data->weight) || cm_alignment_gap(data->residual) ||
        cm_alignment_gap(data->y))
        ck_abort_msg("a convolution and its norm on addresses that are not aligned");
    const size_t n = convolve(stream, &norm->convolution, data->x, data->weight, &sums);
    for (size_t i = 0; i < n; i++) {
        const float value = normalised(norm, data, i, sums[i]);
        if (norm->y == CM_F32)
            ((float *)data->y)[i] = value;
        else
            ((uint16_t *)data->y)[i] = cm_to_half(value, norm->y);
    }
    free(sums);
    return CM_OK;
}

/* ---- the stream ---- */

enum { GUARD = 64, GUARD_BYTE = 0x5a };

typedef struct cpu_stream {
    unsigned char *workspace; /* [bytes + GUARD] */
    size_t bytes;             /* as reserved last */
    void *plans;
} cpu_stream;

static cpu_stream *cpu_stream_of(const cm_stream *stream) { return stream->state; }

void *cm_ops_queue(const cm_stream *stream) { return stream->state; }
void *cm_ops_workspace(const cm_stream *stream) { return cpu_stream_of(stream)->workspace; }
void **cm_ops_plans(const cm_stream *stream) { return &cpu_stream_of(stream)->plans; }
void *cm_ops_weights(const cm_stream *stream) { return stream->backend->state; }
const cm_device *cm_ops_device(const cm_stream *stream) { return stream->backend->device; }

cm_ops_limits cm_ops_limits_of(const cm_stream *stream) {
    (void)stream;
    return cuda_cpu_limits;
}

/* All of them run, as where they are measured. */
cm_status cm_ops_choose(cm_stream *stream, const char *key, const cm_cuda_candidate candidate[], int count,
                        int *winner) {
    (void)stream;
    ck_assert_int_lt(strlen(key), CM_AUTOTUNE_KEY_BYTES);
    memcpy(cuda_cpu_chosen.key, key, strlen(key) + 1);
    for (int i = 0; i < count && !cuda_cpu_unmeasured; i++) {
        const int before = cuda_cpu_launches;
        CM_TRY(candidate[i].launch(candidate[i].context));
        cuda_cpu_chosen.launches[i] = cuda_cpu_launches - before;
    }
    *winner = cuda_cpu_winner == CUDA_CPU_LAST ? count - 1 : cuda_cpu_winner;
    if (cuda_cpu_passes_lose && strncmp(key, "pass ", 5) == 0) *winner = 0;
    return CM_OK;
}

static void check_guard(const cpu_stream *l) {
    for (int i = 0; l->workspace && i < GUARD; i++)
        if (l->workspace[l->bytes + i] != GUARD_BYTE) ck_abort_msg("written behind the workspace");
}

/* Memory of just this size, full of NaN: what a call finds there is no one's. */
cm_status cm_ops_reserve(cm_stream *stream, size_t bytes) {
    cpu_stream *l = cpu_stream_of(stream);
    check_guard(l);
    free(l->workspace);
    l->workspace = malloc(bytes + GUARD);
    if (!l->workspace) ck_abort_msg("no memory");
    memset(l->workspace, 0xff, bytes);
    memset(l->workspace + bytes, GUARD_BYTE, GUARD);
    l->bytes = bytes;
    return CM_OK;
}

void *cm_ops_borrow(cm_stream *stream, size_t bytes) {
    ck_assert_uint_le(bytes, CM_OPS_BORROWED);
    ck_assert_int_eq(cm_ops_reserve(stream, bytes), CM_OK);
    return cpu_stream_of(stream)->workspace;
}

cm_status cm_ops_launched(const cm_stream *stream, int result, const char *what) {
    (void)stream;
    return result ? cm_fail(CM_ERR_DEVICE, "%s: error %d", what, result) : CM_OK;
}

/* ---- the class ---- */

static cm_status stream_open(cm_stream *stream) {
    stream->state = calloc(1, sizeof(cpu_stream));
    ck_assert_ptr_nonnull(stream->state);
    return CM_OK;
}

static void stream_close(cm_stream *stream) {
    cm_cuda_plans_free(stream);
    check_guard(cpu_stream_of(stream));
    free(cpu_stream_of(stream)->workspace);
    free(stream->state);
}

static size_t workspace(const cm_call *call) {
    return cm_cuda_ops[call->op].workspace ? cm_cuda_ops[call->op].workspace(call) : 0;
}

static cm_status prepare(cm_stream *stream, cm_call *call) {
    call->plan = NULL;
    CM_TRY(cm_ops_reserve(stream, workspace(call)));
    return cm_cuda_ops[call->op].prepare ? cm_cuda_ops[call->op].prepare(stream, call) : CM_OK;
}

static cm_status repack(cm_backend *backend, const void *block, size_t bytes, cm_pool *pool) {
    (void)pool;
    return cm_weights_renew(backend->state, NULL, block, bytes) ? CM_ERR_DEVICE : CM_OK;
}

static cm_status renew(cm_stream *stream, const void *block, size_t bytes) {
    return repack(stream->backend, block, bytes, NULL);
}

static cm_status open_state(cm_backend *backend) {
    for (int type = 0; type < CM_PRODUCT_TYPES; type++) backend->native[type] = true;
    return cm_weights_open(&backend->state);
}

static void close_state(cm_backend *backend) { cm_weights_close(backend->state); }

/* The runs are the backend's own functions, on workspace of the size that they say. */
static cm_status run(cm_stream *stream, const cm_call *call) {
    CM_TRY(cm_ops_reserve(stream, workspace(call)));
    return cm_cuda_ops[call->op].run(stream, call);
}

static cm_status fuse(cm_stream *stream, const cm_call_list *calls, void **kept) {
    cm_fused_segments *whole;
    cm_status status = cm_fused_segments_create(stream, calls, true, &whole);
    *kept = whole;
    return status;
}

static cm_status run_one(cm_stream *stream, const cm_call *call, void *context) {
    (void)context;
    return run(stream, call);
}

static cm_status enter_branch(cm_stream *stream, const cm_call *call, void *context, cm_stream **out) {
    (void)call, (void)context;
    *out = stream;
    return CM_OK;
}

static const cm_segment_runner runner = {run_one, enter_branch, NULL};

/* Nothing is captured. */
static cm_status run_list(cm_stream *stream, const cm_call_list *calls, bool captures, void **kept) {
    (void)captures;
    return cm_fused_segments_run(*kept, stream, calls, &runner);
}

cm_status cuda_cpu_prepare_segments(cm_stream *stream, const cm_call_list *calls, void **kept) {
    cm_fused_segments *all;
    CM_TRY(cm_fused_segments_create(stream, calls, false, &all));
    *kept = all;
    return CM_OK;
}

cm_status cuda_cpu_run_segments(cm_stream *stream, const cm_call_list *calls, bool captures, void **kept) {
    cm_fused_segments *all = *kept;
    if (!all) CM_TRY(cuda_cpu_prepare_segments(stream, calls, kept));
    all = *kept;
    if (!cm_fused_segments_is_whole(all)) cuda_cpu_segments += cm_fused_segments_count(all);
    return run_list(stream, calls, captures, kept);
}

static void destroy_graph(void *kept) { cm_fused_segments_free(kept); }

const cm_backend_class cuda_cpu_class = {
    .name = "cuda's operations on the CPU",
    .device = &fenced_device,
    .takes_half = true,
    .takes_int8 = true,
    .branches = CM_CALL_BRANCHES,
    .open = open_state,
    .close = close_state,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .prepare = prepare,
    .workspace = workspace,
    .repack = repack,
    .renew = renew,
    .fuse = fuse,
    .run_list = run_list,
    .destroy_graph = destroy_graph,
    .run =
        {
#define CM_OP(name, ...) [CM_OP_##name] = run,
#include "backend/ops.def"
#undef CM_OP
        },
};

void cuda_cpu_open(cm_backend *backend) {
    *backend = (cm_backend){.kind = &cuda_cpu_class, .device = &fenced_device};
    ck_assert_int_eq(open_state(backend), CM_OK);
}

void cuda_cpu_close(cm_backend *backend) { close_state(backend); }
