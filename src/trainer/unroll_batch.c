/* A batch and a recorded unroll: rows and coefficients into its inputs, losses out of its results. */
#include <string.h>

#include "trainer/unroll.h"

/* ---- factors ---- */

void cm_unroll_factors_make(const cm_trainer_options *options, int unroll, cm_unroll_factors *out) {
    double first = 1.0, later = 1.0, transition = 1.0, K = unroll;
    switch ((cm_unroll_scale)options->unroll_scale) {
    case CM_UNROLL_PAPER: later = transition = K > 0 ? 1.0 / K : 1.0; break;
    case CM_UNROLL_WHOLE: first = later = transition = K > 0 ? 1.0 / K : 1.0; break;
    case CM_UNROLL_CUMIND: first = later = 1.0 / (K + 1.0), transition = K > 0 ? 1.0 / K : 1.0; break;
    case CM_UNROLL_NONE: break;
    }
    for (int k = 0; k <= unroll; k++) {
        out->value[k] = options->value_weight * (k == 0 ? first : later);
        out->policy[k] = options->policy_weight * (k == 0 ? first : later);
    }
    for (int k = 0; k < unroll; k++) {
        out->reward[k] = options->reward_weight * transition;
        out->consistency[k] = options->consistency_weight * transition;
        out->afterstate[k] = options->value_weight * transition;
        out->code[k] = options->chance_weight * transition;
        out->commitment[k] = options->commitment_weight * transition;
    }
}

/* ---- staging ---- */

/* The first of step k's rows. All inputs have elements of 4 bytes. */
static void *place(const cm_unroll *u, cm_var var, int k, void *base) {
    const size_t row = (size_t)cm_tape_shape(u->tape, var)->stride * sizeof(float);
    return (char *)base + cm_tape_offset(u->tape, var) + (size_t)k * (size_t)u->rows * row;
}

static float weight_of(const cm_train_batch *batch, int row) { return batch->weights ? batch->weights[row] : 1.0f; }

/* target[rows] and coefficient[rows, each] of one term; `stride` elements lie between rows of the batch's arrays. */
typedef struct term {
    const float *target, *mask; /* at the chunk's first row and this unroll step */
    int stride;
    double factor;
    int each; /* rows of the loss of each of the batch */
} term;

static void stage_coefficients(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows,
                               const term *t, float *coefficient) {
    for (int i = 0; i < u->rows; i++) {
        double w = (double)weight_of(batch, rows->first + i) * (double)t->mask[(size_t)i * (size_t)t->stride];
        for (int d = 0; d < t->each; d++) *coefficient++ = (float)(t->factor * w / rows->total);
    }
}

