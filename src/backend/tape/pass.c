/* Playing a tape: prepared calls in an array, run in order. */
#include <stdlib.h>

#include "backend/tape/tape_internal.h"
#include "core/arena.h"
#include "core/log.h"
#include "core/stop.h"
#include "device/mirror.h"

/* One tensor of one call, to be patched when its block moves. */
typedef struct patch {
    cm_tensor *tensor;
    size_t offset;
} patch;

struct cm_pass {
    const cm_tape *tape; /* borrowed */
    cm_stream *stream;   /* borrowed */
    cm_buffer work;
    cm_mirror result;
    void *base[CM_MEM_COUNT];
    cm_call *forward, *backward;
    int forwards, backwards;
    int *backward_at; /* [calls of the tape + 1] where they stand in `backward`; silent ones take no place */
    patch *patches[CM_MEM_COUNT];
    int patch_count[CM_MEM_COUNT];
    uint64_t version; /* of the addresses in the calls */
    void *graph[2];   /* of forward and backward; the backend's */
    bool is_fused;    /* forward is one launch */
    void **parts;     /* [backwards + 1] of parts of backward, by the call that they begin with */
};

static void count_patches(cm_pass *pass, const cm_tape_list *list) {
    for (int i = 0; i < list->count; i++) {
        for (int t = 0; t < CM_CALL_TENSORS; t++) {
            if (list->node[i].t[t] != CM_NO_VAR) pass->patch_count[pass->tape->var[list->node[i].t[t]].memory]++;
        }
    }
}

static void build_call(cm_pass *pass, const cm_tape_node *node, cm_call *call) {
    call->op = node->op;
    call->attr = node->attr;
    call->branch = node->branch;
    call->part = node->part;
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        if (node->t[t] == CM_NO_VAR) continue;
        const cm_tape_var *var = &pass->tape->var[node->t[t]];
        call->t[t] = var->shape;
        call->t[t].data = (char *)pass->base[var->memory] + var->offset;
        pass->patches[var->memory][pass->patch_count[var->memory]++] = (patch){&call->t[t], var->offset};
    }
}

/* at[list->count + 1], if it is not NULL: where the calls of the list stand. */
static cm_status build_calls(cm_pass *pass, const cm_tape_list *list, cm_call **calls, int *count, int *at) {
    CM_TRY(cm_alloc(calls, (size_t)list->count + 1, sizeof **calls, "the calls of a pass"));
    for (int i = 0; i < list->count; i++) {
        if (at) at[i + 1] = at[i] + !cm_tape_is_silent(pass->tape, &list->node[i]);
        if (cm_tape_is_silent(pass->tape, &list->node[i])) continue;
        cm_call *call = &(*calls)[(*count)++];
        build_call(pass, &list->node[i], call);
        CM_TRY(cm_call_prepare(pass->stream, call));
    }
    return CM_OK;
}

/* Without gradients no call looks at WORK. */
static cm_call_list list_of(const cm_pass *pass, const cm_call *calls, int count) {
    const bool trains = pass->tape->training;
    return (cm_call_list){.calls = calls,
                          .count = count,
                          .work = trains ? NULL : pass->base[CM_MEM_WORK],
                          .work_bytes = trains ? 0 : pass->tape->bytes[CM_MEM_WORK],
                          .infers = !trains,
                          .version = pass->version};
}

static cm_status fuse(cm_pass *pass) {
    const cm_backend *backend = pass->stream->backend;
    if (pass->tape->training || !backend->kind->fuse || backend->is_unfused) return CM_OK;
    const cm_call_list calls = cm_pass_calls(pass);
    cm_status status = backend->kind->fuse(pass->stream, &calls, &pass->graph[0]);
    pass->is_fused = pass->graph[0] != NULL;
    return status;
}

static cm_status prepare_list(const cm_pass *pass, const cm_call *calls, int count, void **graph) {
    cm_call_list list = list_of(pass, calls, count);
    list.is_idle = true;
    return count > 0 ? pass->stream->backend->kind->prepare_list(pass->stream, &list, graph) : CM_OK;
}

static cm_status prepare_parts(const cm_pass *pass) {
    const int calls = pass->tape->backward.count, *at = pass->backward_at;
    for (int first = 0, i = 1; i <= calls; i++) {
        if (i < calls && !pass->tape->ends[i]) continue;
        CM_TRY(prepare_list(pass, pass->backward + at[first], at[i] - at[first], &pass->parts[at[first]]));
        first = i;
    }
    return CM_OK;
}

