/* A batch and a recorded unroll: rows and coefficients into its inputs, losses out of its results. */
#include <string.h>

#include "trainer/unroll.h"

const cm_loss_row cm_loss_rows[CM_LOSSES] = {
#define ROW(term_, metric_, of_, optional_, weight_, mask_)                                                            \
    {                                                                                                                  \
        .term = #term_, .metric = #metric_, .of = CM_LOSS_OF_##of_, .is_optional = optional_,                          \
        .weight = offsetof(cm_trainer_options, weight_), .mask = offsetof(cm_train_batch, mask_)                       \
    }
#define CM_LOSS(term, metric, of, weight, mask)          ROW(term, metric, of, false, weight, mask),
#define CM_OPTIONAL_LOSS(term, metric, of, weight, mask) ROW(term, metric, of, true, weight, mask),
#include "trainer/losses.def"
};

/* ---- factors ---- */

void cm_unroll_factors_make(const cm_trainer_options *options, int unroll, cm_unroll_factors *out) {
    double first = 1.0, later = 1.0, transition = 1.0, K = unroll;
    switch ((cm_unroll_scale)options->unroll_scale) {
    case CM_UNROLL_PAPER: later = transition = K > 0 ? 1.0 / K : 1.0; break;
    case CM_UNROLL_WHOLE: first = later = transition = K > 0 ? 1.0 / K : 1.0; break;
    case CM_UNROLL_CUMIND: first = later = 1.0 / (K + 1.0), transition = K > 0 ? 1.0 / K : 1.0; break;
    case CM_UNROLL_NONE: break;
    }
    for (int i = 0; i < CM_LOSSES; i++) {
        const cm_loss_row *row = &cm_loss_rows[i];
        const double weight = *(const double *)(const void *)((const char *)options + row->weight);
        for (int k = 0; k < cm_loss_count(i, unroll); k++)
            out->loss[i][k] = weight * (row->of != CM_LOSS_OF_STATES ? transition : k == 0 ? first : later);
    }
}

/* ---- staging ---- */

/* The first of step k's rows. All inputs but frames have elements of 4 bytes. */
static void *place(const cm_unroll *u, cm_var var, int k, void *base) {
    const size_t row = (size_t)cm_tape_shape(u->tape, var)->stride * sizeof(float);
    return (char *)base + cm_tape_offset(u->tape, var) + (size_t)k * (size_t)u->rows * row;
}

static float weight_of(const cm_train_batch *batch, int row) { return batch->weights ? batch->weights[row] : 1.0f; }

/* How much loss k of a term counts in row i of the chunk. */
static double share_of(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, int loss, int k,
                       int i) {
    const float *mask = *(const float *const *)(const void *)((const char *)batch + cm_loss_rows[loss].mask);
    const size_t row = (size_t)(rows->first + i), count = (size_t)cm_loss_count(loss, u->unroll);
    return (double)weight_of(batch, rows->first + i) * (double)mask[row * count + (size_t)k];
}

static void stage_coefficients(const cm_unroll *u, const cm_unroll_factors *f, const cm_train_batch *batch,
                               const cm_chunk_rows *rows, int loss, void *base) {
    const cm_unroll_loss *l = &u->loss[loss];
    float *coefficient = place(u, l->coefficient, 0, base);
    memset(coefficient, 0, (size_t)(l->first * l->each * u->rows) * sizeof(float));
    coefficient += l->first * l->each * u->rows;
    for (int k = 0; k < cm_loss_count(loss, u->unroll); k++) {
        for (int i = 0; i < u->rows; i++) {
            const double w = share_of(u, batch, rows, loss, k, i);
            for (int d = 0; d < l->each; d++) *coefficient++ = (float)(f->loss[loss][k] * w / rows->total);
        }
    }
}

/* out[rows] <- from[i stride] */
static void stage_scalars(const cm_unroll *u, const float *from, int stride, float *out) {
    for (int i = 0; i < u->rows; i++) out[i] = from[(size_t)i * (size_t)stride];
}

/* Row (first + i, step) of an array [B, steps, width] into out[rows, width]. */
static void stage_rows(const cm_unroll *u, const float *from, int first, int steps, int step, int width, float *out) {
    for (int i = 0; i < u->rows; i++) {
        const float *row = from + ((size_t)(first + i) * (size_t)steps + (size_t)step) * (size_t)width;
        memcpy(out + (size_t)i * (size_t)width, row, (size_t)width * sizeof(float));
    }
}

