#include "export/examples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/rng.h"

/* A function that is played on the reference implementation. */
typedef struct playing {
    cm_export_examples *examples;
    const cm_export_network *network;
    cm_function function;
    cm_stream *stream; /* borrowed */
    cm_pass *pass;
    cm_arena input; /* the tape's block of inputs */
    cm_rng rng;
    int rows;
} playing;

const float *cm_export_examples_find(const cm_export_examples *examples, const char *function, const char *port) {
    char name[CM_ARRAY_NAME];
    snprintf(name, sizeof name, "%s.%s", function, port);
    for (int i = 0; i < examples->count; i++)
        if (strcmp(examples->name[i], name) == 0) return examples->array[i].data;
    return NULL;
}

/* A new array for a port. */
static cm_status add_array(const playing *p, const cm_onnx_port *port, float **data) {
    cm_export_examples *e = p->examples;
    cm_array *array = &e->array[e->count];
    *array = (cm_array){.name = e->name[e->count], .ndim = port->ndim, .dim = {p->rows}};
    snprintf(e->name[e->count], CM_ARRAY_NAME, "%s.%s", p->function.name, port->name);
    for (int d = 1; d < port->ndim; d++) array->dim[d] = port->dim[d];
    CM_TRY(cm_alloc(&array->data, cm_array_count(array), sizeof(float), "examples"));
    *data = array->data;
    e->count++;
    return CM_OK;
}

/* ---- inputs ---- */

/* h and c, a prefix, and steps of which the last one may end at the horizon. */
static void draw_memory(playing *p, float *row) {
    const cm_network_config *c = cm_network_get_config(p->network->network);
    enum { STEPS_MOST = 5 };
    for (int i = 0; i < 2 * c->lstm; i++) row[i] = 2.0f * cm_rng_uniform(&p->rng) - 1.0f;
    row[2 * c->lstm] = cm_rng_normal(&p->rng);
    row[2 * c->lstm + 1] =
        (float)cm_rng_below(&p->rng, (uint32_t)(c->prefix_horizon < STEPS_MOST ? c->prefix_horizon : STEPS_MOST));
}

/* Bytes up to the one that stands for 1, as in planes of 0 and 1 and in pictures of 0 .. 1. */
static float draw_byte(playing *p) {
    const float most = fminf(fmaxf(rintf(1.0f / p->network->options.unit), 1.0f), (float)UINT8_MAX);
    return (float)cm_rng_below(&p->rng, 1 + (uint32_t)most);
}

static float draw(playing *p, const cm_function_port *port) {
    if (port->below > 0) return (float)cm_rng_below(&p->rng, (uint32_t)port->below);
    return port->port.type == CM_ONNX_UINT8 ? draw_byte(p) : cm_rng_normal(&p->rng);
}

/* States are those that other functions have made. */
static const float *made_before(const playing *p, const cm_function_port *port) {
    if (port->kind != CM_PORT_PLAIN) return NULL;
    const float *state = cm_export_examples_find(p->examples, "initial_inference", port->port.name);
    return state ? state : cm_export_examples_find(p->examples, "afterstate_inference", port->port.name);
}

static void fill(playing *p, const cm_function_port *port, float *data, size_t count) {
    const float *before = made_before(p, port);
    const size_t row = count / (size_t)p->rows;
    if (before) memcpy(data, before, count * sizeof *data);
    for (size_t i = 0; !before && i < count && port->kind != CM_PORT_MEMORY; i++) data[i] = draw(p, port);
    for (size_t i = 0; i < count && port->kind == CM_PORT_MEMORY; i += row) draw_memory(p, data + i);
}

