/* cumind benchmark scaling: the same training by 1, 2, 4 ... ranks, each number of them started by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/ranks.h"
#include "cli/scaling.h"
#include "core/arena.h"
#include "core/cpu.h"
#include "distributed/launch.h"
#include "run/ranks.h"
#include "run/session.h"

enum { MOST_RANKS = 4096, MOST_ROWS = 16, UPDATES = 1024, LINE_BYTES = 8192 };

/* ---- what is measured is one line of JSON per number of ranks ---- */

static void put_sums(cm_json_writer *w, const cm_scaling *s) {
    cm_json_begin_array(w, "all_reduce");
    for (int i = 0; i < s->sums; i++) {
        cm_json_begin_object(w, NULL);
        cm_json_put_int(w, "bytes", s->sum[i].bytes);
        cm_json_put_double(w, "seconds", s->sum[i].seconds);
        cm_json_end_object(w);
    }
    cm_json_end_array(w);
}

static cm_status print_json(const cm_scaling *s) {
    cm_json_writer *w;
    CM_TRY(cm_json_writer_create(0, &w));
    cm_json_begin_object(w, NULL);
    cm_json_put_string(w, "benchmark", "scaling");
    cm_json_put_string(w, "backend", s->backend);
    cm_json_put_int(w, "ranks", s->ranks);
    cm_json_put_int(w, "threads", s->threads);
    cm_json_put_int(w, "batch", s->batch);
    cm_json_put_int(w, "parameters", s->parameters);
    cm_json_put_double(w, "update_seconds", s->update);
    cm_json_put_double(w, "compute_seconds", s->compute);
    cm_json_put_double(w, "exposed_seconds", s->exposed);
    cm_json_put_double(w, "reduce_seconds", s->reduce);
    cm_json_put_double(w, "overlap_share", cm_scaling_overlap(s));
    cm_json_put_int(w, "env_steps", s->env_steps);
    cm_json_put_int(w, "updates", s->updates);
    cm_json_put_double(w, "train_seconds", s->train);
    put_sums(w, s);
    cm_json_end_object(w);
    return cm_cli_print(w, CM_OK);
}

static cm_status read_sums(const cm_json *object, cm_scaling *s) {
    const cm_json *array;
    CM_TRY(cm_json_need(object, "all_reduce", CM_JSON_ARRAY, &array));
    for (const cm_json *at = cm_json_first(array); at && s->sums < CM_SCALING_SUMS; at = cm_json_next(at), s->sums++) {
        CM_TRY(cm_json_need_int(at, "bytes", 1, INT64_MAX, &s->sum[s->sums].bytes));
        CM_TRY(cm_json_need_number(at, "seconds", &s->sum[s->sums].seconds));
    }
    return CM_OK;
}

static cm_status read_row(const cm_json *object, cm_scaling *s) {
    int64_t ranks, threads, batch;
    const char *backend;
    *s = (cm_scaling){.sums = 0};
    CM_TRY(cm_json_need_string(object, "backend", &backend));
    snprintf(s->backend, sizeof s->backend, "%s", backend);
    CM_TRY(cm_json_need_int(object, "ranks", 1, MOST_RANKS, &ranks));
    CM_TRY(cm_json_need_int(object, "threads", 1, 1 << 20, &threads));
    CM_TRY(cm_json_need_int(object, "batch", 1, INT32_MAX, &batch));
    CM_TRY(cm_json_need_int(object, "parameters", 0, INT64_MAX, &s->parameters));
    CM_TRY(cm_json_need_int(object, "env_steps", 0, INT64_MAX, &s->env_steps));
    CM_TRY(cm_json_need_int(object, "updates", 0, INT64_MAX, &s->updates));
    CM_TRY(cm_json_need_number(object, "update_seconds", &s->update));
    CM_TRY(cm_json_need_number(object, "compute_seconds", &s->compute));
    CM_TRY(cm_json_need_number(object, "exposed_seconds", &s->exposed));
    CM_TRY(cm_json_need_number(object, "reduce_seconds", &s->reduce));
    CM_TRY(cm_json_need_number(object, "train_seconds", &s->train));
    s->ranks = (int)ranks, s->threads = (int)threads, s->batch = (int)batch;
    return read_sums(object, s);
}

/* ---- a rank ---- */

/* What a training is measured without: it is the same for any number of ranks, or is not training. */
static void choose_training(const cm_arguments *a, cm_benchmark *b) {
    cm_run_options *run = &b->configuration.run;
    if (!cm_argument_is_set(a, "--updates")) run->updates = UPDATES;
    run->env_steps = 0, run->num_episodes = 0, run->time_limit = 0.0;
    run->evaluation_interval = 0, run->final_evaluation_episodes = 0, run->stop_at_goal = false;
    run->checkpoint_updates = 0, run->checkpoint_interval = 0;
    b->batch = b->configuration.trainer.batch_size;
    b->unroll = b->configuration.replay.num_unroll_steps;
}

