#include "cases/mctx_tree.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/arena.h"
#include "mcts/search.h"

enum { ROOTS = 3, PATH = 256, MOST_ACTIONS = 65536, MOST_VISITS = 65536 };

/* ---------------------------------------------------------------- the model */

static void predict(const cm_mctx_model *context, cm_threefry_key key, int row, cm_model_out *out) {
    uint32_t n = (uint32_t)context->num_actions;
    cm_threefry_key policy = cm_threefry_split(key, 3, 0);
    float *logits = out->prior_logits + (size_t)row * n;
    for (uint32_t a = 0; a < n; a++) logits[a] = cm_threefry_normal(policy, n, a);
    out->value[row] = cm_threefry_uniform(cm_threefry_split(key, 3, 1), 1, 0, -1.0f, 1.0f);
}

static cm_status mctx_root(void *ctx, int n, const int32_t *slots, cm_model_out *out) {
    cm_mctx_model *context = ctx;
    for (int row = 0; row < n; row++) {
        cm_threefry_key key = {{0, 0}};
        uint32_t number = (uint32_t)(context->first_root + row);
        if (number > 0) key = cm_threefry_fold_in(key, number);
        context->keys[slots[row]] = key;
        predict(context, key, row, out);
    }
    return CM_OK;
}

static cm_status mctx_recurrent(void *ctx, int n, const int32_t *parent_slots, const int32_t *actions,
                                const int32_t *child_slots, cm_model_out *out) {
    cm_mctx_model *context = ctx;
    for (int row = 0; row < n; row++) {
        cm_threefry_key parent = context->keys[parent_slots[row]];
        cm_threefry_key key = cm_threefry_split(parent, (uint32_t)context->num_actions, (uint32_t)actions[row]);
        float reward = cm_threefry_uniform(cm_threefry_split(key, 3, 2), 1, 0, -1.0f, 1.0f);
        context->keys[child_slots[row]] = key;
        out->reward[row] = context->zero_reward ? 0.0f : reward;
        out->discount[row] = context->discount;
        predict(context, key, row, out);
    }
    return CM_OK;
}

cm_model cm_mctx_model_of(cm_mctx_model *context) {
    cm_model model = {
        .ctx = context, .num_actions = context->num_actions, .root = mctx_root, .recurrent = mctx_recurrent};
    return model;
}

/* ---------------------------------------------------------------- the file */

typedef struct golden {
    cm_search_params params;
    int num_actions;
    float discount;
    bool zero_reward;
    const cm_json *tree;
} golden;

static cm_status need_float(const cm_json *object, const char *key, float *out) {
    double value = 0.0;
    CM_TRY(cm_json_need_number(object, key, &value));
    *out = (float)value;
    return CM_OK;
}

/* An optional member: keeps *out if it is absent. */
static void option_float(const cm_json *object, const char *key, float *out) {
    *out = (float)cm_json_number(cm_json_get(object, key), (double)*out);
}

static void option_bool(const cm_json *object, const char *key, bool *out) {
    const cm_json *node = cm_json_get(object, key);
    if (node) *out = cm_json_is_true(node);
}

static cm_status read_qtransform(const cm_json *config, cm_qtransform *out) {
    const cm_json *name = NULL, *options = NULL;
    CM_TRY(cm_json_need(config, "qtransform", CM_JSON_STRING, &name));
    CM_TRY(cm_json_need(config, "qtransform_kwargs", CM_JSON_OBJECT, &options));
    const char *text = cm_json_string(name);
    if (strcmp(text, "qtransform_by_parent_and_siblings") == 0) {
        out->kind = CM_QTRANSFORM_PARENT_AND_SIBLINGS;
    } else if (strcmp(text, "qtransform_completed_by_mix_value") == 0) {
        out->kind = CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE;
    } else {
        return cm_fail(CM_ERR_INPUT, "qtransform: unknown: \"%.40s\"", text);
    }
    option_float(options, "epsilon", &out->epsilon);
    option_float(options, "value_scale", &out->value_scale);
    option_float(options, "maxvisit_init", &out->maxvisit_init);
    option_bool(options, "rescale_values", &out->rescale_values);
    option_bool(options, "use_mixed_value", &out->use_mixed_value);
    return CM_OK;
}

