/* Gradients of norms that the convolutions of gradients apply: which calls are such a chain, and that its launches
 * leave what the calls leave, whatever the boards, the channels and the types. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda_cpu.h"
#include "backend/cuda/fused/norm_convs.h"
#include "backend/cuda/fused/norm_grad.h"
#include "backend/cuda/fused/segments.h"
#include "core/arena.h"
#include "support/logged.h"
#include "support/main.h"
#include "support/unrolled.h"

/* Calls in turn, as residual blocks have them: norm i / 2 for an even i, else the convolution after it. Each second
 * norm, beginning with the first, has a residual, whose gradient the convolution after the next norm adds to. */
enum { MOST = 7, WEIGHTS = 3 };
typedef struct setup {
    int channels, boards, height, width, calls;
    cm_dtype type;
    bool wide_first; /* y and dy of the first norm are of float32 */
    enum { NO_RESIDUAL, HALF_RESIDUAL, WIDE_RESIDUAL } residual;
    bool adds;      /* the gradient of the first residual is added to what is there */
    bool wide_last; /* the result of the last convolution is of float32 */
    int multiprocessors;
} setup;

/* Places of tensors, `stride` bytes apart: of norm i what it reads and makes. */
enum { X = 0, Y = 4, NORMED = 8, RESIDUAL = 12, DX = 16, PLACES = 21 };
enum { VECTORS = 5 }; /* of a norm: scale, both of `saved`, dscale, dshift */

static cm_backend backend;
static cm_stream *stream;
static cm_call calls[MOST];
static cm_call_list pass;
static cm_buffer work;
static float *weights, *vectors;
static size_t stride;

static float some(int i) { return sinf(1.7f * (float)i + 0.3f * (float)(i % 101)); }

static cm_tensor place(const setup *s, int which, bool wide) {
    const int dim[4] = {s->boards, s->height, s->width, s->channels};
    return cm_tensor_make(work.base + (size_t)which * stride, wide ? CM_F32 : s->type, 4, dim);
}

static cm_tensor vector(const setup *s, int norm, int first, int count) {
    const int dim[2] = {count, s->channels};
    float *at = vectors + (norm * VECTORS + first) * s->channels;
    return count == 1 ? cm_tensor_make(at, CM_F32, 1, dim + 1) : cm_tensor_make(at, CM_F32, 2, dim);
}

/* DX + i is the gradient of norm i's result: DX of the first, given, else made by the convolution in front of it. Where
 * that adds, it is the residual's of the norm before last. */
static bool adds(const setup *s, int convolution) { return convolution % 2 == 1 && s->residual != NO_RESIDUAL; }
static bool is_wide_residual(const setup *s, int norm) {
    const bool goes_on = norm + 2 < (s->calls + 1) / 2 || norm + 1 < s->calls / 2;
    return goes_on ? s->wide_last && 2 * norm + 4 == s->calls : s->residual == WIDE_RESIDUAL;
}
static cm_tensor gradient(const setup *s, int norm) {
    if (norm > 0 && adds(s, norm - 1)) return place(s, RESIDUAL + norm - 2, is_wide_residual(s, norm - 2));
    return place(s, DX + norm, norm == 0 ? s->wide_first : s->wide_last && 2 * norm == s->calls);
}

static cm_call norm_of(const setup *s, int i) {
    cm_call call = {.op = CM_OP_batch_norm_backward};
    call.attr = (cm_attr){.compute = s->type, .epsilon = 1e-3f};
    call.attr.activation = i % 3 == 2 ? CM_ACT_NONE : CM_ACT_RELU;
    call.t[CM_T_batch_norm_backward_dx] = place(s, NORMED + i, false);
    call.t[CM_T_batch_norm_backward_dscale] = vector(s, i, 3, 1);
    call.t[CM_T_batch_norm_backward_dshift] = vector(s, i, 4, 1);
    call.t[CM_T_batch_norm_backward_dy] = gradient(s, i);
    call.t[CM_T_batch_norm_backward_x] = place(s, X + i, false);
    call.t[CM_T_batch_norm_backward_y] = place(s, Y + i, i == 0 && s->wide_first);
    call.t[CM_T_batch_norm_backward_saved] = vector(s, i, 1, 2);
    call.t[CM_T_batch_norm_backward_scale] = vector(s, i, 0, 1);
    if (i % 2 == 0 && s->residual != NO_RESIDUAL) {
        call.t[CM_T_batch_norm_backward_dresidual] = place(s, RESIDUAL + i, is_wide_residual(s, i));
        if (i == 0 && s->adds) call.attr.accumulate = 1u << CM_T_batch_norm_backward_dresidual;
    }
    return call;
}

