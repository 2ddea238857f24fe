#include "run/positions.h"

#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

enum { ROWS = 64 };
static const size_t most_bytes = (size_t)64 << 20;

/* Batches for `count` positions, as many as fit, at least one. */
static int batches_for(int count, int rows, int observation) {
    const size_t fitting = most_bytes / ((size_t)rows * (size_t)observation * sizeof(float));
    const size_t wanted = ((size_t)count + (size_t)rows - 1) / (size_t)rows;
    return (int)(fitting < 1 ? 1 : fitting < wanted ? fitting : wanted);
}

cm_status cm_positions_create(const cm_network *network, int count, cm_positions *out) {
    const cm_network_config *c = cm_network_get_config(network);
    const int rows = count < ROWS ? count : ROWS, observation = cm_network_observation_size(network);
    *out = (cm_positions){.rows = rows,
                          .batches = batches_for(count, rows, observation),
                          .observation = observation,
                          .steps = c->model == CM_NETWORK_PREDICTION ? 0 : CM_ROLLOUT_STEPS,
                          .codes = c->model == CM_NETWORK_CHANCE ? c->codes : 0};
    const size_t all = (size_t)out->batches * (size_t)rows, moves = all * (size_t)out->steps;
    CM_TRY(cm_alloc(&out->observations, all * (size_t)observation, sizeof *out->observations, "positions"));
    CM_TRY(cm_alloc(&out->actions, moves + 1, sizeof *out->actions, "positions"));
    return cm_alloc(&out->code, moves + 1, sizeof *out->code, "positions");
}

void cm_positions_free(cm_positions *positions) {
    free(positions->observations);
    free(positions->actions);
    free(positions->code);
    *positions = (cm_positions){.rows = 0};
}

void cm_positions_observe(cm_positions *p, int batch, const float *observations) {
    const size_t n = (size_t)p->rows * (size_t)p->observation;
    memcpy(p->observations + (size_t)batch * n, observations, n * sizeof *p->observations);
}

void cm_positions_act(cm_positions *p, int batch, int k, int i, int32_t action, int32_t code) {
    const size_t at = ((size_t)batch * (size_t)p->steps + (size_t)k) * (size_t)p->rows + (size_t)i;
    p->actions[at] = action;
    p->code[at] = code;
}

void cm_positions_fill(const cm_positions *p, int batch, cm_rollout *rollout) {
    const size_t rows = (size_t)p->rows, n = rows * (size_t)p->observation;
    memcpy(cm_rollout_observations(rollout), p->observations + (size_t)batch * n, n * sizeof(float));
    for (int k = 0; k < cm_rollout_steps(rollout); k++) {
        const size_t first = ((size_t)batch * (size_t)p->steps + (size_t)k) * rows;
        float *codes = cm_rollout_codes(rollout, k);
        memcpy(cm_rollout_actions(rollout, k), p->actions + first, rows * sizeof(int32_t));
        for (size_t i = 0; codes && i < rows * (size_t)p->codes; i++)
            codes[i] = p->code[first + i / (size_t)p->codes] == (int32_t)(i % (size_t)p->codes);
    }
}
