#include "support/op_bench.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Stated tolerance: |got - want| <= relative * (largest |want| of the tensor) + absolute. */
#define F32_RELATIVE  2e-6
#define BF16_RELATIVE 8e-3
#define F16_RELATIVE  1e-3
#define ABSOLUTE      1e-6

bool op_bench_open(op_bench *b, const char *name) {
    *b = (op_bench){0};
    if (cm_backend_open(name, &b->backend) == CM_ERR_ABSENT) {
        printf("SKIP %s operations: %s\n", name, cm_error_message());
        return false;
    }
    ck_assert_ptr_nonnull(b->backend);
    ck_assert_int_eq(cm_backend_open("ref", &b->ref), CM_OK);
    ck_assert_int_eq(cm_stream_open(b->backend, &b->stream), CM_OK);
    ck_assert_int_eq(cm_stream_open(b->ref, &b->ref_stream), CM_OK);
    return true;
}

void op_bench_close(op_bench *b) {
    cm_stream_close(b->stream);
    cm_stream_close(b->ref_stream);
    cm_backend_close(b->backend);
    cm_backend_close(b->ref);
}

static double at(const cm_tensor *t, int r, int i) {
    const size_t element = (size_t)r * (size_t)t->stride + (size_t)i;
    return t->dtype == CM_I32 ? (double)((const int32_t *)t->data)[element] : (double)((const float *)t->data)[element];
}

/* -FLT_MAX says that something is not there: no size. */
static bool is_mark(double value) { return value == -(double)FLT_MAX; }

static void assert_close(const cm_tensor *got, const cm_tensor *want, double relative, const char *what) {
    double largest = 0.0;
    for (int r = 0; r < want->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(want); i++)
            if (!is_mark(at(want, r, i))) largest = fmax(largest, fabs(at(want, r, i)));
    for (int r = 0; r < want->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(want); i++) {
            double off = fabs(at(got, r, i) - at(want, r, i));
            if (!(off <= relative * largest + ABSOLUTE)) /* an assertion of Check writes a line each time */
                ck_abort_msg("%s [%d, %d]: got %.9g, want %.9g (largest %.3g)", what, r, i, at(got, r, i),
                             at(want, r, i), largest);
        }
}

/* The type that a backend's products are in where `compute` is asked: 8 bits are; else float32 without instructions for
 * it, but for conv2d_norm, which the cpu backend leaves to ref. */
static cm_dtype type_of_products(const op_bench *b, cm_op op, cm_dtype compute) {
    return compute == CM_I8 || b->backend->native[compute] || op == CM_OP_conv2d_norm ? compute : CM_F32;
}

static double tolerance(const op_bench *b, cm_op op, cm_dtype compute) {
    static const double relative[] = {
        [CM_F32] = F32_RELATIVE, [CM_BF16] = BF16_RELATIVE, [CM_F16] = F16_RELATIVE, [CM_I8] = F32_RELATIVE};
    return relative[type_of_products(b, op, compute)];
}

/* Runs what is placed on a stream, whose weight is new; the results are in the run. */
static void run_placed(cm_stream *stream, op_place *place) {
    int weight = op_tensor(place->call.op, "weight");
    if (weight >= 0) {
        const cm_tensor *w = &place->call.t[weight];
        ck_assert_int_eq(cm_stream_repack(stream, w->data, cm_tensor_bytes(w), NULL), CM_OK);
    }
    cm_status status = cm_call_eager(stream, &place->call);
    ck_assert_msg(status == CM_OK, "%s", cm_error_message());
    op_place_read(place);
}

static void run_fresh(cm_stream *stream, op_run *run) {
    op_place place;
    op_place_make(&place, stream, run);
    run_placed(stream, &place);
    op_place_free(&place);
}

/* Runs a call by ref, whose products are in the type of the backend's. */
static void run_ref(op_bench *b, op_run *run) {
    run->call.attr.compute = type_of_products(b, run->call.op, run->call.attr.compute);
    run_fresh(b->ref_stream, run);
}

static void assert_outputs_close(const op_run *got, const op_run *want, double relative, const char *name) {
    for (int i = 0; i < cm_op_tensor_count(want->call.op); i++) {
        if (!want->call.t[i].data || !cm_op_tensor_written(want->call.op, i)) continue;
        char what[256], tensor[CM_OP_NAME_BYTES];
        snprintf(what, sizeof what, "%s: %s", name, cm_op_tensor_name(want->call.op, i, tensor));
        assert_close(&got->call.t[i], &want->call.t[i], relative, what);
    }
}