/* Bytes of rows `stride` apart as floats. */
static void stage_legal(const cm_unroll *u, const uint8_t *from, int stride, int width, float *out) {
    for (int i = 0; i < u->rows; i++) {
        for (int a = 0; a < width; a++) out[i * width + a] = from[(size_t)i * (size_t)stride + (size_t)a];
    }
}

static void stage_prediction(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, int k,
                             void *base) {
    int steps = u->unroll + 1;
    size_t at = (size_t)rows->first * (size_t)steps + (size_t)k;
    stage_rows(u, batch->target_policy, rows->first, steps, k, rows->P, place(u, u->policy_target, k, base));
    if (u->legal != CM_NO_VAR)
        stage_legal(u, batch->legal + at * (size_t)rows->P, steps * rows->P, rows->P, place(u, u->legal, k, base));
}

/* o_{t+k} and o_{t+k+1} side by side. */
static void stage_pairs(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, int k, float *out) {
    size_t o = (size_t)rows->O, K = (size_t)u->unroll;
    for (int i = 0; i < u->rows; i++, out += 2 * o) {
        size_t row = (size_t)(rows->first + i);
        const float *next = batch->target_observations + (row * K + (size_t)k) * o;
        memcpy(out, k == 0 ? batch->observation + row * o : next - o, o * sizeof(float));
        memcpy(out + o, next, o * sizeof(float));
    }
}

/* The frames of a row are neighbours, and their numbers those in the chunk. */
static void stage_frames(const cm_unroll *u, const cm_train_frames *f, int first, void *base) {
    const cm_tensor *frame = cm_tape_shape(u->tape, u->frames.frames);
    const size_t bytes = (size_t)frame->stride * cm_dtype_size(frame->dtype), each = (size_t)u->frames_each;
    unsigned char *out = (unsigned char *)base + cm_tape_offset(u->tape, u->frames.frames);
    for (size_t i = 0; i < (size_t)u->rows; i++)
        memcpy(out + i * each * bytes, (const unsigned char *)f->data + ((size_t)first + i) * (size_t)f->each * bytes,
               each * bytes);
}

/* Which of them are the pictures of step k, and what is done to these. */
static void stage_pictures(const cm_unroll *u, const cm_train_frames *f, int first, int k, void *base) {
    const int count = cm_tape_shape(u->tape, u->frames.index)->dim[1], later = k > 0;
    int32_t *index = place(u, u->frames.index, k, base), *shift = place(u, u->frames.shift, k, base);
    float *factor = place(u, u->frames.factor, k, base);
    for (int i = 0; i < u->rows; i++) {
        const size_t row = (size_t)(first + i), drawn = 2 * row + (size_t)later;
        const int32_t *of = f->index + (row * (size_t)(u->unroll + 1) + (size_t)k) * (size_t)count;
        for (int j = 0; j < count; j++) *index++ = of[j] < 0 ? -1 : i * u->frames_each + of[j];
        *shift++ = f->shift[2 * drawn], *shift++ = f->shift[2 * drawn + 1];
        factor[i] = f->factor[drawn];
    }
}

static void stage_observations(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, void *base) {
    if (u->observation != CM_NO_VAR) {
        stage_rows(u, batch->observation, rows->first, 1, 0, rows->O, place(u, u->observation, 0, base));
        return;
    }
    stage_frames(u, &batch->frames, rows->first, base);
    for (int k = 0; k < u->seen; k++) stage_pictures(u, &batch->frames, rows->first, k, base);
}

/* Given codes as one-hot rows [rows, C]. */
static void stage_codes(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, int k, float *out) {
    size_t C = (size_t)u->codes, K = (size_t)u->unroll;
    memset(out, 0, (size_t)u->rows * C * sizeof(float));
    for (int i = 0; i < u->rows; i++, out += C) {
        int32_t code = batch->codes[(size_t)(rows->first + i) * K + (size_t)k];
        if (code >= 0) out[code] = 1.0f;
    }
}

static void stage_transition(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, int k,
                             void *base) {
    size_t at = (size_t)rows->first * (size_t)u->unroll + (size_t)k;
    int32_t *actions = place(u, u->actions, k, base);
    for (int i = 0; i < u->rows; i++) actions[i] = batch->actions[at + (size_t)i * (size_t)u->unroll];
    stage_scalars(u, batch->target_reward + at, u->unroll, place(u, u->reward_target, k + 1, base));
    if (u->encoder) {
        stage_pairs(u, batch, rows, k, place(u, u->code_observations, k, base));
    } else if (u->chance) {
        stage_codes(u, batch, rows, k, place(u, u->given_code, k, base));
    }
    if (u->target_observation == CM_NO_VAR) return;
    stage_rows(u, batch->target_observations, rows->first, u->unroll, k, rows->O,
               place(u, u->target_observation, k, base));
}

