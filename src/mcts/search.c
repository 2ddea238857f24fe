#include "mcts/internal.h"

#include <stdlib.h>

#include "mcts/begin.h"
#include "mcts/considered.h"

/* ---------------------------------------------------------------- memory */

static void alloc_backup(cm_tree *tree, cm_arena *arena) {
    size_t batch = ((size_t)tree->batch + 15) / 16 * 16, word = sizeof(int32_t);
    cm_batched_backup *backup = &tree->backup;
    backup->active = cm_arena_alloc(arena, (size_t)tree->slots * word);
    backup->place = cm_arena_alloc(arena, batch * word);
    backup->root = cm_arena_alloc(arena, batch * word);
    backup->leaf = cm_arena_alloc(arena, batch * word);
    backup->g = cm_arena_alloc(arena, batch * word);
    backup->tree = cm_arena_alloc(arena, batch * sizeof(void *));
    backup->at = cm_arena_alloc(arena, batch * sizeof(void *));
}

/* Takes every array from the arena, or, with a measuring arena, only counts. */
static void alloc_memory(cm_search *search, cm_arena *arena) {
    cm_tree *tree = &search->tree;
    size_t roots = (size_t)tree->batch, word = sizeof(float), rows = (roots + 15) / 16 * 16; /* vectors may be read */
    cm_tree_alloc(tree, arena);
    tree->scratch = cm_arena_alloc(arena, cm_tree_scratch(tree) * word);
    alloc_backup(tree, arena);
    search->kept = cm_arena_alloc(arena, roots * word);
    search->map = cm_arena_alloc(arena, 3 * (size_t)tree->slots * word);
    search->leaf = cm_arena_alloc(arena, rows * sizeof(cm_leaf));
    search->order = cm_arena_alloc(arena, rows * word);
    search->parent_slots = cm_arena_alloc(arena, roots * word);
    search->actions = cm_arena_alloc(arena, roots * word);
    search->child_slots = cm_arena_alloc(arena, roots * word);
    search->out.reward = cm_arena_alloc(arena, rows * word);
    search->out.discount = cm_arena_alloc(arena, rows * word);
    search->out.value = cm_arena_alloc(arena, rows * word);
    search->out.prior_logits = cm_arena_alloc(arena, (roots * cm_tree_scratch(tree) / 4 + 8) * word);
}

static size_t measure(const cm_search_params *params, int batch, int num_actions, int num_chance) {
    cm_search plan = {0};
    cm_arena measuring = {.base = NULL, .capacity = SIZE_MAX, .used = 0};
    cm_tree_plan(&plan.tree, params, batch, num_actions, num_chance);
    alloc_memory(&plan, &measuring);
    return measuring.used;
}

size_t cm_search_bytes(const cm_search_params *params, int batch, int num_actions, int num_chance) {
    bool fine =
        cm_search_params_check(params) == CM_OK && cm_tree_check_sizes(params, batch, num_actions, num_chance) == CM_OK;
    return fine ? measure(params, batch, num_actions, num_chance) : 0;
}

cm_status cm_search_create(const cm_search_params *params, int batch, int num_actions, int num_chance,
                           cm_search **out) {
    *out = NULL;
    CM_TRY(cm_search_params_check(params));
    CM_TRY(cm_tree_check_sizes(params, batch, num_actions, num_chance));
    cm_search *search = NULL;
    CM_TRY(cm_alloc(&search, 1, sizeof *search, "search"));
    cm_status status = cm_arena_create(&search->arena, measure(params, batch, num_actions, num_chance), "search tree");
    if (status != CM_OK) {
        free(search);
        return status;
    }
    cm_tree_plan(&search->tree, params, batch, num_actions, num_chance);
    alloc_memory(search, &search->arena);
    cm_tree_fill(&search->tree);
    search->planned = params->num_simulations;
    search->step = cm_step_best();
    *out = search;
    return CM_OK;
}

void cm_search_destroy(cm_search *search) {
    if (!search) return;
    cm_arena_destroy(&search->arena);
    free(search);
}

/* ---------------------------------------------------------------- roots */

