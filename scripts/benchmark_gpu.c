/* Inference throughput as CuMind's guide describes it: 10 select_action calls to warm up, then 1000 that are timed, for
 * bfloat16, float32 and, where products in it are native, float16; then batches, against the speed of a large matrix
 * product, and where a pass is one launch against its operations one by one. On any backend, from libcumind.a and
 * public headers alone. Each figure is printed as it is found; one that cannot be measured is a line, keeps no other
 * from being measured, and makes the status 1.
 *
 *     build/benchmark_gpu [--backend cpu] [--dtype TYPE] [--batch N] [--json] [--set KEY=VALUE]...
 *
 * --dtype: only this one. --batch: of the batches only this one, and no select_action. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/json.h"
#include "core/rng.h"
#include "device/mirror.h"
#include "network/inference.h"
#include "run/session.h"

enum { WARM_UP = 10, CALLS = 1000, BATCHES = 13, LARGEST = 1 << (BATCHES - 1) };
#define SECONDS_PER_BATCH 0.1

typedef struct batched {
    int rows;
    double per_second; /* inferences */
    double flops;      /* achieved by matrix products, per second */
    bool fused;        /* the pass is one launch */
    double unfused;    /* inferences per second, operations launched one by one; 0: they are in any case */
} batched;

static const struct {
    const char *name;
    int dtype; /* of the configuration */
} types[] = {{"bfloat16", CM_MODEL_BFLOAT16}, {"float32", CM_MODEL_FLOAT32}, {"float16", CM_MODEL_FLOAT16}};
enum { TYPES = (int)(sizeof types / sizeof *types) };

typedef struct figures {
    const char *dtype;
    double product;       /* FLOP/s of a large matrix product */
    double select_action; /* steps per second; 0: not asked for */
    batched batch[BATCHES];
    int batches;
} figures;

/* What was measured of the types that are possible here. */
typedef struct results {
    figures type[TYPES];
    int types;
    int failures;
    bool half; /* products in float16 are native here */
} results;

typedef struct request {
    const char *sets[64];
    int set_count, batch; /* 0: all */
    int type;             /* -1: all */
    bool json;
} request;

/* A session with its weights, fresh from seed 1. */
typedef struct setup {
    cm_session *session;
    cm_agent *agent;
    cm_stream *stream;
    cm_mirror parameters, state;
    float *observation, *policy;
} setup;

static cm_status open_weights(setup *s) {
    const cm_param_table *table = cm_network_parameters(s->session->network);
    const cm_device *device = s->session->backend->device;
    CM_TRY(cm_mirror_create(&s->parameters, device, (table->parameters + 1) * sizeof(float), "parameters"));
    CM_TRY(cm_mirror_create(&s->state, device, (table->states + 1) * sizeof(float), "running statistics"));
    cm_network_initialise(s->session->network, 1, s->parameters.host, s->state.host);
    CM_TRY(cm_mirror_push(&s->parameters));
    return cm_mirror_push(&s->state);
}

static cm_status open_agent(setup *s) {
    s->observation = calloc((size_t)s->session->env.spec.observation_size, sizeof(float));
    s->policy = calloc((size_t)s->session->env.spec.actions, sizeof(float));
    if (!s->observation || !s->policy) return cm_fail(CM_ERR_MEMORY, "out of memory");
    CM_TRY(cm_session_agent(s->session, &s->agent));
    return cm_agent_set_weights(s->agent, s->parameters.host, s->state.host);
}

/* With an agent, whose passes take their time to choose algorithms, only if it is asked. */
static cm_status open_setup(const cm_configuration *configuration, bool acts, setup *s) {
    CM_TRY(cm_session_open(configuration, NULL, &s->session));
    CM_TRY(open_weights(s));
    if (acts) CM_TRY(open_agent(s));
    return cm_stream_open(s->session->backend, &s->stream);
}

static void close_setup(setup *s) {
    cm_stream_close(s->stream);
    cm_agent_destroy(s->agent);
    cm_mirror_destroy(&s->parameters);
    cm_mirror_destroy(&s->state);
    cm_session_close(s->session);
    free(s->observation);
    free(s->policy);
}

