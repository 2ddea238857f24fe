/* The cuda backend's operations on the CPU: its host code, its kernels (lanes.h), and in place of cuBLASLt and cuDNN
 * plain loops. Memory is the host's. */
#ifndef TESTS_BACKEND_CUDA_CPU_H
#define TESTS_BACKEND_CUDA_CPU_H

#include "backend/cuda/ops.h"

extern const cm_backend_class cuda_cpu_class;

/* A backend of this class; and closes it after its streams. */
void cuda_cpu_open(cm_backend *backend);
void cuda_cpu_close(cm_backend *backend);

/* What its device can do: set by the test before passes are created. */
extern cm_ops_limits cuda_cpu_limits;

/* Launches of kernels and products since the start, for tests that count. */
extern int cuda_cpu_launches;

/* Whether the library that these loops stand for has a convolution and the norm behind it in one launch. */
extern bool cuda_cpu_whole;

#endif
