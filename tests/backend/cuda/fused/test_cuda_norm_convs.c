/* Norms that convolutions apply: which calls are such a chain, and that its launches leave what the calls leave,
 * whatever the boards, the channels and the types. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_cpu.h"
#include "backend/cuda/fused/norm_conv.h"
#include "backend/cuda/fused/norm_convs.h"
#include "backend/cuda/fused/segments.h"
#include "core/arena.h"
#include "support/logged.h"
#include "support/main.h"
#include "support/unrolled.h"

/* Calls in turn: norm i / 2 for an even i, else the convolution after it. Norm 0 may add a tensor of its own, each
 * second one adds what the norm before it makes. */
enum { MOST = 7 };
typedef struct setup {
    int channels, boards, height, width, calls;
    cm_dtype type;
    enum { NO_RESIDUAL, HALF_RESIDUAL, WIDE_RESIDUAL } first;
    int multiprocessors;
} setup;

/* Places of tensors, `stride` bytes apart: what norm i reads and makes, what the first one adds; and after the last. */
enum { READ = 0, MADE = MOST + 1, ADDED = 2 * MADE, PLACES };
enum { VECTORS = 6 }; /* of a norm: scale, shift, and both of `saved` and `stats` */

static cm_backend backend;
static cm_stream *stream;
static cm_call calls[MOST];
static cm_call_list pass;
static cm_buffer work;
static float *weights, *vectors;
static size_t stride;

static float some(int i) { return sinf(1.7f * (float)i + 0.3f * (float)(i % 101)); }

static cm_tensor place(const setup *s, int which) {
    const int dim[4] = {s->boards, s->height, s->width, s->channels};
    const bool wide = which == ADDED && s->first == WIDE_RESIDUAL;
    return cm_tensor_make(work.base + (size_t)which * stride, wide ? CM_F32 : s->type, 4, dim);
}

static cm_tensor vector(const setup *s, int norm, int first, int count) {
    const int dim[2] = {count, s->channels};
    float *at = vectors + (norm * VECTORS + first) * s->channels;
    return count == 1 ? cm_tensor_make(at, CM_F32, 1, dim + 1) : cm_tensor_make(at, CM_F32, 2, dim);
}

static cm_call norm_of(const setup *s, int i) {
    cm_call call = {.op = CM_OP_batch_norm};
    call.attr = (cm_attr){.compute = s->type, .epsilon = 1e-3f};
    call.attr.activation = i % 3 == 2 ? CM_ACT_NONE : CM_ACT_RELU;
    call.t[CM_T_batch_norm_y] = place(s, MADE + i);
    call.t[CM_T_batch_norm_x] = place(s, READ + i);
    call.t[CM_T_batch_norm_scale] = vector(s, i, 0, 1);
    call.t[CM_T_batch_norm_shift] = vector(s, i, 1, 1);
    call.t[CM_T_batch_norm_saved] = vector(s, i, 2, 2);
    call.t[CM_T_batch_norm_stats] = vector(s, i, 4, 2);
    if (i == 0 && s->first != NO_RESIDUAL) call.t[CM_T_batch_norm_residual] = place(s, ADDED);
    if (i % 2 == 1) call.t[CM_T_batch_norm_residual] = place(s, MADE + i - 1);
    return call;
}

/* Weights overlap: they begin a row apart. */
static cm_call convolution_after(const setup *s, int i) {
    const int dim[4] = {s->channels, 3, 3, s->channels};
    cm_call call = {.op = CM_OP_conv2d, .attr = {.compute = s->type, .stride = 1}};
    call.t[CM_T_conv2d_y] = place(s, READ + i + 1);
    call.t[CM_T_conv2d_x] = place(s, MADE + i);
    call.t[CM_T_conv2d_weight] = cm_tensor_make(weights + i * s->channels, CM_F32, 4, dim);
    return call;
}

static void fill_tensor(const cm_tensor *t, int seed) {
    for (size_t i = 0; i < cm_tensor_count(t); i++) {
        const float x = some((int)i + seed) + 0.5f;
        if (t->dtype == CM_F32) {
            ((float *)t->data)[i] = x;
        } else {
            ((uint16_t *)t->data)[i] = cm_to_half(x, t->dtype);
        }
    }
}

static void fill_inputs(const setup *s) {
    const cm_tensor x = place(s, READ), added = place(s, ADDED);
    fill_tensor(&x, 0);
    if (s->first != NO_RESIDUAL) fill_tensor(&added, 3);
}

