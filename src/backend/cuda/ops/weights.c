#include "backend/cuda/ops/weights.h"

#include <pthread.h>
#include <stdlib.h>

#include "backend/cuda/ops/int8.h"
#include "backend/cuda/ops/ops.h"
#include "core/arena.h"

typedef struct weights {
    pthread_mutex_t lock;
    cm_weight_copy *first;
} weights;

cm_status cm_weights_open(void **out) {
    weights *w = NULL;
    CM_TRY(cm_alloc(&w, 1, sizeof *w, "copies of weights"));
    pthread_mutex_init(&w->lock, NULL);
    *out = w;
    return CM_OK;
}

static bool is_in_8_bits(const cm_weight_copy *copy) { return copy->channels > 0; }

/* Elements from the first to after the last one. */
static int64_t span(const cm_weight_copy *copy) { return (int64_t)(copy->rows - 1) * copy->step + copy->columns; }

static cm_half_copy as_kernels_see_it(const cm_weight_copy *copy, const float *block) {
    return (cm_half_copy){.first = copy->weight - block,
                          .count = span(copy),
                          .step = copy->step,
                          .columns = copy->columns,
                          .stride = copy->stride,
                          .window = copy->window,
                          .cells = (int64_t)(copy->window ? copy->padded_rows : copy->rows) * copy->stride,
                          .type = copy->type,
                          .to = (uint16_t *)(void *)copy->block.base};
}

static int launch(const cm_vector_args *args, void *queue) {
    int64_t cells = 0;
    for (int i = 0; i < args->copies; i++) cells += args->copy[i].cells;
    return args->copies > 0 ? cm_copies_each_launch(args, cells, 1, queue) : 0;
}

static int renew_in_8_bits(const cm_weight_copy *copy, void *queue) {
    const int place = cm_int8_place(copy->channels);
    const cm_int8_weight_args args = {.weight = {(float *)(uintptr_t)copy->weight, copy->step},
                                      .columns = copy->columns,
                                      .window = copy->stride / place,
                                      .channels = copy->channels,
                                      .words = place / CM_INT8_WORD,
                                      .to = (uint32_t *)(void *)copy->block.base,
                                      .steps = cm_weight_steps(copy)};
    return cm_int8_weight_each_launch(&args, copy->rows, CM_WARP, queue);
}

static int renew(const cm_weight_copy *copy, void *queue) {
    if (is_in_8_bits(copy)) return renew_in_8_bits(copy, queue);
    cm_vector_args args = {.x = copy->weight, .copies = 1, .copy = {as_kernels_see_it(copy, copy->weight)}};
    return launch(&args, queue);
}

static cm_status add_new(cm_stream *stream, weights *w, const cm_weight_copy *wanted, cm_weight_copy **out) {
    cm_weight_copy *copy = NULL;
    CM_TRY(cm_alloc(&copy, 1, sizeof *copy, "a copy of a weight"));
    *copy = *wanted;
    const size_t cells = (size_t)copy->padded_rows * (size_t)copy->stride;
    const size_t bytes = is_in_8_bits(copy) ? cells + (size_t)copy->rows * sizeof(float) : cells * sizeof(uint16_t);
    cm_status status = cm_buffer_create(&copy->block, cm_ops_device(stream), bytes, "low-precision weights");
    if (status != CM_OK) {
        free(copy);
        return status;
    }
    copy->next = w->first;
    w->first = copy;
    *out = copy;
    return CM_OK;
}

static cm_status acquire_locked(cm_stream *stream, weights *w, const cm_weight_copy *wanted, cm_weight_copy **out) {
    for (cm_weight_copy *copy = w->first; copy && !*out; copy = copy->next) {
        bool same = copy->weight == wanted->weight && copy->rows == wanted->rows && copy->columns == wanted->columns &&
                    copy->step == wanted->step && copy->channels == wanted->channels &&
                    copy->window == wanted->window && copy->type == wanted->type;
        if (same) *out = copy;
    }
    if (!*out) CM_TRY(add_new(stream, w, wanted, out));
    (*out)->users++;
    return cm_ops_launched(stream, renew(*out, cm_ops_queue(stream)), "copies of weights");
}

