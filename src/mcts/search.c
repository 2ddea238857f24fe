#include "mcts/internal.h"

#include <stdlib.h>

#include "mcts/considered.h"
#include "mcts/policy.h"
#include "mcts/rules.h"

enum { MOST_BATCH = 1 << 20, MOST_COLUMNS = 65536 };

/* ---------------------------------------------------------------- memory */

/* Blocks of a node. Dense ones are as small as they can be; the others have an odd number of cache lines, so that they
 * spread over all sets of a cache. */
static void plan_blocks(cm_tree *tree) {
    size_t row = (size_t)tree->capacity * sizeof(float), rows = cm_rules_need_statistics(&tree->params) ? 5 : 4;
    tree->rows_at = sizeof(cm_node) + (tree->is_dense ? 0 : sizeof(cm_rest));
    tree->rest_bytes = tree->is_dense ? (sizeof(cm_rest) + row + 15) / 16 * 16 : 2 * row;
    tree->node_bytes = cm_align(tree->rows_at + rows * row);
    if (!tree->is_dense && tree->node_bytes > 2 * (size_t)CM_ALIGN) tree->node_bytes |= CM_ALIGN;
}

static void plan_sizes(cm_tree *tree, const cm_search_params *params, int batch, int num_actions, int num_chance) {
    int columns = num_actions > num_chance ? num_actions : num_chance;
    tree->params = *params;
    tree->batch = batch;
    tree->slots = params->num_simulations + 1;
    tree->num_actions = num_actions;
    tree->num_chance = num_chance;
    int entries = columns < tree->slots ? columns : tree->slots;
    tree->columns = (columns + 7) / 8 * 8;
    tree->is_dense = cm_rules_are_dense(params, num_actions, num_chance);
    tree->has_statistics = !tree->is_dense && cm_rules_need_statistics(params);
    tree->capacity = entries <= 4 ? 4 : (entries + 7) / 8 * 8;
    if (tree->is_dense) tree->capacity = num_actions <= 2 ? 2 : num_actions <= 4 ? 4 : 8;
    for (tree->shift = 1; 1 << tree->shift < tree->capacity;) tree->shift++;
    bool is_limited = params->max_depth > 0 && params->max_depth < params->num_simulations;
    tree->max_depth = is_limited ? params->max_depth : INT32_MAX;
    int considered = params->max_num_considered_actions;
    tree->considered_rows = (considered < num_actions ? considered : num_actions) + 1;
    plan_blocks(tree);
}

static void take_rise(cm_tree *tree, cm_arena *arena) {
    size_t batch = ((size_t)tree->batch + 15) / 16 * 16, word = sizeof(int32_t);
    cm_rise *rise = &tree->rise;
    rise->active = cm_arena_take(arena, (size_t)tree->slots * word);
    rise->place = cm_arena_take(arena, batch * word);
    rise->root = cm_arena_take(arena, batch * word);
    rise->leaf = cm_arena_take(arena, batch * word);
    rise->g = cm_arena_take(arena, batch * word);
    rise->tree = cm_arena_take(arena, batch * sizeof(void *));
    rise->at = cm_arena_take(arena, batch * sizeof(void *));
}

