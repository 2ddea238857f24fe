/* NHWC activations of 16 bits between the convolutions of an inference: the same results to rounding, in fewer
 * launches. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_cpu.h"
#include "backend/tape/tape.h"
#include "backend/tape/tape_internal.h"
#include "core/arena.h"
#include "support/compiled.h"
#include "support/main.h"
#include "support/updates.h"
#include "trainer/unroll.h"

enum { BATCH = 2, HEIGHT = 3, WIDTH = 5, CHANNELS = 16, HEAD = 3, WINDOW = 3 };
enum { CELLS = BATCH * HEIGHT * WIDTH, LAYER = CHANNELS * WINDOW * WINDOW * CHANNELS, HEAD_LAYER = HEAD * CHANNELS };
enum { FIRST = 0, SECOND = LAYER, LAST = 2 * LAYER, SCALE = LAST + HEAD_LAYER, SHIFT = SCALE + CHANNELS };
enum { PARAMETERS = SHIFT + CHANNELS };

static cm_backend cuda;
static cm_stream *stream;
static float parameters[PARAMETERS], input[CELLS * CHANNELS];

static float some(int i) { return sinf(1.7f * (float)i) * 0.25f; }

static void open_backend(void) {
    cuda_cpu_open(&cuda);
    cuda_cpu_limits.multiplies_16_bits = compiled_for(80);
    ck_assert_int_eq(cm_stream_open(&cuda, &stream), CM_OK);
    for (int i = 0; i < PARAMETERS; i++) parameters[i] = i < SCALE ? some(i) : i < SHIFT ? 1.0f + some(i) : some(i);
    for (int i = 0; i < CELLS * CHANNELS; i++) input[i] = 4.0f * some(i + 7);
}

static void close_backend(void) {
    cm_stream_close(stream);
    cuda_cpu_close(&cuda);
}

/* What a small network without training has of variables. */
typedef struct small {
    cm_tape *tape;
    cm_var sums[2], block, result, head;
} small;

static cm_var weight(cm_tape *tape, int outputs, int window, size_t offset) {
    cm_param p = {.ndim = 4, .dim = {outputs, window, window, CHANNELS}, .offset = offset};
    p.count = (size_t)(outputs * window * window * CHANNELS);
    return cm_tape_param(tape, &p);
}

static cm_var vector(cm_tape *tape, size_t offset) {
    cm_param p = {.ndim = 1, .dim = {CHANNELS, 1, 1, 1}, .offset = offset, .count = CHANNELS};
    return cm_tape_param(tape, &p);
}

static small record(cm_dtype compute, bool add_block) {
    const int dim[4] = {BATCH, HEIGHT, WIDTH, CHANNELS};
    small s = {0};
    ck_assert_int_eq(cm_tape_create(false, compute, &s.tape), CM_OK);
    cm_var x = cm_tape_input(s.tape, CM_F32, 4, dim);
    cm_norm_vars norm = {vector(s.tape, SCALE), vector(s.tape, SHIFT), cm_tape_constant(s.tape, CHANNELS, 0.1f),
                         cm_tape_constant(s.tape, CHANNELS, 1.5f), CM_NO_VAR};
    s.sums[0] = cm_tape_conv2d(s.tape, x, weight(s.tape, CHANNELS, WINDOW, FIRST), CM_NO_VAR, 1, CM_ACT_NONE);
    s.block = cm_tape_fixed_norm(s.tape, s.sums[0], &norm, CM_ACT_RELU);
    s.sums[1] = cm_tape_conv2d(s.tape, s.block, weight(s.tape, CHANNELS, WINDOW, SECOND), CM_NO_VAR, 1, CM_ACT_NONE);
    norm.residual = s.block;
    s.result = cm_tape_fixed_norm(s.tape, s.sums[1], &norm, CM_ACT_RELU);
    s.head = cm_tape_conv2d(s.tape, s.block, weight(s.tape, HEAD, 1, LAST), CM_NO_VAR, 1, CM_ACT_NONE);
    if (add_block) s.result = cm_tape_add(s.tape, s.result, s.block, CM_ACT_NONE);
    cm_tape_result(s.tape, s.result);
    cm_tape_result(s.tape, s.head);
    return s;
}

/* result[CELLS * CHANNELS], head[CELLS * HEAD]; returns the launches it took. */
static int play(small *s, float *result, float *head) {
    cm_pass *pass;
    ck_assert_int_eq(cm_tape_finish(s->tape), CM_OK);
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = parameters, [CM_MEM_INPUT] = input};
    ck_assert_msg(cm_pass_create(s->tape, stream, base, &pass) == CM_OK, "%s", cm_error_message());
    const int before = cuda_cpu_launches;
    ck_assert_int_eq(cm_pass_forward(pass), CM_OK);
    const int launches = cuda_cpu_launches - before;
    ck_assert_int_eq(cm_pass_fetch(pass), CM_OK);
    memcpy(result, cm_pass_result(pass, s->result), CELLS * CHANNELS * sizeof(float));
    memcpy(head, cm_pass_result(pass, s->head), CELLS * HEAD * sizeof(float));
    cm_pass_destroy(pass);
    cm_tape_destroy(s->tape);
    return launches;
}