/* Copies are what was written, rounded. */
static void assert_copies(const op_run *run, const char *name) {
    for (int i = 0; i < cm_op_tensor_count(run->call.op); i++) {
        const cm_tensor *t = &run->call.t[i];
        if (!t->data || !op_half(run->call.op, i)) continue;
        const cm_tensor *of = &run->call.t[op_copied(run->call.op, i)];
        for (int r = 0; r < t->dim[0]; r++)
            for (int k = 0; k < cm_tensor_row_size(t); k++) {
                const uint16_t got = ((const uint16_t *)t->data)[(size_t)r * t->stride + k];
                if (got != cm_to_half((float)at(of, r, k), t->dtype))
                    ck_abort_msg("%s: copy [%d, %d] of %.9g is %x", name, r, k, (double)at(of, r, k), got);
            }
    }
}

/* Without copies, which others than the backend under test need not know. */
static void leave_out_copies(op_run *run) {
    for (int i = 0; i < cm_op_tensor_count(run->call.op); i++)
        if (op_half(run->call.op, i)) run->call.t[i].data = NULL;
}

/* Runs a prepared call once more on other memory (weights stay): the same bits. */
static void assert_prepared_call_moves(op_bench *b, const op_run *fresh, const op_place *done, const char *name) {
    op_run moved;
    op_place place;
    op_run_copy(&moved, fresh);
    op_place_make(&place, b->stream, &moved);
    cm_call call = done->call;
    int weight = op_tensor(call.op, "weight");
    for (int i = 0; i < CM_CALL_TENSORS; i++)
        if (i != weight) call.t[i].data = place.call.t[i].data;
    ck_assert_int_eq(cm_call_run(b->stream, &call), CM_OK);
    op_place_read(&place);
    for (int i = 0; i < CM_CALL_TENSORS; i++)
        ck_assert_msg(!moved.block[i] || memcmp(moved.block[i], done->run->block[i], moved.block_bytes[i]) == 0,
                      "%s: a prepared call gives other bits on other memory (tensor %d)", name, i);
    op_place_free(&place);
    op_run_free(&moved);
}

static void compare_with_ref(const op_case *row, cm_op op, op_variant v, void *at_bench) {
    op_bench *b = at_bench;
    if ((v.half && !b->backend->kind->takes_half) || (v.compute == CM_I8 && !b->backend->kind->takes_int8)) return;
    char described[160], name[192], message[128];
    op_describe(row, op, v, described);
    snprintf(name, sizeof name, "%s: %s", b->backend->kind->name, described);
    op_run fresh, want, got;
    op_place place;
    op_run_make(&fresh, row, op, v);
    op_run_copy(&want, &fresh);
    op_run_copy(&got, &fresh);
    op_place_make(&place, b->stream, &got);
    leave_out_copies(&want);
    run_ref(b, &want);
    run_placed(b->stream, &place);
    ck_assert_msg(op_run_intact(&want, &fresh, message), "ref against %s: %s", name, message);
    ck_assert_msg(op_run_intact(&got, &fresh, message), "%s: %s", name, message);
    assert_outputs_close(&got, &want, tolerance(b, op, op_has_products(op) ? v.compute : CM_F32), name);
    assert_copies(&got, name);
    assert_prepared_call_moves(b, &fresh, &place, name);
    op_place_free(&place);
    op_run_free(&want);
    op_run_free(&got);
    op_run_free(&fresh);
    b->calls++;
}

void op_bench_compare(op_bench *b, cm_op op) {
    for (int i = 0; i < op_case_count; i++) {
        const op_case *row = &op_cases[i];
        if (row->op == op || row->backward == op) op_each_variant(row, op, compare_with_ref, b);
    }
}

/* ---- the size of errors ---- */

typedef struct error_search {
    op_bench *bench;
    cm_dtype compute;
    double largest;
} error_search;

static double error_of(const cm_tensor *got, const cm_tensor *want) {
    double largest = 0.0, off = 0.0;
    for (int r = 0; r < want->dim[0]; r++)
        for (int i = 0; i < cm_tensor_row_size(want); i++) {
            double difference = fabs((double)at(got, r, i) - (double)at(want, r, i));
            largest = fmax(largest, fabs((double)at(want, r, i)));
            off = isfinite(difference) ? fmax(off, difference) : (double)INFINITY;
        }
    return off > 0.0 ? off / fmax(largest, ABSOLUTE) : 0.0;
}

static void find_error(const op_case *row, cm_op op, op_variant v, void *at_search) {
    error_search *s = at_search;
    op_run want, got;
    if (v.compute != s->compute || v.half) return;
    op_run_make(&want, row, op, v);
    op_run_copy(&got, &want);
    run_fresh(s->bench->ref_stream, &want);
    run_fresh(s->bench->stream, &got);
    for (int i = 0; i < cm_op_tensor_count(op); i++)
        if (want.call.t[i].data && cm_op_tensor_written(op, i))
            s->largest = fmax(s->largest, error_of(&got.call.t[i], &want.call.t[i]));
    op_run_free(&want);
    op_run_free(&got);
}

