/* The CUDA driver as a table of function pointers, found at run time in libcuda.so.1.
 *
 * No header and no library of CUDA is needed to compile this: the types below are those of cuda.h under names of our
 * own (the same struct tags, so that they are the same types where both are seen), and
 * backend/cuda/module/driver_check.c holds the numbers and the functions against those of cuda.h. Tests put a stand-in
 * for the table in its place (tests/support/cuda_fake.h).
 *
 * Results are those of the driver: 0 is success. cm_cuda_result (device/cuda/cuda.h) makes a message of the others.
 */
#ifndef CM_DEVICE_CUDA_DRIVER_H
#define CM_DEVICE_CUDA_DRIVER_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
struct CUgraphNode_st;
typedef int cm_cu_result;
typedef int cm_cu_device;
typedef unsigned long long cm_cu_address;
typedef struct CUctx_st *cm_cu_context;
typedef struct CUstream_st *cm_cu_stream; /* also a cudaStream_t */
typedef struct CUevent_st *cm_cu_event;   /* also a cudaEvent_t  */
typedef struct CUgraph_st *cm_cu_graph;
typedef struct CUgraphExec_st *cm_cu_graph_exec;
typedef struct CUgraphNode_st *cm_cu_graph_node;

typedef int cm_cu_attribute; /* of a device */
typedef int cm_cu_mode;      /* of a capture */

/* What cuGraphExecUpdate says of an update. */
typedef struct cm_cu_update {
    int result; /* 0: done */
    cm_cu_graph_node node, from;
} cm_cu_update;

enum { CM_CU_ID_BYTES = 16 };
typedef unsigned char cm_cu_id[CM_CU_ID_BYTES];

enum { /* results that are told apart; the runtime's numbers are the same */
       CM_CU_OK = 0,
       CM_CU_OUT_OF_MEMORY = 2,
       CM_CU_NO_DEVICE = 100,
       CM_CU_BAD_DEVICE = 101,
       CM_CU_NO_BINARY = 209,
       CM_CU_BAD_PTX_VERSION = 222,
       CM_CU_NOT_READY = 600,
       CM_CU_ILLEGAL_ADDRESS = 700,
       CM_CU_LAUNCH_FAILED = 719,
       CM_CU_ECC = 214,
       CM_CU_UNAVAILABLE = 46,
       CM_CU_MISMATCH = 803, /* the driver's library and its kernel module */
       CM_CU_UNKNOWN = 999
};

enum {                   /* attributes of a device */
       CM_CU_CLOCK = 13, /* kHz, at most */
       CM_CU_MULTIPROCESSORS = 16,
       CM_CU_MEMORY_CLOCK = 36, /* kHz, at most */
       CM_CU_MEMORY_BITS = 37,  /* of its bus */
       CM_CU_MAJOR = 75,
       CM_CU_MINOR = 76
};

enum {
    CM_CU_STREAM_NON_BLOCKING = 1,
    CM_CU_EVENT_BLOCKING = 1, /* the waiting thread sleeps */
    CM_CU_EVENT_NO_TIMING = 2,
    CM_CU_CAPTURE_THREAD = 1
};