/* How far apart they are, as a share of the norm of what is wanted. */
static double distance(const float *got, const float *want, int n) {
    double apart = 0.0, norm = 0.0;
    for (int i = 0; i < n; i++) {
        apart += ((double)got[i] - (double)want[i]) * ((double)got[i] - (double)want[i]);
        norm += (double)want[i] * (double)want[i];
    }
    ck_assert(norm > 1.0);
    return sqrt(apart / norm);
}

static void compare(const float *got, const float *want, int n) {
    const double apart = distance(got, want, n);
    ck_assert_msg(apart < 6e-3, "%g of the norm apart", apart);
}

START_TEST(activations_of_16_bits_give_the_same_to_rounding_in_fewer_launches) {
    float result[2][CELLS * CHANNELS], head[2][CELLS * HEAD];
    const cm_dtype type = _i ? CM_F16 : CM_BF16;
    small wide = record(type, false), half = record(type, false);
    ck_assert_int_eq(cm_tape_half_activations(half.tape), CM_OK);
    const cm_var of_16_bits[3] = {half.sums[0], half.block, half.sums[1]};
    for (int i = 0; i < 3; i++) ck_assert_int_eq(cm_tape_shape(half.tape, of_16_bits[i])->dtype, type);
    ck_assert_int_eq(cm_tape_shape(half.tape, half.result)->dtype, CM_F32);
    ck_assert_int_eq(cm_tape_shape(half.tape, half.head)->dtype, CM_F32);
    ck_assert_int_eq(play(&wide, result[0], head[0]), cuda_cpu_limits.multiplies_16_bits ? 7 : 8);
    ck_assert_int_eq(play(&half, result[1], head[1]), 4);
    compare(result[1], result[0], CELLS * CHANNELS);
    compare(head[1], head[0], CELLS * HEAD);
}
END_TEST

/* A convolution of pictures [BATCH, HEIGHT, WIDTH, CHANNELS], given or made of `frames`; out[CELLS * CHANNELS]. */
static void convolve(cm_dtype type, const float *pictures, const cm_frame_vars *frames, cm_tape *tape, void *inputs,
                     float *out) {
    const int dim[4] = {BATCH, HEIGHT, WIDTH, CHANNELS};
    cm_pass *pass;
    const cm_var x = frames ? cm_tape_stack_frames(tape, frames) : cm_tape_input(tape, CM_F32, 4, dim);
    const cm_var y = cm_tape_conv2d(tape, x, weight(tape, CHANNELS, WINDOW, FIRST), CM_NO_VAR, 1, CM_ACT_NONE);
    cm_tape_result(tape, y);
    ck_assert_int_eq(cm_tape_half_activations(tape), CM_OK);
    ck_assert_int_eq(cm_tape_shape(tape, x)->dtype, frames ? type : CM_F32);
    ck_assert_int_eq(cm_tape_finish(tape), CM_OK);
    if (pictures) memcpy((char *)inputs + cm_tape_offset(tape, x), pictures, CELLS * CHANNELS * sizeof(float));
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = parameters, [CM_MEM_INPUT] = inputs};
    ck_assert_msg(cm_pass_create(tape, stream, base, &pass) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_pass_forward(pass), CM_OK);
    ck_assert_int_eq(cm_pass_fetch(pass), CM_OK);
    memcpy(out, cm_pass_result(pass, y), CELLS * CHANNELS * sizeof(float));
    cm_pass_destroy(pass);
    cm_tape_destroy(tape);
}

/* Rounded once, by the kernel that makes them. */
START_TEST(pictures_of_frames_are_of_16_bits_where_convolutions_alone_read_them) {
    enum { PLANES = CHANNELS / 2, FRAME = HEIGHT * WIDTH * PLANES };
    const cm_dtype type = _i ? CM_F16 : CM_BF16;
    const int dim[4] = {BATCH + 1, HEIGHT, WIDTH, PLANES}, pair[2] = {BATCH, 2}, rows = BATCH;
    static _Alignas(64) unsigned char inputs[2][1 << 14];
    static float pictures[CELLS * CHANNELS], want[CELLS * CHANNELS], got[CELLS * CHANNELS];
    cm_tape *tapes[2];
    for (int i = 0; i < 2; i++) ck_assert_int_eq(cm_tape_create(false, type, &tapes[i]), CM_OK);
    const cm_frame_vars f = {.frames = cm_tape_input(tapes[0], CM_U8, 4, dim),
                             .index = cm_tape_input(tapes[0], CM_I32, 2, pair),
                             .shift = cm_tape_input(tapes[0], CM_I32, 2, pair),
                             .factor = cm_tape_input(tapes[0], CM_F32, 1, &rows),
                             .unit = 1.0f / 255.0f};
    unsigned char *bytes = inputs[0] + cm_tape_offset(tapes[0], f.frames);
    int32_t *index = (int32_t *)(void *)(inputs[0] + cm_tape_offset(tapes[0], f.index));
    float *factor = (float *)(void *)(inputs[0] + cm_tape_offset(tapes[0], f.factor));
    for (int i = 0; i < (BATCH + 1) * FRAME; i++) bytes[i] = (unsigned char)(i * 37);
    for (int i = 0; i < 2 * BATCH; i++) index[i] = i / 2 + i % 2;
    for (int i = 0; i < BATCH; i++) factor[i] = 0.9f + 0.1f * (float)i;
    for (int i = 0; i < CELLS * CHANNELS; i++) {
        const int cell = i / CHANNELS, picture = cell / (HEIGHT * WIDTH), frame = picture + i % CHANNELS / PLANES;
        const int at = (frame * HEIGHT * WIDTH + cell % (HEIGHT * WIDTH)) * PLANES + i % PLANES;
        pictures[i] = (float)bytes[at] * f.unit * factor[picture];
    }
    convolve(type, NULL, &f, tapes[0], inputs[0], got);
    convolve(type, pictures, NULL, tapes[1], inputs[1], want);
    ck_assert_mem_eq(got, want, sizeof want);
}
END_TEST

