#include "support/unrolled.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "backend/tape/tape_internal.h"
#include "core/arena.h"

enum { UNROLL = 3, ACTIONS = 3, VALUES = 7 };

static const cm_memory given[] = {CM_MEM_PARAMETER, CM_MEM_STATE, CM_MEM_GRADIENT, CM_MEM_STATS,
                                  CM_MEM_INPUT,     CM_MEM_WORK,  CM_MEM_SCALING,  CM_MEM_POOL};
enum { GIVEN = sizeof given / sizeof *given };

static size_t bytes_of(const cm_test_unrolled *u, cm_memory memory) {
    const cm_param_table *parameters = cm_network_parameters(u->network);
    switch (memory) {
    case CM_MEM_PARAMETER:
    case CM_MEM_GRADIENT: return parameters->parameters * sizeof(float);
    case CM_MEM_STATE: return parameters->states * sizeof(float);
    case CM_MEM_SCALING: return CM_SCALING_NUMBERS * sizeof(float);
    case CM_MEM_POOL: return VALUES * sizeof(float);
    default: return cm_tape_bytes(u->unroll.tape, memory);
    }
}

static void *allocate(size_t bytes) {
    void *made = calloc(1, bytes ? bytes : 1);
    ck_assert_ptr_nonnull(made);
    return made;
}

/* Numbers below `limit` in an input. */
static void fill_integers(const cm_test_unrolled *u, cm_var var, int limit, float *inputs) {
    int32_t *to = (int32_t *)(void *)inputs + cm_tape_offset(u->unroll.tape, var) / sizeof *to;
    for (int i = 0; i < cm_tape_shape(u->unroll.tape, var)->dim[0]; i++) to[i] = i % limit;
}

static void fill_numbers(cm_memory memory, float *numbers, size_t count, size_t first) {
    const float mean = memory == CM_MEM_PARAMETER ? 0.05f : 0.5f;
    for (size_t i = 0; i < count; i++) numbers[i] = mean + 0.3f * sinf(2.3f * (float)(first + i) + (float)memory);
}

/* Numbers of an array depend on those before it, not on the gaps. */
static void fill_arrays(const cm_param_table *table, cm_memory memory, float *numbers) {
    size_t first = 0;
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        if (p->state != (memory == CM_MEM_STATE)) continue;
        fill_numbers(memory, numbers + p->offset, p->count, first);
        first += p->count;
    }
}

/* Work begins with zeros, so that what is not written is the same. */
static void fill(cm_test_unrolled *u, cm_memory memory) {
    const size_t bytes = bytes_of(u, memory);
    float *numbers = allocate(bytes);
    switch (memory) {
    case CM_MEM_WORK: break;
    case CM_MEM_PARAMETER:
    case CM_MEM_GRADIENT:
    case CM_MEM_STATE: fill_arrays(cm_network_parameters(u->network), memory, numbers); break;
    default: fill_numbers(memory, numbers, bytes / sizeof(float), 0);
    }
    if (memory == CM_MEM_INPUT) {
        fill_integers(u, u->unroll.actions, ACTIONS, numbers);
        fill_integers(u, u->unroll.bootstrap_row, VALUES, numbers);
    }
    ck_assert_int_eq(cm_buffer_write(&u->memory[memory], 0, numbers, bytes), CM_OK);
    free(numbers);
}

void cm_test_unrolled_open(cm_test_unrolled *u, cm_backend *backend, int kind, cm_dtype compute, int rows) {
    cm_network_config c;
    cm_trainer_options o;
    cm_test_update_kind(kind, &c, &o);
    cm_test_unrolled_open_of(u, backend, &c, &o, compute, rows);
}

void cm_test_unrolled_open_of(cm_test_unrolled *u, cm_backend *backend, const cm_network_config *c,
                              const cm_trainer_options *o, cm_dtype compute, int rows) {
    void *base[CM_MEM_COUNT] = {NULL};
    *u = (cm_test_unrolled){0};
    ck_assert_msg(cm_network_create(c, &u->network) == CM_OK, "%s", cm_error_message());
    cm_trainer_config config = {.network = u->network, .backend = backend, .options = o};
    config.batch = rows, config.unroll = UNROLL, config.compute = compute;
    ck_assert_msg(cm_unroll_record(&config, rows, VALUES, &u->unroll) == CM_OK, "%s", cm_error_message());
    for (int i = 0; i < GIVEN; i++) {
        cm_buffer *buffer = &u->memory[given[i]];
        const size_t bytes = bytes_of(u, given[i]) + CM_ALIGN;
        ck_assert_msg(cm_buffer_create(buffer, backend->device, bytes, "a test") == CM_OK, "%s", cm_error_message());
        base[given[i]] = buffer->base;
        fill(u, given[i]);
    }
    ck_assert_msg(cm_stream_open(backend, &u->stream) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_pass_create(u->unroll.tape, u->stream, base, &u->pass) == CM_OK, "%s", cm_error_message());
}

