/* Bootstrap values: representation and prediction by the slow weights. */
#include <stdlib.h>
#include <string.h>

#include "trainer/internal.h"

enum { ROWS = 64 };

/* One worker's pass. */
typedef struct lane {
    cm_pass *pass;
    cm_mirror input;
} lane;

struct cm_values {
    cm_trainer *trainer; /* borrowed */
    cm_tape *tape;
    cm_var observation, value;
    lane *lanes;
    int workers;
    /* of the call that is running */
    int n;
    const float *from;
    float *to;
};

static cm_status record(cm_values *v) {
    const cm_network *network = v->trainer->config.network;
    const cm_network_config *c = cm_network_get_config(network);
    int dim[4] = {ROWS, c->observation[0], c->observation[1], c->observation[2]};
    CM_TRY(cm_tape_create(false, v->trainer->config.compute, &v->tape));
    v->observation = cm_tape_input(v->tape, CM_F32, c->observation_ndim + 1, dim);
    cm_outputs out =
        cm_network_predict(network, v->tape, cm_network_representation(network, v->tape, v->observation), false);
    v->value = cm_tape_support_decode(v->tape, out.value, &c->value_support);
    cm_tape_result(v->tape, v->value);
    return cm_tape_finish_inference(v->tape, v->trainer->config.backend);
}

static cm_status build(cm_values *v) {
    cm_trainer *t = v->trainer;
    cm_weights which = t->config.options->ema_bootstraps ? CM_WEIGHTS_EMA : CM_WEIGHTS_TARGET;
    v->workers = cm_pool_size(t->config.pool);
    CM_TRY(record(v));
    CM_TRY(cm_alloc(&v->lanes, (size_t)v->workers, sizeof *v->lanes, "bootstrap values"));
    for (int w = 0; w < v->workers; w++) {
        lane *l = &v->lanes[w];
        CM_TRY(cm_mirror_create(&l->input, t->config.backend->device, cm_tape_bytes(v->tape, CM_MEM_INPUT) + CM_ALIGN,
                                "bootstrap observations"));
        void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = cm_trainer_block(t, which)->block.base,
                                    [CM_MEM_STATE] = cm_trainer_state_block(t, which)->block.base,
                                    [CM_MEM_INPUT] = l->input.block.base};
        CM_TRY(cm_pass_create(v->tape, t->streams[w], base, &l->pass));
    }
    return CM_OK;
}

cm_status cm_values_create(cm_trainer *trainer, cm_values **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "bootstrap values"));
    (*out)->trainer = trainer;
    return build(*out); /* the trainer destroys it, also after an error */
}

void cm_values_destroy(cm_values *values) {
    if (!values) return;
    for (int w = 0; values->lanes && w < values->workers; w++) {
        cm_pass_destroy(values->lanes[w].pass);
        cm_mirror_destroy(&values->lanes[w].input);
    }
    free(values->lanes);
    cm_tape_destroy(values->tape);
    free(values);
}

size_t cm_values_bytes(const cm_values *values) {
    return (size_t)values->workers *
           (cm_tape_bytes(values->tape, CM_MEM_INPUT) + cm_tape_bytes(values->tape, CM_MEM_WORK) +
            cm_tape_bytes(values->tape, CM_MEM_RESULT));
}

static cm_status run_rows(void *context, int task, int worker) {
    cm_values *v = context;
    size_t O = (size_t)cm_network_observation_size(v->trainer->config.network);
    int first = task * ROWS, rows = v->n - first < ROWS ? v->n - first : ROWS;
    const size_t at = cm_tape_offset(v->tape, v->observation), bytes = (size_t)rows * O * sizeof(float);
    cm_stream *stream = v->trainer->streams[worker];
    lane *l = &v->lanes[worker];
    memcpy((char *)l->input.host + at, v->from + (size_t)first * O, bytes);
    CM_TRY(cm_stream_write(stream, l->input.block.base + at, (char *)l->input.host + at, bytes));
    CM_TRY(cm_pass_forward(l->pass));
    CM_TRY(cm_pass_fetch(l->pass));
    memcpy(v->to + first, cm_pass_result(l->pass, v->value), (size_t)rows * sizeof(float));
    return CM_OK;
}

cm_status cm_trainer_values(cm_trainer *trainer, int n, const float *observations, float *out) {
    cm_values *v = trainer->values;
    if (!v) return cm_fail(CM_ERR_STATE, "this trainer was made without bootstrap values");
    v->n = n, v->from = observations, v->to = out;
    return cm_pool_run(trainer->config.pool, (n + ROWS - 1) / ROWS, run_rows, v);
}