/* They are the library's, with a copy of what they read in front and a launch after. */
START_TEST(points_of_a_device_without_tensor_cores_give_the_same) {
    float result[2][CELLS * CHANNELS], head[2][CELLS * HEAD];
    small able = record(CM_BF16, false), old = record(CM_BF16, false);
    play(&able, result[0], head[0]);
    close_backend(); /* with its plans */
    open_backend();
    cuda_cpu_limits.multiplies_16_bits = false;
    ck_assert_int_eq(play(&old, result[1], head[1]), 8);
    compare(head[1], head[0], CELLS * HEAD);
}
END_TEST

/* Launches besides cuDNN's: the input in 16 bits, the head's convolution, and, apart, two norms. */
START_TEST(a_convolution_and_its_norm_become_one_call_of_the_same_bits_apart) {
    float result[2][CELLS * CHANNELS], head[2][CELLS * HEAD];
    small half = record(CM_BF16, false), joined = record(CM_BF16, false);
    ck_assert_int_eq(cm_tape_half_activations(half.tape), CM_OK);
    ck_assert_int_eq(cm_tape_half_activations(joined.tape), CM_OK);
    const double flops = cm_tape_flops(joined.tape);
    cm_tape_join_norms(joined.tape);
    ck_assert_int_eq(half.tape->forward.count, 5);
    ck_assert_int_eq(joined.tape->forward.count, 3);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(joined.tape->forward.node[i].op, CM_OP_conv2d_norm);
    ck_assert_double_eq(cm_tape_flops(joined.tape), flops);
    ck_assert_double_eq(cm_tape_costs(joined.tape).flop, cm_tape_costs(half.tape).flop);
    ck_assert_int_eq(play(&half, result[0], head[0]), 4);
    ck_assert_int_eq(play(&joined, result[1], head[1]), 4);
    ck_assert_mem_eq(result[1], result[0], sizeof result[0]);
    ck_assert_mem_eq(head[1], head[0], sizeof head[0]);
}
END_TEST

/* The sums between them are not rounded then. */
START_TEST(joined_they_are_one_launch_where_the_library_has_it_and_nearer_to_float32) {
    float result[3][CELLS * CHANNELS], head[3][CELLS * HEAD];
    small exact = record(CM_F32, false), wide = record(CM_BF16, false), joined = record(CM_BF16, false);
    cuda_cpu_whole = true;
    ck_assert_int_eq(cm_tape_finish_inference(joined.tape, &cuda), CM_OK);
    play(&exact, result[0], head[0]);
    play(&wide, result[1], head[1]);
    ck_assert_int_eq(play(&joined, result[2], head[2]), 2);
    compare(result[2], result[0], CELLS * CHANNELS);
    ck_assert_double_lt(distance(result[2], result[0], CELLS * CHANNELS),
                        distance(result[1], result[0], CELLS * CHANNELS));
    ck_assert_double_lt(distance(head[2], head[0], CELLS * HEAD), distance(head[1], head[0], CELLS * HEAD));
}
END_TEST

START_TEST(sums_of_joined_calls_take_no_memory) {
    small half = record(CM_BF16, false), joined = record(CM_BF16, false);
    ck_assert_int_eq(cm_tape_half_activations(half.tape), CM_OK);
    ck_assert_int_eq(cm_tape_half_activations(joined.tape), CM_OK);
    cm_tape_join_norms(joined.tape);
    ck_assert_int_eq(cm_tape_finish(half.tape), CM_OK);
    ck_assert_int_eq(cm_tape_finish(joined.tape), CM_OK);
    const size_t bytes = cm_align(CELLS * CHANNELS * sizeof(uint16_t));
    ck_assert_uint_eq(cm_tape_bytes(joined.tape, CM_MEM_WORK) + 2 * bytes, cm_tape_bytes(half.tape, CM_MEM_WORK));
    cm_tape_destroy(half.tape);
    cm_tape_destroy(joined.tape);
}
END_TEST

