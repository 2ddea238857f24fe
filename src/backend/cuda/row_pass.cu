#include "backend/cuda/row_pass.h"
#include "device/cuda/kernel.cuh"

CM_BLOCK_LAUNCHER(cm_row_pass, cm_row_pass_args, 2)
CM_BLOCK_LAUNCHER(cm_row_training, cm_row_pass_args, 2)
