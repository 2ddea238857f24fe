/* CUDA devices: what is there, and one opened device with its memory, streams and captured graphs. Host code only: the
 * driver is a table of functions (driver.h), kernels and vendor libraries are in backend/cuda/.
 *
 *   driver.h           the driver as a table: types, results, loading it
 *   properties.c       what there is, and whether code can run on it
 *   device.c, stream.c an opened device and its memory; streams and events in their order
 *   graph.c            captured graphs
 *   result.c           results of the driver as lines
 *   autotune_cache.h   what was measured once, on disk; autotuner.h finds the fastest of several ways, candidates.h of
 *                      works; timing.h measures them as graphs
 *   gpu_use.h          how much a GPU is used, as NVML (nvml.h) knows it
 *   lanes.h            how kernels are written; kernel.cuh runs them on a GPU, launch.h declares their entries; known.h
 *                      remembers what was asked of each device
 *
 * An opened device holds the primary context of its GPU, which the CUDA runtime, cuBLASLt and cuDNN share. Its
 * cm_device (alloc, free, write, read, copy) waits for everything that runs on the device: it is for setting up, for
 * checkpoints and for tests. What happens in every step goes through a stream, in the stream's order, without waiting
 * for others.
 *
 * A stream is a CUDA stream with pinned staging memory and a workspace. Streams may be used by different threads at the
 * same time, a stream by one at a time. All entry points make the device's context current for the calling thread.
 *
 * Errors of the driver are one line: what was being done, what the driver says, what to do. CM_ERR_ABSENT: no driver,
 * no device, too old a driver, too low a compute capability. CM_ERR_MEMORY: out of memory. CM_ERR_DEVICE: all others;
 * after those that leave the context unusable (`lost`) every call fails at once with the same line.
 */
#ifndef CM_DEVICE_CUDA_CUDA_H
#define CM_DEVICE_CUDA_CUDA_H

#include "device/cuda/driver.h"
#include "device/device.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what is there --------------------------------------------------------------------------------------------- */

typedef struct cm_cuda_properties {
    char name[96];
    int major, minor; /* compute capability */
    int multiprocessors;
    size_t bytes; /* memory of the device */
    cm_cu_id id;  /* no other GPU has it */
} cm_cuda_properties;

/* What code for GPUs was compiled for. */
typedef struct cm_cuda_code {
    int toolkit;       /* CUDA version it needs, as 13000 for 13.0: a driver of the same major version or newer */
    const char *archs; /* compute capabilities with machine code: "75 80 90 120" */
    int ptx;           /* compute capability of its PTX: 120; 0: none */
} cm_cuda_code;

cm_status cm_cuda_count(const cm_cuda_driver *driver, int *count) CM_MUST_USE; /* CM_ERR_ABSENT if there is none */
cm_status cm_cuda_describe(const cm_cuda_driver *driver, int ordinal, cm_cuda_properties *out) CM_MUST_USE;

/* What a GPU is able to at its highest clocks, per second. */
typedef struct cm_cuda_limits {
    double flop;  /* of products in bfloat16 with float32 sums; 0: cards of its architecture differ, or are not known */
    double bytes; /* read and written in its memory; 0: the driver does not say */
} cm_cuda_limits;

cm_cuda_limits cm_cuda_limits_of(const cm_cuda_driver *driver, const cm_cuda_properties *properties, int ordinal);

/* Can such code run here? Errors: CM_ERR_ABSENT says why not: driver too old, compute capability too low. */
cm_status cm_cuda_check_driver(const cm_cuda_driver *driver, const cm_cuda_code *code) CM_MUST_USE;
cm_status cm_cuda_check_device(const cm_cuda_properties *properties, const cm_cuda_code *code) CM_MUST_USE;

/* ---- an opened device ------------------------------------------------------------------------------------------ */

typedef struct cm_cuda_device {
    cm_device base;               /* first: its functions take &device->base */
    const cm_cuda_driver *driver; /* borrowed */
    cm_cuda_properties properties;
    int ordinal;
    cm_cu_device handle;
    cm_cu_context context;
    cm_cu_stream copies; /* of the cm_device's functions */
    int least, greatest; /* priorities of streams; the same where the device has none */
    /* Held while a graph is captured, and while the whole device is waited for, or by the driver may be (memory taken
     * and given back, graphs given back, code that a library loads and unloads): CUDA allows them not at once. The
     * capture is of its thread alone (CM_CU_CAPTURE_THREAD), so what else others do does not disturb it. */
    pthread_mutex_t capture_lock;
    bool log_plans;       /* log every capture and every plan (CUMIND_LOG_PLANS=1) */
    size_t taken, peak;   /* bytes of device memory through alloc, now and at most; under `capture_lock` */
    size_t context_bytes; /* what the context itself took when the device was opened */
    bool is_warm;         /* it has been brought to its full speed (timing.h); atomic */
    int lost;             /* the result that made the context unusable, 0 if none; atomic */
    uint64_t graphs_launched, nodes_launched; /* so far, nodes of all these graphs together; atomic */
} cm_cuda_device;

/* Opens device `ordinal`. `code` is checked against it unless NULL. The caller closes it after all its streams and
 * buffers. */
cm_status cm_cuda_open(const cm_cuda_driver *driver, int ordinal, const cm_cuda_code *code,
                       cm_cuda_device **out) CM_MUST_USE;
void cm_cuda_close(cm_cuda_device *device); /* NULL is allowed */

/* Makes its context the calling thread's. */
cm_status cm_cuda_enter(const cm_cuda_device *device) CM_MUST_USE;

