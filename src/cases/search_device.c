/* A case whose trees lie on a device: between the kernels the host copies slots and actions from there, asks the model,
 * and copies what it says back. */
#include <stdlib.h>

#include "cases/search_internal.h"
#include "core/arena.h"

/* The model's arrays, on both sides at the same places. */
typedef struct session {
    cm_search_case *searched;
    const cm_device_place *place;
    cm_tabular tabular;  /* its states are owned */
    cm_buffer block;     /* on the device */
    unsigned char *host; /* owned, [block.bytes] */
    cm_device_model at;  /* in the block */
    cm_device_search *search;
} session;

static void alloc_arrays(cm_device_model *at, cm_arena *arena, const cm_search_case *c) {
    size_t roots = (size_t)c->batch, actions = (size_t)c->num_actions, outcomes = (size_t)c->num_chance;
    *at = (cm_device_model){.num_actions = c->num_actions, .num_chance = c->num_chance};
    at->root_logits = cm_arena_alloc(arena, roots * actions * sizeof(float));
    at->root_value = cm_arena_alloc(arena, roots * sizeof(float));
    at->prior_logits = cm_arena_alloc(arena, roots * actions * sizeof(float));
    at->value = cm_arena_alloc(arena, roots * sizeof(float));
    at->reward = cm_arena_alloc(arena, roots * sizeof(float));
    at->discount = cm_arena_alloc(arena, roots * sizeof(float));
    at->parent_slots = cm_arena_alloc(arena, roots * sizeof(int32_t));
    at->actions = cm_arena_alloc(arena, roots * sizeof(int32_t));
    at->child_slots = cm_arena_alloc(arena, roots * sizeof(int32_t));
    at->idle_slots = c->batch * c->slots;
    if (outcomes == 0) return;
    at->after_logits = cm_arena_alloc(arena, roots * outcomes * sizeof(float));
    at->after_value = cm_arena_alloc(arena, roots * sizeof(float));
    at->after_parent_slots = cm_arena_alloc(arena, roots * sizeof(int32_t));
    at->after_actions = cm_arena_alloc(arena, roots * sizeof(int32_t));
    at->after_child_slots = cm_arena_alloc(arena, roots * sizeof(int32_t));
}

static cm_status open_session(session *s) {
    const cm_search_case *c = s->searched;
    cm_arena arena = {.base = NULL, .capacity = SIZE_MAX};
    alloc_arrays(&s->at, &arena, c);
    s->tabular = (cm_tabular){&c->table, c->root_states, NULL};
    CM_TRY(cm_alloc(&s->tabular.states, (size_t)c->batch * (size_t)c->slots, sizeof(int32_t), "states"));
    CM_TRY(cm_buffer_create(&s->block, s->place->device, arena.used, "a model's arrays"));
    CM_TRY(cm_alloc(&s->host, s->block.bytes, 1, "a model's arrays"));
    arena = (cm_arena){.base = s->block.base, .capacity = s->block.bytes};
    alloc_arrays(&s->at, &arena, c);
    return cm_device_search_create(&c->params, c->batch, s->place, &s->at, &s->search);
}

static void close_session(session *s) {
    cm_device_search_destroy(s->search);
    cm_buffer_destroy(&s->block);
    free(s->host);
    free(s->tabular.states);
}

/* The host's copy of an array. */
static void *host_of(const session *s, const void *array) {
    return s->host + ((const unsigned char *)array - s->block.base);
}

static cm_status copy_span(const session *s, cm_span span, bool to_device) {
    const cm_device *device = s->place->device;
    if (to_device) return device->write(device, span.device, span.host, span.bytes);
    return device->read(device, span.host, span.device, span.bytes);
}

static cm_status copy_arrays(session *s, bool to_device) {
    return copy_span(s, (cm_span){s->block.base, s->host, s->block.bytes}, to_device);
}

static cm_status evaluate_roots(session *s, const cm_model *model) {
    int32_t *slots = host_of(s, s->at.parent_slots);
    cm_model_out out = {.prior_logits = host_of(s, s->at.root_logits), .value = host_of(s, s->at.root_value)};
    for (int b = 0; b < s->searched->batch; b++) slots[b] = b * s->searched->slots;
    CM_TRY(model->root(model->ctx, s->searched->batch, slots, &out));
    return copy_arrays(s, true);
}

/* Root b, whose leaf is an afterstate. */
static cm_status evaluate_afterstate(session *s, const cm_model *model, int b) {
    cm_model_out out = {
        .prior_logits = (float *)host_of(s, s->at.after_logits) + (size_t)b * (size_t)model->num_chance,
        .value = (float *)host_of(s, s->at.after_value) + b,
    };
    const int32_t *parents = host_of(s, s->at.after_parent_slots), *actions = host_of(s, s->at.after_actions);
    const int32_t *children = host_of(s, s->at.after_child_slots);
    return model->afterstate(model->ctx, 1, parents + b, actions + b, children + b, &out);
}

static cm_status evaluate_leaf(session *s, const cm_model *model, int b) {
    cm_model_out out = {
        .reward = (float *)host_of(s, s->at.reward) + b,
        .discount = (float *)host_of(s, s->at.discount) + b,
        .prior_logits = (float *)host_of(s, s->at.prior_logits) + (size_t)b * (size_t)model->num_actions,
        .value = (float *)host_of(s, s->at.value) + b,
    };
    const int32_t *parents = host_of(s, s->at.parent_slots), *actions = host_of(s, s->at.actions);
    const int32_t *children = host_of(s, s->at.child_slots);
    if (children[b] >= s->at.idle_slots) return evaluate_afterstate(s, model, b);
    return model->recurrent(model->ctx, 1, parents + b, actions + b, children + b, &out);
}

static cm_status evaluate_leaves(session *s, const cm_model *model) {
    CM_TRY(copy_arrays(s, false));
    for (int b = 0; b < s->searched->batch; b++) CM_TRY(evaluate_leaf(s, model, b));
    return copy_arrays(s, true);
}

static cm_status run_session(session *s) {
    cm_search_case *c = s->searched;
    cm_model model = cm_tabular_model(&s->tabular);
    cm_roots roots = cm_search_case_roots(c, 0, c->batch);
    cm_search_result result = cm_search_case_result(c, 0);
    cm_span request;
    CM_TRY(cm_device_search_request(s->search, &roots, &request));
    CM_TRY(copy_span(s, request, true));
    CM_TRY(evaluate_roots(s, &model));
    CM_TRY(cm_device_search_begin(s->search, NULL));
    for (int i = 0; i < c->params.num_simulations; i++) {
        CM_TRY(evaluate_leaves(s, &model));
        CM_TRY(cm_device_search_grow(s->search, NULL));
    }
    CM_TRY(cm_device_search_end(s->search, NULL));
    CM_TRY(copy_span(s, cm_device_search_trees(s->search), false));
    return cm_device_search_result(s->search, &roots, &result);
}

cm_status cm_search_case_run_on(cm_search_case *searched, const cm_device_place *place) {
    session s = {.searched = searched, .place = place};
    CM_TRY(cm_search_case_alloc(searched));
    cm_status status = open_session(&s);
    if (status == CM_OK) status = run_session(&s);
    for (int b = 0; status == CM_OK && b < searched->batch; b++) {
        cm_search_case_export(searched, cm_device_search_mirror(s.search), &s.tabular, b, (size_t)b);
    }
    close_session(&s);
    return status;
}
