#include "backend/cuda/support.h"
#include "device/cuda/kernel.cuh"

CM_SUPPORT_KERNELS(CM_LAUNCHER)
