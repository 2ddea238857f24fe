/* The cuda backend's operations on the CPU: its host code, its kernels (lanes.h), and in place of cuBLASLt and cuDNN
 * plain loops. Memory is the host's. */
#ifndef TESTS_BACKEND_CUDA_CPU_H
#define TESTS_BACKEND_CUDA_CPU_H

#include "backend/cuda/ops/ops.h"
#include "device/cuda/autotuner.h"

extern const cm_backend_class cuda_cpu_class;

/* In place of its `run_list`, and `prepare_list`: with fused segments, as on a GPU, which of passes that train are
 * chosen by an estimate or, with the second one, as if they were measured; how many of those that are not a whole pass
 * have run.
 */
cm_status cuda_cpu_run_segments(cm_stream *stream, const cm_call_list *calls, bool captures, void **kept);
cm_status cuda_cpu_prepare_segments(cm_stream *stream, const cm_call_list *calls, void **kept);
extern int cuda_cpu_segments;

/* A backend of this class; and closes it after its streams. */
void cuda_cpu_open(cm_backend *backend);
void cuda_cpu_close(cm_backend *backend);

/* What its device can do: set by the test before passes are created. */
extern cm_ops_limits cuda_cpu_limits;

/* Which candidate is the fastest of those that an operation has measured; and the last that were: their key, and what
 * each has launched. */
enum { CUDA_CPU_LAST = -1 };
typedef struct cuda_cpu_autotuning {
    char key[CM_AUTOTUNE_KEY_BYTES];
    int launches[CM_AUTOTUNER_MOST];
} cuda_cpu_autotuning;
extern int cuda_cpu_winner;
extern bool cuda_cpu_passes_lose; /* a whole pass as one launch, whoever else wins */
extern bool cuda_cpu_unmeasured;  /* no candidate runs */
extern cuda_cpu_autotuning cuda_cpu_chosen;

/* Launches of kernels and products since the start, for tests that count. */
extern int cuda_cpu_launches;

/* In place of running kernels and products it is told of each: for tests that count those of sizes that take long here.
 * NULL, as at first: they run. */
extern void (*cuda_cpu_told)(const char *kernel);

/* Whether the libraries that these loops stand for have no product with bias or relu after it. */
extern bool cuda_cpu_bare;

/* Whether the library that these loops stand for has a convolution and the norm after it in one launch. */
extern bool cuda_cpu_whole;

#endif
