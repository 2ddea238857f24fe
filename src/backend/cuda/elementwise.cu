#include "backend/cuda/elementwise.h"
#include "device/cuda/kernel.cuh"

CM_ELEMENTWISE_KERNELS(CM_LAUNCHER)
