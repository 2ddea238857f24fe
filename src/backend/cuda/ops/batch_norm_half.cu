#include "device/cuda/kernel.cuh"

#include "backend/cuda/ops/batch_norm_half.h"

CM_NORM_SUM_KERNELS(CM_WIDE_BLOCK_LAUNCHER)
CM_NORM_HALF_KERNELS(CM_LAUNCHER)
