#include "network/options.h"

#define SECTION "Network architecture"
#define OPTIONS cm_network_options

const char *const cm_network_family_names[CM_FAMILY_COUNT + 1] = {
#define CM_FAMILY(NAME, name) #name,
#include "network/families.def"
#undef CM_FAMILY
};

static const char family_choices[] =
#define CM_FAMILY(NAME, name) "|" #name
#include "network/families.def"
#undef CM_FAMILY
    ;

static const char *unless_mlp(const void *options) {
    return ((const cm_network_options *)options)->family == CM_FAMILY_MLP ? NULL : "only family mlp has it";
}

static const char *if_mlp(const void *options) {
    return ((const cm_network_options *)options)->family == CM_FAMILY_MLP ? "family mlp has no blocks" : NULL;
}

static const char *unless_resnet(const void *options) {
    return ((const cm_network_options *)options)->family == CM_FAMILY_RESNET ? NULL : "only family resnet has it";
}

static const char *if_resnet(const void *options) {
    return ((const cm_network_options *)options)->family == CM_FAMILY_RESNET
               ? "the width of family resnet is conv_channels"
               : NULL;
}

static const char *if_cumind(const void *options) {
    return ((const cm_network_options *)options)->family == CM_FAMILY_CUMIND ? "family cumind has no such part" : NULL;
}

static const char *unless_prefix(const void *options) {
    return ((const cm_network_options *)options)->value_prefix ? NULL : "value_prefix is false";
}

