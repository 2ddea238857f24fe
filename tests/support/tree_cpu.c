#include "support/tree_cpu.h"

#include <check.h>
#include <stdlib.h>

#include "mcts/cuda/tree.h"
#include "support/compiled.h"
#include "support/far.h"
#include "support/lanes.h"

size_t tree_cpu_launches;

/* ---- addresses of the host ---- */

/* One member of a struct, or some, as the host sees them. */
#define NEAR(p) p = cm_far_near(p)

static cm_tree_args near_args(const cm_tree_args *far) {
    cm_tree_args args = *far;
    cm_tree *tree = &args.tree;
    cm_device_model *model = &args.model;
    NEAR(tree->nodes), NEAR(tree->cold), NEAR(tree->open), NEAR(tree->is_used), NEAR(tree->is_chance);
    NEAR(tree->root_leaf), NEAR(tree->root_value), NEAR(tree->root_valid), NEAR(tree->root_open);
    NEAR(tree->root_logits), NEAR(tree->root_noise), NEAR(tree->root_visits), NEAR(tree->root_q);
    NEAR(tree->summary), NEAR(tree->scratch), NEAR(tree->explore), NEAR(tree->reciprocal), NEAR(tree->considered);
    NEAR(model->root_logits), NEAR(model->root_value), NEAR(model->prior_logits), NEAR(model->value);
    NEAR(model->reward), NEAR(model->discount), NEAR(model->parent_slots), NEAR(model->actions);
    NEAR(model->child_slots), NEAR(model->codes), NEAR(model->after_logits), NEAR(model->after_value);
    NEAR(model->after_parent_slots), NEAR(model->after_actions), NEAR(model->after_child_slots);
    NEAR(args.leaf), NEAR(args.request), NEAR(args.noise), NEAR(args.legal);
    return args;
}

/* ---- launches ---- */

typedef void (*kernel)(const cm_tree_args *k, int64_t item, const cm_lanes *lanes);

/* Root `item` of dense trees, as it is done at the same time as others: one lane works, and leaves the scratch of
 * the next root as it is. */
static void run_alone(const cm_tree_args *args, kernel body, int item) {
    const cm_lanes first = {0, CM_WARP, NULL, NULL}, last = {CM_WARP - 1, CM_WARP, NULL, NULL};
    size_t bytes = args->scratch_step * sizeof(float), next = (size_t)((item + 1) % args->tree.batch);
    const float *others = args->tree.scratch + next * args->scratch_step;
    void *before = malloc(bytes);
    memcpy(before, others, bytes);
    body(args, item, &last);
    body(args, item, &first);
    if (args->tree.batch > 1 && memcmp(before, others, bytes) != 0) ck_abort_msg("root %d uses others' scratch", item);
    free(before);
}

/* A kernel on trees that are lists. */
typedef struct together {
    const cm_tree_args *args;
    kernel body;
} together;

static void run_together(const void *args, int64_t item, const cm_lanes *lanes) {
    const together *run = args;
    run->body(run->args, item, lanes);
}

static cm_status launch(const char *name, const cm_tree_args *far, kernel body) {
    const cm_tree_args args = near_args(far);
    const bool backwards = __atomic_fetch_add(&tree_cpu_launches, 1, __ATOMIC_RELAXED) % 2;
    const int batch = args.tree.batch;
    if (compiled_run(name, &args, sizeof args, batch, CM_WARP, 0)) return CM_OK;
    for (int i = 0; args.tree.is_dense && i < batch; i++) run_alone(&args, body, backwards ? batch - 1 - i : i);
    if (!args.tree.is_dense) lanes_run(run_together, &(together){&args, body}, batch, CM_WARP, 0);
    return CM_OK;
}

/* A search begins with what another has left in the trees: whatever. */
static void fill_trees(const cm_tree_args *far) {
    const cm_tree_args args = near_args(far);
    const cm_tree *tree = &args.tree;
    const size_t roots = (size_t)tree->batch, slots = roots * (size_t)tree->slots;
    const size_t row = (size_t)tree->num_actions * sizeof(float);
    memset(tree->nodes, 0xA5, slots * tree->node_bytes);
    memset(tree->cold, 0xA5, slots * tree->cold_bytes);
    if (!tree->is_dense) memset(tree->open, 0xA5, slots * (size_t)tree->columns * sizeof(float));
    memset(tree->is_used, 0xA5, slots);
    memset(tree->is_chance, 0xA5, slots);
    memset(tree->root_visits, 0xA5, roots * row);
    memset(tree->root_q, 0xA5, roots * row);
}

static cm_status begin(const cm_device *device, const cm_tree_args *args, void *queue) {
    (void)device, (void)queue;
    fill_trees(args);
    return launch("cm_tree_begin_roots", args, cm_tree_begin_roots);
}

static cm_status grow(const cm_device *device, const cm_tree_args *args, void *queue) {
    (void)device, (void)queue;
    return launch("cm_tree_grow_roots", args, cm_tree_grow_roots);
}

static cm_status end(const cm_device *device, const cm_tree_args *args, void *queue) {
    (void)device, (void)queue;
    return launch("cm_tree_end_roots", args, cm_tree_end_roots);
}

const cm_search_kernels tree_cpu_kernels = {sizeof(cm_tree_args), begin, grow, end};