static void open_setup(const setup *s) {
    const int c = s->channels, many = c * 9 * c + MOST * c, norms = (s->calls + 1) / 2;
    const size_t numbers = (size_t)s->boards * (size_t)(s->height * s->width * c);
    cuda_cpu_open(&backend);
    cuda_cpu_limits = (cm_ops_limits){s->multiprocessors, (227 << 10) - CM_BLOCK_KEPT, true};
    cuda_cpu_winner = CUDA_CPU_LAST;
    ck_assert_int_eq(cm_stream_open(&backend, &stream), CM_OK);
    stride = cm_align(numbers * sizeof(float)) + CM_ALIGN;
    ck_assert_int_eq(cm_buffer_create(&work, &cm_device_cpu, (PLACES + 1) * stride, "the test"), CM_OK);
    weights = calloc((size_t)many, sizeof *weights);
    vectors = calloc((size_t)(norms * VECTORS * c), sizeof *vectors);
    ck_assert(weights && vectors);
    for (int i = 0; i < many; i++) weights[i] = some(i + 5) / sqrtf(2.0f * (float)c);
    for (int i = 0; i < norms * VECTORS * c; i++)
        vectors[i] = i / c % VECTORS == 0 ? 0.6f + 0.2f * some(i) : 0.3f * some(i);
    for (int i = 0; i < s->calls; i++) {
        calls[i] = i % 2 ? convolution_after(s, i / 2) : norm_of(s, i / 2);
        ck_assert_msg(cm_call_prepare(stream, &calls[i]) == CM_OK, "%s", cm_error_message());
    }
    pass = (cm_call_list){.calls = calls, .count = s->calls, .is_idle = true, .version = 1};
    fill_inputs(s);
}

static void close_setup(void) {
    cm_stream_close(stream);
    cuda_cpu_close(&backend);
    cm_buffer_destroy(&work);
    free(weights);
    free(vectors);
}

/* ---- what is left ---- */

/* All that the calls write, in float32; freed by the caller. Others are set to nonsense before. */
typedef struct left {
    float *numbers;
    size_t count;
} left;

static void add_tensor(left *l, const cm_tensor *t) {
    const size_t n = cm_tensor_count(t);
    l->numbers = realloc(l->numbers, (l->count + n) * sizeof(float));
    ck_assert_ptr_nonnull(l->numbers);
    for (size_t i = 0; i < n; i++)
        l->numbers[l->count++] =
            t->dtype == CM_F32 ? ((const float *)t->data)[i] : cm_widen(((const uint16_t *)t->data)[i], t->dtype);
}

static left what_is_left(const setup *s) {
    left l = {NULL, 0};
    for (int i = 0; i < s->calls; i++) {
        add_tensor(&l, &calls[i].t[0]);
        if (i % 2) continue;
        add_tensor(&l, CM_ARG(&calls[i], batch_norm, saved));
        add_tensor(&l, CM_ARG(&calls[i], batch_norm, stats));
    }
    return l;
}

enum { NONSENSE = 0xff };
static void write_nonsense(const setup *s) {
    memset(work.base, NONSENSE, (PLACES + 1) * stride);
    for (int i = 0; i < s->calls; i += 2)
        memset(CM_ARG(&calls[i], batch_norm, saved)->data, NONSENSE, 4 * sizeof(float) * (size_t)s->channels);
    fill_inputs(s);
}

/* Nothing is written behind what calls write. */
static void check_nonsense(const setup *s) {
    for (int i = 0; i < s->calls; i++) {
        const cm_tensor *y = &calls[i].t[0];
        const unsigned char *end = (const unsigned char *)y->data + cm_tensor_bytes(y);
        const unsigned char *next = work.base + ((size_t)(end - work.base) / stride + 1) * stride;
        for (; end < next; end++) ck_assert_msg(*end == NONSENSE, "call %d writes behind its result", i);
    }
}

static left by_calls(const setup *s) {
    write_nonsense(s);
    for (int i = 0; i < s->calls; i++) ck_assert_msg(cm_call_run(stream, &calls[i]) == CM_OK, "%s", cm_error_message());
    check_nonsense(s);
    return what_is_left(s);
}

