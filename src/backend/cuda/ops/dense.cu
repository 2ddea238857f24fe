#include "backend/cuda/ops/dense.h"
#include "device/cuda/kernel.cuh"

CM_DENSE_KERNELS(CM_LAUNCHER)
