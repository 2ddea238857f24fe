#include "network/encoder.h"

enum { WIDE = 128, NARROW = 64 }; /* networks 3, the vector version */

/* Each code's number is normalised over the rows, with no scale and shift of its own: without it the largest one is
 * that of the same code in all rows before anything is learnt, the commitment makes that last, and no code means
 * anything. */
static cm_var spread(cm_builder *b, cm_var x) {
    const int codes = b->config->codes;
    cm_param mean = {.ndim = 1, .dim = {codes}, .init = CM_INIT_ZERO, .state = true}, variance = mean;
    variance.init = CM_INIT_ONE;
    cm_norm_vars norm = {.residual = CM_NO_VAR};
    norm.scale = cm_tape_constant(b->tape, codes, 1.0f);
    norm.shift = cm_tape_constant(b->tape, codes, 0.0f);
    norm.mean = cm_layer_param(b, "encoder.2", "norm.running_mean", &mean);
    norm.variance = cm_layer_param(b, "encoder.2", "norm.running_var", &variance);
    return cm_tape_batch_norm(b->tape, x, &norm, CM_ACT_NONE);
}

cm_var cm_encoder(cm_builder *b, cm_var observations) {
    cm_layer wide = cm_layer_make(WIDE, CM_NORM_NONE, CM_ACT_RELU);
    cm_layer narrow = cm_layer_make(NARROW, CM_NORM_NONE, CM_ACT_RELU);
    cm_layer last = cm_layer_make(b->config->codes, CM_NORM_NONE, CM_ACT_NONE);
    cm_var x = cm_layer_dense(b, "encoder.0", observations, &wide);
    return spread(b, cm_layer_dense(b, "encoder.2", cm_layer_dense(b, "encoder.1", x, &narrow), &last));
}
