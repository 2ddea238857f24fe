#include "network/network.h"

/* Pictures of games on screens, not boards. */
static bool is_downsampled(const cm_network_options *o, int ndim, const int *observation) {
    enum { LEAST = 32 };
    if (o->family != CM_FAMILY_RESNET || ndim != 3 || o->downsample == CM_DOWNSAMPLE_OFF) return false;
    return o->downsample == CM_DOWNSAMPLE_ON || (observation[0] >= LEAST && observation[1] >= LEAST);
}

void cm_network_config_from_options(cm_network_config *config, const cm_network_options *options, int ndim,
                                    const int *observation, int actions, bool consistency) {
    const cm_network_options *o = options;
    *config = (cm_network_config){.family = (cm_network_family)o->family,
                                  .observation_ndim = ndim,
                                  .actions = actions,
                                  .hidden = o->hidden_dim,
                                  .blocks = o->num_blocks,
                                  .channels = o->conv_channels,
                                  .downsample = is_downsampled(o, ndim, observation),
                                  .head_channels = o->head_channels,
                                  .head_hidden = o->head_hidden,
                                  .elu_heads = o->head_activation == CM_HEAD_ELU,
                                  .stem = o->family == CM_FAMILY_MLP && ndim == 3 ? o->stem_channels : 0,
                                  .trunk_layers = o->trunk_layers,
                                  .body = (cm_network_body)o->body,
                                  .norm = (cm_network_norm)o->norm,
                                  .minmax = o->state_norm == CM_STATE_NORM_MINMAX,
                                  .residual_dynamics = o->residual_dynamics,
                                  .encoding = (cm_encoding)o->action_encoding,
                                  .action_embedding = o->family == CM_FAMILY_CUMIND ? 0 : o->action_embedding,
                                  .value_support = {(float)o->value_support_min, (float)o->value_support_max,
                                                    o->value_support_size, o->value_transform},
                                  .reward_support = {(float)o->reward_support_min, (float)o->reward_support_max,
                                                     o->reward_support_size, o->value_transform},
                                  .prefix_horizon = o->value_prefix ? o->value_prefix_horizon : 0,
                                  .lstm = o->lstm_size,
                                  .fake_quantised = o->quantization == CM_QUANTIZATION_QAT,
                                  .zero_init = o->zero_init_heads && o->family != CM_FAMILY_CUMIND,
                                  .init = o->initializer == CM_INITIALIZER_LECUN_NORMAL ? CM_INIT_LECUN_NORMAL
                                                                                        : CM_INIT_UNIFORM_FAN_IN,
                                  .codes = o->chance_codes,
                                  .encoder = true,
                                  .consistency = consistency,
                                  .projection_hidden = o->consistency_hidden,
                                  .projection_output = o->consistency_output,
                                  .predictor_hidden = o->consistency_predictor};
    if (config->family == CM_FAMILY_RESNET) config->norm = CM_NORM_BATCH;
    if (config->family == CM_FAMILY_CUMIND) config->norm = CM_NORM_NONE;
    for (int i = 0; i < ndim && i < 3; i++) config->observation[i] = observation[i];
}

int cm_network_halvings(const cm_network_config *c) {
    enum { HALVINGS = 3, MOST = 8 << HALVINGS };
    if (!c->downsample) return 0;
    return c->observation[0] > MOST || c->observation[1] > MOST ? HALVINGS + 1 : HALVINGS;
}

void cm_network_state_planes(const cm_network_config *c, int out[3]) {
    out[0] = c->observation[0], out[1] = c->observation[1], out[2] = c->channels;
    for (int i = cm_network_halvings(c); i > 0; i--) out[0] = (out[0] + 1) / 2, out[1] = (out[1] + 1) / 2;
}

/* The first dimension of observations that has no extent, -1: none. */
static int empty_dimension(const cm_network_config *c) {
    for (int i = 0; i < c->observation_ndim; i++)
        if (c->observation[i] < 1) return i;
    return -1;
}

cm_status cm_network_config_check(const cm_network_config *c) {
#define REFUSE(when, ...)                                                                                              \
    if (when) return cm_fail(CM_ERR_INPUT, __VA_ARGS__);
#include "network/network_rules.def"
#undef REFUSE
    return CM_OK;
}