static left by_chain(const setup *s) {
    cm_norm_convs *chain = NULL;
    const int norms = (s->calls + 1) / 2, convolutions = s->calls / 2;
    ck_assert_msg(cm_norm_convs_create(stream, &pass, 0, s->calls, &chain) == CM_OK, "%s", cm_error_message());
    ck_assert_ptr_nonnull(chain);
    write_nonsense(s);
    const int before = cuda_cpu_launches;
    ck_assert_int_eq(cm_norm_convs_run(stream, &pass, chain), CM_OK);
    ck_assert_int_eq(cuda_cpu_launches - before, 1 + norms + convolutions + (norms > convolutions));
    cm_norm_convs_free(chain);
    check_nonsense(s);
    return what_is_left(s);
}

static void compare(const left *got, const left *want, float tolerance) {
    ck_assert_uint_eq(got->count, want->count);
    for (size_t i = 0; i < want->count; i++)
        ck_assert_msg(fabsf(got->numbers[i] - want->numbers[i]) <= tolerance * (1.0f + fabsf(want->numbers[i])),
                      "number %zu is %g, not %g", i, (double)got->numbers[i], (double)want->numbers[i]);
}

/* Boards that share a tile, and that have many; blocks of one and of many; widths and heights of one; every number of
 * channels; chains that end with either call. */
static const setup setups[] = {
    {32, 15, 6, 7, 7, CM_BF16, NO_RESIDUAL, 1},  {32, 5, 3, 3, 3, CM_F16, HALF_RESIDUAL, 1},
    {32, 7, 1, 6, 2, CM_BF16, WIDE_RESIDUAL, 1}, {32, 3, 7, 1, 5, CM_F16, WIDE_RESIDUAL, 132},
    {48, 7, 5, 5, 5, CM_F16, HALF_RESIDUAL, 1},  {48, 1, 2, 3, 4, CM_BF16, NO_RESIDUAL, 132},
    {64, 3, 9, 9, 3, CM_BF16, HALF_RESIDUAL, 1}, {96, 4, 4, 5, 5, CM_F16, NO_RESIDUAL, 3},
    {128, 2, 3, 5, 3, CM_F16, WIDE_RESIDUAL, 1}, {128, 9, 2, 7, 4, CM_BF16, HALF_RESIDUAL, 2},
    {32, 24, 2, 7, 3, CM_BF16, HALF_RESIDUAL, 1}};
enum { SETUPS = sizeof setups / sizeof *setups };

START_TEST(a_chain_leaves_what_its_calls_leave) {
    const setup *s = &setups[_i];
    open_setup(s);
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), s->calls);
    left want = by_calls(s), got = by_chain(s);
    compare(&got, &want, s->type == CM_BF16 ? 3e-2f : 4e-3f);
    free(want.numbers), free(got.numbers);
    close_setup();
}
END_TEST

/* What the norm reads and the sums of products are whole numbers, so nothing is rounded in whatever order it is added:
 * y and the norm's result are the same bits. */
START_TEST(without_rounding_the_bits_are_those_of_the_calls) {
    const setup s = {32, 15, 6, 7, 2, CM_BF16, HALF_RESIDUAL, 1};
    open_setup(&s);
    calls[0].attr.epsilon = 0.0f;
    for (int i = 0; i < 32 * 9 * 32; i++) weights[i] = (float)(i * 7 % 3 - 1);
    for (int i = 0; i < 32; i++) vectors[i] = 2.0f, vectors[32 + i] = (float)(i % 4);
    ck_assert_int_eq(cm_call_prepare(stream, &calls[0]), CM_OK);
    ck_assert_int_eq(cm_backend_repack(&backend, weights, 32 * 9 * 32 * sizeof(float), NULL), CM_OK);
    cm_norm_convs *chain = NULL;
    ck_assert_int_eq(cm_norm_convs_create(stream, &pass, 0, 2, &chain), CM_OK);
    ck_assert_ptr_nonnull(chain);
    const cm_tensor x = place(&s, READ), added = place(&s, ADDED);
    /* 1 and -1 as often: mean 0, variance 1 */
    for (size_t i = 0; i < cm_tensor_count(&x); i++) {
        ((uint16_t *)x.data)[i] = cm_to_half(i / 32 % 2 ? 1.0f : -1.0f, CM_BF16);
        ((uint16_t *)added.data)[i] = cm_to_half((float)(i * 11 % 3), CM_BF16);
    }
    for (int i = 0; i < 2; i++) ck_assert_int_eq(cm_call_run(stream, &calls[i]), CM_OK);
    left want = what_is_left(&s);
    ck_assert_int_eq(cm_norm_convs_run(stream, &pass, chain), CM_OK);
    left got = what_is_left(&s);
    for (size_t i = 0; i < want.count; i++) ck_assert_float_eq(got.numbers[i], want.numbers[i]);
    cm_norm_convs_free(chain);
    free(want.numbers), free(got.numbers);
    close_setup();
}
END_TEST

