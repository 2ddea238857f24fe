/* Passes of rows, and stretches of rows in passes that train: when they are worth it, and how they are launched. */
#include "backend/cuda/row_pass.h"

#include <stdlib.h>

#include "backend/cuda/ops.h"
#include "backend/cuda/row_build.h"
#include "core/arena.h"

typedef struct row_pass {
    cm_row_pass_args args;
    uint64_t version; /* of the addresses in it */
} row_pass;

static int tiles_of(const cm_row_pass_args *args) { return (args->rows + CM_ROW_TILE - 1) / CM_ROW_TILE; }

/* Clocks of a step of one tile. A multiprocessor gets some 64 bytes of a weight per clock and multiplies some 16
 * numbers of one in float32 by the rows of a tile; elsewhere a row has few lanes, each of which waits for its numbers
 * in turn. */
static int64_t clocks_of(const cm_row_step *s) {
    enum { NARROW_PER_CLOCK = 32, WIDE_PER_CLOCK = 5, LANES = CM_BLOCK / CM_ROW_TILE, CLOCKS_OF_NUMBER = 50 };
    const int64_t numbers = (int64_t)s->n * s->k;
    if (cm_row_is_layer(s)) return numbers / (s->type == CM_F32 ? WIDE_PER_CLOCK : NARROW_PER_CLOCK);
    return numbers / LANES * CLOCKS_OF_NUMBER;
}

/* Every block reads all weights, which a product of all rows reads once or twice, and there may be few of them: is that
 * less than the launches that are saved? One and what follows it take some 2 us, or 3,000 clocks. */
static bool is_worth_it(const cm_row_pass_args *args, const cm_ops_limits *limits) {
    enum { CLOCKS_OF_LAUNCH = 3000 };
    const int64_t waves = (tiles_of(args) + limits->multiprocessors - 1) / limits->multiprocessors;
    int64_t clocks = 0;
    for (int i = 0; i < args->steps; i++) clocks += clocks_of(&args->step[i]);
    return waves * clocks <= (int64_t)args->steps * CLOCKS_OF_LAUNCH;
}

static bool is_possible(const cm_row_pass_args *args, const cm_ops_limits *limits) {
    for (int i = 0; i < args->steps; i++)
        if (cm_row_is_layer(&args->step[i]) && args->step[i].type != CM_F32 && !limits->multiplies_16_bits)
            return false;
    return (size_t)args->used + args->memory <= limits->block_bytes;
}

/* The steps of a whole pass; false if some calls are none. */
static bool build(const cm_call_list *pass, cm_row_pass_args *args) {
    return cm_row_build(pass, args) == pass->count && args->steps > 0;
}

int cm_row_pass_reach(const cm_call_list *pass) {
    cm_row_pass_args args;
    return cm_row_build(pass, &args);
}

cm_status cm_row_pass_create(cm_stream *stream, const cm_call_list *pass, void **out) {
    const cm_ops_limits limits = cm_ops_limits_of(stream);
    cm_row_pass_args args;
    *out = NULL;
    if (!build(pass, &args) || !is_possible(&args, &limits) || !is_worth_it(&args, &limits)) return CM_OK;
    row_pass *made = NULL;
    CM_TRY(cm_alloc(&made, 1, sizeof *made, "a pass of rows"));
    *made = (row_pass){args, pass->version};
    *out = made;
    return CM_OK;
}

cm_status cm_row_pass_run(cm_stream *stream, const cm_call_list *pass, void *row_pass_) {
    row_pass *p = row_pass_;
    if (p->version != pass->version && !build(pass, &p->args))
        return cm_fail(CM_ERR_STATE, "a pass of rows: with its new addresses it is none");
    p->version = pass->version;
    int (*const launch)(const cm_row_pass_args *, int64_t, int, void *) =
        pass->work ? cm_row_pass_launch : cm_row_training_launch;
    const int result = launch(&p->args, tiles_of(&p->args), CM_BLOCK, cm_ops_queue(stream));
    return cm_ops_launched(stream, result, "a pass of rows");
}

void cm_row_pass_free(void *row_pass_) { free(row_pass_); }
