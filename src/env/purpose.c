/* Environments for other purposes than training. */
#include "env/frame_stack.h"

cm_status cm_env_for(const cm_env *env, cm_env_purpose purpose, cm_env *out) {
    const cm_env_def *def = cm_env_single_frames(env).def;
    cm_env_params params = env->params;
    *out = *env;
    if (!(def->options & CM_ENV_LIFE_ENDS)) return CM_OK;
    params.frames = (cm_env_frames){0};
    params.purpose = (int)purpose;
    params.max_steps = params.given_steps;
    return cm_env_open_def(out, def, def->name, &params);
}
