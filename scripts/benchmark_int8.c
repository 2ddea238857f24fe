/* Products in 8 bits against float32 on every instruction set that this processor has: layers, and inference of an MLP
 * of 512 units and of Connect4's residual network. Both take turns; prints the shortest times, which others on the
 * machine disturb least. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "core/clock.h"
#include "core/rng.h"
#include "network/inference.h"
#include "network/rollout.h"

enum { ROWS = 64, ROUNDS = 200, MOST = 2 * CM_INT8_KERNELS };

/* Kernels of float32, and those of 8 bits that go with them. */
typedef struct level {
    const cm_kernels *floats;
    const cm_int8_kernels *bits;
} level;

static void need(cm_status status) {
    if (status == CM_OK) return;
    fprintf(stderr, "benchmark_int8: %s\n", cm_error_message());
    exit(1);
}

static float *random_floats(size_t n, float scale) {
    cm_rng rng = cm_rng_init(cm_key_make(0, CM_RNG_TEST, n), 0);
    float *x = malloc(n * sizeof *x);
    if (!x) exit(1);
    for (size_t i = 0; i < n; i++) x[i] = scale * cm_rng_normal(&rng);
    return x;
}

/* The shortest times of the same work in float32 and in 8 bits, which take turns. */
typedef struct times {
    double floats, bits;
} times;

static double seconds_of(cm_status (*run)(void *context), void *context) {
    const double begin = cm_clock_seconds();
    need(run(context));
    return cm_clock_seconds() - begin;
}

static times shortest(cm_status (*run)(void *context), void *floats, void *bits) {
    times best = {1e9, 1e9};
    for (int i = 0; i < ROUNDS; i++) {
        best.floats = fmin(best.floats, seconds_of(run, floats));
        best.bits = fmin(best.bits, seconds_of(run, bits));
    }
    return best;
}

static void use(cm_backend *backend, const level *l) {
    cm_cpu_use(backend->state, l->floats, false);
    ((cm_cpu *)backend->state)->int8 = l->bits;
}

static void print(const char *what, const level *l, times t) {
    printf("%-28s %-8s %8.1f us   8 bits by %-12s %8.1f us   %.2f x\n", what, l->floats->name, 1e6 * t.floats,
           l->bits->name, 1e6 * t.bits, t.floats / t.bits);
}

/* ---- layers ---- */

typedef struct layer {
    cm_stream *stream;
    cm_call call;
} layer;

static cm_status run_layer(void *context) {
    const layer *l = context;
    return cm_call_run(l->stream, &l->call);
}

static void open_layer(layer *l, cm_backend *backend, cm_call call, cm_dtype type) {
    l->call = call;
    l->call.attr.compute = type, l->call.attr.range = 4.0f;
    need(cm_stream_open(backend, &l->stream));
    need(cm_call_prepare(l->stream, &l->call));
}

static void compare_layer(cm_backend *backend, const level *l, const char *what, cm_call call) {
    layer floats, bits;
    use(backend, l);
    open_layer(&floats, backend, call, CM_F32);
    open_layer(&bits, backend, call, CM_I8);
    print(what, l, shortest(run_layer, &floats, &bits));
    cm_stream_close(floats.stream);
    cm_stream_close(bits.stream);
    for (int i = 0; i < 3; i++) free(call.t[i].data);
}

static cm_tensor tensor(int ndim, const int *dim) {
    cm_tensor t = cm_tensor_make(NULL, CM_F32, ndim, dim);
    t.data = random_floats(cm_tensor_count(&t), 1.0f);
    return t;
}

static cm_call dense(int inputs, int outputs) {
    return (cm_call){.op = CM_OP_dense,
                     .t = {tensor(2, (int[]){ROWS, outputs}), tensor(2, (int[]){ROWS, inputs}),
                           tensor(2, (int[]){outputs, inputs})}};
}

static cm_call convolution(int channels) {
    const int planes[4] = {ROWS, 6, 7, channels}, weight[4] = {channels, 3, 3, channels};
    return (cm_call){
        .op = CM_OP_conv2d, .attr = {.stride = 1}, .t = {tensor(4, planes), tensor(4, planes), tensor(4, weight)}};
}

/* ---- networks ---- */

typedef struct weights {
    cm_network *network;
    float *parameters, *state;
} weights;

static weights make_network(const cm_network_config *config) {
    weights w;
    need(cm_network_create(config, &w.network));
    const cm_param_table *table = cm_network_parameters(w.network);
    w.parameters = calloc(table->parameters + 1, sizeof(float));
    w.state = calloc(table->states + 1, sizeof(float));
    if (!w.parameters || !w.state) exit(1);
    cm_network_initialise(w.network, 0, w.parameters, w.state);
    return w;
}

static cm_status run_root(void *inference) { return cm_inference_root(inference); }

