/* Writes a run whose layers are of 8 bits. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/loaded.h"
#include "core/arena.h"
#include "core/file.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/printable.h"
#include "run/directory.h"
#include "run/memory_positions.h"
#include "run/policy_games.h"
#include "run/quantise.h"
#include "run/quantised.h"

enum { POSITIONS = 4096, POSITIONS_MOST = 1 << 20 };

typedef struct request {
    const char *run, *to;
    int64_t positions;
    double tolerance;
} request;

static cm_status read_request(cm_arguments *arguments, request *out) {
    *out = (request){.to = cm_argument(arguments, "--to"), .positions = POSITIONS, .tolerance = 0.01};
    if (!out->to) return cm_fail(CM_ERR_INPUT, "quantize: say where the new run goes, with --to DIR");
    if (cm_file_is_named(out->to))
        return cm_fail(CM_ERR_INPUT, "--to %s: is there already; choose another folder", out->to);
    CM_TRY(cm_argument_int(arguments, "--positions", 1, POSITIONS_MOST, &out->positions));
    CM_TRY(cm_argument_real(arguments, "--tolerance", 0.0, 1.0, &out->tolerance));
    return cm_cli_need_run(arguments, &out->run);
}

/* ---- what is printed ---- */

static void print_error(const char *what, int layers, int chosen, cm_quantise_error all, cm_quantise_error rest) {
    cm_cli_line(4, "%-15s %2d of %2d layers in 8 bits; policy %.4f, value %.4f (all of them: %.4f, %.4f)", what, chosen,
                layers, rest.policy, rest.value, all.policy, all.value);
}

/* The layers that stay in float32. */
static void print_floats(const cm_network *network, const float *ranges, const float *measured) {
    const cm_param_table *table = cm_network_parameters(network);
    for (int i = 0; i < table->count; i++)
        if (measured[i] > 0.0f && ranges[i] <= 0.0f) cm_cli_line(4, "%-15s %s", "in float32", table->param[i].name);
}

static void print_result(const cm_network *network, const cm_quantise_result *r, bool is_memory) {
    int layers = 0, chosen = 0;
    if (r->is_trained)
        printf("ranges of training (quantization=qat), that of observations raised to what they need: layers are in 8 "
               "bits as they were trained\n");
    printf("errors on %d positions of %s and %d steps after each: share of the policy that moves, and of the values' "
           "deviation\n",
           r->positions, is_memory ? "the run's memory" : "games of the policy", r->steps);
    for (int i = 0; i < r->part_count; i++) {
        const cm_quantise_part *p = &r->part[i];
        print_error(p->name, p->layers, p->chosen, p->all, p->rest);
        layers += p->layers, chosen += p->chosen;
    }
    print_error("network", layers, chosen, r->all, r->rest);
    print_floats(network, r->ranges, r->measured);
}

static cm_status print_size(const cm_network *network, const cm_quantise_result *r, const char *to) {
    float *none = NULL;
    char before[16], after[16], left_out[16];
    CM_TRY(cm_alloc(&none, (size_t)cm_network_parameters(network)->count + 1, sizeof *none, "ranges of layers"));
    const double floats = (double)cm_quantised_bytes(network, none),
                 bits = (double)cm_quantised_bytes(network, r->ranges);
    cm_format_bytes(floats, before);
    cm_format_bytes(bits, after);
    cm_cli_line(4, "weights         %s, of %s in float32: %.0f %%", after, before, 100.0 * bits / floats);
    cm_format_bytes((double)cm_quantised_bytes_left_out(network), left_out);
    if (cm_quantised_bytes_left_out(network) > 0)
        cm_cli_line(4,
                    "left out        %s that training alone reads, of the consistency loss and the encoder of chance",
                    left_out);
    printf("written to %s\n", CM_PRINTABLE(to));
    fflush(stdout);
    free(none);
    return CM_OK;
}

/* ---- work ---- */

/* Weights, and where and on what they are measured: on the host, in float32. */
typedef struct bench {
    cm_backend *backend;
    cm_stream *stream;
    cm_arena arena;
    float *parameters, *state;
    cm_positions positions;
    bool is_memory; /* they are of the run's */
} bench;

static void close_bench(bench *b) {
    cm_stream_close(b->stream);
    cm_backend_close(b->backend);
    cm_arena_destroy(&b->arena);
    cm_positions_free(&b->positions);
}

static cm_status open_bench(bench *b, const cm_loaded *loaded) {
    const cm_param_table *table = cm_network_parameters(loaded->session->network);
    CM_TRY(cm_backend_open("cpu", &b->backend));
    CM_TRY(cm_stream_open(b->backend, &b->stream));
    CM_TRY(cm_arena_create(&b->arena, (table->parameters + table->states + 2) * sizeof(float) + 2 * CM_ALIGN,
                           "a run's weights"));
    b->parameters = cm_arena_alloc(&b->arena, (table->parameters + 1) * sizeof(float));
    b->state = cm_arena_alloc(&b->arena, (table->states + 1) * sizeof(float));
    return cm_agent_get_weights(loaded->agent, b->parameters, b->state);
}

