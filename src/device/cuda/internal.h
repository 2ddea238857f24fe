/* What the files of device/cuda/ share. */
#ifndef CM_DEVICE_CUDA_INTERNAL_H
#define CM_DEVICE_CUDA_INTERNAL_H

#include "device/cuda/cuda.h"

/* Calls a function of the driver's table and returns from the calling function unless it succeeds. */
#define CM_CU_TRY(device, what, call)                                                                                  \
    do {                                                                                                               \
        int cm_cu_result_ = (device)->driver->call;                                                                    \
        if (cm_cu_result_ != CM_CU_OK) return cm_cuda_result(device, cm_cu_result_, what);                             \
    } while (0)

/* "what: name, text of a result", in the driver's words; for results that come before a device is open. */
cm_status cm_cuda_refused(const cm_cuda_driver *driver, int result, const char *what) CM_MUST_USE;
#endif
