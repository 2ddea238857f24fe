#include "agent/reanalyse.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/trace.h"

/* What one thread searches with: arrays of [rows]. */
typedef struct worker_state {
    cm_planner *planner; /* owned */
    cm_key *keys;
    uint64_t *steps;
    uint8_t *legal; /* [rows, P] */
    float *weights; /* [rows, P] */
} worker_state;

struct cm_reanalyser {
    cm_reanalyser_config config;
    int entries, observation_size; /* P, O */
    int rows;                      /* of a search */
    cm_pool *pool;                 /* owned; its worker w has workers[w] */
    cm_arena arena;
    worker_state *workers;
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

static void alloc_rows(cm_reanalyser *r, int most, int workers) {
    const size_t n = (size_t)r->rows, wide = n * (size_t)r->entries;
    r->position = cm_arena_alloc(&r->arena, (size_t)most * sizeof(int32_t));
    r->drift = cm_arena_alloc(&r->arena, (size_t)most * sizeof(float));
    r->workers = cm_arena_alloc(&r->arena, (size_t)workers * sizeof(worker_state));
    for (int i = 0; i < workers; i++) {
        const worker_state l = {.keys = cm_arena_alloc(&r->arena, n * sizeof(cm_key)),
                                .steps = cm_arena_alloc(&r->arena, n * sizeof(uint64_t)),
                                .legal = cm_arena_alloc(&r->arena, wide),
                                .weights = cm_arena_alloc(&r->arena, wide * sizeof(float))};
        if (r->workers) r->workers[i] = l;
    }
}

static cm_status open_reanalyser(cm_reanalyser *r) {
    const cm_reanalyser_config *c = &r->config;
    const int most = most_positions(r);
    const bool on_device = cm_agent_is_on_device(c->agent, true);
    const int wanted =
        on_device ? c->rows_on_device : cm_agent_planner_rows(c->agent, (most + c->threads - 1) / c->threads);
    r->rows = wanted < most ? wanted : most > 0 ? most : 1;
    const int searches = (most + r->rows - 1) / r->rows, useful = on_device || searches < 1 ? 1 : searches;
    CM_TRY(cm_pool_create(c->threads < useful ? c->threads : useful, &r->pool));
    const int workers = cm_pool_size(r->pool);
    r->arena = (cm_arena){.base = NULL, .capacity = SIZE_MAX, .used = 0};
    alloc_rows(r, most, workers);
    CM_TRY(cm_arena_create(&r->arena, r->arena.used, "reanalysis"));
    alloc_rows(r, most, workers);
    for (int i = 0; i < workers; i++) {
        CM_TRY(cm_agent_planner(c->agent, r->rows, true, &r->workers[i].planner));
        cm_planner_heed(r->workers[i].planner, c->stop);
    }
    return CM_OK;
}

cm_status cm_reanalyser_create(const cm_reanalyser_config *config, cm_reanalyser **out) {
    const cm_agent_config *agent = cm_agent_get_config(config->agent);
    cm_reanalyser *r = NULL;
    *out = NULL;
    if (agent->rules)
        return cm_fail(CM_ERR_INPUT,
                       "searches on the rules of %s cannot be made again: no batch has states of the game",
                       agent->rules->spec.name);
    CM_TRY(cm_alloc(&r, 1, sizeof *r, "reanalysis"));
    r->config = *config;
    r->entries = cm_policy_size(cm_network_policy(agent->network));
    r->observation_size = cm_network_observation_size(agent->network);
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
    for (int i = 0; r->arena.base && i < cm_pool_size(r->pool); i++) cm_planner_destroy(r->workers[i].planner);
    cm_arena_destroy(&r->arena);
    cm_pool_destroy(r->pool);
    pthread_mutex_destroy(&r->turn);
    free(r);
}

size_t cm_reanalyser_memory(const cm_reanalyser *r) {
    if (!r) return 0;
    const cm_planner_config config = {.search = cm_agent_get_config(r->config.agent)->acting};
    size_t bytes = r->arena.capacity;
    for (int i = 0; i < cm_pool_size(r->pool); i++) bytes += cm_planner_bytes(&config, r->workers[i].planner);
    return bytes;
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

static const float *observation_at(const cm_reanalyser *r, int row, int k) {
    const size_t size = (size_t)r->observation_size, following = (size_t)row * (size_t)r->config.unroll + (size_t)k;
    return k == 0 ? r->batch->observation + (size_t)row * size : r->batch->target_observations + (following - 1) * size;
}

/* Position i of the list becomes root `root` of the worker. */
static void place(const cm_reanalyser *r, const worker_state *l, int root, int i) {
    const int steps = r->config.unroll + 1, row = r->position[i] / steps, k = r->position[i] % steps;
    const size_t size = (size_t)r->observation_size, width = (size_t)r->entries;
    const uint64_t number = r->config.batch.first_row + (uint64_t)row;
    memcpy(cm_planner_observations(l->planner) + (size_t)root * size, observation_at(r, row, k), size * sizeof(float));
    memcpy(l->legal + (size_t)root * width, r->batch->legal + (size_t)r->position[i] * width, width);
    l->keys[root] = cm_key_make(r->config.batch.seed, CM_RNG_REANALYSE, number);
    l->steps[root] = r->batch->update * (uint64_t)steps + (uint64_t)k;
}

static cm_status search(void *context, int task, int worker) {
    cm_reanalyser *r = context;
    const worker_state *l = &r->workers[worker];
    const int first = task * r->rows, left = r->count - first, count = left < r->rows ? left : r->rows;
    for (int i = 0; i < count; i++) place(r, l, i, first + i);
    const cm_roots roots = {.count = count,
                            .legal = r->config.has_mask ? l->legal : NULL,
                            .keys = l->keys,
                            .steps = l->steps,
                            .without_noise = !r->config.with_noise};
    const cm_search_result result = {.action_weights = l->weights};
    CM_TRY(cm_planner_run(l->planner, &roots, &result));
    for (int i = 0; i < count; i++) {
        CM_TRY(cm_batch_set_policy(r->batch, r->position[first + i], l->weights + (size_t)i * (size_t)r->entries,
                                   &r->drift[first + i]));
    }
    return CM_OK;
}

static cm_status run(cm_reanalyser *r, cm_batch *batch) {
    r->batch = batch;
    list_positions(r);
    CM_TRY(cm_pool_run(r->pool, (r->count + r->rows - 1) / r->rows, search, r));
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