/* Those of the memory of the newest checkpoint, if it has enough and can be read. */
static void draw_positions(const request *r, const cm_loaded *loaded, bench *b) {
    const uint64_t seed = (uint64_t)loaded->session->configuration.run.seed;
    const cm_status status =
        cm_memory_positions_draw(r->run, CM_CHECKPOINT_LATEST, loaded->session, (int)r->positions, seed, &b->positions);
    b->is_memory = status == CM_OK && b->positions.batches > 0;
    if (status != CM_OK) cm_log(CM_WARNING, "no positions of the run's memory: %s", cm_error_message());
    if (!b->is_memory) cm_positions_free(&b->positions);
}

static cm_status find_positions(const request *r, const cm_loaded *loaded, bench *b) {
    const cm_session *s = loaded->session;
    const cm_network_use use = {.network = s->network,
                                .stream = b->stream,
                                .rows = 1,
                                .compute = CM_F32,
                                .parameters = b->parameters,
                                .state = b->state};
    draw_positions(r, loaded, b);
    if (b->is_memory) return CM_OK;
    return cm_policy_games_play(&use, &s->env, (int)r->positions, (uint64_t)s->configuration.run.seed, &b->positions);
}

/* The checkpoint that was read, by its number: a run that trains may have another one by now. */
static cm_status write_run(const request *r, const cm_loaded *loaded, const bench *b, const cm_quantise_result *found) {
    const cm_network *network = loaded->session->network;
    const cm_quantised_run run = {.from = r->run,
                                  .to = r->to,
                                  .checkpoint = loaded->facts.updates,
                                  .network = network,
                                  .parameters = b->parameters,
                                  .state = b->state,
                                  .ranges = found->ranges};
    print_result(network, found, b->is_memory);
    CM_TRY(cm_quantised_write(&run));
    return print_size(network, found, r->to);
}

/* What cannot be written is told before the work. */
static cm_status try_folder(const char *to) {
    cm_run_directory directory;
    CM_TRY(cm_run_directory_create(&directory, to));
    cm_run_directory_close(&directory);
    return cm_run_directory_discard(&directory);
}

static cm_status quantise(const request *r, const cm_loaded *loaded) {
    cm_network *network = loaded->session->network;
    cm_quantise_result found = {.ranges = NULL};
    bench b = {.backend = NULL};
    CM_TRY(try_folder(r->to));
    cm_status status = open_bench(&b, loaded);
    if (status == CM_OK) status = find_positions(r, loaded, &b);
    if (status == CM_OK) {
        const cm_quantise_request asked = {.network = network,
                                           .stream = b.stream,
                                           .parameters = b.parameters,
                                           .state = b.state,
                                           .positions = &b.positions,
                                           .tolerance = r->tolerance};
        status = cm_quantise(&asked, &found);
    }
    if (status == CM_OK) status = write_run(r, loaded, &b, &found);
    cm_quantise_free(&found);
    close_bench(&b);
    return status;
}

static cm_status run_quantize(cm_arguments *arguments) {
    request r;
    cm_loaded loaded;
    CM_TRY(read_request(arguments, &r));
    CM_TRY(cm_loaded_open(arguments, &loaded));
    cm_status status = cm_network_has_ranges(loaded.session->network)
                           ? cm_fail(CM_ERR_INPUT,
                                     "%s: its weights are of 8 bits already: quantize the run that they were "
                                     "made of",
                                     r.run)
                           : quantise(&r, &loaded);
    cm_loaded_close(&loaded);
    return cm_memory_advise(status, "lower --positions");
}

static const cm_flag flags[] = {
    CM_FLAG_RUN,
    CM_FLAG_CHECKPOINT,
    {"--to", "DIR", "The folder of the new run, which is not there yet."},
    {"--positions", "N",
     "Positions to measure on; 4096. They are drawn from the memory of the newest checkpoint; where that has less than "
     "a quarter of them the "
     "policy plays games without a search, one move in ten at random."},
    {"--tolerance", "X",
     "What all layers together may change; 0.01. While it is more, the layer that alone changes most stays in float32, "
     "as "
     "long as those have at most one in twenty of the weights."},
    {"--set", "KEY=VALUE", "Set one key on top of the run's configuration; may be repeated."},
    CM_FLAGS_MACHINE,
    CM_FLAGS_END,
};

const cm_command cm_command_quantize = {
    .name = "quantize",
    .about = "a run with weights of 8 bits, a quarter of the size, that plays faster",
    .positional = "",
    .details = "Of --run, or the newest run, the weights that it plays with. Dense layers and convolutions are "
               "computed in whole "
               "numbers of 8 bits: weights with a step per output, what a layer reads with one step, which is "
               "measured. The new "
               "run is played, evaluated and searched as any other, and is not trained.\n\n"
               "Errors are means over positions, and the steps after them where the model is learnt, against float32: "
               "half the "
               "sum of the differences of the policy's probabilities, and the difference of values as a share of their "
               "standard "
               "deviation. docs/QUANTIZATION.md says how it works and what it brings.",
    .flags = flags,
    .examples = "  cumind quantize --run connect4 --to connect4.int8\n"
                "  cumind eval --run connect4.int8 --positions tests/data/connect4.jsonl\n",
    .run = run_quantize,
};
