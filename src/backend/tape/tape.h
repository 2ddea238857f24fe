/* A tape records a pass: the forward calls in the order in which a network's code makes them, and, for training, their
 * backward calls in reverse. So a network is written once, forward only.
 *
 * Recording does no arithmetic. A recorded tape is immutable and can be played by several passes (below), one per
 * worker, each with its own memory. A variable is a tensor in one of the memory classes; what is allocated while
 * recording (inputs, work, statistics) gets its place in that class's block.
 *
 * Functions that record return a variable. The first error is kept; later calls then return CM_NO_VAR and do nothing,
 * and cm_tape_finish reports it. A tensor argument may be CM_NO_VAR where it says "optional".
 */
#ifndef CM_BACKEND_TAPE_TAPE_H
#define CM_BACKEND_TAPE_TAPE_H

#include "backend/backend.h"
#include "core/policy_form.h"
#include "tensor/params.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory classes. Each is one block whose base address a pass is given (WORK and RESULT may be the pass's own). */
typedef enum cm_memory {
    CM_MEM_PARAMETER, /* fp32 parameters, layout of the parameter table                          */
    CM_MEM_STATE,     /* running statistics, layout of the parameter table                       */
    CM_MEM_GRADIENT,  /* gradients, same layout as PARAMETER                                     */
    CM_MEM_STATS,     /* statistics of this pass: [2, C] of a batch-norm call, maxima of ranges  */
    CM_MEM_INPUT,     /* what the caller writes before a pass: observations, actions, targets    */
    CM_MEM_POOL,      /* hidden states of a search [slots, D]; values to bootstrap from [n, 1]   */
    CM_MEM_WORK,      /* activations and their gradients                                         */
    CM_MEM_SCALING,   /* state of loss scaling (backend.h)                                       */
    CM_MEM_RESULT,    /* what the host reads after a pass: losses, values, logits                */
    CM_MEM_COUNT
} cm_memory;

typedef struct cm_tape cm_tape;
typedef int cm_var;
enum { CM_NO_VAR = -1 };

/* training: gradients are recorded and batch norm uses the batch's statistics. compute: type of matrix products. */
cm_status cm_tape_create(bool training, cm_dtype compute, cm_tape **out) CM_MUST_USE;
void cm_tape_destroy(cm_tape *tape); /* NULL is allowed; after the passes that play it */

/* On a tape that computes in 16 bits: NHWC activations, and their gradients, that only convolutions and the norms after
 * them see are of that type, where channels are a multiple of 8. For backends that take such (backend.h, takes_half).
 * Of a tape that does not train it is called before cm_tape_finish; one that trains does so by itself
 * (cm_tape_use_half), when its gradients are known. Errors: CM_ERR_MEMORY. */
cm_status cm_tape_half_activations(cm_tape *tape) CM_MUST_USE;
/* On a tape that does not train: layers whose weights have a range (tensor/params.h) are in 8 bits, where all of a
 * merged one have it. Before cm_tape_finish, for backends that take such (backend.h, takes_int8). */
void cm_tape_use_int8(cm_tape *tape);
/* After these, for the same backends: a convolution to activations of 16 bits, or in 8 bits, that only a constant norm
 * sees and that norm become one call (conv2d_norm). */
void cm_tape_join_norms(cm_tape *tape);

/* On a tape that trains and computes in 16 bits: dense layers read copies of their inputs, and of the gradients at
 * their outputs, that the calls which make those write with them, which changes no number; and activations are of 16
 * bits (cm_tape_half_activations), which rounds them. Before cm_tape_finish, for backends that take such (backend.h,
 * takes_half). */
void cm_tape_use_half(cm_tape *tape);

/* On a tape that trains calls are spread over `branches` >= 0 branches (cm_call.branch; those of the class): of the
 * forward pass the last layers of heads, each head with its loss, of which the last and every (branches + 1)th stay in
 * order; of the backward pass those that make gradients of parameters of dense layers, layer norms and embeddings,
 * which nothing after them waits for. A call that makes the gradient at its input, too, becomes two. All numbers stay
 * as they are. Before cm_tape_finish. */
void cm_tape_use_branches(cm_tape *tape, int branches);

/* Gradient checkpointing of a tape that trains: planes [B, H, W, C] that a segment of the forward pass makes for itself
 * alone are not kept for the backward pass, which makes them again, and planes that are not needed at one time share
 * memory. All numbers stay as they are; of tapes that compute in 16 bits (cm_tape_use_half) gradients of convolutions'
 * weights are summed call by call, so they round otherwise. */