static cm_status read_config(const cm_json *root, golden *out) {
    const cm_json *algorithm = NULL, *config = NULL, *env = NULL, *node = NULL;
    CM_TRY(cm_json_need(root, "algorithm", CM_JSON_STRING, &algorithm));
    CM_TRY(cm_json_need(root, "algorithm_config", CM_JSON_OBJECT, &config));
    CM_TRY(cm_json_need(root, "env_config", CM_JSON_OBJECT, &env));
    bool gumbel = strcmp(cm_json_string(algorithm), "gumbel_muzero") == 0;
    if (!gumbel && strcmp(cm_json_string(algorithm), "muzero") != 0) {
        return cm_fail(CM_ERR_INPUT, "algorithm: must be muzero or gumbel_muzero, got \"%.40s\"",
                       cm_json_string(algorithm));
    }
    cm_search_params *params = &out->params;
    *params = cm_search_params_default(gumbel ? CM_POLICY_GUMBEL_MUZERO : CM_POLICY_MUZERO);
    CM_TRY(read_qtransform(config, &params->qtransform));
    option_float(config, "gumbel_scale", &params->gumbel_scale);
    option_float(config, "dirichlet_fraction", &params->dirichlet_fraction);
    option_float(config, "dirichlet_alpha", &params->dirichlet_alpha);
    option_float(config, "pb_c_init", &params->pb_c_init);
    option_float(config, "pb_c_base", &params->pb_c_base);
    const cm_json *considered = cm_json_get(config, "max_num_considered_actions");
    if (cm_json_is_integer(considered, 1, MOST_ACTIONS)) {
        params->max_num_considered_actions = (int)cm_json_number(considered, 16.0);
    }
    CM_TRY(need_float(env, "discount", &out->discount));
    CM_TRY(cm_json_need(env, "zero_reward", CM_JSON_BOOL, &node));
    out->zero_reward = cm_json_is_true(node);
    return CM_OK;
}

static cm_status read_golden(const cm_json *root, golden *out) {
    const cm_json *children = NULL;
    int64_t visits = 0;
    CM_TRY(read_config(root, out));
    CM_TRY(cm_json_need(root, "tree", CM_JSON_OBJECT, &out->tree));
    CM_TRY(cm_json_need_int(out->tree, "visit", 1, MOST_VISITS, &visits));
    CM_TRY(cm_json_need(out->tree, "child_stats", CM_JSON_ARRAY, &children));
    out->params.num_simulations = (int)visits - 1;
    out->num_actions = cm_json_size(children);
    if (out->num_actions < 2 || out->num_actions > MOST_ACTIONS) {
        return cm_fail(CM_ERR_INPUT, "tree.child_stats: must have 2 to %d elements, has %d", MOST_ACTIONS,
                       out->num_actions);
    }
    if (out->params.gumbel_scale > 0.0f && out->params.root_rule == CM_RULE_GUMBEL) {
        return cm_fail(CM_ERR_INPUT, "algorithm_config.gumbel_scale: must be 0, the file has no noise");
    }
    if (out->params.dirichlet_fraction > 0.0f && out->params.root_rule == CM_RULE_PUCT) {
        return cm_fail(CM_ERR_INPUT, "algorithm_config.dirichlet_fraction: must be 0, the file has no noise");
    }
    return cm_search_params_check(&out->params);
}

/* ---------------------------------------------------------------- comparison */

typedef struct comparison {
    const cm_search *search; /* its root 0 is compared */
    int64_t different;
    char *first;
    size_t size;
} comparison;

static CM_PRINTF(2, 3) void differ(comparison *all, const char *format, ...) {
    if (all->different++ > 0) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(all->first, all->size, format, arguments);
    va_end(arguments);
}

static void compare_number(comparison *all, const cm_json *node, const char *path, const char *key, double got) {
    const cm_json *member = cm_json_get(node, key);
    double want = cm_json_number(member, (double)NAN);
    if (fabs(got - want) <= 1e-3) return;
    differ(all, "%s.%s: got %.9g, want %.9g%s", path, key, got, want, member ? "" : " (missing)");
}

static void compare_node(comparison *all, const cm_json *node, const char *path, int slot, cm_edge_info by);

