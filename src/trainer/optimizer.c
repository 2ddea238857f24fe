#include "trainer/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/schedule.h"
#include "core/arena.h"
#include "device/mirror.h"

enum { BLOCK = 4096, SLICE = 2 * BLOCK };

/* A run of parameters that one task updates. */
typedef struct range {
    size_t first, count;
    bool decay;
    int rows; /* of a matrix that a method takes as a whole; 0: any elements */
} range;

/* One row per optimizer. */
typedef struct method {
    int moments;
    cm_op op;          /* of any elements                                        */
    cm_op matrix;      /* of whole matrices; CM_OP_COUNT: they are like the rest */
    bool is_decoupled; /* weight decay                                           */
} method;

static const method methods[CM_OPTIMIZER_COUNT] = {
    [CM_OPTIMIZER_ADAMW] = {2, CM_OP_adam_step, CM_OP_COUNT, true},
    [CM_OPTIMIZER_ADAM] = {2, CM_OP_adam_step, CM_OP_COUNT, false},
    [CM_OPTIMIZER_SGD] = {1, CM_OP_sgd_step, CM_OP_COUNT, false},
    [CM_OPTIMIZER_MUON] = {2, CM_OP_adam_step, CM_OP_muon_step, true},
};

int cm_optimizer_moment_count(const cm_trainer_options *options) { return methods[options->optimizer].moments; }

struct cm_optimizer {
    cm_optimizer_config config;
    size_t n;
    size_t slice; /* elements of one task: a GPU takes all at once */
    const method *method;
    cm_mirror moments[2];
    float *first, *second; /* in them on the device, [n]; second NULL where a method has one moment */
    cm_buffer partial;     /* [blocks] sums of squares */
    range *ranges;
    int range_count, range_capacity;
    /* of the call that is running */
    float *const *gradients;
    int gradient_count;
    float *gradient; /* read only; cm_tensor has no const */
    float *factor;   /* [2] on the device */
    cm_attr attr;
};

static int slices(const cm_optimizer *o) { return (int)((o->n + o->slice - 1) / o->slice); }

static cm_status add_range(cm_optimizer *o, const range *added) {
    if (o->range_count == o->range_capacity) {
        int capacity = o->range_capacity ? 2 * o->range_capacity : 64;
        range *grown = realloc(o->ranges, (size_t)capacity * sizeof *grown);
        if (!grown) return cm_fail(CM_ERR_MEMORY, "no memory for the ranges of the optimizer");
        o->ranges = grown;
        o->range_capacity = capacity;
    }
    o->ranges[o->range_count++] = *added;
    return CM_OK;
}

static cm_status add_slices(cm_optimizer *o, size_t first, size_t count, bool decay) {
    for (size_t at = first; at < first + count;) {
        size_t end = (at / o->slice + 1) * o->slice;
        if (end > first + count) end = first + count;
        CM_TRY(add_range(o, &(range){at, end - at, decay, 0}));
        at = end;
    }
    return CM_OK;
}

static bool decays(const char *name) {
    size_t length = strlen(name);
    return length >= 7 && strcmp(name + length - 7, ".weight") == 0;
}

/* Whether a method that takes matrices takes this one: filters of a convolution are rows of one. */
static bool is_matrix(const cm_optimizer *o, const cm_param *p) {
    return o->method->matrix != CM_OP_COUNT && p->ndim >= 2 && decays(p->name);
}

/* Cuts the parameters into ranges of one kind each. */
static cm_status cut(cm_optimizer *o) {
    const cm_param_table *table = o->config.table;
    const bool all = o->config.options->decay_on == CM_DECAY_ALL;
    size_t end = 0;
    if (all && o->method->matrix == CM_OP_COUNT) return add_slices(o, 0, o->n, true);
    for (int i = 0; i < table->count; i++) { /* each with the gap before it */
        const cm_param *p = &table->param[i];
        const bool decay = all || decays(p->name), matrix = !p->state && is_matrix(o, p);
        if (p->state) continue;
        CM_TRY(add_slices(o, end, p->offset + (matrix ? 0 : p->count) - end, decay));
        if (matrix) CM_TRY(add_range(o, &(range){p->offset, p->count, decay, p->dim[0]}));
        end = p->offset + p->count;
    }
    return CM_OK;
}

static cm_tensor flat(float *data, size_t first, size_t count) {
    return cm_tensor_1d(data + first, CM_F32, (int)count);
}

