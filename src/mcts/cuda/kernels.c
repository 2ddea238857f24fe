/* The table of the search's kernels in the module of CUDA. */
#include "device/cuda/cuda.h"
#include "mcts/cuda/tree.h"

/* The result of a launch as a status; the launch is on the device's context. */
static cm_status launch(const cm_device *base, const cm_tree_args *args, void *queue, const char *what,
                        int (*kernel)(const cm_tree_args *, int64_t, int, void *)) {
    cm_cuda_device *device = (cm_cuda_device *)(uintptr_t)base; /* its first member */
    CM_TRY(cm_cuda_enter(device));
    return cm_cuda_result(device, kernel(args, args->tree.batch, CM_WARP, queue), what);
}

static cm_status begin(const cm_device *device, const cm_tree_args *args, void *queue) {
    return launch(device, args, queue, "search, beginning", cm_tree_begin_roots_launch);
}

static cm_status grow(const cm_device *device, const cm_tree_args *args, void *queue) {
    return launch(device, args, queue, "search, growing", cm_tree_grow_roots_launch);
}

static cm_status end(const cm_device *device, const cm_tree_args *args, void *queue) {
    return launch(device, args, queue, "search, ending", cm_tree_end_roots_launch);
}

extern const cm_search_kernels cm_cuda_search_kernels;

const cm_search_kernels cm_cuda_search_kernels = {sizeof(cm_tree_args), begin, grow, end};