/* What the value targets of step k are made of. */
static void stage_bootstraps(const cm_unroll *u, const cm_train_batch *batch, const int32_t *bootstrap_row, size_t at,
                             int k, void *base) {
    const size_t steps = (size_t)u->unroll + 1;
    float *coefficient = place(u, u->bootstrap_coefficient, k, base);
    int32_t *row = place(u, u->bootstrap_row, k, base);
    for (size_t i = 0; i < (size_t)u->rows; i++) {
        coefficient[i] = batch->bootstrap_coefficient ? batch->bootstrap_coefficient[at + i * steps] : 0.0f;
        row[i] = bootstrap_row[at + i * steps];
    }
}

static void stage_values(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows,
                         const int32_t *bootstrap_row, void *base) {
    const bool bootstraps = u->bootstrap_row != CM_NO_VAR;
    const int steps = u->unroll + 1;
    for (int k = 0; k < steps; k++) {
        const size_t at = (size_t)rows->first * (size_t)steps + (size_t)k;
        const cm_var target = bootstraps ? u->value_partial : u->value_target;
        stage_scalars(u, batch->target_value + at, steps, place(u, target, k, base));
        if (bootstraps) stage_bootstraps(u, batch, bootstrap_row, at, k, base);
    }
}

void cm_unroll_stage(const cm_unroll *unroll, const cm_unroll_factors *factors, const cm_train_batch *batch,
                     const cm_chunk_rows *rows, const int32_t *bootstrap_row, void *base) {
    stage_values(unroll, batch, rows, bootstrap_row, base);
    stage_observations(unroll, batch, rows, base);
    for (int i = 0; i < CM_LOSSES; i++)
        if (unroll->loss[i].coefficient != CM_NO_VAR) stage_coefficients(unroll, factors, batch, rows, i, base);
    for (int k = 0; k <= unroll->unroll; k++) stage_prediction(unroll, batch, rows, k, base);
    if (unroll->unroll > 0) /* no action led to the root */
        memset(place(unroll, unroll->reward_target, 0, base), 0, (size_t)unroll->rows * sizeof(float));
    for (int k = 0; k < unroll->unroll; k++) stage_transition(unroll, batch, rows, k, base);
}

/* ---- collecting ---- */

void cm_unroll_targets(const cm_unroll *unroll, const cm_train_batch *batch, const cm_chunk_rows *rows,
                       const void *base, float *targets) {
    const size_t B = (size_t)unroll->rows, steps = (size_t)unroll->unroll + 1;
    const float *given = batch->target_value + (size_t)rows->first * steps;
    const bool bootstraps = unroll->bootstrap_row != CM_NO_VAR;
    const float *made = bootstraps ? cm_unroll_result(unroll, unroll->value_target, base) : NULL;
    for (size_t i = 0; i < B; i++)
        for (size_t k = 0; k < steps; k++) targets[i * steps + k] = made ? made[k * B + i] : given[i * steps + k];
}

/* (1/B) sum of weight * mask * x[rows, each] over the chunk's rows. */
static double collect(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, int loss, int k,
                      const float *x) {
    const int each = u->loss[loss].each;
    double sum = 0.0;
    for (int i = 0; i < u->rows; i++) {
        const double w = share_of(u, batch, rows, loss, k, i);
        for (int d = 0; w != 0.0 && d < each; d++) sum += w * (double)x[i * each + d];
    }
    return sum / rows->total;
}

const float *cm_unroll_result(const cm_unroll *unroll, cm_var var, const void *base) {
    return (const float *)(const void *)((const char *)base + cm_tape_offset(unroll->tape, var));
}

void cm_unroll_collect(const cm_unroll *unroll, const cm_train_batch *batch, const cm_chunk_rows *rows,
                       const void *base, cm_scalars *out) {
    const cm_unroll_loss *policy = &unroll->loss[CM_LOSS_policy];
    memset(out, 0, sizeof *out);
    for (int i = 0; i < CM_LOSSES; i++) {
        const cm_unroll_loss *l = &unroll->loss[i];
        for (int k = 0; l->is_recorded && k < cm_loss_count(i, unroll->unroll); k++)
            out->loss[i][k] = collect(unroll, batch, rows, i, k, cm_unroll_result(unroll, l->step[k].loss, base));
    }
    for (int k = 0; k <= unroll->unroll; k++)
        out->entropy[k] =
            collect(unroll, batch, rows, CM_LOSS_policy, k, cm_unroll_result(unroll, policy->step[k].entropy, base));
}