const cm_option cm_network_option_rows[] = {
    CM_OPTION(INT, hidden_dim, SECTION, "128", 1, 16384, "Width of the hidden state and of the hidden layers.",
              .sweep = {32, 512}, .idle = if_resnet, .alias = "hidden|hidden_size|width"),
    CM_OPTION(INT, num_blocks, SECTION, "2", 0, 256,
              "Layers (family cumind on vectors) or residual blocks (family cumind on images, resnet).",
              .sweep = {1, 4}, .idle = if_mlp),
    CM_OPTION(INT, conv_channels, SECTION, "32", 0, 4096, "Channels of the convolutions.", .sweep = {8, 64},
              .idle = if_mlp),
    CM_OPTION(ENUM, downsample, SECTION, "auto", 0, 0,
              "Family resnet: the representation first makes a picture smaller, 64 x 64 to 8 x 8 and 84 x 84 or 96 x "
              "96 to 6 x 6, so that states and searches stay small. auto: from 32 x 32 on.",
              .choices = "auto|on|off", .idle = unless_resnet),
    CM_OPTION(ENUM, family, SECTION, "mlp", 0, 0,
              "mlp: fully connected, for observations that are vectors or small boards. resnet: residual blocks of "
              "convolutions, for boards and pictures. cumind: the networks of the original CuMind, scalar heads, no "
              "normalisation.",
              .choices = family_choices + 1),
    CM_OPTION(
        ENUM, preset, SECTION, "small", 0, 0,
        "Sets family, body, norm, state_norm, residual_dynamics, trunk_layers, head_hidden and the supports together; "
        "a key that is given with it, or with higher precedence, wins. plain: the network of speed comparisons. small: "
        "the same with layer norm, min-max state and supports of 41 atoms. none: leaves all alone.",
        .choices = "none|plain|small"),
    CM_OPTION(ENUM, body, SECTION, "plain", 0, 0, "Layers of representation and transition in family mlp.",
              .choices = "plain|gelu_layernorm", .idle = unless_mlp),
    CM_OPTION(ENUM, norm, SECTION, "layer", 0, 0,
              "Normalisation of hidden layers in family mlp; resnet always has batch, cumind none.",
              .choices = "layer|batch|none", .idle = unless_mlp),
    CM_OPTION(ENUM, state_norm, SECTION, "minmax", 0, 0,
              "minmax scales every hidden state to [0, 1] (the reward head sees the state before it).",
              .choices = "none|minmax", .idle = if_cumind),
    CM_OPTION(BOOL, residual_dynamics, SECTION, "false", 0, 0,
              "The next state is the last one plus what the transition gives, and the reward has a trunk of its own.",
              .idle = unless_mlp),
    CM_OPTION(INT, stem_channels, SECTION, "0", 0, 1024,
              "Channels of a 3x3 convolution in front of the representation of family mlp, for observations that are "
              "small pictures. 0: none.",
              .idle = unless_mlp),
    CM_OPTION(INT, trunk_layers, SECTION, "0", 0, 8, "Layers between the state and the heads of the prediction.",
              .idle = unless_mlp),
    CM_OPTION(
        ENUM, action_encoding, SECTION, "onehot", 0, 0,
        "How an action stands next to the state: one entry or plane per action, one entry or plane of action / "
        "actions, or one plane with a 1 on the cell that is played. Of actions that are several numbers scaled is an "
        "entry for each number, which learns faster than onehot and makes many action_bins pay (docs/RESULTS.md).",
        .choices = "onehot|scaled|board", .idle = if_cumind),
    CM_OPTION(INT, action_embedding, SECTION, "0", 0, 1024,
              "EfficientZero V2: a layer of so many units (planes in family resnet), layer norm and ReLU between that "
              "encoding and the dynamics; there 16, 64 for vectors. 0: none.",
              .usual = {0, 128}, .idle = if_cumind),
    CM_OPTION(ENUM, policy_distribution, SECTION, "auto", 0, 0,
              "What the policy of actions that are several numbers is a distribution of: joint, one over all "
              "combinations of their values, at most 1024; per_number, one over the values of each number, with "
              "num_sampled_actions. auto: joint as far as that goes, then per_number.",
              .choices = "auto|joint|per_number"),
    CM_OPTION(
        DOUBLE, angle_spread, SECTION, "0.5", 0, 4,
        "Of actions with angles: the standard deviation, in bins, of the von Mises distribution by which an angle "
        "is drawn around a bin of the policy. 0: only the bins themselves are drawn.",
        .flags = CM_OPTION_RESUME),
    CM_OPTION(INT, head_hidden, SECTION, "64", 1, 16384, "Width of the hidden layer of each head.", .sweep = {16, 256},
              .idle = if_cumind),
    CM_OPTION(ENUM, head_activation, SECTION, "relu", 0, 0,
              "Activation after that layer, in EfficientZero V2 elu: exp(x) - 1 below 0, where relu is 0.",
              .choices = "relu|elu", .idle = if_cumind),
    CM_OPTION(INT, head_channels, SECTION, "16", 1, 4096, "Channels of the 1x1 convolution of each head.",
              .idle = unless_resnet),
    CM_OPTION(DOUBLE, value_support_min, SECTION, "-20", -1e6, 1e6,
              "Lowest atom of the value head. With value_transform it is a transformed value: -20 stands for -422.",
              .flags = CM_OPTION_FITTED),
    CM_OPTION(DOUBLE, value_support_max, SECTION, "20", -1e6, 1e6, "Highest atom of the value head.",
              .flags = CM_OPTION_FITTED),
    CM_OPTION(
        INT, value_support_size, SECTION, "41", 1, 4096,
        "Atoms of the value head; 1: one output, squared error and no transform. Where none of these three keys is "
        "given (nor preset plain), a run widens the support to what the rewards of the task ask for (docs/TUNING.md).",
        .flags = CM_OPTION_FITTED),
    CM_OPTION(DOUBLE, reward_support_min, SECTION, "-20", -1e6, 1e6, "Lowest atom of the reward head.",
              .flags = CM_OPTION_FITTED),
    CM_OPTION(DOUBLE, reward_support_max, SECTION, "20", -1e6, 1e6, "Highest atom of the reward head.",
              .flags = CM_OPTION_FITTED),
    CM_OPTION(INT, reward_support_size, SECTION, "41", 1, 4096,
              "Atoms of the reward head; 1: one output, squared error and no transform. Widened like the value head's.",
              .flags = CM_OPTION_FITTED),
    CM_OPTION(BOOL, value_transform, SECTION, "true", 0, 0,
              "Values and rewards pass h(x) = sign(x) (sqrt(|x| + 1) - 1) + 0.001 x before they meet their supports."),
    CM_OPTION(BOOL, value_prefix, SECTION, "false", 0, 0,
              "EfficientZero: the reward head predicts the sum of the rewards since the last horizon, by an LSTM over "
              "the states on the way there; a search takes the differences. Families mlp and resnet."),
    CM_OPTION(
        INT, value_prefix_horizon, SECTION, "5", 1, 1024,
        "Steps after which that sum and the LSTM start again, in the unroll and in the search. Where num_unroll_steps "
        "is not above it, an unroll never starts one again, and a search goes on with the first.",
        .idle = unless_prefix),
    CM_OPTION(INT, lstm_size, SECTION, "128", 1, 4096, "Units of that LSTM.", .idle = unless_prefix),
    CM_OPTION(
        ENUM, quantization, SECTION, "none", 0, 0,
        "qat: quantisation-aware training. Layers learn with weights and inputs rounded to 8 bits, so that cumind "
        "quantize loses less; the parameters stay float32 (docs/QUANTIZATION.md).",
        .choices = "none|qat"),
    CM_OPTION(ENUM, initializer, SECTION, "lecun_normal", 0, 0,
              "Initial weights: lecun_normal (truncated normal, biases 0) or fan_in_uniform (the default of PyTorch).",
              .choices = "lecun_normal|fan_in_uniform"),
    CM_OPTION(BOOL, zero_init_heads, SECTION, "true", 0, 0,
              "The last layer of each head starts at 0: uniform policy, value 0.", .idle = if_cumind),
    CM_OPTION(INT, chance_codes, SECTION, "32", 0, 1024,
              "Policy stochastic_muzero: number of codes for what chance brings, whose meaning is learnt. 0: the "
              "environment tells its outcomes, which are the codes (2048)."),
    CM_OPTION(INT, consistency_hidden, SECTION, "1024", 1, 16384,
              "Width of the hidden layers of the consistency projection; used if consistency_weight is above 0."),
    CM_OPTION(INT, consistency_output, SECTION, "1024", 1, 16384, "Width of the consistency projection."),
    CM_OPTION(INT, consistency_predictor, SECTION, "512", 1, 16384,
              "Width of the hidden layer of the consistency predictor."),
};
const int cm_network_option_count = sizeof cm_network_option_rows / sizeof *cm_network_option_rows;

void cm_network_options_apply(cm_network_options *options, cm_network_preset preset) {
    if (preset == CM_PRESET_NONE) return;
    bool small = preset == CM_PRESET_SMALL;
    options->family = CM_FAMILY_MLP;
    options->body = CM_BODY_PLAIN;
    options->norm = small ? CM_NORM_LAYER : CM_NORM_NONE;
    options->state_norm = small ? CM_STATE_NORM_MINMAX : CM_STATE_NORM_NONE;
    options->residual_dynamics = false;
    options->trunk_layers = 0;
    options->head_hidden = 64;
    options->value_support_min = options->reward_support_min = small ? -20.0 : -10.0;
    options->value_support_max = options->reward_support_max = small ? 20.0 : 10.0;
    options->value_support_size = options->reward_support_size = small ? 41 : 21;
}
