#include "backend/cuda/ops/support.h"
#include "device/cuda/kernel.cuh"

CM_SUPPORT_KERNELS(CM_LAUNCHER)