/* Weights overlap: they begin a row apart. */
static cm_call convolution_after(const setup *s, int i) {
    const int dim[4] = {s->channels, 3, 3, s->channels};
    cm_call call = {.op = CM_OP_conv2d_backward, .attr = {.compute = s->type, .stride = 1}};
    call.t[CM_T_conv2d_backward_dx] = gradient(s, i + 1);
    call.t[CM_T_conv2d_backward_dy] = place(s, NORMED + i, false);
    call.t[CM_T_conv2d_backward_x] = place(s, PLACES - 1, false);
    call.t[CM_T_conv2d_backward_weight] = cm_tensor_make(weights + i * s->channels, CM_F32, 4, dim);
    if (adds(s, i)) call.attr.accumulate = 1u << CM_T_conv2d_backward_dx;
    return call;
}

static void fill_tensor(const cm_tensor *t, int seed) {
    for (size_t i = 0; t->data && i < cm_tensor_count(t); i++) {
        const float x = some((int)i + seed) + 0.2f;
        if (t->dtype == CM_F32) {
            ((float *)t->data)[i] = x;
        } else {
            ((uint16_t *)t->data)[i] = cm_to_half(x, t->dtype);
        }
    }
}

static void fill_inputs(const setup *s) {
    for (int i = 0; i < s->calls; i += 2) {
        fill_tensor(CM_ARG(&calls[i], batch_norm_backward, x), 3 * i);
        fill_tensor(CM_ARG(&calls[i], batch_norm_backward, y), 7 * i + 2);
    }
    fill_tensor(CM_ARG(&calls[0], batch_norm_backward, dy), 5);
    if (s->adds) fill_tensor(CM_ARG(&calls[0], batch_norm_backward, dresidual), 11);
}

static void open_setup(const setup *s) {
    const int c = s->channels, many = c * 9 * c + WEIGHTS * c, norms = (s->calls + 1) / 2;
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
    for (int i = 0; i < s->calls; i++) {
        calls[i] = i % 2 ? convolution_after(s, i / 2) : norm_of(s, i / 2);
        ck_assert_msg(cm_call_prepare(stream, &calls[i]) == CM_OK, "%s", cm_error_message());
    }
    pass = (cm_call_list){.calls = calls, .count = s->calls, .is_idle = true, .version = 1};
}

static void close_setup(void) {
    cm_stream_close(stream);
    cuda_cpu_close(&backend);
    cm_buffer_destroy(&work);
    free(weights);
    free(vectors);
}

/* ---- what is left ---- */

/* All that the calls write, in float32; freed by the caller. */
typedef struct left {
    float *numbers;
    size_t count;
} left;

static void add_tensor(left *l, const cm_tensor *t) {
    const size_t n = t->data ? cm_tensor_count(t) : 0;
    if (n == 0) return;
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
        add_tensor(&l, CM_ARG(&calls[i], batch_norm_backward, dscale));
        add_tensor(&l, CM_ARG(&calls[i], batch_norm_backward, dshift));
        add_tensor(&l, CM_ARG(&calls[i], batch_norm_backward, dresidual));
    }
    return l;
}

/* In everything, but what is read; statistics that are those of no x: means and factors of their own. */
enum { NONSENSE = 0xff };
static void write_nonsense(const setup *s) {
    const int c = s->channels, norms = (s->calls + 1) / 2;
    memset(work.base, NONSENSE, (PLACES + 1) * stride);
    memset(vectors, NONSENSE, sizeof(float) * (size_t)(norms * VECTORS * c));
    for (int i = 0; i < norms * VECTORS * c; i++) {
        const int which = i / c % VECTORS;
        if (which <= 2) vectors[i] = which == 1 ? 0.3f * some(i) : 0.8f + 0.2f * some(i);
    }
    fill_inputs(s);
}

