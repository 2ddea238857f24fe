#include "backend/cuda/ops/autotune_check.h"

#include <math.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core/rng.h"

static float number_at(const void *numbers, cm_dtype type, size_t i) {
    return type == CM_F32 ? ((const float *)numbers)[i] : cm_widen(((const uint16_t *)numbers)[i], type);
}

/* A prime, so that rows differ. */
enum { PERIOD = 65537 };

cm_status cm_autotune_check_fill(cm_stream *stream, void *to, cm_dtype type, size_t n) {
    const size_t size = cm_dtype_size(type), count = n < PERIOD ? n : PERIOD;
    unsigned char *numbers = NULL;
    cm_rng rng = cm_rng_init(cm_key_make(0, CM_RNG_TEST, 0), 0);
    CM_TRY(cm_alloc(&numbers, count, size, "numbers to measure on"));
    for (size_t i = 0; i < count; i++) {
        const float x = 2.0f * cm_rng_uniform(&rng) - 1.0f;
        if (type == CM_F32) {
            ((float *)(void *)numbers)[i] = x;
        } else {
            ((uint16_t *)(void *)numbers)[i] = cm_to_half(x, type);
        }
    }
    cm_status status = CM_OK;
    for (size_t i = 0; status == CM_OK && i < n; i += count)
        status = cm_stream_write(stream, (char *)to + i * size, numbers, (n - i < count ? n - i : count) * size);
    free(numbers);
    return status;
}

void cm_autotune_check_free(cm_autotune_check_results *results) {
    free(results->wanted);
    free(results->got);
    results->wanted = results->got = NULL;
}

/* The largest magnitude; 0 where one is not finite. */
static float largest(const void *numbers, cm_dtype type, size_t n) {
    float most = 0.0f;
    for (size_t i = 0; i < n; i++) {
        const float x = fabsf(number_at(numbers, type, i));
        if (!isfinite(x)) return 0.0f;
        if (x > most) most = x;
    }
    return most;
}

/* Of more numbers than these pieces hold they alone are compared: the first, the last, and others spread evenly. */
enum { PIECE = 1 << 16, PIECES = 8, COMPARED = PIECE * PIECES };

/* Where number i of those that are compared is among all n. */
static size_t place_of(size_t i, size_t n) {
    return n <= COMPARED ? i : (n - PIECE) * (i / PIECE) / (PIECES - 1) + i % PIECE;
}

static cm_status read_compared(cm_stream *stream, unsigned char *to, const unsigned char *from, size_t size, size_t n) {
    if (n <= COMPARED) return cm_stream_read(stream, to, from, n * size);
    for (size_t i = 0; i < COMPARED; i += PIECE)
        CM_TRY(cm_stream_read(stream, to + i * size, from + place_of(i, n) * size, PIECE * size));
    return CM_OK;
}

/* A step between is as exact as what results are made of. */
static float tolerance_of(const cm_autotune_check_numbers *numbers) {
    return numbers->type == CM_F32 && numbers->made_of == CM_F32 ? 1.0f / 1024.0f : 1.0f / 64.0f;
}

static cm_status compare(const cm_autotune_check_results *r, const cm_autotune_check_numbers *numbers) {
    const cm_dtype type = numbers->type;
    const size_t all = numbers->n, n = all < COMPARED ? all : COMPARED;
    const float most = largest(r->wanted, type, n), bound = most * tolerance_of(numbers);
    for (size_t i = 0; i < n && most > 0.0f; i++) {
        const float got = number_at(r->got, type, i), wanted = number_at(r->wanted, type, i);
        if (!(fabsf(got - wanted) <= bound))
            return cm_fail(CM_ERR_DEVICE, "its result number %zu is %g, not %g (the largest is %g)", place_of(i, all),
                           (double)got, (double)wanted, (double)most);
    }
    return CM_OK;
}

cm_status cm_autotune_check_agree(cm_autotune_check_results *results, cm_stream *stream,
                                  const cm_autotune_check_numbers *numbers, bool first) {
    void **to = first ? &results->wanted : &results->got;
    const size_t size = cm_dtype_size(numbers->type), n = numbers->n;
    if (!*to) {
        unsigned char *taken = NULL;
        CM_TRY(cm_alloc(&taken, n < COMPARED ? n : COMPARED, size, "results to compare"));
        *to = taken;
    }
    CM_TRY(read_compared(stream, *to, numbers->data, size, n));
    return first ? CM_OK : compare(results, numbers);
}

/* A number of any type. */
typedef union number {
    float wide;
    uint16_t half;
} number;

cm_status cm_autotune_check_put_nan(cm_stream *stream, void *to, cm_dtype type) {
    number nan = {.wide = NAN};
    if (type != CM_F32) nan.half = cm_to_half(NAN, type);
    return cm_stream_write(stream, to, &nan, cm_dtype_size(type));
}

cm_status cm_autotune_check_expect_nan(cm_stream *stream, const void *from, cm_dtype type) {
    number there = {0};
    CM_TRY(cm_stream_read(stream, &there, from, cm_dtype_size(type)));
    const float got = number_at(&there, type, 0);
    return isnan(got) ? CM_OK
                      : cm_fail(CM_ERR_DEVICE, "it makes %g of NaN, which no check would see again", (double)got);
}