typedef enum cm_recompute {
    CM_RECOMPUTE_NONE,
    CM_RECOMPUTE_BLOCKS, /* segments are blocks: a block's input is kept */
    CM_RECOMPUTE_FULL    /* they are whole functions of the network, too, which hold blocks: their inputs are kept */
} cm_recompute;
void cm_tape_use_recompute(cm_tape *tape, cm_recompute recompute); /* before the first call is recorded */
/* What is recorded in between is a segment if the tape's choice is `level`, BLOCKS or FULL, or more: no losses.
 * Segments may lie in each other. */
void cm_tape_begin_segment(cm_tape *tape, cm_recompute level);
void cm_tape_end_segment(cm_tape *tape, cm_recompute level);

/* What is recorded from now on belongs to this part of a network (backend.h). */
void cm_tape_part(cm_tape *tape, cm_call_part part);

/* Ends the recording and, for training, records the backward calls. The first error of the recording is returned here.
 */
cm_status cm_tape_finish(cm_tape *tape) CM_MUST_USE;
/* The same of a tape that does not train, with half-precision activations, layers in 8 bits and joined norms where the
 * backend takes such. */
cm_status cm_tape_finish_inference(cm_tape *tape, const cm_backend *backend) CM_MUST_USE;

/* Where things are. */
size_t cm_tape_bytes(const cm_tape *tape, cm_memory memory);     /* INPUT, STATS, WORK, RESULT: size of the block */
size_t cm_tape_offset(const cm_tape *tape, cm_var var);          /* bytes from the start of its block */
const cm_tensor *cm_tape_shape(const cm_tape *tape, cm_var var); /* data is NULL; valid until the next recording call */

/* Floating-point operations of the matrix products of one forward pass, 2 per multiply-add; a backward pass has twice
 * as many. */
double cm_tape_flops(const cm_tape *tape);

/* ---- variables --------------------------------------------------------------------------------------------------- */
cm_var cm_tape_input(cm_tape *tape, cm_dtype dtype, int ndim, const int *dim); /* at the next place of INPUT */
cm_var cm_tape_pool(cm_tape *tape, int slots, int width);                      /* the whole POOL block [slots, width] */
cm_var cm_tape_param(cm_tape *tape, const cm_param *param);                    /* in PARAMETER or STATE */
/* Rows of `first` and of the `count - 1` parameters after it as one [sum of rows, ...]; they must be neighbours. */
cm_var cm_tape_merged(cm_tape *tape, const cm_param *const *params, int count);
/* x without a gradient, a coefficient of losses, times the loss scale in SCALING. */
cm_var cm_tape_loss_scaled(cm_tape *tape, cm_var x);
cm_var cm_tape_constant(cm_tape *tape, int n, float value); /* [n], filled once per pass */

/* The host reads x after a pass (cm_pass_result): x, a result of the last calls that has no views, moves to RESULT. */
void cm_tape_result(cm_tape *tape, cm_var x);

/* ---- views: same memory, same gradient -------------------------------------------------------------------------- */
cm_var cm_tape_columns(cm_tape *tape, cm_var x, int first,
                       int columns);                               /* of a 2-D variable; every column must be used */
cm_var cm_tape_rows(cm_tape *tape, cm_var x, int first, int rows); /* of any variable; all of them or none is used */
cm_var cm_tape_flatten(cm_tape *tape, cm_var x);                   /* [B, ...] -> [B, n] */
cm_var cm_tape_reshape_nhwc(cm_tape *tape, cm_var x, int height, int width,
                            int channels);                      /* [B, HWC] -> [B, H, W, C] */
cm_var cm_tape_reshape_rows(cm_tape *tape, cm_var x, int rows); /* a contiguous one -> [rows, n] */
/* [B, P] of a policy of this form -> [B D, n], a row of each number; x itself where D is 1. */
cm_var cm_tape_each_number(cm_tape *tape, cm_var x, cm_policy_form form);
/* Variables that have their memory to themselves, [rows, ...] of one kind each, as one [sum of rows, ...]: they lie
 * after each other from now on and are rows of it. What reads the whole is recorded after all that reads a part, or
 * no call that wants a gradient reads it. */
enum { CM_TAPE_PARTS = 128 };
cm_var cm_tape_stack(cm_tape *tape, const cm_var *parts, int count);
cm_var cm_tape_stop_gradient(cm_tape *tape, cm_var x);               /* no gradient flows back through it */
cm_var cm_tape_scale_gradient(cm_tape *tape, cm_var x, float scale); /* the gradient through it is multiplied */
cm_var cm_tape_own_gradient(cm_tape *tape, cm_var x); /* x with a gradient of its own, which is added to x's */