static cm_status acquire(cm_stream *stream, const cm_weight_copy *wanted, cm_weight_copy **out) {
    weights *w = cm_ops_weights(stream);
    *out = NULL;
    pthread_mutex_lock(&w->lock);
    cm_status status = acquire_locked(stream, w, wanted, out);
    pthread_mutex_unlock(&w->lock);
    return status;
}

cm_status cm_weights_acquire(cm_stream *stream, const cm_tensor *weight, int columns, cm_dtype type,
                             cm_weight_copy **out) {
    cm_weight_copy wanted = {.weight = weight->data,
                             .rows = weight->dim[0],
                             .padded_rows = weight->dim[0],
                             .columns = columns,
                             .step = weight->stride,
                             .stride = cm_half_row(columns),
                             .type = type};
    const int window = weight->ndim == 4 ? weight->dim[1] * weight->dim[2] : 1;
    if (type == CM_I8) {
        wanted.columns = cm_tensor_row_size(weight);
        wanted.channels = columns;
        wanted.stride = window * cm_int8_place(columns);
    } else if (weight->ndim == 4) {
        wanted.rows = weight->dim[0] * window;
        wanted.padded_rows = cm_half_row(weight->dim[0]) * window;
        wanted.step = weight->dim[3];
    }
    return acquire(stream, &wanted, out);
}

cm_status cm_weights_acquire_turned(cm_stream *stream, const cm_tensor *weight, cm_dtype type, cm_weight_copy **out) {
    const int outputs = weight->dim[0], window = weight->dim[1] * weight->dim[2], channels = weight->dim[3];
    const cm_weight_copy wanted = {.weight = weight->data,
                                   .rows = outputs * window,
                                   .padded_rows = channels * window,
                                   .columns = channels,
                                   .step = channels,
                                   .stride = outputs,
                                   .window = window,
                                   .type = type};
    return acquire(stream, &wanted, out);
}

static void free_copy(cm_weight_copy *copy) {
    cm_buffer_destroy(&copy->block);
    free(copy);
}

void cm_weights_release(void *weights_, cm_weight_copy *copy) {
    weights *w = weights_;
    if (!copy) return;
    pthread_mutex_lock(&w->lock);
    if (--copy->users == 0) {
        cm_weight_copy **link = &w->first;
        while (*link != copy) link = &(*link)->next;
        *link = copy->next;
        free_copy(copy);
    }
    pthread_mutex_unlock(&w->lock);
}

static bool lies_in(const cm_weight_copy *copy, const float *block, int64_t n) {
    return copy->weight >= block && copy->weight + span(copy) <= block + n;
}

int cm_weights_renew(void *weights_, void *queue, const void *block, size_t bytes) {
    weights *w = weights_;
    cm_vector_args args = {.x = block};
    int result = 0;
    pthread_mutex_lock(&w->lock);
    for (cm_weight_copy *copy = w->first; copy && result == 0; copy = copy->next) {
        if (!lies_in(copy, block, (int64_t)(bytes / sizeof(float)))) continue;
        if (is_in_8_bits(copy))
            result = renew(copy, queue);
        else if (copy->written != span(copy))
            args.copy[args.copies++] = as_kernels_see_it(copy, block);
        copy->written = 0;
        if (args.copies < CM_COPIES) continue;
        result = launch(&args, queue);
        args.copies = 0;
    }
    if (result == 0) result = launch(&args, queue);
    pthread_mutex_unlock(&w->lock);
    return result;
}

int cm_weights_within(const cm_stream *stream, const float *parameters, int64_t n, cm_half_copy out[CM_COPIES]) {
    weights *w = cm_ops_weights(stream);
    int count = 0;
    pthread_mutex_lock(&w->lock);
    for (cm_weight_copy *copy = w->first; copy && count < CM_COPIES; copy = copy->next) {
        const int64_t first = copy->weight - parameters, end = first + span(copy);
        if (is_in_8_bits(copy) || copy->window || first >= n || end <= 0) continue;
        copy->written += (end < n ? end : n) - (first > 0 ? first : 0);
        out[count++] = as_kernels_see_it(copy, parameters);
    }
    pthread_mutex_unlock(&w->lock);
    return count;
}

void cm_weights_close(void *weights_) {
    weights *w = weights_;
    if (!w) return;
    for (cm_weight_copy *copy = w->first, *next; copy; copy = next) {
        next = copy->next;
        free_copy(copy);
    }
    pthread_mutex_destroy(&w->lock);
    free(w);
}