double op_bench_error(op_bench *b, cm_op op, cm_dtype compute) {
    error_search search = {b, compute, -1.0};
    for (int i = 0; i < op_case_count; i++)
        if (op_cases[i].op == op || op_cases[i].backward == op) op_each_variant(&op_cases[i], op, find_error, &search);
    return search.largest;
}

/* ---- one tensor in two places ---- */

/* Runs a call with tensor `out` lying in tensor `in`: it gives what it gives apart. */
static void compare_aliased(op_bench *b, const op_case *row, cm_op op, const char *out, const char *in) {
    op_variant v = {.absent = -1, .seed = 11, .activation = row->activations ? CM_ACT_RELU : CM_ACT_NONE};
    op_run apart, together;
    op_run_make(&apart, row, op, v);
    op_run_copy(&together, &apart);
    run_fresh(b->stream, &apart);
    together.call.t[op_tensor(op, out)] = together.call.t[op_tensor(op, in)];
    run_fresh(b->stream, &together);
    char name[160];
    snprintf(name, sizeof name, "%s: %s in place of %s", cm_op_name(op), out, in);
    assert_close(&together.call.t[op_tensor(op, out)], &apart.call.t[op_tensor(op, out)], 0.0, name);
    op_run_free(&apart);
    op_run_free(&together);
}

void op_bench_compare_aliased(op_bench *b) {
    static const struct {
        cm_op op;
        const char *out, *in;
    } allowed[] = {{CM_OP_activation_backward, "dx", "dy"},
                   {CM_OP_add, "y", "a"},
                   {CM_OP_add, "y", "b"},
                   {CM_OP_layer_norm_backward, "dx", "dy"}};
    for (int i = 0; i < op_case_count; i++)
        for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++)
            if (op_cases[i].op == allowed[k].op || op_cases[i].backward == allowed[k].op)
                compare_aliased(b, &op_cases[i], allowed[k].op, allowed[k].out, allowed[k].in);
}

/* ---- weights that change ---- */

void op_bench_change_weights(op_bench *b) {
    for (int i = 0; i < op_case_count; i++) {
        const op_case *row = &op_cases[i];
        if (row->op != CM_OP_dense && row->op != CM_OP_conv2d && row->op != CM_OP_conv2d_norm) continue;
        for (int side = 0; side <= 2 * CM_PRODUCT_TYPES; side++) {
            const bool in_8_bits = side == 2 * CM_PRODUCT_TYPES;
            if (in_8_bits && !b->backend->kind->takes_int8) continue;
            cm_op op = side & 1 ? row->backward : row->op;
            op_variant v = {.absent = -1, .seed = 3, .compute = in_8_bits ? CM_I8 : (cm_dtype)(side / 2)};
            op_run got, want;
            op_place place;
            op_run_make(&got, row, op, v);
            op_place_make(&place, b->stream, &got);
            run_placed(b->stream, &place);
            const cm_tensor *weight = &got.call.t[op_tensor(op, "weight")];
            for (int k = 0; k < (int)cm_tensor_count(weight); k++) ((float *)weight->data)[k] *= -0.5f;
            op_place_write(&place);
            const void *changed = place.call.t[op_tensor(op, "weight")].data;
            ck_assert_int_eq(cm_backend_repack(b->backend, changed, cm_tensor_bytes(weight), NULL), CM_OK);
            ck_assert_int_eq(cm_call_run(b->stream, &place.call), CM_OK);
            op_place_read(&place);
            op_run_copy(&want, &got);
            run_ref(b, &want);
            assert_outputs_close(&got, &want, tolerance(b, op, v.compute), cm_op_name(op));
            op_place_free(&place);
            op_run_free(&got);
            op_run_free(&want);
        }
    }
}

/* ---- loss scaling ---- */

/* State of loss scaling: scale, good steps, all steps, skipped ones. */
typedef struct scaling_case {
    float squares, check; /* the gradient's sum of squares, and a number that has to be finite */
    int growth;
    float before[4], after[4];
} scaling_case;

static const scaling_case scalings[] = {
    {576.0f, 0.0f, 5, {8, 3, 19, 2}, {8, 4, 20, 2}},
    {576.0f, 0.0f, 4, {8, 3, 19, 2}, {16, 0, 20, 2}},
    {576.0f, 0.0f, 0, {8, 3, 19, 2}, {8, 4, 20, 2}},
    {576.0f, 0.0f, 4, {16777216, 9, 19, 2}, {16777216, 0, 20, 2}},
    {INFINITY, 0.0f, 4, {8, 3, 19, 2}, {4, 0, 19, 3}},
    {NAN, 0.0f, 4, {8, 3, 19, 2}, {4, 0, 19, 3}},
    {INFINITY, 0.0f, 4, {2, 3, 19, 2}, {1, 0, 19, 3}},
    {INFINITY, 0.0f, 4, {1, 3, 19, 2}, {1, 3, 19, 2}}, /* no lower: the caller's error */
    {576.0f, NAN, 4, {8, 3, 19, 2}, {8, 3, 19, 2}},    /* a loss is not finite: nothing to do with the scale */
    {INFINITY, INFINITY, 4, {8, 3, 19, 2}, {8, 3, 19, 2}},
};

