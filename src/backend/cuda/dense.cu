#include "backend/cuda/dense.h"
#include "device/cuda/kernel.cuh"

CM_DENSE_KERNELS(CM_LAUNCHER)
