#include "backend/cuda/prefix.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_prefix_step_each, cm_prefix_args)
