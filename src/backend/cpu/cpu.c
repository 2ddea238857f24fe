#include "backend/cpu/cpu.h"

#include "backend/classes.h"
#include "backend/cpu/dnnl.h"
#include "backend/ref/ref.h"
#include "core/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cm_op_run reference[CM_OP_COUNT] = {
#define CM_OP(name, ...) [CM_OP_##name] = cm_ref_##name,
#include "backend/ops.def"
#undef CM_OP
};

static const cm_op_run own[CM_OP_COUNT] = {
    [CM_OP_dense] = cm_cpu_dense,
    [CM_OP_dense_backward] = cm_cpu_dense_backward,
    [CM_OP_lstm] = cm_cpu_lstm,
    [CM_OP_lstm_backward] = cm_cpu_lstm_backward,
    [CM_OP_conv2d] = cm_cpu_conv2d,
    [CM_OP_conv2d_backward] = cm_cpu_conv2d_backward,
    [CM_OP_conv2d_norm] = cm_cpu_conv2d_norm,
    [CM_OP_muon_step] = cm_cpu_muon_step,
};

void cm_cpu_use(cm_cpu *cpu, const cm_kernels *kernels, bool bf16) {
    const cm_kernels *narrow = bf16 ? cm_kernels_bf16() : NULL;
    cpu->kernels = *kernels;
    if (narrow) {
        cpu->kernels.gemm_bf16 = narrow->gemm_bf16;
        cpu->kernels.gemm_bf16_across = narrow->gemm_bf16_across;
        cpu->kernels.bf16_rows = narrow->bf16_rows;
        cpu->kernels.bf16_pairs = narrow->bf16_pairs;
    }
    for (int op = 0; op < CM_OP_COUNT; op++) {
        cpu->run[op] = reference[op];
        if (kernels->run[op]) cpu->run[op] = kernels->run[op];
        if (own[op]) cpu->run[op] = own[op];
    }
}

static cm_status open_cpu(cm_backend *backend) {
    cm_cpu *cpu = NULL;
    CM_TRY(cm_alloc(&cpu, 1, sizeof *cpu, "backend cpu"));
    cm_status status = cm_dnnl_open(cpu);
    if (status != CM_OK) {
        free(cpu);
        return status;
    }
    const cm_int8_kernels *int8[CM_INT8_KERNELS];
    int count;
    char version[32];
    cm_dnnl_version(version);
    backend->native[CM_BF16] = cm_kernels_bf16() != NULL;
    cm_cpu_use(cpu, cm_kernels_usable(&count)[0], backend->native[CM_BF16]);
    cm_int8_usable(int8, &count);
    cpu->int8 = int8[0];
    pthread_mutex_init(&cpu->lock, NULL);
    const bool has_bf16 = backend->native[CM_BF16], has_bytes = cpu->int8->numbers == 4;
    const char *vnni = strstr(cpu->int8->name, "VNNI"), *bytes = vnni ? vnni : cpu->int8->name;
    snprintf(cpu->description, sizeof cpu->description, "%s%s%s%s, %s", cpu->kernels.name,
             has_bf16 ? " with bfloat16" : "", has_bytes ? has_bf16 ? " and " : " with " : "", has_bytes ? bytes : "",
             version);
    backend->state = cpu;
    return CM_OK;
}

static void close_cpu(cm_backend *backend) {
    cm_cpu *cpu = backend->state;
    cm_dnnl_close(cpu);
    pthread_mutex_destroy(&cpu->lock);
    free(cpu->packs);
    free(cpu->compare);
    free(cpu);
}

static cm_status open_lane(cm_stream *stream) { return cm_alloc(&stream->state, 1, sizeof(cm_cpu_stream), "a stream"); }

static void close_lane(cm_stream *stream) {
    cm_cpu_stream *lane = cm_lane_of(stream);
    cm_cpu_free_plans(stream);
    cm_dnnl_stream_close(lane);
    cm_cpu_free_scratch(stream);
    free(lane);
}

static size_t held(const cm_backend *backend) {
    cm_cpu *cpu = backend->state;
    pthread_mutex_lock(&cpu->lock);
    size_t bytes = cpu->compare_bytes + cpu->scratch_bytes;
    for (int i = 0; i < cpu->pack_count; i++) bytes += cpu->packs[i]->bytes;
    pthread_mutex_unlock(&cpu->lock);
    return bytes;
}

static cm_status repack(cm_backend *backend, const void *block, size_t bytes, cm_pool *pool) {
    return cm_pack_refresh(backend->state, block, bytes, pool);
}

static const char *describe(const cm_backend *backend) { return ((const cm_cpu *)backend->state)->description; }

/* The best there is for each operation was found when the backend opened. */
static cm_status run(cm_stream *stream, const cm_call *call) { return cm_cpu_of(stream)->run[call->op](stream, call); }

const cm_backend_class cm_cpu_class = {
    .name = "cpu",
    .device = &cm_device_cpu,
    .takes_int8 = true,
    .open = open_cpu,
    .close = close_cpu,
    .stream_open = open_lane,
    .stream_close = close_lane,
    .prepare = cm_cpu_prepare,
    .held = held,
    .repack = repack,
    .describe = describe,
    .run =
        {
#define CM_OP(name, ...) [CM_OP_##name] = run,
#include "backend/ops.def"
#undef CM_OP
        },
};