/* Of one that trains. */
static cm_status prepare_lists(cm_pass *pass) {
    const cm_backend *backend = pass->stream->backend;
    if (!pass->tape->training || !backend->kind->prepare_list || backend->is_eager) return CM_OK;
    CM_TRY(prepare_list(pass, pass->forward, pass->forwards, &pass->graph[0]));
    if (pass->tape->ends) return prepare_parts(pass);
    return prepare_list(pass, pass->backward, pass->backwards, &pass->graph[1]);
}

/* The blocks that the caller did not give. */
static cm_status alloc_blocks(cm_pass *pass) {
    const cm_tape *tape = pass->tape;
    const cm_device *device = pass->stream->backend->device;
    if (!pass->base[CM_MEM_WORK]) {
        CM_TRY(cm_buffer_create(&pass->work, device, tape->bytes[CM_MEM_WORK] + CM_ALIGN, "activations"));
        pass->base[CM_MEM_WORK] = pass->work.base;
    }
    if (!pass->base[CM_MEM_RESULT]) {
        CM_TRY(cm_mirror_create(&pass->result, device, tape->bytes[CM_MEM_RESULT], "results"));
        pass->base[CM_MEM_RESULT] = pass->result.block.base;
    }
    return CM_OK;
}

static cm_status write_constant(const cm_pass *pass, const cm_tape_constant_fill *fill) {
    enum { AT_ONCE = 1024 };
    const cm_device *device = pass->stream->backend->device;
    const int n = pass->tape->var[fill->var].shape.dim[0];
    float values[AT_ONCE], *to = cm_pass_data(pass, fill->var);
    for (int i = 0; i < AT_ONCE; i++) values[i] = fill->value;
    for (int i = 0; i < n; i += AT_ONCE) {
        const int count = n - i < AT_ONCE ? n - i : AT_ONCE;
        CM_TRY(device->write(device, to + i, values, (size_t)count * sizeof(float)));
    }
    return CM_OK;
}

static cm_status write_constants(const cm_pass *pass) {
    for (int i = 0; i < pass->tape->constants; i++) CM_TRY(write_constant(pass, &pass->tape->constant[i]));
    return CM_OK;
}

static cm_status build(cm_pass *pass) {
    const cm_tape *tape = pass->tape;
    CM_TRY(alloc_blocks(pass));
    CM_TRY(write_constants(pass));
    count_patches(pass, &tape->forward);
    count_patches(pass, &tape->backward);
    for (int m = 0; m < CM_MEM_COUNT; m++) {
        CM_TRY(cm_alloc(&pass->patches[m], (size_t)pass->patch_count[m] + 1, sizeof(patch), "the addresses of a pass"));
        pass->patch_count[m] = 0;
    }
    CM_TRY(cm_alloc(&pass->backward_at, (size_t)tape->backward.count + 1, sizeof(int), "the calls of a pass"));
    CM_TRY(build_calls(pass, &tape->forward, &pass->forward, &pass->forwards, NULL));
    CM_TRY(build_calls(pass, &tape->backward, &pass->backward, &pass->backwards, pass->backward_at));
    CM_TRY(cm_alloc(&pass->parts, (size_t)pass->backwards + 1, sizeof *pass->parts, "the parts of a pass"));
    CM_TRY(fuse(pass));
    return prepare_lists(pass);
}

static void say(const cm_pass *pass) {
    char shape[64];
    if (pass->forwards == 0) return;
    cm_tensor_describe(&pass->forward[0].t[0], shape);
    cm_log(CM_INFO, "pass on %s: %d operations forward and %d backward, the first is %s to %s",
           pass->stream->backend->kind->name, pass->forwards, pass->backwards, cm_op_name(pass->forward[0].op), shape);
}

cm_status cm_pass_create(const cm_tape *tape, cm_stream *stream, void *const base[CM_MEM_COUNT], cm_pass **out) {
    *out = NULL;
    if (!tape->finished) return cm_fail(CM_ERR_STATE, "a tape must be finished before it is played");
    cm_pass *pass;
    CM_TRY(cm_alloc(&pass, 1, sizeof *pass, "a pass"));
    pass->tape = tape;
    pass->stream = stream;
    for (int m = 0; m < CM_MEM_COUNT; m++) pass->base[m] = base[m];
    cm_status status = build(pass);
    if (status != CM_OK) {
        cm_pass_destroy(pass);
        return status;
    }
    if (cm_log_plans()) say(pass);
    *out = pass;
    return CM_OK;
}

