/* What the trees of a search look like in memory: sizes, arrays, tables. */
#include "mcts/considered.h"
#include "mcts/internal.h"
#include "mcts/rules.h"

enum { MOST_BATCH = 1 << 20, MOST_COLUMNS = 65536 };

/* ---------------------------------------------------------------- memory */

/* Blocks of a node. Dense ones are as small as they can be; the others have an odd number of cache lines, so that they
 * spread over all sets of a cache. */
static void plan_blocks(cm_tree *tree) {
    size_t row = (size_t)tree->capacity * sizeof(float), rows = cm_rules_need_statistics(&tree->params) ? 5 : 4;
    tree->rows_at = sizeof(cm_node) + (tree->is_dense ? 0 : sizeof(cm_node_cold));
    tree->cold_bytes = tree->is_dense ? (sizeof(cm_node_cold) + row + 15) / 16 * 16 : 2 * row;
    tree->node_bytes = cm_align(tree->rows_at + rows * row);
    if (!tree->is_dense && tree->node_bytes > 2 * (size_t)CM_ALIGN) tree->node_bytes |= CM_ALIGN;
}

void cm_tree_plan(cm_tree *tree, const cm_search_params *params, int batch, int num_actions, int num_chance) {
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
    if (tree->is_dense) tree->capacity = cm_dense_capacity(num_actions);
    for (tree->shift = 1; 1 << tree->shift < tree->capacity;) tree->shift++;
    bool is_limited = params->max_depth > 0 && params->max_depth < params->num_simulations;
    tree->max_depth = is_limited ? params->max_depth : INT32_MAX;
    int considered = params->max_num_considered_actions;
    tree->considered_rows = (considered < num_actions ? considered : num_actions) + 1;
    plan_blocks(tree);
}

void cm_tree_alloc(cm_tree *tree, cm_arena *arena) {
    size_t roots = (size_t)tree->batch, slots = roots * (size_t)tree->slots, word = sizeof(float);
    size_t actions = roots * (size_t)tree->num_actions, simulations = (size_t)(tree->slots - 1);
    tree->nodes = cm_arena_alloc(arena, (slots + 1) * tree->node_bytes);
    tree->cold = cm_arena_alloc(arena, slots * tree->cold_bytes);
    tree->open = cm_arena_alloc(arena, tree->is_dense ? 0 : slots * (size_t)tree->columns * word);
    tree->is_used = cm_arena_alloc(arena, slots);
    tree->is_chance = cm_arena_alloc(arena, slots);
    tree->root_leaf = cm_arena_alloc(arena, (roots + 1) * word);
    tree->root_value = cm_arena_alloc(arena, roots * word);
    tree->root_valid = cm_arena_alloc(arena, roots * word);
    tree->root_open = cm_arena_alloc(arena, roots * word);
    tree->root_logits = cm_arena_alloc(arena, actions * word);
    tree->root_noise = cm_arena_alloc(arena, (actions + 8) * word);
    tree->root_visits = cm_arena_alloc(arena, actions * word);
    tree->root_q = cm_arena_alloc(arena, actions * word);
    tree->summary = cm_arena_alloc(arena, roots * sizeof(cm_summary));
    tree->explore = cm_arena_alloc(arena, (simulations + 3) * word);
    tree->reciprocal = cm_arena_alloc(arena, (simulations + 3) * word);
    tree->considered = cm_arena_alloc(arena, (size_t)tree->considered_rows * simulations * word);
}

size_t cm_tree_scratch(const cm_tree *tree) {
    return 4 * (size_t)(tree->columns > tree->capacity ? tree->columns : tree->capacity);
}

void cm_tree_fill(const cm_tree *tree) {
    const cm_search_params *params = &tree->params;
    for (int i = 1; i <= tree->slots + 1; i++) {
        tree->explore[i] = cm_puct_explore((float)i, params->pb_c_init, params->pb_c_base);
        tree->reciprocal[i] = 1.0f / (float)i;
    }
    cm_considered_table(tree->considered, tree->considered_rows - 1, params->num_simulations);
}

cm_status cm_tree_check_sizes(const cm_search_params *params, int batch, int num_actions, int num_chance) {
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
    cm_tree_plan(&plan, params, batch, num_actions, num_chance);
    if (plan.slots > INT32_MAX >> plan.shift) { /* numbers of edges are int32 */
        return cm_fail(CM_ERR_INPUT, "search: %d simulations of %d columns are too many: take fewer of one of them",
                       params->num_simulations, num_actions > num_chance ? num_actions : num_chance);
    }
    return CM_OK;
}