/* Begins and ends what waits for the whole device, as libraries may where they open, close and measure, or captures; a
 * thread that captures is refused a second one (CM_ERR_STATE). */
cm_status cm_cuda_capture_lock(cm_cuda_device *device, const char *what) CM_MUST_USE;
void cm_cuda_capture_unlock(cm_cuda_device *device);

/* Waits for all that runs on it. Not while this thread captures a graph (CM_ERR_STATE). */
cm_status cm_cuda_wait(cm_cuda_device *device) CM_MUST_USE;

/* A status from a result of the driver or the runtime (their numbers agree): CM_OK for 0, else the line
 * "WHAT: what the driver says; what to do". */
cm_status cm_cuda_result(cm_cuda_device *device, int result, const char *what) CM_MUST_USE;

/* ---- streams --------------------------------------------------------------------------------------------------- */

typedef struct cm_cuda_graph cm_cuda_graph;

enum { CM_CUDA_STAGES = 4 };

typedef struct cm_cuda_stream {
    cm_cuda_device *device; /* borrowed */
    cm_cu_stream handle;
    unsigned char *stage[CM_CUDA_STAGES]; /* pinned, [stage_bytes] each, used in turn; NULL until first needed */
    cm_cu_event staged[CM_CUDA_STAGES];   /* when the copy out of the stage is done */
    size_t stage_bytes;
    int next_stage;
    void *workspace; /* on the device, [workspace_bytes], 256-byte-aligned */
    size_t workspace_bytes;
    uint64_t generation; /* grows when the workspace moves: graphs that hold its address are captured again */
} cm_cuda_stream;

/* Blocks of an urgent one's launches start before those of other streams that wait for a multiprocessor. */
cm_status cm_cuda_stream_open(cm_cuda_device *device, bool is_urgent, cm_cuda_stream *stream) CM_MUST_USE;
void cm_cuda_stream_close(cm_cuda_stream *stream); /* waits for it; after its graphs; a zeroed struct is allowed */

/* At least `bytes` of workspace; while preparing only, never while a graph is captured. Content is lost, also where
 * there is no memory for more (CM_ERR_MEMORY); then the size stays. */
cm_status cm_cuda_stream_reserve(cm_cuda_stream *stream, size_t bytes) CM_MUST_USE;

/* Copies in the stream's order. write: host[bytes] may be changed once it returns (it lies in pinned memory by then).
 * read: returns with the bytes in host, so it waits for the stream. */
cm_status cm_cuda_stream_write(cm_cuda_stream *stream, void *to, const void *host, size_t bytes) CM_MUST_USE;
cm_status cm_cuda_stream_read(cm_cuda_stream *stream, void *host, const void *from, size_t bytes) CM_MUST_USE;
cm_status cm_cuda_stream_synchronize(cm_cuda_stream *stream) CM_MUST_USE;
/* The same with pinned memory, without waiting: host[bytes] belongs to the copy until the stream is through with it. */
cm_status cm_cuda_stream_push(cm_cuda_stream *stream, void *to, const void *pinned, size_t bytes) CM_MUST_USE;
cm_status cm_cuda_stream_pull(cm_cuda_stream *stream, void *pinned, const void *from, size_t bytes) CM_MUST_USE;

/* A point in a stream's order: what it had been given when the event was last recorded. */
typedef struct cm_cuda_event cm_cuda_event;
/* Records *event, NULL at first; the caller's, through cm_cuda_event_destroy. */
cm_status cm_cuda_event_record(cm_cuda_event **event, cm_cuda_stream *stream) CM_MUST_USE;
void cm_cuda_event_destroy(cm_cuda_event *event); /* NULL is allowed; what follows it still does */
/* What is launched on `stream` from now on runs after the event, of the same device. */
cm_status cm_cuda_stream_wait_event(cm_cuda_stream *stream, const cm_cuda_event *event) CM_MUST_USE;
cm_status cm_cuda_event_synchronize(const cm_cuda_event *event) CM_MUST_USE; /* sleeps until it has been reached */

/* ---- captured graphs ------------------------------------------------------------------------------------------- */

/* Work that is captured: launches on stream->handle, no waiting, no taking of memory. It runs once eagerly (libraries
 * load their kernels then), is captured the second time and replayed from then on. */
typedef cm_status (*cm_cuda_work)(void *context);

typedef struct cm_cuda_key {
    const char *name;   /* in the log, as "training step" */
    uint64_t shapes;    /* whatever decides what is launched */
    uint64_t addresses; /* version of the addresses and scalars that the work is given */
    bool passing;       /* thrown away soon: its captures are no lines */
} cm_cuda_key;

/* Runs `work` as a graph kept in *graph (NULL at first; owned by the caller through cm_cuda_graph_destroy). Where the
 * key differs from the last one the work is captured again and the executable graph updated in place, or made again
 * where that cannot be. Where a capture comes to nothing the work runs eagerly, which a warning says; after three in a
 * row no more are tried. With log_plans each capture is a line. Errors: those of work; CM_ERR_DEVICE. */
cm_status cm_cuda_graph_run(cm_cuda_stream *stream, const cm_cuda_key *key, cm_cuda_work work, void *context,
                            cm_cuda_graph **graph) CM_MUST_USE;
void cm_cuda_graph_destroy(cm_cuda_graph *graph); /* NULL is allowed */

typedef struct cm_cuda_graph_counts {
    uint64_t eager, captures, updates, instantiations, launches;
    size_t nodes; /* of the last capture */
} cm_cuda_graph_counts;
cm_cuda_graph_counts cm_cuda_graph_count(const cm_cuda_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
