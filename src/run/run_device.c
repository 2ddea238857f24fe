/* The plan of a run's memory on a device that is not the host: measured by creating everything on a backend that only
 * measures, printed, and compared with what there is. */
#include <stdio.h>
#include <string.h>

#include "backend/measure.h"
#include "core/memory.h"
#include "run/ranks.h"
#include "run/run_internal.h"

enum { PLAN_ROWS = 12 };

typedef struct plan {
    cm_memory_row row[PLAN_ROWS];
    int count;
    size_t total;  /* of the device */
    size_t pinned; /* of the host */
} plan;

/* ---- measuring ---- */

#define TREES "search trees"

/* What the blocks of a name are called in the plan; those of other names are the last row. */
static const struct {
    const char *what, *name;
} names[] = {
    {"parameters", "parameters"},
    {"running statistics", "parameters"},
    {"first moments", "optimizer moments"},
    {"second moments", "optimizer moments"},
    {"gradients", "gradients"},
    {"accumulated gradients", "gradients"},
    {"accumulated statistics", "gradients"},
    {"averaged parameters", "averaged and target parameters"},
    {"target network", "averaged and target parameters"},
    {"target network's statistics", "averaged and target parameters"},
    {"activations", "activations"},
    {"the pool of hidden states", "hidden states"},
    {TREES, TREES},
    {"an agent's weights", "agents' parameters"},
    {"an agent's statistics", "agents' parameters"},
};

static const char *name_of(const char *what) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].what, what) == 0) return names[i].name;
    return "inputs and results";
}

static void add(plan *p, const char *name, size_t bytes) {
    int i = 0;
    if (bytes == 0) return;
    while (i < p->count && strcmp(p->row[i].name, name) != 0) i++;
    if (i == p->count) p->row[p->count++] = (cm_memory_row){name, 0};
    p->row[i].bytes += bytes;
    p->total += bytes;
}

/* What the blocks hold that were measured, and what the backend adds of its own. */
static void fill(plan *p, const cm_session *s, const cm_backend *measure) {
    cm_measured rows[CM_MEASURE_ROWS];
    int count = cm_measure_rows(measure, rows);
    size_t weights = 0;
    *p = (plan){.count = 0};
    for (int i = 0; i < count; i++) {
        const char *name = name_of(rows[i].what);
        add(p, name, rows[i].bytes);
        if (strstr(name, "parameters")) weights += rows[i].bytes;
        if (strcmp(name, "parameters") == 0) weights += rows[i].bytes; /* turned, too, for gradients */
    }
    if (s->compute != CM_F32) add(p, "16-bit copies of weights", weights / 2);
    p->pinned = cm_measure_pinned(measure);
    add(p, "streams", cm_measure_streams(measure));
    add(p, "sums over ranks (an estimate)", s->comm->device_bytes);
}

/* What searches again, but for memory of the host. */
typedef struct searchers {
    cm_reanalyser *reanalyser;
    cm_agent *copy_agent;
    cm_searcher *searcher;
} searchers;

static cm_status create_rolling(const cm_run *probe, searchers *again) {
    if (cm_run_options_of(probe)->agent.reanalyse != CM_REANALYSE_BUFFER) return CM_OK;
    CM_TRY(cm_session_agent(probe->session, &again->copy_agent));
    const cm_searcher_config config =
        cm_run_rolling_searcher(probe->session, again->copy_agent, probe->session->pool, NULL);
    return cm_searcher_create(&config, &again->searcher);
}

static void destroy_searchers(const searchers *again) {
    cm_reanalyser_destroy(again->reanalyser);
    cm_searcher_destroy(again->searcher);
    cm_agent_destroy(again->copy_agent);
}

static cm_status create_all(cm_run *probe, cm_trainer **trainer, searchers *again) {
    const cm_trainer_config learning = cm_run_trainer_config(probe->session, probe->session->pool);
    CM_TRY(cm_trainer_create(&learning, trainer));
    CM_TRY(cm_session_agent(probe->session, &probe->actor_agent));
    CM_TRY(cm_run_reanalyser(probe->session, probe->actor_agent, probe->session->pool, NULL, &again->reanalyser));
    CM_TRY(create_rolling(probe, again));
    const cm_actor_config acting = cm_run_actor_config(probe, NULL);
    if (cm_run_collects(probe)) CM_TRY(cm_actor_create(&acting, &probe->actor));
    return cm_run_open_evaluation(probe);
}