/* From what a port has to what the tape reads. */
static void put_input(const playing *p, const cm_function_port *port, const float *data) {
    const cm_tensor *shape = cm_tape_shape(p->function.tape, port->var);
    void *to = (char *)p->input.base + cm_tape_offset(p->function.tape, port->var);
    const size_t count = cm_tensor_count(shape);
    float *floats = to;
    int32_t *ints = to;
    switch (port->kind) {
    case CM_PORT_ACTION:
        for (size_t i = 0; i < count; i++) ints[i] = (int32_t)data[i];
        return;
    case CM_PORT_CODE:
        for (int b = 0; b < p->rows; b++) floats[b * port->below + (int)data[b]] = 1.0f; /* among zeros */
        return;
    case CM_PORT_OBSERVATION:
        for (size_t i = 0; i < count; i++)
            floats[i] = port->port.type == CM_ONNX_UINT8 ? data[i] * p->network->options.unit : data[i];
        return;
    case CM_PORT_PLAIN:
    case CM_PORT_MEMORY: break;
    }
    if (shape->ndim == 4) {
        cm_channels_last(floats, data, shape->dim);
    } else {
        memcpy(floats, data, count * sizeof *data);
    }
}

static cm_status add_input(playing *p, const cm_function_port *port) {
    float *data;
    CM_TRY(add_array(p, &port->port, &data));
    fill(p, port, data, cm_array_count(&p->examples->array[p->examples->count - 1]));
    put_input(p, port, data);
    return CM_OK;
}

/* ---- outputs ---- */

static cm_status add_output(playing *p, const cm_function_port *port) {
    const cm_tensor *shape = cm_tape_shape(p->function.tape, port->var);
    float *data, *planes = NULL;
    CM_TRY(add_array(p, &port->port, &data));
    if (shape->ndim < 4) return cm_pass_read(p->pass, port->var, data);
    CM_TRY(cm_alloc(&planes, cm_tensor_count(shape), sizeof *planes, "examples"));
    cm_status status = cm_pass_read(p->pass, port->var, planes);
    cm_channels_first(data, planes, shape->dim);
    free(planes);
    return status;
}

/* ---- a function ---- */

static cm_status play(playing *p) {
    const cm_tape *tape = p->function.tape;
    CM_TRY(cm_arena_create(&p->input, cm_tape_bytes(tape, CM_MEM_INPUT) + CM_ALIGN, "inputs of examples"));
    void *base[CM_MEM_COUNT] = {[CM_MEM_PARAMETER] = (void *)(uintptr_t)p->network->weights.parameters,
                                [CM_MEM_STATE] = (void *)(uintptr_t)p->network->weights.state,
                                [CM_MEM_INPUT] = p->input.base};
    CM_TRY(cm_pass_create(tape, p->stream, base, &p->pass));
    for (int i = 0; i < p->function.inputs; i++) CM_TRY(add_input(p, &p->function.input[i]));
    CM_TRY(cm_pass_forward(p->pass));
    for (int i = 0; i < p->function.outputs; i++) CM_TRY(add_output(p, &p->function.output[i]));
    return CM_OK;
}

static cm_status add_function(cm_export_examples *examples, const cm_export_network *n, cm_function_kind kind,
                              cm_stream *stream, int rows) {
    playing p = {.examples = examples, .network = n, .stream = stream, .rows = rows};
    p.rng = cm_rng_init(cm_key_make(0, CM_RNG_TEST, (uint64_t)kind), 0);
    cm_status status = cm_function_open(&p.function, n->network, &n->options, kind, rows);
    if (status == CM_OK) status = play(&p);
    cm_pass_destroy(p.pass);
    cm_function_close(&p.function);
    cm_arena_destroy(&p.input);
    return status;
}

static cm_status add_functions(cm_export_examples *examples, const cm_export_network *n, cm_backend *backend,
                               int rows) {
    cm_stream *stream = NULL;
    CM_TRY(cm_stream_open(backend, &stream));
    cm_status status = CM_OK;
    for (cm_function_kind kind = 0; kind < CM_FUNCTION_COUNT && status == CM_OK; kind++)
        if (cm_function_exists(n->network, kind)) status = add_function(examples, n, kind, stream, rows);
    cm_stream_close(stream);
    return status;
}

cm_status cm_export_examples_make(cm_export_examples *examples, const cm_export_network *network, int rows) {
    cm_backend *backend = NULL;
    *examples = (cm_export_examples){.count = 0};
    CM_TRY(cm_backend_open("ref", &backend));
    cm_status status = add_functions(examples, network, backend, rows);
    cm_backend_close(backend);
    return status;
}

void cm_export_examples_free(cm_export_examples *examples) {
    for (int i = 0; i < examples->count; i++) free(examples->array[i].data);
    examples->count = 0;
}