/* Nothing is written behind what calls write. */
static void check_behind(const cm_tensor *t) {
    if (!t->data) return;
    const unsigned char *end = (const unsigned char *)t->data + cm_tensor_bytes(t);
    const unsigned char *next = work.base + ((size_t)(end - work.base) / stride + 1) * stride;
    for (; end < next; end++) ck_assert_msg(*end == NONSENSE, "a call writes behind its result");
}

static void check_nonsense(const setup *s) {
    for (int i = 0; i < s->calls; i++) {
        check_behind(&calls[i].t[0]);
        if (i % 2 == 0) check_behind(CM_ARG(&calls[i], batch_norm_backward, dresidual));
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
    write_nonsense(s);
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
    float most = 0.0f;
    ck_assert_uint_eq(got->count, want->count);
    for (size_t i = 0; i < want->count; i++) most = fmaxf(most, fabsf(want->numbers[i]));
    ck_assert(most > 0.5f && most < 1e4f);
    for (size_t i = 0; i < want->count; i++)
        ck_assert_msg(fabsf(got->numbers[i] - want->numbers[i]) <= tolerance * (1.0f + fabsf(want->numbers[i])),
                      "number %zu is %g, not %g", i, (double)got->numbers[i], (double)want->numbers[i]);
}

/* Boards that share a tile, and that have many; blocks of one and of many; widths and heights of one; every number of
 * channels; chains that end with either call. */
static const setup setups[] = {{32, 15, 6, 7, 7, CM_BF16, false, HALF_RESIDUAL, false, false, 1},
                               {32, 5, 3, 3, 3, CM_F16, true, WIDE_RESIDUAL, true, false, 1},
                               {32, 7, 1, 6, 2, CM_BF16, true, HALF_RESIDUAL, true, true, 1},
                               {32, 3, 7, 1, 5, CM_F16, false, NO_RESIDUAL, false, false, 132},
                               {48, 7, 5, 5, 4, CM_F16, true, HALF_RESIDUAL, false, true, 1},
                               {48, 1, 2, 3, 4, CM_BF16, false, NO_RESIDUAL, false, true, 132},
                               {64, 3, 9, 9, 3, CM_BF16, false, WIDE_RESIDUAL, false, false, 1},
                               {96, 4, 4, 5, 5, CM_F16, false, HALF_RESIDUAL, false, false, 3},
                               {128, 2, 3, 5, 3, CM_F16, true, NO_RESIDUAL, false, false, 1},
                               {128, 9, 2, 7, 4, CM_BF16, false, HALF_RESIDUAL, false, false, 2},
                               {32, 24, 2, 7, 3, CM_BF16, true, HALF_RESIDUAL, false, false, 1},
                               {32, 2, 4, 4, 2, CM_F16, false, HALF_RESIDUAL, true, false, 1}};
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

/* Gradients and what the norms read are whole numbers, and so are sums of products: nothing is rounded in whatever
 * order it is added, and all is the same bits. */
START_TEST(without_rounding_the_bits_are_those_of_the_calls) {
    const setup s = {32, 16, 4, 4, 3, CM_F16, false, HALF_RESIDUAL, true, false, 1};
    open_setup(&s);
    write_nonsense(&s);
    for (int i = 0; i < 32 * 9 * 32; i++) weights[i] = (float)((i * 7 + i / 32) % 3 - 1);
    for (int i = 0; i < 2 * VECTORS * 32; i++) vectors[i] = i / 32 % VECTORS == 1 ? 0.0f : 1.0f;
    ck_assert_int_eq(cm_backend_repack(&backend, weights, 32 * 9 * 32 * sizeof(float), NULL), CM_OK);
    cm_norm_convs *chain = NULL;
    ck_assert_int_eq(cm_norm_convs_create(stream, &pass, 0, 3, &chain), CM_OK);
    ck_assert_ptr_nonnull(chain);
    left of[2];
    for (int way = 0; way < 2; way++) {
        write_nonsense(&s);
        for (int i = 0; i < 2 * VECTORS * 32; i++) vectors[i] = i / 32 % VECTORS == 1 ? 0.0f : 1.0f;
        for (int i = 0; i < s.calls; i += 2) {
            const cm_tensor *x = CM_ARG(&calls[i], batch_norm_backward, x),
                            *y = CM_ARG(&calls[i], batch_norm_backward, y);
            for (size_t k = 0; k < cm_tensor_count(x); k++) {
                ((uint16_t *)x->data)[k] = cm_to_half((float)(k % 5) - 2.0f, s.type);
                ((uint16_t *)y->data)[k] = cm_to_half((float)(k * 3 % 7) - 3.0f, s.type);
            }
        }
        const cm_tensor *dy = CM_ARG(calls, batch_norm_backward, dy),
                        *to = CM_ARG(calls, batch_norm_backward, dresidual);
        /* 256 cells: what is taken off of each is a whole number, as sums are multiples of 256 */
        for (size_t k = 0; k < cm_tensor_count(dy); k++) {
            ((uint16_t *)dy->data)[k] = cm_to_half(0.0f, s.type);
            ((uint16_t *)to->data)[k] = cm_to_half((float)(k % 3), s.type);
        }
        for (size_t k = 0; k < 32; k++) ((uint16_t *)dy->data)[k] = cm_to_half(256.0f, s.type);
        if (way == 0) {
            for (int i = 0; i < 2; i++) ck_assert_int_eq(cm_call_run(stream, &calls[i]), CM_OK);
        } else {
            ck_assert_int_eq(cm_norm_convs_run(stream, &pass, chain), CM_OK);
        }
        of[way] = (left){NULL, 0};
        for (int i = 0; i < 2; i++) add_tensor(&of[way], &calls[i].t[0]);
        add_tensor(&of[way], to);
    }
    for (size_t i = 0; i < of[0].count; i++) ck_assert_float_eq(of[1].numbers[i], of[0].numbers[i]);
    cm_norm_convs_free(chain);
    free(of[0].numbers), free(of[1].numbers);
    close_setup();
}
END_TEST

/* ---- which calls are one ---- */

static const setup small = {32, 3, 3, 4, 5, CM_BF16, false, HALF_RESIDUAL, true, false, 1};

static void open_small(void) {
    open_setup(&small);
    write_nonsense(&small);
}

static void expect_reach(int index, const cm_call *kept, int reach) {
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), reach);
    calls[index] = *kept;
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 5);
}

