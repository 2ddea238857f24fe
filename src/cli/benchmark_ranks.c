/* Inside the ranks of `cumind benchmark scaling`. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/scaling.h"
#include "core/arena.h"
#include "core/clock.h"
#include "core/file.h"
#include "run/run.h"

/* ---- rounds that all ranks begin together ---- */

enum { UNCOUNTED = 2, LEAST = 5, MOST = 500 };

static cm_status time_once(cm_comm *comm, cm_benchmark_round round, void *context, double *seconds) {
    CM_TRY(comm->barrier(comm));
    double start = cm_clock_seconds();
    CM_TRY(round(context));
    *seconds = cm_clock_seconds() - start;
    return CM_OK;
}

/* Seconds of a round: of each rank the median, of the ranks the largest. Rank 0 says how many rounds fill `seconds`. */
static cm_status time_together(cm_comm *comm, double seconds, cm_benchmark_round round, void *context, double *out) {
    double taken[MOST], first, *all;
    for (int i = 0; i < UNCOUNTED; i++) CM_TRY(time_once(comm, round, context, &first));
    int count = (int)fmin(fmax(seconds / first, LEAST), MOST);
    CM_TRY(comm->broadcast(comm, &count, sizeof count, 0));
    for (int i = 0; i < count; i++) CM_TRY(time_once(comm, round, context, &taken[i]));
    double mine = cm_benchmark_median(taken, count);
    CM_TRY(cm_alloc(&all, (size_t)comm->size, sizeof *all, "times of the ranks"));
    cm_status status = comm->all_gather(comm, &mine, sizeof mine, all);
    *out = mine;
    for (int r = 0; r < comm->size && status == CM_OK; r++) *out = fmax(*out, all[r]);
    free(all);
    return status;
}

/* ---- updates ---- */

enum { ROUNDS = MOST + UNCOUNTED };

/* What the trainer reports of sums of gradients over ranks. */
typedef struct sums {
    double reduce, exposed; /* seconds */
} sums;

typedef struct together {
    cm_benchmark_training training;
    sums round[ROUNDS]; /* on a host */
    int rounds;
} together;

static cm_status update_round(void *context) {
    together *t = context;
    cm_train_report report;
    CM_TRY(cm_trainer_update(t->training.trainer, &t->training.batch, &report));
    t->round[t->rounds++] = (sums){report.reduce_seconds, report.exposed_seconds};
    return CM_OK;
}

/* Of an update the least that a rank reports: the last rank to come waits for none that is slower. Then the median over
 * the updates that count. */
static cm_status find_sums(const together *t, cm_comm *comm, cm_scaling *out) {
    double reduce[MOST], exposed[MOST];
    const int count = t->rounds - UNCOUNTED;
    sums *all;
    CM_TRY(cm_alloc(&all, (size_t)comm->size * ROUNDS, sizeof *all, "times of sums"));
    cm_status status = comm->all_gather(comm, t->round, sizeof t->round, all);
    for (int i = 0; i < count; i++) {
        reduce[i] = exposed[i] = INFINITY;
        for (int rank = 0; rank < comm->size; rank++) {
            const sums *own = &all[(size_t)rank * ROUNDS + (size_t)(UNCOUNTED + i)];
            reduce[i] = fmin(reduce[i], own->reduce);
            exposed[i] = fmin(exposed[i], own->exposed);
        }
    }
    out->reduce = cm_benchmark_median(reduce, count);
    out->exposed = cm_benchmark_median(exposed, count);
    free(all);
    return status;
}

/* On a device trainers only know how long it took to ask for sums. */
static void derive_sums(cm_scaling *out) {
    out->reduce = out->sums > 0 ? out->sum[out->sums - 1].seconds : 0.0;
    out->exposed = fmin(fmax(out->update - out->compute, 0.0), out->reduce);
}

static cm_status measure_together(const cm_benchmark *bench, cm_comm *comm, int rows, cm_scaling *out) {
    const bool on_host = bench->backend->device->is_host;
    together t = {.rounds = 0};
    cm_status status = cm_benchmark_training_open(bench, comm, rows, 1, false, &t.training);
    if (status == CM_OK) status = time_together(comm, bench->seconds, update_round, &t, &out->update);
    if (status == CM_OK && on_host) status = find_sums(&t, comm, out);
    if (!on_host) derive_sums(out);
    cm_benchmark_training_close(&t.training);
    return status;
}

static cm_status measure_alone(const cm_benchmark *bench, cm_comm *comm, int rows, cm_scaling *out) {
    cm_benchmark_training t;
    cm_status status = cm_benchmark_training_open(bench, NULL, rows, 1, false, &t);
    if (status == CM_OK) status = time_together(comm, bench->seconds, cm_benchmark_training_round, &t, &out->compute);
    if (status == CM_OK) out->parameters = (int64_t)cm_network_parameters(t.network)->trained;
    cm_benchmark_training_close(&t);
    return status;
}

/* ---- sums by size ---- */

enum { SMALL = 1 << 20, SOME = 8 }; /* of small sums on a device so many are asked for before one is waited for */

