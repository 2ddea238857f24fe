#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "core/arena.h"
#include "mcts/rules.h"
#include "mcts/search.h"

_Static_assert((int)CUMIND_MUZERO == CM_POLICY_MUZERO && (int)CUMIND_GUMBEL_MUZERO == CM_POLICY_GUMBEL_MUZERO &&
                   (int)CUMIND_STOCHASTIC_MUZERO == CM_POLICY_STOCHASTIC_MUZERO,
               "cumind_policy is cm_policy");
_Static_assert((int)CUMIND_QTRANSFORM_BY_MIN_MAX == CM_QTRANSFORM_MIN_MAX &&
                   (int)CUMIND_QTRANSFORM_BY_PARENT_AND_SIBLINGS == CM_QTRANSFORM_PARENT_AND_SIBLINGS &&
                   (int)CUMIND_QTRANSFORM_COMPLETED_BY_MIX_VALUE == CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE,
               "cumind_qtransform is cm_qtransform_kind");

struct cumind_search {
    cm_api_guard guard;
    cm_search *search;                                 /* owned */
    int batch, actions, chance, simulations, searched; /* roots of the last run */
    uint8_t *legal;                                    /* [B, A], owned */
    cm_key *keys;                                      /* [B], owned */
};

/* What the callbacks of one run see. */
typedef struct run_context {
    const cumind_search *search;
    const cumind_model *model;
    const cumind_roots *roots;
} run_context;

/* ---- options ---- */

cumind_search_options cumind_search_defaults(cumind_policy policy) {
    const cm_search_params p = cm_search_params_default((cm_policy)policy);
    return (cumind_search_options){.policy = policy,
                                   .num_simulations = p.num_simulations,
                                   .max_depth = p.max_depth,
                                   .qtransform = (cumind_qtransform)p.qtransform.kind,
                                   .min_value = p.qtransform.min_value,
                                   .max_value = p.qtransform.max_value,
                                   .epsilon = p.qtransform.epsilon,
                                   .value_scale = p.qtransform.value_scale,
                                   .maxvisit_init = p.qtransform.maxvisit_init,
                                   .rescale_values = p.qtransform.rescale_values,
                                   .use_mixed_value = p.qtransform.use_mixed_value,
                                   .pb_c_init = p.pb_c_init,
                                   .pb_c_base = p.pb_c_base,
                                   .dirichlet_alpha = p.dirichlet_alpha,
                                   .dirichlet_fraction = p.dirichlet_fraction,
                                   .temperature = p.temperature,
                                   .max_num_considered_actions = p.max_num_considered_actions,
                                   .gumbel_scale = p.gumbel_scale};
}

static cm_search_params params_of(const cumind_search_options *o) {
    cm_search_params p = cm_search_params_default((cm_policy)o->policy);
    p.num_simulations = o->num_simulations;
    p.max_depth = o->max_depth;
    p.qtransform = (cm_qtransform){.kind = (cm_qtransform_kind)o->qtransform,
                                   .min_value = o->min_value,
                                   .max_value = o->max_value,
                                   .epsilon = o->epsilon,
                                   .value_scale = o->value_scale,
                                   .maxvisit_init = o->maxvisit_init,
                                   .rescale_values = o->rescale_values,
                                   .use_mixed_value = o->use_mixed_value};
    p.pb_c_init = o->pb_c_init;
    p.pb_c_base = o->pb_c_base;
    p.dirichlet_alpha = o->dirichlet_alpha;
    p.dirichlet_fraction = o->dirichlet_fraction;
    p.temperature = o->temperature;
    p.max_num_considered_actions = o->max_num_considered_actions;
    p.gumbel_scale = o->gumbel_scale;
    return p;
}

/* ---- opening ---- */

static cm_status build(cumind_search *s, const cumind_search_options *options) {
    const cm_search_params params = params_of(options);
    CM_TRY(cm_search_create(&params, s->batch, s->actions, s->chance, &s->search));
    CM_TRY(cm_alloc(&s->legal, (size_t)s->batch, (size_t)s->actions, "masks of a search"));
    return cm_alloc(&s->keys, (size_t)s->batch, sizeof *s->keys, "seeds of a search");
}

static cm_status open_search(const cumind_search_options *options, int batch, int actions, int chance,
                             cumind_search **out) {
    CM_TRY(cm_api_need(out, "out"));
    *out = NULL;
    CM_TRY(cm_api_need(options, "options"));
    if ((unsigned)options->policy > CUMIND_STOCHASTIC_MUZERO)
        return cm_fail(CM_ERR_INPUT, "policy: %d is none of cumind_policy", (int)options->policy);
    if ((options->policy == CUMIND_STOCHASTIC_MUZERO) != (chance > 0))
        return cm_fail(CM_ERR_INPUT, "num_chance must be above 0 for CUMIND_STOCHASTIC_MUZERO and 0 for others, got %d",
                       chance);
    cumind_search *s;
    CM_TRY(cm_alloc(&s, 1, sizeof *s, "a search"));
    cm_api_guard_begin(&s->guard, "the search");
    s->batch = batch, s->actions = actions, s->chance = chance, s->simulations = options->num_simulations;
    const cm_status status = build(s, options);
    if (status == CM_OK) {
        *out = s;
    } else {
        cumind_search_close(s);
    }
    return status;
}