#define NORM(name)        CM_T_batch_norm_backward_##name
#define CONVOLUTION(name) CM_T_conv2d_backward_##name

START_TEST(other_norms_end_a_chain) {
    const cm_call first = calls[0], norm = calls[2];
    const cm_tensor elsewhere = place(&small, PLACES, false);
    calls[2].branch = 1, expect_reach(2, &norm, 2);
    calls[2].attr.activation = CM_ACT_TANH, expect_reach(2, &norm, 2);
    calls[2].attr.accumulate = 1u << NORM(dx), expect_reach(2, &norm, 2);
    calls[2].t[NORM(dx)].data = NULL, expect_reach(2, &norm, 2);
    calls[2].t[NORM(dx)].dtype = CM_F32, expect_reach(2, &norm, 2);
    calls[2].t[NORM(dx)].data = (uint16_t *)calls[2].t[NORM(x)].data + 32, expect_reach(2, &norm, 2);
    calls[2].t[NORM(dy)] = elsewhere, expect_reach(2, &norm, 2);
    calls[2].t[NORM(dy)].dim[0]--, expect_reach(2, &norm, 2);
    calls[2].t[NORM(y)].dtype = CM_F32, expect_reach(2, &norm, 2);
    calls[2].t[NORM(y)].data = calls[0].t[NORM(dx)].data, expect_reach(2, &norm, 2);
    calls[2].t[NORM(x)].data = calls[0].t[NORM(dresidual)].data, expect_reach(2, &norm, 2);
    calls[2].t[NORM(x)].data = calls[1].t[CONVOLUTION(dx)].data, expect_reach(2, &norm, 2);
    calls[2].t[NORM(dresidual)] = calls[2].t[NORM(dx)], expect_reach(2, &norm, 2);
    calls[2].op = CM_OP_batch_norm_inference_backward, expect_reach(2, &norm, 2);
    const cm_call convolution = calls[1];
    calls[1].t[CONVOLUTION(dx)].dtype = calls[2].t[NORM(dy)].dtype = calls[2].t[NORM(y)].dtype = CM_F32;
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 2); /* the gradient may be of float32 at the end alone */
    calls[1] = convolution, expect_reach(2, &norm, 2);
    calls[0].t[NORM(dresidual)].data = (uint16_t *)elsewhere.data + 4, expect_reach(0, &first, 0);
    calls[0].t[NORM(dresidual)].data = (uint16_t *)calls[0].t[NORM(dy)].data + 32, expect_reach(0, &first, 0);
    calls[0].t[NORM(dresidual)].data = calls[0].t[NORM(dy)].data, expect_reach(0, &first, 5); /* place by place */
}
END_TEST

