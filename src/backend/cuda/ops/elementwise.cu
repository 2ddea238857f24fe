#include "backend/cuda/ops/elementwise.h"
#include "device/cuda/kernel.cuh"

CM_ELEMENTWISE_KERNELS(CM_LAUNCHER)
