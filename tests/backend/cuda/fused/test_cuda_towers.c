/* Residual towers: which calls are one, and that one launch leaves what they leave, whatever the boards, the channels
 * and the types. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_cpu.h"
#include "backend/cuda/fused/segments.h"
#include "backend/cuda/fused/tower.h"
#include "backend/cuda/fused/towers.h"
#include "core/arena.h"
#include "support/infer_bench.h"
#include "support/logged.h"
#include "support/main.h"

/* A pass of convolutions one after the other, its memory, and what they need besides. Activations i and i + 1 are x and
 * y of layer i; every second layer adds what the one before it has read. After the last there is space for one more. */
enum { LAYERS = 4, MORE = CM_TOWER_LAYERS + 3, VECTORS = 4 };
typedef struct setup {
    int channels, boards, height, width, layers;
    cm_dtype type;
    bool wide_x, wide_y;
    int multiprocessors;
} setup;

static cm_backend backend;
static cm_stream *stream;
static cm_call calls[MORE];
static cm_call_list pass;
static cm_buffer work;
static float *weights, *vectors;
static size_t stride; /* bytes between activations */

static float some(int i) { return sinf(1.7f * (float)i + 0.3f * (float)(i % 101)); }

static cm_tensor activations_at(const setup *s, int i) {
    const int dim[4] = {s->boards, s->height, s->width, s->channels};
    const bool wide = (i == 0 && s->wide_x) || (i == s->layers && s->wide_y);
    return cm_tensor_make(work.base + (size_t)i * stride, wide ? CM_F32 : s->type, 4, dim);
}

static cm_tensor vector_at(const setup *s, int i, int which) {
    return cm_tensor_make(vectors + (i * VECTORS + which) * s->channels, CM_F32, 1, &s->channels);
}

static cm_call layer(const setup *s, int i) {
    const int dim[4] = {s->channels, 3, 3, s->channels};
    cm_call call = {.op = CM_OP_conv2d_norm};
    call.attr = (cm_attr){.compute = s->type, .stride = 1, .epsilon = 1e-3f};
    call.attr.activation = i % 3 == 2 ? CM_ACT_NONE : CM_ACT_RELU;
    call.t[CM_T_conv2d_norm_y] = activations_at(s, i + 1);
    call.t[CM_T_conv2d_norm_x] = activations_at(s, i);
    call.t[CM_T_conv2d_norm_weight] = cm_tensor_make(weights + i * s->channels, CM_F32, 4, dim);
    call.t[CM_T_conv2d_norm_scale] = vector_at(s, i, 0);
    call.t[CM_T_conv2d_norm_shift] = vector_at(s, i, 1);
    call.t[CM_T_conv2d_norm_mean] = vector_at(s, i, 2);
    call.t[CM_T_conv2d_norm_variance] = vector_at(s, i, 3);
    if (i % 2 == 1) call.t[CM_T_conv2d_norm_residual] = activations_at(s, i - 1);
    return call;
}

static void fill_x(const setup *s) {
    const cm_tensor x = activations_at(s, 0);
    for (size_t i = 0; i < cm_tensor_count(&x); i++) {
        if (s->wide_x) {
            ((float *)x.data)[i] = some((int)i);
        } else {
            ((uint16_t *)x.data)[i] = cm_to_half(some((int)i), s->type);
        }
    }
}

/* Weights of layers overlap: they begin a row apart. */
static void fill_weights(const setup *s) {
    const int c = s->channels, many = c * 9 * c + s->layers * c;
    weights = calloc((size_t)many, sizeof *weights);
    vectors = calloc((size_t)(s->layers * VECTORS * c), sizeof *vectors);
    ck_assert(weights && vectors);
    for (int i = 0; i < many; i++) weights[i] = some(i + 5) / sqrtf(2.0f * (float)c);
    for (int i = 0; i < s->layers * VECTORS * c; i++) {
        const int which = i / c % VECTORS;
        vectors[i] = which == 0 ? 0.6f + 0.2f * some(i) : which == 3 ? 1.0f + 0.5f * some(i) : 0.3f * some(i);
    }
}

static void prepare_calls(const setup *s) {
    for (int i = 0; i < s->layers; i++) {
        calls[i] = layer(s, i);
        ck_assert_msg(cm_call_prepare(stream, &calls[i]) == CM_OK, "%s", cm_error_message());
    }
}

