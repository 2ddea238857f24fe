/* Section "Network architecture": which network, how wide, how it starts. Families and names: docs/spec/networks.md 12.
 */
#ifndef CM_NETWORK_OPTIONS_H
#define CM_NETWORK_OPTIONS_H

#include "config/option.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_network_family {
#define CM_FAMILY(NAME, name) CM_FAMILY_##NAME,
#include "network/families.def"
#undef CM_FAMILY
    CM_FAMILY_COUNT
} cm_network_family;
typedef enum cm_network_preset { CM_PRESET_NONE, CM_PRESET_PLAIN, CM_PRESET_SMALL } cm_network_preset;
typedef enum cm_network_body { CM_BODY_PLAIN, CM_BODY_GELU_LAYERNORM } cm_network_body;
typedef enum cm_network_norm { CM_NORM_LAYER, CM_NORM_BATCH, CM_NORM_NONE, CM_NORM_COUNT } cm_network_norm;
typedef enum cm_state_norm { CM_STATE_NORM_NONE, CM_STATE_NORM_MINMAX } cm_state_norm;
typedef enum cm_head_activation { CM_HEAD_RELU, CM_HEAD_ELU } cm_head_activation;
typedef enum cm_initializer { CM_INITIALIZER_LECUN_NORMAL, CM_INITIALIZER_FAN_IN_UNIFORM } cm_initializer;

typedef enum cm_quantization { CM_QUANTIZATION_NONE, CM_QUANTIZATION_QAT } cm_quantization;

typedef enum cm_downsample {
    CM_DOWNSAMPLE_AUTO, /* of pictures that are 32 or more high and wide */
    CM_DOWNSAMPLE_ON,
    CM_DOWNSAMPLE_OFF
} cm_downsample;

typedef enum cm_policy_distribution {
    CM_POLICY_AUTO, /* joint where actions may be listed, else per number */
    CM_POLICY_JOINT,
    CM_POLICY_PER_NUMBER
} cm_policy_distribution;

typedef struct cm_network_options {
    int hidden_dim;          /* H: width of the hidden state and of hidden layers (cumind, mlp) */
    int num_blocks;          /* layers or residual blocks (cumind, resnet)                      */
    int conv_channels;       /* channels of convolutions (cumind on images, resnet)             */
    int downsample;          /* cm_downsample; resnet */
    int family;              /* cm_network_family */
    int preset;              /* cm_network_preset; already applied to the members below */
    int body;                /* cm_network_body; mlp */
    int norm;                /* cm_network_norm; mlp */
    int state_norm;          /* cm_state_norm; mlp, resnet */
    bool residual_dynamics;  /* mlp */
    int stem_channels;       /* channels of the convolution in front of the representation; mlp; 0: none */
    int trunk_layers;        /* mlp: layers between state and heads */
    int action_encoding;     /* cm_encoding (backend/backend.h); mlp, resnet */
    int action_embedding;    /* units or planes, 0: none; mlp, resnet */
    int policy_distribution; /* cm_policy_distribution */
    int head_activation;     /* cm_head_activation, after that hidden layer; mlp, resnet */
    int head_hidden;         /* width of a head's hidden layer; mlp, resnet */
    int head_channels;       /* channels of a head's 1x1 convolution; resnet */
    double value_support_min, value_support_max, reward_support_min, reward_support_max;
    double angle_spread;                          /* of draws around a bin of an angle, in bins; 0: the bins */
    int value_support_size, reward_support_size;  /* atoms; 1: one output, squared error, no transform */
    bool fits_value_support, fits_reward_support; /* no key: it was not given, so it is widened to fit the task */
    bool value_transform;                         /* the supports stand after the transform h */
    bool value_prefix;                   /* the reward head predicts sums of rewards, by an LSTM; mlp, resnet */
    int value_prefix_horizon, lstm_size; /* steps of such a sum, units; with value_prefix */
    int quantization;                    /* cm_quantization */
    int initializer;                     /* cm_initializer */
    bool zero_init_heads;                /* last layer of each head starts at 0; never in family cumind */
    int chance_codes;                    /* with policy stochastic_muzero; 0: those of the environment */
    int consistency_hidden, consistency_output, consistency_predictor; /* widths, used if consistency_weight > 0 */
} cm_network_options;

extern const char *const cm_network_family_names[CM_FAMILY_COUNT + 1]; /* in their order, NULL at the end */
extern const cm_option cm_network_option_rows[];
extern const int cm_network_option_count;

/* Sets what the preset fixes (docs/spec/networks.md 12): the family (mlp), body, norm, state_norm, residual_dynamics,
 * trunk_layers, head_hidden and the supports. CM_PRESET_NONE changes nothing. */
void cm_network_options_apply(cm_network_options *options, cm_network_preset preset);

#ifdef __cplusplus
}
#endif
#endif
