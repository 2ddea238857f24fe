/* MuZero's functions - representation, dynamics, prediction - and the consistency heads, written once, for every
 * backend.
 *
 * A network is a description: its configuration and the table of its parameters. It owns no weights. Its functions
 * record calls on a tape; the tape knows whether it is for training or inference. Layers, names and shapes: spec
 * networks 12.
 *
 * With chance (Stochastic MuZero, spec learning 12) an action leads from a state to an afterstate, and a code, one of
 * C, from there to the next state. An encoder reads off two observations which code it was that came between them,
 * unless the environment tells.
 *
 * With value prefixes (EfficientZero, spec learning 1.3) no state has a reward. An LSTM reads the states that follow
 * each other; after it a head predicts the sum of the rewards since the last horizon. Its state is zero at the root
 * and after every so many steps.
 *
 *   family.h, family_*.c           what representation, dynamics and prediction are made of, a file per family
 *   layers.h, encoder.h            layers on a tape, that define their parameters; the encoder of chance
 *   prefix.h, sampled.h            value prefixes in a search; searches over a sample of the actions
 *   network_config.c, options.h    what a configuration means, and whether it fits together
 *   initialise.c                   the first weights
 *   inference.h, predictor.h       recorded passes for acting: of a learnt model, of exact rules
 *   rollout.h                      recorded passes for measuring: what layers read, what 8 bits change
 *
 * Letters: B rows, A actions, P entries of a policy (A, or those of its numbers), D hidden width, S support, H W C
 * planes; C is also the number of codes.
 */
#ifndef CM_NETWORK_NETWORK_H
#define CM_NETWORK_NETWORK_H

#include "backend/tape/tape.h"
#include "network/options.h"
#include "tensor/params.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the network holds besides representation and prediction. */
typedef enum cm_network_model {
    CM_NETWORK_DYNAMICS,   /* dynamics with its reward: the model of a search is learnt                     */
    CM_NETWORK_PREDICTION, /* nothing: the model of a search is the rules themselves                        */
    CM_NETWORK_CHANCE      /* dynamics in two halves, action and chance, and an encoder of the chance       */
} cm_network_model;

enum { CM_PREFIX_WHOLE = INT32_MAX }; /* prefix_horizon of a prefix that never begins again */

typedef struct cm_network_config {
    cm_network_family family;
    cm_network_model model;
    int observation_ndim, observation[3]; /* [n] or [H, W, C] */
    int actions;                          /* A */
    cm_policy_form form;                  /* of the A actions' numbers (core/policy_form.h); all 0: they are none */
    bool per_number;                      /* the policy is of each of them, not joint; with angles it has to be */
    int codes;                            /* C, with CM_NETWORK_CHANCE: what chance may bring, as the network sees it */
    bool encoder;                         /* with CM_NETWORK_CHANCE: the codes are learnt; else they are given        */
    int hidden;                           /* D of cumind and mlp */
    int blocks;                           /* cumind: layers; resnet and image encoder: residual blocks */
    int channels;                         /* resnet and image encoder */
    bool downsample;                      /* resnet: observations are pictures, states an 8th or 16th of their size */
    int head_channels, head_hidden;       /* resnet; mlp and resnet */
    bool elu_heads;                       /* mlp and resnet: ELU after the hidden layer of a head, in place of ReLU */
    int stem;         /* mlp: channels of the convolution in front of the representation of pictures; 0: none */
    int trunk_layers; /* mlp: layers in front of policy and value heads (2; 0: heads on the state) */
    cm_network_body body;
    cm_network_norm norm;
    bool minmax;            /* state_norm: scale the hidden state to [0, 1] per sample */
    bool residual_dynamics; /* mlp */
    cm_encoding encoding;
    int action_embedding; /* mlp, resnet: units or planes that an action's encoding becomes before a state meets it; 0:
                             none */
    cm_support value_support, reward_support; /* size 1: scalar heads */
    int prefix_horizon;                       /* mlp, resnet: steps of a value prefix; 0: there are rewards */
    int lstm;                                 /* L, with prefix_horizon */
    bool fake_quantised;                      /* layers that may be in 8 bits train as if they were (ranges.c) */
    bool zero_init;                           /* last layers of heads start at 0 */
    cm_init init; /* of weights: CM_INIT_LECUN_NORMAL (biases 0) or CM_INIT_UNIFORM_FAN_IN */
    bool consistency;
    int projection_hidden, projection_output, predictor_hidden; /* with consistency */
} cm_network_config;