START_TEST(sums_that_two_norms_see_and_float32_are_not_joined) {
    cm_norm_vars norm;
    small s = record(CM_BF16, false);
    norm = (cm_norm_vars){vector(s.tape, SCALE), vector(s.tape, SHIFT), cm_tape_constant(s.tape, CHANNELS, 0.0f),
                          cm_tape_constant(s.tape, CHANNELS, 1.0f), CM_NO_VAR};
    cm_tape_result(s.tape, cm_tape_fixed_norm(s.tape, s.sums[0], &norm, CM_ACT_NONE));
    ck_assert_int_eq(cm_tape_half_activations(s.tape), CM_OK);
    ck_assert_int_eq(cm_tape_shape(s.tape, s.sums[0])->dtype, CM_BF16);
    cm_tape_join_norms(s.tape);
    ck_assert_int_eq(s.tape->forward.count, 5);
    ck_assert_int_eq(s.tape->forward.node[0].op, CM_OP_conv2d);
    cm_tape_destroy(s.tape);
    s = record(CM_BF16, false);
    cm_tape_join_norms(s.tape);
    ck_assert_int_eq(s.tape->forward.count, 5);
    cm_tape_destroy(s.tape);
}
END_TEST

START_TEST(what_others_see_stays_float32) {
    float result[2][CELLS * CHANNELS], head[2][CELLS * HEAD];
    small wide = record(CM_BF16, true), half = record(CM_BF16, true);
    ck_assert_int_eq(cm_tape_half_activations(half.tape), CM_OK);
    ck_assert_int_eq(cm_tape_shape(half.tape, half.block)->dtype, CM_F32);
    ck_assert_int_eq(cm_tape_shape(half.tape, half.sums[1])->dtype, CM_BF16);
    play(&wide, result[0], head[0]);
    play(&half, result[1], head[1]);
    for (int i = 0; i < CELLS * CHANNELS; i++) /* only what a convolution gives was in 16 bits, and was before */
        ck_assert_float_eq_tol(result[1][i], result[0][i], 1e-5f);
}
END_TEST

/* The second convolution, with its norm, reads the block in float32; so does the head, of 16 bits. */
START_TEST(a_layer_in_8_bits_reads_and_writes_float32_among_those_of_16_bits) {
    float result[2][CELLS * CHANNELS], head[2][CELLS * HEAD];
    small exact = record(CM_F32, false), mixed = record(CM_BF16, false);
    const cm_tape_node *second = &mixed.tape->forward.node[2];
    ck_assert_int_eq(second->t[CM_T_conv2d_y], mixed.sums[1]);
    mixed.tape->var[second->t[CM_T_conv2d_weight]].range = 8.0f;
    ck_assert_int_eq(cm_tape_finish_inference(mixed.tape, &cuda), CM_OK);
    ck_assert_int_eq(mixed.tape->forward.count, 3);
    ck_assert_int_eq(mixed.tape->forward.node[0].attr.compute, CM_BF16);
    ck_assert_int_eq(mixed.tape->forward.node[1].attr.compute, CM_I8);
    ck_assert_int_eq(cm_tape_shape(mixed.tape, mixed.block)->dtype, CM_F32);
    play(&exact, result[0], head[0]);
    play(&mixed, result[1], head[1]);
    ck_assert_double_lt(distance(result[1], result[0], CELLS * CHANNELS), 0.02);
    ck_assert_double_lt(distance(head[1], head[0], CELLS * HEAD), 0.02);
}
END_TEST

START_TEST(tapes_that_compute_in_float32_stay_as_they_are) {
    small s = record(CM_F32, false);
    ck_assert_int_eq(cm_tape_half_activations(s.tape), CM_OK);
    ck_assert_int_eq(cm_tape_shape(s.tape, s.block)->dtype, CM_F32);
    cm_tape_destroy(s.tape);
}
END_TEST

/* ---- training ---- */

/* A stem and a residual block of batch norms, and a loss of what comes out. */
typedef struct trained {
    cm_tape *tape;
    cm_var stem, block, loss;
} trained;

static cm_var norm_after(cm_tape *tape, cm_var x, cm_var residual, cm_activation activation) {
    const cm_param state[2] = {
        {.ndim = 1, .dim = {CHANNELS, 1, 1, 1}, .count = CHANNELS, .state = true},
        {.ndim = 1, .dim = {CHANNELS, 1, 1, 1}, .offset = CHANNELS, .count = CHANNELS, .state = true}};
    const cm_norm_vars norm = {vector(tape, SCALE), vector(tape, SHIFT), cm_tape_param(tape, &state[0]),
                               cm_tape_param(tape, &state[1]), residual};
    return cm_tape_batch_norm(tape, x, &norm, activation);
}

