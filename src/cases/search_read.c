/* Reading a search case. The messages name file and field. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/search_internal.h"
#include "core/arena.h"

enum { MOST_NUMBERS = 1 << 27, MOST = 65536, PATH = 96 };

/* ---------------------------------------------------------------- arrays of a shape */

static cm_status check_shape(const cm_json *node, const char *what, const size_t *dims, int rank) {
    if (!node) return cm_fail(CM_ERR_INPUT, "%s: missing", what);
    if (cm_json_type(node) != CM_JSON_ARRAY) return cm_fail(CM_ERR_INPUT, "%s: must be an array of %zu", what, dims[0]);
    size_t i = 0;
    for (const cm_json *child = cm_json_first(node); child; child = cm_json_next(child), i++) {
        if (i == dims[0]) break;
        char place[PATH];
        snprintf(place, sizeof place, "%s[%zu]", what, i);
        if (rank > 1) {
            CM_TRY(check_shape(child, place, dims + 1, rank - 1));
        } else if (cm_json_type(child) != CM_JSON_NUMBER) {
            return cm_fail(CM_ERR_INPUT, "%s: must be a number", place);
        }
    }
    int size = cm_json_size(node);
    if ((size_t)size == dims[0]) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: must be an array of %zu, has %d", what, dims[0], size);
}

/* Dimensions and range of one array; reads it into memory that the caller owns. */
typedef struct layout {
    size_t dims[3];
    int rank;
    int64_t min, max; /* integers */
} layout;

static size_t count_of(const layout *shape) {
    size_t count = 1;
    for (int i = 0; i < shape->rank; i++) count *= shape->dims[i];
    return count;
}

static cm_status read_ints(const cm_json *object, const char *key, const char *what, const layout *shape,
                           int32_t **out) {
    const cm_json *node = cm_json_get(object, key);
    CM_TRY(check_shape(node, what, shape->dims, shape->rank));
    CM_TRY(cm_alloc(out, count_of(shape), sizeof **out, what));
    return cm_json_ints(node, what, count_of(shape), shape->min, shape->max, *out);
}

static cm_status read_floats(const cm_json *object, const char *key, const char *what, const layout *shape,
                             float **out) {
    const cm_json *node = cm_json_get(object, key);
    size_t count = count_of(shape);
    CM_TRY(check_shape(node, what, shape->dims, shape->rank));
    CM_TRY(cm_alloc(out, count, sizeof **out, what));
    CM_TRY(cm_json_floats(node, what, count, *out));
    for (size_t i = 0; i < count; i++) {
        if (!isfinite((*out)[i])) return cm_fail(CM_ERR_INPUT, "%s[%zu]: is not finite in float32", what, i);
    }
    return CM_OK;
}

/* ---------------------------------------------------------------- options */

static cm_status need_int(const cm_json *object, const char *key, int64_t min, int64_t max, int *out) {
    int64_t value = 0;
    CM_TRY(cm_json_need_int(object, key, min, max, &value));
    *out = (int)value;
    return CM_OK;
}

static cm_status need_float(const cm_json *object, const char *key, float *out) {
    double value = 0.0;
    CM_TRY(cm_json_need_number(object, key, &value));
    *out = (float)value;
    if (isfinite(*out)) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: is not finite in float32", key);
}

static cm_status need_bool(const cm_json *object, const char *key, bool *out) {
    const cm_json *node = NULL;
    CM_TRY(cm_json_need(object, key, CM_JSON_BOOL, &node));
    *out = cm_json_is_true(node);
    return CM_OK;
}