typedef struct cm_network cm_network;

/* The configuration that the options mean for observations of a rank and shape and A actions; consistency heads if
 * asked. The model is CM_NETWORK_DYNAMICS and the policy joint; a caller that wants another sets it afterwards. */
void cm_network_config_from_options(cm_network_config *config, const cm_network_options *options, int ndim,
                                    const int *observation, int actions, bool consistency);

/* How often `downsample` halves a picture's height and width, rounded up: three times, and once more where over 8 of
 * either are left, so to 8 x 8 of 64 x 64, 6 x 6 of 96 x 96 (spec networks 0.6). 0 without. */
int cm_network_halvings(const cm_network_config *config);

/* out[3] = height, width and channels of the hidden states of family resnet. */
void cm_network_state_planes(const cm_network_config *config, int out[3]);

/* CM_ERR_INPUT names what does not fit together; a rank other than 1 or 3 is "Unsupported observation shape". */
cm_status cm_network_config_check(const cm_network_config *config) CM_MUST_USE;

/* Checks the configuration and defines the parameters. The caller owns it. */
cm_status cm_network_create(const cm_network_config *config, cm_network **out) CM_MUST_USE;
void cm_network_destroy(cm_network *network); /* NULL is allowed */

const cm_network_config *cm_network_get_config(const cm_network *network);
cm_policy_form cm_network_policy(const cm_network *network);
const cm_param_table *cm_network_parameters(const cm_network *network);
/* True if a row of what its functions give, but for cm_network_encode, depends on no other row, also when it is
 * trained: no norm takes statistics of the batch. They may be called once for the rows of several unroll steps. */
bool cm_network_is_rowwise(const cm_network *network);
/* True if training alone reads a row of the table, and no search: projections of the consistency loss, and the encoder
 * of chance. */
bool cm_network_is_for_training(const cm_network *network, int row);
/* With fake quantisation a layer NAME has in the state NAME.range, the moving average of the largest magnitude that it
 * reads in training. Of a row of the table that is such a layer's weight: the state's row; -1: it is none. */
#define CM_NETWORK_RANGE "range"
int cm_network_range_of(const cm_network *network, int row);
/* ranges[count of the table] <- those in `state`, as for cm_network_set_ranges; 0 where there is none, or not yet. */
void cm_network_trained_ranges(const cm_network *network, const float *state, float *ranges);
/* Gives the rows of its table ranges[count] (cm_param.range): what is recorded from then on computes the layers of
 * those above 0 in 8 bits where it infers and the backend can. NULL: none. */
void cm_network_set_ranges(cm_network *network, const float *ranges);
bool cm_network_has_ranges(const cm_network *network);
bool cm_network_has_planes(const cm_network *network); /* hidden states are planes [H, W, C], not vectors [D] */
int cm_network_state_size(const cm_network *network);  /* D, or H*W*C of its planes: floats of one hidden state */
int cm_network_observation_size(const cm_network *network);
/* Floats that a search keeps of a step next to its state: 2 L + 2 with value prefixes (prefix.h), else 0. */
int cm_network_memory_size(const cm_network *network);

/* Initial values: parameters[table.parameters], state[table.states]. Depends on (seed, names, shapes) alone. */
void cm_network_initialise(const cm_network *network, uint64_t seed, float *parameters, float *state);

