#include "cases/tabular.h"

#include <string.h>

static void predict(const cm_table *table, int32_t state, int row, cm_model_out *out) {
    size_t n = (size_t)table->num_actions;
    memcpy(out->prior_logits + (size_t)row * n, table->prior_logits + (size_t)state * n, n * sizeof(float));
    out->value[row] = table->value[state];
}

static cm_status tabular_root(void *ctx, int n, const int32_t *slots, cm_model_out *out) {
    cm_tabular *tabular = ctx;
    for (int row = 0; row < n; row++) {
        int32_t state = tabular->root_states[row];
        tabular->states[slots[row]] = state;
        predict(tabular->table, state, row, out);
    }
    return CM_OK;
}

static cm_status tabular_recurrent(void *ctx, int n, const int32_t *parent_slots, const int32_t *actions,
                                   const int32_t *child_slots, cm_model_out *out) {
    cm_tabular *tabular = ctx;
    const cm_table *table = tabular->table;
    int columns = table->num_chance > 0 ? table->num_chance : table->num_actions;
    for (int row = 0; row < n; row++) {
        size_t step = (size_t)tabular->states[parent_slots[row]] * (size_t)columns + (size_t)actions[row];
        int32_t state = table->next_state[step];
        out->reward[row] = table->reward[step];
        out->discount[row] = table->discount[step];
        tabular->states[child_slots[row]] = state;
        predict(table, state, row, out);
    }
    return CM_OK;
}

static cm_status tabular_afterstate(void *ctx, int n, const int32_t *parent_slots, const int32_t *actions,
                                    const int32_t *child_slots, cm_model_out *out) {
    cm_tabular *tabular = ctx;
    const cm_table *table = tabular->table;
    size_t outcomes = (size_t)table->num_chance;
    for (int row = 0; row < n; row++) {
        int32_t afterstate = tabular->states[parent_slots[row]] * table->num_actions + actions[row];
        tabular->states[child_slots[row]] = afterstate;
        memcpy(out->prior_logits + (size_t)row * outcomes, table->chance_logits + (size_t)afterstate * outcomes,
               outcomes * sizeof(float));
        out->value[row] = table->afterstate_value[afterstate];
    }
    return CM_OK;
}

cm_model cm_tabular_model(cm_tabular *tabular) {
    cm_model model = {
        .ctx = tabular,
        .num_actions = tabular->table->num_actions,
        .num_chance = tabular->table->num_chance,
        .root = tabular_root,
        .recurrent = tabular_recurrent,
        .afterstate = tabular->table->num_chance > 0 ? tabular_afterstate : NULL,
    };
    return model;
}