/* Measures the run as it would be with another configuration. */
static cm_status measure(const cm_run *run, const cm_configuration *configuration, plan *out) {
    cm_session session = *run->session;
    cm_run probe = {.session = &session};
    cm_backend *measuring = NULL;
    cm_trainer *trainer = NULL;
    searchers again = {0};
    session.configuration = *configuration;
    CM_TRY(cm_measure_open(run->session->backend, &measuring));
    session.backend = measuring;
    cm_status status = create_all(&probe, &trainer, &again);
    if (status == CM_OK) fill(out, run->session, measuring);
    cm_run_close_evaluation(&probe);
    cm_actor_destroy(probe.actor);
    destroy_searchers(&again);
    cm_agent_destroy(probe.actor_agent);
    cm_trainer_destroy(trainer);
    cm_backend_close(measuring);
    return status;
}

/* ---- a value that would fit ---- */

static int *batch_size(cm_configuration *c) { return &c->trainer.batch_size; }
static int *unroll_steps(cm_configuration *c) { return &c->replay.num_unroll_steps; }
static int *environments(cm_configuration *c) { return &c->env.num_envs; }
static int *simulations(cm_configuration *c) { return &c->mcts.num_simulations; }
static int *depth(cm_configuration *c) { return &c->replay.prefetch_depth; }
static int *episodes(cm_configuration *c) { return &c->run.final_evaluation_episodes; }

static const struct {
    const char *name;
    int *(*value)(cm_configuration *c);
    bool is_harmless; /* changes no result */
} keys[] = {{"prefetch_depth", depth, true},           {"batch_size", batch_size, false},
            {"num_unroll_steps", unroll_steps, false}, {"num_envs", environments, false},
            {"num_simulations", simulations, false},   {"final_evaluation_episodes", episodes, false}};

static bool fits(const cm_run *run, const cm_configuration *c, size_t budget) {
    plan p;
    return measure(run, c, &p) == CM_OK && p.total <= budget;
}

static bool fits_with(const cm_run *run, size_t key, int value, size_t budget) {
    cm_configuration c = run->session->configuration;
    *keys[key].value(&c) = value;
    return fits(run, &c, budget);
}