static cm_status measure(cm_arguments *a, cm_comm *comm, cm_scaling *out) {
    cm_benchmark bench;
    cm_argument_set(a, "--network", "configured");
    cm_status status = cm_benchmark_open(a, comm, &bench);
    if (status == CM_OK) {
        choose_training(a, &bench);
        status = cm_ranks_check(&bench.configuration, comm->size, false);
    }
    if (status == CM_OK) status = cm_scaling_measure(&bench, comm, out);
    cm_benchmark_close(&bench);
    return status;
}

static cm_status be_rank(cm_arguments *a) {
    cm_cli_ranks ranks;
    cm_scaling found;
    cm_status status = cm_cli_ranks_open(a, &ranks);
    if (status == CM_OK) status = measure(a, &ranks.comm, &found);
    if (status == CM_OK && ranks.comm.rank == 0) status = print_json(&found);
    cm_cli_ranks_close(&ranks, status);
    return status;
}

/* ---- the parent of all ranks ---- */

/* What is to be started. */
typedef struct plan {
    int ranks[MOST_ROWS], count; /* 1, 2, 4 ... and the last one itself */
    int devices;                 /* that the ranks find here: GPUs, or shares of the processors */
    char threads[16];            /* of a rank */
    bool oversubscribe;
} plan;

/* The command line of a rank: that of the user without what is said to us, with threads for its share. We have warned
 * of the configuration. */
static cm_status make_command(const cm_arguments *a, char *threads, char ***out) {
    static const char *const ours[] = {"--num-devices", "--json", "--threads"};
    char **argv;
    int count = 0;
    CM_TRY(cm_alloc(&argv, 2 * (size_t)a->all_count + 8, sizeof *argv, "a command line"));
    argv[count++] = (char *)(uintptr_t)a->program;
    argv[count++] = "benchmark";
    argv[count++] = "scaling";
    for (int i = 0; i < a->all_count; i++) {
        const cm_flag *flag = &a->command->flags[a->all[i].flag];
        bool is_ours = false;
        for (size_t j = 0; j < sizeof ours / sizeof *ours; j++) is_ours = is_ours || strcmp(flag->name, ours[j]) == 0;
        if (is_ours) continue;
        argv[count++] = (char *)(uintptr_t)flag->name;
        if (flag->argument) argv[count++] = (char *)(uintptr_t)a->all[i].value;
    }
    argv[count++] = "--threads";
    argv[count++] = threads;
    argv[count++] = "--set";
    argv[count++] = "log_level=error";
    *out = argv;
    return CM_OK;
}

/* A library may have said something before: NCCL its version, where NCCL_DEBUG is set. */
static cm_status read_line(FILE *output, int ranks, cm_scaling *row) {
    char line[LINE_BYTES] = "";
    cm_json_doc *doc = NULL;
    rewind(output);
    while (line[0] != '{')
        if (!fgets(line, sizeof line, output)) return cm_fail(CM_ERR_IO, "%d ranks have said nothing", ranks);
    CM_TRY(cm_json_parse(line, strlen(line), "the ranks' output", &doc));
    cm_status status = read_row(cm_json_root(doc), row);
    cm_json_free(doc);
    return status;
}

/* *row <- what `ranks` ranks say; a->verdict is their exit status. */
static cm_status start(cm_arguments *a, const plan *p, int ranks, char **argv, cm_scaling *row) {
    cm_launch job = {
        .ranks = ranks, .oversubscribe = p->oversubscribe, .keeps_nothing = true, .argv = argv, .output = tmpfile()};
    if (!job.output) return cm_fail(CM_ERR_IO, "/tmp: no file can be made there");
    cm_status status = cm_launch_run(&job, &a->verdict);
    if (status == CM_OK && a->verdict == 0) status = read_line(job.output, ranks, row);
    fclose(job.output);
    return status;
}

static void print_head(const cm_scaling *s) {
    printf("%lld parameters, batch %d, backend %s, %d thread%s per rank; whole training: %lld environment steps, %lld "
           "updates\n\n",
           (long long)s->parameters, s->batch, s->backend, s->threads, s->threads == 1 ? "" : "s",
           (long long)s->env_steps, (long long)s->updates);
    printf("%5s %11s %11s %11s %11s %8s %11s %11s %11s\n", "ranks", "update", "compute", "reduce", "exposed", "overlap",
           "efficiency", "training", "efficiency");
}

/* Seconds that one rank takes over those that these take together, per device that they had. */
static double efficiency(double alone, double together, const cm_scaling *s, int devices) {
    return alone / together / (s->ranks < devices ? s->ranks : devices);
}

