#include "cli/gpu_speed.h"

#include <stdio.h>

#include "cli/profile.h"

enum { LAUNCHES = 100 /* of a round: waiting for the last one is small against them */ };

typedef struct launching {
    cm_stream *stream;
    cm_call call;
} launching;

static cm_status launch_round(void *context) {
    launching *l = context;
    float seen;
    for (int i = 0; i < LAUNCHES; i++) CM_TRY(cm_call_run(l->stream, &l->call));
    return cm_stream_read(l->stream, &seen, l->call.t[CM_T_activation_y].data, sizeof seen);
}

static cm_status time_launches(launching *l, const cm_buffer *memory, double seconds, double *each) {
    float *numbers = (float *)(void *)memory->base;
    l->call.op = CM_OP_activation;
    l->call.attr.activation = CM_ACT_RELU;
    l->call.t[CM_T_activation_y] = cm_tensor_2d(numbers, CM_F32, 1, 1);
    l->call.t[CM_T_activation_x] = cm_tensor_2d(numbers + 1, CM_F32, 1, 1);
    CM_TRY(cm_call_prepare(l->stream, &l->call));
    CM_TRY(cm_benchmark_time(seconds, launch_round, l, each));
    *each /= LAUNCHES;
    return CM_OK;
}

/* Seconds of the smallest call among many. */
static cm_status measure_launches(cm_backend *backend, double seconds, double *each) {
    launching l = {.stream = NULL};
    cm_buffer memory = {0};
    cm_status status = cm_buffer_create(&memory, backend->device, 2 * sizeof(float), "numbers of a launch");
    if (status == CM_OK) status = cm_stream_open(backend, &l.stream);
    if (status == CM_OK) status = time_launches(&l, &memory, seconds, each);
    cm_stream_close(l.stream);
    cm_buffer_destroy(&memory);
    return status;
}

/* " (85 %WORDS)", or nothing where the limit is not known. */
static const char *share(double rate, double limit, const char *words, char out[48]) {
    out[0] = '\0';
    if (limit > 0.0) snprintf(out, 48, " (%.0f %%%s)", 100.0 * rate / limit, words);
    return out;
}

cm_status cm_cli_gpu_speed(cm_backend *backend, const cm_cuda_limits *limits, double seconds, char *note, size_t size) {
    const cm_dtype type = backend->native[CM_BF16] ? CM_BF16 : CM_F32;
    double flop = 0.0, launch = 0.0;
    cm_roofs roofs = {.flops = {0}};
    cm_pool *pool = NULL;
    char of_flop[48], of_bytes[48];
    cm_status status = cm_pool_create(1, &pool);
    if (status == CM_OK) status = cm_roofs_products(backend, pool, type, seconds, &flop);
    if (status == CM_OK) status = measure_launches(backend, 0.5 * seconds, &launch);
    if (status == CM_OK) status = cm_roofs_copies(backend, pool, CM_ROOF_SIZES - 1, &roofs);
    cm_pool_destroy(pool);
    CM_TRY(status);
    const double bytes = roofs.bytes[CM_ROOF_SIZES - 1];
    snprintf(note, size, "%.3g TFLOP/s in %s%s, copies %.3g GB/s%s, %.1f us a launch", flop / 1e12, cm_dtype_name(type),
             share(flop, type == CM_BF16 ? limits->flop : 0.0, " of what it is able to", of_flop), bytes / 1e9,
             share(bytes, limits->bytes, "", of_bytes), 1e6 * launch);
    return CM_OK;
}
