#include "mcts/device_search.h"

#include <stdlib.h>

#include "mcts/internal.h"

struct cm_device_search {
    cm_search *mirror; /* owned; its arrays of trees stand as those on the device do */
    cm_device_place place;
    cm_buffer block;   /* trees, scratch, leaves, the request */
    size_t tree_bytes; /* of the trees at its beginning */
    cm_tree_args args; /* addresses in it */
    void *request;     /* owned, [request_bytes]: the host's copy of the request */
    size_t request_bytes;
};

bool cm_device_search_serves(const cm_search_params *params) { return !params->check; }

/* ---------------------------------------------------------------- memory */

/* Takes every array of the block, or, with a measuring arena, only counts. */
static void alloc_block(cm_device_search *s, cm_arena *arena) {
    cm_tree *tree = &s->args.tree;
    size_t roots = (size_t)tree->batch, actions = roots * (size_t)tree->num_actions;
    s->args.scratch_step = cm_tree_scratch(tree);
    cm_tree_alloc(tree, arena);
    s->tree_bytes = arena->used;
    tree->scratch = cm_arena_alloc(arena, roots * s->args.scratch_step * sizeof(float));
    s->args.leaf = cm_arena_alloc(arena, roots * sizeof(cm_leaf));
    size_t first = arena->used;
    s->args.request = cm_arena_alloc(arena, sizeof(cm_search_request));
    s->args.noise = cm_arena_alloc(arena, actions * sizeof(float));
    s->args.legal = cm_arena_alloc(arena, actions);
    s->request_bytes = arena->used - first;
}

static size_t offset_in(const void *base, const void *at) {
    return (size_t)((const unsigned char *)at - (const unsigned char *)base);
}

/* What stands from `first` to `end` in the trees' arrays, on both sides. */
static cm_span span_of(const cm_device_search *s, const void *first, size_t end) {
    size_t begin = offset_in(s->block.base, first);
    cm_span span = {s->block.base + begin, s->mirror->arena.base + begin, end - begin};
    return span;
}

static cm_status open_search(cm_device_search *s, const cm_search_params *params, int batch,
                             const cm_device_model *model) {
    cm_arena arena = {.base = NULL, .capacity = SIZE_MAX};
    CM_TRY(cm_search_create(params, batch, model->num_actions, model->num_chance, &s->mirror));
    cm_tree_plan(&s->args.tree, params, batch, model->num_actions, model->num_chance);
    s->args.model = *model;
    alloc_block(s, &arena);
    CM_TRY(cm_alloc(&s->request, s->request_bytes, 1, "the request of a search"));
    CM_TRY(cm_buffer_create(&s->block, s->place.device, arena.used, "search trees"));
    arena = (cm_arena){.base = s->block.base, .capacity = s->block.bytes};
    alloc_block(s, &arena);
    cm_span tables = span_of(s, s->args.tree.explore, s->tree_bytes);
    return s->place.device->write(s->place.device, tables.device, tables.host, tables.bytes);
}

cm_status cm_device_search_create(const cm_search_params *params, int batch, const cm_device_place *place,
                                  const cm_device_model *model, cm_device_search **out) {
    cm_device_search *s = NULL;
    *out = NULL;
    if (!cm_device_search_serves(params)) {
        return cm_fail(CM_ERR_INPUT, "search: trees that are checked after every simulation lie on the host only");
    }
    if (place->kernels->args_bytes != sizeof(cm_tree_args)) {
        return cm_fail(CM_ERR_ABSENT, "search: the kernels of %s are of another build than this program: build both",
                       place->device->name);
    }
    CM_TRY(cm_alloc(&s, 1, sizeof *s, "a search on a device"));
    s->place = *place;
    cm_status status = open_search(s, params, batch, model);
    if (status == CM_OK) {
        *out = s;
    } else {
        cm_device_search_destroy(s);
    }
    return status;
}

void cm_device_search_destroy(cm_device_search *s) {
    if (!s) return;
    cm_buffer_destroy(&s->block);
    cm_search_destroy(s->mirror);
    free(s->request);
    free(s);
}

/* ---------------------------------------------------------------- a run */

/* The host's copy of an array of the request. */
static void *request_at(const cm_device_search *s, const void *array) {
    return (unsigned char *)s->request + offset_in(s->args.request, array);
}

cm_status cm_device_search_request(cm_device_search *s, const cm_roots *roots, cm_span *out) {
    const cm_tree *tree = &s->mirror->tree;
    size_t n = (size_t)tree->num_actions;
    cm_search_request *request = s->request;
    float *noise = request_at(s, s->args.noise);
    CM_TRY(cm_search_check_roots(tree, roots));
    if (roots->is_kept) return cm_fail(CM_ERR_INPUT, "search: no trees are kept on a device");
    request->share = cm_search_noise_share(tree, roots);
    request->has_noise = request->share > 0.0f;
    request->has_legal = roots->legal != NULL;
    for (int b = 0; request->has_noise && b < roots->count; b++) {
        float *row = noise + (size_t)b * n;
        const float *drawn = cm_search_noise(tree, roots, b, row);
        if (drawn != row) memcpy(row, drawn, n * sizeof *row);
    }
    memset(request_at(s, s->args.legal), 1, (size_t)tree->batch * n);
    if (roots->legal) memcpy(request_at(s, s->args.legal), roots->legal, (size_t)roots->count * n);
    *out = (cm_span){(void *)(uintptr_t)s->args.request, s->request, s->request_bytes};
    return CM_OK;
}

cm_status cm_device_search_begin(const cm_device_search *s, void *queue) {
    return s->place.kernels->begin(s->place.device, &s->args, queue);
}

cm_status cm_device_search_grow(const cm_device_search *s, void *queue) {
    return s->place.kernels->grow(s->place.device, &s->args, queue);
}

cm_status cm_device_search_end(const cm_device_search *s, void *queue) {
    return s->place.kernels->end(s->place.device, &s->args, queue);
}

const cm_tree_args *cm_device_search_args(const cm_device_search *s) { return &s->args; }

cm_span cm_device_search_result_span(const cm_device_search *s) {
    return span_of(s, s->args.tree.root_logits, offset_in(s->block.base, s->args.tree.explore));
}

cm_span cm_device_search_trees(const cm_device_search *s) { return span_of(s, s->block.base, s->tree_bytes); }

/* The first of `count` roots with this error; CM_NONE: there is none. */
static int find_error(const cm_tree *tree, int count, int32_t error) {
    for (int b = 0; b < count; b++)
        if (tree->summary[b].error == error) return b;
    return CM_NONE;
}

cm_status cm_device_search_result(cm_device_search *s, const cm_roots *roots, const cm_search_result *result) {
    cm_tree *tree = &s->mirror->tree;
    int root = find_error(tree, roots->count, CM_TREE_ERROR_ROOT),
        node = find_error(tree, roots->count, CM_TREE_ERROR_NODE);
    if (root != CM_NONE) return cm_search_not_finite(root, "the root");
    if (node != CM_NONE) return cm_search_not_finite(node, "a node");
    s->mirror->count = roots->count;
    s->mirror->simulations = (int64_t)roots->count * tree->params.num_simulations;
    cm_result_write(tree, roots, result);
    return CM_OK;
}

const cm_search *cm_device_search_mirror(const cm_device_search *s) { return s->mirror; }
