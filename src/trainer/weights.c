/* The blocks of a trainer and its EMA and target network. */
#include "trainer/internal.h"

static cm_status copy(cm_mirror *to, const cm_mirror *from) {
    return to->host ? cm_buffer_copy(&to->block, &from->block) : CM_OK;
}

cm_status cm_trainer_copy_online(cm_trainer *trainer) {
    CM_TRY(copy(&trainer->average, &trainer->parameters));
    CM_TRY(copy(&trainer->target, &trainer->parameters));
    return copy(&trainer->target_state, &trainer->state);
}

cm_status cm_trainer_copy(const cm_trainer *t, const cm_mirror *to, const cm_mirror *from, size_t n, float *factor) {
    if (n == 0) return CM_OK;
    cm_call call = {.op = CM_OP_lerp, .attr = {.scale = 1.0f}}; /* an exact copy */
    call.t[CM_T_lerp_y] = cm_tensor_1d(to->block.base, CM_F32, (int)n);
    call.t[CM_T_lerp_x] = cm_tensor_1d(from->block.base, CM_F32, (int)n);
    if (factor) call.t[CM_T_lerp_factor] = cm_tensor_1d(factor, CM_F32, 2);
    return cm_call_run(t->streams[0], &call);
}

cm_status cm_trainer_copy_target(cm_trainer *trainer, float *factor) {
    const cm_param_table *table = cm_network_parameters(trainer->config.network);
    CM_TRY(cm_trainer_copy(trainer, &trainer->target, &trainer->parameters, table->parameters, factor));
    return cm_trainer_copy(trainer, &trainer->target_state, &trainer->state, table->states, factor);
}

cm_mirror *cm_trainer_block(cm_trainer *trainer, cm_weights which) {
    cm_mirror *copied = which == CM_WEIGHTS_EMA ? &trainer->average : &trainer->target;
    return which != CM_WEIGHTS_ONLINE && copied->host ? copied : &trainer->parameters;
}

cm_mirror *cm_trainer_state_block(cm_trainer *trainer, cm_weights which) {
    bool target = which == CM_WEIGHTS_TARGET && trainer->target_state.host;
    return target ? &trainer->target_state : &trainer->state;
}

float *cm_trainer_parameters(cm_trainer *trainer, cm_weights which) { return cm_trainer_block(trainer, which)->host; }

float *cm_trainer_state(cm_trainer *trainer, cm_weights which) { return cm_trainer_state_block(trainer, which)->host; }

cm_trainer_blocks cm_trainer_on_device(cm_trainer *trainer, cm_weights which) {
    return (cm_trainer_blocks){.parameters = &cm_trainer_block(trainer, which)->block,
                               .state = &cm_trainer_state_block(trainer, which)->block};
}

float *cm_trainer_moments(cm_trainer *trainer, int order) {
    return cm_optimizer_moments(trainer->optimizer, order)->host;
}

const float *cm_trainer_gradients(const cm_trainer *trainer) {
    return accumulation(trainer) > 1 ? trainer->accumulated.host : trainer->gradients.host;
}

enum { WEIGHTS = 5, BLOCKS = WEIGHTS + 2 };

/* What a checkpoint holds: weights, then moments. */
static void list_blocks(cm_trainer *t, cm_mirror *out[BLOCKS]) {
    cm_mirror *all[BLOCKS] = {&t->parameters,
                              &t->state,
                              &t->average,
                              &t->target,
                              &t->target_state,
                              cm_optimizer_moments(t->optimizer, 0),
                              cm_optimizer_moments(t->optimizer, 1)};
    for (int i = 0; i < BLOCKS; i++) out[i] = all[i];
}

cm_status cm_trainer_fetch(cm_trainer *trainer, cm_trainer_part part) {
    cm_mirror *block[BLOCKS];
    list_blocks(trainer, block);
    for (int i = 0; i < (part == CM_TRAINER_WEIGHTS ? WEIGHTS : BLOCKS); i++) CM_TRY(cm_mirror_fetch(block[i]));
    if (part == CM_TRAINER_WEIGHTS) return CM_OK;
    CM_TRY(cm_mirror_fetch(&trainer->accumulated));
    return cm_mirror_fetch(&trainer->gradients);
}

/* The weights as layers in 8 bits have them (backend/int8.h), and all other parameters as they are. */
static cm_status quantise(const cm_trainer *t) {
    const cm_param_table *table = cm_network_parameters(t->config.network);
    float *from = (float *)(void *)t->parameters.block.base, *to = (float *)(void *)t->quantised.block.base;
    if (!to) return CM_OK;
    CM_TRY(cm_trainer_copy(t, &t->quantised, &t->parameters, table->parameters, NULL));
    for (int i = 0; i < table->count; i++) {
        if (cm_network_range_of(t->config.network, i) < 0) continue;
        cm_call call = {.op = CM_OP_fake_quantise_rows};
        call.t[CM_T_fake_quantise_rows_y] = cm_param_tensor(&table->param[i], to);
        call.t[CM_T_fake_quantise_rows_x] = cm_param_tensor(&table->param[i], from);
        CM_TRY(cm_call_run(t->streams[0], &call));
    }
    return CM_OK;
}

cm_status cm_trainer_repack(cm_trainer *trainer, bool target) {
    enum { ALWAYS = 3 };
    const cm_mirror *blocks[ALWAYS + 1] = {&trainer->parameters, &trainer->average, &trainer->quantised,
                                           &trainer->target};
    CM_TRY(quantise(trainer));
    for (int i = 0; i < ALWAYS + target; i++) {
        const cm_buffer *block = &blocks[i]->block;
        if (!block->base) continue;
        CM_TRY(cm_stream_repack(trainer->streams[0], block->base, block->bytes, trainer->config.pool));
    }
    return CM_OK;
}

cm_status cm_trainer_changed(cm_trainer *trainer) {
    cm_mirror *block[BLOCKS];
    list_blocks(trainer, block);
    for (int i = 0; i < BLOCKS; i++) CM_TRY(cm_mirror_push(block[i]));
    return cm_trainer_repack(trainer, true);
}

void cm_trainer_plan(cm_trainer *trainer, int64_t total_updates) {
    cm_optimizer_plan(trainer->optimizer, total_updates);
}

int64_t cm_trainer_updates(const cm_trainer *trainer) { return trainer->updates; }

void cm_trainer_set_updates(cm_trainer *trainer, int64_t updates) { trainer->updates = updates; }

double cm_trainer_flops(const cm_trainer *trainer) {
    const cm_unroll *full = &trainer->unroll[0], *tail = &trainer->unroll[1];
    const int chunks = trainer->config.batch / full->rows;
    const double rest = tail->tape ? cm_tape_costs(tail->tape).flop : 0.0;
    return chunks * cm_tape_costs(full->tape).flop + rest;
}
