#include "backend/cuda/elementwise.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_map_activation, cm_map_args)
CM_LAUNCHER(cm_map_slope, cm_map_args)
CM_LAUNCHER(cm_map_add, cm_map_args)
CM_LAUNCHER(cm_map_scale, cm_map_args)