/* ---- operations (ops.def says what each computes) --------------------------------------------------------------- */
typedef struct cm_action_input {
    cm_var action; /* [B] int32, or CM_NO_VAR */
    cm_encoding encoding;
    int actions;
} cm_action_input;

cm_var cm_tape_dense(cm_tape *tape, cm_var x, cm_var weight, cm_var bias /* optional */,
                     const cm_action_input *action /* NULL: none */, cm_activation activation); /* none or relu */
cm_var cm_tape_conv2d(cm_tape *tape, cm_var x, cm_var weight, cm_var bias /* optional */, int stride,
                      cm_activation activation);
/* x as products in 8 bits read it, of a range [1] in STATE; the gradient goes straight through what is not clipped. The
 * maxima of x are recorded for cm_tape_range_call. x itself on a tape that does not train. */
cm_var cm_tape_fake_quantise(cm_tape *tape, cm_var x, cm_var range);
cm_var cm_tape_activation(cm_tape *tape, cm_var x, cm_activation activation); /* none: x itself */
cm_var cm_tape_add(cm_tape *tape, cm_var a, cm_var b, cm_activation activation);

typedef struct cm_norm_vars {
    cm_var scale, shift;
    cm_var mean, variance; /* batch norm only */
    cm_var residual;       /* batch norm only: added before the activation; optional */
} cm_norm_vars;

cm_var cm_tape_layer_norm(cm_tape *tape, cm_var x, const cm_norm_vars *norm, cm_activation activation, int groups);
/* Batch statistics when training (recorded for cm_tape_norm_call), the running ones otherwise. */
cm_var cm_tape_batch_norm(cm_tape *tape, cm_var x, const cm_norm_vars *norm, cm_activation activation);
/* Batch norm by fixed statistics in both modes (cumind's image encoder). */
cm_var cm_tape_fixed_norm(cm_tape *tape, cm_var x, const cm_norm_vars *norm, cm_activation activation);

cm_var cm_tape_minmax(cm_tape *tape, cm_var x);
cm_var cm_tape_avg_pool(cm_tape *tape, cm_var x);
cm_var cm_tape_global_mean(cm_tape *tape, cm_var x);
cm_var cm_tape_action_encoding(cm_tape *tape, cm_var x, const cm_action_input *action);
/* The numbers of action [B] int32: [B, P] each one-hot, or scaled, [B, D] and a column more for each angle. */
cm_var cm_tape_action_numbers(cm_tape *tape, cm_var action, cm_policy_form form, cm_encoding encoding);
cm_var cm_tape_embedding_add(cm_tape *tape, cm_var x, cm_var table, cm_var action);
/* Rows are passes of their own: what one scatters another may not gather in the same run. */
cm_var cm_tape_gather_rows(cm_tape *tape, cm_var pool, cm_var rows);
void cm_tape_scatter_rows(cm_tape *tape, cm_var pool, cm_var x, cm_var rows);
/* Pictures [m, H, W, k C] without a gradient: stacks of frames [n, H, W, C], of bytes times `unit` or of float32. */
typedef struct cm_frame_vars {
    cm_var frames;
    cm_var index;  /* [m, k] int32 */
    cm_var shift;  /* [m, 2] int32 */
    cm_var factor; /* [m]          */
    float unit;
} cm_frame_vars;
cm_var cm_tape_stack_frames(cm_tape *tape, const cm_frame_vars *vars);
/* [m]: partial + coefficient * value[rows], which no gradient flows back through. */
cm_var cm_tape_bootstrap(cm_tape *tape, cm_var partial, cm_var coefficient, cm_var value, cm_var rows);
/* [B, P] of a policy of this form: the softmax of each of its numbers, where legal [B, P] (optional) is not 0. Without
 * gradient. */
cm_var cm_tape_softmax(cm_tape *tape, cm_var logits, cm_var legal, cm_policy_form form);
/* 1 at the first maximum of each row, else 0; the gradient goes straight through to x, as if y were x. */
cm_var cm_tape_one_hot(cm_tape *tape, cm_var x);
cm_var cm_tape_support_decode(cm_tape *tape, cm_var logits, const cm_support *support); /* [B] */

/* An LSTM over `steps` = T steps of B rows each, x [T B, in], from the state h0, c0 [B, H], which has no gradient; with
 * `horizon` > 0 the state is zero after every so many steps. */