static void open_setup(const setup *s) {
    const size_t numbers = (size_t)s->boards * (size_t)(s->height * s->width * s->channels);
    cuda_cpu_open(&backend);
    cuda_cpu_limits = (cm_ops_limits){s->multiprocessors, (227 << 10) - CM_BLOCK_KEPT, true};
    cuda_cpu_winner = CUDA_CPU_LAST;
    ck_assert_int_eq(cm_stream_open(&backend, &stream), CM_OK);
    stride = cm_align(numbers * sizeof(float));
    const size_t bytes = (size_t)(s->layers + 1) * stride;
    ck_assert_int_eq(cm_buffer_create(&work, &cm_device_cpu, bytes + stride, "the test"), CM_OK);
    fill_weights(s);
    prepare_calls(s);
    pass = (cm_call_list){
        .calls = calls, .count = s->layers, .work = work.base, .work_bytes = bytes, .infers = true, .version = 1};
}

static void close_setup(void) {
    cm_stream_close(stream);
    cuda_cpu_close(&backend);
    cm_buffer_destroy(&work);
    free(weights);
    free(vectors);
}

/* The last activations, in float32; freed by the caller. */
static float *results(const setup *s) {
    const cm_tensor y = activations_at(s, s->layers);
    const size_t n = cm_tensor_count(&y);
    float *out = malloc(n * sizeof *out);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < n; i++)
        out[i] = s->wide_y ? ((const float *)y.data)[i] : cm_widen(((const uint16_t *)y.data)[i], s->type);
    return out;
}

static float *by_calls(const setup *s) {
    fill_x(s);
    for (int i = 0; i < s->layers; i++)
        ck_assert_msg(cm_call_run(stream, &calls[i]) == CM_OK, "%s", cm_error_message());
    return results(s);
}

/* What stands after y is no call's, and activations between layers stay in blocks. */
enum { NONSENSE = 0xff };
static void check_nonsense(const unsigned char *from, const unsigned char *end, const char *where) {
    for (const unsigned char *at = from; at < end; at++)
        if (*at != NONSENSE) ck_abort_msg("byte %td %s the last activations is written", at - from, where);
}

static float *by_tower(const setup *s) {
    cm_tower *tower = NULL;
    fill_x(s);
    ck_assert_msg(cm_tower_create(stream, &pass, 0, s->layers, &tower) == CM_OK, "%s", cm_error_message());
    ck_assert_ptr_nonnull(tower);
    fill_x(s);
    const cm_tensor y = activations_at(s, s->layers);
    const unsigned char *first = work.base + stride, *last = y.data, *end = last + cm_tensor_bytes(&y);
    memset(work.base + stride, NONSENSE, (size_t)s->layers * stride + stride);
    const int before = cuda_cpu_launches;
    ck_assert_int_eq(cm_tower_run(stream, &pass, tower), CM_OK);
    ck_assert_int_eq(cuda_cpu_launches - before, 1);
    cm_tower_free(tower);
    check_nonsense(first, last, "of those in front of");
    check_nonsense(end, end + stride, "behind");
    return results(s);
}

/* Within `share` of the largest number. */
static void compare(const setup *s, const float *got, const float *want, float share) {
    const int n = s->boards * s->height * s->width * s->channels;
    float most = 0.0f;
    for (int i = 0; i < n; i++) most = fmaxf(most, fabsf(want[i]));
    ck_assert_float_gt(most, 0.5f);
    for (int i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= share * most))
            ck_abort_msg("board %d, row %d, column %d, channel %d: %g, not %g", i / s->channels / s->width / s->height,
                         i / s->channels / s->width % s->height, i / s->channels % s->width, i % s->channels,
                         (double)got[i], (double)want[i]);
}

/* ---- one launch leaves what the calls leave ---- */

/* Boards that fill tiles exactly, side by side and one after the other, and those that do not, by one place, too;
 * of one row, or one column; rows of boards longer than tiles; the last block with fewer boards; tiles of one group
 * alone; every number of channels; more blocks than there are places to begin at. */
