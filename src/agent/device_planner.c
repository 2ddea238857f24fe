#include "agent/device_planner.h"

#include <stdlib.h>

#include "agent/kernels.h"
#include "core/arena.h"
#include "device/mirror.h"
#include "mcts/device_search.h"

struct cm_device_planner {
    bool has_chance, is_sampled;
    bool is_begun;           /* a search is on its way */
    int simulations;         /* N */
    cm_stream *stream;       /* borrowed */
    cm_inference *inference; /* owned, like all below */
    cm_mirror discounts;     /* [R] of the transitions */
    cm_device_search *search;
    void *whole; /* its simulations as one launch; the backend's, NULL: they are none */
    void *graph; /* of a whole search; the backend's */
};

bool cm_device_planner_serves(const cm_planner_config *config) {
    return config->backend->kind->search_kernels && !config->rules && cm_device_search_serves(&config->search);
}

/* ---- memory ---- */

static cm_status open_model(cm_device_planner *d, const cm_planner_config *c, cm_device_model *out) {
    const cm_device *device = c->backend->device;
    const cm_network_config *network = cm_network_get_config(c->network);
    int slots = c->search.num_simulations + 1, codes = network->model == CM_NETWORK_CHANCE ? network->codes : 0;
    int in_trees = c->rows * slots, idle = codes > 0 ? c->rows : 0;
    const cm_network_use use = cm_planner_use(c, d->stream);
    CM_TRY(cm_inference_create(&use, in_trees + idle, &d->inference));
    d->has_chance = codes > 0;
    d->is_sampled = c->draws > 0;
    CM_TRY(cm_mirror_create(&d->discounts, device, (size_t)c->rows * sizeof(float), "discounts"));
    for (int b = 0; b < c->rows; b++) {
        cm_inference_get(d->inference)->root_slots[b] = b * slots;
        ((float *)d->discounts.host)[b] = c->discount;
    }
    CM_TRY(cm_mirror_push(&d->discounts));
    cm_inference_arrays at = cm_inference_on_device(d->inference);
    *out = (cm_device_model){
        .num_actions = c->draws > 0 ? c->draws : network->actions,
        .num_chance = codes,
        .root_logits = at.root_policy,
        .root_value = at.root_value,
        .prior_logits = at.policy,
        .value = at.value,
        .reward = at.reward,
        .discount = (const float *)(const void *)d->discounts.block.base,
        .parent_slots = at.parent_slots,
        .actions = at.actions,
        .child_slots = at.child_slots,
        .codes = at.codes,
        .after_logits = at.after_codes,
        .after_value = at.after_value,
        .after_parent_slots = at.after_parent_slots,
        .after_actions = at.after_actions,
        .after_child_slots = at.after_child_slots,
        .idle_slots = in_trees,
    };
    return CM_OK;
}

/* ---- simulations ---- */

static cm_status begin(void *context) {
    const cm_device_planner *d = context;
    return cm_device_search_begin(d->search, cm_stream_queue(d->stream));
}

static cm_status simulate(void *context) {
    const cm_device_planner *d = context;
    if (d->has_chance) CM_TRY(cm_inference_launch_afterstate(d->inference));
    CM_TRY(cm_inference_launch_recurrent(d->inference));
    return cm_device_search_grow(d->search, cm_stream_queue(d->stream));
}

static cm_status make_whole(cm_device_planner *d) {
    const cm_backend *backend = d->stream->backend;
    if (!backend->kind->agent_kernels || backend->is_unfused) return CM_OK;
    const cm_simulations simulations = {.count = d->simulations,
                                        .trees = cm_device_search_args(d->search),
                                        .recurrent = cm_inference_recurrent_calls(d->inference),
                                        .afterstate = cm_inference_afterstate_calls(d->inference),
                                        .begin = begin,
                                        .simulate = simulate,
                                        .context = d};
    return backend->kind->agent_kernels->create(d->stream, &simulations, &d->whole);
}

static cm_status launch_simulations(cm_device_planner *d) {
    if (d->whole) return d->stream->backend->kind->agent_kernels->launch(d->stream, d->whole);
    for (int i = 0; i < d->simulations; i++) CM_TRY(simulate(d));
    return CM_OK;
}

/* ---- opening and closing ---- */

/* Waits for what the stream was given before. */
static cm_status read_span(const cm_device_planner *d, cm_span span) {
    return cm_stream_read(d->stream, span.host, span.device, span.bytes);
}

static cm_status open_planner(cm_device_planner *d, const cm_planner_config *c) {
    const cm_device_place place = {c->backend->device, c->backend->kind->search_kernels};
    cm_device_model model;
    CM_TRY(open_model(d, c, &model));
    CM_TRY(cm_device_search_create(&c->search, c->rows, &place, &model, &d->search));
    return make_whole(d);
}

cm_status cm_device_planner_open(const cm_planner_config *config, cm_stream *stream, cm_device_planner **out) {
    cm_device_planner *d = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&d, 1, sizeof *d, "a planner on a device"));
    d->simulations = config->search.num_simulations;
    d->stream = stream;
    cm_status status = open_planner(d, config);
    if (status == CM_OK) {
        *out = d;
    } else {
        cm_device_planner_close(d);
    }
    return status;
}

void cm_device_planner_close(cm_device_planner *d) {
    if (!d) return;
    if (d->is_begun)
        (void)read_span(d, cm_device_search_result_span(d->search)); /* it works on what is given back here */
    if (d->graph) d->stream->backend->kind->destroy_graph(d->graph);
    if (d->whole) d->stream->backend->kind->agent_kernels->destroy(d->whole);
    cm_device_search_destroy(d->search);
    cm_mirror_destroy(&d->discounts);
    cm_inference_destroy(d->inference);
    free(d);
}

float *cm_device_planner_observations(cm_device_planner *d) { return cm_inference_get(d->inference)->observation; }

cm_sampled_roots cm_device_planner_roots(cm_device_planner *d) { return cm_sampled_roots_of(d->inference); }

size_t cm_device_planner_model_bytes(const cm_device_planner *d) { return cm_inference_bytes(d->inference); }

/* ---- a search ---- */

/* All of it that runs on the device. */
static cm_status launch_search(void *context, void *queue) {
    cm_device_planner *d = context;
    CM_TRY(cm_inference_launch_root(d->inference));
    CM_TRY(begin(d));
    CM_TRY(launch_simulations(d));
    return cm_device_search_end(d->search, queue);
}

cm_status cm_device_planner_begin(cm_device_planner *d, const cm_roots *roots) {
    cm_span request;
    CM_TRY(cm_device_search_request(d->search, roots, &request));
    CM_TRY(cm_stream_write(d->stream, request.device, request.host, request.bytes));
    CM_TRY(cm_inference_write_root(d->inference));
    d->is_begun = true;
    return cm_stream_capture(d->stream, "search", launch_search, d, &d->graph);
}

cm_status cm_device_planner_end(cm_device_planner *d, const cm_roots *roots, const cm_search_result *result) {
    d->is_begun = false;
    CM_TRY(read_span(d, cm_device_search_result_span(d->search)));
    if (d->is_sampled) CM_TRY(cm_inference_fetch_root(d->inference));
    return cm_device_search_result(d->search, roots, result);
}

cm_status cm_device_planner_trees(cm_device_planner *d, const cm_search **out) {
    CM_TRY(read_span(d, cm_device_search_trees(d->search)));
    *out = cm_device_search_mirror(d->search);
    return CM_OK;
}
