/* The class of the cuda backend: opening, streams, describing; the entry of its module (backend/module.h). */
#include "backend/cuda/module/cuda.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/module/module.h"
#include "backend/cuda/ops/plan.h"
#include "backend/cuda/ops/weights.h"
#include "backend/module.h"
#include "core/arena.h"
#include "core/log.h"

static const cm_cuda_code code = {CUDART_VERSION, CM_CUDA_ARCHS, CM_CUDA_PTX};

/* ---- backend ---- */

static cm_status open_cache(cm_cuda *cuda) {
    char folder[512], identity[256];
    bool kept = cm_autotune_cache_folder(folder, sizeof folder);
    snprintf(identity, sizeof identity, "%s, capability %d.%d, cuBLASLt %zu, cuDNN %zu", cuda->device->properties.name,
             cuda->device->properties.major, cuda->device->properties.minor, cublasLtGetVersion(), cudnnGetVersion());
    return cm_autotune_cache_open(kept ? folder : NULL, identity, &cuda->autotune_cache);
}

static void describe_all(cm_cuda *cuda) {
    const cm_cuda_properties *p = &cuda->device->properties;
    size_t dnn = cudnnGetVersion();
    snprintf(cuda->description, sizeof cuda->description, "%s (%d.%d), CUDA %d.%d, cuDNN %zu.%zu.%zu", p->name,
             p->major, p->minor, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, dnn / 10000, dnn % 10000 / 100,
             dnn % 100);
}

/* Places are counted among the devices that CUDA_VISIBLE_DEVICES shows. */
static cm_status open_all(cm_cuda *cuda, cm_backend *backend) {
    CM_TRY(cm_cuda_driver_open(&cuda->driver));
    CM_TRY(cm_cuda_count(&cuda->driver, &backend->devices));
    CM_TRY(cm_cuda_open(&cuda->driver, backend->place % backend->devices, &code, &cuda->device));
    CM_TRY(cm_cuda_result(cuda->device, (int)cudaSetDevice(cuda->device->ordinal), "the CUDA runtime"));
    CM_TRY(cm_cuda_blas((int)cublasLtCreate(&cuda->blas), "opening cuBLASLt"));
    CM_TRY(open_cache(cuda));
    describe_all(cuda);
    cm_cuda_nvtx_open();
    return cm_weights_open(&cuda->weights);
}

static void close_all(cm_cuda *cuda) {
    if (cuda->device && cm_cuda_enter(cuda->device) == CM_OK) {
        cm_weights_close(cuda->weights);
        if (cuda->blas) cublasLtDestroy(cuda->blas);
    }
    cm_autotune_cache_close(cuda->autotune_cache);
    cm_cuda_close(cuda->device);
    cm_cuda_driver_close(&cuda->driver);
    free(cuda);
}

static cm_status open_cuda(cm_backend *backend) {
    cm_cuda *cuda = NULL;
    CM_TRY(cm_alloc(&cuda, 1, sizeof *cuda, "backend cuda"));
    cm_status status = open_all(cuda, backend);
    if (status != CM_OK) {
        close_all(cuda);
        return status;
    }
    backend->state = cuda;
    backend->device = &cuda->device->base;
    _Static_assert((int)CM_DEVICE_ID_BYTES == (int)CM_CU_ID_BYTES, "an id of a device");
    memcpy(backend->device_id, cuda->device->properties.id, sizeof backend->device_id);
    backend->native[CM_BF16] = cuda->device->properties.major >= 8; /* tensor cores with it */
    backend->native[CM_F16] = true;
    return CM_OK;
}

static void close_cuda(cm_backend *backend) { close_all(backend->state); }

static const char *describe(const cm_backend *backend) { return ((const cm_cuda *)backend->state)->description; }

/* What changed the block may still run. On the device's own stream, and waited for: other streams may run next. */
static cm_status repack(cm_backend *backend, const void *block, size_t bytes, cm_pool *pool) {
    cm_cuda *cuda = backend->state;
    cm_cu_stream queue = cuda->device->copies;
    (void)pool;
    CM_TRY(cm_cuda_wait(cuda->device));
    CM_TRY(cm_cuda_result(cuda->device, cm_weights_renew(cuda->weights, queue, block, bytes), "copies of weights"));
    return cm_cuda_result(cuda->device, (int)cudaStreamSynchronize(queue), "copies of weights");
}

/* ---- streams ---- */

static void close_dnn(cm_cuda_device *device, cm_cuda_stream_state *s) {
    if (!s->dnn || cm_cuda_capture_lock(device, "closing cuDNN") != CM_OK) return;
    cudnnDestroy(s->dnn); /* waits for the device */
    s->dnn = NULL;
    cm_cuda_capture_unlock(device);
}

cm_status cm_cuda_dnn_open(cm_stream *stream) {
    cm_cuda_stream_state *s = cm_cuda_stream_of(stream);
    cm_cuda_device *device = cm_cuda_of(stream)->device;
    if (s->dnn) return CM_OK;
    CM_TRY(cm_cuda_capture_lock(device, "opening cuDNN"));
    const cudnnStatus_t opened = cudnnCreate(&s->dnn);
    cm_cuda_capture_unlock(device);
    CM_TRY(cm_cuda_dnn((int)opened, "opening cuDNN"));
    cm_status status = cm_cuda_dnn((int)cudnnSetStream(s->dnn, s->own.handle), "opening cuDNN");
    if (status != CM_OK) close_dnn(device, s);
    return status;
}

