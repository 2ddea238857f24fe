/* Matrix products by cuBLASLt. It thinks in columns: a row-major c = a b is for it c^T = b^T a^T, so b comes first. */
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/module/cuda.h"
#include "backend/cuda/module/module.h"
#include "backend/cuda/ops/autotune_check.h"
#include "backend/cuda/ops/product.h"
#include "core/arena.h"
#include "device/cuda/autotuner.h"
#include "device/cuda/timing.h"

struct cm_product_plan {
    cm_cuda_product product;
    cublasLtMatmulDesc_t what; /* owned */
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algorithm;
};

enum { CANDIDATES = 8 };

/* ---- descriptions ---- */

static cm_status describe_matrix(cublasLtMatrixLayout_t *out, cudaDataType_t type, int64_t rows, int64_t columns,
                                 int64_t row_step) {
    cublasStatus_t status = cublasLtMatrixLayoutCreate(out, type, (uint64_t)columns, (uint64_t)rows, row_step);
    return cm_cuda_blas((int)status, "describing a matrix");
}

static cm_status set_what(cublasLtMatmulDesc_t what, cublasLtMatmulDescAttributes_t name, int32_t value) {
    cublasStatus_t status = cublasLtMatmulDescSetAttribute(what, name, &value, sizeof value);
    return cm_cuda_blas((int)status, "describing a matrix product");
}

