/* A stand-in for the CUDA driver: device memory is memory of the host, streams run what they are given at once, graphs
 * are lists of launches. It breaks where the driver would: a call without a current context, waiting for the device
 * while a stream captures, memory that a thread takes or what it waits for while it captures, a branch of a capture
 * that nothing follows, memory that was freed twice. One at a time per process. */
#ifndef CM_TESTS_CUDA_FAKE_H
#define CM_TESTS_CUDA_FAKE_H

#include "device/cuda/driver.h"

typedef struct cm_cuda_fake {
    /* what it shows; set by the test before use */
    int version, devices, major, minor;
    size_t total, context; /* bytes of the device, and what a context takes of them */
    float milliseconds;    /* its clock, for events; the test's kernels put it on */
    /* faults: from call `fail_at` (0: the next) of the function named `fail` on, `fail_times` calls return fail_result
     */
    const char *fail;
    int fail_at, fail_times, fail_result;
    /* what happened */
    size_t taken;                        /* bytes of device memory that are out */
    int blocks, pinned, streams, events; /* that are open */
    int contexts, graphs, executables;
    int priority;     /* of the stream that was opened last; from 0 to -5, the greatest */
    int slept;        /* waits for events that do not spin */
    int misuse;       /* calls that the driver would have refused */
    char misused[64]; /* the last one */
} cm_cuda_fake;

extern cm_cuda_fake cm_fake;

/* Resets the stand-in to one GPU, CUDA 13.0, capability 9.0, 1 GB, and returns its table. */
const cm_cuda_driver *cm_fake_driver(void);

int cm_fake_calls(const char *name); /* how often a function was called, "exec_launch" */

/* A kernel: runs work(argument) on the stream, or records it where the stream captures. */
int cm_fake_launch(cm_cu_stream stream, void (*work)(void *), void *argument);

#endif
