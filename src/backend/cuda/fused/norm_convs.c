#include "backend/cuda/fused/norm_convs.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/cuda/fused/norm_chain.h"
#include "backend/cuda/fused/towers.h"
#include "backend/cuda/ops/autotune_check.h"
#include "core/arena.h"
#include "core/log.h"

/* Of the kernels: one that takes other times than before is measured again under another number. */
enum { KERNEL = 2 };

/* ---- which calls ---- */

bool cm_norm_is_half(const cm_tensor *t, cm_dtype type) {
    return t->dtype == type && type != CM_F32 && cm_alignment_gap(t->data) == 0;
}

bool cm_norm_is_same(const cm_tensor *a, const cm_tensor *b) {
    return a->data == b->data && a->dtype == b->dtype && cm_tensor_same_shape(a, b);
}

bool cm_norm_is_apart(const cm_tensor *written, const cm_tensor *read) {
    return cm_norm_is_same(written, read) || !cm_tensor_overlaps(written, read);
}

bool cm_norm_is_square(const cm_tensor *weight) { return weight->dim[1] == 3 && weight->dim[0] == weight->dim[3]; }

static const cm_norm_way *way_from(const cm_call *call) {
    if (cm_norm_forward.is_norm(call)) return &cm_norm_forward;
    return cm_norm_backward.is_norm(call) ? &cm_norm_backward : NULL;
}

/* Is a call of a chain one that it launches? */
static bool is_link(const cm_norm_way *way, const cm_call *call) { return !way->may_wait || !way->may_wait(call); }

/* What of a call of a chain runs after it; NULL: nothing. */
static const cm_call *rest_of(const cm_norm_way *way, const cm_call *call, cm_call *rest) {
    cm_call link = *call;
    if (!is_link(way, call)) return call;
    return way->take_rest && way->take_rest(&link, rest) ? rest : NULL;
}

/* Does either of a link and a call that then runs after it write what the other one touches? */
static bool disturb(const cm_call *link, const cm_call *rest) {
    for (int i = 0; i < cm_op_tensor_count(link->op); i++)
        for (int k = 0; k < cm_op_tensor_count(rest->op); k++)
            if ((cm_op_tensor_written(link->op, i) || cm_op_tensor_written(rest->op, k)) &&
                cm_tensor_overlaps(&link->t[i], &rest->t[k]))
                return true;
    return false;
}

/* May all that runs after the chain do so if the last of calls[count] becomes a link, too? */
static bool leaves_the_rest(const cm_norm_way *way, const cm_call *calls, int count) {
    cm_call link = calls[count - 1], memory;
    if (way->take_rest) (void)way->take_rest(&link, &memory);
    for (int i = 0; i < count; i++) {
        const cm_call *rest = rest_of(way, &calls[i], &memory);
        if (rest && disturb(&link, rest)) return false;
    }
    return true;
}

int cm_norm_convs_reach(const cm_call_list *pass, int first) {
    const cm_call *calls = &pass->calls[first], *norm = calls, *convolution = NULL;
    const cm_norm_way *way = way_from(calls);
    int reach = 1, links = 1;
    for (int i = 1; way && i < pass->count - first; i++) {
        const cm_call *call = &calls[i];
        if (!is_link(way, call)) continue;
        const bool is_norm = links % 2 == 0;
        if (is_norm ? !way->is_norm_after(call, convolution, norm) : !way->is_convolution_after(call, norm)) break;
        if (!leaves_the_rest(way, calls, i + 1)) break;
        if (is_norm) {
            norm = call;
        } else {
            convolution = call;
        }
        links++;
        reach = i + 1;
    }
    return links > 1 ? reach : 0;
}

/* ---- its launches ---- */

int cm_norm_blocks(const cm_norm_convs *c) { return (c->tower.boards + c->tower.share - 1) / c->tower.share; }

static size_t parts_of(const cm_norm_convs *c, const cm_call *norm) {
    const size_t chunks = c->way->chunks_of(norm), blocks = (size_t)cm_norm_blocks(c);
    return 2 * (chunks > blocks ? chunks : blocks) * (size_t)c->channels;
}

