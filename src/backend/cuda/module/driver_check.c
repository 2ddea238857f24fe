/* The numbers, types and functions that device/cuda/driver.h and nvml.h have without CUDA's headers are CUDA's. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "device/cuda/driver.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)

SAME(CM_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(CM_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME(CM_CU_BAD_DEVICE, CUDA_ERROR_INVALID_DEVICE);
SAME(CM_CU_NO_BINARY, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(CM_CU_BAD_PTX_VERSION, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(CM_CU_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(CM_CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(CM_CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
SAME(CM_CU_ECC, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(CM_CU_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(CM_CU_MISMATCH, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(CM_CU_UNKNOWN, CUDA_ERROR_UNKNOWN);

/* The runtime's errors go through the same translation. */
SAME(CM_CU_OUT_OF_MEMORY, cudaErrorMemoryAllocation);
SAME(CM_CU_ILLEGAL_ADDRESS, cudaErrorIllegalAddress);
SAME(CM_CU_LAUNCH_FAILED, cudaErrorLaunchFailure);
SAME(CM_CU_NO_BINARY, cudaErrorNoKernelImageForDevice);
SAME(CM_CU_UNAVAILABLE, cudaErrorDevicesUnavailable);

SAME(CM_CU_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(CM_CU_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CM_CU_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CM_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(CM_CU_EVENT_BLOCKING, CU_EVENT_BLOCKING_SYNC);
SAME(CM_CU_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING);
SAME(CM_CU_CAPTURE_THREAD, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(sizeof(cm_cu_address), sizeof(CUdeviceptr));
SAME(sizeof(cm_cu_update), sizeof(CUgraphExecUpdateResultInfo));
SAME(sizeof(cm_cu_result), sizeof(CUresult));
SAME(sizeof(cm_cu_device), sizeof(CUdevice));
SAME(sizeof(cm_cu_attribute), sizeof(CUdevice_attribute));
SAME(sizeof(cm_cu_mode), sizeof(CUstreamCaptureMode));
SAME(sizeof(cm_cu_id), sizeof(CUuuid));

/* Each function of the table is what cuda.h calls it as: with the names that it has for the types that we have as
 * numbers and bytes, and which the lines above compare. */
#define cm_cu_result    CUresult
#define cm_cu_update    CUgraphExecUpdateResultInfo
#define cm_cu_attribute CUdevice_attribute
#define cm_cu_mode      CUstreamCaptureMode
#define cm_cu_id        CUuuid
#define CHECK(name, symbol, parameters)                                                                                \
    _Static_assert(__builtin_types_compatible_p(CUresult(*) parameters, __typeof__(&symbol)), #symbol);
CM_CUDA_DRIVER_FUNCTIONS(CHECK)

/* The same of NVML, whose header some toolkits leave out. */
#if __has_include(<nvml.h>)
#include <nvml.h>
#include <stddef.h>

#include "device/cuda/nvml.h"

SAME(CM_NVML_OK, NVML_SUCCESS);
SAME(CM_NVML_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
SAME(CM_NVML_NOT_FOUND, NVML_ERROR_NOT_FOUND);
SAME(CM_NVML_USE_SAMPLES, NVML_GPU_UTILIZATION_SAMPLES);
SAME(CM_NVML_UNSIGNED, NVML_VALUE_TYPE_UNSIGNED_INT);
SAME(sizeof(cm_nvml_result), sizeof(nvmlReturn_t));
SAME(sizeof(cm_nvml_sampling), sizeof(nvmlSamplingType_t));
SAME(sizeof(cm_nvml_type), sizeof(nvmlValueType_t));
SAME(sizeof(cm_nvml_rates), sizeof(nvmlUtilization_t));
SAME(offsetof(cm_nvml_rates, gpu), offsetof(nvmlUtilization_t, gpu));
SAME(sizeof(cm_nvml_bytes), sizeof(nvmlMemory_t));
SAME(offsetof(cm_nvml_bytes, total), offsetof(nvmlMemory_t, total));
SAME(offsetof(cm_nvml_bytes, used), offsetof(nvmlMemory_t, used));
SAME(sizeof(cm_nvml_sample), sizeof(nvmlSample_t));
SAME(offsetof(cm_nvml_sample, value), offsetof(nvmlSample_t, sampleValue));

#define cm_nvml_result   nvmlReturn_t
#define cm_nvml_sampling nvmlSamplingType_t
#define cm_nvml_type     nvmlValueType_t
#define cm_nvml_rates    nvmlUtilization_t
#define cm_nvml_bytes    nvmlMemory_t
#define cm_nvml_sample   nvmlSample_t
#define CHECK_NVML(result, name, symbol, parameters)                                                                   \
    _Static_assert(__builtin_types_compatible_p(result(*) parameters, __typeof__(&symbol)), #symbol);
CM_NVML_FUNCTIONS(CHECK_NVML)
#endif
