#include <stdlib.h>

#include "cases/search_internal.h"
#include "core/arena.h"

const cm_search_case_row cm_search_case_rows[CM_FIELD_FIELDS] = {
    [CM_FIELD_NODE_VISITS] = {"node_visits", true, false, CM_FIELD_B_N},
    [CM_FIELD_RAW_VALUES] = {"raw_values", false, true, CM_FIELD_B_N},
    [CM_FIELD_NODE_VALUES] = {"node_values", false, true, CM_FIELD_B_N},
    [CM_FIELD_PARENTS] = {"parents", true, false, CM_FIELD_B_N},
    [CM_FIELD_ACTION_FROM_PARENT] = {"action_from_parent", true, false, CM_FIELD_B_N},
    [CM_FIELD_NODE_STATES] = {"node_states", true, false, CM_FIELD_B_N},
    [CM_FIELD_CHILDREN_INDEX] = {"children_index", true, false, CM_FIELD_B_N_K},
    [CM_FIELD_CHILDREN_VISITS] = {"children_visits", true, false, CM_FIELD_B_N_K},
    [CM_FIELD_CHILDREN_REWARDS] = {"children_rewards", false, true, CM_FIELD_B_N_K},
    [CM_FIELD_CHILDREN_DISCOUNTS] = {"children_discounts", false, false, CM_FIELD_B_N_K},
    [CM_FIELD_CHILDREN_VALUES] = {"children_values", false, true, CM_FIELD_B_N_K},
    [CM_FIELD_ROOT_PRIOR_LOGITS] = {"root_prior_logits", false, false, CM_FIELD_B_A},
    [CM_FIELD_ROOT_VALUE] = {"root_value", false, true, CM_FIELD_B},
    [CM_FIELD_ROOT_QVALUES] = {"root_qvalues", false, true, CM_FIELD_B_A},
    [CM_FIELD_ACTION_WEIGHTS] = {"action_weights", false, false, CM_FIELD_B_A},
    [CM_FIELD_ACTION_PROBS] = {"action_probs", false, false, CM_FIELD_B_A},
    [CM_FIELD_ACTION] = {"action", true, false, CM_FIELD_B},
};

int cm_search_case_dims(const cm_search_case *searched, cm_search_case_field field, size_t dims[3]) {
    cm_search_case_shape shape = cm_search_case_rows[field].shape;
    dims[0] = (size_t)searched->batch;
    dims[1] = (size_t)(shape == CM_FIELD_B_A ? searched->num_actions : searched->slots);
    dims[2] = (size_t)searched->columns;
    return shape == CM_FIELD_B ? 1 : shape == CM_FIELD_B_N_K ? 3 : 2;
}

size_t cm_search_case_count(const cm_search_case *searched, cm_search_case_field field) {
    size_t dims[3], count = 1;
    for (int rank = cm_search_case_dims(searched, field, dims), i = 0; i < rank; i++) count *= dims[i];
    return count;
}

void cm_search_case_destroy(cm_search_case *searched) {
    if (!searched) return;
    const void *tables[] = {searched->table.next_state,      searched->table.reward, searched->table.discount,
                            searched->table.prior_logits,    searched->table.value,  searched->table.chance_logits,
                            searched->table.afterstate_value};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) free((void *)(uintptr_t)tables[i]);
    for (int field = 0; field < CM_FIELD_FIELDS; field++) {
        free(searched->got[field].data);
        free(searched->want[field].data);
    }
    free(searched->root_states);
    free(searched->legal);
    free(searched->noise);
    free(searched);
}

/* ---------------------------------------------------------------- one shard */

static void export_edges(cm_search_case *searched, const cm_search *search, int b, int slot, size_t root,
                         cm_node_info node) {
    size_t n = (size_t)searched->slots, k = (size_t)searched->columns;
    size_t first = (root * n + (size_t)slot) * k, offset = node.is_chance ? (size_t)searched->num_actions : 0;
    for (size_t column = 0; column < k; column++) searched->got[CM_FIELD_CHILDREN_INDEX].i[first + column] = -1;
    for (int column = 0; column < node.width; column++) {
        cm_edge_info edge = cm_search_edge(search, b, slot, column);
        size_t at = first + offset + (size_t)column;
        searched->got[CM_FIELD_CHILDREN_INDEX].i[at] = edge.child;
        searched->got[CM_FIELD_CHILDREN_VISITS].i[at] = edge.visits;
        searched->got[CM_FIELD_CHILDREN_REWARDS].f[at] = edge.reward;
        searched->got[CM_FIELD_CHILDREN_DISCOUNTS].f[at] = edge.discount;
        searched->got[CM_FIELD_CHILDREN_VALUES].f[at] = edge.value;
    }
}

