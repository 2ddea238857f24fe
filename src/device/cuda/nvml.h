/* NVML, the library of NVIDIA's driver that nvidia-smi asks, as a table of function pointers, found at run time in
 * libnvidia-ml.so.1. As with driver.h no header and no library of NVIDIA is needed to compile this, and tests put a
 * stand-in in its place; where the toolkit has nvml.h, backend/cuda/module/driver_check.c holds the table against it.
 *
 * Results are NVML's: 0 is success. gpu_use.h is what asks for numbers.
 */
#ifndef CM_DEVICE_CUDA_NVML_H
#define CM_DEVICE_CUDA_NVML_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nvmlDevice_st;
typedef struct nvmlDevice_st *cm_nvml_device;
typedef int cm_nvml_result;
typedef int cm_nvml_sampling; /* which samples */
typedef int cm_nvml_type;     /* of a sample's value */

/* Percent of the driver's last sampling period, a sixth of a second to a second long. */
typedef struct cm_nvml_rates {
    unsigned gpu;    /* in which a kernel ran */
    unsigned memory; /* in which the device's memory was read or written */
} cm_nvml_rates;

typedef struct cm_nvml_bytes {
    unsigned long long total, unused, used;
} cm_nvml_bytes;

typedef struct cm_nvml_sample {
    unsigned long long stamp; /* microseconds */
    union {
        unsigned number; /* where the type is CM_NVML_UNSIGNED */
        double other;
    } value;
} cm_nvml_sample;

enum {
    CM_NVML_OK = 0,
    CM_NVML_NOT_SUPPORTED = 3,
    CM_NVML_NOT_FOUND = 6,
    CM_NVML_USE_SAMPLES = 1, /* of the percentages that cm_nvml_rates.gpu is one of */
    CM_NVML_UNSIGNED = 1
};

/* result, name of the member, symbol in the library, parameters */
#define CM_NVML_FUNCTIONS(F)                                                                                           \
    F(cm_nvml_result, init, nvmlInit_v2, (void))                                                                       \
    F(cm_nvml_result, shutdown, nvmlShutdown, (void))                                                                  \
    F(const char *, result_text, nvmlErrorString, (cm_nvml_result result))                                             \
    F(cm_nvml_result, find, nvmlDeviceGetHandleByUUID, (const char *id, cm_nvml_device *out))                          \
    F(cm_nvml_result, rates, nvmlDeviceGetUtilizationRates, (cm_nvml_device device, cm_nvml_rates * out))              \
    F(cm_nvml_result, samples, nvmlDeviceGetSamples,                                                                   \
      (cm_nvml_device device, cm_nvml_sampling which, unsigned long long after, cm_nvml_type *type, unsigned *count,   \
       cm_nvml_sample *out))                                                                                           \
    F(cm_nvml_result, memory, nvmlDeviceGetMemoryInfo, (cm_nvml_device device, cm_nvml_bytes * out))

typedef struct cm_nvml {
#define CM_NVML_MEMBER(result, name, symbol, parameters) result(*name) parameters;
    CM_NVML_FUNCTIONS(CM_NVML_MEMBER)
#undef CM_NVML_MEMBER
    void *handle; /* of dlopen, which keeps it in the process; NULL: not open, or a stand-in */
} cm_nvml;

/* Opens libnvidia-ml.so.1, fills the table and starts the library. Errors: CM_ERR_ABSENT says in one line that it is
 * not there, that it lacks a function, or that it does not start. */
cm_status cm_nvml_open(cm_nvml *nvml) CM_MUST_USE;
cm_status cm_nvml_load(cm_nvml *nvml, const char *library) CM_MUST_USE; /* from another file */
void cm_nvml_close(cm_nvml *nvml);                                      /* a zeroed struct is allowed */

#ifdef __cplusplus
}
#endif
#endif