/* The largest value of a key, from 1 on, with which the plan fits; 0: none. */
static int largest(const cm_run *run, size_t key, size_t budget) {
    cm_configuration c = run->session->configuration;
    int low = 1, high = *keys[key].value(&c);
    if (high <= 1 || !fits_with(run, key, 1, budget)) return 0;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (fits_with(run, key, middle, budget)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The key that need change least; one that changes no result is the best. */
static bool propose(const cm_run *run, size_t budget, char *out, size_t size) {
    double best = 0.0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        cm_configuration c = run->session->configuration;
        int now = *keys[i].value(&c), value = largest(run, i, budget);
        const double left = value > 0 && keys[i].is_harmless ? 1.0 : (double)value / now;
        if (left <= best) continue;
        best = left;
        snprintf(out, size, "set %s to %d (it is %d)", keys[i].name, value, now);
    }
    return best > 0.0;
}

/* Searching again, which has its memory whatever the ratio, may be left out. */
static bool fits_without_reanalysis(const cm_run *run, size_t budget) {
    cm_configuration c = run->session->configuration;
    const bool is_used = c.agent.reanalyse == CM_REANALYSE_BUFFER || c.agent.reanalyse_ratio > 0.0;
    c.agent.reanalyse = CM_REANALYSE_BATCH, c.agent.reanalyse_ratio = 0.0;
    return is_used && fits(run, &c, budget);
}

/* As auto_fit would have it. */
static bool fits_divided(const cm_run *run, size_t budget) {
    cm_configuration c = run->session->configuration;
    for (; c.trainer.batch_size % 2 == 0; c.trainer.batch_size /= 2) c.trainer.gradient_accumulation *= 2;
    return run->session->comm->size == 1 && !c.run.auto_fit && fits(run, &c, budget);
}

static cm_status refuse(const cm_run *run, const plan *p, size_t budget, bool limited) {
    char needed[16], allowed[16], advice[96];
    const bool is_buffer = cm_run_options_of(run)->agent.reanalyse == CM_REANALYSE_BUFFER;
    const char *without = is_buffer ? "; or set reanalyse to batch" : "; or set reanalyse_ratio to 0";
    const cm_memory_row *most = &p->row[0];
    for (int i = 1; i < p->count; i++)
        if (p->row[i].bytes > most->bytes) most = &p->row[i];
    cm_format_bytes((double)p->total, needed);
    cm_format_bytes((double)budget, allowed);
    if (!propose(run, budget, advice, sizeof advice))
        snprintf(advice, sizeof advice, "no key alone is enough: lower batch_size, num_envs and the network's sizes");
    return cm_fail(CM_ERR_MEMORY, "memory of the GPU: this run plans for %s, most of it %s, and %s %s: %s%s%s", needed,
                   most->name, allowed, limited ? "are allowed (Device.memory_limit)" : "are free", advice,
                   fits_divided(run, budget) ? "; or set auto_fit to true" : "",
                   fits_without_reanalysis(run, budget) ? without : "");
}

/* ---- the plan of a run ---- */

static void say(cm_run *run, const plan *p, const cm_device_memory *there, size_t budget) {
    char size[16], free_bytes[16];
    bool on_device = false;
    cm_format_bytes((double)p->total, size);
    cm_format_bytes((double)there->available, free_bytes);
    cm_progress_say(run->progress, "GPU       %s of memory, of %s that are free", size, free_bytes);
    const cm_memory_row besides[] = {{"(context and other programs)", there->total - there->available},
                                     {"(pinned memory of the host)", p->pinned}};
    cm_run_say_rows(run, p->row, p->count, p->total, budget);
    cm_run_say_rows(run, besides, 2, p->total, budget);
    for (int i = 0; i < p->count; i++) on_device |= strcmp(p->row[i].name, TREES) == 0;
    cm_progress_detail(run->progress, "search    %s",
                       on_device ? "trees and network on the GPU, one launch per move"
                                 : "network on the GPU, trees on the CPU, where those with rules lie");
}

static cm_status ask(const cm_run *run, cm_device_memory *out) {
    const cm_device *device = run->session->backend->device;
    *out = (cm_device_memory){.total = SIZE_MAX, .available = SIZE_MAX};
    return device->memory ? device->memory(device, out) : CM_OK;
}

/* Until it fits on all ranks, which learn by the same calls. */
static cm_status shrink(cm_run *run, size_t budget, plan *p) {
    cm_session *s = run->session;
    bool lacks = p->total > budget;
    CM_TRY(cm_ranks_any(s->comm, &lacks));
    while (lacks && cm_run_shrink(run)) {
        CM_TRY(measure(run, &s->configuration, p));
        lacks = p->total > budget;
        CM_TRY(cm_ranks_any(s->comm, &lacks));
    }
    return CM_OK;
}

cm_status cm_run_plan_device(cm_run *run) {
    const cm_session *s = run->session;
    const uint64_t limit = (uint64_t)s->configuration.run.memory_limit;
    cm_device_memory there;
    plan p;
    if (s->backend->device->is_host) return CM_OK;
    CM_TRY(measure(run, &s->configuration, &p));
    CM_TRY(ask(run, &there));
    const bool limited = limit > 0 && limit < there.available;
    const size_t budget = limited ? (size_t)limit : there.available;
    CM_TRY(shrink(run, budget, &p));
    if (p.total > budget) return refuse(run, &p, budget, limited);
    say(run, &p, &there, budget);
    run->planned = p.total - s->comm->device_bytes; /* which NCCL takes by itself */
    return CM_OK;
}

cm_status cm_run_say_device_peak(const cm_run *run) {
    cm_device_memory there;
    char size[16], besides[16];
    if (!run->session->backend->device->memory) return CM_OK;
    CM_TRY(ask(run, &there));
    cm_format_bytes((double)there.peak, size);
    cm_format_bytes((double)(there.total - there.available - there.taken), besides);
    cm_progress_say(run->progress,
                    "GPU memory at most %s, %.1f %% of the plan; besides it %s (context, libraries, other programs)",
                    size, 100.0 * (double)there.peak / (double)run->planned, besides);
    return CM_OK;
}