static trained record_training(cm_dtype compute, bool use_half) {
    const int dim[4] = {BATCH, HEIGHT, WIDTH, CHANNELS}, row[2] = {BATCH, CELLS / BATCH * CHANNELS};
    trained t = {0};
    ck_assert_int_eq(cm_tape_create(true, compute, &t.tape), CM_OK);
    cm_tape *tape = t.tape;
    const cm_var x = cm_tape_input(tape, CM_F32, 4, dim), target = cm_tape_input(tape, CM_F32, 2, row);
    const cm_var weights[2] = {weight(tape, CHANNELS, WINDOW, FIRST), weight(tape, CHANNELS, WINDOW, SECOND)};
    t.stem = norm_after(tape, cm_tape_conv2d(tape, x, weights[0], CM_NO_VAR, 1, CM_ACT_NONE), CM_NO_VAR, CM_ACT_RELU);
    t.block =
        norm_after(tape, cm_tape_conv2d(tape, t.stem, weights[1], CM_NO_VAR, 1, CM_ACT_NONE), CM_NO_VAR, CM_ACT_NONE);
    const cm_var sums = cm_tape_conv2d(tape, t.block, weights[0], CM_NO_VAR, 1, CM_ACT_NONE);
    const cm_var y = norm_after(tape, sums, t.stem, CM_ACT_RELU);
    t.loss = cm_tape_square_loss(tape, cm_tape_flatten(tape, y), target, cm_tape_constant(tape, BATCH, 1.0f)).loss;
    cm_tape_result(tape, t.loss);
    if (use_half) cm_tape_use_half(tape);
    ck_assert_msg(cm_tape_finish(tape) == CM_OK, "%s", cm_error_message());
    return t;
}

/* Gradients of all parameters; returns the launches of the pass. */
static int play_training(trained *t, float gradient[PARAMETERS]) {
    static float both[2 * CELLS * CHANNELS];
    float state[2 * CHANNELS] = {0}, stats[3 * 2 * CHANNELS];
    cm_pass *pass;
    memcpy(both, input, sizeof input);
    for (int i = 0; i < CELLS * CHANNELS; i++) both[CELLS * CHANNELS + i] = some(3 * i);
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = parameters,
                                [CM_MEM_STATE] = state,
                                [CM_MEM_STATS] = stats,
                                [CM_MEM_INPUT] = both,
                                [CM_MEM_GRADIENT] = gradient};
    memset(gradient, 0, PARAMETERS * sizeof *gradient);
    ck_assert_uint_eq(cm_tape_bytes(t->tape, CM_MEM_STATS), sizeof stats);
    ck_assert_uint_eq(cm_tape_bytes(t->tape, CM_MEM_INPUT), sizeof both);
    ck_assert_msg(cm_pass_create(t->tape, stream, base, &pass) == CM_OK, "%s", cm_error_message());
    const int before = cuda_cpu_launches;
    ck_assert_int_eq(cm_pass_forward(pass), CM_OK);
    ck_assert_int_eq(cm_pass_backward(pass), CM_OK);
    const int launches = cuda_cpu_launches - before;
    cm_pass_destroy(pass);
    cm_tape_destroy(t->tape);
    return launches;
}

/* The gradient of the stem's activations is added to by the convolution of the block in 16 bits. */
START_TEST(training_in_activations_of_16_bits_has_the_gradients_of_float32_to_rounding) {
    static float exact[PARAMETERS], wide[PARAMETERS], half[PARAMETERS];
    const cm_dtype type = _i ? CM_F16 : CM_BF16;
    trained t[3] = {record_training(CM_F32, true), record_training(type, false), record_training(type, true)};
    ck_assert_int_eq(cm_tape_shape(t[0].tape, t[0].stem)->dtype, CM_F32);
    ck_assert_int_eq(cm_tape_shape(t[1].tape, t[1].stem)->dtype, CM_F32);
    const cm_var of_16_bits[4] = {t[2].stem, t[2].block, t[2].tape->var[t[2].stem].grad,
                                  t[2].tape->var[t[2].block].grad};
    for (int i = 0; i < 4; i++) ck_assert_int_eq(cm_tape_shape(t[2].tape, of_16_bits[i])->dtype, type);
    play_training(&t[0], exact);
    ck_assert_int_eq(play_training(&t[1], wide), 36);
    ck_assert_int_eq(play_training(&t[2], half), 24);
    const struct {
        int first, count;
    } parts[] = {{FIRST, LAYER}, {SECOND, LAYER}, {SCALE, CHANNELS}, {SHIFT, CHANNELS}};
    for (int i = 0; i < 4; i++) {
        const int first = parts[i].first, count = parts[i].count;
        const double apart = distance(half + first, exact + first, count),
                     rounded = distance(wide + first, exact + first, count);
        ck_assert_msg(apart < 3 * rounded + 1e-3, "part %d: %g of the norm apart, in float32 activations %g", i, apart,
                      rounded);
    }
}
END_TEST

