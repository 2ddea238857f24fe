#include "backend/cuda/fused/row_autotune.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#define XXH_INLINE_ALL /* the module links nothing for it */
#include <xxhash.h>

#include "backend/cuda/fused/row_wide.h"
#include "backend/cuda/ops/ops.h"
#include "core/arena.h"

/* ---- measured ---- */

typedef struct each_call {
    cm_stream *stream;
    const cm_call_list *pass;
} each_call;

/* But for those that no launch for all of them makes, either. */
static cm_status launch_each(void *context) {
    const each_call *e = context;
    for (int i = 0; i < e->pass->count; i++)
        if (e->pass->calls[i].branch == 0) CM_TRY(cm_call_run(e->stream, &e->pass->calls[i]));
    return CM_OK;
}

/* Row i gets the number i. */
static cm_status write_numbers(cm_stream *stream, const cm_tensor *to) {
    const size_t n = cm_tensor_count(to);
    int32_t *number = NULL;
    CM_TRY(cm_alloc(&number, n, sizeof *number, "numbers of rows"));
    for (size_t i = 0; i < n; i++) number[i] = (int32_t)i;
    cm_status status = cm_stream_write(stream, to->data, number, n * sizeof *number);
    free(number);
    return status;
}

/* Zeros, which memory begins with, would have all rows read and write a single one. */
static cm_status number_rows(cm_stream *stream, const cm_call_list *pass) {
    for (int i = 0; i < pass->count; i++) {
        const cm_call *call = &pass->calls[i];
        if (call->op == CM_OP_gather_rows) CM_TRY(write_numbers(stream, CM_ARG(call, gather_rows, rows)));
        if (call->op == CM_OP_scatter_rows) CM_TRY(write_numbers(stream, CM_ARG(call, scatter_rows, rows)));
    }
    return CM_OK;
}

/* Is it a layer whose weight, where it is far, is read by fours? */
static bool of_fours(const cm_row_step *s) {
    const cm_row_weight weight = {s->of.dense.weight, s->of.dense.weight_row};
    return cm_row_is_layer(s) && s->type == CM_F32 && cm_row_is_of_fours(&weight);
}

/* The first step that reads the weight of step i; i: that has none, or is the first. */
static int first_reader(const cm_row_kernel_args *args, int i) {
    const cm_row_step *s = &args->step[i];
    for (int j = 0; cm_row_is_layer(s) && j < i; j++)
        if (cm_row_is_layer(&args->step[j]) && args->step[j].of.dense.weight == s->of.dense.weight) return j;
    return i;
}

/* All that decides on times, in numbers: no addresses, but where there are any, and which are the same. */
static uint64_t digest_step(const cm_row_kernel_args *args, int i, uint64_t before) {
    const cm_row_step *s = &args->step[i];
    const int32_t weight = first_reader(args, i);
    const int32_t shape[] = {s->op,       s->type,           s->activation,    s->encoding,       s->n,
                             s->k,        s->limit,          s->x.stride,      s->x.data != NULL, s->y.stride,
                             s->z.stride, s->z.data != NULL, s->index != NULL, s->y.data != NULL, of_fours(s),
                             weight};
    return XXH3_64bits_withSeed(shape, sizeof shape, before);
}

uint64_t cm_row_digest(const cm_row_kernel_args *args) {
    uint64_t digest = 0;
    for (int i = 0; i < args->steps; i++) digest = digest_step(args, i, digest);
    return digest;
}

static void name_pass(const cm_call_list *pass, const cm_row_kernel_args *args, char key[CM_AUTOTUNE_KEY_BYTES]) {
    snprintf(key, CM_AUTOTUNE_KEY_BYTES, "%s of rows %d: %d rows, %d steps %016" PRIx64,
             pass->work     ? "pass"
             : pass->infers ? "segment"
                            : "segment of training",
             (int)CM_ROW_KERNEL, (int)args->rows, (int)args->steps, cm_row_digest(args));
}

cm_status cm_row_autotune_measure(cm_stream *stream, const cm_call_list *pass, const cm_row_kernel_args *args,
                                  const cm_cuda_candidate *launch, int count, int *winner) {
    each_call each = {stream, pass};
    cm_cuda_candidate candidate[1 + CM_ROW_WAYS] = {{launch_each, &each}};
    char key[CM_AUTOTUNE_KEY_BYTES];
    for (int i = 0; i < count; i++) candidate[1 + i] = launch[i];
    name_pass(pass, args, key);
    if (pass->work) CM_TRY(number_rows(stream, pass)); /* a fused segment has no such calls */
    return cm_ops_choose(stream, key, candidate, 1 + count, winner);
}

/* ---- estimated ---- */

/* Clocks of a step of one tile, measured on an H200 on layers of 128 x 128 and rows of 128. A step begins after a
 * barrier, with a wait for what it reads. Then a multiprocessor multiplies some 4 numbers of a weight in 16 bits by the
 * rows of a tile, 2 of one that lies across; elsewhere a row has few lanes, which take their numbers in turn. In
 * float32 it is 2 of those, and 1 across, for which 1 is taken: segments were not worth it there, and smaller layers
 * have not been measured. */
static int64_t clocks_of(const cm_row_step *s, int lanes) {
    enum { BEGIN = 1500, CLOCKS_OF_NUMBER = 500 };
    const int64_t numbers = (int64_t)s->n * s->k;
    if (!cm_row_is_layer(s)) return BEGIN + (numbers + lanes - 1) / lanes * CLOCKS_OF_NUMBER;
    return BEGIN + numbers / (s->type == CM_F32 ? 1 : s->op == CM_OP_dense ? 4 : 2);
}

/* Every block takes its rows through all steps, and there may be few of them: is that less than the launches that are
 * saved? One by itself, with what it does and the wait for what lies ahead of it, takes some 2.5 us. */
bool cm_row_autotune_estimate(const cm_row_kernel_args *args, int multiprocessors) {
    enum { CLOCKS_OF_LAUNCH = 5000 };
    const int64_t waves = (cm_row_tiles(args) + multiprocessors - 1) / multiprocessors;
    int64_t clocks = 0;
    for (int i = 0; i < args->steps; i++) clocks += clocks_of(&args->step[i], cm_row_lanes(args->tile < CM_ROW_TILE));
    return waves * clocks <= (int64_t)args->steps * CLOCKS_OF_LAUNCH;
}
