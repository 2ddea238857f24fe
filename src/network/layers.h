/* Layers of the networks, on a tape. The same code defines parameters (while a network is created) and uses them
 * (after). */
#ifndef CM_NETWORK_LAYERS_H
#define CM_NETWORK_LAYERS_H

#include "network/network.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where layers are put. `define`: missing parameters are added to the table; their shapes come from the layer's input.
 * Functions of layers give CM_NO_VAR after an error of the tape, which keeps it, or of the table. */
typedef struct cm_builder {
    const cm_network_config *config;
    cm_param_table *table;
    cm_tape *tape;
    bool define;
    bool in_8_bits;   /* a quantised network has these layers in 8 bits: they are no part of training alone */
    cm_status status; /* of adding to the table: the first error */
} cm_builder;

typedef struct cm_layer {
    int out;                  /* features or channels */
    cm_network_norm norm;     /* after the linear part */
    cm_activation activation; /* any: what the norm or the linear part cannot apply is an operation of its own */
    bool zero;                /* starts at 0 */
    bool no_bias;
    const cm_action_input *action; /* dense only: encoded after the input; NULL: none */
    cm_var residual;               /* conv only: added after the norm; CM_NO_VAR: none */
} cm_layer;

cm_activation cm_layer_head_activation(const cm_builder *b); /* of a head's hidden layer */

/* The rest is zero, and none. */
cm_layer cm_layer_make(int out, cm_network_norm norm, cm_activation activation);

/* NAME.weight, NAME.bias, NAME.norm.*: Linear, Norm, activation on x [B, in] -> [B, out]. */
cm_var cm_layer_dense(cm_builder *b, const char *name, cm_var x, const cm_layer *layer);
/* The part after a linear part `x` that was made by itself: NAME.norm.*, residual, activation. */
cm_var cm_layer_after(cm_builder *b, const char *name, cm_var x, const cm_layer *layer);
/* The same for a k x k convolution, k odd, with padding k / 2: [B, H, W, C] -> [B, H / stride, W / stride, out], sizes
 * rounded up. */
cm_var cm_layer_conv(cm_builder *b, const char *name, cm_var x, int k, int stride, const cm_layer *layer);

/* `count` dense layers of equal width that read one x, computed as one; out[count] are their results. */
void cm_layer_merged(cm_builder *b, const char *const *names, int count, cm_var x, const cm_layer *layer, cm_var *out);

/* NAME.0, NAME.1, ...: `count` such layers, one after the other. */
cm_var cm_layer_stack(cm_builder *b, const char *name, int count, cm_var x, const cm_layer *layer);

/* Residual block NAME.conv1, NAME.conv2 of networks 0.3, as wide as x; fixed: norm by constants 0 and 1, with biases
 * (CuMind's images). */
cm_var cm_layer_block(cm_builder *b, const char *name, cm_var x, bool fixed);

/* NAME.0, NAME.1, ...: the network's number of such blocks. */
cm_var cm_layer_blocks(cm_builder *b, const char *name, cm_var x, bool fixed);

int cm_layer_policy_size(const cm_builder *b); /* P: logits of the policy */

/* Whether dynamics of families mlp and resnet read an action's numbers: where the policy is of each, they are scaled,
 * or one is an angle. */
bool cm_layer_reads_numbers(const cm_builder *b);
/* The numbers of action [B]: [B, n D] onehot, [B, D] scaled. With an angle they are always scaled. */
cm_var cm_layer_numbers(cm_builder *b, cm_var action, cm_encoding encoding);

/* What the encoding of action [B] becomes before a state meets it: [B, action_embedding], NAME.weight and NAME.norm.*
 * (layer norm, ReLU). It has no bias of its own: a column of ones in front of the encoding is one. */
cm_var cm_layer_action_units(cm_builder *b, const char *name, cm_var action);
/* The same as planes [B, H, W, action_embedding] for states of `size` = H, W: a 1x1 convolution of the encoding's
 * planes, normalised over all of a sample (networks 5). */
cm_var cm_layer_action_planes(cm_builder *b, const char *name, cm_var action, const int size[2]);

/* x + NAME.table[action], table [A, H]; with a policy per number x + the columns of NAME.numbers [H, P] of each
 * number of the action. */
cm_var cm_layer_embedding(cm_builder *b, const char *name, cm_var x, cm_var action);

/* NAME.input.weight [4 L, in], NAME.hidden.weight [4 L, L] and their biases [4 L], gates in the order i f g o: L units
 * on x [T B, in], as cm_tape_lstm. */
cm_lstm_state cm_layer_lstm(cm_builder *b, const char *name, cm_var x, int steps, cm_lstm_state start);

/* An array NAME.suffix as a variable; defined if missing and the builder defines. */
cm_var cm_layer_param(cm_builder *b, const char *name, const char *suffix, const cm_param *like);

#ifdef __cplusplus
}
#endif
#endif
