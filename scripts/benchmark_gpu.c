/* Inference throughput as CuMind's guide describes it: 10 select_action calls to warm up, then 1000 that are timed, for
 * float32 and bfloat16; then batches. On any backend, from libcumind.a and public headers alone.
 *
 *     build/benchmark_gpu [--backend cpu] [--json] [--set KEY=VALUE]...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/json.h"
#include "network/inference.h"
#include "run/session.h"

enum { WARM_UP = 10, CALLS = 1000, BATCHES = 13 };

typedef struct figures {
    const char *dtype;
    double select_action;          /* steps per second */
    double batched[BATCHES];       /* inferences per second at batch 2^i */
    double batched_flops[BATCHES]; /* achieved by matrix products */
} figures;

/* A session with its weights, fresh from seed 1. */
typedef struct setup {
    cm_session *session;
    cm_agent *agent;
    float *parameters, *state, *observation, *policy;
} setup;

static cm_status open_setup(const cm_configuration *configuration, setup *s) {
    CM_TRY(cm_session_open(configuration, NULL, &s->session));
    const cm_param_table *table = cm_network_parameters(s->session->network);
    s->parameters = calloc(table->parameters + 1, sizeof(float));
    s->state = calloc(table->states + 1, sizeof(float));
    s->observation = calloc((size_t)s->session->env.spec.observation_size, sizeof(float));
    s->policy = calloc((size_t)s->session->env.spec.actions, sizeof(float));
    if (!s->parameters || !s->state || !s->observation || !s->policy) return cm_fail(CM_ERR_MEMORY, "out of memory");
    cm_network_initialise(s->session->network, 1, s->parameters, s->state);
    CM_TRY(cm_session_agent(s->session, &s->agent));
    return cm_agent_set_weights(s->agent, s->parameters, s->state);
}

static void close_setup(setup *s) {
    cm_agent_destroy(s->agent);
    cm_session_close(s->session);
    free(s->parameters);
    free(s->state);
    free(s->observation);
    free(s->policy);
}

static cm_status select_actions(setup *s, double *per_second) {
    int32_t action;
    for (int i = 0; i < WARM_UP; i++)
        CM_TRY(cm_agent_select_action(s->agent, s->observation, false, &action, s->policy));
    double start = cm_clock_seconds();
    for (int i = 0; i < CALLS; i++) CM_TRY(cm_agent_select_action(s->agent, s->observation, false, &action, s->policy));
    *per_second = CALLS / (cm_clock_seconds() - start);
    return CM_OK;
}

/* Root passes of one batch for about a fifth of a second. */
static cm_status infer(setup *s, cm_stream *stream, int rows, figures *out, int at) {
    cm_inference *inference = NULL;
    CM_TRY(cm_inference_create(s->session->network, stream, rows, rows, s->session->compute, s->parameters, s->state,
                               &inference));
    const cm_inference_arrays *a = cm_inference_get(inference);
    for (int i = 0; i < rows; i++) a->root_slots[i] = i;
    cm_status status = CM_OK;
    for (int i = 0; i < WARM_UP && status == CM_OK; i++) status = cm_inference_root(inference);
    double start = cm_clock_seconds(), seconds = 0.0;
    int64_t runs = 0;
    while (status == CM_OK && seconds < 0.2) {
        status = cm_inference_root(inference);
        runs++;
        seconds = cm_clock_seconds() - start;
    }
    out->batched[at] = (double)runs * rows / seconds;
    out->batched_flops[at] = (double)runs * cm_inference_root_flops(inference) / seconds;
    cm_inference_destroy(inference);
    return status;
}

static cm_status measure(cm_configuration *configuration, const char *dtype, figures *out) {
    setup s = {0};
    cm_stream *stream = NULL;
    out->dtype = dtype;
    configuration->run.model_dtype = strcmp(dtype, "bfloat16") == 0 ? CM_MODEL_BFLOAT16 : CM_MODEL_FLOAT32;
    cm_status status = open_setup(configuration, &s);
    if (status == CM_OK) status = select_actions(&s, &out->select_action);
    if (status == CM_OK) status = cm_stream_open(s.session->backend, &stream);
    for (int i = 0; i < BATCHES && status == CM_OK; i++) status = infer(&s, stream, 1 << i, out, i);
    cm_stream_close(stream);
    close_setup(&s);
    return status;
}

static void print(const figures *f) {
    printf("%s\n  select_action, one at a time: %.0f steps/s\n", f->dtype, f->select_action);
    for (int i = 0; i < BATCHES; i++) {
        printf("  batch %4d: %11.0f inferences/s, %7.1f GFLOP/s\n", 1 << i, f->batched[i], f->batched_flops[i] * 1e-9);
    }
}

static cm_status print_json(const figures *all, int count) {
    cm_json_writer *w;
    CM_TRY(cm_json_writer_create(0, &w));
    cm_json_begin_array(w, NULL);
    for (int k = 0; k < count; k++) {
        cm_json_begin_object(w, NULL);
        cm_json_put_string(w, "dtype", all[k].dtype);
        cm_json_put_double(w, "steps_per_second", all[k].select_action);
        cm_json_begin_array(w, "batches");
        for (int i = 0; i < BATCHES; i++) {
            cm_json_begin_object(w, NULL);
            cm_json_put_int(w, "batch", 1 << i);
            cm_json_put_double(w, "inferences_per_second", all[k].batched[i]);
            cm_json_put_double(w, "flops_per_second", all[k].batched_flops[i]);
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

typedef struct request {
    const char *sets[64];
    int set_count;
    bool json;
} request;

static cm_status parse(int argc, char **argv, request *r, char backend[64]) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            r->json = true;
        } else if (i + 1 < argc && strcmp(argv[i], "--backend") == 0) {
            snprintf(backend, 64, "Device.backend=%s", argv[++i]);
            r->sets[r->set_count++] = backend;
        } else if (i + 1 < argc && strcmp(argv[i], "--set") == 0 && r->set_count < 60) {
            r->sets[r->set_count++] = argv[++i];
        } else {
            return cm_fail(CM_ERR_INPUT,
                           "unknown word %s; usage: benchmark_gpu [--backend NAME] [--json] [--set KEY=VALUE]...",
                           argv[i]);
        }
    }
    return CM_OK;
}

static cm_status run(int argc, char **argv) {
    request r = {.sets = {"MCTS.num_simulations=25"}, .set_count = 1};
    char backend[64];
    cm_configuration configuration;
    cm_config *config;
    figures all[2];
    CM_TRY(parse(argc, argv, &r, backend));
    CM_TRY(cm_configuration_load(NULL, r.sets, r.set_count, &configuration, &config));
    cm_status status = measure(&configuration, "float32", &all[0]);
    if (status == CM_OK) status = measure(&configuration, "bfloat16", &all[1]);
    cm_config_destroy(config);
    CM_TRY(status);
    if (r.json) return print_json(all, 2);
    print(&all[0]);
    print(&all[1]);
    return CM_OK;
}

int main(int argc, char **argv) {
    cm_status status = run(argc, argv);
    if (status == CM_OK) return 0;
    fprintf(stderr, "benchmark_gpu: %s\n", cm_error_message());
    return status == CM_ERR_INPUT ? 2 : 1;
}