cumind_status cumind_search_open(const cumind_search_options *options, int batch, int num_actions, int num_chance,
                                 cumind_search **out) {
    return (cumind_status)open_search(options, batch, num_actions, num_chance, out);
}

void cumind_search_close(cumind_search *s) {
    if (!s || !cm_api_is_own(&s->guard)) return;
    cm_search_destroy(s->search);
    free(s->legal);
    free(s->keys);
    free(s);
}

/* ---- a run ---- */

/* The lowest logit of all is to this search what no action has; to mctx it is one that is very low. */
static void lift(float *logits, size_t count) {
    const float low = nextafterf(-FLT_MAX, 0.0f);
    for (size_t i = 0; i < count; i++) logits[i] = logits[i] == -FLT_MAX ? low : logits[i];
}

static bool has_lowest(const float *logits, size_t count) {
    int found = 0;
    for (size_t i = 0; i < count; i++) found |= logits[i] == -FLT_MAX;
    return found != 0;
}

/* Whether the search can read the caller's rows where they are: it reads past short ones, and the lowest is lifted. */
static bool can_stay(const cumind_model_out *theirs, int n, int width) {
    bool can = width > CM_DENSE_MOST;
    for (int k = 0; k < n && can; k++)
        can = !has_lowest(theirs->logits_at + (size_t)k * theirs->logits_stride, (size_t)width);
    return can;
}

/* `out` gets the logits of n rows that a function of the model has told in `theirs`. */
static cm_status take_logits(const cumind_model_out *theirs, int n, int width, cm_model_out *out) {
    const size_t columns = (size_t)width, stride = theirs->logits_stride;
    if (theirs->logits_at && stride < columns)
        return cm_fail(CM_ERR_MODEL, "logits_stride must be at least %d, got %zu", width, stride);
    if (theirs->logits_at && can_stay(theirs, n, width)) {
        out->logits = theirs->logits_at, out->stride = stride;
        return CM_OK;
    }
    for (size_t k = 0; theirs->logits_at && k < (size_t)n; k++)
        memcpy(out->prior_logits + k * columns, theirs->logits_at + k * stride, columns * sizeof(float));
    lift(out->prior_logits, (size_t)n * columns);
    return CM_OK;
}

/* The caller has evaluated the roots. */
static cm_status run_root(void *context, int n, const int32_t *slots, cm_model_out *out) {
    const run_context *run = context;
    const size_t actions = (size_t)run->search->actions;
    for (int k = 0; k < n; k++) {
        const size_t root = (size_t)slots[k] / (size_t)(run->search->simulations + 1);
        memcpy(out->prior_logits + (size_t)k * actions, run->roots->prior_logits + root * actions,
               actions * sizeof(float));
        out->value[k] = run->roots->value[root];
    }
    lift(out->prior_logits, (size_t)n * actions);
    return CM_OK;
}

typedef cumind_status model_function(void *context, int n, const int32_t *parent, const int32_t *action,
                                     const int32_t *child, cumind_model_out *out);

/* `width`: of a row of logits. */
static cm_status call(model_function *function, const run_context *run, int n, const int32_t *const slots[3], int width,
                      cm_model_out *out) {
    cumind_model_out theirs = {out->reward, out->discount, out->prior_logits, out->value, NULL, (size_t)width};
    (void)cm_fail(CM_ERR_MODEL,
                  "it says no reason (cumind_fail)"); /* where it fails and leaves no message of its own */
    const cumind_status status = function(run->model->context, n, slots[0], slots[1], slots[2], &theirs);
    if (status == CUMIND_OK) return take_logits(&theirs, n, width, out);
    if (status > 0 && status <= CUMIND_ERR_INTERRUPTED) return (cm_status)status;
    return cm_fail(CM_ERR_MODEL, "the model returned %d, which is no cumind_status", (int)status);
}

static cm_status run_recurrent(void *context, int n, const int32_t *parents, const int32_t *actions,
                               const int32_t *children, cm_model_out *out) {
    const run_context *run = context;
    return call(run->model->recurrent, run, n, (const int32_t *const[]){parents, actions, children},
                run->search->actions, out);
}

static cm_status run_afterstate(void *context, int n, const int32_t *parents, const int32_t *actions,
                                const int32_t *children, cm_model_out *out) {
    const run_context *run = context;
    return call(run->model->afterstate, run, n, (const int32_t *const[]){parents, actions, children},
                run->search->chance, out);
}

