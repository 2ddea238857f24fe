#include "backend/cuda/dense.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_narrow_each, cm_dense_args)
CM_LAUNCHER(cm_narrow_eights, cm_dense_args)
CM_LAUNCHER(cm_dense_end_each, cm_dense_args)
CM_LAUNCHER(cm_dense_action_partial, cm_dense_args)
CM_LAUNCHER(cm_dense_action_finish, cm_dense_args)
