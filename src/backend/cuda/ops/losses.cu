#include "backend/cuda/ops/losses.h"
#include "device/cuda/kernel.cuh"

CM_LOSSES_KERNELS(CM_LAUNCHER)
