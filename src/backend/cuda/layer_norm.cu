#include "backend/cuda/layer_norm.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_layer_norm_runs, cm_layer_norm_args)
CM_LAUNCHER(cm_layer_norm_slopes, cm_layer_norm_args)
CM_LAUNCHER(cm_layer_norm_partial, cm_layer_norm_args)
