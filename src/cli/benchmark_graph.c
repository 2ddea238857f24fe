/* Benchmark of recorded work: what it costs to record an update and a search, from which round on it pays, and how many
 * launches are replayed; what updates cost without branches, and what both cost where no calls are fused. */
#include <stdio.h>

#include "cli/benchmark.h"
#include "core/clock.h"

/* Seconds of rounds from the opening on, and what the last one replayed. */
typedef struct times {
    double first, second, steady;
    cm_replays replays;
} times;

static cm_status time_once(cm_benchmark_round round, void *context, double *seconds) {
    const double start = cm_clock_seconds();
    CM_TRY(round(context));
    *seconds = cm_clock_seconds() - start;
    return CM_OK;
}

static cm_replays replays_of(const cm_backend *backend) {
    return backend->kind->replays ? backend->kind->replays(backend) : (cm_replays){0, 0};
}

static cm_status count_replays(const cm_backend *backend, cm_benchmark_round round, void *context, cm_replays *out) {
    const cm_replays before = replays_of(backend);
    CM_TRY(round(context));
    const cm_replays after = replays_of(backend);
    *out = (cm_replays){after.graphs - before.graphs, after.launches - before.launches};
    return CM_OK;
}

static cm_status time_rounds(const cm_benchmark *bench, cm_benchmark_round round, void *context, times *t) {
    CM_TRY(time_once(round, context, &t->first));
    CM_TRY(time_once(round, context, &t->second));
    CM_TRY(cm_benchmark_time(bench->seconds, round, context, &t->steady));
    return count_replays(bench->backend, round, context, &t->replays);
}

static cm_status time_updates(const cm_benchmark *bench, times *t) {
    cm_benchmark_training training;
    cm_status status = cm_benchmark_training_open(bench, NULL, bench->batch, 1, false, &training);
    if (status == CM_OK) status = time_rounds(bench, cm_benchmark_training_round, &training, t);
    cm_benchmark_training_close(&training);
    return status;
}

static cm_status time_searches(const cm_benchmark *bench, times *t) {
    cm_benchmark_searching *searching;
    CM_TRY(cm_benchmark_searching_open(bench, &searching));
    cm_status status = time_rounds(bench, cm_benchmark_searching_round, searching, t);
    cm_benchmark_searching_close(searching);
    return status;
}

/* As it is, then recorded. The first round loads what is needed in either case; the second is the one that records. */
static cm_status compare(const cm_benchmark *bench, cm_status (*time_work)(const cm_benchmark *, times *),
                         const char *const keys[6], cm_benchmark_result *result) {
    times eager, recorded;
    bench->backend->is_eager = true;
    cm_status status = time_work(bench, &eager);
    bench->backend->is_eager = false;
    CM_TRY(status);
    CM_TRY(time_work(bench, &recorded));
    const double cost = recorded.second - eager.steady, gain = eager.steady - recorded.steady;
    cm_benchmark_put(result, keys[0], 1e6 * recorded.steady);
    cm_benchmark_put(result, keys[1], 1e6 * eager.steady);
    cm_benchmark_put(result, keys[2], 1e6 * cost);
    cm_benchmark_put(result, keys[3], gain > 0.0 ? 2.0 + (cost > 0.0 ? cost / gain : 0.0) : -1.0);
    cm_benchmark_put(result, keys[4], (double)recorded.replays.launches);
    cm_benchmark_put(result, keys[5], (double)recorded.replays.graphs);
    return CM_OK;
}

/* What one simulation more adds to a search: nothing where all of them are one launch. */
static cm_status count_simulation(const cm_benchmark *bench, cm_benchmark_result *result) {
    uint64_t launches[2];
    for (int more = 0; more < 2; more++) {
        cm_benchmark searches = *bench;
        times t;
        searches.simulations += more, searches.seconds = 0.0;
        CM_TRY(time_searches(&searches, &t));
        launches[more] = t.replays.launches;
    }
    cm_benchmark_put(result, "launches_per_simulation", (double)(int64_t)(launches[1] - launches[0]));
    return CM_OK;
}

/* Recorded work whose passes launch their operations one by one. */
static cm_status time_unfused(const cm_benchmark *bench, cm_status (*time_work)(const cm_benchmark *, times *),
                              const char *key, cm_benchmark_result *result) {
    times unfused;
    bench->backend->is_unfused = true;
    cm_status status = time_work(bench, &unfused);
    bench->backend->is_unfused = false;
    if (status == CM_OK) cm_benchmark_put(result, key, 1e6 * unfused.steady);
    return status;
}

/* Recorded updates without branches. */
static cm_status time_in_order(const cm_benchmark *bench, cm_benchmark_result *result) {
    times in_order;
    if (bench->backend->kind->branches == 0) return CM_OK;
    bench->backend->is_in_order = true;
    cm_status status = time_updates(bench, &in_order);
    bench->backend->is_in_order = false;
    if (status == CM_OK) cm_benchmark_put(result, "us_per_update_in_order", 1e6 * in_order.steady);
    return status;
}

cm_status cm_benchmark_graph(const cm_benchmark *bench, cm_benchmark_result *result) {
    static const char *const of_updates[] = {"us_per_update",         "us_per_update_eager", "us_to_record_update",
                                             "updates_to_break_even", "launches_per_update", "graphs_per_update"};
    static const char *const of_searches[] = {"us_per_search",          "us_per_search_eager", "us_to_record_search",
                                              "searches_to_break_even", "launches_per_search", "graphs_per_search"};
    if (!bench->backend->kind->replays) {
        return cm_fail(CM_ERR_INPUT,
                       "benchmark graph: backend %s records nothing, what it is given runs at once; add --backend cuda",
                       bench->backend->kind->name);
    }
    CM_TRY(compare(bench, time_updates, of_updates, result));
    CM_TRY(time_in_order(bench, result));
    CM_TRY(compare(bench, time_searches, of_searches, result));
    CM_TRY(count_simulation(bench, result));
    CM_TRY(time_unfused(bench, time_updates, "us_per_update_unfused", result));
    CM_TRY(time_unfused(bench, time_searches, "us_per_search_unfused", result));
    snprintf(result->note, sizeof result->note,
             "batch %d, unroll %d; %d simulations; -1: it never pays; 0 graphs: nothing was recorded", bench->batch,
             bench->unroll, bench->simulations);
    return CM_OK;
}
