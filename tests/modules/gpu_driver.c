/* In the place of libcuda.so.1: one GPU, of which nothing more can be asked than that it is there. */
#include "device/cuda/driver.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define cuDeviceGetCount cuDeviceGetCount_of_none
#define CM_CUDA_DEFINE(name, symbol, parameters)                                                                       \
    int symbol parameters;                                                                                             \
    int symbol parameters { return CM_CU_OK; }
CM_CUDA_DRIVER_FUNCTIONS(CM_CUDA_DEFINE)
#undef cuDeviceGetCount

int cuDeviceGetCount(int *count);

int cuDeviceGetCount(int *count) {
    *count = 1;
    return CM_CU_OK;
}
