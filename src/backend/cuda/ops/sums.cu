#include "backend/cuda/ops/sums.h"
#include "device/cuda/kernel.cuh"

CM_SUMS_KERNELS(CM_LAUNCHER)