static cm_status read_qtransform(const cm_json *options, cm_qtransform *out) {
    static const char *const names[] = {
        [CM_QTRANSFORM_MIN_MAX] = "qtransform_by_min_max",
        [CM_QTRANSFORM_PARENT_AND_SIBLINGS] = "qtransform_by_parent_and_siblings",
        [CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE] = "qtransform_completed_by_mix_value",
    };
    const cm_json *object = NULL, *name = NULL;
    CM_TRY(cm_json_need(options, "qtransform", CM_JSON_OBJECT, &object));
    CM_TRY(cm_json_need(object, "name", CM_JSON_STRING, &name));
    int kind = 0;
    while (kind < 3 && strcmp(cm_json_string(name), names[kind]) != 0) kind++;
    if (kind == 3) return cm_fail(CM_ERR_INPUT, "qtransform.name: unknown: \"%.40s\"", cm_json_string(name));
    out->kind = (cm_qtransform_kind)kind;
    if (out->kind == CM_QTRANSFORM_MIN_MAX) {
        CM_TRY(need_float(object, "min_value", &out->min_value));
        return need_float(object, "max_value", &out->max_value);
    }
    CM_TRY(need_float(object, "epsilon", &out->epsilon));
    if (out->kind == CM_QTRANSFORM_PARENT_AND_SIBLINGS) return CM_OK;
    CM_TRY(need_float(object, "value_scale", &out->value_scale));
    CM_TRY(need_float(object, "maxvisit_init", &out->maxvisit_init));
    CM_TRY(need_bool(object, "rescale_values", &out->rescale_values));
    return need_bool(object, "use_mixed_value", &out->use_mixed_value);
}

static cm_status read_options(const cm_json *root, cm_search_case *searched) {
    const cm_json *options = NULL;
    cm_search_params *params = &searched->params;
    CM_TRY(cm_json_need(root, "options", CM_JSON_OBJECT, &options));
    CM_TRY(read_qtransform(options, &params->qtransform));
    if (searched->policy == CM_POLICY_GUMBEL_MUZERO) {
        CM_TRY(need_int(options, "max_num_considered_actions", 1, MOST, &params->max_num_considered_actions));
        return need_float(options, "gumbel_scale", &params->gumbel_scale);
    }
    CM_TRY(need_float(options, "pb_c_init", &params->pb_c_init));
    CM_TRY(need_float(options, "pb_c_base", &params->pb_c_base));
    CM_TRY(need_float(options, "dirichlet_fraction", &params->dirichlet_fraction));
    return need_float(options, "temperature", &params->temperature);
}

static cm_status read_policy(const cm_json *root, cm_policy *out) {
    static const char *const names[] = {"muzero", "gumbel_muzero", "stochastic_muzero"};
    const cm_json *node = NULL;
    CM_TRY(cm_json_need(root, "policy", CM_JSON_STRING, &node));
    for (int i = 0; i < 3; i++) {
        if (strcmp(cm_json_string(node), names[i]) == 0) {
            *out = (cm_policy)i;
            return CM_OK;
        }
    }
    return cm_fail(CM_ERR_INPUT, "policy: must be muzero, gumbel_muzero or stochastic_muzero, got \"%.40s\"",
                   cm_json_string(node));
}

static cm_status read_depth(const cm_json *root, int *out) {
    const cm_json *node = cm_json_get(root, "max_depth");
    *out = 0;
    if (node && cm_json_type(node) == CM_JSON_NULL) return CM_OK;
    return need_int(root, "max_depth", 1, INT32_MAX, out);
}

static cm_status read_sizes(const cm_json *root, cm_search_case *searched) {
    CM_TRY(read_policy(root, &searched->policy));
    searched->params = cm_search_params_default(searched->policy);
    CM_TRY(need_int(root, "batch", 1, MOST, &searched->batch));
    CM_TRY(need_int(root, "num_actions", 1, MOST, &searched->num_actions));
    CM_TRY(need_int(root, "num_simulations", 1, MOST, &searched->params.num_simulations));
    if (searched->policy == CM_POLICY_STOCHASTIC_MUZERO) {
        CM_TRY(need_int(root, "num_chance_outcomes", 1, MOST, &searched->num_chance));
    }
    CM_TRY(read_depth(root, &searched->params.max_depth));
    CM_TRY(need_float(root, "unit", &searched->unit));
    if (!(searched->unit > 0.0f)) return cm_fail(CM_ERR_INPUT, "unit: must be above 0");
    CM_TRY(need_bool(root, "action_is_sampled", &searched->is_sampled));
    searched->slots = searched->params.num_simulations + 1;
    searched->columns = searched->num_actions + searched->num_chance;
    double numbers = (double)searched->batch * (double)searched->slots * (double)searched->columns;
    if (numbers <= (double)MOST_NUMBERS) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "batch, num_simulations, num_actions: a tree of %.3g edges is too large, at most %d",
                   numbers, MOST_NUMBERS);
}

