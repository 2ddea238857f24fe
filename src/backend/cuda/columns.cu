#include "backend/cuda/columns.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_columns_whole, cm_columns_args)
CM_LAUNCHER(cm_columns_partial, cm_columns_args)
CM_LAUNCHER(cm_columns_finish, cm_columns_args)