/* The operations have their tensors in one order; only adam_step has a second moment, and takes scaling. Of the others
 * beta1 is the option momentum. */
static cm_call step_of(const cm_optimizer *o, const range *r) {
    cm_call call = {.op = r->rows ? o->method->matrix : o->method->op, .attr = o->attr};
    const bool is_adam = call.op == CM_OP_adam_step;
    float *const data[] = {o->config.parameters, o->first, o->second, o->gradient};
    int place = 0;
    for (int i = 0; i < 4; i++) {
        if (i == 2 && !is_adam) continue;
        call.t[place++] = r->rows ? cm_tensor_2d(data[i] + r->first, CM_F32, r->rows, (int)r->count / r->rows)
                                  : flat(data[i], r->first, r->count);
    }
    call.t[place++] = flat(o->factor, 0, 2);
    if (is_adam) {
        if (o->config.scaling) call.t[place] = flat(o->config.scaling, 0, CM_SCALING_NUMBERS);
    } else {
        call.attr.beta1 = o->config.options->momentum;
        call.attr.compute = o->config.compute;
    }
    if (!r->decay) call.attr.weight_decay = 0.0;
    return call;
}

/* Matrices need memory of each stream, which is taken now. */
static cm_status prepare(cm_optimizer *o) {
    o->gradient = o->factor = o->config.parameters; /* some address */
    for (int worker = 0; worker < cm_pool_size(o->config.pool); worker++)
        for (int i = 0; i < o->range_count; i++) {
            if (!o->ranges[i].rows) continue;
            cm_call call = step_of(o, &o->ranges[i]);
            CM_TRY(cm_call_prepare(o->config.streams[worker], &call));
        }
    return CM_OK;
}

static cm_status build(cm_optimizer *o) {
    const cm_device *device = o->config.streams[0]->backend->device;
    o->slice = device->is_host ? SLICE : (o->n + BLOCK) / BLOCK * BLOCK;
    CM_TRY(cm_mirror_create(&o->moments[0], device, o->n * sizeof(float), "first moments"));
    o->first = (float *)o->moments[0].block.base;
    if (o->method->moments > 1) {
        CM_TRY(cm_mirror_create(&o->moments[1], device, o->n * sizeof(float), "second moments"));
        o->second = (float *)o->moments[1].block.base;
    }
    CM_TRY(cm_buffer_create(&o->partial, device, (o->n / BLOCK + 1) * sizeof(float), "partial sums"));
    CM_TRY(cut(o));
    return prepare(o);
}

cm_status cm_optimizer_create(const cm_optimizer_config *config, cm_optimizer **out) {
    *out = NULL;
    cm_optimizer *o;
    CM_TRY(cm_alloc(&o, 1, sizeof *o, "the optimizer"));
    o->config = *config;
    o->n = config->table->parameters;
    o->method = &methods[config->options->optimizer];
    cm_status status = build(o);
    if (status != CM_OK) {
        cm_optimizer_destroy(o);
        return status;
    }
    *out = o;
    return CM_OK;
}

void cm_optimizer_destroy(cm_optimizer *optimizer) {
    if (!optimizer) return;
    cm_mirror_destroy(&optimizer->moments[0]);
    cm_mirror_destroy(&optimizer->moments[1]);
    cm_buffer_destroy(&optimizer->partial);
    free(optimizer->ranges);
    free(optimizer);
}

static size_t slice_count(const cm_optimizer *o, int slice) {
    size_t first = (size_t)slice * o->slice;
    return o->n - first < o->slice ? o->n - first : o->slice;
}

/* Level by level: buffer i takes in buffer i + 1, then i + 2, i + 4, ... */
cm_status cm_gradient_sum(cm_stream *stream, float *const *gradient, int count, size_t first, size_t n) {
    for (int step = 1; step < count; step *= 2) {
        for (int i = 0; i + step < count; i += 2 * step) {
            cm_call call = {.op = CM_OP_add_into,
                            .t = {flat(gradient[i], first, n), flat(gradient[i + step], first, n)}};
            CM_TRY(cm_call_run(stream, &call));
        }
    }
    return CM_OK;
}

static cm_status sum_slice(void *context, int task, int worker) {
    cm_optimizer *o = context;
    return cm_gradient_sum(o->config.streams[worker], o->gradients, o->gradient_count, (size_t)task * o->slice,
                           slice_count(o, task));
}