/* ---------------------------------------------------------------- model and roots */

/* mctx knows no actions that are not there (mcts/model.h): such a logit in a file is only a very low one. */
static float there(float logit) { return logit > -FLT_MAX ? logit : nextafterf(-FLT_MAX, 0.0f); }

static cm_status read_model(const cm_json *root, cm_search_case *searched) {
    const cm_json *model = NULL, *values = NULL;
    cm_table *table = &searched->table;
    CM_TRY(cm_json_need(root, "model", CM_JSON_OBJECT, &model));
    if (cm_json_need(model, "value", CM_JSON_ARRAY, &values) != CM_OK) return cm_fail_in(CM_ERR_INPUT, "model");
    size_t states = (size_t)cm_json_size(values), a = (size_t)searched->num_actions, c = (size_t)searched->num_chance;
    if (states == 0) return cm_fail(CM_ERR_INPUT, "model.value: must have at least one state");
    table->states = (int)states;
    table->num_actions = searched->num_actions;
    table->num_chance = searched->num_chance;
    layout per_state = {{states}, 1, 0, 0}, per_action = {{states, a}, 2, 0, 0};
    layout step = {{states, a, c}, c > 0 ? 3 : 2, 0, (int64_t)states - 1};
    int32_t *next = NULL;
    cm_status status = read_ints(model, "next_state", "model.next_state", &step, &next);
    table->next_state = next;
    CM_TRY(status);
    const struct {
        const char *key, *what;
        const layout *shape;
        const float **out;
        bool chance_only, is_logit;
    } rows[] = {
        {"reward", "model.reward", &step, &table->reward, false, false},
        {"discount", "model.discount", &step, &table->discount, false, false},
        {"prior_logits", "model.prior_logits", &per_action, &table->prior_logits, false, true},
        {"value", "model.value", &per_state, &table->value, false, false},
        {"chance_logits", "model.chance_logits", &step, &table->chance_logits, true, true},
        {"afterstate_value", "model.afterstate_value", &per_action, &table->afterstate_value, true, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].chance_only && c == 0) continue;
        float *numbers = NULL;
        status = read_floats(model, rows[i].key, rows[i].what, rows[i].shape, &numbers);
        *rows[i].out = numbers;
        CM_TRY(status);
        if (!rows[i].is_logit) continue;
        for (size_t k = 0; k < count_of(rows[i].shape); k++) numbers[k] = there(numbers[k]);
    }
    return CM_OK;
}

static cm_status read_legal(const cm_json *root, cm_search_case *searched) {
    const cm_json *node = cm_json_get(root, "invalid_actions");
    if (node && cm_json_type(node) == CM_JSON_NULL) return CM_OK;
    layout shape = {{(size_t)searched->batch, (size_t)searched->num_actions}, 2, 0, 1};
    int32_t *invalid = NULL;
    cm_status status = read_ints(root, "invalid_actions", "root.invalid_actions", &shape, &invalid);
    if (status == CM_OK) status = cm_alloc(&searched->legal, count_of(&shape), 1, "legal actions");
    for (size_t i = 0; status == CM_OK && i < count_of(&shape); i++) searched->legal[i] = invalid[i] == 0;
    free(invalid);
    return status;
}

