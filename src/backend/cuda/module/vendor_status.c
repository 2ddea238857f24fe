/* Errors of the libraries. */
#include <cublasLt.h>
#include <cudnn.h>
#include <string.h>

#include "backend/cuda/module/cuda.h"

cm_status cm_cuda_blas(int status, const char *what) {
    if (status == CUBLAS_STATUS_SUCCESS) return CM_OK;
    return cm_fail(status == CUBLAS_STATUS_ALLOC_FAILED ? CM_ERR_MEMORY : CM_ERR_DEVICE, "%s: cuBLASLt says %s", what,
                   cublasLtGetStatusString((cublasStatus_t)status));
}

cm_status cm_cuda_dnn(int status, const char *what) {
    const bool full = status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
                      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    char last[256] = "";
    if (status == CUDNN_STATUS_SUCCESS) return CM_OK;
    cudnnGetLastErrorString(last, sizeof last); /* what it did not like, which may be several lines */
    const int length = (int)strcspn(last, "\n");
    return cm_fail(full ? CM_ERR_MEMORY : CM_ERR_DEVICE, "%s: cuDNN says %s%s%.*s", what,
                   cudnnGetErrorString((cudnnStatus_t)status), length > 0 ? ": " : "", length, last);
}
