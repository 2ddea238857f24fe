#include "mcts/params.h"

#include <float.h>

enum { MOST_SIMULATIONS = 65536, MOST_CONSIDERED = 65536 };

cm_search_params cm_search_params_default(cm_policy policy) {
    cm_search_params params = {
        .num_simulations = 25,
        .root_rule = CM_RULE_PUCT,
        .interior_rule = CM_RULE_PUCT,
        .qtransform = {.kind = CM_QTRANSFORM_PARENT_AND_SIBLINGS,
                       .min_value = -1.0f,
                       .max_value = 1.0f,
                       .epsilon = 1e-8f,
                       .value_scale = 0.1f,
                       .maxvisit_init = 50.0f,
                       .rescale_values = true,
                       .use_mixed_value = true},
        .pb_c_init = 1.25f,
        .pb_c_base = 19652.0f,
        .dirichlet_alpha = 0.3f,
        .dirichlet_fraction = 0.25f,
        .temperature = 1.0f,
        .max_num_considered_actions = 16,
        .gumbel_scale = 1.0f,
    };
    if (policy == CM_POLICY_GUMBEL_MUZERO) {
        params.root_rule = params.interior_rule = CM_RULE_GUMBEL;
        params.qtransform.kind = CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE;
    }
    return params;
}

static cm_qtransform_kind qtransform_of(const cm_mcts_options *options, cm_qtransform_kind standard) {
    switch ((cm_mcts_qtransform)options->qtransform) {
    case CM_MCTS_Q_MIN_MAX: return CM_QTRANSFORM_MIN_MAX;
    case CM_MCTS_Q_PARENT_AND_SIBLINGS: return CM_QTRANSFORM_PARENT_AND_SIBLINGS;
    case CM_MCTS_Q_COMPLETED_BY_MIX_VALUE: return CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE;
    case CM_MCTS_Q_AUTO: break;
    }
    return standard;
}

cm_search_params cm_search_params_from_options(const cm_mcts_options *options) {
    cm_search_params params =
        cm_search_params_default(cm_mcts_is_gumbel(options) ? CM_POLICY_GUMBEL_MUZERO : CM_POLICY_MUZERO);
    params.num_simulations = options->num_simulations;
    params.max_depth = options->max_depth;
    params.qtransform.kind = qtransform_of(options, params.qtransform.kind);
    params.qtransform.min_value = (float)options->min_value;
    params.qtransform.max_value = (float)options->max_value;
    params.qtransform.epsilon = (float)options->qtransform_epsilon;
    params.qtransform.value_scale = (float)options->value_scale;
    params.qtransform.maxvisit_init = (float)options->maxvisit_init;
    params.qtransform.rescale_values = options->rescale_values;
    params.qtransform.use_mixed_value = options->use_mixed_value;
    params.pb_c_init = (float)options->c_puct;
    params.pb_c_base = (float)options->pb_c_base;
    params.dirichlet_alpha = (float)options->dirichlet_alpha;
    params.dirichlet_fraction = (float)options->exploration_fraction;
    params.max_num_considered_actions = options->max_num_considered_actions;
    params.gumbel_scale = (float)options->gumbel_scale;
    return params;
}

static cm_status check_int(const char *name, int value, int min, int max) {
    if (value >= min && value <= max) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: must be an integer in [%d, %d], got %d", name, min, max, value);
}

/* NaN fails as well. */
static cm_status check_real(const char *name, float value, float min, float max) {
    if (value >= min && value <= max) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: must be in [%g, %g], got %g", name, (double)min, (double)max, (double)value);
}

static cm_status check_qtransform(const cm_qtransform *q) {
    CM_TRY(check_int("qtransform", (int)q->kind, 0, CM_QTRANSFORM_COMPLETED_BY_MIX_VALUE));
    if (q->kind == CM_QTRANSFORM_MIN_MAX) {
        CM_TRY(check_real("qtransform.min_value", q->min_value, -FLT_MAX, FLT_MAX));
        CM_TRY(check_real("qtransform.max_value", q->max_value, -FLT_MAX, FLT_MAX));
        if (q->min_value < q->max_value) return CM_OK;
        return cm_fail(CM_ERR_INPUT, "qtransform.max_value: must be above min_value %g, got %g", (double)q->min_value,
                       (double)q->max_value);
    }
    CM_TRY(check_real("qtransform.epsilon", q->epsilon, FLT_MIN, FLT_MAX));
    CM_TRY(check_real("qtransform.value_scale", q->value_scale, 0.0f, FLT_MAX));
    return check_real("qtransform.maxvisit_init", q->maxvisit_init, 0.0f, FLT_MAX);
}

cm_status cm_search_params_check(const cm_search_params *params) {
    CM_TRY(check_int("num_simulations", params->num_simulations, 0, MOST_SIMULATIONS));
    CM_TRY(check_int("max_depth", params->max_depth, 0, INT32_MAX));
    CM_TRY(check_int("root_rule", (int)params->root_rule, 0, CM_RULE_GUMBEL));
    CM_TRY(check_int("interior_rule", (int)params->interior_rule, 0, CM_RULE_GUMBEL));
    CM_TRY(check_qtransform(&params->qtransform));
    CM_TRY(check_real("pb_c_init", params->pb_c_init, 0.0f, FLT_MAX));
    CM_TRY(check_real("pb_c_base", params->pb_c_base, FLT_MIN, FLT_MAX));
    CM_TRY(check_real("dirichlet_fraction", params->dirichlet_fraction, 0.0f, 1.0f));
    if (params->dirichlet_fraction > 0.0f) {
        CM_TRY(check_real("dirichlet_alpha", params->dirichlet_alpha, FLT_MIN, FLT_MAX));
    }
    CM_TRY(check_real("temperature", params->temperature, 0.0f, FLT_MAX));
    CM_TRY(check_int("max_num_considered_actions", params->max_num_considered_actions, 1, MOST_CONSIDERED));
    return check_real("gumbel_scale", params->gumbel_scale, 0.0f, FLT_MAX);
}