static size_t borrowed_bytes(const cm_norm_convs *c, const cm_call *norm) {
    return (parts_of(c, norm) + CM_BATCH_NORM_VECTORS * (size_t)c->channels) * sizeof(float);
}

cm_norm_memory cm_norm_borrow(cm_stream *stream, const cm_norm_convs *c, const cm_call *norm) {
    float *at = cm_ops_borrow(stream, borrowed_bytes(c, norm));
    return (cm_norm_memory){at, at + parts_of(c, norm)};
}

void cm_norm_chunks_of_blocks(const cm_norm_convs *c, cm_chunks *chunks) {
    chunks->chunk_rows = c->tower.share * c->tower.height * c->tower.width;
    chunks->chunks = cm_norm_blocks(c);
}

/* ---- is it faster, and right? ---- */

typedef struct tuning {
    cm_stream *stream;
    const cm_norm_convs *chain;
    const cm_call *calls;
    int links; /* the first of the chain's */
} tuning;

static cm_status launch_calls(void *context) {
    const tuning *t = context;
    for (int i = 0; i < t->links; i++) {
        cm_call link = *cm_norm_link(t->chain, t->calls, i), rest;
        if (t->chain->way->take_rest) (void)t->chain->way->take_rest(&link, &rest);
        CM_TRY(cm_call_run(t->stream, &link));
    }
    return CM_OK;
}

static cm_status launch_chain(void *context) {
    const tuning *t = context;
    return t->chain->way->launch(t->stream, t->chain, t->calls, t->links);
}

cm_status cm_norm_fill(cm_stream *stream, const cm_tensor *t) {
    return t->data ? cm_autotune_check_fill(stream, t->data, t->dtype, cm_tensor_count(t)) : CM_OK;
}

static cm_status fill(const tuning *t) { return t->chain->way->fill(t->stream, t->chain, t->calls, t->links); }

/* How often there is a link of each kind. */
static void name_kinds(const tuning *t, char *out, size_t size) {
    int count[2 * 16] = {0};
    for (int i = 0; i < t->links; i++)
        count[2 * t->chain->way->kind_of(cm_norm_link(t->chain, t->calls, i), i % 2 == 0) + i % 2]++;
    size_t at = 0;
    for (int i = 0; i < 2 * 16 && at < size; i++)
        if (count[i] > 0) at += (size_t)snprintf(out + at, size - at, " %dx%d", i, count[i]);
}

static cm_status measure(const tuning *t, bool *is_faster) {
    const cm_tower_args *a = &t->chain->tower;
    const cm_cuda_candidate candidate[] = {{launch_calls, (void *)(uintptr_t)t}, {launch_chain, (void *)(uintptr_t)t}};
    char key[CM_AUTOTUNE_KEY_BYTES], kinds[CM_AUTOTUNE_KEY_BYTES / 2];
    int winner = 0;
    name_kinds(t, kinds, sizeof kinds);
    snprintf(key, sizeof key, "%s %d: %d x %d x %d x %d, type %d,%s", t->chain->way->name, (int)KERNEL, a->boards,
             a->height, a->width, t->chain->channels, (int)t->chain->type, kinds);
    CM_TRY(cm_ops_choose(t->stream, key, candidate, 2, &winner));
    *is_faster = winner == 1;
    return CM_OK;
}

static cm_status compare(const tuning *whole, cm_autotune_check_results *results) {
    tuning t = *whole;
    if (t.links > t.chain->way->compared) t.links = t.chain->way->compared;
    const cm_call *last = cm_norm_link(t.chain, t.calls, t.links - 1);
    const cm_tensor *made = t.chain->way->made_by(last, t.links % 2 == 1);
    const cm_autotune_check_numbers numbers = {made->data, made->dtype, t.chain->type, cm_tensor_count(made)};
    CM_TRY(fill(&t));
    CM_TRY(launch_calls(&t));
    CM_TRY(cm_autotune_check_agree(results, t.stream, &numbers, true));
    CM_TRY(fill(&t));
    CM_TRY(launch_chain(&t));
    return cm_autotune_check_agree(results, t.stream, &numbers, false);
}