static cm_status set_bias(const cm_product_plan *plan, const float *bias) {
    if (!plan->product.bias) return CM_OK;
    cublasStatus_t status =
        cublasLtMatmulDescSetAttribute(plan->what, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    return cm_cuda_blas((int)status, "the bias of a matrix product");
}

static int32_t epilogue_of(const cm_cuda_product *p) {
    if (p->relu) return p->bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    return p->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

static const cudaDataType_t types[CM_PRODUCT_TYPES] = {
    [CM_F32] = CUDA_R_32F, [CM_BF16] = CUDA_R_16BF, [CM_F16] = CUDA_R_16F};

static cm_status describe(cm_product_plan *plan) {
    const cm_cuda_product *p = &plan->product;
    const cudaDataType_t type = types[p->type];
    CM_TRY(cm_cuda_blas((int)cublasLtMatmulDescCreate(&plan->what, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                        "describing a matrix product"));
    CM_TRY(set_what(plan->what, CUBLASLT_MATMUL_DESC_TRANSA, p->b_across ? CUBLAS_OP_T : CUBLAS_OP_N));
    CM_TRY(set_what(plan->what, CUBLASLT_MATMUL_DESC_TRANSB, p->a_across ? CUBLAS_OP_T : CUBLAS_OP_N));
    CM_TRY(set_what(plan->what, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(p)));
    CM_TRY(describe_matrix(&plan->a, type, p->a_across ? p->k : p->m, p->a_across ? p->m : p->k, p->a_row));
    CM_TRY(describe_matrix(&plan->b, type, p->b_across ? p->n : p->k, p->b_across ? p->k : p->n, p->b_row));
    return describe_matrix(&plan->c, CUDA_R_32F, p->m, p->n, p->c_row);
}

/* ---- choosing an algorithm ---- */

static cm_status set_preference(cublasLtMatmulPreference_t wish, cublasLtMatmulPreferenceAttributes_t name,
                                const void *value, size_t size) {
    return cm_cuda_blas((int)cublasLtMatmulPreferenceSetAttribute(wish, name, value, size),
                        "choosing a matrix product");
}

/* No sums in the output's place: their order is not fixed. There is no word for the bias, which is aligned (product.h).
 */
static cm_status set_preferences(cublasLtMatmulPreference_t wish, const cm_cuda_product *p) {
    size_t workspace = CM_LIBRARY_BYTES;
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    uint32_t a = cm_alignment_of(p->b_gap), b = cm_alignment_of(p->a_gap), c = cm_alignment_of(p->c_gap);
    CM_TRY(set_preference(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace));
    CM_TRY(set_preference(wish, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions));
    CM_TRY(set_preference(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &a, sizeof a));
    CM_TRY(set_preference(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &b, sizeof b));
    CM_TRY(set_preference(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c, sizeof c));
    return set_preference(wish, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &c, sizeof c);
}

static cm_status find_candidates(cm_stream *stream, const cm_product_plan *plan,
                                 cublasLtMatmulHeuristicResult_t found[CANDIDATES], int *count) {
    cublasLtMatmulPreference_t wish = NULL;
    CM_TRY(cm_cuda_blas((int)cublasLtMatmulPreferenceCreate(&wish), "choosing a matrix product"));
    cm_status status = set_preferences(wish, &plan->product);
    if (status == CM_OK)
        status =
            cm_cuda_blas((int)cublasLtMatmulAlgoGetHeuristic(cm_cuda_of(stream)->blas, plan->what, plan->b, plan->a,
                                                             plan->c, plan->c, wish, CANDIDATES, found, count),
                         "choosing a matrix product");
    cublasLtMatmulPreferenceDestroy(wish);
    if (status == CM_OK && *count == 0)
        status = cm_fail(CM_ERR_DEVICE, "cuBLASLt has no algorithm for a product of [%d, %d] and [%d, %d]",
                         plan->product.m, plan->product.k, plan->product.k, plan->product.n);
    return status;
}

cm_status cm_product_run(cm_stream *stream, const cm_product_plan *plan, const cm_product_data *data) {
    const float one = 1.0f, beta = plan->product.accumulate ? 1.0f : 0.0f;
    CM_TRY(set_bias(plan, data->bias));
    cublasStatus_t status = cublasLtMatmul(cm_cuda_of(stream)->blas, plan->what, &one, data->b, plan->b, data->a,
                                           plan->a, &beta, data->c, plan->c, data->c, plan->c, &plan->algorithm,
                                           cm_library_workspace(stream), CM_LIBRARY_BYTES, cm_cuda_queue(stream));
    return cm_cuda_blas((int)status, "a matrix product");
}

/* Memory to measure on, at addresses as far from multiples of 16 as those of the runs. */
typedef struct tuning {
    cm_stream *stream;
    cm_product_plan *plan;
    cm_buffer a, b, c, bias;
    cm_product_data data;
} tuning;

static void tuning_close(tuning *t) {
    cm_buffer_destroy(&t->a);
    cm_buffer_destroy(&t->b);
    cm_buffer_destroy(&t->c);
    cm_buffer_destroy(&t->bias);
}

static cm_status tuning_alloc(cm_stream *stream, cm_buffer *buffer, size_t bytes, int gap) {
    return cm_buffer_create(buffer, stream->backend->device, bytes + (size_t)gap, "measuring a matrix product");
}

static cm_status tuning_open(tuning *t) {
    const cm_cuda_product *p = &t->plan->product;
    cm_stream *stream = t->stream;
    size_t size = cm_dtype_size(p->type);
    size_t a = (size_t)(p->a_across ? p->k : p->m) * (size_t)p->a_row * size;
    size_t b = (size_t)(p->b_across ? p->n : p->k) * (size_t)p->b_row * size;
    CM_TRY(tuning_alloc(stream, &t->a, a, p->a_gap));
    CM_TRY(tuning_alloc(stream, &t->b, b, p->b_gap));
    CM_TRY(tuning_alloc(stream, &t->c, (size_t)p->m * (size_t)p->c_row * sizeof(float), p->c_gap));
    CM_TRY(tuning_alloc(stream, &t->bias, (size_t)p->n * sizeof(float), 0));
    t->data = (cm_product_data){t->a.base + p->a_gap, t->b.base + p->b_gap, (const float *)(const void *)t->bias.base,
                                (float *)(void *)(t->c.base + p->c_gap)};
    CM_TRY(cm_autotune_check_fill(stream, t->a.base + p->a_gap, p->type, a / size));
    return cm_autotune_check_fill(stream, t->b.base + p->b_gap, p->type, b / size);
}

/* The bias has an address before algorithms are asked for: which there are may depend on it. */
static cm_status enter(void *context, int round, void *candidates, int *count) {
    tuning *t = context;
    cublasLtMatmulHeuristicResult_t found[CANDIDATES];
    cublasLtMatmulAlgo_t *out = candidates;
    int results;
    (void)round;
    CM_TRY(tuning_open(t));
    CM_TRY(set_bias(t->plan, t->data.bias));
    CM_TRY(find_candidates(t->stream, t->plan, found, &results));
    *count = 0;
    for (int i = 0; i < results; i++)
        if (found[i].state == CUBLAS_STATUS_SUCCESS) out[(*count)++] = found[i].algo;
    return CM_OK;
}

/* One that was kept by another library of the same version may be of no use to this one. */
static cm_status use(void *context, const void *candidate) {
    const tuning *t = context;
    cm_product_plan *plan = t->plan;
    cublasLtMatmulHeuristicResult_t needs = {.workspaceSize = 0};
    plan->algorithm = *(const cublasLtMatmulAlgo_t *)candidate;
    CM_TRY(cm_cuda_blas((int)cublasLtMatmulAlgoCheck(cm_cuda_of(t->stream)->blas, plan->what, plan->b, plan->a, plan->c,
                                                     plan->c, &plan->algorithm, &needs),
                        "an algorithm for a matrix product"));
    if (needs.workspaceSize <= CM_LIBRARY_BYTES) return CM_OK;
    return cm_fail(CM_ERR_DEVICE, "an algorithm for a matrix product needs a workspace of %zu bytes, there are %zu",
                   needs.workspaceSize, (size_t)CM_LIBRARY_BYTES);
}

static cm_status run_candidate(void *context) {
    const tuning *t = context;
    return cm_product_run(t->stream, t->plan, &t->data);
}

static cm_status measure(void *context, float *milliseconds) {
    const tuning *t = context;
    return cm_cuda_time(&cm_cuda_stream_of(t->stream)->own, "a matrix product", run_candidate, context, milliseconds);
}

/* Does a NaN in the first number of a show in the first of c? After a relu that makes 0 of it no one would see it
 * again. Where all do so the product is made without its end (dense.c). */
static cm_status agree(void *context, bool first) {
    const tuning *t = context;
    const cm_cuda_product *p = &t->plan->product;
    (void)first;
    if (!p->relu) return CM_OK;
    CM_TRY(cm_autotune_check_put_nan(t->stream, (void *)(uintptr_t)t->data.a, p->type));
    CM_TRY(run_candidate(context));
    return cm_autotune_check_expect_nan(t->stream, t->data.c, CM_F32);
}

/* What decides on an algorithm, as text. */
static void name_product(const cm_cuda_product *p, char key[CM_AUTOTUNE_KEY_BYTES]) {
    snprintf(key, CM_AUTOTUNE_KEY_BYTES, "product %d %d %d %d%d %lld %lld %lld %d%d%d%d %u %u %u", p->m, p->n, p->k,
             p->a_across, p->b_across, (long long)p->a_row, (long long)p->b_row, (long long)p->c_row, (int)p->type,
             p->bias, p->relu, p->accumulate, cm_alignment_of(p->a_gap), cm_alignment_of(p->b_gap),
             cm_alignment_of(p->c_gap));
}

/* Where nothing makes a product with its end that is kept, too: every plan would measure all of it again. */
static cm_status choose_or_know_better(cm_stream *stream, const cm_autotuner *autotuner, bool has_end,
                                       const char *key) {
    const cm_cuda *cuda = cm_cuda_of(stream);
    char none[CM_AUTOTUNE_KEY_BYTES];
    unsigned char known = 1;
    snprintf(none, sizeof none, "none for %.150s", key);
    if (has_end && cm_autotune_cache_find(cuda->autotune_cache, none, &known, sizeof known))
        return cm_fail(CM_ERR_DEVICE, "%s: no way to compute it was of use when they were measured", key);
    cm_status status = cm_autotuner_choose(autotuner, cuda->autotune_cache, key);
    if (status != CM_ERR_DEVICE || !has_end || __atomic_load_n(&cuda->device->lost, __ATOMIC_RELAXED)) return status;
    char why[256];
    snprintf(why, sizeof why, "%s", cm_error_message());
    CM_TRY(cm_autotune_cache_keep(cuda->autotune_cache, none, &known, sizeof known));
    return cm_fail(CM_ERR_DEVICE, "%s", why);
}

static cm_status choose(cm_stream *stream, cm_product_plan *plan) {
    const cm_cuda *cuda = cm_cuda_of(stream);
    tuning t = {.stream = stream, .plan = plan};
    const cm_autotuner autotuner = {.context = &t,
                                    .size = sizeof plan->algorithm,
                                    .rounds = 1,
                                    .log = cuda->device->log_plans,
                                    .enter = enter,
                                    .use = use,
                                    .measure = measure,
                                    .agree = agree};
    char key[CM_AUTOTUNE_KEY_BYTES];
    name_product(&plan->product, key);
    cm_status status = choose_or_know_better(stream, &autotuner, plan->product.bias || plan->product.relu, key);
    tuning_close(&t);
    return status;
}

cm_status cm_product_prepare(cm_stream *stream, const cm_cuda_product *product, cm_product_plan **out) {
    cm_product_plan *plan = NULL;
    CM_TRY(cm_ops_reserve(stream, 0)); /* the libraries' workspace */
    CM_TRY(cm_alloc(&plan, 1, sizeof *plan, "a matrix product"));
    plan->product = *product;
    cm_status status = describe(plan);
    if (status == CM_OK)
        status = set_bias(plan, cm_library_workspace(stream)); /* some address, for the library's check */
    if (status == CM_OK) status = choose(stream, plan);
    if (status != CM_OK) {
        cm_product_free(plan);
        return status;
    }
    *out = plan;
    return CM_OK;
}

void cm_product_free(cm_product_plan *plan) {
    if (!plan) return;
    if (plan->what) cublasLtMatmulDescDestroy(plan->what);
    if (plan->a) cublasLtMatrixLayoutDestroy(plan->a);
    if (plan->b) cublasLtMatrixLayoutDestroy(plan->b);
    if (plan->c) cublasLtMatrixLayoutDestroy(plan->c);
    free(plan);
}
