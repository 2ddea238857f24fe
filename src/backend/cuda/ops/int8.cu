#include "backend/cuda/ops/int8.h"
#include "device/cuda/kernel.cuh"

CM_INT8_KERNELS(CM_LAUNCHER)