/* name of the member, symbol in the library, parameters */
#define CM_CUDA_DRIVER_FUNCTIONS(F)                                                                                    \
    F(init, cuInit, (unsigned flags))                                                                                  \
    F(driver_version, cuDriverGetVersion, (int *version))                                                              \
    F(error_name, cuGetErrorName, (cm_cu_result result, const char **name))                                            \
    F(error_text, cuGetErrorString, (cm_cu_result result, const char **text))                                          \
    F(device_count, cuDeviceGetCount, (int *count))                                                                    \
    F(device_get, cuDeviceGet, (cm_cu_device * device, int ordinal))                                                   \
    F(device_name, cuDeviceGetName, (char *name, int size, cm_cu_device device))                                       \
    F(device_id, cuDeviceGetUuid_v2, (cm_cu_id * id, cm_cu_device device))                                             \
    F(device_attribute, cuDeviceGetAttribute, (int *value, cm_cu_attribute attribute, cm_cu_device device))            \
    F(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, cm_cu_device device))                                       \
    F(context_retain, cuDevicePrimaryCtxRetain, (cm_cu_context * context, cm_cu_device device))                        \
    F(context_release, cuDevicePrimaryCtxRelease_v2, (cm_cu_device device))                                            \
    F(context_use, cuCtxSetCurrent, (cm_cu_context context))                                                           \
    F(context_wait, cuCtxSynchronize, (void))                                                                          \
    F(memory_info, cuMemGetInfo_v2, (size_t * available, size_t * total))                                              \
    F(memory_alloc, cuMemAlloc_v2, (cm_cu_address * block, size_t bytes))                                              \
    F(memory_free, cuMemFree_v2, (cm_cu_address block))                                                                \
    F(pinned_alloc, cuMemHostAlloc, (void **block, size_t bytes, unsigned flags))                                      \
    F(pinned_free, cuMemFreeHost, (void *block))                                                                       \
    F(zero, cuMemsetD8Async, (cm_cu_address to, unsigned char value, size_t bytes, cm_cu_stream stream))               \
    F(write, cuMemcpyHtoDAsync_v2, (cm_cu_address to, const void *host, size_t bytes, cm_cu_stream stream))            \
    F(read, cuMemcpyDtoHAsync_v2, (void *host, cm_cu_address from, size_t bytes, cm_cu_stream stream))                 \
    F(copy, cuMemcpyDtoDAsync_v2, (cm_cu_address to, cm_cu_address from, size_t bytes, cm_cu_stream stream))           \
    F(stream_priorities, cuCtxGetStreamPriorityRange, (int *least, int *greatest))                                     \
    F(stream_create, cuStreamCreateWithPriority, (cm_cu_stream * stream, unsigned flags, int priority))                \
    F(stream_destroy, cuStreamDestroy_v2, (cm_cu_stream stream))                                                       \
    F(stream_wait, cuStreamSynchronize, (cm_cu_stream stream))                                                         \
    F(stream_wait_event, cuStreamWaitEvent, (cm_cu_stream stream, cm_cu_event event, unsigned flags))                  \
    F(event_create, cuEventCreate, (cm_cu_event * event, unsigned flags))                                              \
    F(event_destroy, cuEventDestroy_v2, (cm_cu_event event))                                                           \
    F(event_record, cuEventRecord, (cm_cu_event event, cm_cu_stream stream))                                           \
    F(event_wait, cuEventSynchronize, (cm_cu_event event))                                                             \
    F(event_elapsed, cuEventElapsedTime, (float *milliseconds, cm_cu_event start, cm_cu_event end))                    \
    F(capture_begin, cuStreamBeginCapture_v2, (cm_cu_stream stream, cm_cu_mode mode))                                  \
    F(capture_end, cuStreamEndCapture, (cm_cu_stream stream, cm_cu_graph * graph))                                     \
    F(graph_nodes, cuGraphGetNodes, (cm_cu_graph graph, cm_cu_graph_node * nodes, size_t * count))                     \
    F(graph_destroy, cuGraphDestroy, (cm_cu_graph graph))                                                              \
    F(exec_create, cuGraphInstantiateWithFlags,                                                                        \
      (cm_cu_graph_exec * exec, cm_cu_graph graph, unsigned long long flags))                                          \
    F(exec_update, cuGraphExecUpdate_v2, (cm_cu_graph_exec exec, cm_cu_graph graph, cm_cu_update * outcome))           \
    F(exec_launch, cuGraphLaunch, (cm_cu_graph_exec exec, cm_cu_stream stream))                                        \
    F(exec_destroy, cuGraphExecDestroy, (cm_cu_graph_exec exec))

typedef struct cm_cuda_driver {
#define CM_CUDA_MEMBER(name, symbol, parameters) cm_cu_result(*name) parameters;
    CM_CUDA_DRIVER_FUNCTIONS(CM_CUDA_MEMBER)
#undef CM_CUDA_MEMBER
    void *handle; /* of dlopen, which keeps it in the process; NULL for a stand-in */
} cm_cuda_driver;

/* Opens libcuda.so.1, fills the table and initialises the driver. Errors: CM_ERR_ABSENT says in one line that there is
 * no driver, that it is too old to have a function, or that it sees no device. */
cm_status cm_cuda_driver_open(cm_cuda_driver *driver) CM_MUST_USE;
cm_status cm_cuda_driver_load(cm_cuda_driver *driver, const char *library) CM_MUST_USE; /* from another file */
void cm_cuda_driver_close(cm_cuda_driver *driver);                                      /* a zeroed struct is allowed */

/* Whether this machine has something of NVIDIA's, so that a GPU is expected to be used: the driver's library, a device
 * file, or nvidia-smi on the path. */
bool cm_cuda_is_expected(void);

#ifdef __cplusplus
}
#endif
#endif