typedef struct sum {
    cm_comm *comm;
    cm_stream *stream; /* NULL on a host */
    float *data;       /* where the ranks' gradients would lie */
    size_t n;
    int times;
} sum;

static cm_status sum_round(void *context) {
    const sum *s = context;
    float number;
    if (!s->stream) return s->comm->all_reduce(s->comm, s->data, s->n);
    for (int i = 0; i < s->times; i++) CM_TRY(s->comm->sum_on(s->comm, cm_stream_queue(s->stream), s->data, s->n));
    return cm_stream_read(s->stream, &number, s->data, sizeof number);
}

static cm_status time_sums(const cm_benchmark *bench, sum *s, int64_t bytes, double *seconds) {
    s->n = (size_t)bytes / sizeof *s->data;
    s->times = s->stream && bytes < SMALL ? SOME : 1;
    CM_TRY(time_together(s->comm, bench->seconds, sum_round, s, seconds));
    *seconds /= s->times;
    return CM_OK;
}

static cm_status measure_sums(const cm_benchmark *bench, cm_comm *comm, cm_scaling *out) {
    const int64_t gradient = out->parameters * (int64_t)sizeof(float), most = 1 << 26;
    const int64_t bytes[CM_SCALING_SUMS] = {1 << 10, 1 << 14, 1 << 18, 1 << 22, most, gradient};
    sum s = {.comm = comm};
    cm_buffer block = {0};
    if (comm->size == 1) return CM_OK;
    cm_status status =
        cm_buffer_create(&block, bench->backend->device, (size_t)(gradient > most ? gradient : most), "numbers to sum");
    if (status == CM_OK && !bench->backend->device->is_host) status = cm_stream_open(bench->backend, &s.stream);
    s.data = (float *)(void *)block.base;
    for (int i = 0; i < CM_SCALING_SUMS && status == CM_OK; i++, out->sums++) {
        out->sum[i].bytes = bytes[i];
        status = time_sums(bench, &s, bytes[i], &out->sum[i].seconds);
    }
    cm_stream_close(s.stream);
    cm_buffer_destroy(&block);
    return status;
}

/* ---- a whole training ---- */

static cm_status train(cm_benchmark *bench, cm_comm *comm, const char *folder, cm_scaling *out) {
    const cm_progress_style style = {.file = 1, .quiet = true};
    cm_run_request request = {
        .config = bench->config, .configuration = &bench->configuration, .directory = folder, .comm = comm};
    cm_run *run = NULL;
    cm_run_result result;
    CM_TRY(cm_progress_create(&style, &request.progress));
    cm_status status = cm_run_open(&request, &run);
    if (status == CM_OK) status = cm_run_train(run, &result);
    if (status == CM_OK) out->env_steps = result.env_steps, out->updates = result.updates, out->train = result.seconds;
    cm_run_close(run);
    cm_progress_destroy(request.progress);
    return status;
}

/* A new folder where runs are kept: all machines see that. */
static cm_status make_folder(const cm_benchmark *bench, char folder[PATH_MAX]) {
    const char *root = bench->configuration.run.checkpoint_root_dir;
    CM_TRY(cm_directory_make(root));
    CM_TRY(cm_path_join(folder, PATH_MAX, root, "scaling-XXXXXX"));
    if (!mkdtemp(folder)) return cm_fail(CM_ERR_IO, "%s: no folder can be made there", root);
    return CM_OK;
}

/* It is gone afterwards, when all ranks are through. */
static cm_status measure_training(cm_benchmark *bench, cm_comm *comm, cm_scaling *out) {
    char folder[PATH_MAX] = "", run[PATH_MAX];
    if (comm->rank == 0) CM_TRY(make_folder(bench, folder));
    CM_TRY(comm->broadcast(comm, folder, sizeof folder, 0));
    cm_status status = cm_path_join(run, sizeof run, folder, "run");
    if (status == CM_OK) status = train(bench, comm, run, out);
    if (status == CM_OK) status = comm->barrier(comm);
    if (comm->rank > 0) return status;
    cm_status removed = cm_directory_remove(folder);
    rmdir(bench->configuration.run.checkpoint_root_dir); /* if nothing else is in it */
    return status == CM_OK ? removed : status;
}

/* ---- all of it ---- */

double cm_scaling_overlap(const cm_scaling *s) { return s->reduce > 0.0 ? 1.0 - s->exposed / s->reduce : NAN; }

cm_status cm_scaling_measure(cm_benchmark *bench, cm_comm *comm, cm_scaling *out) {
    *out = (cm_scaling){.ranks = comm->size, .threads = cm_pool_size(bench->pool), .batch = bench->batch};
    snprintf(out->backend, sizeof out->backend, "%s", bench->backend->kind->name);
    int rows = bench->batch / comm->size;
    CM_TRY(measure_alone(bench, comm, rows, out));
    CM_TRY(measure_sums(bench, comm, out));
    CM_TRY(measure_together(bench, comm, rows, out));
    return measure_training(bench, comm, out);
}
