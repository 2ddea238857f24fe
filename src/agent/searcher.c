#include "agent/searcher.h"

#include <stdlib.h>

#include "core/arena.h"

/* What one thread searches with: arrays of [rows]. */
typedef struct worker_state {
    cm_planner *planner; /* owned */
    cm_key *keys;
    uint64_t *steps;
    uint8_t *legal;           /* [rows, P] */
    float *weights;           /* [rows, P] */
    float *value, *raw_value; /* [rows]    */
} worker_state;

struct cm_searcher {
    cm_searcher_config config;
    int entries, observation_size; /* P, O */
    int rows;                      /* of a search */
    cm_pool *pool;                 /* owned; its worker w has workers[w] */
    cm_arena arena;
    worker_state *workers;
    const cm_searched *positions; /* of the call */
};

/* ---- memory ---- */

static void alloc_rows(cm_searcher *s, int workers) {
    const size_t n = (size_t)s->rows, wide = n * (size_t)s->entries;
    s->workers = cm_arena_alloc(&s->arena, (size_t)workers * sizeof(worker_state));
    for (int i = 0; i < workers; i++) {
        const worker_state l = {.keys = cm_arena_alloc(&s->arena, n * sizeof(cm_key)),
                                .steps = cm_arena_alloc(&s->arena, n * sizeof(uint64_t)),
                                .legal = cm_arena_alloc(&s->arena, wide),
                                .weights = cm_arena_alloc(&s->arena, wide * sizeof(float)),
                                .value = cm_arena_alloc(&s->arena, n * sizeof(float)),
                                .raw_value = cm_arena_alloc(&s->arena, n * sizeof(float))};
        if (s->workers) s->workers[i] = l;
    }
}

static cm_status open_searcher(cm_searcher *s) {
    const cm_searcher_config *c = &s->config;
    const int most = c->most;
    const bool on_device = cm_agent_is_on_device(c->agent, true);
    const int wanted =
        on_device ? c->rows_on_device : cm_agent_planner_rows(c->agent, (most + c->threads - 1) / c->threads);
    s->rows = wanted < most ? wanted : most > 0 ? most : 1;
    const int searches = (most + s->rows - 1) / s->rows, useful = on_device || searches < 1 ? 1 : searches;
    CM_TRY(cm_pool_create(c->threads < useful ? c->threads : useful, &s->pool));
    const int workers = cm_pool_size(s->pool);
    s->arena = (cm_arena){.base = NULL, .capacity = SIZE_MAX, .used = 0};
    alloc_rows(s, workers);
    CM_TRY(cm_arena_create(&s->arena, s->arena.used, "reanalysis"));
    alloc_rows(s, workers);
    for (int i = 0; i < workers; i++) {
        CM_TRY(cm_agent_planner(c->agent, s->rows, true, &s->workers[i].planner));
        cm_planner_heed(s->workers[i].planner, c->stop);
    }
    return CM_OK;
}

cm_status cm_searcher_create(const cm_searcher_config *config, cm_searcher **out) {
    const cm_agent_config *agent = cm_agent_get_config(config->agent);
    cm_searcher *s = NULL;
    *out = NULL;
    if (agent->rules)
        return cm_fail(CM_ERR_INPUT,
                       "searches on the rules of %s cannot be made again: no batch has states of the game",
                       agent->rules->spec.name);
    CM_TRY(cm_alloc(&s, 1, sizeof *s, "reanalysis"));
    s->config = *config;
    s->entries = cm_policy_size(cm_network_policy(agent->network));
    s->observation_size = cm_network_observation_size(agent->network);
    cm_status status = open_searcher(s);
    if (status == CM_OK) {
        *out = s;
    } else {
        cm_searcher_destroy(s);
    }
    return status;
}

void cm_searcher_destroy(cm_searcher *s) {
    if (!s) return;
    for (int i = 0; s->arena.base && i < cm_pool_size(s->pool); i++) cm_planner_destroy(s->workers[i].planner);
    cm_arena_destroy(&s->arena);
    cm_pool_destroy(s->pool);
    free(s);
}

size_t cm_searcher_memory(const cm_searcher *s) {
    if (!s) return 0;
    const cm_planner_config config = {.search = cm_agent_get_config(s->config.agent)->acting};
    size_t bytes = s->arena.capacity;
    for (int i = 0; i < cm_pool_size(s->pool); i++) bytes += cm_planner_bytes(&config, s->workers[i].planner);
    return bytes;
}

/* ---- searching ---- */

/* Root `root` of the worker. */
static cm_searched_root root_of(const cm_searcher *s, const worker_state *l, int root) {
    return (cm_searched_root){.observation =
                                  cm_planner_observations(l->planner) + (size_t)root * (size_t)s->observation_size,
                              .legal = l->legal + (size_t)root * (size_t)s->entries,
                              .key = &l->keys[root],
                              .step = &l->steps[root]};
}

static cm_status search(void *context, int task, int worker) {
    const cm_searcher *s = context;
    const cm_searched *p = s->positions;
    const worker_state *l = &s->workers[worker];
    const int first = task * s->rows, left = p->count - first, count = left < s->rows ? left : s->rows;
    for (int i = 0; i < count; i++) {
        const cm_searched_root root = root_of(s, l, i);
        p->place(p->context, first + i, &root);
    }
    const cm_roots roots = {.count = count,
                            .legal = s->config.has_mask ? l->legal : NULL,
                            .keys = l->keys,
                            .steps = l->steps,
                            .without_noise = !s->config.with_noise};
    const cm_search_result result = {.action_weights = l->weights, .value = l->value, .raw_value = l->raw_value};
    CM_TRY(cm_planner_run(l->planner, &roots, &result));
    for (int i = 0; i < count; i++) {
        const cm_searcher_found found = {l->weights + (size_t)i * (size_t)s->entries, l->value[i], l->raw_value[i]};
        CM_TRY(p->keep(p->context, first + i, &found));
    }
    return CM_OK;
}

cm_status cm_searcher_run(cm_searcher *s, const cm_searched *positions) {
    s->positions = positions;
    return cm_pool_run(s->pool, (positions->count + s->rows - 1) / s->rows, search, s);
}
