#include "support/far.h"

#include <stdlib.h>
#include <string.h>

#include "support/tree_cpu.h"

/* ---- the device: blocks of the host under addresses that no processor accepts ---- */

static const uintptr_t far_bit = (uintptr_t)1 << 62;
cm_far cm_far_state = {.total = SIZE_MAX, .devices = 1};

static void *far_of(const void *near) { return (void *)((uintptr_t)near ^ far_bit); }
static void *near_of(const void *far) { return far ? (void *)((uintptr_t)far ^ far_bit) : NULL; }
void *cm_far_near(const void *address) { return (void *)((uintptr_t)address & ~far_bit); }

static cm_status take(const cm_device *device, size_t bytes, const char *what, void **out) {
    void *block;
    (void)device;
    CM_TRY(cm_device_cpu.take(&cm_device_cpu, bytes, what, &block));
    size_t taken = __atomic_add_fetch(&cm_far_state.taken, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&cm_far_state.blocks, 1, __ATOMIC_RELAXED);
    if (taken > cm_far_state.peak) cm_far_state.peak = taken;
    *out = far_of(block);
    return CM_OK;
}

static void give(const cm_device *device, void *block, size_t bytes) {
    (void)device;
    if (!block) return;
    __atomic_fetch_sub(&cm_far_state.taken, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&cm_far_state.blocks, 1, __ATOMIC_RELAXED);
    cm_device_cpu.give(&cm_device_cpu, near_of(block), bytes);
}

static cm_status write_far(const cm_device *device, void *to, const void *host, size_t bytes) {
    (void)device;
    memcpy(near_of(to), host, bytes);
    return CM_OK;
}

static cm_status read_far(const cm_device *device, void *host, const void *from, size_t bytes) {
    (void)device;
    memcpy(host, near_of(from), bytes);
    return CM_OK;
}

static cm_status copy_far(const cm_device *device, void *to, const void *from, size_t bytes) {
    (void)device;
    memcpy(near_of(to), near_of(from), bytes);
    return CM_OK;
}

static cm_status say_memory(const cm_device *device, cm_device_memory *out) {
    (void)device;
    *out = (cm_device_memory){.total = cm_far_state.total,
                              .available = cm_far_state.total - cm_far_state.taken,
                              .taken = cm_far_state.taken,
                              .peak = cm_far_state.peak};
    return CM_OK;
}

const cm_device cm_far_device = {.name = "far",
                                 .take = take,
                                 .give = give,
                                 .write = write_far,
                                 .read = read_far,
                                 .copy = copy_far,
                                 .memory = say_memory};

/* ---- the backend ---- */

static cm_status run_far(cm_stream *stream, const cm_call *call) {
    cm_call near = *call;
    for (int i = 0; i < CM_CALL_TENSORS; i++) near.t[i].data = near_of(near.t[i].data);
    return cm_ref_class.run[call->op](stream, &near);
}

static cm_status write_stream(cm_stream *stream, void *to, const void *host, size_t bytes) {
    __atomic_fetch_add(&cm_far_state.copies, 1, __ATOMIC_RELAXED);
    return write_far(stream->backend->device, to, host, bytes);
}

static cm_status read_stream(cm_stream *stream, void *host, const void *from, size_t bytes) {
    __atomic_fetch_add(&cm_far_state.copies, 1, __ATOMIC_RELAXED);
    return read_far(stream->backend->device, host, from, bytes);
}

static cm_status follow(cm_stream *stream, const cm_stream *other) {
    if (stream == other) return cm_fail(CM_ERR_STATE, "a stream that follows itself");
    __atomic_fetch_add(&cm_far_state.follows, 1, __ATOMIC_RELAXED);
    return CM_OK;
}

/* What a pass promises of the calls that it plays: they are those of the last time while the version is the same. */
typedef struct recording {
    uint64_t version;
    int count;
    cm_call *calls;
} recording;

static cm_status play(cm_stream *stream, const cm_call *calls, int count, uint64_t version, void **kept) {
    recording *r = *kept;
    if (!r) {
        *kept = r = calloc(1, sizeof *r);
        __atomic_fetch_add(&cm_far_state.recordings, 1, __ATOMIC_RELAXED);
        r->count = count;
        r->calls = calloc((size_t)count + 1, sizeof *calls);
    }
    if (count != r->count) return cm_fail(CM_ERR_STATE, "a pass of %d calls has %d now", r->count, count);
    bool same = r->version == version && memcmp(r->calls, calls, (size_t)count * sizeof *calls) == 0;
    if (r->calls[0].t[0].data && r->version == version && !same) return cm_fail(CM_ERR_STATE, "calls have changed");
    if (same) __atomic_fetch_add(&cm_far_state.replays, 1, __ATOMIC_RELAXED);
    r->version = version;
    memcpy(r->calls, calls, (size_t)count * sizeof *calls);
    for (int i = 0; i < count; i++) CM_TRY(run_far(stream, &r->calls[i]));
    return CM_OK;
}

/* The work is done each time: what is recorded is that it was there. */
static cm_status record(cm_stream *stream, const char *name, cm_stream_work work, void *context, void **kept) {
    (void)stream, (void)name;
    if (!*kept) {
        *kept = calloc(1, sizeof(recording));
        __atomic_fetch_add(&cm_far_state.recordings, 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&cm_far_state.searches, 1, __ATOMIC_RELAXED);
    return work(context, NULL);
}

static void forget(void *kept) {
    recording *r = kept;
    __atomic_fetch_sub(&cm_far_state.recordings, 1, __ATOMIC_RELAXED);
    free(r->calls);
    free(r);
}

static const cm_backend_class far_class = {
    .name = "cuda",
    .device = &cm_far_device,
    .stream_bytes = CM_FAR_STREAM_BYTES,
    .follow = follow,
    .write = write_stream,
    .read = read_stream,
    .play = play,
    .forget = forget,
    .record = record,
    .search_kernels = &tree_cpu_kernels,
    .run =
        {
#define CM_OP(name, tensors, about) [CM_OP_##name] = run_far,
#include "backend/ops.def"
#undef CM_OP
        },
};

cm_status cm_far_open(cm_backend *backend) {
    backend->kind = &far_class;
    backend->device = &cm_far_device;
    backend->devices = cm_far_state.devices;
    return CM_OK;
}
