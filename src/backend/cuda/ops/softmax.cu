#include "backend/cuda/ops/softmax.h"
#include "device/cuda/kernel.cuh"

CM_SOFTMAX_KERNELS(CM_LAUNCHER)