static const setup setups[] = {
    {32, 15, 6, 7, 2, CM_BF16, false, true, 1},  {32, 5, 3, 3, 3, CM_F16, true, false, 1},
    {32, 7, 1, 6, 2, CM_BF16, true, true, 1},    {32, 3, 7, 1, 2, CM_BF16, false, false, 1},
    {32, 7, 3, 8, 2, CM_F16, false, false, 1},   {32, 24, 2, 7, 2, CM_BF16, false, true, 1},
    {48, 7, 5, 5, 4, CM_F16, true, true, 1},     {48, 1, 2, 3, 2, CM_BF16, false, false, 132},
    {64, 3, 9, 9, 2, CM_BF16, true, true, 1},    {64, 4, 3, 15, 2, CM_F16, false, true, 1},
    {96, 4, 4, 5, 3, CM_BF16, true, true, 1},    {96, 3, 3, 9, 2, CM_F16, false, false, 132},
    {128, 2, 3, 5, 3, CM_BF16, true, false, 1},  {128, 8, 2, 7, 2, CM_F16, false, true, 132},
    {32, 11, 5, 6, 2, CM_BF16, true, false, 132}};
enum { SETUPS = sizeof setups / sizeof *setups };

START_TEST(a_tower_leaves_what_its_calls_leave) {
    const setup *s = &setups[_i];
    open_setup(s);
    ck_assert_int_eq(cm_tower_reach(&pass, 0), s->layers);
    float *want = by_calls(s), *got = by_tower(s);
    compare(s, got, want, s->type == CM_BF16 ? 1.5e-2f : 2e-3f);
    ck_assert_int_eq(cuda_cpu_chosen.launches[1], 1);
    free(want), free(got);
    close_setup();
}
END_TEST

/* Sums of products that are whole numbers have no rounding, in whatever order they are added. */
START_TEST(without_rounding_the_bits_are_those_of_the_calls) {
    const setup s = {32, 15, 6, 7, 1, CM_BF16, true, true, 1};
    open_setup(&s);
    for (int i = 0; i < 32 * 9 * 32; i++) weights[i] = (float)(i * 7 % 5 - 2);
    for (int i = 0; i < 32; i++)
        vectors[i] = 1.0f, vectors[32 + i] = (float)(i % 4), vectors[64 + i] = 0.0f, vectors[96 + i] = 1.0f;
    calls[0].attr.epsilon = 0.0f;
    ck_assert_int_eq(cm_call_prepare(stream, &calls[0]), CM_OK);
    ck_assert_int_eq(cm_backend_repack(&backend, weights, 32 * 9 * 32 * sizeof(float), NULL), CM_OK);
    cm_tower_args args;
    ck_assert(cm_tower_build(calls, 1, &cuda_cpu_limits, &args));
    ck_assert_int_eq(args.share, 8);
    const cm_tensor x = activations_at(&s, 0);
    for (size_t i = 0; i < cm_tensor_count(&x); i++) ((float *)x.data)[i] = (float)((int)(i * 11 % 7) - 3);
    ck_assert_int_eq(cm_call_run(stream, &calls[0]), CM_OK);
    float *want = results(&s);
    ck_assert_int_eq(cm_tower_launch(&args, 32, CM_BF16, stream->state), 0);
    float *got = results(&s);
    for (size_t i = 0; i < cm_tensor_count(&x); i++) ck_assert_float_eq(got[i], want[i]);
    free(want), free(got);
    close_setup();
}
END_TEST

START_TEST(what_is_no_number_stays_on_its_board_and_is_seen) {
    const setup s = {32, 5, 3, 4, 2, CM_BF16, true, true, 1};
    open_setup(&s);
    const size_t board = 3 * 4 * 32, at = 2 * board + 5 * 32 + 3;
    cm_tower_args args;
    float *want = by_calls(&s);
    ck_assert(cm_tower_build(calls, s.layers, &cuda_cpu_limits, &args));
    fill_x(&s);
    ((float *)activations_at(&s, 0).data)[at] = NAN;
    ck_assert_int_eq(cm_tower_launch(&args, 32, CM_BF16, stream->state), 0);
    float *got = results(&s);
    for (size_t i = 0; i < 5 * board; i++) {
        if (i / board == 2) continue;
        ck_assert_float_eq_tol(got[i], want[i], 5e-2f);
    }
    ck_assert(isnan(got[at]));
    free(want), free(got);
    close_setup();
}
END_TEST

/* ---- which calls are one ---- */

static const setup small = {32, 3, 3, 4, LAYERS, CM_BF16, true, true, 1};

static void open_small(void) { open_setup(&small); }