static cm_status check_model(const cumind_search *s, const cumind_model *model) {
    CM_TRY(cm_api_need(model, "model"));
    if (model->num_actions != s->actions || model->num_chance != s->chance)
        return cm_fail(CM_ERR_INPUT, "the model has %d actions and %d outcomes of chance, the search %d and %d",
                       model->num_actions, model->num_chance, s->actions, s->chance);
    if (!model->recurrent) return cm_fail(CM_ERR_INPUT, "model.recurrent must not be NULL");
    if (s->chance > 0 && !model->afterstate) return cm_fail(CM_ERR_INPUT, "model.afterstate must not be NULL");
    return CM_OK;
}

static cm_status check_roots(const cumind_search *s, const cumind_roots *roots) {
    CM_TRY(cm_api_need(roots, "roots"));
    CM_TRY(cm_api_need(roots->prior_logits, "roots.prior_logits"));
    CM_TRY(cm_api_need(roots->value, "roots.value"));
    if (roots->count < 1 || roots->count > s->batch)
        return cm_fail(CM_ERR_INPUT, "roots.count must be in [1, %d], got %d", s->batch, roots->count);
    const size_t width = (size_t)s->actions;
    CM_TRY(cm_api_check_finite("roots.prior_logits", "root", roots->prior_logits, roots->count, width));
    CM_TRY(cm_api_check_finite("roots.value", "root", roots->value, roots->count, 1));
    if (roots->noise) CM_TRY(cm_api_check_finite("roots.noise", "root", roots->noise, roots->count, width));
    return CM_OK;
}

static cm_status run_search(cumind_search *s, const cumind_model *model, const cumind_roots *roots,
                            const cumind_search_result *result) {
    CM_TRY(check_model(s, model));
    CM_TRY(check_roots(s, roots));
    CM_TRY(cm_api_need(result, "result"));
    const size_t entries = (size_t)roots->count * (size_t)s->actions;
    for (size_t i = 0; roots->invalid && i < entries; i++) s->legal[i] = roots->invalid[i] == 0;
    for (int k = 0; roots->seed && k < roots->count; k++) s->keys[k] = cm_key_make(roots->seed[k], CM_RNG_ACTION, 0);
    run_context run = {s, model, roots};
    const cm_model ours = {.ctx = &run,
                           .num_actions = s->actions,
                           .num_chance = s->chance,
                           .root = run_root,
                           .recurrent = run_recurrent,
                           .afterstate = s->chance > 0 ? run_afterstate : NULL};
    const cm_roots from = {.count = roots->count,
                           .legal = roots->invalid ? s->legal : NULL,
                           .keys = roots->seed ? s->keys : NULL,
                           .noise = roots->noise,
                           .without_noise = !roots->seed && !roots->noise};
    const cm_search_result to = {.visits = result->visits,
                                 .action_weights = result->action_weights,
                                 .value = result->value,
                                 .qvalues = result->qvalues,
                                 .action = result->action};
    s->searched = 0;
    CM_TRY(cm_search_run(s->search, &ours, &from, &to));
    s->searched = roots->count;
    return CM_OK;
}

cumind_status cumind_search_run(cumind_search *s, const cumind_model *model, const cumind_roots *roots,
                                const cumind_search_result *result) {
    const cm_status status = cm_api_enter(s ? &s->guard : NULL);
    return status == CM_OK ? cm_api_leave(&s->guard, run_search(s, model, roots, result)) : (cumind_status)status;
}

/* ---- the trees ---- */

/* Row `row` of the arrays, a node of root b. */
static void put_node(const cumind_search *s, int b, int slot, size_t row, const cumind_trees *out) {
    const int columns = s->actions > s->chance ? s->actions : s->chance;
    const cm_node_info node = cm_search_node(s->search, b, slot);
    if (out->parent) out->parent[row] = node.parent;
    if (out->action_from_parent) out->action_from_parent[row] = node.action_from_parent;
    if (out->visits) out->visits[row] = node.visits;
    if (out->value) out->value[row] = node.visits > 0 ? node.value : 0.0f;
    int32_t *children = out->children ? out->children + row * (size_t)columns : NULL;
    for (int column = 0; children && column < columns; column++) {
        const bool is_there = node.visits > 0 && column < node.width;
        children[column] = is_there ? cm_search_edge(s->search, b, slot, column).child : -1;
    }
}

static cm_status show_trees(const cumind_search *s, const cumind_trees *out) {
    CM_TRY(cm_api_need(out, "out"));
    if (s->searched == 0)
        return cm_fail(CM_ERR_STATE, "the search has not run, or its last run failed: it has no trees");
    size_t row = 0;
    for (int b = 0; b < s->searched; b++)
        for (int slot = 0; slot <= s->simulations; slot++) put_node(s, b, slot, row++, out);
    return CM_OK;
}

cumind_status cumind_search_get_trees(cumind_search *s, const cumind_trees *out) {
    const cm_status status = cm_api_enter(s ? &s->guard : NULL);
    return status == CM_OK ? cm_api_leave(&s->guard, show_trees(s, out)) : (cumind_status)status;
}
