#include "backend/cuda/batch_norm.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_batch_norm_partial, cm_batch_norm_args)
CM_LAUNCHER(cm_batch_norm_statistics, cm_batch_norm_args)
CM_LAUNCHER(cm_batch_norm_apply, cm_batch_norm_args)
CM_LAUNCHER(cm_batch_norm_eights, cm_batch_norm_args)
CM_LAUNCHER(cm_batch_norm_slopes, cm_batch_norm_args)
CM_LAUNCHER(cm_batch_norm_totals, cm_batch_norm_args)
CM_LAUNCHER(cm_batch_norm_input, cm_batch_norm_args)
CM_LAUNCHER(cm_running_each, cm_running_args)