static cm_status read_noise(const cm_json *root, cm_search_case *searched) {
    bool gumbel = searched->policy == CM_POLICY_GUMBEL_MUZERO;
    const char *key = gumbel ? "gumbel" : "dirichlet_noise", *what = gumbel ? "root.gumbel" : "root.dirichlet_noise";
    const cm_json *node = cm_json_get(root, key);
    bool is_null = node && cm_json_type(node) == CM_JSON_NULL;
    if (!gumbel) {
        bool without = !(searched->params.dirichlet_fraction > 0.0f);
        if (is_null && without) return CM_OK;
        if (is_null) return cm_fail(CM_ERR_INPUT, "%s: is null, but dirichlet_fraction is not 0", what);
        if (node && without) return cm_fail(CM_ERR_INPUT, "%s: must be null because dirichlet_fraction is 0", what);
    }
    layout shape = {{(size_t)searched->batch, (size_t)searched->num_actions}, 2, 0, 0};
    return read_floats(root, key, what, &shape, &searched->noise);
}

static cm_status read_roots(const cm_json *document, cm_search_case *searched) {
    const cm_json *root = NULL;
    CM_TRY(cm_json_need(document, "root", CM_JSON_OBJECT, &root));
    layout per_root = {{(size_t)searched->batch}, 1, 0, (int64_t)searched->table.states - 1};
    CM_TRY(read_ints(root, "state", "root.state", &per_root, &searched->root_states));
    CM_TRY(read_legal(root, searched));
    return read_noise(root, searched);
}

/* ---------------------------------------------------------------- expected */

static bool is_expected(const cm_search_case *searched, int field) {
    if (field == CM_FIELD_ACTION_PROBS) return searched->policy != CM_POLICY_GUMBEL_MUZERO;
    return field != CM_FIELD_ACTION || !searched->is_sampled;
}

static cm_status read_expected(const cm_json *document, cm_search_case *searched) {
    const cm_json *expected = NULL;
    CM_TRY(cm_json_need(document, "expected", CM_JSON_OBJECT, &expected));
    for (int field = 0; field < CM_FIELD_FIELDS; field++) {
        const cm_search_case_row *row = &cm_search_case_rows[field];
        char what[PATH];
        snprintf(what, sizeof what, "expected.%s", row->name);
        if (!is_expected(searched, field)) continue;
        layout shape = {{0}, 0, INT32_MIN, INT32_MAX};
        shape.rank = cm_search_case_dims(searched, (cm_search_case_field)field, shape.dims);
        CM_TRY(row->is_integer ? read_ints(expected, row->name, what, &shape, &searched->want[field].i)
                               : read_floats(expected, row->name, what, &shape, &searched->want[field].f));
    }
    return CM_OK;
}

static cm_status read_document(const cm_json *document, bool need_expected, cm_search_case *searched) {
    const cm_json *format = NULL;
    if (cm_json_type(document) != CM_JSON_OBJECT) return cm_fail(CM_ERR_INPUT, "must be a JSON object");
    CM_TRY(cm_json_need(document, "format", CM_JSON_STRING, &format));
    if (strcmp(cm_json_string(format), "cumind-search-case-1") != 0) {
        return cm_fail(CM_ERR_INPUT, "format: must be \"cumind-search-case-1\", got \"%.40s\"", cm_json_string(format));
    }
    CM_TRY(read_sizes(document, searched));
    if (read_options(document, searched) != CM_OK) return cm_fail_in(CM_ERR_INPUT, "options");
    if (cm_search_params_check(&searched->params) != CM_OK) return cm_fail_in(CM_ERR_INPUT, "options");
    CM_TRY(read_model(document, searched));
    CM_TRY(read_roots(document, searched));
    return need_expected ? read_expected(document, searched) : CM_OK;
}

cm_status cm_search_case_read(const char *path, bool need_expected, cm_search_case **out) {
    cm_json_doc *document = NULL;
    cm_search_case *searched = NULL;
    *out = NULL;
    CM_TRY(cm_json_read(path, &document));
    cm_status status = cm_alloc(&searched, 1, sizeof *searched, "search case");
    if (status == CM_OK) {
        status = read_document(cm_json_root(document), need_expected, searched);
        if (status != CM_OK) status = cm_fail_in(status, "%s", path);
    }
    cm_json_free(document);
    if (status == CM_OK) {
        *out = searched;
    } else {
        cm_search_case_destroy(searched);
    }
    return status;
}
