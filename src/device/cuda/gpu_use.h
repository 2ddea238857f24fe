/* How much one GPU is used, by all programs together, as NVML (nvml.h) knows it. The GPU is found by its id, so that
 * CUDA_VISIBLE_DEVICES and CUDA's order of devices lead to no other one; of a part of a GPU (MIG) NVML knows the memory
 * alone. Asking costs some system calls and disturbs nothing that runs on the GPU. By one thread at a time.
 */
#ifndef CM_DEVICE_CUDA_GPU_USE_H
#define CM_DEVICE_CUDA_GPU_USE_H

#include "device/cuda/driver.h"
#include "device/cuda/nvml.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_gpu_use {
    const cm_nvml *nvml; /* borrowed */
    cm_nvml_device device;
    unsigned long long seen; /* stamp of the newest sample that was read */
} cm_gpu_use;

/* Errors: CM_ERR_ABSENT: NVML does not know the GPU. */
cm_status cm_gpu_use_find(const cm_nvml *nvml, const cm_cu_id id, cm_gpu_use *out) CM_MUST_USE;

/* *share <- 0 .. 1. Errors: CM_ERR_ABSENT: NVML refuses the number, in its words; *share is NAN. */

/* Of the time in which a kernel ran: the mean since it was last asked for, as far back as the driver's samples go
 * (seconds); where there are none, of the driver's last sampling period. */
cm_status cm_gpu_use_kernels(cm_gpu_use *gpu, double *share) CM_MUST_USE;
/* Of the device's memory, what is taken. */
cm_status cm_gpu_use_memory(cm_gpu_use *gpu, double *share) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