void cm_search_case_export(cm_search_case *searched, const cm_search *search, const cm_tabular *tabular, int b,
                           size_t root) {
    for (int slot = 0; slot < searched->slots; slot++) {
        cm_node_info node = cm_search_node(search, b, slot);
        size_t at = root * (size_t)searched->slots + (size_t)slot;
        bool by_chance = node.parent >= 0 && cm_search_node(search, b, node.parent).is_chance;
        searched->got[CM_FIELD_NODE_VISITS].i[at] = node.visits;
        searched->got[CM_FIELD_RAW_VALUES].f[at] = node.raw_value;
        searched->got[CM_FIELD_NODE_VALUES].f[at] = node.value;
        searched->got[CM_FIELD_PARENTS].i[at] = node.parent;
        searched->got[CM_FIELD_ACTION_FROM_PARENT].i[at] =
            node.action_from_parent + (by_chance ? searched->num_actions : 0);
        searched->got[CM_FIELD_NODE_STATES].i[at] = node.visits > 0 ? tabular->states[b * searched->slots + slot] : -1;
        export_edges(searched, search, b, slot, root, node);
    }
    const float *logits = cm_search_root_logits(search, b);
    for (size_t n = (size_t)searched->num_actions, a = 0; a < n; a++) {
        searched->got[CM_FIELD_ROOT_PRIOR_LOGITS].f[root * n + a] = logits[a];
    }
}

cm_roots cm_search_case_roots(const cm_search_case *searched, int first, int count) {
    size_t offset = (size_t)first * (size_t)searched->num_actions;
    return (cm_roots){
        .count = count,
        .legal = searched->legal ? searched->legal + offset : NULL,
        .noise = searched->noise ? searched->noise + offset : NULL,
    };
}

cm_search_result cm_search_case_result(cm_search_case *searched, int first) {
    size_t offset = (size_t)first * (size_t)searched->num_actions;
    return (cm_search_result){
        .action_weights = searched->got[CM_FIELD_ACTION_WEIGHTS].f + offset,
        .action_probs = searched->got[CM_FIELD_ACTION_PROBS].f + offset,
        .value = searched->got[CM_FIELD_ROOT_VALUE].f + first,
        .qvalues = searched->got[CM_FIELD_ROOT_QVALUES].f + offset,
        .action = searched->got[CM_FIELD_ACTION].i + first,
    };
}

static cm_status run_rows(cm_search_case *searched, cm_search *search, cm_tabular *tabular, int first, int count) {
    cm_model model = cm_tabular_model(tabular);
    cm_roots roots = cm_search_case_roots(searched, first, count);
    cm_search_result result = cm_search_case_result(searched, first);
    CM_TRY(cm_search_run(search, &model, &roots, &result));
    for (int b = 0; b < count; b++) cm_search_case_export(searched, search, tabular, b, (size_t)(first + b));
    return CM_OK;
}

typedef struct shards {
    cm_search_case *searched;
    int count;
} shards;

static cm_status run_shard(void *context, int task, int worker) {
    (void)worker;
    const shards *all = context;
    cm_search_case *searched = all->searched;
    int first = (int)((int64_t)searched->batch * task / all->count);
    int count = (int)((int64_t)searched->batch * (task + 1) / all->count) - first;
    if (count == 0) return CM_OK;
    cm_search *search = NULL;
    cm_tabular tabular = {&searched->table, searched->root_states + first, NULL};
    cm_status status = cm_alloc(&tabular.states, (size_t)count * (size_t)searched->slots, sizeof(int32_t), "states");
    if (status == CM_OK) {
        status = cm_search_create(&searched->params, count, searched->num_actions, searched->num_chance, &search);
    }
    if (status == CM_OK) status = run_rows(searched, search, &tabular, first, count);
    cm_search_destroy(search);
    free(tabular.states);
    return status;
}

cm_status cm_search_case_alloc(cm_search_case *searched) {
    for (int field = 0; field < CM_FIELD_FIELDS; field++) {
        if (searched->got[field].data) continue;
        CM_TRY(cm_alloc(&searched->got[field].data, cm_search_case_count(searched, (cm_search_case_field)field),
                        sizeof(float), cm_search_case_rows[field].name));
    }
    return CM_OK;
}

cm_status cm_search_case_run(cm_search_case *searched, cm_pool *pool, int count) {
    if (count < 1) return cm_fail(CM_ERR_INPUT, "search case: shards must be 1 or more, got %d", count);
    shards all = {searched, count};
    CM_TRY(cm_search_case_alloc(searched));
    if (pool) return cm_pool_run(pool, count, run_shard, &all);
    for (int task = 0; task < count; task++) CM_TRY(run_shard(&all, task, 0));
    return CM_OK;
}
