/* The functions of a network that leave cumind, as recorded tapes with names for what goes in and comes out.
 *
 *     initial_inference      observation                 -> state, policy_logits, value
 *     recurrent_inference    state, action[, memory]     -> next_state, reward, policy_logits, value[, next_memory]
 *     afterstate_inference   state, action               -> afterstate, code_logits, value          (with chance)
 *     recurrent_inference    afterstate, code[, memory]  -> next_state, reward, ...                 (with chance)
 *     policy                 observation                 -> policy, value
 *
 * Values and rewards are numbers [B] on the raw scale where the head has one output or `decodes` asks for it, else
 * logits of their supports [B, S], "value_logits", "reward_logits"; those of value prefixes are always numbers. The
 * memory [B, M] of value prefixes (network/prefix.h) is zeros at a root; an afterstate has that of the state before.
 * Observations are float32 as the environment gives them, or its bytes, which the function scales. Shapes with
 * channels are [B, H, W, C] for observations, and [B, C, H, W] for states.
 */
#ifndef CM_EXPORT_FUNCTIONS_H
#define CM_EXPORT_FUNCTIONS_H

#include "export/onnx_graph.h"
#include "export/translate.h"
#include "network/network.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_function_kind {
    CM_FUNCTION_INITIAL,
    CM_FUNCTION_AFTERSTATE,
    CM_FUNCTION_RECURRENT,
    CM_FUNCTION_POLICY,
    CM_FUNCTION_COUNT
} cm_function_kind;

/* How a port of a function meets the tape. */
typedef enum cm_port_kind {
    CM_PORT_PLAIN,       /* numbers as they are                                        */
    CM_PORT_OBSERVATION, /* the environment's: with channels these are last            */
    CM_PORT_ACTION,      /* whole numbers, of which the tape has int32                 */
    CM_PORT_CODE,        /* a whole number, of which the tape has the one-hot [B, C]   */
    CM_PORT_MEMORY       /* of value prefixes: h [L], c [L], prefix, steps             */
} cm_port_kind;

typedef struct cm_function_port {
    cm_onnx_port port;
    cm_port_kind kind;
    int below; /* of actions and codes: they are 0 .. below - 1 */
    cm_var var;
} cm_function_port;

typedef struct cm_function_options {
    bool decodes; /* values and rewards are numbers */
    float unit;   /* > 0: observations are bytes, times this */
} cm_function_options;

typedef struct cm_function {
    const char *name;
    cm_tape *tape; /* owned; finished */
    cm_function_port input[CM_ONNX_PORTS], output[CM_ONNX_PORTS];
    int inputs, outputs;
} cm_function;

bool cm_function_exists(const cm_network *network, cm_function_kind kind);

/* Records it for `rows` rows, layers in 8 bits where the network has them. Errors: those of the tape. Close it also
 * after one. */
cm_status cm_function_open(cm_function *f, const cm_network *network, const cm_function_options *options,
                           cm_function_kind kind, int rows) CM_MUST_USE;
void cm_function_close(cm_function *f);

/* Its graph, owned by the caller; `f` is of one row. Errors: CM_ERR_INPUT for an operation that has no form in ONNX. */
cm_status cm_function_graph(const cm_function *f, const cm_function_options *options, const cm_export_weights *weights,
                            cm_onnx_graph **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