START_TEST(other_convolutions_end_a_chain) {
    const cm_call convolution = calls[3];
    const cm_tensor elsewhere = place(&small, PLACES, false);
    calls[3].branch = 1, expect_reach(3, &convolution, 3);
    calls[3].attr.compute = CM_F16, expect_reach(3, &convolution, 3);
    calls[3].attr.stride = 2, expect_reach(3, &convolution, 3);
    calls[3].t[CONVOLUTION(dbias)] = vector(&small, 0, 0, 1), expect_reach(3, &convolution, 3);
    calls[3].t[CONVOLUTION(weight)].dim[1] = 1, expect_reach(3, &convolution, 3);
    calls[3].t[CONVOLUTION(weight)].dim[0] = 64, expect_reach(3, &convolution, 3);
    calls[3].t[CONVOLUTION(dy)] = elsewhere, expect_reach(3, &convolution, 3);
    calls[3].t[CONVOLUTION(dy)].dim[0]--, expect_reach(3, &convolution, 3); /* some of its rows */
    calls[3].t[CONVOLUTION(dx)].dtype = CM_F16, expect_reach(3, &convolution, 3);
    calls[3].t[CONVOLUTION(dx)].data = calls[2].t[NORM(x)].data, expect_reach(3, &convolution, 3);
    calls[3].t[CONVOLUTION(dx)].data = calls[2].t[NORM(dx)].data, expect_reach(3, &convolution, 3);
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 1), 0);
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 2), 3);
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 4), 0);
}
END_TEST

/* ---- gradients of weights ---- */

/* The pass with a gradient of the first convolution's weight as a call of its own, and of the second one's as a part.
 */
static cm_call with_weights[MOST];
static float gradients[2 * 32 * 9 * 32];

static void add_weights(void) {
    const int dim[4] = {32, 3, 3, 32};
    cm_call *own = &with_weights[1], *part = &with_weights[4];
    fill_tensor(&calls[1].t[CONVOLUTION(x)], 1);
    with_weights[0] = calls[0];
    memcpy(with_weights + 2, calls + 1, 4 * sizeof *calls);
    *own = calls[1];
    own->attr.accumulate = 0;
    own->t[CONVOLUTION(dx)].data = NULL;
    own->t[CONVOLUTION(dweight)] = cm_tensor_make(gradients, CM_F32, 4, dim);
    part->t[CONVOLUTION(dweight)] = cm_tensor_make(gradients + 32 * 9 * 32, CM_F32, 4, dim);
    for (int i = 0; i < 6; i++) ck_assert_int_eq(cm_call_prepare(stream, &with_weights[i]), CM_OK);
    pass.calls = with_weights, pass.count = 6;
}

static cm_status run_alone(cm_stream *on, const cm_call *call, void *context) {
    (void)context;
    return cm_call_run(on, call);
}

/* Runs all of it, in segments if these are given, from the same numbers. */
static left run_with_weights(cm_fused_segments *all) {
    const cm_segment_runner each = {.run = run_alone};
    left l;
    write_nonsense(&small);
    fill_tensor(&calls[1].t[CONVOLUTION(x)], 1);
    memset(gradients, NONSENSE, sizeof gradients);
    ck_assert_int_eq(cm_fused_segments_run(all, stream, &pass, &each), CM_OK);
    for (size_t i = 0; i < sizeof gradients / sizeof *gradients; i++) ck_assert(isfinite(gradients[i]));
    l = what_is_left(&small);
    const int count = 2 * 32 * 9 * 32;
    const cm_tensor t = cm_tensor_make(gradients, CM_F32, 1, &count);
    add_tensor(&l, &t);
    return l;
}