/* ---- what the machine reaches at best ---- */

/* y = x weight^T of squares, in one block of memory. Where x may be of 16 bits the product reads it as such: nothing
 * but products is timed then. */
static cm_status open_product(setup *s, int size, cm_mirror *memory, cm_call *call) {
    const size_t square = (size_t)size * (size_t)size;
    CM_TRY(cm_mirror_create(memory, s->session->backend->device, 4 * square * sizeof(float), "matrices"));
    float *host = memory->host, *at = (float *)(void *)memory->block.base;
    cm_rng rng = cm_rng_init(cm_key_make(0, CM_RNG_TEST, 0), 0);
    for (size_t i = 0; i < 2 * square; i++) host[i] = cm_rng_uniform(&rng) - 0.5f;
    CM_TRY(cm_mirror_push(memory));
    *call = (cm_call){.op = CM_OP_dense, .attr = {.compute = s->session->compute}};
    call->t[CM_T_dense_x] = cm_tensor_2d(at, CM_F32, size, size);
    call->t[CM_T_dense_weight] = cm_tensor_2d(at + square, CM_F32, size, size);
    call->t[CM_T_dense_y] = cm_tensor_2d(at + 2 * square, CM_F32, size, size);
    if (s->session->compute == CM_F32 || !s->session->backend->kind->takes_half) return cm_call_eager(s->stream, call);
    call->t[CM_T_dense_half_x] = cm_tensor_2d(at + 3 * square, s->session->compute, size, size);
    CM_TRY(cm_call_eager(s->stream, call));
    call->t[CM_T_dense_x] = call->t[CM_T_dense_half_x];
    call->t[CM_T_dense_half_x] = (cm_tensor){0};
    return cm_call_eager(s->stream, call);
}

/* Waits for the stream by a number that it has made. */
static cm_status wait_for(setup *s, const cm_call *call) {
    float number;
    return cm_stream_read(s->stream, &number, call->t[CM_T_dense_y].data, sizeof number);
}

static cm_status time_product(setup *s, const cm_call *call, double *seconds) {
    double start = cm_clock_seconds();
    int runs = 0;
    for (*seconds = 0.0; *seconds < 0.1; *seconds = cm_clock_seconds() - start) {
        for (int i = 0; i < 4; i++, runs++) CM_TRY(cm_call_run(s->stream, call));
        CM_TRY(wait_for(s, call));
    }
    *seconds /= runs;
    return CM_OK;
}

/* Large enough to fill a device, and a small part of its memory. */
static cm_status choose_size(const cm_device *device, int *size) {
    cm_device_memory memory = {0};
    *size = 1024;
    if (device->is_host || !device->memory) return CM_OK;
    CM_TRY(device->memory(device, &memory));
    for (*size = 8192; *size > 512 && 64 * 4 * sizeof(float) * (size_t)*size * (size_t)*size > memory.total;)
        *size /= 2;
    return CM_OK;
}

static cm_status measure_product(setup *s, double *flops) {
    int size;
    CM_TRY(choose_size(s->session->backend->device, &size));
    cm_mirror memory = {0};
    cm_call call;
    double seconds = 1.0;
    cm_status status = open_product(s, size, &memory, &call);
    if (status == CM_OK) status = wait_for(s, &call);
    if (status == CM_OK) status = time_product(s, &call, &seconds);
    cm_mirror_destroy(&memory);
    *flops = 2.0 * size * size * size / seconds;
    return status;
}

/* ---- inference ---- */

static cm_status select_actions(setup *s, double *per_second) {
    int32_t action;
    for (int i = 0; i < WARM_UP; i++)
        CM_TRY(cm_agent_select_action(s->agent, s->observation, false, &action, s->policy));
    double start = cm_clock_seconds();
    for (int i = 0; i < CALLS; i++) CM_TRY(cm_agent_select_action(s->agent, s->observation, false, &action, s->policy));
    *per_second = CALLS / (cm_clock_seconds() - start);
    return CM_OK;
}