/* ---- which calls are one ---- */

static const setup small = {32, 3, 3, 4, 5, CM_BF16, HALF_RESIDUAL, 1};

static void open_small(void) { open_setup(&small); }

static void expect_reach(int index, const cm_call *kept, int reach) {
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), reach);
    calls[index] = *kept;
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 5);
}

START_TEST(other_calls_end_a_chain) {
    const cm_call norm = calls[2], convolution = calls[3];
    const cm_tensor elsewhere = place(&small, ADDED), read = place(&small, READ + 1), made = place(&small, MADE + 1);
    calls[2].branch = 1, expect_reach(2, &norm, 2);
    calls[2].attr.activation = CM_ACT_TANH, expect_reach(2, &norm, 2);
    calls[2].t[CM_T_batch_norm_y].dtype = CM_F32, expect_reach(2, &norm, 2);
    calls[2].t[CM_T_batch_norm_x] = elsewhere, expect_reach(2, &norm, 2);
    calls[2].t[CM_T_batch_norm_x].dim[0]--, expect_reach(2, &norm, 2);
    calls[2].t[CM_T_batch_norm_residual].data = (uint16_t *)elsewhere.data + 4, expect_reach(2, &norm, 2);
    calls[2].op = CM_OP_batch_norm_inference, expect_reach(2, &norm, 2);
    calls[3].branch = 1, expect_reach(3, &convolution, 3);
    calls[3].attr.compute = CM_F16, expect_reach(3, &convolution, 3);
    calls[3].attr.stride = 2, expect_reach(3, &convolution, 3);
    calls[3].attr.activation = CM_ACT_RELU, expect_reach(3, &convolution, 3);
    calls[3].attr.accumulate = 1u << CM_T_conv2d_y, expect_reach(3, &convolution, 3);
    calls[3].t[CM_T_conv2d_bias] = vector(&small, 0, 0, 1), expect_reach(3, &convolution, 3);
    calls[3].t[CM_T_conv2d_weight].dim[1] = 1, expect_reach(3, &convolution, 3);
    calls[3].t[CM_T_conv2d_weight].dim[0] = 64, expect_reach(3, &convolution, 3);
    calls[3].t[CM_T_conv2d_x] = elsewhere, expect_reach(3, &convolution, 3);
    calls[3].t[CM_T_conv2d_x].dim[0]--, expect_reach(3, &convolution, 3); /* some of its rows */
    calls[3].t[CM_T_conv2d_y].dtype = CM_F32, expect_reach(3, &convolution, 3);
    calls[3].t[CM_T_conv2d_y].data = read.data, expect_reach(3, &convolution, 3);
    calls[3].t[CM_T_conv2d_y].data = made.data, expect_reach(3, &convolution, 3);
    calls[3].t[CM_T_conv2d_y].data = place(&small, MADE).data, expect_reach(3, &convolution, 3); /* a residual */
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 1), 0);
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 2), 3);
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 4), 0);
}
END_TEST

/* ---- whether it is one ---- */

static bool is_chain(void) {
    cm_norm_convs *chain = NULL;
    ck_assert_int_eq(cm_norm_convs_create(stream, &pass, 0, small.calls, &chain), CM_OK);
    const bool is_one = chain != NULL;
    cm_norm_convs_free(chain);
    return is_one;
}

START_TEST(where_it_cannot_be_or_the_calls_are_faster_it_is_none) {
    ck_assert(is_chain());
    cuda_cpu_winner = 0;
    ck_assert(!is_chain());
    cuda_cpu_winner = CUDA_CPU_LAST, pass.is_idle = false;
    ck_assert(!is_chain());
    pass.is_idle = true, cuda_cpu_limits.multiplies_16_bits = false;
    ck_assert(!is_chain());
    cuda_cpu_limits.multiplies_16_bits = true, cuda_cpu_limits.block_bytes = 8 << 10;
    ck_assert(!is_chain());
    cuda_cpu_limits.block_bytes = 227 << 10;
    ck_assert(is_chain());
}
END_TEST

