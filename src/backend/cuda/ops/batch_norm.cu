#include "backend/cuda/ops/batch_norm.h"
#include "device/cuda/kernel.cuh"

CM_BATCH_NORM_KERNELS(CM_LAUNCHER)