cm_status cm_optimizer_sum(cm_optimizer *optimizer, float *const *gradient, int count) {
    if (count < 2) return CM_OK;
    optimizer->gradients = gradient;
    optimizer->gradient_count = count;
    return cm_pool_run(optimizer->config.pool, slices(optimizer), sum_slice, optimizer);
}

static cm_status square_slice(void *context, int task, int worker) {
    cm_optimizer *o = context;
    size_t first = (size_t)task * o->slice, count = slice_count(o, task);
    const cm_tensor partial = flat((float *)(void *)o->partial.base, first / BLOCK, (count + BLOCK - 1) / BLOCK);
    cm_call call = {.op = CM_OP_sum_squares, .t = {partial, flat(o->gradient, first, count)}};
    return cm_call_run(o->config.streams[worker], &call);
}

cm_status cm_optimizer_clip(cm_optimizer *optimizer, const float *gradient, const cm_optimizer_check *check,
                            float *factor) {
    cm_optimizer *o = optimizer;
    cm_call call = {.op = CM_OP_clip,
                    .attr = {.clip_norm = o->config.options->clip_norm,
                             .beta1 = o->config.options->beta1,
                             .beta2 = o->config.options->beta2,
                             .growth = o->config.options->loss_scale_growth_interval}};
    o->gradient = (float *)(uintptr_t)gradient;
    CM_TRY(cm_pool_run(o->config.pool, slices(o), square_slice, o));
    call.t[CM_T_clip_factor] = flat(factor, 0, 2);
    if (o->config.scaling) call.t[CM_T_clip_scaling] = flat(o->config.scaling, 0, CM_SCALING_NUMBERS);
    call.t[CM_T_clip_partial] = flat((float *)(void *)o->partial.base, 0, (o->n + BLOCK - 1) / BLOCK);
    call.t[CM_T_clip_check] = flat(check->number, 0, check->count);
    return cm_call_run(o->config.streams[0], &call);
}

static cm_status step_range(void *context, int task, int worker) {
    cm_optimizer *o = context;
    const range *r = &o->ranges[task];
    cm_stream *stream = o->config.streams[worker];
    cm_call call = step_of(o, r);
    if (r->rows) CM_TRY(cm_call_prepare(stream, &call)); /* known since prepare() */
    CM_TRY(cm_call_run(stream, &call));
    if (!o->config.average) return CM_OK;
    cm_call average = {.op = CM_OP_lerp,
                       .t = {flat(o->config.average, r->first, r->count), call.t[0], flat(o->factor, 0, 2)},
                       .attr.scale = (float)(1.0 - o->config.options->ema_decay)};
    return cm_call_run(stream, &average);
}

void cm_optimizer_plan(cm_optimizer *optimizer, int64_t total_updates) {
    optimizer->config.total_updates = total_updates;
}

double cm_optimizer_rate(const cm_optimizer *optimizer, int64_t update) {
    const cm_trainer_options *t = optimizer->config.options;
    int64_t total = t->schedule_steps > 0 ? t->schedule_steps : optimizer->config.total_updates - t->warmup_steps;
    cm_schedule schedule = {.type = (cm_schedule_kind)t->schedule,
                            .learning_rate = t->learning_rate,
                            .warmup_steps = t->warmup_steps,
                            .decay_rate = t->decay_rate,
                            .decay_steps = t->decay_steps,
                            .total_steps = total > 0 ? total : 1,
                            .final_learning_rate = t->final_learning_rate};
    return cm_schedule_rate(&schedule, update);
}

cm_status cm_optimizer_step(cm_optimizer *optimizer, const float *gradient, float *factor, int64_t update) {
    const cm_trainer_options *t = optimizer->config.options;
    const double steps = (double)update + 1.0;
    optimizer->gradient = (float *)(uintptr_t)gradient;
    optimizer->factor = factor;
    optimizer->attr = (cm_attr){.learning_rate = cm_optimizer_rate(optimizer, update),
                                .beta1 = t->beta1,
                                .beta2 = t->beta2,
                                .correction1 = 1.0 - pow(t->beta1, steps),
                                .correction2 = 1.0 - pow(t->beta2, steps),
                                .epsilon = (float)t->adam_epsilon,
                                .weight_decay = t->weight_decay,
                                .decoupled = optimizer->method->is_decoupled,
                                .first = update == 0,
                                .gradient_scale = 1.0};
    return cm_pool_run(optimizer->config.pool, optimizer->range_count, step_range, optimizer);
}

cm_mirror *cm_optimizer_moments(cm_optimizer *optimizer, int order) { return &optimizer->moments[order]; }
