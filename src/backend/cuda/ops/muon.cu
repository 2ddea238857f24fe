#include "backend/cuda/ops/muon.h"
#include "device/cuda/kernel.cuh"

CM_MUON_KERNELS(CM_LAUNCHER)