/* Takes every array from the arena, or, with a measuring arena, only counts. */
static void take_memory(cm_search *search, cm_arena *arena) {
    cm_tree *tree = &search->tree;
    size_t roots = (size_t)tree->batch, slots = roots * (size_t)tree->slots, word = sizeof(float);
    size_t actions = roots * (size_t)tree->num_actions, simulations = (size_t)(tree->slots - 1);
    size_t row = (size_t)(tree->columns > tree->capacity ? tree->columns : tree->capacity);
    tree->nodes = cm_arena_take(arena, (slots + 1) * tree->node_bytes);
    tree->rest = cm_arena_take(arena, slots * tree->rest_bytes);
    tree->open = cm_arena_take(arena, tree->is_dense ? 0 : slots * (size_t)tree->columns * word);
    tree->is_used = cm_arena_take(arena, slots);
    tree->is_chance = cm_arena_take(arena, slots);
    tree->root_leaf = cm_arena_take(arena, (roots + 1) * word);
    tree->root_logits = cm_arena_take(arena, actions * word);
    tree->root_noise = cm_arena_take(arena, (actions + 8) * word);
    tree->root_visits = cm_arena_take(arena, actions * word);
    tree->root_q = cm_arena_take(arena, actions * word);
    tree->root_value = cm_arena_take(arena, roots * word);
    tree->root_valid = cm_arena_take(arena, roots * word);
    tree->root_open = cm_arena_take(arena, roots * word);
    tree->scratch = cm_arena_take(arena, 4 * row * word);
    take_rise(tree, arena);
    tree->explore = cm_arena_take(arena, (simulations + 3) * word);
    tree->reciprocal = cm_arena_take(arena, (simulations + 3) * word);
    tree->considered = cm_arena_take(arena, (size_t)tree->considered_rows * simulations * word);
    search->kept = cm_arena_take(arena, roots * word);
    search->map = cm_arena_take(arena, 3 * (size_t)tree->slots * word);
    search->leaf = cm_arena_take(arena, (roots + 15) / 16 * 16 * sizeof(cm_leaf));
    search->order = cm_arena_take(arena, (roots + 15) / 16 * 16 * word);
    search->parent_slots = cm_arena_take(arena, roots * word);
    search->actions = cm_arena_take(arena, roots * word);
    search->child_slots = cm_arena_take(arena, roots * word);
    size_t rows = (roots + 15) / 16 * 16; /* vectors of 16 may be read */
    search->out.reward = cm_arena_take(arena, rows * word);
    search->out.discount = cm_arena_take(arena, rows * word);
    search->out.value = cm_arena_take(arena, rows * word);
    search->out.prior_logits = cm_arena_take(arena, (roots * row + 8) * word);
}

static void fill_tables(cm_tree *tree) {
    const cm_search_params *params = &tree->params;
    for (int i = 1; i <= tree->slots + 1; i++) {
        tree->explore[i] = cm_puct_explore((float)i, params->pb_c_init, params->pb_c_base);
        tree->reciprocal[i] = 1.0f / (float)i;
    }
    cm_considered_table(tree->considered, tree->considered_rows - 1, params->num_simulations);
}

static cm_status check_sizes(const cm_search_params *params, int batch, int num_actions, int num_chance) {
    int most_batch = INT32_MAX / (params->num_simulations + 1); /* slots are int32 */
    if (most_batch > MOST_BATCH) most_batch = MOST_BATCH;
    if (batch < 1 || batch > most_batch) {
        return cm_fail(CM_ERR_INPUT, "search: batch must be in [1, %d], got %d", most_batch, batch);
    }
    if (num_actions < 1 || num_actions > MOST_COLUMNS) {
        return cm_fail(CM_ERR_INPUT, "search: num_actions must be in [1, %d], got %d", MOST_COLUMNS, num_actions);
    }
    if (num_chance < 0 || num_chance > MOST_COLUMNS) {
        return cm_fail(CM_ERR_INPUT, "search: num_chance must be in [0, %d], got %d", MOST_COLUMNS, num_chance);
    }
    cm_tree plan = {0};
    plan_sizes(&plan, params, batch, num_actions, num_chance);
    if (plan.slots > INT32_MAX >> plan.shift) { /* numbers of edges are int32 */
        return cm_fail(CM_ERR_INPUT, "search: %d simulations of %d columns are too many: take fewer of one of them",
                       params->num_simulations, num_actions > num_chance ? num_actions : num_chance);
    }
    return CM_OK;
}

static size_t measure(const cm_search_params *params, int batch, int num_actions, int num_chance) {
    cm_search plan = {0};
    cm_arena measuring = {.base = NULL, .capacity = SIZE_MAX, .used = 0};
    plan_sizes(&plan.tree, params, batch, num_actions, num_chance);
    take_memory(&plan, &measuring);
    return measuring.used;
}

size_t cm_search_bytes(const cm_search_params *params, int batch, int num_actions, int num_chance) {
    bool fine = cm_search_params_check(params) == CM_OK && check_sizes(params, batch, num_actions, num_chance) == CM_OK;
    return fine ? measure(params, batch, num_actions, num_chance) : 0;
}