START_TEST(a_backend_of_float32_alone_refuses_them_and_is_not_given_any) {
    cm_backend *ref;
    cm_stream *of_ref;
    cm_pass *pass;
    ck_assert_int_eq(cm_backend_open("ref", &ref), CM_OK);
    ck_assert_int_eq(cm_stream_open(ref, &of_ref), CM_OK);
    small s = record(CM_BF16, false);
    ck_assert_int_eq(cm_tape_half_activations(s.tape), CM_OK);
    ck_assert_int_eq(cm_tape_finish(s.tape), CM_OK);
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = parameters, [CM_MEM_INPUT] = input};
    ck_assert_int_eq(cm_pass_create(s.tape, of_ref, base, &pass), CM_ERR_INPUT);
    ck_assert_str_eq(cm_error_message(), "conv2d: backend ref takes no tensors of 16 bits");
    cm_tape_destroy(s.tape);
    s = record(CM_BF16, false);
    ck_assert_int_eq(cm_tape_finish_inference(s.tape, ref), CM_OK);
    ck_assert_int_eq(s.tape->forward.count, 5);
    ck_assert_int_eq(cm_tape_shape(s.tape, s.block)->dtype, CM_F32);
    cm_tape_destroy(s.tape);
    cm_stream_close(of_ref);
    cm_backend_close(ref);
}
END_TEST

/* ---- batch norms, call by call ---- */

typedef struct norm_case {
    int dim[4];
    cm_dtype type;
    bool relu;
    char residual; /* 'h': of 16 bits, 'w': of float32, '-': none */
    bool wide;     /* y and dy are of float32 */
    bool adds;     /* gradients are added to what is there */
} norm_case;

/* One chunk and several; lanes that have no row; fewer rows than a lane reads at once. */
static const norm_case norm_cases[] = {
    {{1, 1, 3, 8}, CM_BF16, true, '-', false, false},    {{2, 37, 29, 8}, CM_F16, false, 'h', false, true},
    {{2, 5, 6, 264}, CM_BF16, true, 'w', false, true},   {{3, 9, 7, 96}, CM_F16, true, 'h', true, false},
    {{1, 40, 13, 32}, CM_BF16, false, '-', true, false}, {{2, 1, 1, 2048}, CM_BF16, true, 'h', false, false},
    {{4, 11, 13, 64}, CM_F16, true, 'w', true, true},    {{2, 33, 17, 24}, CM_BF16, true, 'h', false, false}};
enum { NORM_CASES = sizeof norm_cases / sizeof *norm_cases };

/* Float32 as calls of ref read it, and what a call in 16 bits reads in its place. */
typedef struct both {
    float *wide;
    uint16_t *half;
} both;

static size_t norm_elements(const norm_case *n) {
    return (size_t)n->dim[0] * (size_t)n->dim[1] * (size_t)n->dim[2] * (size_t)n->dim[3];
}

/* Numbers that 16 bits can hold. */
static both numbers_of(const norm_case *n, int seed) {
    const size_t count = norm_elements(n);
    both b = {calloc(count, sizeof(float)), calloc(count, sizeof(uint16_t))};
    for (size_t i = 0; i < count; i++) {
        b.half[i] = cm_to_half(3.0f * some((int)i * (seed + 1) + seed) + 0.25f, n->type);
        b.wide[i] = cm_widen(b.half[i], n->type);
    }
    return b;
}

static void free_both(both *b) {
    free(b->wide);
    free(b->half);
}

/* The tensor for ref, or for the call in 16 bits. */
static cm_tensor planes(const norm_case *n, const both *b, bool half) {
    return half ? cm_tensor_make(b->half, n->type, 4, n->dim) : cm_tensor_make(b->wide, CM_F32, 4, n->dim);
}

static cm_tensor channels_of(const norm_case *n, float *data, int rows) {
    const int one[1] = {n->dim[3]}, two[2] = {rows, n->dim[3]};
    return rows == 1 ? cm_tensor_make(data, CM_F32, 1, one) : cm_tensor_make(data, CM_F32, 2, two);
}

static cm_attr norm_attr(const norm_case *n, bool half) {
    return (cm_attr){
        .activation = n->relu ? CM_ACT_RELU : CM_ACT_NONE, .epsilon = 1e-5f, .compute = half ? n->type : CM_F32};
}

static void run_call(cm_stream *on, cm_call *call) {
    ck_assert_msg(cm_call_prepare(on, call) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_call_run(on, call) == CM_OK, "%s", cm_error_message());
}

/* Of numbers that were rounded once to 16 bits, or `share` of the largest. */
static void compare_norms(const norm_case *n, const char *what, const both *got, const float *want, bool half) {
    const size_t count = norm_elements(n);
    const float share = half ? (n->type == CM_BF16 ? 8e-3f : 1e-3f) : 1e-4f;
    for (size_t i = 0; i < count; i++) {
        const float found = half ? cm_widen(got->half[i], n->type) : got->wide[i];
        if (!(fabsf(found - want[i]) <= share * (fabsf(want[i]) + 0.05f)))
            ck_abort_msg("case %d: %s[%zu] is %g, not %g", (int)(n - norm_cases), what, i, (double)found,
                         (double)want[i]);
    }
}

static void compare_channels(const norm_case *n, const char *what, const float *got, const float *want, int rows) {
    float most = 0.0f;
    for (int i = 0; i < rows * n->dim[3]; i++) most = fmaxf(most, fabsf(want[i]));
    for (int i = 0; i < rows * n->dim[3]; i++)
        if (!(fabsf(got[i] - want[i]) <= 2e-4f * most))
            ck_abort_msg("case %d: %s[%d] is %g, not %g", (int)(n - norm_cases), what, i, (double)got[i],
                         (double)want[i]);
}