/* Root passes of one batch. */
static cm_status infer(setup *s, int rows, batched *out) {
    cm_inference *inference = NULL;
    const cm_network_use use = {.network = s->session->network,
                                .stream = s->stream,
                                .rows = rows,
                                .compute = s->session->compute,
                                .parameters = (float *)(void *)s->parameters.block.base,
                                .state = (float *)(void *)s->state.block.base};
    CM_TRY(cm_inference_create(&use, rows, &inference));
    const cm_inference_arrays *a = cm_inference_get(inference);
    for (int i = 0; i < rows; i++) a->root_slots[i] = i;
    cm_status status = CM_OK;
    for (int i = 0; i < WARM_UP && status == CM_OK; i++) status = cm_inference_root(inference);
    double start = cm_clock_seconds(), seconds = 0.0;
    int64_t runs = 0;
    while (status == CM_OK && seconds < SECONDS_PER_BATCH) {
        status = cm_inference_root(inference);
        runs++;
        seconds = cm_clock_seconds() - start;
    }
    *out = (batched){.rows = rows,
                     .per_second = (double)runs * rows / seconds,
                     .flops = (double)runs * cm_inference_root_flops(inference) / seconds,
                     .fused = cm_inference_root_is_fused(inference)};
    cm_inference_destroy(inference);
    return status;
}

/* As it is, and where that is one launch, one by one. */
static cm_status infer_both(setup *s, int rows, batched *out) {
    cm_backend *backend = s->session->backend;
    batched unfused;
    CM_TRY(infer(s, rows, out));
    if (!out->fused) return CM_OK;
    backend->is_unfused = true;
    cm_status status = infer(s, rows, &unfused);
    backend->is_unfused = false;
    out->unfused = unfused.per_second;
    return status;
}

/* ---- output ---- */