START_TEST(more_layers_than_a_launch_takes_are_two_towers) {
    const setup s = {32, 1, 1, 1, MORE, CM_BF16, false, false, 1};
    open_setup(&s);
    ck_assert_int_eq(cm_tower_reach(&pass, 0), CM_TOWER_LAYERS);
    ck_assert_int_eq(cm_tower_reach(&pass, CM_TOWER_LAYERS), MORE - CM_TOWER_LAYERS);
    for (int i = 0; i < MORE; i++) calls[i].t[CM_T_conv2d_norm_residual].data = NULL; /* it may end anywhere */
    ck_assert_int_eq(cm_tower_reach(&pass, 0), CM_TOWER_LAYERS);
    close_setup();
}
END_TEST

START_TEST(activations_that_others_see_end_a_tower) {
    cm_call more[LAYERS + 1];
    memcpy(more, calls, sizeof(cm_call) * LAYERS);
    more[LAYERS] = (cm_call){.op = CM_OP_batch_norm_inference};
    more[LAYERS].t[CM_T_batch_norm_inference_x] = activations_at(&small, 2);
    pass.calls = more, pass.count = LAYERS + 1;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 2);
    ck_assert_int_eq(cm_tower_reach(&pass, 2), 2);
    ck_assert_int_eq(cm_tower_reach(&pass, 4), 0);
    more[LAYERS].t[CM_T_batch_norm_inference_x] = activations_at(&small, LAYERS);
    ck_assert_int_eq(cm_tower_reach(&pass, 0), LAYERS);
}
END_TEST

/* A residual from further up, or of the first layer. */
START_TEST(other_residuals_are_none) {
    ck_assert_int_eq(cm_tower_reach(&pass, 1), 0);
    calls[3].t[CM_T_conv2d_norm_residual] = activations_at(&small, 1);
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 0); /* activations 1 are seen by a call that is no layer of it */
    calls[3].t[CM_T_conv2d_norm_residual] = activations_at(&small, 0);
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 3);
}
END_TEST

START_TEST(other_calls_are_none) {
    const cm_call third = calls[2];
    calls[2].branch = 1;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 2);
    calls[2] = third, calls[2].attr.compute = CM_F16;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 2);
    calls[2] = third, calls[2].attr.stride = 2;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 2);
    calls[2] = third, calls[2].attr.activation = CM_ACT_TANH;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 2);
    calls[2] = third, calls[2].t[CM_T_conv2d_norm_weight].dim[1] = 1;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 2);
    calls[2] = third, calls[2].t[CM_T_conv2d_norm_weight].dim[0] = 64;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 2);
    calls[2] = third, calls[1].t[CM_T_conv2d_norm_y].dtype = CM_F32;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 2);
    calls[1].t[CM_T_conv2d_norm_y].dtype = CM_BF16;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), LAYERS);
    calls[0].t[CM_T_conv2d_norm_weight].dim[3] = 64;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 0);
}
END_TEST

/* Sixteen bytes are brought at once. */
START_TEST(activations_that_begin_anywhere_are_none) {
    cm_tensor *x = &calls[0].t[CM_T_conv2d_norm_x], *y = &calls[LAYERS - 1].t[CM_T_conv2d_norm_y];
    y->dtype = CM_BF16, y->data = (uint16_t *)y->data + 4;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), LAYERS - 2); /* the last one adds what another has made */
    x->dtype = CM_BF16, x->data = (uint16_t *)x->data + 4;
    calls[1].t[CM_T_conv2d_norm_residual] = *x;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 0);
}
END_TEST

/* Passes that train have no memory of their own; what a pass does not own is not overwritten to measure it. */
START_TEST(memory_that_others_look_at_is_none) {
    pass.work = work.base + stride, pass.work_bytes -= stride;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 0);
    const cm_tensor third = activations_at(&small, 3);
    pass.work = work.base, pass.work_bytes = 3 * stride + cm_tensor_bytes(&third);
    ck_assert_int_eq(cm_tower_reach(&pass, 0), LAYERS);
    pass.work_bytes--;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 2);
    pass.work = NULL;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 0);
}
END_TEST

START_TEST(a_result_in_the_place_of_what_is_read_is_none) {
    pass.count = 2;
    calls[1].t[CM_T_conv2d_norm_y].data = activations_at(&small, 0).data;
    ck_assert_int_eq(cm_tower_reach(&pass, 0), 0);
}
END_TEST

/* ---- boards of a block ---- */