enum { PARTIALS = 300, CHECKS = 700 };

/* Runs the case with its one number somewhere among zeros; factor[2] and scaling[CM_SCALING_NUMBERS] come back. */
static void clip_scaled(op_bench *b, const scaling_case *c, float *factor, float *scaling) {
    static op_run run;
    op_place place;
    op_case row = {.op = CM_OP_clip, .sizes = "n=300 m=700"};
    row.attr = (cm_attr){.clip_norm = 1.5, .beta1 = 0.9, .beta2 = 0.999, .growth = c->growth};
    op_run_make(&run, &row, CM_OP_clip, (op_variant){.absent = -1, .seed = 1});
    float *partial = run.call.t[CM_T_clip_partial].data, *check = run.call.t[CM_T_clip_check].data;
    for (int i = 0; i < PARTIALS; i++) partial[i] = i == 271 ? c->squares : 0.0f;
    for (int i = 0; i < CHECKS; i++) check[i] = i == 613 ? c->check : 1.0f;
    memcpy(run.call.t[CM_T_clip_scaling].data, c->before, sizeof c->before);
    op_place_make(&place, b->stream, &run);
    run_placed(b->stream, &place);
    memcpy(factor, run.call.t[CM_T_clip_factor].data, 2 * sizeof *factor);
    memcpy(scaling, run.call.t[CM_T_clip_scaling].data, CM_SCALING_NUMBERS * sizeof *scaling);
    op_place_free(&place);
    op_run_free(&run);
}

void op_bench_scale_losses(op_bench *b) {
    for (size_t k = 0; k < sizeof scalings / sizeof *scalings; k++) {
        const scaling_case *c = &scalings[k];
        float factor[2], scaling[CM_SCALING_NUMBERS];
        clip_scaled(b, c, factor, scaling);
        for (int i = 0; i < 4; i++)
            ck_assert_msg(scaling[i] == c->after[i], "%s, case %zu: number %d is %g, not %g", b->backend->kind->name, k,
                          i, (double)scaling[i], (double)c->after[i]);
        const bool is_finite = isfinite(c->squares) && isfinite(c->check);
        ck_assert_msg(isfinite(factor[1]) == is_finite, "case %zu: norm %g", k, (double)factor[1]);
        if (!is_finite) continue;
        const double norm = 24.0 / (double)c->before[0], clip = norm > 1.5 ? 1.5 / (norm + 1e-6) : 1.0;
        ck_assert_double_eq_tol((double)factor[1], norm, 1e-6 * norm);
        ck_assert_double_eq_tol((double)factor[0] * (double)c->before[0], clip, 1e-6);
        ck_assert_double_eq_tol((double)scaling[CM_SCALING_CORRECTION1], 1.0 - pow(0.9, 20.0), 1e-6);
        ck_assert_double_eq_tol((double)scaling[CM_SCALING_CORRECTION2], 1.0 - pow(0.999, 20.0), 1e-6);
    }
}

/* Of numbers that begin `shift` floats after a multiple of 16 bytes, that at `at` is not finite; < 0: all are. */
static void find_flaw(op_bench *b, int shift, int at) {
    static op_run run;
    op_place place;
    const op_case row = {.op = CM_OP_clip, .sizes = "n=3 m=9004"};
    op_run_make(&run, &row, CM_OP_clip, (op_variant){.absent = -1, .seed = 1});
    cm_tensor *check = &run.call.t[CM_T_clip_check];
    check->data = (float *)check->data + shift;
    check->dim[0]--;
    if (at >= 0) ((float *)check->data)[at] = at % 2 ? NAN : -INFINITY;
    op_place_make(&place, b->stream, &run);
    run_placed(b->stream, &place);
    const double norm = (double)((const float *)run.call.t[CM_T_clip_factor].data)[1];
    ck_assert_msg(isnan(norm) == (at >= 0), "%s: norm %g with number %d", b->backend->kind->name, norm, at);
    op_place_free(&place);
    op_run_free(&run);
}

void op_bench_find_flaws(op_bench *b) {
    static const int places[] = {-1, 0, 3, 1026, 5000, 8999, 9000, 9002};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++)
        for (int shift = 0; shift < 2; shift++) find_flaw(b, shift, places[k]);
}
