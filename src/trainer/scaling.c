/* Dynamic loss scaling, with products in float16. Its state is on the device alone, where clip renews it; what an
 * update has left of it is copied after the factor of clip and read with the results. */
#include <math.h>

#include "trainer/internal.h"

static bool is_scaled(const cm_trainer *t) { return t->config.compute == CM_F16; }

cm_status cm_scaling_create(cm_trainer *t) {
    if (!is_scaled(t)) return CM_OK;
    CM_TRY(cm_mirror_create(&t->scaling, t->config.backend->device, CM_SCALING_NUMBERS * sizeof(float), "loss scale"));
    return cm_trainer_set_loss_scaling(t, &(cm_loss_scaling){.scale = t->config.options->loss_scale});
}

cm_loss_scaling cm_trainer_loss_scaling(const cm_trainer *trainer) { return trainer->scaled; }

double cm_trainer_gradient_scale(const cm_trainer *trainer) { return trainer->carried > 0.0 ? trainer->carried : 1.0; }

cm_status cm_trainer_set_loss_scaling(cm_trainer *trainer, const cm_loss_scaling *state) {
    float *number = trainer->scaling.host;
    const double scale = state->scale;
    int exponent;
    if (!is_scaled(trainer)) return CM_OK;
    if (!(scale >= 1.0) || scale > (double)CM_SCALING_MOST || frexp(scale, &exponent) != 0.5) {
        return cm_fail(CM_ERR_INPUT, "loss_scale is %g, must be a power of two from 1 to %.0f", scale,
                       (double)CM_SCALING_MOST);
    }
    trainer->scaled = *state;
    number[CM_SCALING_SCALE] = (float)scale;
    number[CM_SCALING_GOOD] = (float)state->good;
    number[CM_SCALING_STEPS] = (float)state->steps;
    number[CM_SCALING_SKIPPED] = (float)state->skipped;
    return cm_mirror_push(&trainer->scaling); /* the corrections are clip's to make, before they are read */
}

cm_status cm_scaling_keep(cm_trainer *t, float *kept) {
    cm_call call = {.op = CM_OP_lerp, .attr = {.scale = 1.0f}}; /* copies */
    if (!is_scaled(t)) return CM_OK;
    call.t[CM_T_lerp_y] = cm_tensor_1d(kept, CM_F32, CM_SCALING_NUMBERS);
    call.t[CM_T_lerp_x] = cm_tensor_1d(t->scaling.block.base, CM_F32, CM_SCALING_NUMBERS);
    return cm_call_run(t->streams[0], &call);
}

bool cm_scaling_read(cm_trainer *t, const float *kept) {
    const int64_t skipped = t->scaled.skipped;
    if (!is_scaled(t)) return false;
    t->scaled = (cm_loss_scaling){.scale = (double)kept[CM_SCALING_SCALE],
                                  .good = (int64_t)kept[CM_SCALING_GOOD],
                                  .steps = (int64_t)kept[CM_SCALING_STEPS],
                                  .skipped = (int64_t)kept[CM_SCALING_SKIPPED]};
    return t->scaled.skipped > skipped;
}