START_TEST(a_block_has_as_many_boards_as_keep_all_multiprocessors_busy) {
    const struct {
        int boards, multiprocessors, share;
    } cases[] = {{1024, 132, 8}, {1024, 128, 8}, {1, 132, 1},    {132, 132, 1}, {133, 132, 2},
                 {300, 132, 4},  {1200, 132, 5}, {1500, 132, 6}, {2048, 132, 8}};
    cm_call call = calls[0];
    cm_tower_args args;
    call.t[CM_T_conv2d_norm_x].dim[1] = 6, call.t[CM_T_conv2d_norm_x].dim[2] = 7;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cuda_cpu_limits.multiprocessors = cases[i].multiprocessors;
        call.t[CM_T_conv2d_norm_x].dim[0] = cases[i].boards;
        ck_assert(cm_tower_build(&call, 1, &cuda_cpu_limits, &args));
        ck_assert_int_eq(args.share, cases[i].share);
    }
}
END_TEST

/* Connect4 with 128 channels fills an H100's multiprocessor to the last byte. */
START_TEST(a_block_has_space_for_its_boards_or_there_is_none) {
    cm_tower_args args;
    cm_call call = calls[0];
    call.t[CM_T_conv2d_norm_x].dim[0] = 1024, call.t[CM_T_conv2d_norm_x].dim[1] = 6;
    call.t[CM_T_conv2d_norm_x].dim[2] = 7, call.t[CM_T_conv2d_norm_x].dim[3] = 128;
    cuda_cpu_limits.multiprocessors = 132;
    ck_assert(cm_tower_build(&call, 1, &cuda_cpu_limits, &args));
    ck_assert_int_eq(args.share, 8);
    ck_assert_uint_eq(args.memory, (227 << 10) - CM_BLOCK_KEPT);
    cuda_cpu_limits.block_bytes--;
    ck_assert(cm_tower_build(&call, 1, &cuda_cpu_limits, &args));
    ck_assert_int_lt(args.share, 8);
    cuda_cpu_limits.block_bytes = 48 << 10;
    ck_assert(!cm_tower_build(&call, 1, &cuda_cpu_limits, &args));
    cuda_cpu_limits.block_bytes = 227 << 10, call.t[CM_T_conv2d_norm_x].dim[3] = 40;
    ck_assert(!cm_tower_build(&call, 1, &cuda_cpu_limits, &args));
    call.t[CM_T_conv2d_norm_x].dim[3] = 32, cuda_cpu_limits.multiplies_16_bits = false;
    ck_assert(!cm_tower_build(&call, 1, &cuda_cpu_limits, &args));
    cuda_cpu_limits.multiplies_16_bits = true, call.t[CM_T_conv2d_norm_x].dim[2] = 19;
    call.t[CM_T_conv2d_norm_x].dim[1] = 20;
    ck_assert(!cm_tower_build(&call, 1, &cuda_cpu_limits, &args)); /* more tiles than a block has */
}
END_TEST

/* ---- whether it is one ---- */

static bool is_tower(void) {
    cm_tower *tower = NULL;
    fill_x(&small);
    ck_assert_int_eq(cm_tower_create(stream, &pass, 0, LAYERS, &tower), CM_OK);
    const bool is_one = tower != NULL;
    cm_tower_free(tower);
    return is_one;
}

START_TEST(where_the_calls_are_faster_it_is_none) {
    ck_assert(is_tower());
    cuda_cpu_winner = 0;
    ck_assert(!is_tower());
}
END_TEST

START_TEST(its_layers_are_tried_once) {
    cm_fused_segments *all = NULL;
    cuda_cpu_winner = 0;
    const int before = cuda_cpu_launches;
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK);
    ck_assert_int_eq(cm_fused_segments_count(all), 0);
    ck_assert_int_eq(cuda_cpu_launches - before, cuda_cpu_chosen.launches[0] + cuda_cpu_chosen.launches[1]);
    cm_fused_segments_free(all);
}
END_TEST

/* One of its channels is off. */
static cm_status run_wrongly(cm_stream *s, const cm_call *call) {
    CM_TRY(cm_cuda_conv2d_norm(s, call));
    const cm_tensor *y = CM_ARG(call, conv2d_norm, y);
    if (y->dtype != CM_F32) ((uint16_t *)y->data)[7] = cm_to_half(30.0f, y->dtype);
    return CM_OK;
}

START_TEST(one_that_differs_from_its_calls_is_none_and_says_so) {
    cm_backend_class wrong = cuda_cpu_class;
    wrong.run[CM_OP_conv2d_norm] = run_wrongly;
    backend.kind = &wrong;
    log_keep();
    ck_assert(!is_tower());
    log_show();
    ck_assert_ptr_nonnull(strstr(logged, "4 convolutions and their norms stay as many launches: "));
    backend.kind = &cuda_cpu_class;
}
END_TEST

