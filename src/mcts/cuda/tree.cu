#include "mcts/cuda/tree.h"

#include "device/cuda/kernel.cuh"

CM_LAUNCHER(cm_tree_begin_roots, cm_tree_args)
CM_LAUNCHER(cm_tree_grow_roots, cm_tree_args)
CM_LAUNCHER(cm_tree_end_roots, cm_tree_args)
