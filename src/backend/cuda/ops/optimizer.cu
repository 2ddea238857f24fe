#include "backend/cuda/ops/optimizer.h"
#include "device/cuda/kernel.cuh"

CM_OPTIMIZER_KERNELS(CM_LAUNCHER)