START_TEST(gradients_of_weights_are_made_after_the_chain) {
    cm_fused_segments *all = NULL;
    cm_call memory;
    add_weights();
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 6);
    ck_assert_int_eq(cm_fused_segments_create(stream, &pass, false, &all), CM_OK);
    ck_assert_int_eq(cm_fused_segments_count(all), 1);
    left want = run_with_weights(NULL), got = run_with_weights(all);
    compare(&got, &want, 3e-2f);
    cm_fused_segments_free(all);
    cm_norm_convs *chain = NULL;
    ck_assert_int_eq(cm_norm_convs_create(stream, &pass, 0, 6, &chain), CM_OK);
    for (int i = 0; i < 6; i++) {
        const cm_call *rest = cm_norm_convs_rest(chain, &pass, i, &memory);
        ck_assert_ptr_eq(rest, i == 1 ? &with_weights[1] : i == 4 ? &memory : NULL);
    }
    ck_assert_ptr_null(memory.t[CONVOLUTION(dx)].data);
    ck_assert_ptr_eq(memory.t[CONVOLUTION(dweight)].data, gradients + 32 * 9 * 32);
    cm_norm_convs_free(chain);
    free(want.numbers), free(got.numbers);
}
END_TEST

START_TEST(what_they_read_is_left_until_then) {
    add_weights();
    const cm_call norm = with_weights[3], last = with_weights[5];
    with_weights[3].t[NORM(dx)].data = with_weights[1].t[CONVOLUTION(x)].data;
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 3);
    with_weights[3] = norm;
    with_weights[5].t[NORM(dx)].data = with_weights[4].t[CONVOLUTION(dy)].data;
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 5);
    with_weights[5] = last;
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 6);
    /* dx of a call that makes dweight first may be where x is; after the chain it would read dx */
    const cm_call part = with_weights[4];
    with_weights[4].t[CONVOLUTION(x)] = with_weights[4].t[CONVOLUTION(dx)] = place(&small, PLACES, false);
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 4);
    with_weights[4].t[CONVOLUTION(dweight)].data = NULL;
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 5);
    with_weights[4] = part;
    /* nor is anything read that is made after the chain */
    with_weights[1].t[CONVOLUTION(dbias)] = vector(&small, 1, 0, 1);
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 3);
    with_weights[1].t[CONVOLUTION(dbias)].data = NULL;
    /* both may be gradients of one weight */
    with_weights[2].t[CONVOLUTION(dweight)] = part.t[CONVOLUTION(dweight)];
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 6);
    with_weights[2].t[CONVOLUTION(dweight)].data = NULL;
    /* nothing is left of what the call does not make */
    with_weights[4].t[CONVOLUTION(dweight)].data = NULL;
    with_weights[5].t[NORM(dx)].data = with_weights[4].t[CONVOLUTION(dy)].data;
    ck_assert_int_eq(cm_norm_convs_reach(&pass, 0), 6);
}
END_TEST

/* ---- weights ---- */

