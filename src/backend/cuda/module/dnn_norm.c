/* Convolutions with a constant norm after them in one launch, as graphs of cuDNN, where that is faster than what the
 * fallback does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/module/cuda.h"
#include "backend/cuda/module/dnn_graph.h"
#include "backend/cuda/module/module.h"
#include "backend/cuda/ops/autotune_check.h"
#include "core/arena.h"
#include "core/log.h"
#include "device/cuda/autotuner.h"
#include "device/cuda/timing.h"

/* One way to compute it. */
typedef struct way {
    int32_t is_whole;     /* one launch, of `engine`; else the fallback */
    cm_dnn_engine engine; /* zeros for the fallback */
} way;
_Static_assert(sizeof(way) <= CM_AUTOTUNE_VALUE_BYTES, "a way is kept on disk by the autotune cache");

/* One for all calls alike of a stream, since to plan it takes long. */
struct cm_convolution_norm_plan {
    cm_dnn_graph *graph; /* owned; NULL: not described yet */
    char key[CM_AUTOTUNE_KEY_BYTES];
    int users;
    cm_convolution_norm_plan **first, *next; /* of the stream's */
};

/* An engine's kernel is compiled when it is planned, in every process, which takes up to a second or two: those that
 * are not large try one engine. */
enum { TRIES = 4 };
#define LARGE 1e9 /* floating-point operations */

cm_status cm_convolution_norm_run(cm_stream *stream, const cm_convolution_norm_plan *plan,
                                  const cm_convolution_norm_data *data) {
    return cm_dnn_graph_run_norm(plan->graph, data, cm_library_workspace(stream));
}

static void discard(cm_convolution_norm_plan *plan) {
    cm_dnn_graph_close(plan->graph);
    free(plan);
}

void cm_convolution_norm_free(cm_convolution_norm_plan *plan) {
    if (!plan || --plan->users > 0) return;
    cm_convolution_norm_plan **link = plan->first;
    while (*link != plan) link = &(*link)->next;
    *link = plan->next;
    discard(plan);
}

/* ---- choosing ---- */

typedef struct tuning {
    cm_stream *stream;
    cm_convolution_norm_plan *plan;
    const cm_convolution_norm *norm;
    const cm_convolution_norm_data *data;
    const cm_convolution_fallback *fallback;
    cm_autotune_check_results results;
    way way; /* the one that was taken */
} tuning;

static cm_status open_graph(tuning *t) {
    const cm_dnn_target target = {.dnn = cm_cuda_stream_of(t->stream)->dnn, .gpu = cm_cuda_of(t->stream)->device};
    return t->plan->graph ? CM_OK : cm_dnn_graph_open_norm(&target, t->norm, &t->plan->graph);
}

static cm_status find_engines(tuning *t, cm_dnn_engine engines[TRIES], int *count) {
    const bool large = cm_convolution_flops(&t->norm->convolution) >= LARGE;
    CM_TRY(open_graph(t));
    return cm_dnn_graph_engines(t->plan->graph, false, engines, large ? TRIES : 1, count);
}

/* Numbers in the place of what a pass will bring there: for times, too, since of zeros a GPU multiplies faster. */
static cm_status fill(const tuning *t) {
    const cm_convolution *c = &t->norm->convolution;
    const size_t x = (size_t)c->B * (size_t)c->H * (size_t)c->W * (size_t)c->C;
    const size_t y = (size_t)c->B * (size_t)c->P * (size_t)c->Q * (size_t)c->O;
    CM_TRY(cm_autotune_check_fill(t->stream, (void *)(uintptr_t)t->data->x, c->type, x));
    if (!t->norm->adds) return CM_OK;
    return cm_autotune_check_fill(t->stream, (void *)(uintptr_t)t->data->residual, t->norm->residual, y);
}

/* Number 0 is the fallback; where cuDNN has nothing, or refuses the graph, it is the only one. */
static cm_status enter(void *context, int round, void *candidates, int *count) {
    tuning *t = context;
    way *out = candidates;
    cm_dnn_engine engines[TRIES];
    int found = 0;
    (void)round;
    CM_TRY(fill(t));
    out[0] = (way){.is_whole = false};
    if (find_engines(t, engines, &found) != CM_OK) {
        cm_log(CM_WARNING, "a convolution and its norm stay two launches: %s", cm_error_message());
        found = 0;
    }
    for (int i = 0; i < found; i++) out[1 + i] = (way){.is_whole = true, .engine = engines[i]};
    *count = 1 + found;
    return CM_OK;
}

