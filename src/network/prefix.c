#include "network/prefix.h"

static cm_var memory_of(const cm_network *network, cm_tape *tape, cm_var pool) {
    return cm_tape_columns(tape, pool, cm_network_state_size(network), cm_network_memory_size(network));
}

void cm_prefix_begin(const cm_network *network, cm_tape *tape, cm_var pool, cm_var slots) {
    const int rows = cm_tape_shape(tape, slots)->dim[0], all = rows * cm_network_memory_size(network);
    cm_var zeros = cm_tape_reshape_rows(tape, cm_tape_constant(tape, all, 0.0f), rows);
    cm_tape_scatter_rows(tape, memory_of(network, tape, pool), zeros, slots);
}

void cm_prefix_pass_on(const cm_network *network, cm_tape *tape, cm_var pool, cm_var parents, cm_var children) {
    cm_var memory = memory_of(network, tape, pool);
    cm_tape_scatter_rows(tape, memory, cm_tape_gather_rows(tape, memory, parents), children);
}

cm_var cm_prefix_step(const cm_network *network, cm_tape *tape, cm_var pool, cm_var raw, const cm_var edge[2]) {
    const cm_network_config *c = cm_network_get_config(network);
    const int L = c->lstm;
    cm_var memory = memory_of(network, tape, pool), before = cm_tape_gather_rows(tape, memory, edge[0]);
    cm_lstm_state start = {cm_tape_columns(tape, before, 0, L), cm_tape_columns(tape, before, L, L)};
    cm_lstm_state next = cm_network_prefix_lstm(network, tape, cm_network_prefix_input(network, tape, raw), 1, start);
    cm_var prefix = cm_tape_support_decode(tape, cm_network_prefix(network, tape, next.h), &c->reward_support);
    cm_prefix_vars step =
        cm_tape_prefix_step(tape, prefix, next, cm_tape_columns(tape, before, 2 * L, 2), c->prefix_horizon);
    cm_tape_scatter_rows(tape, memory, step.memory, edge[1]);
    return step.reward;
}