cm_status cm_search_check_roots(const cm_tree *tree, const cm_roots *roots) {
    const cm_search_params *params = &tree->params;
    if (roots->count < 1 || roots->count > tree->batch) {
        return cm_fail(CM_ERR_INPUT, "search: made for 1 to %d roots, got %d", tree->batch, roots->count);
    }
    if (roots->simulations < 0 || roots->simulations > params->num_simulations) {
        return cm_fail(CM_ERR_INPUT, "search: made for %d simulations, got %d", params->num_simulations,
                       roots->simulations);
    }
    bool gumbel = params->root_rule == CM_RULE_GUMBEL;
    bool noisy = gumbel ? params->gumbel_scale > 0.0f : params->dirichlet_fraction > 0.0f;
    if (noisy && !roots->without_noise && !roots->noise && !roots->keys) {
        return cm_fail(CM_ERR_INPUT, "search: root noise is on: give `keys` or `noise`, or set %s to 0",
                       gumbel ? "gumbel_scale" : "dirichlet_fraction");
    }
    for (int b = 0; roots->temperature && b < roots->count; b++) {
        if (roots->temperature[b] >= 0.0f) continue;
        return cm_fail(CM_ERR_INPUT, "search: temperature[%d] must be 0 or more, got %g", b,
                       (double)roots->temperature[b]);
    }
    return CM_OK;
}

static cm_status check_run(const cm_search *search, const cm_model *model, const cm_roots *roots) {
    const cm_tree *tree = &search->tree;
    if (model->num_actions != tree->num_actions || model->num_chance != tree->num_chance) {
        return cm_fail(CM_ERR_INPUT, "search: made for %d actions and %d outcomes, but the model has %d and %d",
                       tree->num_actions, tree->num_chance, model->num_actions, model->num_chance);
    }
    if (!model->root || !model->recurrent || (model->num_chance > 0 && !model->afterstate)) {
        return cm_fail(CM_ERR_INPUT, "search: the model lacks its function `%s`",
                       !model->root        ? "root"
                       : !model->recurrent ? "recurrent"
                                           : "afterstate");
    }
    return cm_search_check_roots(tree, roots);
}

float cm_search_noise_share(const cm_tree *tree, const cm_roots *roots) {
    if (roots->without_noise) return 0.0f;
    return tree->params.root_rule == CM_RULE_GUMBEL ? tree->params.gumbel_scale : tree->params.dirichlet_fraction;
}

const float *cm_search_noise(const cm_tree *tree, const cm_roots *roots, int b, float *drawn) {
    int n = tree->num_actions;
    if (!(cm_search_noise_share(tree, roots) > 0.0f)) return NULL;
    if (roots->noise) return roots->noise + (size_t)b * (size_t)n;
    cm_rng rng = cm_root_stream(roots, b, CM_RNG_NOISE);
    if (tree->params.root_rule == CM_RULE_GUMBEL) {
        for (int a = 0; a < n; a++) drawn[a] = cm_rng_gumbel(&rng);
    } else {
        cm_rng_dirichlet(&rng, (double)tree->params.dirichlet_alpha, n, drawn);
    }
    return drawn;
}

cm_status cm_search_not_finite(int b, const char *where) {
    return cm_fail(CM_ERR_NOT_FINITE, "search: the model gave a number that is not finite for %s of root %d", where, b);
}

static cm_status model_failed(cm_status status, const char *function) {
    if (status == CM_ERR_INTERRUPTED) return status;
    return cm_fail_in(CM_ERR_MODEL, "model, %s", function);
}

/* Whether the tree of root b can be gone on with: all visited actions are legal. */
static bool can_go_on(const cm_search *search, const cm_roots *roots, int b) {
    size_t n = (size_t)search->tree.num_actions, first = (size_t)b * n;
    if (!roots->is_kept || search->kept[b] == 0) return false;
    for (size_t a = first; roots->legal && a < first + n; a++) {
        if (search->tree.root_visits[a] > 0 && !roots->legal[a]) return false;
    }
    return true;
}