static void close_stream(cm_stream *stream) {
    cm_cuda_stream_state *s = cm_cuda_stream_of(stream);
    if (cm_cuda_enter(cm_cuda_of(stream)->device) == CM_OK) {
        if (cm_cuda_stream_synchronize(&s->own) != CM_OK)
            cm_log(CM_WARNING, "closing a stream: %s", cm_error_message());
        cm_cuda_plans_free(stream);
        close_dnn(cm_cuda_of(stream)->device, s);
    }
    cm_cuda_side_stream_close(stream);
    cm_cuda_stream_close(&s->own);
    free(s);
    stream->state = NULL;
}

static cm_status open_stream(cm_stream *stream) {
    CM_TRY(cm_alloc(&stream->state, 1, sizeof(cm_cuda_stream_state), "a stream"));
    cm_status status =
        cm_cuda_stream_open(cm_cuda_of(stream)->device, stream->is_urgent, &cm_cuda_stream_of(stream)->own);
    if (status != CM_OK) close_stream(stream);
    return status;
}

static cm_status write_stream(cm_stream *stream, void *to, const void *host, size_t bytes) {
    return cm_cuda_stream_write(&cm_cuda_stream_of(stream)->own, to, host, bytes);
}

static cm_status read_stream(cm_stream *stream, void *host, const void *from, size_t bytes) {
    return cm_cuda_stream_read(&cm_cuda_stream_of(stream)->own, host, from, bytes);
}

static cm_status push_stream(cm_stream *stream, void *to, const void *pinned, size_t bytes) {
    return cm_cuda_stream_push(&cm_cuda_stream_of(stream)->own, to, pinned, bytes);
}

static cm_status pull_stream(cm_stream *stream, void *pinned, const void *from, size_t bytes) {
    return cm_cuda_stream_pull(&cm_cuda_stream_of(stream)->own, pinned, from, bytes);
}

static cm_status event_record(cm_stream *stream, void **state) {
    cm_cuda_event *set = *state;
    cm_status status = cm_cuda_event_record(&set, &cm_cuda_stream_of(stream)->own);
    *state = set;
    return status;
}

static cm_status event_wait(cm_stream *stream, void *state) {
    return cm_cuda_stream_wait_event(&cm_cuda_stream_of(stream)->own, state);
}

static cm_status event_synchronize(void *state) { return cm_cuda_event_synchronize(state); }

static void event_destroy(void *state) { cm_cuda_event_destroy(state); }

/* After what changed the block, before what the stream is given next. */
static cm_status renew(cm_stream *stream, const void *block, size_t bytes) {
    CM_TRY(cm_cuda_enter(cm_cuda_of(stream)->device));
    return cm_ops_launched(stream, cm_weights_renew(cm_ops_weights(stream), cm_ops_queue(stream), block, bytes),
                           "copies of weights");
}

/* ---- calls ---- */

static size_t workspace(const cm_call *call) {
    const cm_cuda_op *op = &cm_cuda_ops[call->op];
    return op->workspace ? op->workspace(call) : 0;
}

static cm_status prepare(cm_stream *stream, cm_call *call) {
    const cm_cuda_op *op = &cm_cuda_ops[call->op];
    call->plan = NULL;
    CM_TRY(cm_cuda_enter(cm_cuda_of(stream)->device));
    if (!op->run) return cm_fail(CM_ERR_ABSENT, "backend cuda has no operation %s", cm_op_name(call->op));
    if (op->workspace) CM_TRY(cm_ops_reserve(stream, op->workspace(call)));
    CM_TRY(cm_cuda_side_stream_reserve(stream, call, workspace(call)));
    return op->prepare ? op->prepare(stream, call) : CM_OK;
}

static cm_status run(cm_stream *stream, const cm_call *call) {
    CM_TRY(cm_cuda_enter(cm_cuda_of(stream)->device));
    return cm_cuda_ops[call->op].run(stream, call);
}

static cm_replays replays(const cm_backend *backend) {
    const cm_cuda_device *device = ((const cm_cuda *)backend->state)->device;
    return (cm_replays){__atomic_load_n(&device->graphs_launched, __ATOMIC_RELAXED),
                        __atomic_load_n(&device->nodes_launched, __ATOMIC_RELAXED)};
}

static const cm_backend_class class_of_cuda = {
    .name = "cuda",
    .open = open_cuda,
    .close = close_cuda,
    .takes_half = true,
    .takes_int8 = true,
    .branches = CM_CALL_BRANCHES,
    .stream_bytes = CM_LIBRARY_BYTES,
    .stream_open = open_stream,
    .stream_close = close_stream,
    .prepare = prepare,
    .workspace = workspace,
    .repack = repack,
    .renew = renew,
    .describe = describe,
    .queue = cm_ops_queue,
    .write = write_stream,
    .read = read_stream,
    .push = push_stream,
    .pull = pull_stream,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_synchronize = event_synchronize,
    .event_destroy = event_destroy,
    .fuse = cm_cuda_fuse,
    .prepare_list = cm_cuda_prepare_list,
    .run_list = cm_cuda_run_list,
    .destroy_graph = cm_cuda_destroy_graph,
    .capture = cm_cuda_capture,
    .replays = replays,
    .search_kernels = &cm_cuda_search_kernels,
    .agent_kernels = &cm_cuda_agent_kernels,
    .run =
        {
#define CM_OP(name, ...) [CM_OP_##name] = run,
#include "backend/ops.def"
#undef CM_OP
        },
};

const cm_backend_class *cumind_module(const cm_module_stamp **stamp);

const cm_backend_class *cumind_module(const cm_module_stamp **stamp) {
    *stamp = &cm_module_stamp_here;
    return &class_of_cuda;
}
