#include "backend/cuda/ops/minmax.h"
#include "device/cuda/kernel.cuh"

CM_MINMAX_KERNELS(CM_LAUNCHER)