/* The search's arrays from row `first` on, for rows of `width` logits; the rows before have num_chance. */
static cm_model_out rows_from(const cm_search *search, int first, size_t width) {
    const cm_model_out *out = &search->out;
    float *logits = out->prior_logits + (size_t)first * (size_t)search->tree.num_chance;
    return (cm_model_out){.reward = out->reward + first,
                          .discount = out->discount + first,
                          .prior_logits = logits,
                          .value = out->value + first,
                          .logits = logits,
                          .stride = width};
}

/* Evaluates the roots without a tree and puts their numbers into the row of the root. */
static cm_status evaluate_roots(cm_search *search, const cm_model *model, const cm_roots *roots) {
    cm_tree *tree = &search->tree;
    int n = 0;
    for (int b = 0; b < roots->count; b++) {
        if (!can_go_on(search, roots, b)) search->kept[b] = 0;
        if (search->kept[b] == 0) search->parent_slots[n++] = (int32_t)cm_tree_index(tree, b, CM_ROOT);
    }
    size_t columns = (size_t)tree->num_actions;
    cm_model_out out = rows_from(search, 0, columns);
    cm_status status = n > 0 ? model->root(model->ctx, n, search->parent_slots, &out) : CM_OK;
    if (status != CM_OK) return model_failed(status, "root");
    for (int row = 0; row < n; row++) {
        int b = search->parent_slots[row] / tree->slots;
        memcpy(tree->root_logits + (size_t)b * columns, out.logits + (size_t)row * out.stride, columns * sizeof(float));
        tree->root_value[b] = out.value[row];
        memset(tree->is_used + cm_tree_index(tree, b, 0), 0, (size_t)tree->slots);
    }
    return CM_OK;
}

static cm_status start(cm_search *search, const cm_model *model, const cm_roots *roots) {
    cm_tree *tree = &search->tree;
    size_t n = (size_t)tree->num_actions;
    float share = cm_search_noise_share(tree, roots);
    CM_TRY(evaluate_roots(search, model, roots));
    search->count = roots->count;
    for (int b = 0; b < roots->count; b++) {
        float *logits = tree->root_logits + (size_t)b * n;
        if (search->kept[b] > 0) cm_reuse_logits(tree, b, logits);
        cm_root_terms terms = {roots->legal ? roots->legal + (size_t)b * n : NULL,
                               cm_search_noise(tree, roots, b, tree->scratch + tree->columns), share};
        cm_begin_logits(tree, b, &terms);
        if (search->kept[b] > 0) {
            cm_reuse_root(tree, b, logits);
        } else if (!search->step->root(tree, b, tree->root_value[b])) {
            return cm_search_not_finite(b, "the root");
        }
    }
    return CM_OK;
}

/* ---------------------------------------------------------------- simulations */

/* Writes row `row` of what the model and the growth need: root b expands `leaf`. */
static void add_row(cm_search *search, int row, int b, cm_leaf leaf) {
    const cm_tree *tree = &search->tree;
    search->leaf[row] = leaf;
    search->order[row] = b;
    search->parent_slots[row] = (int32_t)cm_tree_index(tree, b, cm_tree_slot_of(tree, leaf.edge));
    search->actions[row] = leaf.action;
    search->child_slots[row] = (int32_t)cm_tree_index(tree, b, leaf.child);
}

/* The edges that the roots expand, as rows: first those of decision nodes with chance below, then the others. Returns
 * the number of the first kind; *rows = all of them. */
static int find_leaves(cm_search *search, int simulation, int *rows) {
    const cm_tree *tree = &search->tree;
    bool has_chance = tree->num_chance > 0;
    int row = 0, decisions = 0;
    for (int kind = has_chance ? 0 : 1; kind < 2; kind++) {
        for (int b = 0; b < search->count; b++) {
            int32_t slot = simulation + (search->kept[b] > 0 ? search->kept[b] : 1);
            cm_leaf leaf = cm_step_leaf(tree, b, tree->root_leaf[b], slot);
            if (leaf.child >= tree->slots) continue; /* a kept tree that is full */
            if (has_chance && tree->is_chance[cm_tree_index(tree, b, cm_tree_slot_of(tree, leaf.edge))] != kind)
                continue;
            add_row(search, row++, b, leaf);
        }
        if (kind == 0) decisions = row;
    }
    *rows = row;
    return decisions;
}

