#include "backend/cuda/softmax.h"
#include "device/cuda/kernel.cuh"

CM_SOFTMAX_KERNELS(CM_LAUNCHER)
