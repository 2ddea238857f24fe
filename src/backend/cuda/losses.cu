#include "backend/cuda/losses.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_policy_rows, cm_loss_args)
CM_LAUNCHER(cm_scalar_loss_each, cm_loss_args)
CM_LAUNCHER(cm_square_rows, cm_loss_args)
CM_LAUNCHER(cm_consistency_rows, cm_loss_args)