void cm_pass_destroy(cm_pass *pass) {
    if (!pass) return;
    for (int m = 0; m < CM_MEM_COUNT; m++) free(pass->patches[m]);
    for (int i = 0; i < 2; i++)
        if (pass->graph[i]) pass->stream->backend->kind->destroy_graph(pass->graph[i]);
    for (int i = 0; pass->parts && i < pass->backwards; i++)
        if (pass->parts[i]) pass->stream->backend->kind->destroy_graph(pass->parts[i]);
    free(pass->parts);
    free(pass->forward);
    free(pass->backward);
    free(pass->backward_at);
    cm_buffer_destroy(&pass->work);
    cm_mirror_destroy(&pass->result);
    free(pass);
}

void cm_pass_bind(cm_pass *pass, cm_memory memory, void *base) {
    if (pass->base[memory] == base) return;
    pass->base[memory] = base;
    pass->version++;
    for (int i = 0; i < pass->patch_count[memory]; i++) {
        pass->patches[memory][i].tensor->data = (char *)base + pass->patches[memory][i].offset;
    }
}

void *cm_pass_data(const cm_pass *pass, cm_var var) {
    const cm_tape_var *v = &pass->tape->var[var];
    return (char *)pass->base[v->memory] + v->offset;
}

static cm_status ask_stop(const cm_stream *stream) {
    return cm_stop_asked(stream->stop) ? cm_fail(CM_ERR_INTERRUPTED, "a pass was broken off") : CM_OK;
}

static cm_status run_one_by_one(cm_stream *stream, const cm_call *calls, int count) {
    for (int i = 0; i < count; i++) {
        CM_TRY(ask_stop(stream));
        CM_TRY(cm_call_run(stream, &calls[i]));
    }
    return CM_OK;
}

/* captures: as a graph, not as part of other work. A fused pass is one launch either way. */
static cm_status run_all(const cm_pass *pass, const cm_call *calls, int count, bool captures, void **graph) {
    const cm_backend *backend = pass->stream->backend;
    const cm_call_list list = list_of(pass, calls, count);
    const bool is_eager = captures && backend->is_eager && !pass->is_fused;
    CM_TRY(ask_stop(pass->stream));
    if (backend->kind->run_list && !is_eager) return backend->kind->run_list(pass->stream, &list, captures, graph);
    return run_one_by_one(pass->stream, calls, count);
}

cm_call_list cm_pass_calls(const cm_pass *pass) { return list_of(pass, pass->forward, pass->forwards); }

bool cm_pass_is_fused(const cm_pass *pass) { return pass->is_fused; }

cm_status cm_pass_forward(cm_pass *pass) { return run_all(pass, pass->forward, pass->forwards, true, &pass->graph[0]); }

cm_status cm_pass_launch(cm_pass *pass) { return run_all(pass, pass->forward, pass->forwards, false, &pass->graph[0]); }

cm_status cm_pass_backward(cm_pass *pass) {
    if (!pass->tape->training) return cm_fail(CM_ERR_STATE, "this pass was recorded without gradients");
    return run_all(pass, pass->backward, pass->backwards, true, &pass->graph[1]);
}

cm_status cm_pass_backward_part(cm_pass *pass, int first, int last) {
    if (!pass->tape->training) return cm_fail(CM_ERR_STATE, "this pass was recorded without gradients");
    const int from = pass->backward_at[first], count = pass->backward_at[last] - from;
    return count > 0 ? run_all(pass, pass->backward + from, count, true, &pass->parts[from]) : CM_OK;
}

cm_status cm_pass_fetch(cm_pass *pass) {
    size_t bytes = pass->tape->bytes[CM_MEM_RESULT];
    return cm_stream_read(pass->stream, pass->result.host, pass->result.block.base, bytes);
}

const float *cm_pass_result(const cm_pass *pass, cm_var var) {
    return (const float *)(const void *)((const char *)pass->result.host + pass->tape->var[var].offset);
}

cm_status cm_pass_read(const cm_pass *pass, cm_var var, void *out) {
    if (!cm_tape_has_memory(pass->tape, var))
        return cm_fail(CM_ERR_STATE, "variable %d of a tape has no memory: no call names it", var);
    return cm_stream_read(pass->stream, out, cm_pass_data(pass, var), cm_tensor_bytes(&pass->tape->var[var].shape));
}
