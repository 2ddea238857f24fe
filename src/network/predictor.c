#include "network/predictor.h"

#include <stdlib.h>

#include "core/arena.h"
#include "device/mirror.h"

enum { LEAST_ROWS = 8, MOST_SIZES = 16 };

/* One recorded pass. */
typedef struct size {
    int rows;
    cm_tape *tape;
    cm_pass *pass;
    cm_predictions out;
} size;

struct cm_predictor {
    cm_stream *stream; /* borrowed */
    cm_mirror input;   /* of the largest pass; the others begin at the same place */
    float *observations;
    int count;
    size sizes[MOST_SIZES]; /* from the largest to the smallest */
};

static cm_status record(const cm_network_use *use, size *s, cm_var variable[3]) {
    const cm_network_config *c = cm_network_get_config(use->network);
    int dim[4] = {s->rows, c->observation[0], c->observation[1], c->observation[2]};
    CM_TRY(cm_tape_create(false, use->compute, &s->tape));
    variable[0] = cm_tape_input(s->tape, CM_F32, c->observation_ndim + 1, dim);
    cm_hidden state = cm_network_representation(use->network, s->tape, variable[0]);
    cm_outputs out = cm_network_predict(use->network, s->tape, state, false);
    variable[1] = out.policy;
    variable[2] = cm_tape_support_decode(s->tape, out.value, &c->value_support);
    cm_tape_result(s->tape, variable[1]);
    cm_tape_result(s->tape, variable[2]);
    return cm_tape_finish_inference(s->tape, use->stream->backend);
}

static cm_status add_size(cm_predictor *p, const cm_network_use *use) {
    size *s = &p->sizes[p->count - 1];
    cm_var variable[3];
    CM_TRY(record(use, s, variable));
    if (p->count == 1) {
        CM_TRY(cm_mirror_create(&p->input, use->stream->backend->device,
                                cm_tape_bytes(s->tape, CM_MEM_INPUT) + CM_ALIGN, "observations to be evaluated"));
    }
    void *base[CM_MEM_COUNT] = {
        [CM_MEM_PARAMETER] = use->parameters, [CM_MEM_STATE] = use->state, [CM_MEM_INPUT] = p->input.block.base};
    CM_TRY(cm_pass_create(s->tape, use->stream, base, &s->pass));
    if (p->count == 1) p->observations = (float *)p->input.host;
    s->out = (cm_predictions){cm_pass_result(s->pass, variable[1]), cm_pass_result(s->pass, variable[2])};
    return CM_OK;
}

cm_status cm_predictor_create(const cm_network_use *use, cm_predictor **out) {
    cm_predictor *p = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&p, 1, sizeof *p, "a predictor"));
    p->stream = use->stream;
    cm_status status = CM_OK;
    for (int r = use->rows; status == CM_OK && p->count < MOST_SIZES; r = (r + 1) / 2) {
        p->sizes[p->count++].rows = r;
        status = add_size(p, use);
        if (r <= LEAST_ROWS) break;
    }
    if (status == CM_OK) {
        *out = p;
    } else {
        cm_predictor_destroy(p);
    }
    return status;
}

void cm_predictor_destroy(cm_predictor *p) {
    if (!p) return;
    for (int i = 0; i < p->count; i++) {
        cm_pass_destroy(p->sizes[i].pass);
        cm_tape_destroy(p->sizes[i].tape);
    }
    cm_mirror_destroy(&p->input);
    free(p);
}

float *cm_predictor_observations(cm_predictor *p) { return p->observations; }

cm_status cm_predictor_run(cm_predictor *p, int n, cm_predictions *out) {
    int i = p->count - 1;
    while (i > 0 && p->sizes[i].rows < n) i--;
    const size *s = &p->sizes[i];
    *out = s->out;
    CM_TRY(cm_stream_write(p->stream, p->input.block.base, p->input.host, cm_tape_bytes(s->tape, CM_MEM_INPUT)));
    CM_TRY(cm_pass_forward(s->pass));
    return cm_pass_fetch(s->pass);
}

size_t cm_predictor_bytes(const cm_predictor *p) {
    size_t bytes = cm_tape_bytes(p->sizes[0].tape, CM_MEM_INPUT);
    for (int i = 0; i < p->count; i++)
        bytes += cm_tape_bytes(p->sizes[i].tape, CM_MEM_WORK) + cm_tape_bytes(p->sizes[i].tape, CM_MEM_RESULT);
    return bytes;
}