static void say(const request *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(const request *r, const char *format, ...) {
    va_list arguments;
    if (r->json) return;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

/* A figure that there is none of, and why: the others are measured. */
static bool is_measured(results *all, const figures *of, cm_status status) {
    if (status == CM_OK) return true;
    fprintf(stderr, "benchmark_gpu: %s: %s\n", of->dtype, cm_error_message());
    all->failures++;
    return false;
}

static void measure_batches(setup *s, const request *r, results *all, figures *out) {
    for (int rows = r->batch ? r->batch : 1; rows <= (r->batch ? r->batch : LARGEST); rows *= 2) {
        batched *b = &out->batch[out->batches];
        if (!is_measured(all, out, infer_both(s, rows, b))) continue;
        out->batches++;
        say(r, "  batch %4d: %11.0f inferences/s, %7.1f GFLOP/s", rows, b->per_second, b->flops * 1e-9);
        if (out->product > 0.0) say(r, ", %.1f %% of a large product", 100.0 * b->flops / out->product);
        if (b->unfused > 0.0) say(r, "; %.0f inferences/s one by one", b->unfused);
        say(r, "\n");
    }
}

static void measure_all(setup *s, const request *r, results *all, figures *out) {
    if (is_measured(all, out, measure_product(s, &out->product)))
        say(r, "%s: a large matrix product runs at %.1f GFLOP/s\n", out->dtype, out->product * 1e-9);
    if (!r->batch && is_measured(all, out, select_actions(s, &out->select_action)))
        say(r, "  select_action, one at a time: %.0f steps/s\n", out->select_action);
    measure_batches(s, r, all, out);
}

static void measure(cm_configuration *configuration, int type, const request *r, results *all) {
    setup s = {0};
    figures *out = &all->type[all->types++];
    *out = (figures){.dtype = types[type].name};
    configuration->run.model_dtype = types[type].dtype;
    if (is_measured(all, out, open_setup(configuration, !r->batch, &s))) {
        all->half = s.session->backend->native[CM_F16];
        measure_all(&s, r, all, out);
    }
    close_setup(&s);
}

/* float16 is left out where there is none, unless it alone is asked for. */
static void measure_types(cm_configuration *configuration, const request *r, results *all) {
    for (int type = 0; type < TYPES; type++) {
        const bool wanted = r->type >= 0 ? r->type == type : types[type].dtype != CM_MODEL_FLOAT16 || all->half;
        if (wanted) measure(configuration, type, r, all);
    }
}

static cm_status print_json(const figures *all, int count) {
    cm_json_writer *w;
    CM_TRY(cm_json_writer_create(0, &w));
    cm_json_begin_array(w, NULL);
    for (int k = 0; k < count; k++) {
        cm_json_begin_object(w, NULL);
        cm_json_put_string(w, "dtype", all[k].dtype);
        cm_json_put_double(w, "product_flops_per_second", all[k].product);
        if (all[k].select_action > 0.0) cm_json_put_double(w, "steps_per_second", all[k].select_action);
        cm_json_begin_array(w, "batches");
        for (int i = 0; i < all[k].batches; i++) {
            cm_json_begin_object(w, NULL);
            cm_json_put_int(w, "batch", all[k].batch[i].rows);
            cm_json_put_double(w, "inferences_per_second", all[k].batch[i].per_second);
            cm_json_put_double(w, "flops_per_second", all[k].batch[i].flops);
            if (all[k].batch[i].unfused > 0.0)
                cm_json_put_double(w, "unfused_inferences_per_second", all[k].batch[i].unfused);
            cm_json_end_object(w);
        }
        cm_json_end_array(w);
        cm_json_end_object(w);
    }
    cm_json_end_array(w);
    const char *text = cm_json_writer_text(w, NULL);
    if (text) printf("%s\n", text);
    cm_json_writer_destroy(w);
    return text ? CM_OK : CM_ERR_MEMORY;
}

static int type_of(const char *name) {
    int type = TYPES - 1;
    while (type >= 0 && strcmp(types[type].name, name) != 0) type--;
    return type;
}

static cm_status parse(int argc, char **argv, request *r, char backend[64]) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            r->json = true;
        } else if (i + 1 < argc && strcmp(argv[i], "--backend") == 0) {
            snprintf(backend, 64, "Device.backend=%s", argv[++i]);
            r->sets[r->set_count++] = backend;
        } else if (i + 1 < argc && strcmp(argv[i], "--set") == 0 && r->set_count < 60) {
            r->sets[r->set_count++] = argv[++i];
        } else if (i + 1 < argc && strcmp(argv[i], "--batch") == 0 && atoi(argv[i + 1]) > 0) {
            r->batch = atoi(argv[++i]);
        } else if (i + 1 < argc && strcmp(argv[i], "--dtype") == 0 && type_of(argv[i + 1]) >= 0) {
            r->type = type_of(argv[++i]);
        } else {
            return cm_fail(CM_ERR_INPUT,
                           "unknown word %s; usage: benchmark_gpu [--backend NAME] [--dtype TYPE] [--batch N] [--json] "
                           "[--set KEY=VALUE]...",
                           argv[i]);
        }
    }
    return CM_OK;
}

static cm_status run(int argc, char **argv) {
    request r = {.sets = {"MCTS.num_simulations=25"}, .set_count = 1, .type = -1};
    char backend[64];
    cm_configuration configuration;
    cm_config *config;
    results all = {.types = 0};
    CM_TRY(parse(argc, argv, &r, backend));
    CM_TRY(cm_configuration_load(NULL, r.sets, r.set_count, &configuration, &config));
    measure_types(&configuration, &r, &all);
    cm_config_destroy(config);
    if (r.json) CM_TRY(print_json(all.type, all.types));
    return all.failures == 0 ? CM_OK : cm_fail(CM_ERR_DEVICE, "%d figures could not be measured", all.failures);
}

int main(int argc, char **argv) {
    cm_status status = run(argc, argv);
    if (status == CM_OK) return 0;
    fprintf(stderr, "benchmark_gpu: %s\n", cm_error_message());
    return status == CM_ERR_INPUT ? 2 : 1;
}