typedef struct cm_lstm_vars {
    cm_var weight_ih, weight_hh, bias_ih, bias_hh;
} cm_lstm_vars;
typedef struct cm_lstm_state {
    cm_var h, c; /* [B, H] each */
} cm_lstm_state;
/* h [T B, H] of all steps; c [T B, H] of the same, without gradient. */
cm_lstm_state cm_tape_lstm(cm_tape *tape, cm_var x, int steps, int horizon, const cm_lstm_vars *weights,
                           cm_lstm_state start);

/* A step of a search by value prefixes. before [B, 2]: prefix and steps of the parent. */
typedef struct cm_prefix_vars {
    cm_var reward; /* [B] */
    cm_var memory; /* [B, 2 H + 2] h, c, prefix, steps of the child, zeros at a horizon */
} cm_prefix_vars;
cm_prefix_vars cm_tape_prefix_step(cm_tape *tape, cm_var prefix, cm_lstm_state state, cm_var before, int horizon);

/* Actions drawn for a search, `draws` = K times, by a policy of this form: by the softmax of each of its numbers. Of
 * logits [B, P] those take part whose legal [B, P] is not 0 (optional). seed [B, 2]: random. */
typedef struct cm_sample_vars {
    cm_var memory; /* [B, K + 2] the actions and the seed */
    cm_var logits; /* [B, K] of them, as priors */
} cm_sample_vars;
typedef struct cm_sample_rule {
    cm_var legal; /* or CM_NO_VAR */
    cm_policy_form form;
    int draws;
} cm_sample_rule;
cm_sample_vars cm_tape_sample_actions(cm_tape *tape, cm_var logits, cm_var seed, const cm_sample_rule *rule);
/* What choice [B] int32 of such a memory means. */
typedef struct cm_sampled_vars {
    cm_var action; /* [B] int32 */
    cm_var seed;   /* [B, 2] of the node after it */
} cm_sampled_vars;
cm_sampled_vars cm_tape_sampled_action(cm_tape *tape, cm_var memory, cm_var choice);

/* Losses write the gradient of sum coefficient * loss into the logits' gradient at once. Of logits that a second loss
 * reads, and of a part of what other calls read whole, give it cm_tape_own_gradient. All results are [B]. */
typedef struct cm_loss_vars {
    cm_var loss;
    cm_var decoded; /* value_loss: prediction on the raw scale */
    cm_var entropy; /* policy_loss */
} cm_loss_vars;
cm_loss_vars cm_tape_value_loss(cm_tape *tape, cm_var output, cm_var target, cm_var coefficient,
                                const cm_support *support);
/* legal [B, A] (optional) takes illegal actions out of the softmax; kl adds the target's own entropy to the loss. */
typedef struct cm_policy_rule {
    cm_var legal; /* or CM_NO_VAR */
    float entropy_weight;
    bool kl;
} cm_policy_rule;
cm_loss_vars cm_tape_policy_loss(cm_tape *tape, cm_var logits, cm_var target, cm_var coefficient,
                                 const cm_policy_rule *rule);
/* Mean squared distance of rows x and y [B, D]; y has no gradient. */
cm_loss_vars cm_tape_square_loss(cm_tape *tape, cm_var x, cm_var y, cm_var coefficient);
cm_loss_vars cm_tape_consistency_loss(cm_tape *tape, cm_var x, cm_var y, cm_var coefficient);

/* ---- batch-norm calls, in the order they were made, for the update of the running statistics -------------------- */
typedef struct cm_norm_call {
    size_t mean, variance; /* offsets in bytes in STATE */
    size_t stats;          /* offset in bytes in STATS of this call's [2, C] */
    int channels;
} cm_norm_call;
int cm_tape_norm_calls(const cm_tape *tape);
const cm_norm_call *cm_tape_norm_call(const cm_tape *tape, int index);

/* ---- ranges of fake quantisation, in the order of their first calls, for their moving averages ------------------- */
typedef struct cm_range_call {
    size_t range; /* offset in bytes in STATE */
    size_t most;  /* offset in bytes in STATS of the maxima of all of its calls, one after the other */
    int numbers;  /* how many these are */
} cm_range_call;
int cm_tape_range_calls(const cm_tape *tape);
const cm_range_call *cm_tape_range_call(const cm_tape *tape, int index);