/* A network with weights, as recorded passes use it (inference.h, predictor.h). All pointers are borrowed. */
typedef struct cm_network_use {
    const cm_network *network;
    cm_stream *stream;
    int rows;                  /* B >= 1 of a pass */
    cm_dtype compute;          /* CM_F32, CM_BF16 or CM_F16 */
    int draws;                 /* K: a search chooses among actions that are drawn so often (sampled.h); 0: among
                                  all. Not with chance */
    float *parameters, *state; /* blocks of the network's table, float32, on the backend's device, that stay where they
                                  are; after they change, cm_backend_repack */
} cm_network_use;

/* A hidden state on a tape: as dynamics left it, and scaled (the same variable without min-max scaling). Prediction,
 * the next dynamics call and the consistency heads read `scaled`, the reward head `raw`. [B, D] or [B, H, W, C]. */
typedef struct cm_hidden {
    cm_var raw, scaled;
} cm_hidden;

typedef struct cm_outputs {
    cm_var policy; /* [B, P] logits */
    cm_var value;  /* [B, S] logits, or [B, 1] */
    cm_var reward; /* [B, S] logits, or [B, 1]; CM_NO_VAR if it was not asked for */
} cm_outputs;

/* h: observation [B, ...] -> state. */
cm_hidden cm_network_representation(const cm_network *network, cm_tape *tape, cm_var observation);
/* g: state.scaled, action [B] int32 -> next state. Only CM_NETWORK_DYNAMICS. */
cm_hidden cm_network_dynamics(const cm_network *network, cm_tape *tape, cm_var state, cm_var action);
/* f, and the reward of the dynamics call that made this state; none with value prefixes. */
cm_outputs cm_network_predict(const cm_network *network, cm_tape *tape, cm_hidden state, bool with_reward);
/* The functions of CM_NETWORK_CHANCE. phi: state.scaled, action [B] int32 -> afterstate. */
cm_hidden cm_network_afterstate(const cm_network *network, cm_tape *tape, cm_var state, cm_var action);
/* psi: policy [B, C] logits of the codes, value of the afterstate; no reward. */
cm_outputs cm_network_predict_chance(const cm_network *network, cm_tape *tape, cm_hidden afterstate);
/* g: afterstate.scaled, code [B, C] one-hot -> next state; its reward as in cm_network_predict. */
cm_hidden cm_network_outcome(const cm_network *network, cm_tape *tape, cm_var afterstate, cm_var code);
/* e: the observations before and after [B, 2 O] -> [B, C]; its largest entry says the code. Only with `encoder`.
 * Each entry is normalised by statistics of all rows. */
cm_var cm_network_encode(const cm_network *network, cm_tape *tape, cm_var observations);
/* The parts of a value prefix. What the LSTM reads of a state's `raw`: [B, ...]. */
cm_var cm_network_prefix_input(const cm_network *network, cm_tape *tape, cm_var raw);
/* The LSTM over the inputs of T steps [T B, ...] from a state [B, L]: [T B, L]. */
cm_lstm_state cm_network_prefix_lstm(const cm_network *network, cm_tape *tape, cm_var inputs, int steps,
                                     cm_lstm_state start);
/* The state that it starts from, for B rows. */
cm_lstm_state cm_network_prefix_start(const cm_network *network, cm_tape *tape, int rows);
/* Its h [B, L] -> logits of the prefix [B, S], or [B, 1]. */
cm_var cm_network_prefix(const cm_network *network, cm_tape *tape, cm_var h);
/* Consistency (SimSiam) heads on a scaled state: projection [B, output], and the predictor after it. */
cm_var cm_network_project(const cm_network *network, cm_tape *tape, cm_var state);
cm_var cm_network_project_predict(const cm_network *network, cm_tape *tape, cm_var state);

/* What may be done about numbers that are not finite after observations [n]: to scale these, which says how large they
 * are, where it is they that are to blame; else `otherwise`, of at most CM_NETWORK_ADVICE - 1 characters. */
enum { CM_NETWORK_ADVICE = 128 };
void cm_network_advise(const float *observations, size_t n, const char *otherwise, char out[CM_NETWORK_ADVICE]);

#ifdef __cplusplus
}
#endif
#endif