/* The chain multiplies by copies of its own, which are renewed with the weights, whoever writes them. */
START_TEST(weights_that_change_are_seen) {
    cm_norm_convs *chain = NULL;
    const int count = 32 * 9 * 32;
    ck_assert_int_eq(cm_norm_convs_create(stream, &pass, 0, small.calls, &chain), CM_OK);
    ck_assert_ptr_nonnull(chain);
    for (int i = 0; i < count; i++) weights[i] = some(3 * i + 1) / 8.0f;
    ck_assert_int_eq(cm_backend_repack(&backend, weights, (size_t)(count + 2 * 32) * sizeof(float), NULL), CM_OK);
    left want = by_calls(&small);
    write_nonsense(&small);
    ck_assert_int_eq(cm_norm_convs_run(stream, &pass, chain), CM_OK);
    left got = what_is_left(&small);
    compare(&got, &want, 3e-2f);
    cm_norm_convs_free(chain);
    free(want.numbers), free(got.numbers);
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

static cm_status have_none(const cm_device *device, size_t bytes, const char *what, void **out) {
    (void)device, (void)out;
    return cm_fail(CM_ERR_MEMORY, "%s: no %zu bytes", what, bytes);
}

/* Copies of weights are for the chain alone: without memory for them the calls run. */
START_TEST(without_memory_for_turned_weights_it_is_none) {
    const cm_device *device = backend.device;
    cm_device full = *device;
    full.alloc = have_none;
    backend.device = &full;
    ck_assert(!is_chain());
    backend.device = device;
    ck_assert(is_chain());
}
END_TEST

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

/* What tells chains apart that take other times is in the key: both are measured. */
START_TEST(chains_of_other_kinds_are_measured_apart) {
    char keys[3][CM_AUTOTUNE_KEY_BYTES];
    const cm_call first = calls[0];
    for (int i = 0; i < 3; i++) {
        if (i == 1) calls[0].attr.accumulate = 0;
        if (i == 2) calls[0].t[NORM(dresidual)].data = NULL;
        ck_assert(is_chain());
        strcpy(keys[i], cuda_cpu_chosen.key);
        calls[0] = first;
    }
    ck_assert_ptr_nonnull(strstr(keys[0], "gradients of norms and convolutions"));
    ck_assert_str_ne(keys[0], keys[1]);
    ck_assert_str_ne(keys[0], keys[2]);
    ck_assert_str_ne(keys[1], keys[2]);
}
END_TEST

/* One of its channels is off. */
static cm_status run_wrongly(cm_stream *s, const cm_call *call) {
    CM_TRY(cm_ops_reserve(s, cm_cuda_batch_norm_backward_workspace(call)));
    CM_TRY(cm_cuda_batch_norm_backward(s, call));
    const cm_tensor *dx = CM_ARG(call, batch_norm_backward, dx);
    ((uint16_t *)dx->data)[7] = cm_to_half(30.0f, dx->dtype);
    return CM_OK;
}

START_TEST(one_that_differs_from_its_calls_is_none_and_says_so) {
    cm_backend_class wrong = cuda_cpu_class;
    wrong.run[CM_OP_batch_norm_backward] = run_wrongly;
    backend.kind = &wrong;
    log_keep();
    ck_assert(!is_chain());
    log_show();
    ck_assert_ptr_nonnull(strstr(logged, "5 gradients of norms and convolutions stay as many calls: "));
    backend.kind = &cuda_cpu_class;
}
END_TEST

START_TEST(addresses_may_change_with_the_version) {
    cm_norm_convs *chain = NULL;
    left want = by_calls(&small);
    ck_assert_int_eq(cm_norm_convs_create(stream, &pass, 0, small.calls, &chain), CM_OK);
    ck_assert_ptr_nonnull(chain);
    write_nonsense(&small);
    calls[4].t[NORM(dx)].data = place(&small, PLACES, false).data;
    pass.version++;
    ck_assert_int_eq(cm_norm_convs_run(stream, &pass, chain), CM_OK);
    left got = what_is_left(&small);
    compare(&got, &want, 3e-2f);
    cm_norm_convs_free(chain);
    free(want.numbers), free(got.numbers);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/cuda_norm_grads");
    TCase *results = tcase_create("results"), *which = tcase_create("which");
    tcase_set_timeout(results, 60);
    tcase_add_loop_test(results, a_chain_leaves_what_its_calls_leave, 0, SETUPS);
    tcase_add_test(results, without_rounding_the_bits_are_those_of_the_calls);
    suite_add_tcase(suite, results);
    tcase_set_timeout(which, 60);
    tcase_add_checked_fixture(which, open_small, close_setup);
    tcase_add_test(which, other_norms_end_a_chain);
    tcase_add_test(which, other_convolutions_end_a_chain);
    tcase_add_test(which, gradients_of_weights_are_made_after_the_chain);
    tcase_add_test(which, what_they_read_is_left_until_then);
    tcase_add_test(which, weights_that_change_are_seen);
    tcase_add_test(which, where_it_cannot_be_or_the_calls_are_faster_it_is_none);
    tcase_add_test(which, without_memory_for_turned_weights_it_is_none);
    tcase_add_test(which, chains_of_other_kinds_are_measured_apart);
    tcase_add_test(which, one_that_differs_from_its_calls_is_none_and_says_so);
    tcase_add_test(which, addresses_may_change_with_the_version);
    suite_add_tcase(suite, which);
    return cm_test_main(suite);
}
