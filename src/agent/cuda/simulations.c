/* When the simulations of a search are one launch, and how that is launched. */
#include "agent/cuda/kernels.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/fused/row_autotune.h"
#include "backend/cuda/fused/row_build.h"
#include "backend/cuda/fused/row_shared.h"
#include "core/arena.h"
#include "core/log.h"

_Static_assert(sizeof(cm_simulations_args) <= CM_LAUNCH_BYTES, "the arguments of a kernel are at most as many bytes");

static cm_status launch_args(cm_stream *stream, const cm_simulations_args *args) {
    const int tiles = cm_row_tiles(&args->recurrent);
    return cm_ops_launched(stream, cm_simulations_run_launch(args, tiles, CM_BLOCK, cm_ops_queue(stream)),
                           "the simulations of a search");
}

/* ---- what is possible ---- */

/* False if the passes are not of rows, or want more than a block has. */
static bool build(const cm_stream *stream, const cm_simulations *of, cm_simulations_args *args) {
    const cm_ops_limits limits = cm_ops_limits_of(stream);
    args->count = of->count;
    args->trees = *of->trees;
    args->has_afterstate = of->afterstate.count > 0;
    if (!cm_row_build_whole(&of->recurrent, &limits, &args->recurrent)) return false;
    if (args->has_afterstate && !cm_row_build_whole(&of->afterstate, &limits, &args->afterstate)) return false;
    args->memory = args->recurrent.memory > args->afterstate.memory ? args->recurrent.memory : args->afterstate.memory;
    args->used = args->has_afterstate ? (uint32_t)offsetof(cm_simulations_args, afterstate) + args->afterstate.used
                                      : (uint32_t)offsetof(cm_simulations_args, recurrent) + args->recurrent.used;
    return args->recurrent.rows == args->trees.tree.batch && (size_t)args->used + args->memory <= limits.block_bytes;
}

/* Gives weights places in what is left of the memory of a block, which leaves none for fetching others ahead; false if
 * none has one. */
static bool bring_to_shared(const cm_stream *stream, cm_simulations_args *args) {
    const uint32_t space = (uint32_t)cm_ops_limits_of(stream).block_bytes - args->used, before = args->memory;
    args->memory = cm_row_shared(&args->recurrent, args->memory, space);
    if (args->has_afterstate) args->memory = cm_row_shared(&args->afterstate, args->memory, space);
    args->recurrent.ahead = args->afterstate.ahead = 0;
    return args->memory > before;
}

/* ---- which is the fastest ---- */

/* A way to launch a search but for the root's pass. Of a long one the beginning tells all. */
enum { MEASURED = 16, WAYS = 3 };
typedef struct way {
    cm_stream *stream;
    const cm_simulations *of;
    const cm_simulations_args *args; /* NULL: launch by launch */
} way;

static int measured_of(const cm_simulations *of) { return of->count < MEASURED ? of->count : MEASURED; }

static cm_status launch_way(void *context) {
    const way *w = context;
    CM_TRY(w->of->begin(w->of->context));
    if (w->args) return launch_args(w->stream, w->args);
    for (int i = 0; i < measured_of(w->of); i++) CM_TRY(w->of->simulate(w->of->context));
    return CM_OK;
}

/* Of the kernel (simulations.h), as CM_ROW_KERNEL is of that of passes. */
enum { KERNEL = 3 };

/* All that decides on times. */
static void name_simulations(const cm_simulations_args *args, char key[CM_AUTOTUNE_KEY_BYTES]) {
    const cm_tree *tree = &args->trees.tree;
    const cm_search_params *p = &tree->params;
    snprintf(key, CM_AUTOTUNE_KEY_BYTES,
             "simulations %d %d: %d of %d roots, %d deep, %d actions %d%d%d, %d codes, %016" PRIx64, (int)KERNEL,
             (int)CM_ROW_KERNEL, p->num_simulations, tree->batch, p->max_depth, tree->num_actions, (int)p->root_rule,
             (int)p->interior_rule, (int)p->qtransform.kind, tree->num_chance,
             cm_row_digest(&args->recurrent) ^ (args->has_afterstate ? cm_row_digest(&args->afterstate) : 0));
}

/* The ways to launch all at once. */
typedef struct both {
    cm_simulations_args global, shared; /* weights in the device's memory, or as many as have space in the block's */
} both;

/* *out: the one that is the fastest; NULL: that is launch by launch. */
static cm_status choose(cm_stream *stream, const cm_simulations *of, both *args, const cm_simulations_args **out) {
    const bool is_shared = bring_to_shared(stream, &args->shared);
    way ways[WAYS] = {{stream, of, NULL}, {stream, of, &args->global}, {stream, of, &args->shared}};
    cm_cuda_candidate candidate[WAYS];
    char key[CM_AUTOTUNE_KEY_BYTES];
    int winner = 0;
    for (int i = 0; i < WAYS; i++) candidate[i] = (cm_cuda_candidate){launch_way, &ways[i]};
    name_simulations(&args->global, key);
    args->global.count = args->shared.count = measured_of(of);
    CM_TRY(cm_ops_choose(stream, key, candidate, is_shared ? WAYS : WAYS - 1, &winner));
    args->global.count = args->shared.count = of->count;
    *out = ways[winner].args;
    return CM_OK;
}

/* ---- the table ---- */

/* Copies what was chosen. */
static cm_status keep(const cm_simulations_args *chosen, void **whole) {
    cm_simulations_args *args = NULL;
    if (!chosen) return CM_OK;
    CM_TRY(cm_alloc(&args, 1, sizeof *args, "the simulations of a search"));
    *args = *chosen;
    *whole = args;
    if (cm_log_plans())
        cm_log(CM_INFO, "%d simulations of %d roots: one kernel, %u bytes in a block", args->count,
               args->trees.tree.batch, args->memory);
    return CM_OK;
}

static cm_status create(cm_stream *stream, const cm_simulations *of, void **whole) {
    both *args = NULL;
    const cm_simulations_args *chosen = NULL;
    cm_status status = CM_OK;
    *whole = NULL;
    CM_TRY(cm_alloc(&args, 1, sizeof *args, "the simulations of a search"));
    if (of->count > 0 && build(stream, of, &args->global)) {
        args->shared = args->global;
        status = choose(stream, of, args, &chosen);
    }
    if (status == CM_OK) status = keep(chosen, whole);
    free(args);
    return status;
}

static cm_status launch(cm_stream *stream, const void *whole) { return launch_args(stream, whole); }

const cm_agent_kernels cm_cuda_agent_kernels = {create, launch, free};