/* What playing a finished tape once takes, forward and (for training) backward. */
typedef struct cm_tape_cost {
    double flop;  /* of matrix products and convolutions; a multiply-add is two */
    double bytes; /* of all tensors that calls read and write */
    int calls;
} cm_tape_cost;
cm_tape_cost cm_tape_costs(const cm_tape *tape);

/* ---- reading a finished tape, for what writes it in another notation (export/) ------------------------------------
 */
typedef struct cm_tape_call {
    cm_op op;
    const cm_attr *attr;
    const cm_var *t; /* [CM_CALL_TENSORS], in the order of ops.def; CM_NO_VAR: absent */
} cm_tape_call;
int cm_tape_variables(const cm_tape *tape); /* numbered from 0 */
int cm_tape_calls(const cm_tape *tape);     /* forward ones */
cm_tape_call cm_tape_call_at(const cm_tape *tape, int index);

typedef struct cm_tape_where {
    cm_memory memory;
    cm_var base;   /* of a view the variable that it is one of, else CM_NO_VAR */
    size_t first;  /* of a view: the element of its base that it begins with; else from the start of its block */
    bool is_slice; /* the view is a part of its base, not another shape of it */
} cm_tape_where;
cm_tape_where cm_tape_where_is(const cm_tape *tape, cm_var var);
bool cm_tape_is_constant(const cm_tape *tape, cm_var var, float *value);

/* Of a finished tape for training: how many backward calls there are, and after how many of them the gradients of
 * parameters [first, first + count), in elements of GRADIENT, are what they will be; 0: none is ever written. */
int cm_tape_backward_calls(const cm_tape *tape);
int cm_tape_final_after(const cm_tape *tape, size_t first, size_t count);
/* Likewise, before passes of it are created, which then prepare parts: the backward pass will be played in parts, of
 * which one ends after so many calls, 0 to all (cm_pass_backward_part). Errors: CM_ERR_MEMORY. */
cm_status cm_tape_end_part(cm_tape *tape, int calls) CM_MUST_USE;

/* ---- playing ---------------------------------------------------------------------------------------------------- */
typedef struct cm_pass cm_pass;

/* Prepares all calls on `stream` with the blocks base[CM_MEM_COUNT] (NULL where the tape uses none; of WORK and RESULT
 * NULL: the pass takes its own). PARAMETER stays as given; the others may be bound again. The tape and stream outlive
 * the pass. Calls may run to be measured (backend.h: fuse, prepare_list): what is in all these blocks but PARAMETER
 * and STATE is not to be of use yet. */
cm_status cm_pass_create(const cm_tape *tape, cm_stream *stream, void *const base[CM_MEM_COUNT],
                         cm_pass **out) CM_MUST_USE;
void cm_pass_destroy(cm_pass *pass); /* NULL is allowed */
void cm_pass_bind(cm_pass *pass, cm_memory memory, void *base);
/* Address on the device of a variable's first element. WORK of a pass without gradients may never be written. */
void *cm_pass_data(const cm_pass *pass, cm_var var);
cm_call_list cm_pass_calls(const cm_pass *pass); /* forward; owned by the pass, which may bind their blocks again */
bool cm_pass_is_fused(const cm_pass *pass);      /* forward is one launch of the backend's, from creation on */
/* Errors of what plays a pass: the backend's; CM_ERR_INTERRUPTED once the stream's `stop` is asked, and then what the
 * pass writes is worth nothing. */
cm_status cm_pass_forward(cm_pass *pass) CM_MUST_USE;
cm_status cm_pass_launch(cm_pass *pass) CM_MUST_USE;   /* forward, as part of a work that is recorded (backend.h) */
cm_status cm_pass_backward(cm_pass *pass) CM_MUST_USE; /* after forward, training tapes only */
/* Backward calls first .. last-1 of the tape alone. One after the other from 0 to all of them, parts are the whole. Of
 * a pass a part that begins with `first` always ends with the same `last`. */
cm_status cm_pass_backward_part(cm_pass *pass, int first, int last) CM_MUST_USE;

/* Of a pass with a RESULT of its own. Brings all RESULT variables to the host; waits for the pass. Then: the address on
 * the host of one of them, valid and unchanged until the next cm_pass_fetch (or run, where the device is the host). */
cm_status cm_pass_fetch(cm_pass *pass) CM_MUST_USE;
const float *cm_pass_result(const cm_pass *pass, cm_var var);
/* Any variable that is contiguous, into out; waits for the pass. For tests and reports. CM_ERR_STATE: no call names it,
 * so it has no memory. */
cm_status cm_pass_read(const cm_pass *pass, cm_var var, void *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