cm_status cm_search_create(const cm_search_params *params, int batch, int num_actions, int num_chance,
                           cm_search **out) {
    *out = NULL;
    CM_TRY(cm_search_params_check(params));
    CM_TRY(check_sizes(params, batch, num_actions, num_chance));
    cm_search *search = NULL;
    CM_TRY(cm_alloc(&search, 1, sizeof *search, "search"));
    cm_status status = cm_arena_create(&search->arena, measure(params, batch, num_actions, num_chance), "search tree");
    if (status != CM_OK) {
        free(search);
        return status;
    }
    plan_sizes(&search->tree, params, batch, num_actions, num_chance);
    take_memory(search, &search->arena);
    fill_tables(&search->tree);
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

static cm_status check_run(const cm_search *search, const cm_model *model, const cm_roots *roots) {
    const cm_tree *tree = &search->tree;
    const cm_search_params *params = &tree->params;
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
    if (roots->count < 1 || roots->count > tree->batch) {
        return cm_fail(CM_ERR_INPUT, "search: made for 1 to %d roots, got %d", tree->batch, roots->count);
    }
    bool gumbel = params->root_rule == CM_RULE_GUMBEL;
    bool noisy = gumbel ? params->gumbel_scale > 0.0f : params->dirichlet_fraction > 0.0f;
    if (noisy && !roots->is_quiet && !roots->noise && !roots->keys) {
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

/* Root logits of the PUCT policies: noise, then mask (spec/search.md 8.2). */
static void prepare_puct(cm_tree *tree, const cm_roots *roots, int b, float *logits) {
    const cm_search_params *params = &tree->params;
    int n = tree->num_actions;
    float fraction = roots->is_quiet ? 0.0f : params->dirichlet_fraction, *drawn = tree->scratch + tree->columns;
    const float *noise = fraction > 0.0f && roots->noise ? roots->noise + (size_t)b * (size_t)n : NULL;
    if (fraction > 0.0f && !noise) {
        cm_rng rng = cm_root_stream(roots, b, CM_RNG_NOISE);
        cm_rng_dirichlet(&rng, (double)params->dirichlet_alpha, n, drawn);
        noise = drawn;
    }
    cm_policy_mix(logits, noise, fraction, n, tree->scratch);
    if (roots->legal) cm_policy_mask(logits, roots->legal + (size_t)b * (size_t)n, n);
}

/* Root logits and noise of the Gumbel policy: mask, then g + logits - max logits (spec/search.md 8.3, 7.3). */
static void prepare_gumbel(cm_tree *tree, const cm_roots *roots, int b, float *logits) {
    int n = tree->num_actions;
    if (roots->legal) cm_policy_mask(logits, roots->legal + (size_t)b * (size_t)n, n);
    float *noise = tree->root_noise + (size_t)b * (size_t)n;
    float scale = roots->is_quiet ? 0.0f : tree->params.gumbel_scale;
    float most = cm_max_of(logits, n);
    const float *given = roots->noise ? roots->noise + (size_t)b * (size_t)n : NULL;
    cm_rng rng = {0};
    if (roots->keys) rng = cm_root_stream(roots, b, CM_RNG_NOISE);
    for (int a = 0; a < n; a++) {
        float g = 0.0f;
        if (scale > 0.0f) g = scale * (given ? given[a] : cm_rng_gumbel(&rng));
        noise[a] = g + (logits[a] - most);
    }
}

static cm_status not_finite(int b, const char *where) {
    return cm_fail(CM_ERR_NOT_FINITE, "search: the model gave a number that is not finite for %s of root %d", where, b);
}

static cm_status model_failed(cm_status status, const char *function) {
    (void)status;
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

/* Evaluates the roots without a tree and puts their numbers into the row of the root. */
static cm_status evaluate_roots(cm_search *search, const cm_model *model, const cm_roots *roots) {
    cm_tree *tree = &search->tree;
    int n = 0;
    for (int b = 0; b < roots->count; b++) {
        if (!can_go_on(search, roots, b)) search->kept[b] = 0;
        if (search->kept[b] == 0) search->parent_slots[n++] = (int32_t)cm_tree_index(tree, b, CM_ROOT);
    }
    cm_status status = n > 0 ? model->root(model->ctx, n, search->parent_slots, &search->out) : CM_OK;
    if (status != CM_OK) return model_failed(status, "root");
    size_t columns = (size_t)tree->num_actions;
    for (int row = 0; row < n; row++) {
        int b = search->parent_slots[row] / tree->slots;
        memcpy(tree->root_logits + (size_t)b * columns, search->out.prior_logits + (size_t)row * columns,
               columns * sizeof(float));
        tree->root_value[b] = search->out.value[row];
        memset(tree->is_used + cm_tree_index(tree, b, 0), 0, (size_t)tree->slots);
    }
    return CM_OK;
}

static cm_status start(cm_search *search, const cm_model *model, const cm_roots *roots) {
    cm_tree *tree = &search->tree;
    size_t n = (size_t)tree->num_actions;
    CM_TRY(evaluate_roots(search, model, roots));
    search->count = roots->count;
    for (int b = 0; b < roots->count; b++) {
        float *logits = tree->root_logits + (size_t)b * n;
        if (search->kept[b] > 0) cm_reuse_logits(tree, b, logits);
        if (tree->params.root_rule == CM_RULE_GUMBEL) {
            prepare_gumbel(tree, roots, b, logits);
        } else {
            prepare_puct(tree, roots, b, logits);
        }
        tree->root_valid[b] = 0;
        for (size_t a = 0; a < n; a++) tree->root_valid[b] += logits[a] > -FLT_MAX;
        if (search->kept[b] > 0) {
            cm_reuse_root(tree, b, logits);
        } else if (!search->step->root(tree, b, tree->root_value[b])) {
            return not_finite(b, "the root");
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
            cm_leaf leaf = cm_step_leaf(tree, b, slot);
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

static cm_status call_afterstate(cm_search *search, const cm_model *model, int n) {
    if (n == 0) return CM_OK;
    cm_status status =
        model->afterstate(model->ctx, n, search->parent_slots, search->actions, search->child_slots, &search->out);
    if (status != CM_OK) return model_failed(status, "afterstate");
    for (int row = 0; row < n; row++) search->out.reward[row] = 0.0f, search->out.discount[row] = 1.0f;
    return CM_OK;
}

static cm_status call_recurrent(cm_search *search, const cm_model *model, int first, int n) {
    if (n == 0) return CM_OK;
    cm_model_out out = {search->out.reward + first, search->out.discount + first,
                        search->out.prior_logits + (size_t)first * (size_t)search->tree.num_chance,
                        search->out.value + first};
    cm_status status = model->recurrent(model->ctx, n, search->parent_slots + first, search->actions + first,
                                        search->child_slots + first, &out);
    return status == CM_OK ? CM_OK : model_failed(status, "recurrent");
}

/* Rows first .. first+n-1, whose new nodes have `width` columns; the rows before have num_chance. */
static cm_status grow(cm_search *search, int first, int n, int width) {
    const cm_model_out *out = &search->out;
    const float *logits = out->prior_logits + (size_t)first * (size_t)search->tree.num_chance;
    cm_growth rows = {n,
                      search->order + first,
                      search->leaf + first,
                      out->reward + first,
                      out->discount + first,
                      out->value + first,
                      logits,
                      width};
    int bad = search->step->grow(&search->tree, &rows);
    return bad == CM_NONE ? CM_OK : not_finite(bad, "a node");
}

static cm_status simulate(cm_search *search, const cm_model *model, int simulation) {
    cm_tree *tree = &search->tree;
    int rows = 0, decisions = find_leaves(search, simulation, &rows);
    search->simulations += rows;
    CM_TRY(call_afterstate(search, model, decisions));
    CM_TRY(call_recurrent(search, model, decisions, rows - decisions));
    CM_TRY(grow(search, 0, decisions, tree->num_chance));
    CM_TRY(grow(search, decisions, rows - decisions, tree->num_actions));
    return tree->params.check ? cm_search_check(search) : CM_OK;
}

cm_status cm_search_run(cm_search *search, const cm_model *model, const cm_roots *roots,
                        const cm_search_result *result) {
    CM_TRY(check_run(search, model, roots));
    if (roots->is_kept && roots->count != search->count) {
        return cm_fail(CM_ERR_INPUT, "search: %d roots were kept, but the run has %d", search->count, roots->count);
    }
    CM_TRY(start(search, model, roots));
    search->simulations = 0;
    for (int simulation = 0; simulation < search->tree.params.num_simulations; simulation++) {
        CM_TRY(simulate(search, model, simulation));
    }
    cm_result_write(search, roots, result);
    memset(search->kept, 0, (size_t)roots->count * sizeof(int32_t));
    return CM_OK;
}

int64_t cm_search_simulations(const cm_search *search) { return search->simulations; }