/* Vectors of channels, for ref and for 16 bits. */
typedef struct norm_vectors {
    float scale[2048], shift[2048], saved[2][2 * 2048], stats[2][2 * 2048], dscale[2][2048], dshift[2][2048];
} norm_vectors;
static norm_vectors vectors;

static void norm_forward(const norm_case *n, cm_stream *on, bool half, const both *x, const both *residual, both *y) {
    cm_call call = {.op = CM_OP_batch_norm, .attr = norm_attr(n, half)};
    call.t[CM_T_batch_norm_y] = planes(n, y, half && !n->wide);
    call.t[CM_T_batch_norm_x] = planes(n, x, half);
    if (n->residual != '-') call.t[CM_T_batch_norm_residual] = planes(n, residual, half && n->residual == 'h');
    call.t[CM_T_batch_norm_saved] = channels_of(n, vectors.saved[half], 2);
    call.t[CM_T_batch_norm_stats] = channels_of(n, vectors.stats[half], 2);
    call.t[CM_T_batch_norm_scale] = channels_of(n, vectors.scale, 1);
    call.t[CM_T_batch_norm_shift] = channels_of(n, vectors.shift, 1);
    run_call(on, &call);
}

static void norm_backward(const norm_case *n, cm_stream *on, bool half, const both *x, const both *y, const both *dy,
                          both *dx, both *dresidual) {
    cm_call call = {.op = CM_OP_batch_norm_backward, .attr = norm_attr(n, half)};
    call.t[CM_T_batch_norm_backward_dx] = planes(n, dx, half);
    if (n->residual != '-')
        call.t[CM_T_batch_norm_backward_dresidual] = planes(n, dresidual, half && n->residual == 'h');
    call.t[CM_T_batch_norm_backward_dscale] = channels_of(n, vectors.dscale[half], 1);
    call.t[CM_T_batch_norm_backward_dshift] = channels_of(n, vectors.dshift[half], 1);
    call.t[CM_T_batch_norm_backward_dy] = planes(n, dy, half && !n->wide);
    call.t[CM_T_batch_norm_backward_y] = planes(n, y, half && !n->wide);
    call.t[CM_T_batch_norm_backward_x] = planes(n, x, half);
    call.t[CM_T_batch_norm_backward_saved] = channels_of(n, vectors.saved[half], 2);
    call.t[CM_T_batch_norm_backward_scale] = channels_of(n, vectors.scale, 1);
    if (n->adds) call.attr.accumulate = 1u << CM_T_batch_norm_backward_dx | 1u << CM_T_batch_norm_backward_dscale;
    if (n->adds && n->residual != '-') call.attr.accumulate |= 1u << CM_T_batch_norm_backward_dresidual;
    run_call(on, &call);
}