static cm_inference *open_inference(const weights *w, cm_stream *stream, const float *ranges) {
    const cm_network_use use_of = {
        .network = w->network, .stream = stream, .rows = ROWS, .parameters = w->parameters, .state = w->state};
    cm_inference *inference;
    cm_network_set_ranges(w->network, ranges);
    need(cm_inference_create(&use_of, ROWS, &inference));
    float *x = random_floats((size_t)ROWS * (size_t)cm_network_observation_size(w->network), 1.0f);
    for (int i = 0; i < ROWS * cm_network_observation_size(w->network); i++)
        cm_inference_get(inference)->observation[i] = x[i];
    for (int i = 0; i < ROWS; i++) cm_inference_get(inference)->root_slots[i] = i;
    free(x);
    return inference;
}

/* Of all layers but the first. */
static float *ranges_of(const weights *w, cm_stream *stream) {
    const cm_network_use use_of = {
        .network = w->network, .stream = stream, .rows = ROWS, .parameters = w->parameters, .state = w->state};
    cm_rollout *rollout;
    float *ranges = calloc((size_t)cm_network_parameters(w->network)->count, sizeof *ranges);
    if (!ranges) exit(1);
    need(cm_rollout_create(&use_of, 0, &rollout));
    float *x = random_floats((size_t)ROWS * (size_t)cm_network_observation_size(w->network), 1.0f);
    for (int i = 0; i < ROWS * cm_network_observation_size(w->network); i++) cm_rollout_observations(rollout)[i] = x[i];
    need(cm_rollout_measure(rollout, ranges));
    ranges[0] = 0.0f;
    cm_rollout_destroy(rollout);
    free(x);
    return ranges;
}

static void compare_network(cm_backend *backend, const level *l, const char *what, const cm_network_config *config) {
    weights w = make_network(config);
    cm_stream *stream;
    use(backend, l);
    need(cm_stream_open(backend, &stream));
    float *ranges = ranges_of(&w, stream);
    cm_inference *floats = open_inference(&w, stream, NULL), *bits = open_inference(&w, stream, ranges);
    print(what, l, shortest(run_root, floats, bits));
    cm_inference_destroy(floats);
    cm_inference_destroy(bits);
    cm_stream_close(stream);
    cm_network_destroy(w.network);
    free(w.parameters);
    free(w.state);
    free(ranges);
}

static const cm_network_config mlp = {.family = CM_FAMILY_MLP,
                                      .observation_ndim = 1,
                                      .observation = {8},
                                      .actions = 8,
                                      .hidden = 512,
                                      .head_hidden = 512,
                                      .trunk_layers = 2,
                                      .norm = CM_NORM_LAYER,
                                      .minmax = true,
                                      .value_support = {-10.0f, 10.0f, 21, true},
                                      .reward_support = {-10.0f, 10.0f, 21, true},
                                      .init = CM_INIT_LECUN_NORMAL};
static const cm_network_config resnet = {.family = CM_FAMILY_RESNET,
                                         .observation_ndim = 3,
                                         .observation = {6, 7, 3},
                                         .actions = 7,
                                         .blocks = 1,
                                         .channels = 48,
                                         .head_channels = 8,
                                         .head_hidden = 64,
                                         .norm = CM_NORM_BATCH,
                                         .encoding = CM_ENCODE_ONEHOT,
                                         .value_support = {-1.0f, 1.0f, 3, false},
                                         .reward_support = {-1.0f, 1.0f, 3, false},
                                         .init = CM_INIT_LECUN_NORMAL};

/* ---- all of it ---- */

static int find_levels(level *out) {
    const cm_int8_kernels *bits[CM_INT8_KERNELS];
    int count, of_bits, n = 0;
    const cm_kernels *const *floats = cm_kernels_usable(&count);
    cm_int8_usable(bits, &of_bits);
    for (int i = 0; i < of_bits; i++) {
        const bool is_widest = strncmp(bits[i]->name, "AVX-512", 7) == 0 || strcmp(bits[i]->name, "AMX") == 0;
        const int of_floats = is_widest ? 0 : i == of_bits - 1 ? count - 1 : count > 1 ? count - 2 : 0;
        out[n++] = (level){floats[of_floats], bits[i]};
    }
    return n;
}

int main(void) {
    level levels[MOST];
    cm_backend *backend;
    const int count = find_levels(levels);
    need(cm_backend_open("cpu", &backend));
    for (int i = 0; i < count; i++) {
        compare_network(backend, &levels[i], "inference, MLP of 512", &mlp);
        compare_network(backend, &levels[i], "inference, Connect4's ResNet", &resnet);
        compare_layer(backend, &levels[i], "dense 512 -> 512", dense(512, 512));
        compare_layer(backend, &levels[i], "convolution 3x3, 48 channels", convolution(48));
        compare_layer(backend, &levels[i], "convolution 3x3, 128", convolution(128));
    }
    cm_backend_close(backend);
    return 0;
}
