/* The simulations of a search as one kernel. Roots need nothing of each other: a block takes those of a tile of rows
 * through all simulations, alternately as rows of the model's passes (backend/cuda/fused/row_kernel.h) and as trees
 * (mcts/cuda/tree.h). A barrier of the block stands where a launch ended, and weights that have a place in the block's
 * memory are read from the device's once for all simulations. */
#ifndef CM_AGENT_CUDA_SIMULATIONS_H
#define CM_AGENT_CUDA_SIMULATIONS_H

#include "agent/cuda/kernels.h"
#include "backend/cuda/fused/row_kernel.h"
#include "mcts/cuda/tree.h"

/* Grows the trees of a tile. Where the first lane works alone, all roots of the tile do at the same time. */
CM_KERNEL void cm_simulations_grow(const cm_simulations_args *k, int64_t item, const cm_lanes *lanes) {
    const int tile = k->recurrent.tile, each = cm_row_lanes(!k->trees.tree.is_dense || tile < CM_ROW_TILE);
    const int64_t first = item * tile, end = first + tile;
    const cm_lanes part = cm_lanes_part(lanes, each);
    for (int64_t root = first + lanes->index / each; root < end; root += CM_BLOCK / each)
        if (root < k->trees.tree.batch) cm_tree_grow_roots(&k->trees, root, &part);
    cm_lanes_sync(lanes);
}

/* Item: a tile of rows; CM_BLOCK lanes, which share k->memory bytes. Code for passes stands here once. */
CM_KERNEL void cm_simulations_run(const cm_simulations_args *k, int64_t item, const cm_lanes *lanes) {
    if (k->has_afterstate) cm_row_keep_all(&k->afterstate, lanes->memory, lanes);
    cm_row_keep_all(&k->recurrent, lanes->memory, lanes);
    cm_lanes_sync(lanes);
    const int passes = k->has_afterstate ? 2 : 1;
    for (int i = 0; i < k->count; i++) {
        CM_ROLL(pass, passes) {
            cm_row_inference(pass == passes - 1 ? &k->recurrent : &k->afterstate, item, lanes);
            cm_lanes_sync(lanes);
        }
        cm_simulations_grow(k, item, lanes);
    }
}

#endif
