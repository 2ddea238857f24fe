#include "agent/reanalyse.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/searcher.h"
#include "core/arena.h"
#include "core/trace.h"

struct cm_reanalyser {
    cm_reanalyser_config config;
    int entries;           /* P */
    cm_searcher *searcher; /* owned */
    cm_arena arena;
    pthread_mutex_t turn;
    /* of the batch whose turn it is */
    cm_batch *batch;
    int count;         /* positions to be searched */
    int32_t *position; /* [most] row (K + 1) + step, in ascending order */
    float *drift;      /* [most] */
};

bool cm_reanalyser_selects(double ratio, int64_t whole, int64_t row) {
    const int64_t wanted = (int64_t)floor(ratio * (double)whole + 1e-9);
    return (row + 1) * wanted / whole > row * wanted / whole;
}

/* ---- memory ---- */

static bool is_selected(const cm_reanalyser *r, int row) {
    return cm_reanalyser_selects(r->config.ratio, r->config.whole, (int64_t)r->config.batch.first_row + row);
}

/* Positions of a batch at most. */
static int most_positions(const cm_reanalyser *r) {
    int rows = 0;
    for (int i = 0; i < r->config.batch.rows; i++) rows += is_selected(r, i) ? 1 : 0;
    return rows * (r->config.unroll + 1);
}

static void alloc_positions(cm_reanalyser *r, int most) {
    r->position = cm_arena_alloc(&r->arena, (size_t)most * sizeof(int32_t));
    r->drift = cm_arena_alloc(&r->arena, (size_t)most * sizeof(float));
}

static cm_status open_reanalyser(cm_reanalyser *r) {
    const cm_reanalyser_config *c = &r->config;
    const int most = most_positions(r);
    const cm_searcher_config searcher = {.agent = c->agent,
                                         .most = most,
                                         .rows_on_device = c->rows_on_device,
                                         .threads = c->threads,
                                         .with_noise = c->with_noise,
                                         .has_mask = c->has_mask,
                                         .stop = c->stop};
    CM_TRY(cm_searcher_create(&searcher, &r->searcher));
    r->arena = (cm_arena){.base = NULL, .capacity = SIZE_MAX, .used = 0};
    alloc_positions(r, most);
    CM_TRY(cm_arena_create(&r->arena, r->arena.used + CM_ALIGN, "reanalysis"));
    alloc_positions(r, most);
    return CM_OK;
}

cm_status cm_reanalyser_create(const cm_reanalyser_config *config, cm_reanalyser **out) {
    const cm_agent_config *agent = cm_agent_get_config(config->agent);
    cm_reanalyser *r = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&r, 1, sizeof *r, "reanalysis"));
    r->config = *config;
    r->entries = cm_policy_size(cm_network_policy(agent->network));
    pthread_mutex_init(&r->turn, NULL);
    cm_status status = open_reanalyser(r);
    if (status == CM_OK) {
        *out = r;
    } else {
        cm_reanalyser_destroy(r);
    }
    return status;
}

void cm_reanalyser_destroy(cm_reanalyser *r) {
    if (!r) return;
    cm_searcher_destroy(r->searcher);
    cm_arena_destroy(&r->arena);
    pthread_mutex_destroy(&r->turn);
    free(r);
}

size_t cm_reanalyser_memory(const cm_reanalyser *r) {
    return r ? r->arena.capacity + cm_searcher_memory(r->searcher) : 0;
}

/* ---- searching ---- */

/* The positions of the batch's turn: those of the rows taken that lie in their episode. */
static void list_positions(cm_reanalyser *r) {
    const int steps = r->config.unroll + 1;
    r->count = 0;
    for (int row = 0; row < r->config.batch.rows; row++) {
        for (int k = 0; k < steps && is_selected(r, row); k++) {
            if (r->batch->policy_mask[row * steps + k] > 0.0f) r->position[r->count++] = row * steps + k;
        }
    }
}

static void place(void *context, int i, const cm_searched_root *root) {
    const cm_reanalyser *r = context;
    const int steps = r->config.unroll + 1, row = r->position[i] / steps, k = r->position[i] % steps;
    const size_t width = (size_t)r->entries;
    const uint64_t number = r->config.batch.first_row + (uint64_t)row;
    cm_batch_observe(r->batch, row, k, root->observation);
    memcpy(root->legal, r->batch->legal + (size_t)r->position[i] * width, width);
    *root->key = cm_key_make(r->config.batch.seed, CM_RNG_REANALYSE, number);
    *root->step = r->batch->update * (uint64_t)steps + (uint64_t)k;
}

static cm_status keep(void *context, int i, const cm_searcher_found *found) {
    const cm_reanalyser *r = context;
    if (cm_mixed_selects(&r->config.mixed, r->batch, r->position[i] / (r->config.unroll + 1)))
        cm_batch_set_value(r->batch, r->position[i], found->value);
    return cm_batch_set_policy(r->batch, r->position[i], found->weights, &r->drift[i]);
}

static cm_status run(cm_reanalyser *r, cm_batch *batch) {
    r->batch = batch;
    list_positions(r);
    const cm_searched positions = {r->count, r, place, keep};
    CM_TRY(cm_searcher_run(r->searcher, &positions));
    batch->policy_drift = 0.0, batch->policies_reanalysed = r->count;
    for (int i = 0; i < r->count; i++) batch->policy_drift += (double)r->drift[i];
    return CM_OK;
}

cm_status cm_reanalyser_run(cm_reanalyser *r, cm_batch *batch) {
    CM_TRACE_BEGIN("reanalyse");
    pthread_mutex_lock(&r->turn);
    cm_status status = run(r, batch);
    pthread_mutex_unlock(&r->turn);
    CM_TRACE_END();
    return status;
}
