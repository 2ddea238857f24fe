#include "network/sampled.h"

#include "backend/sampling.h"

int cm_sampled_memory_size(int draws) { return draws > 0 ? draws + CM_SAMPLING_SEED : 0; }

void cm_sampled_seed(cm_key key, float *seed) { cm_sampling_seed(key, seed); }

/* The last columns of the pool. */
static cm_var memory_of(cm_tape *tape, cm_var pool, int size) {
    if (pool == CM_NO_VAR) return CM_NO_VAR;
    return cm_tape_columns(tape, pool, cm_tape_shape(tape, pool)->dim[1] - size, size);
}

void cm_sampled_keep(cm_tape *tape, cm_var pool, cm_var slots, const cm_sample_vars *drawn) {
    if (drawn->memory == CM_NO_VAR) return;
    const int size = cm_tape_shape(tape, drawn->memory)->dim[1];
    cm_tape_scatter_rows(tape, memory_of(tape, pool, size), drawn->memory, slots);
}

cm_sampled_vars cm_sampled_choose(cm_tape *tape, cm_var pool, cm_var parents, cm_var choice, int draws) {
    cm_var memory = memory_of(tape, pool, cm_sampled_memory_size(draws));
    return cm_tape_sampled_action(tape, cm_tape_gather_rows(tape, memory, parents), choice);
}
