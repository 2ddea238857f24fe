#include "backend/cuda/fused/towers.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/ops/autotune_check.h"
#include "core/arena.h"
#include "core/log.h"

/* Of the kernel: one that takes other times than before is measured again under another number. */
enum { KERNEL = 2 };

struct cm_tower {
    cm_tower_args args;
    int first, count; /* the calls */
    int channels;
    cm_dtype type;
    uint64_t version; /* of the addresses in args */
};

static cm_status launch(cm_stream *stream, const cm_tower_args *args, const cm_tower *tower) {
    return cm_ops_launched(stream, cm_tower_launch(args, tower->channels, tower->type, cm_ops_queue(stream)),
                           "a tower");
}

/* ---- is it faster, and right? ---- */

typedef struct tuning {
    cm_stream *stream;
    const cm_tower *tower;
    const cm_call *calls;
} tuning;

static cm_status run_calls(const tuning *t, int count) {
    for (int i = 0; i < count; i++) CM_TRY(cm_call_run(t->stream, &t->calls[i]));
    return CM_OK;
}

static cm_status launch_calls(void *context) {
    const tuning *t = context;
    return run_calls(t, t->tower->count);
}

static cm_status launch_tower(void *context) {
    const tuning *t = context;
    return launch(t->stream, &t->tower->args, t->tower);
}

static cm_status fill(const tuning *t) {
    const cm_tensor *x = CM_ARG(t->calls, conv2d_norm, x);
    return cm_autotune_check_fill(t->stream, x->data, x->dtype, cm_tensor_count(x));
}

static cm_status measure(const tuning *t, bool *is_faster) {
    const cm_tower_args *a = &t->tower->args;
    const cm_cuda_candidate candidate[] = {{launch_calls, (void *)(uintptr_t)t}, {launch_tower, (void *)(uintptr_t)t}};
    char key[CM_AUTOTUNE_KEY_BYTES];
    int winner = 0;
    snprintf(key, sizeof key, "tower %d: %d x %d x %d x %d, %d layers, type %d, wide %d %d", (int)KERNEL, a->boards,
             a->height, a->width, t->tower->channels, a->layers, (int)t->tower->type, (int)a->wide_x, (int)a->wide_y);
    CM_TRY(cm_ops_choose(t->stream, key, candidate, 2, &winner));
    *is_faster = winner == 1;
    return CM_OK;
}

/* Of the first layers alone: calls and tower round at other places, which adds up from layer to layer. */
enum { COMPARED = 2 };

static cm_autotune_check_numbers numbers_of(const tuning *t, int layer) {
    const cm_tensor *y = CM_ARG(&t->calls[layer], conv2d_norm, y);
    return (cm_autotune_check_numbers){y->data, y->dtype, t->tower->type, cm_tensor_count(y)};
}

/* As towers of COMPARED layers and what is left, to the end of layer count - 1: *whole = does each begin without a
 * residual, so that it is one? */
static cm_status launch_parts(const tuning *t, int count, bool *whole) {
    const cm_ops_limits limits = cm_ops_limits_of(t->stream);
    cm_tower_args args;
    *whole = true;
    for (int i = 0; i < count; i += COMPARED) {
        const int layers = count - i < COMPARED ? count - i : COMPARED;
        if (!cm_tower_build(&t->calls[i], layers, &limits, &args)) return cm_fail(CM_ERR_STATE, "it is no tower");
        if (args.layer[0].adds) *whole = false;
        if (*whole) CM_TRY(launch(t->stream, &args, t->tower));
    }
    return CM_OK;
}

static cm_status compare_with_calls(const tuning *t, cm_autotune_check_results *results) {
    const cm_autotune_check_numbers numbers = numbers_of(t, COMPARED - 1);
    bool whole;
    CM_TRY(run_calls(t, COMPARED));
    CM_TRY(cm_autotune_check_agree(results, t->stream, &numbers, true));
    CM_TRY(launch_parts(t, COMPARED, &whole));
    return cm_autotune_check_agree(results, t->stream, &numbers, false);
}

/* With towers of a few of its layers, one after the other. */
static cm_status compare_with_parts(const tuning *t, cm_autotune_check_results *results) {
    const cm_autotune_check_numbers numbers = numbers_of(t, t->tower->count - 1);
    bool whole;
    CM_TRY(launch_parts(t, t->tower->count, &whole));
    if (!whole) return CM_OK;
    CM_TRY(cm_autotune_check_agree(results, t->stream, &numbers, true));
    CM_TRY(launch(t->stream, &t->tower->args, t->tower));
    return cm_autotune_check_agree(results, t->stream, &numbers, false);
}

/* One that differs from its calls is none, with a line that says so. */
static bool agrees(const tuning *t) {
    cm_autotune_check_results first = {NULL, NULL}, all = {NULL, NULL};
    cm_status status = compare_with_calls(t, &first);
    if (status == CM_OK) status = compare_with_parts(t, &all);
    cm_autotune_check_free(&first);
    cm_autotune_check_free(&all);
    if (status != CM_OK)
        cm_log(CM_WARNING, "%d convolutions and their norms stay as many launches: %s", t->tower->count,
               cm_error_message());
    return status == CM_OK;
}

static cm_status decide(const tuning *t, bool *out) {
    CM_TRY(fill(t));
    CM_TRY(measure(t, out));
    *out = *out && agrees(t);
    return CM_OK;
}

/* ---- the tower ---- */

static bool build(const cm_stream *stream, const cm_call_list *pass, cm_tower *tower) {
    const cm_ops_limits limits = cm_ops_limits_of(stream);
    tower->version = pass->version;
    return cm_tower_build(pass->calls + tower->first, tower->count, &limits, &tower->args);
}

cm_status cm_tower_create(cm_stream *stream, const cm_call_list *pass, int first, int count, cm_tower **out) {
    const cm_call *calls = pass->calls + first;
    cm_tower *tower = NULL;
    bool is_worth_it = false;
    *out = NULL;
    CM_TRY(cm_alloc(&tower, 1, sizeof *tower, "a tower"));
    tower->first = first, tower->count = count;
    tower->channels = cm_tensor_last(CM_ARG(calls, conv2d_norm, x)), tower->type = calls->attr.compute;
    const tuning t = {stream, tower, calls};
    const cm_status status = build(stream, pass, tower) ? decide(&t, &is_worth_it) : CM_OK;
    if (is_worth_it) {
        *out = tower;
    } else {
        cm_tower_free(tower);
    }
    return status;
}

cm_status cm_tower_run(cm_stream *stream, const cm_call_list *pass, cm_tower *tower) {
    if (tower->version != pass->version && !build(stream, pass, tower))
        return cm_fail(CM_ERR_STATE, "a tower: with its new addresses it is none");
    return launch(stream, &tower->args, tower);
}

void cm_tower_free(cm_tower *tower) { free(tower); }
