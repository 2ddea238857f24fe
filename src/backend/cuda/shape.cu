#include "backend/cuda/shape.h"
#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_avg_pool_each, cm_plane_args)
CM_LAUNCHER(cm_avg_pool_slopes, cm_plane_args)
CM_LAUNCHER(cm_global_mean_each, cm_plane_args)
CM_LAUNCHER(cm_global_mean_slopes, cm_plane_args)
CM_LAUNCHER(cm_encode_each, cm_index_args)
CM_LAUNCHER(cm_copy_each, cm_index_args)
CM_LAUNCHER(cm_embed_each, cm_index_args)
CM_LAUNCHER(cm_embed_slopes, cm_index_args)
CM_LAUNCHER(cm_gather_each, cm_index_args)
CM_LAUNCHER(cm_scatter_each, cm_index_args)
CM_LAUNCHER(cm_gather_fours, cm_index_args)
CM_LAUNCHER(cm_scatter_fours, cm_index_args)
CM_LAUNCHER(cm_bootstrap_each, cm_index_args)
