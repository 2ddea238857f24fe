#include "backend/cuda/optimizer.h"
#include "device/cuda/kernel.cuh"

CM_OPTIMIZER_KERNELS(CM_LAUNCHER)
