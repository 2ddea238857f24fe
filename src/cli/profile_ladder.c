/* The network in every precision that is native here: speed, and how far its outputs are from those in float32. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/benchmark.h"
#include "cli/profile.h"
#include "core/arena.h"
#include "device/mirror.h"
#include "network/inference.h"

enum { ROWS = 64, PASSES = 4 };
#define SECONDS 0.3 /* of a precision, at the usual pace */

/* What all precisions share; owned. */
typedef struct network {
    cm_session *session;
    cm_mirror parameters, state;
    int draws;
} network;

/* One precision; owned. */
typedef struct rung {
    cm_stream *stream;
    cm_inference *inference;
    const cm_inference_arrays *io;
} rung;

static cm_status open_network(const cm_profile *p, network *n) {
    cm_configuration c = *p->configuration;
    c.network.zero_init_heads = false; /* heads of zeros would be right in any precision */
    CM_TRY(cm_session_open(&c, NULL, &n->session));
    const cm_param_table *table = cm_network_parameters(n->session->network);
    const cm_device *device = n->session->backend->device;
    CM_TRY(cm_mirror_create(&n->parameters, device, (table->parameters + 1) * sizeof(float), "parameters"));
    CM_TRY(cm_mirror_create(&n->state, device, (table->states + 1) * sizeof(float), "running statistics"));
    cm_network_initialise(n->session->network, 1, n->parameters.host, n->state.host);
    n->draws = cm_mcts_draws(&n->session->configuration.mcts);
    CM_TRY(cm_mirror_push(&n->parameters));
    return cm_mirror_push(&n->state);
}

static void close_network(network *n) {
    cm_mirror_destroy(&n->parameters);
    cm_mirror_destroy(&n->state);
    cm_session_close(n->session);
}

static void fill_inputs(const network *n, const rung *r) {
    const size_t observation = (size_t)cm_network_observation_size(n->session->network);
    cm_benchmark_fill(r->io->observation, ROWS * observation, 1);
    for (int i = 0; i < ROWS; i++) r->io->root_slots[i] = i;
}

static cm_status open_rung(const network *n, cm_dtype dtype, rung *r) {
    CM_TRY(cm_stream_open(n->session->backend, &r->stream));
    const cm_network_use use = {.network = n->session->network,
                                .stream = r->stream,
                                .rows = ROWS,
                                .compute = dtype == CM_I8 ? CM_F32 : dtype,
                                .draws = n->draws,
                                .parameters = (float *)(void *)n->parameters.block.base,
                                .state = (float *)(void *)n->state.block.base};
    if (dtype == CM_I8) CM_TRY(cm_benchmark_calibrate(&use, n->session->network));
    CM_TRY(cm_inference_create(&use, 2 * ROWS, &r->inference));
    r->io = cm_inference_get(r->inference);
    fill_inputs(n, r);
    return CM_OK;
}

static void close_rung(rung *r) {
    cm_inference_destroy(r->inference);
    cm_stream_close(r->stream);
}

static cm_status infer(void *context) {
    const rung *r = context;
    for (int i = 0; i < PASSES; i++) CM_TRY(cm_inference_root(r->inference));
    return CM_OK;
}

/* Where drawn actions are what a search sees, logits are of those, and values alone are compared. */
static double policy_difference(const network *n, const rung *a, const rung *b) {
    const int actions = cm_network_get_config(n->session->network)->actions;
    double most = 0.0;
    if (n->draws > 0) return 0.0;
    for (int r = 0; r < ROWS; r++) {
        const float *x = a->io->root_policy + (size_t)r * (size_t)actions,
                    *y = b->io->root_policy + (x - a->io->root_policy);
        double sum[2] = {0.0, 0.0}, top[2] = {-HUGE_VAL, -HUGE_VAL};
        for (int i = 0; i < actions; i++) top[0] = fmax(top[0], x[i]), top[1] = fmax(top[1], y[i]);
        for (int i = 0; i < actions; i++) sum[0] += exp(x[i] - top[0]), sum[1] += exp(y[i] - top[1]);
        for (int i = 0; i < actions; i++)
            most = fmax(most, fabs(exp(x[i] - top[0]) / sum[0] - exp(y[i] - top[1]) / sum[1]));
    }
    return most;
}

static double value_difference(const rung *a, const rung *b) {
    double most = 0.0, size = 1e-6;
    for (int r = 0; r < ROWS; r++) {
        most = fmax(most, fabs((double)a->io->root_value[r] - (double)b->io->root_value[r]));
        size = fmax(size, fabs((double)a->io->root_value[r]));
    }
    return most / size;
}

static cm_status measure(const network *n, const rung *first, cm_dtype dtype, double seconds_each, cm_precision *out) {
    rung own = {0};
    double seconds = 0.0;
    cm_status status = open_rung(n, dtype, &own);
    if (status == CM_OK) status = cm_benchmark_time(seconds_each, infer, &own, &seconds);
    if (status == CM_OK)
        *out = (cm_precision){.dtype = dtype,
                              .per_second = PASSES * ROWS / seconds,
                              .policy_error = policy_difference(n, first, &own),
                              .value_error = value_difference(first, &own)};
    close_rung(&own);
    return status;
}

static bool has(const cm_backend *backend, cm_dtype type) {
    return type == CM_I8 ? backend->kind->takes_int8 : backend->native[type];
}

/* 8 bits last: from then on the network has ranges. */
static cm_status climb(cm_profile *p, const network *n, const rung *first) {
    static const cm_dtype types[CM_PRECISIONS] = {CM_F32, CM_BF16, CM_F16, CM_I8};
    for (int i = 0; i < CM_PRECISIONS; i++) {
        if (!has(n->session->backend, types[i])) continue;
        CM_TRY(measure(n, first, types[i], p->pace * SECONDS, &p->ladder[p->ladder_count]));
        p->ladder_count++;
    }
    return CM_OK;
}

cm_status cm_profile_ladder(cm_profile *p) {
    network n = {0};
    rung first = {0};
    CM_TRY(cm_alloc(&p->ladder, CM_PRECISIONS, sizeof *p->ladder, "a profile"));
    cm_status status = open_network(p, &n);
    if (status == CM_OK) status = open_rung(&n, CM_F32, &first);
    if (status == CM_OK) status = infer(&first);
    if (status == CM_OK) status = climb(p, &n, &first);
    close_rung(&first);
    close_network(&n);
    return status;
}