static void print_row(const cm_scaling *first, const cm_scaling *s, int devices) {
    char overlap[16] = "-";
    if (s->ranks > 1) snprintf(overlap, sizeof overlap, "%.2f", cm_scaling_overlap(s));
    printf("%5d %8.3f ms %8.3f ms %8.3f ms %8.3f ms %8s %9.0f %% %9.2f s %9.0f %%\n", s->ranks, 1e3 * s->update,
           1e3 * s->compute, 1e3 * s->reduce, 1e3 * s->exposed, overlap,
           100.0 * efficiency(first->update, s->update, s, devices), s->train,
           100.0 * efficiency(first->train, s->train, s, devices));
}

static void print_sums(const cm_scaling *rows, int count) {
    printf("\n%-16s", "sum over");
    for (int i = 1; i < count; i++) printf(" %7d ranks", rows[i].ranks);
    printf("\n");
    for (int j = 0; j < rows[1].sums; j++) {
        printf("%10lld %-5s", (long long)rows[1].sum[j].bytes, j == CM_SCALING_SUMS - 1 ? "grad." : "bytes");
        for (int i = 1; i < count; i++) printf(" %10.1f us", 1e6 * rows[i].sum[j].seconds);
        printf("\n");
    }
}

static cm_status start_all(cm_arguments *a, const plan *p, char **argv) {
    cm_scaling row[MOST_ROWS];
    bool json = cm_argument_is_set(a, "--json");
    for (int i = 0; i < p->count; i++) {
        CM_TRY(start(a, p, p->ranks[i], argv, &row[i]));
        if (a->verdict != 0) return CM_OK; /* a rank has said why */
        if (json) CM_TRY(print_json(&row[i]));
        if (!json && i == 0) print_head(row);
        if (!json) print_row(row, &row[i], p->devices);
        fflush(stdout);
    }
    if (!json && p->count > 1) print_sums(row, p->count);
    return CM_OK;
}

/* ---- what there is for ranks here ---- */

static int share(int processors, int64_t most) { return most < processors ? processors / (int)most : 1; }

/* On machines of an allocation only the ranks see how many GPUs there are. */
static cm_status choose_ranks(const cm_arguments *a, const cm_backend *backend, plan *p) {
    const bool on_host = backend->device->is_host, is_alone = cm_launch_allocated() == 0;
    const int processors = cm_cpu_count();
    int64_t most = on_host ? processors : backend->devices, threads = 0;
    CM_TRY(cm_argument_int(a, "--num-devices", 1, MOST_RANKS, &most));
    CM_TRY(cm_argument_int(a, "--threads", 0, 1024, &threads));
    if (is_alone) CM_TRY(cm_session_check_devices(backend, (int)most, p->oversubscribe));
    cm_session_warn_of_threads((int)threads);
    if (threads == 0) threads = share(processors, most);
    snprintf(p->threads, sizeof p->threads, "%d", (int)threads);
    p->devices = on_host ? share(processors, threads) : is_alone ? backend->devices : (int)most;
    for (int n = 1; n < most; n *= 2) p->ranks[p->count++] = n;
    p->ranks[p->count++] = (int)most;
    return CM_OK;
}

/* What every rank would find wrong is said once, before they are started. */
static cm_status check_ranks(const cm_configuration *configuration, const plan *p) {
    const cm_launch most = {.ranks = p->ranks[p->count - 1], .oversubscribe = p->oversubscribe};
    CM_TRY(cm_launch_check(&most));
    for (int i = 0; i < p->count; i++) CM_TRY(cm_ranks_check(configuration, p->ranks[i], false));
    return cm_comm_check_mpi();
}

static cm_status make_plan(const cm_arguments *a, plan *p) {
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_backend *backend = NULL;
    cm_comm one;
    cm_dtype compute;
    char no_gpu[CM_SESSION_WHY];
    *p = (plan){.oversubscribe = cm_argument_is_set(a, "--oversubscribe")};
    cm_comm_single(&one);
    CM_TRY(cm_cli_configuration(a, &configuration, &config));
    cm_config_destroy(config);
    cm_status status = cm_session_backend(&configuration.run, &one, no_gpu, &backend);
    if (status == CM_OK) status = cm_session_dtype(&configuration.run, backend, &compute);
    if (status == CM_OK) status = choose_ranks(a, backend, p);
    cm_backend_close(backend);
    return status == CM_OK ? check_ranks(&configuration, p) : status;
}

cm_status cm_benchmark_scaling(cm_arguments *arguments) {
    plan p;
    char **argv;
    int64_t updates = UPDATES;
    CM_TRY(cm_argument_int(arguments, "--updates", 1, INT32_MAX, &updates)); /* nothing else ends the trainings */
    if (cm_launch_find().launcher) return be_rank(arguments);
    CM_TRY(make_plan(arguments, &p));
    CM_TRY(make_command(arguments, p.threads, &argv));
    cm_interrupt_ends("benchmark scaling");
    cm_status status = start_all(arguments, &p, argv);
    free(argv);
    return status;
}
