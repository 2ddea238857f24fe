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
                                  .trunk_layers = o->trunk_layers,
                                  .body = (cm_network_body)o->body,
                                  .norm = (cm_network_norm)o->norm,
                                  .minmax = o->state_norm == CM_STATE_NORM_MINMAX,
                                  .residual_dynamics = o->residual_dynamics,
                                  .encoding = (cm_encoding)o->action_encoding,
                                  .value_support = {(float)o->value_support_min, (float)o->value_support_max,
                                                    o->value_support_size, o->value_transform},
                                  .reward_support = {(float)o->reward_support_min, (float)o->reward_support_max,
                                                     o->reward_support_size, o->value_transform},
                                  .prefix_horizon = o->value_prefix ? o->value_prefix_horizon : 0,
                                  .lstm = o->lstm_size,
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

static cm_status check_numbers(const cm_network_config *c) {
    if (c->numbers > 1 && cm_policy_form_of(c->actions, c->numbers).numbers == 0)
        return cm_fail(CM_ERR_INPUT, "%d actions are not the combinations of %d numbers", c->actions, c->numbers);
    if (!c->per_number) return CM_OK;
    if (c->model != CM_NETWORK_DYNAMICS)
        return cm_fail(CM_ERR_INPUT, "a policy per number is for networks with dynamics, without chance");
    if (c->family != CM_FAMILY_CUMIND && c->encoding == CM_ENCODE_BOARD)
        return cm_fail(
            CM_ERR_INPUT,
            "Network architecture.action_encoding: with a policy per number choose \"onehot\" or \"scaled\"");
    return CM_OK;
}

static cm_status check_pictures(const cm_network_config *c) {
    if (!c->downsample) return CM_OK;
    if (c->channels < 2) {
        return cm_fail(CM_ERR_INPUT,
                       "Network architecture.conv_channels: with downsample at least 2, half of them first, got %d",
                       c->channels);
    }
    if (c->encoding == CM_ENCODE_BOARD) {
        return cm_fail(
            CM_ERR_INPUT,
            "Network architecture.action_encoding: \"board\" needs states of the board's size; set downsample "
            "to off");
    }
    return CM_OK;
}

cm_status cm_network_config_check(const cm_network_config *c) {
    if (c->observation_ndim != 1 && c->observation_ndim != 3) {
        return cm_fail(CM_ERR_INPUT,
                       "Unsupported observation shape: rank %d, must be 1 (vector) or 3 (height, width, channels)",
                       c->observation_ndim);
    }
    for (int i = 0; i < c->observation_ndim; i++) {
        if (c->observation[i] < 1)
            return cm_fail(CM_ERR_INPUT, "observation shape: dimension %d is %d, must be >= 1", i, c->observation[i]);
    }
    if (c->actions < 1) return cm_fail(CM_ERR_INPUT, "number of actions is %d, must be >= 1", c->actions);
    CM_TRY(check_numbers(c));
    if (c->family == CM_FAMILY_RESNET && c->observation_ndim != 3) {
        return cm_fail(
            CM_ERR_INPUT,
            "Network architecture.family: resnet needs observations of rank 3, these have rank %d; use mlp or cumind",
            c->observation_ndim);
    }
    if (c->family == CM_FAMILY_CUMIND && c->observation_ndim == 3 && c->channels < 1) {
        return cm_fail(
            CM_ERR_INPUT,
            "Network architecture.conv_channels: family cumind needs at least 1 for observations of rank 3, got %d",
            c->channels);
    }
    if (c->family == CM_FAMILY_RESNET && c->norm != CM_NORM_BATCH) {
        return cm_fail(CM_ERR_INPUT, "Network architecture.norm: family resnet always has \"batch\"");
    }
    CM_TRY(check_pictures(c));
    if (c->family == CM_FAMILY_MLP && c->encoding == CM_ENCODE_BOARD) {
        return cm_fail(
            CM_ERR_INPUT,
            "Network architecture.action_encoding: \"board\" is for family resnet; mlp takes onehot or scaled");
    }
    if (c->model == CM_NETWORK_PREDICTION && c->consistency) {
        return cm_fail(CM_ERR_INPUT, "consistency heads need dynamics, and this network has only a prediction");
    }
    if (c->model == CM_NETWORK_CHANCE && c->family == CM_FAMILY_CUMIND) {
        return cm_fail(CM_ERR_INPUT, "Network architecture.family: networks with chance are mlp or resnet, not cumind");
    }
    if (c->family == CM_FAMILY_CUMIND && c->observation_ndim == 1 && c->blocks < 1) {
        return cm_fail(
            CM_ERR_INPUT,
            "Network architecture.num_blocks: family cumind needs at least 1 for observations that are vectors, got %d",
            c->blocks);
    }
    if (c->model == CM_NETWORK_CHANCE && c->codes < 1) {
        return cm_fail(CM_ERR_INPUT, "number of chance codes is %d, must be >= 1", c->codes);
    }
    if (c->prefix_horizon > 0 && c->family == CM_FAMILY_CUMIND) {
        return cm_fail(CM_ERR_INPUT,
                       "Network architecture.value_prefix: for networks of family mlp or resnet, not cumind");
    }
    if (c->prefix_horizon > 0 && c->model == CM_NETWORK_PREDICTION) {
        return cm_fail(CM_ERR_INPUT,
                       "Network architecture.value_prefix: a network with only a prediction has no rewards");
    }
    if (c->prefix_horizon > 0 && (c->lstm < 1 || c->lstm > CM_LSTM_HIDDEN_MAX)) {
        return cm_fail(CM_ERR_INPUT, "Network architecture.lstm_size is %d, must be in 1 .. %d", c->lstm,
                       CM_LSTM_HIDDEN_MAX);
    }
    if (c->value_support.size < 1 || c->reward_support.size < 1) {
        return cm_fail(CM_ERR_INPUT, "a support must have at least one atom");
    }
    return CM_OK;
}