static void stage_scalars(const cm_unroll *u, const term *t, float *target) {
    for (int i = 0; i < u->rows; i++) target[i] = t->target[(size_t)i * (size_t)t->stride];
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

static void stage_prediction(const cm_unroll *u, const cm_unroll_factors *f, const cm_train_batch *batch,
                             const cm_chunk_rows *rows, int k, void *base) {
    int steps = u->unroll + 1;
    size_t at = (size_t)rows->first * (size_t)steps + (size_t)k;
    term value = {NULL, batch->value_mask + at, steps, f->value[k], 1};
    term policy = {NULL, batch->policy_mask + at, steps, f->policy[k], u->form.numbers};
    stage_coefficients(u, batch, rows, &value, place(u, u->value_coefficient, k, base));
    stage_coefficients(u, batch, rows, &policy, place(u, u->policy_coefficient, k * u->form.numbers, base));
    stage_rows(u, batch->target_policy, rows->first, steps, k, rows->P, place(u, u->policy_target, k, base));
    if (u->legal != CM_NO_VAR)
        stage_legal(u, batch->legal + at * (size_t)rows->P, steps * rows->P, rows->P, place(u, u->legal, k, base));
}

/* o_{t+k} and o_{t+k+1} beside each other. */
static void stage_pairs(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, int k, float *out) {
    size_t o = (size_t)rows->O, K = (size_t)u->unroll;
    for (int i = 0; i < u->rows; i++, out += 2 * o) {
        size_t row = (size_t)(rows->first + i);
        const float *next = batch->target_observations + (row * K + (size_t)k) * o;
        memcpy(out, k == 0 ? batch->observation + row * o : next - o, o * sizeof(float));
        memcpy(out + o, next, o * sizeof(float));
    }
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

static void stage_chance(const cm_unroll *u, const cm_unroll_factors *f, const cm_train_batch *batch,
                         const cm_chunk_rows *rows, int k, void *base) {
    const cm_unroll_chance *c = &u->outcome;
    const float *mask = batch->consistency_mask + (size_t)rows->first * (size_t)u->unroll + (size_t)k;
    term value = {NULL, mask, u->unroll, f->afterstate[k], 1}, code = {NULL, mask, u->unroll, f->code[k], 1};
    term commitment = {NULL, mask, u->unroll, f->commitment[k], 1};
    stage_coefficients(u, batch, rows, &value, place(u, c->value_coefficient, k, base));
    stage_coefficients(u, batch, rows, &code, place(u, c->code_coefficient, k, base));
    if (u->encoder) {
        stage_pairs(u, batch, rows, k, place(u, c->observations, k, base));
        stage_coefficients(u, batch, rows, &commitment, place(u, c->commitment_coefficient, k, base));
    } else {
        stage_codes(u, batch, rows, k, place(u, c->given, k, base));
    }
}

static void stage_transition(const cm_unroll *u, const cm_unroll_factors *f, const cm_train_batch *batch,
                             const cm_chunk_rows *rows, int k, void *base) {
    size_t at = (size_t)rows->first * (size_t)u->unroll + (size_t)k;
    int32_t *actions = place(u, u->actions, k, base);
    for (int i = 0; i < u->rows; i++) actions[i] = batch->actions[at + (size_t)i * (size_t)u->unroll];
    term reward = {batch->target_reward + at, batch->reward_mask + at, u->unroll, f->reward[k], 1};
    stage_scalars(u, &reward, place(u, u->reward_target, k + 1, base));
    stage_coefficients(u, batch, rows, &reward, place(u, u->reward_coefficient, k + 1, base));
    if (u->chance) stage_chance(u, f, batch, rows, k, base);
    if (!u->consistency) return;
    term consistency = {NULL, batch->consistency_mask + at, u->unroll, f->consistency[k], 1};
    stage_coefficients(u, batch, rows, &consistency, place(u, u->consistency_coefficient, k, base));
    stage_rows(u, batch->target_observations, rows->first, u->unroll, k, rows->O,
               place(u, u->target_observation, k, base));
}

/* No action led to the root. */
static void stage_no_reward(const cm_unroll *u, void *base) {
    memset(place(u, u->reward_target, 0, base), 0, (size_t)u->rows * sizeof(float));
    memset(place(u, u->reward_coefficient, 0, base), 0, (size_t)u->rows * sizeof(float));
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
        term value = {.target = batch->target_value + at, .stride = steps};
        stage_scalars(u, &value, place(u, bootstraps ? u->value_partial : u->value_target, k, base));
        if (bootstraps) stage_bootstraps(u, batch, bootstrap_row, at, k, base);
    }
}

void cm_unroll_stage(const cm_unroll *unroll, const cm_unroll_factors *factors, const cm_train_batch *batch,
                     const cm_chunk_rows *rows, const int32_t *bootstrap_row, void *base) {
    stage_values(unroll, batch, rows, bootstrap_row, base);
    stage_rows(unroll, batch->observation, rows->first, 1, 0, rows->O, place(unroll, unroll->observation, 0, base));
    if (unroll->unroll > 0) stage_no_reward(unroll, base);
    for (int k = 0; k <= unroll->unroll; k++) stage_prediction(unroll, factors, batch, rows, k, base);
    for (int k = 0; k < unroll->unroll; k++) stage_transition(unroll, factors, batch, rows, k, base);
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

/* (1/B) sum of weight * mask * loss over the chunk's rows; the loss of one is the sum of its `each`. */
static double collect(const cm_unroll *u, const cm_train_batch *batch, const cm_chunk_rows *rows, const term *t,
                      const float *loss) {
    double sum = 0.0;
    for (int i = 0; i < u->rows; i++) {
        double w = (double)weight_of(batch, rows->first + i) * (double)t->mask[(size_t)i * (size_t)t->stride];
        for (int d = 0; w != 0.0 && d < t->each; d++) sum += w * (double)loss[i * t->each + d];
    }
    return sum / rows->total;
}

const float *cm_unroll_result(const cm_unroll *unroll, cm_var var, const void *base) {
    return (const float *)(const void *)((const char *)base + cm_tape_offset(unroll->tape, var));
}

void cm_unroll_collect(const cm_unroll *unroll, const cm_train_batch *batch, const cm_chunk_rows *rows,
                       const void *base, cm_scalars *out) {
    const cm_unroll *u = unroll;
    memset(out, 0, sizeof *out);
    for (int k = 0; k <= u->unroll; k++) {
        size_t at = (size_t)rows->first * (size_t)(u->unroll + 1) + (size_t)k;
        term value = {NULL, batch->value_mask + at, u->unroll + 1, 0.0, 1};
        term policy = {NULL, batch->policy_mask + at, u->unroll + 1, 0.0, u->form.numbers};
        out->value[k] = collect(u, batch, rows, &value, cm_unroll_result(u, u->value[k].loss, base));
        out->policy[k] = collect(u, batch, rows, &policy, cm_unroll_result(u, u->policy[k].loss, base));
        out->entropy[k] = collect(u, batch, rows, &policy, cm_unroll_result(u, u->policy[k].entropy, base));
    }
    for (int k = 0; k < u->unroll; k++) {
        size_t at = (size_t)rows->first * (size_t)u->unroll + (size_t)k;
        term reward = {NULL, batch->reward_mask + at, u->unroll, 0.0, 1};
        out->reward[k] = collect(u, batch, rows, &reward, cm_unroll_result(u, u->reward[k].loss, base));
        term consistency = {NULL, batch->consistency_mask + at, u->unroll, 0.0, 1};
        if (u->chance) {
            const cm_unroll_chance *c = &u->outcome;
            out->afterstate[k] = collect(u, batch, rows, &consistency, cm_unroll_result(u, c->value[k].loss, base));
            out->code[k] = collect(u, batch, rows, &consistency, cm_unroll_result(u, c->code[k].loss, base));
            if (u->encoder) {
                out->commitment[k] =
                    collect(u, batch, rows, &consistency, cm_unroll_result(u, c->commitment[k].loss, base));
            }
        }
        if (!u->consistency) continue;
        out->consistency[k] =
            collect(u, batch, rows, &consistency, cm_unroll_result(u, u->consistency_loss[k].loss, base));
    }
}