START_TEST(its_calls_are_tried_once_and_are_a_segment) {
    cm_fused_segments *all = NULL;
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK);
    ck_assert_int_eq(cm_fused_segments_count(all), 1);
    cm_fused_segments_free(all);
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
    CM_TRY(cm_ops_reserve(s, cm_cuda_batch_norm_workspace(call)));
    CM_TRY(cm_cuda_batch_norm(s, call));
    const cm_tensor *y = CM_ARG(call, batch_norm, y);
    ((uint16_t *)y->data)[7] = cm_to_half(30.0f, y->dtype);
    return CM_OK;
}

START_TEST(one_that_differs_from_its_calls_is_none_and_says_so) {
    cm_backend_class wrong = cuda_cpu_class;
    wrong.run[CM_OP_batch_norm] = run_wrongly;
    backend.kind = &wrong;
    log_keep();
    ck_assert(!is_chain());
    log_show();
    ck_assert_ptr_nonnull(strstr(logged, "5 norms and convolutions stay as many calls: "));
    backend.kind = &cuda_cpu_class;
}
END_TEST

START_TEST(addresses_may_change_with_the_version) {
    cm_norm_convs *chain = NULL;
    left want = by_calls(&small);
    ck_assert_int_eq(cm_norm_convs_create(stream, &pass, 0, small.calls, &chain), CM_OK);
    ck_assert_ptr_nonnull(chain);
    write_nonsense(&small);
    calls[4].t[CM_T_batch_norm_y].data = place(&small, PLACES).data;
    pass.version++;
    ck_assert_int_eq(cm_norm_convs_run(stream, &pass, chain), CM_OK);
    left got = what_is_left(&small);
    compare(&got, &want, 3e-2f);
    cm_norm_convs_free(chain);
    free(want.numbers), free(got.numbers);
}
END_TEST

/* ---- whole updates ---- */

static int fused_convolutions, applied_norms, fused_gradients, norm_gradients;

static void count(const char *kernel) {
    fused_convolutions += strncmp(kernel, "cm_norm_conv_", 13) == 0;
    applied_norms += strcmp(kernel, "cm_norm_apply_half") == 0;
    fused_gradients += strncmp(kernel, "cm_norm_grad_", 13) == 0;
    norm_gradients += strcmp(kernel, "cm_norm_input_half") == 0;
}

static void open_unrolled(cm_test_unrolled *u, cm_backend *of, cm_recompute recompute) {
    cm_network_config c;
    cm_trainer_options o;
    cm_test_update_planes(0, &c, &o);
    c.channels = 32;
    o.recompute = (int)recompute;
    cm_test_unrolled_open_of(u, of, &c, &o, CM_BF16, 3);
}

static void run_unrolled(cm_test_unrolled *u) {
    fused_convolutions = applied_norms = fused_gradients = norm_gradients = 0;
    cuda_cpu_told = count; /* and nothing runs */
    cm_test_unrolled_run(u);
    cuda_cpu_told = NULL;
    cm_test_unrolled_run(u);
}

static cm_backend apart, fused;
static cm_backend_class fusing;

static void open_both(void) {
    fusing = cuda_cpu_class;
    fusing.run_list = cuda_cpu_run_segments, fusing.prepare_list = cuda_cpu_prepare_segments;
    cuda_cpu_open(&apart), cuda_cpu_open(&fused);
    cuda_cpu_limits = (cm_ops_limits){132, (227 << 10) - CM_BLOCK_KEPT, true};
    cuda_cpu_winner = CUDA_CPU_LAST;
    fused.kind = &fusing;
}

static void close_both(void) { cuda_cpu_close(&apart), cuda_cpu_close(&fused); }

/* All norms but the last one of each function of the network are applied by the convolutions after them. In bfloat16,
 * where the forward passes hardly differ: in float16 a relu or a maximum that falls the other way sends gradients
 * elsewhere. */
START_TEST(a_residual_network_trains_as_by_its_calls) {
    cm_test_unrolled want, got;
    open_unrolled(&want, &apart, CM_RECOMPUTE_NONE), run_unrolled(&want);
    const int norms = applied_norms;
    ck_assert_int_eq(fused_convolutions + fused_gradients, 0);
    ck_assert_int_eq(norm_gradients, norms);
    open_unrolled(&got, &fused, CM_RECOMPUTE_NONE), run_unrolled(&got);
    ck_assert_int_eq(norms, 36); /* in representation and three steps five each, in four predictions four */
    ck_assert_int_eq(fused_convolutions, 28);
    ck_assert_int_eq(applied_norms, 8);
    ck_assert_int_eq(fused_gradients, 32); /* four of each */
    ck_assert_int_eq(norm_gradients, 4);   /* the last ones in front of other convolutions */
    cm_test_unrolled_compare(&got, &want, 5e-2f);
    cm_test_unrolled_close(&got), cm_test_unrolled_close(&want);
}
END_TEST

