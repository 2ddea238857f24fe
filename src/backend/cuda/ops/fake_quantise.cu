#include "backend/cuda/ops/fake_quantise.h"
#include "device/cuda/kernel.cuh"

CM_FAKE_QUANTISE_KERNELS(CM_LAUNCHER)