/* One that differs from its calls is none, with a line that says so. */
static bool agrees(const tuning *t) {
    cm_autotune_check_results results = {NULL, NULL};
    const cm_status status = compare(t, &results);
    cm_autotune_check_free(&results);
    if (status != CM_OK)
        cm_log(CM_WARNING, "%d %s stay as many calls: %s", t->links, t->chain->way->name, cm_error_message());
    return status == CM_OK;
}

static cm_status decide(const tuning *t, bool *out) {
    CM_TRY(fill(t));
    CM_TRY(measure(t, out));
    *out = *out && agrees(t);
    return CM_OK;
}

/* ---- the chain ---- */

/* Is there a kernel, and space for what it needs? */
static bool build(cm_stream *stream, const cm_call *calls, cm_norm_convs *chain) {
    const cm_tensor *x = chain->way->x_of(calls);
    const cm_ops_limits limits = cm_ops_limits_of(stream);
    chain->tower = (cm_tower_args){.boards = x->dim[0], .height = x->dim[1], .width = x->dim[2], .layers = 1};
    chain->channels = cm_tensor_last(x), chain->type = x->dtype;
    chain->weights = cm_ops_weights(stream);
    return limits.multiplies_16_bits && chain->way->has_kernel(chain->channels, chain->type) &&
           cm_tower_share(&chain->tower, chain->channels, &limits) && borrowed_bytes(chain, calls) <= CM_OPS_BORROWED;
}

static cm_status find(const cm_call *calls, int first, int count, cm_norm_convs *chain) {
    chain->way = way_from(calls);
    chain->first = first;
    CM_TRY(cm_alloc(&chain->link, (size_t)count, sizeof *chain->link, "norms and convolutions"));
    CM_TRY(cm_alloc(&chain->turned, (size_t)count, sizeof *chain->turned, "norms and convolutions"));
    for (int i = 0; i < count; i++)
        if (is_link(chain->way, &calls[i])) chain->link[chain->links++] = i;
    return CM_OK;
}

cm_status cm_norm_convs_create(cm_stream *stream, const cm_call_list *pass, int first, int count, cm_norm_convs **out) {
    cm_norm_convs *chain = NULL;
    bool is_worth_it = false;
    *out = NULL;
    if (!pass->is_idle) return CM_OK;
    CM_TRY(cm_alloc(&chain, 1, sizeof *chain, "norms and convolutions"));
    cm_status status = find(pass->calls + first, first, count, chain);
    const tuning t = {stream, chain, pass->calls + first, chain->links};
    const bool may_be = status == CM_OK && build(stream, t.calls, chain);
    if (may_be && chain->way->acquire) status = chain->way->acquire(stream, chain, t.calls);
    if (may_be && status == CM_OK) status = decide(&t, &is_worth_it);
    if (status == CM_OK && is_worth_it) {
        *out = chain;
    } else {
        cm_norm_convs_free(chain);
    }
    return status == CM_ERR_MEMORY ? CM_OK : status; /* the calls need none of that memory */
}

cm_status cm_norm_convs_run(cm_stream *stream, const cm_call_list *pass, const cm_norm_convs *chain) {
    return chain->way->launch(stream, chain, pass->calls + chain->first, chain->links);
}

const cm_call *cm_norm_convs_rest(const cm_norm_convs *chain, const cm_call_list *pass, int call, cm_call *memory) {
    return rest_of(chain->way, &pass->calls[chain->first + call], memory);
}

void cm_norm_convs_free(cm_norm_convs *chain) {
    if (!chain) return;
    for (int i = 0; chain->turned && i < chain->links; i++) cm_weights_release(chain->weights, chain->turned[i]);
    free(chain->turned);
    free(chain->link);
    free(chain);
}
