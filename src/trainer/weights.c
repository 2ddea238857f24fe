/* The blocks of a trainer and its slow weights. */
#include "trainer/internal.h"

static cm_status copy(cm_buffer *to, const cm_buffer *from) { return to->base ? cm_buffer_copy(to, from) : CM_OK; }

cm_status cm_trainer_copy_target(cm_trainer *trainer) {
    CM_TRY(copy(&trainer->target, &trainer->parameters));
    return copy(&trainer->target_state, &trainer->state);
}

cm_status cm_trainer_copy_slow(cm_trainer *trainer) {
    CM_TRY(copy(&trainer->average, &trainer->parameters));
    return cm_trainer_copy_target(trainer);
}

float *cm_trainer_parameters(cm_trainer *trainer, cm_weights which) {
    const cm_buffer *slow = which == CM_WEIGHTS_EMA ? &trainer->average : &trainer->target;
    return (float *)(which != CM_WEIGHTS_ONLINE && slow->base ? slow->base : trainer->parameters.base);
}

float *cm_trainer_state(cm_trainer *trainer, cm_weights which) {
    bool target = which == CM_WEIGHTS_TARGET && trainer->target_state.base;
    return (float *)(target ? trainer->target_state.base : trainer->state.base);
}

float *cm_trainer_moments(cm_trainer *trainer, int order) { return cm_optimizer_moments(trainer->optimizer, order); }

const float *cm_trainer_gradients(const cm_trainer *trainer) {
    return accumulation(trainer) > 1 ? (const float *)trainer->accumulated.base : trainer->gradient[0];
}

cm_status cm_trainer_changed(cm_trainer *trainer) {
    cm_buffer *blocks[3] = {&trainer->parameters, &trainer->average, &trainer->target};
    for (int i = 0; i < 3; i++) {
        if (!blocks[i]->base) continue;
        CM_TRY(cm_backend_repack(trainer->config.backend, blocks[i]->base, blocks[i]->bytes, trainer->config.pool));
    }
    return CM_OK;
}

int64_t cm_trainer_updates(const cm_trainer *trainer) { return trainer->updates; }

void cm_trainer_set_updates(cm_trainer *trainer, int64_t updates) { trainer->updates = updates; }

double cm_trainer_flops(const cm_trainer *trainer) {
    const cm_unroll *full = &trainer->unroll[0], *tail = &trainer->unroll[1];
    const int chunks = trainer->config.batch / full->rows;
    double flops = chunks * cm_tape_flops(full->tape);
    if (tail->tape) flops += cm_tape_flops(tail->tape);
    return 3.0 * flops;
}

int cm_trainer_memory(const cm_trainer *trainer, cm_memory_row *rows, int capacity) {
    const cm_trainer *t = trainer;
    size_t workers = (size_t)cm_pool_size(t->config.pool), activations = 0;
    for (int kind = 0; kind < 2 && t->unroll[kind].tape; kind++) {
        activations += workers * cm_tape_bytes(t->unroll[kind].tape, CM_MEM_WORK);
    }
    int moments = t->config.options->optimizer == CM_OPTIMIZER_SGD ? 1 : 2;
    const cm_memory_row all[] = {
        {"parameters", t->parameters.bytes + t->state.bytes},
        {"optimiser moments", (size_t)moments * t->parameters.bytes},
        {"gradients", t->gradients.bytes + t->accumulated.bytes},
        {"averaged and target parameters", t->average.bytes + t->target.bytes + t->target_state.bytes},
        {"training activations", activations},
        {"training inputs", t->inputs.bytes + t->stats.bytes},
        {"bootstrap values", t->values ? cm_values_bytes(t->values) : 0},
    };
    int count = (int)(sizeof all / sizeof *all);
    for (int i = 0; i < count && i < capacity; i++) rows[i] = all[i];
    return count < capacity ? count : capacity;
}