static cm_status use(void *context, const void *candidate) {
    tuning *t = context;
    t->way = *(const way *)candidate;
    if (!t->way.is_whole) return CM_OK;
    CM_TRY(open_graph(t));
    return cm_dnn_graph_plan(t->plan->graph, &t->way.engine, CM_LIBRARY_BYTES);
}

static cm_status run(void *context) {
    const tuning *t = context;
    return t->way.is_whole ? cm_convolution_norm_run(t->stream, t->plan, t->data)
                           : t->fallback->run(t->stream, t->fallback->context);
}

static cm_status measure(void *context, float *milliseconds) {
    const tuning *t = context;
    return cm_cuda_time(&cm_cuda_stream_of(t->stream)->own, "a convolution and its norm", run, context, milliseconds);
}

/* Is a NaN in the first number of x seen in the first of y? Relu may lose it. */
static cm_status keep_nan(tuning *t) {
    CM_TRY(cm_autotune_check_put_nan(t->stream, (void *)(uintptr_t)t->data->x, t->norm->convolution.type));
    CM_TRY(run(t));
    return cm_autotune_check_expect_nan(t->stream, t->data->y, t->norm->y);
}

/* The one before has left a NaN in x. */
static cm_status agree(void *context, bool first) {
    tuning *t = context;
    const cm_convolution *c = &t->norm->convolution;
    const size_t y = (size_t)c->B * (size_t)c->P * (size_t)c->Q * (size_t)c->O;
    const cm_autotune_check_numbers numbers = {t->data->y, t->norm->y, c->type, y};
    CM_TRY(fill(t));
    CM_TRY(run(t));
    CM_TRY(cm_autotune_check_agree(&t->results, t->stream, &numbers, first));
    return t->way.is_whole ? keep_nan(t) : CM_OK;
}

static cm_status choose(tuning *t) {
    const cm_cuda *cuda = cm_cuda_of(t->stream);
    const cm_autotuner autotuner = {.context = t,
                                    .size = sizeof(way),
                                    .rounds = 1,
                                    .log = cuda->device->log_plans,
                                    .enter = enter,
                                    .use = use,
                                    .measure = measure,
                                    .agree = agree};
    cm_status status = cm_autotuner_choose(&autotuner, cuda->autotune_cache, t->plan->key);
    cm_autotune_check_free(&t->results);
    return status;
}

static void name_plan(const cm_convolution_norm *norm, char key[CM_AUTOTUNE_KEY_BYTES]) {
    const cm_convolution *c = &norm->convolution;
    snprintf(key, CM_AUTOTUNE_KEY_BYTES, "convolution with norm %d %d %d %d %d %d %d %d %d %d%d %d", c->B, c->H, c->W,
             c->C, c->O, c->k, c->stride, (int)c->type, (int)norm->y, norm->adds ? (int)norm->residual : -1, norm->relu,
             CM_LIBRARY_BYTES >> 20);
}

cm_status cm_convolution_norm_prepare(cm_stream *stream, const cm_convolution_norm *norm,
                                      const cm_convolution_norm_data *data, const cm_convolution_fallback *fallback,
                                      cm_convolution_norm_plan **out) {
    tuning t = {.stream = stream, .norm = norm, .data = data, .fallback = fallback};
    *out = NULL;
    if (cm_convolution_is_small(&norm->convolution)) return CM_OK;
    cm_convolution_norm_plan **first = &cm_cuda_stream_of(stream)->norms;
    char key[CM_AUTOTUNE_KEY_BYTES];
    name_plan(norm, key);
    for (*out = *first; *out && strcmp((*out)->key, key) != 0;) *out = (*out)->next;
    if (*out) {
        (*out)->users++;
        return CM_OK;
    }
    CM_TRY(cm_cuda_dnn_open(stream));
    CM_TRY(cm_alloc(&t.plan, 1, sizeof *t.plan, "a convolution with norm"));
    *t.plan = (cm_convolution_norm_plan){.users = 1, .first = first, .next = *first};
    memcpy(t.plan->key, key, sizeof key);
    cm_status status = choose(&t);
    if (status != CM_OK || !t.way.is_whole) {
        discard(t.plan);
        return status;
    }
    *first = *out = t.plan;
    return CM_OK;
}
