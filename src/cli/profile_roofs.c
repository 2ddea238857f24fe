/* How fast this machine multiplies and copies, on the threads and the device of the run. */
#include <string.h>

#include "cli/benchmark.h"
#include "cli/profile.h"
#include "core/clock.h"
#include "device/device.h"

/* ---- products ---- */

cm_status cm_roofs_products(cm_backend *backend, cm_pool *pool, cm_dtype compute, double seconds, double *out) {
    const cm_benchmark bench = {.backend = backend, .pool = pool, .compute = compute, .seconds = seconds};
    cm_benchmark_result result = {0};
    CM_TRY(cm_benchmark_matmul(&bench, &result));
    *out = result.flops_per_second / (backend->device->is_host ? cm_pool_size(pool) : 1);
    return CM_OK;
}

/* ---- copies ---- */

enum { MOST_BYTES = 1 << 26, LEAST_BYTES = 1 << 14, DEVICE_TIMES = 16 };

typedef struct copying {
    const cm_device *device;
    cm_buffer *block; /* [threads], two halves each */
    size_t bytes;     /* that a copy reads and writes */
    int times;
} copying;

static cm_status copy(void *context, int task, int worker) {
    const copying *c = context;
    (void)worker;
    for (int i = 0; i < c->times; i++)
        CM_TRY(c->device->copy(c->device, c->block[task].base + c->block[task].bytes / 2, c->block[task].base,
                               c->bytes / 2));
    return CM_OK;
}

/* The fastest of some rounds: what the machine can, not what it does next to other work. */
static cm_status time_copies(copying *c, cm_pool *pool, int threads, double *rate) {
    double fastest = 0.0;
    for (int round = 0; round < 5; round++) {
        const double start = cm_clock_seconds();
        CM_TRY(cm_pool_run(pool, threads, copy, c));
        const double seconds = cm_clock_seconds() - start, each = (double)c->bytes * c->times;
        if (each / seconds > fastest) fastest = each / seconds;
    }
    *rate = fastest;
    return CM_OK;
}

static cm_status measure_sizes(copying *c, cm_pool *pool, int threads, int first, cm_roofs *out) {
    const size_t scale = c->device->is_host ? 1 : DEVICE_TIMES;
    for (int i = first; i < CM_ROOF_SIZES; i++) {
        c->bytes = ((size_t)LEAST_BYTES << 2 * i) * scale;
        c->times = (int)((size_t)MOST_BYTES * scale / c->bytes);
        out->size[i] = (double)c->bytes;
        CM_TRY(time_copies(c, pool, threads, &out->bytes[i]));
    }
    return CM_OK;
}

cm_status cm_roofs_copies(const cm_backend *backend, cm_pool *pool, int first, cm_roofs *out) {
    const int threads = backend->device->is_host ? cm_pool_size(pool) : 1;
    const size_t most = (size_t)MOST_BYTES * (backend->device->is_host ? 1 : DEVICE_TIMES);
    cm_buffer block[CM_PROFILE_THREADS] = {{0}};
    copying c = {.device = backend->device, .block = block};
    cm_status status = CM_OK;
    const int used = threads < CM_PROFILE_THREADS ? threads : CM_PROFILE_THREADS;
    for (int i = 0; i < used && status == CM_OK; i++)
        status = cm_buffer_create(&block[i], backend->device, most, "copies that are timed");
    if (status == CM_OK) status = measure_sizes(&c, pool, used, first, out);
    for (int i = 0; i < used; i++) cm_buffer_destroy(&block[i]);
    return status;
}

/* ---- both ---- */

cm_status cm_roofs_measure(const cm_configuration *configuration, double seconds, cm_roofs *out) {
    char no_gpu[CM_SESSION_WHY];
    cm_backend *backend = NULL;
    cm_pool *pool = NULL;
    cm_comm single;
    cm_dtype compute = CM_F32;
    *out = (cm_roofs){.flops = {0}};
    cm_comm_single(&single);
    cm_status status = cm_session_backend(&configuration->run, &single, no_gpu, &backend);
    if (status == CM_OK) status = cm_session_pool(configuration->run.threads, &pool);
    if (status == CM_OK) status = cm_session_dtype(&configuration->run, backend, &compute);
    if (status == CM_OK) status = cm_roofs_products(backend, pool, CM_F32, seconds, &out->flops[CM_F32]);
    if (status == CM_OK && compute != CM_F32)
        status = cm_roofs_products(backend, pool, compute, seconds, &out->flops[compute]);
    if (status == CM_OK) status = cm_roofs_copies(backend, pool, 0, out);
    cm_pool_destroy(pool);
    cm_backend_close(backend);
    return status;
}

/* The fastest copies of memory no larger than what a call touches: that is in a cache at least as large. */
static double copies_of(const cm_roofs *roofs, double bytes) {
    double rate = roofs->bytes[0];
    for (int i = 1; i < CM_ROOF_SIZES && roofs->size[i] <= bytes; i++) rate = roofs->bytes[i];
    return rate;
}

double cm_roofs_least(const cm_roofs *roofs, const cm_operation *row, bool *by_products) {
    const double peak = roofs->flops[row->compute] > 0.0 ? roofs->flops[row->compute] : roofs->flops[CM_F32];
    const double products = row->flop / row->saved / peak;
    const double copies = row->bytes / copies_of(roofs, row->bytes / (double)row->calls);
    *by_products = products >= copies;
    return *by_products ? products : copies;
}

/* By so much that none is above its roof. */
static void raise_one(cm_roofs *roofs, const cm_operation *row) {
    bool by_products;
    const double factor = cm_roofs_least(roofs, row, &by_products) / row->seconds;
    if (factor <= 1.0) return;
    if (by_products) {
        roofs->flops[roofs->flops[row->compute] > 0.0 ? row->compute : CM_F32] *= factor;
        return;
    }
    for (int i = 0; i < CM_ROOF_SIZES; i++) roofs->bytes[i] *= factor;
}

void cm_roofs_raise(cm_roofs *roofs, const cm_operations *operations) {
    for (int i = 0; i < operations->count; i++) raise_one(roofs, &operations->row[i]);
}