static void compare_children(comparison *all, const cm_json *node, const char *path, int slot) {
    int width = cm_search_node(all->search, 0, slot).width, column = 0;
    const cm_json *child = cm_json_first(cm_json_get(node, "child_stats"));
    for (; child && column < width; child = cm_json_next(child), column++) {
        char place[PATH];
        snprintf(place, sizeof place, "%s/%d", path, column);
        cm_edge_info edge = cm_search_edge(all->search, 0, slot, column);
        compare_number(all, child, place, "action", column);
        compare_node(all, child, place, edge.child, edge);
    }
    if (child || column < width) {
        differ(all, "%s.child_stats: got %d children, want %d", path, width,
               cm_json_size(cm_json_get(node, "child_stats")));
    }
}

/* `by` is the edge that leads to the node; slot -1: the search has not expanded it. */
static void compare_node(comparison *all, const cm_json *node, const char *path, int slot, cm_edge_info by) {
    bool is_root = slot == 0, is_expanded = slot >= 0;
    int members = !is_expanded ? 3 : is_root ? 6 : 8;
    if (cm_json_size(node) != members) {
        differ(all, "%s: got a node of %d members, want %d", path, members, cm_json_size(node));
        return;
    }
    compare_number(all, node, path, "prior", (double)by.prior);
    if (!is_expanded) {
        if (cm_json_size(cm_json_get(node, "child_stats")) != 0) differ(all, "%s: got no children, want some", path);
        return;
    }
    cm_node_info info = cm_search_node(all->search, 0, slot);
    compare_number(all, node, path, "visit", info.visits);
    compare_number(all, node, path, "value_view", (double)info.value);
    compare_number(all, node, path, "raw_value_view", (double)info.raw_value);
    compare_number(all, node, path, "evaluation_index", slot);
    if (!is_root) compare_number(all, node, path, "reward", (double)by.reward);
    compare_children(all, node, path, slot);
}

/* ---------------------------------------------------------------- the run */

typedef struct replay {
    const golden *file;
    int shards;
    comparison *all;
} replay;

static cm_status run_rows(const replay *job, cm_search *search, cm_mctx_model *context, int first, int count) {
    int n = job->file->num_actions;
    uint8_t *legal = NULL;
    CM_TRY(cm_alloc(&legal, (size_t)count * (size_t)n, 1, "legal actions"));
    for (int b = 0; b < count; b++) {
        int most = first + b == 0 ? n : first + b;
        for (int a = 0; a < most; a++) legal[b * n + a] = 1;
    }
    cm_model model = cm_mctx_model_of(context);
    cm_roots roots = {.count = count, .legal = legal};
    cm_search_result result = {0};
    cm_status status = cm_search_run(search, &model, &roots, &result);
    free(legal);
    if (status != CM_OK || first > 0) return status;
    cm_edge_info root = {.prior = 1.0f};
    job->all->search = search;
    compare_node(job->all, job->file->tree, "tree", 0, root);
    return CM_OK;
}

static cm_status run_shard(void *ctx, int task, int worker) {
    (void)worker;
    const replay *job = ctx;
    int first = ROOTS * task / job->shards, count = ROOTS * (task + 1) / job->shards - first;
    if (count == 0) return CM_OK;
    const golden *file = job->file;
    cm_search *search = NULL;
    cm_mctx_model context = {file->num_actions, file->discount, file->zero_reward, first, NULL};
    size_t slots = (size_t)count * (size_t)(file->params.num_simulations + 1);
    cm_status status = cm_alloc(&context.keys, slots, sizeof *context.keys, "model states");
    if (status == CM_OK) status = cm_search_create(&file->params, count, file->num_actions, 0, &search);
    if (status == CM_OK) status = run_rows(job, search, &context, first, count);
    cm_search_destroy(search);
    free(context.keys);
    return status;
}

cm_status cm_mctx_tree_check(const char *path, cm_pool *pool, int shards, int64_t *different, char *first,
                             size_t size) {
    cm_json_doc *document = NULL;
    golden file = {0};
    comparison all = {.first = first, .size = size};
    if (size > 0) *first = '\0';
    *different = 0;
    if (shards < 1) return cm_fail(CM_ERR_INPUT, "mctx tree: shards must be 1 or more, got %d", shards);
    CM_TRY(cm_json_read(path, &document));
    cm_status status = read_golden(cm_json_root(document), &file);
    if (status != CM_OK) status = cm_fail_in(status, "%s", path);
    replay job = {&file, shards, &all};
    if (status == CM_OK && pool) status = cm_pool_run(pool, shards, run_shard, &job);
    for (int task = 0; status == CM_OK && !pool && task < shards; task++) status = run_shard(&job, task, 0);
    cm_json_free(document);
    *different = all.different;
    return status;
}