void cm_test_unrolled_run(cm_test_unrolled *u) {
    ck_assert_msg(cm_pass_forward(u->pass) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(cm_pass_backward(u->pass) == CM_OK, "%s", cm_error_message());
}

void cm_test_unrolled_close(cm_test_unrolled *u) {
    cm_pass_destroy(u->pass);
    cm_stream_close(u->stream);
    cm_tape_destroy(u->unroll.tape);
    for (int i = 0; i < CM_MEM_COUNT; i++) cm_buffer_destroy(&u->memory[i]);
    cm_network_destroy(u->network);
}

/* ---- comparing ---- */

static void *read_var(const cm_test_unrolled *u, cm_var var) {
    void *numbers = allocate(cm_tensor_bytes(&u->unroll.tape->var[var].shape));
    ck_assert_msg(cm_pass_read(u->pass, var, numbers) == CM_OK, "%s", cm_error_message());
    return numbers;
}

static float number_at(const cm_tensor *t, const void *numbers, int row, int column) {
    const size_t at = (size_t)row * (size_t)t->stride + (size_t)column;
    if (t->dtype == CM_F32) return ((const float *)numbers)[at];
    return cm_widen(((const uint16_t *)numbers)[at], t->dtype);
}

static float largest(const cm_tensor *t, const void *numbers) {
    float most = 0.0f;
    for (int r = 0; r < t->dim[0]; r++)
        for (int c = 0; c < cm_tensor_row_size(t); c++) most = fmaxf(most, fabsf(number_at(t, numbers, r, c)));
    return most;
}

/* Sums over rows may cancel: their errors are those of what was added. */
static float largest_gradient(const cm_test_unrolled *u) {
    const int count = (int)cm_network_parameters(u->network)->parameters;
    const cm_tensor all = cm_tensor_make(NULL, CM_F32, 1, &count);
    float *gradients = allocate((size_t)count * sizeof *gradients);
    ck_assert_int_eq(cm_buffer_read(&u->memory[CM_MEM_GRADIENT], 0, gradients, (size_t)count * sizeof *gradients),
                     CM_OK);
    const float most = largest(&all, gradients);
    free(gradients);
    return most;
}

static void compare_var(const cm_test_unrolled *got, const cm_test_unrolled *want, cm_var var, float tolerance) {
    const cm_tape_var *v = &want->unroll.tape->var[var];
    const cm_tensor *t = &v->shape;
    if (t->dtype == CM_I32) return;
    void *is = read_var(got, var), *should = read_var(want, var);
    const float most = v->memory == CM_MEM_GRADIENT ? largest_gradient(want) : largest(t, should);
    for (int r = 0; r < t->dim[0]; r++)
        for (int c = 0; c < cm_tensor_row_size(t); c++) {
            const float x = number_at(t, is, r, c), y = number_at(t, should, r, c);
            if (!(fabsf(x - y) <= tolerance * most))
                ck_abort_msg("variable %d [%d, %d] at %d, %d: %g, not %g", var, t->dim[0], cm_tensor_row_size(t), r, c,
                             (double)x, (double)y);
        }
    free(is);
    free(should);
}

/* Where activations are recomputed, others take their memory. */
static bool is_kept(const cm_tape *tape, cm_var var) {
    return cm_tape_has_memory(tape, var) &&
           (tape->recompute == CM_RECOMPUTE_NONE || tape->var[var].memory != CM_MEM_WORK);
}

void cm_test_unrolled_compare(const cm_test_unrolled *got, const cm_test_unrolled *want, float tolerance) {
    ck_assert_int_gt(want->unroll.tape->vars, 0);
    for (int var = 0; var < want->unroll.tape->vars; var++)
        if (is_kept(want->unroll.tape, var)) compare_var(got, want, var, tolerance);
}