START_TEST(norms_of_16_bits_are_those_of_float32_to_one_rounding) {
    const norm_case *n = &norm_cases[_i];
    cm_backend *ref;
    cm_stream *of_ref;
    ck_assert_int_eq(cm_backend_open("ref", &ref), CM_OK);
    ck_assert_int_eq(cm_stream_open(ref, &of_ref), CM_OK);
    for (int i = 0; i < n->dim[3]; i++) {
        vectors.scale[i] = 1.0f + some(i), vectors.shift[i] = some(3 * i);
        for (int k = 0; k < 2; k++) vectors.dscale[k][i] = vectors.dshift[k][i] = 0.5f + some(i);
    }
    both x = numbers_of(n, 1), residual = numbers_of(n, 2), dy = numbers_of(n, 3);
    both y[2] = {numbers_of(n, 4), numbers_of(n, 4)}, dx[2] = {numbers_of(n, 5), numbers_of(n, 5)};
    both dresidual[2] = {numbers_of(n, 6), numbers_of(n, 6)};
    norm_forward(n, of_ref, false, &x, &residual, &y[0]);
    norm_forward(n, stream, true, &x, &residual, &y[1]);
    compare_norms(n, "y", &y[1], y[0].wide, !n->wide);
    compare_channels(n, "saved", vectors.saved[1], vectors.saved[0], 2);
    compare_channels(n, "stats", vectors.stats[1], vectors.stats[0], 2);
    memcpy(vectors.saved[1], vectors.saved[0], sizeof vectors.saved[0]);
    for (size_t i = 0; i < norm_elements(n); i++) { /* which of them relu has made 0 */
        y[1].half[i] = cm_to_half(y[0].wide[i], n->type);
        y[1].wide[i] = y[0].wide[i] = cm_widen(y[1].half[i], n->type);
    }
    norm_backward(n, of_ref, false, &x, &y[0], &dy, &dx[0], &dresidual[0]);
    norm_backward(n, stream, true, &x, &y[1], &dy, &dx[1], &dresidual[1]);
    compare_norms(n, "dx", &dx[1], dx[0].wide, true);
    if (n->residual != '-') compare_norms(n, "dresidual", &dresidual[1], dresidual[0].wide, n->residual == 'h');
    compare_channels(n, "dscale", vectors.dscale[1], vectors.dscale[0], 1);
    compare_channels(n, "dshift", vectors.dshift[1], vectors.dshift[0], 1);
    both *all[] = {&x, &residual, &dy, &y[0], &y[1], &dx[0], &dx[1], &dresidual[0], &dresidual[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free_both(all[i]);
    cm_stream_close(of_ref);
    cm_backend_close(ref);
}
END_TEST

/* ---- updates of residual networks ---- */

enum { ROWS = 4, STEPS = 3, BLOCKS = 2 };

static cm_tape *record_update(void) {
    cm_network_config c;
    cm_trainer_options o;
    cm_network *network;
    cm_unroll unroll = {0};
    cm_test_update_kind(6, &c, &o);
    c.observation[0] = HEIGHT, c.observation[1] = WIDTH, c.channels = CHANNELS, c.blocks = BLOCKS;
    ck_assert_int_eq(cm_network_create(&c, &network), CM_OK);
    const cm_trainer_config config = {
        .network = network, .backend = &cuda, .options = &o, .unroll = STEPS, .compute = CM_BF16};
    ck_assert_msg(cm_unroll_record(&config, ROWS, 0, &unroll) == CM_OK, "%s", cm_error_message());
    cm_network_destroy(network);
    return unroll.tape;
}

static bool is_wide(const cm_tape *tape, cm_var x) { return cm_tape_shape(tape, x)->dtype == CM_F32; }

/* Wide is what comes in from elsewhere: the observation, states with actions, scaled states. */
START_TEST(an_update_of_a_residual_network_has_activations_of_16_bits) {
    cm_tape *tape = record_update();
    int sums = 0, wide = 0;
    for (int i = 0; i < tape->forward.count; i++) {
        const cm_tape_node *node = &tape->forward.node[i];
        if (!cm_tape_is_plain(node)) continue;
        ck_assert(!is_wide(tape, node->t[CM_T_conv2d_y]));
        sums++;
        wide += is_wide(tape, node->t[CM_T_conv2d_x]);
    }
    ck_assert_int_eq(sums, 1 + 2 * BLOCKS + STEPS * (1 + 2 * BLOCKS) + (STEPS + 1) * 2 * BLOCKS);
    ck_assert_int_eq(wide, 1 + STEPS + STEPS + 1);
    cm_tape_destroy(tape);
}
END_TEST

START_TEST(a_convolution_has_one_gradient_call_for_all_steps) {
    cm_tape *tape = record_update();
    int weights = 0, rows = 0;
    for (int i = 0; i < tape->backward.count; i++) {
        const cm_tape_node *node = &tape->backward.node[i];
        if (node->op != CM_OP_conv2d_backward || node->t[CM_T_conv2d_backward_dbias] != CM_NO_VAR) continue;
        if (node->t[CM_T_conv2d_backward_dweight] == CM_NO_VAR) continue;
        weights++;
        rows += cm_tape_shape(tape, node->t[CM_T_conv2d_backward_dy])->dim[0];
    }
    ck_assert_int_eq(weights, 3 * 2 * BLOCKS + 2);
    ck_assert_int_eq(rows, ROWS * ((1 + 2 * BLOCKS) * (1 + STEPS) + 2 * BLOCKS * (STEPS + 1)));
    cm_tape_destroy(tape);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_half");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, open_backend, close_backend);
    tcase_add_loop_test(tests, activations_of_16_bits_give_the_same_to_rounding_in_fewer_launches, 0, 2);
    tcase_add_loop_test(tests, pictures_of_frames_are_of_16_bits_where_convolutions_alone_read_them, 0, 2);
    tcase_add_test(tests, points_of_a_device_without_tensor_cores_give_the_same);
    tcase_add_test(tests, a_convolution_and_its_norm_become_one_call_of_the_same_bits_apart);
    tcase_add_test(tests, joined_they_are_one_launch_where_the_library_has_it_and_nearer_to_float32);
    tcase_add_test(tests, sums_of_joined_calls_take_no_memory);
    tcase_add_test(tests, sums_that_two_norms_see_and_float32_are_not_joined);
    tcase_add_test(tests, what_others_see_stays_float32);
    tcase_add_test(tests, a_layer_in_8_bits_reads_and_writes_float32_among_those_of_16_bits);
    tcase_add_test(tests, tapes_that_compute_in_float32_stay_as_they_are);
    tcase_add_loop_test(tests, training_in_activations_of_16_bits_has_the_gradients_of_float32_to_rounding, 0, 2);
    tcase_add_test(tests, a_backend_of_float32_alone_refuses_them_and_is_not_given_any);
    tcase_add_loop_test(tests, norms_of_16_bits_are_those_of_float32_to_one_rounding, 0, NORM_CASES);
    tcase_add_test(tests, an_update_of_a_residual_network_has_activations_of_16_bits);
    tcase_add_test(tests, a_convolution_has_one_gradient_call_for_all_steps);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