START_TEST(addresses_may_change_with_the_version) {
    cm_tower *tower = NULL;
    float *want = by_calls(&small);
    ck_assert_int_eq(cm_tower_create(stream, &pass, 0, LAYERS, &tower), CM_OK);
    const cm_tensor y = activations_at(&small, LAYERS);
    float *elsewhere = malloc(cm_tensor_bytes(&y));
    ck_assert_ptr_nonnull(elsewhere);
    memset(y.data, 0, cm_tensor_bytes(&y));
    calls[LAYERS - 1].t[CM_T_conv2d_norm_y].data = elsewhere;
    pass.version++;
    fill_x(&small);
    ck_assert_int_eq(cm_tower_run(stream, &pass, tower), CM_OK);
    compare(&small, elsewhere, want, 1.5e-2f);
    ck_assert_float_eq(((const float *)y.data)[0], 0.0f);
    cuda_cpu_limits.block_bytes = 1024;
    pass.version++;
    ck_assert_int_eq(cm_tower_run(stream, &pass, tower), CM_ERR_STATE);
    cm_tower_free(tower);
    free(want), free(elsewhere);
}
END_TEST

/* ---- whole inferences ---- */

START_TEST(a_residual_network_with_towers_infers_what_ref_does) {
    cm_backend_class class = cuda_cpu_class;
    const cm_network_config config = infer_network(INFER_TOWERS);
    cm_backend cuda;
    infer_bench bench;
    const cm_dtype type = _i ? CM_F16 : CM_BF16;
    class.run_list = cuda_cpu_run_segments;
    cuda_cpu_open(&cuda);
    cuda_cpu_winner = CUDA_CPU_LAST;
    cuda.kind = &class;
    infer_bench_open(&bench, &cuda, config);
    cm_inference *inference = infer_bench_make(&bench, false, 5, type);
    infer_bench_fill(&bench, inference, 0);
    ck_assert_int_eq(cm_inference_root(inference), CM_OK); /* measures */
    const int before = cuda_cpu_launches;
    cuda_cpu_segments = 0;
    ck_assert_int_eq(cm_inference_root(inference), CM_OK);
    ck_assert_int_eq(cuda_cpu_segments, 4);              /* two towers, two heads */
    ck_assert_int_eq(cuda_cpu_launches - before, 4 + 6); /* of the others two make the activations of heads */
    cm_inference_destroy(inference);
    infer_bench_run(&bench, 5, type, _i ? 2e-2f : 8e-2f);
    infer_bench_close(&bench);
    cuda_cpu_close(&cuda);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_towers");
    TCase *results_of = tcase_create("results"), *which = tcase_create("which"), *whole = tcase_create("whole");
    tcase_set_timeout(results_of, 60), tcase_set_timeout(whole, 60);
    tcase_add_loop_test(results_of, a_tower_leaves_what_its_calls_leave, 0, SETUPS);
    tcase_add_test(results_of, without_rounding_the_bits_are_those_of_the_calls);
    tcase_add_test(results_of, what_is_no_number_stays_on_its_board_and_is_seen);
    tcase_add_test(results_of, more_layers_than_a_launch_takes_are_two_towers);
    suite_add_tcase(suite, results_of);
    tcase_add_checked_fixture(which, open_small, close_setup);
    tcase_add_test(which, activations_that_others_see_end_a_tower);
    tcase_add_test(which, other_residuals_are_none);
    tcase_add_test(which, other_calls_are_none);
    tcase_add_test(which, activations_that_begin_anywhere_are_none);
    tcase_add_test(which, memory_that_others_look_at_is_none);
    tcase_add_test(which, a_result_in_the_place_of_what_is_read_is_none);
    tcase_add_test(which, a_block_has_as_many_boards_as_keep_all_multiprocessors_busy);
    tcase_add_test(which, a_block_has_space_for_its_boards_or_there_is_none);
    tcase_add_test(which, where_the_calls_are_faster_it_is_none);
    tcase_add_test(which, its_layers_are_tried_once);
    tcase_add_test(which, one_that_differs_from_its_calls_is_none_and_says_so);
    tcase_add_test(which, addresses_may_change_with_the_version);
    suite_add_tcase(suite, which);
    tcase_add_loop_test(whole, a_residual_network_with_towers_infers_what_ref_does, 0, 2);
    suite_add_tcase(suite, whole);
    return cm_test_main(suite);
}
