#include "backend/cuda/ops/sampled.h"
#include "device/cuda/kernel.cuh"

CM_SAMPLED_KERNELS(CM_LAUNCHER)
