#include "mcts/cuda/tree.h"

#include "device/cuda/kernel.cuh"

CM_TREE_KERNELS(CM_LAUNCHER)