/* There gradients of weights are parts of calls, and planes share memory. */
START_TEST(so_it_does_with_activations_that_are_recomputed) {
    static const int gradients[] = {[CM_RECOMPUTE_BLOCKS] = 21, [CM_RECOMPUTE_FULL] = 20};
    cm_test_unrolled want, got;
    open_unrolled(&want, &apart, (cm_recompute)_i), run_unrolled(&want);
    ck_assert_int_eq(fused_convolutions + fused_gradients, 0);
    open_unrolled(&got, &fused, (cm_recompute)_i), run_unrolled(&got);
    ck_assert_int_eq(fused_gradients, gradients[_i]);
    cm_test_unrolled_compare(&got, &want, 5e-2f);
    cm_test_unrolled_close(&got), cm_test_unrolled_close(&want);
}
END_TEST

/* As ranks do that sum gradients concurrently: chains are measured when a pass is created, so parts are, too. */
START_TEST(so_it_does_in_parts_that_the_tape_knows) {
    void *base[CM_MEM_COUNT];
    cm_test_unrolled want, got;
    open_unrolled(&want, &apart, CM_RECOMPUTE_NONE), run_unrolled(&want);
    open_unrolled(&got, &fused, CM_RECOMPUTE_NONE);
    const int all = cm_tape_backward_calls(got.unroll.tape), half = all / 2;
    for (int m = 0; m < CM_MEM_COUNT; m++) base[m] = got.memory[m].base;
    cm_pass_destroy(got.pass);
    ck_assert_int_eq(cm_tape_end_part(got.unroll.tape, half), CM_OK);
    ck_assert_int_eq(cm_pass_create(got.unroll.tape, got.stream, base, &got.pass), CM_OK);
    run_unrolled(&got);
    ck_assert_int_eq(fused_gradients, 0); /* the whole is no list that was prepared */
    cuda_cpu_told = count;
    ck_assert_int_eq(cm_pass_backward_part(got.pass, 0, half), CM_OK);
    ck_assert_int_eq(cm_pass_backward_part(got.pass, half, all), CM_OK);
    cuda_cpu_told = NULL;
    ck_assert_int_eq(fused_gradients, 32);
    ck_assert_int_eq(cm_pass_forward(got.pass), CM_OK);
    ck_assert_int_eq(cm_pass_backward_part(got.pass, 0, half), CM_OK);
    ck_assert_int_eq(cm_pass_backward_part(got.pass, half, all), CM_OK);
    cm_test_unrolled_compare(&got, &want, 5e-2f);
    cm_test_unrolled_close(&got), cm_test_unrolled_close(&want);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_norm_convs");
    TCase *results = tcase_create("results"), *which = tcase_create("which"), *whole = tcase_create("whole");
    tcase_set_timeout(results, 60);
    tcase_add_loop_test(results, a_chain_leaves_what_its_calls_leave, 0, SETUPS);
    tcase_add_test(results, without_rounding_the_bits_are_those_of_the_calls);
    suite_add_tcase(suite, results);
    tcase_add_checked_fixture(which, open_small, close_setup);
    tcase_add_test(which, other_calls_end_a_chain);
    tcase_add_test(which, where_it_cannot_be_or_the_calls_are_faster_it_is_none);
    tcase_add_test(which, its_calls_are_tried_once_and_are_a_segment);
    tcase_add_test(which, one_that_differs_from_its_calls_is_none_and_says_so);
    tcase_add_test(which, addresses_may_change_with_the_version);
    suite_add_tcase(suite, which);
    tcase_set_timeout(whole, 60);
    tcase_add_checked_fixture(whole, open_both, close_both);
    tcase_add_test(whole, a_residual_network_trains_as_by_its_calls);
    tcase_add_loop_test(whole, so_it_does_with_activations_that_are_recomputed, CM_RECOMPUTE_BLOCKS,
                        CM_RECOMPUTE_FULL + 1);
    tcase_add_test(whole, so_it_does_in_parts_that_the_tape_knows);
    suite_add_tcase(suite, whole);
    return cm_test_main(suite);
}
