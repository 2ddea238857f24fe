#include "backend/cuda/ops/prefix.h"
#include "device/cuda/kernel.cuh"

CM_PREFIX_KERNELS(CM_LAUNCHER)
