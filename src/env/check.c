/* Whether bytes are a state: before any function of a row is called on those of a checkpoint. */
#include "env/env.h"

/* Steps and flags, which are the same for all environments. */
static cm_status check_common(const cm_env_spec *spec, const cm_env_common *common, bool has_chance) {
    const int most = spec->max_plies > 0 ? spec->max_plies : INT32_MAX / 2;
    const bool is_over = spec->max_steps > 0 && common->steps >= spec->max_steps; /* the time limit */
    const bool may_go_on = spec->max_plies == 0 || common->steps < spec->max_plies;
    CM_TRY(cm_env_check_int("the number of its steps", common->steps, 0, most));
    CM_TRY(cm_env_check_int("its mark of an end", common->terminated, 0, common->steps > 0));
    CM_TRY(cm_env_check_int("its mark of a truncation", common->truncated, is_over, is_over || spec->truncates));
    const bool has_ended = cm_env_ended(common);
    CM_TRY(cm_env_check_int("its mark of a pending outcome", common->pending, 0, has_chance && !has_ended));
    if (common->random.inc_low % 2 == 0) return cm_fail(CM_ERR_INPUT, "its generator's increment is even; must be odd");
    if (has_ended || may_go_on) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "its episode goes on after %d steps, the most that one may have", common->steps);
}

cm_status cm_env_check_state(const cm_env *env, const void *state) {
    const cm_env_common *common = (const cm_env_common *)state;
    const void *rules = cm_env_rules_of(state);
    const bool has_ended = cm_env_ended(state);
    uint8_t mask[CM_ENV_MAX_ACTIONS];
    CM_TRY(check_common(&env->spec, common, env->def->chance != NULL));
    CM_TRY(env->def->check(&env->params, rules, common->steps, has_ended));
    if (env->def->to_play)
        CM_TRY(cm_env_check_int("its player", env->def->to_play(&env->params, rules), 0, env->spec.players - 1));
    if (!env->def->legal || has_ended || common->pending) return CM_OK;
    int count = 0;
    env->def->legal(&env->params, rules, mask);
    for (int a = 0; a < env->spec.actions; a++) count += mask[a] != 0;
    return cm_env_check_int("the number of its legal actions", count, 1, env->spec.max_legal);
}