static cm_status call_afterstate(cm_search *search, const cm_model *model, int n, cm_model_out *out) {
    *out = rows_from(search, 0, (size_t)search->tree.num_chance);
    if (n == 0) return CM_OK;
    cm_status status =
        model->afterstate(model->ctx, n, search->parent_slots, search->actions, search->child_slots, out);
    if (status != CM_OK) return model_failed(status, "afterstate");
    for (int row = 0; row < n; row++) out->reward[row] = 0.0f, out->discount[row] = 1.0f;
    return CM_OK;
}

static cm_status call_recurrent(cm_search *search, const cm_model *model, int first, int n, cm_model_out *out) {
    *out = rows_from(search, first, (size_t)search->tree.num_actions);
    if (n == 0) return CM_OK;
    cm_status status = model->recurrent(model->ctx, n, search->parent_slots + first, search->actions + first,
                                        search->child_slots + first, out);
    return status == CM_OK ? CM_OK : model_failed(status, "recurrent");
}

/* Rows first .. first+n-1, whose new nodes have `width` columns, by what the model says of them. */
static cm_status grow(cm_search *search, int first, int n, const cm_model_out *out, int width) {
    cm_growth rows = {.n = n,
                      .order = search->order + first,
                      .leaf = search->leaf + first,
                      .reward = out->reward,
                      .discount = out->discount,
                      .value = out->value,
                      .prior_logits = out->logits,
                      .width = width,
                      .stride = out->stride};
    int bad = search->step->grow(&search->tree, &rows);
    return bad == CM_NONE ? CM_OK : cm_search_not_finite(bad, "a node");
}

static cm_status simulate(cm_search *search, const cm_model *model, int simulation) {
    cm_tree *tree = &search->tree;
    int rows = 0, decisions = find_leaves(search, simulation, &rows);
    cm_model_out after, next;
    CM_TRY(call_afterstate(search, model, decisions, &after));
    CM_TRY(call_recurrent(search, model, decisions, rows - decisions, &next));
    CM_TRY(grow(search, 0, decisions, &after, tree->num_chance));
    CM_TRY(grow(search, decisions, rows - decisions, &next, tree->num_actions));
    search->simulations += rows;
    return tree->params.check ? cm_search_check(search) : CM_OK;
}

static cm_status simulate_all(cm_search *search, const cm_model *model) {
    for (int simulation = 0; simulation < search->planned; simulation++) CM_TRY(simulate(search, model, simulation));
    return CM_OK;
}

/* How many simulations a root has in a run. The rows of the table stay where they are, as long as those of N. */
static void plan(cm_search *search, const cm_roots *roots) {
    const cm_tree *tree = &search->tree;
    const int most = tree->params.num_simulations, wanted = roots->simulations > 0 ? roots->simulations : most;
    if (wanted == search->planned) return;
    for (int row = 0; row < tree->considered_rows; row++)
        cm_considered_sequence(tree->considered + (size_t)row * (size_t)most, row, wanted);
    search->planned = wanted;
}

cm_status cm_search_run(cm_search *search, const cm_model *model, const cm_roots *roots,
                        const cm_search_result *result) {
    CM_TRY(check_run(search, model, roots));
    if (roots->is_kept && roots->count != search->count) {
        return cm_fail(CM_ERR_INPUT, "search: %d roots were kept, but the run has %d", search->count, roots->count);
    }
    search->simulations = 0;
    plan(search, roots);
    CM_TRY(start(search, model, roots));
    const cm_status status = simulate_all(search, model);
    const bool is_known = status == CM_OK || (status == CM_ERR_INTERRUPTED && search->simulations > 0);
    if (!is_known) return status;
    for (int b = 0; b < search->count; b++) cm_summary_write(&search->tree, b);
    cm_result_write(&search->tree, roots, result);
    memset(search->kept, 0, (size_t)roots->count * sizeof(int32_t));
    return status;
}

int64_t cm_search_simulations(const cm_search *search) { return search->simulations; }
