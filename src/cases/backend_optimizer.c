/* Reference cases of learning-rate schedules and optimizers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/schedule.h"
#include "cases/backend_run.h"

static float *floats(const cm_tensor *t) { return t->data; }

/* ---- schedule ---- */

static cm_status read_steps(const cm_json *object, const char *key, bool needed, int64_t least, int64_t *out) {
    *out = least;
    if (!needed && !cm_json_get(object, key)) return CM_OK;
    return cm_json_need_int(object, key, least, INT64_C(1) << 40, out);
}

static cm_status read_schedule(const cm_json *object, cm_schedule *out) {
    static const char *const types[] = {"constant", "step", "exponential", "piecewise", "cosine", NULL};
    const cm_json *node;
    int type;
    CM_TRY(cm_json_need(object, "schedule", CM_JSON_OBJECT, &node));
    CM_TRY(cm_case_choice(node, "type", types, &type));
    out->type = (cm_schedule_kind)type;
    bool decays = out->type == CM_RATE_STEP || out->type == CM_RATE_EXPONENTIAL;
    bool ends = out->type == CM_RATE_PIECEWISE || out->type == CM_RATE_COSINE;
    CM_TRY(cm_json_need_number(node, "learning_rate", &out->learning_rate));
    out->final_learning_rate = 0.0;
    if (cm_json_get(node, "final_learning_rate"))
        CM_TRY(cm_json_need_number(node, "final_learning_rate", &out->final_learning_rate));
    out->decay_rate = 1.0;
    if (decays) CM_TRY(cm_json_need_number(node, "decay_rate", &out->decay_rate));
    CM_TRY(read_steps(node, "warmup_steps", false, 0, &out->warmup_steps));
    CM_TRY(read_steps(node, "decay_steps", decays, 1, &out->decay_steps));
    return read_steps(node, "total_steps", ends, 1, &out->total_steps);
}

cm_status cm_case_schedule(cm_case_run *run) {
    cm_schedule schedule;
    cm_tensor step, rate;
    CM_TRY(read_schedule(run->options, &schedule));
    CM_TRY(cm_case_integers(run, "step", &step));
    CM_TRY(cm_case_output(run, 1, step.dim, &rate));
    for (int i = 0; i < step.dim[0]; i++)
        floats(&rate)[i] = (float)cm_schedule_rate(&schedule, ((const int32_t *)step.data)[i]);
    return cm_case_compare(run, &rate, "learning_rate");
}

/* ---- optimizer ---- */

enum { PARAMETERS = 16, NORM_BLOCK = 4096 };

typedef struct parameter {
    const char *name;
    int rows;                                 /* first dimension, which a matrix has as rows */
    cm_tensor value, first, second, gradient; /* flat */
} parameter;

typedef struct optimizer {
    cm_case_run *run;
    cm_schedule schedule;
    cm_call step;        /* operation and attributes */
    double weight_decay; /* of the parameters that decay */
    double clip_norm;    /* 0: none */
    bool weights_only;
    parameter parameters[PARAMETERS];
    int count;
} optimizer;

/* The type of products, of which only muon's steps have some; float32 if nothing is said. */
static cm_status read_compute(const cm_json *node, cm_dtype *out) {
    const char *types[CM_PRODUCT_TYPES + 1] = {NULL};
    int type = CM_F32;
    for (int i = 0; i < CM_PRODUCT_TYPES; i++) types[i] = cm_dtype_name((cm_dtype)i);
    if (cm_json_get(node, "compute")) CM_TRY(cm_case_choice(node, "compute", types, &type));
    *out = (cm_dtype)type;
    return CM_OK;
}

static cm_status read_optimizer(const cm_case_run *run, optimizer *o) {
    static const char *const types[] = {"sgd", "adam", "adamw", "muon", NULL}, *const decays[] = {"all", "weights",
                                                                                                  NULL};
    const cm_json *node;
    int type, decay;
    CM_TRY(cm_json_need(run->options, "optimizer", CM_JSON_OBJECT, &node));
    CM_TRY(cm_case_choice(node, "type", types, &type));
    CM_TRY(cm_case_choice(node, "decay", decays, &decay));
    CM_TRY(read_schedule(node, &o->schedule));
    CM_TRY(cm_json_need_number(node, "weight_decay", &o->weight_decay));
    CM_TRY(cm_json_need_number(node, "clip_norm", &o->clip_norm));
    o->weights_only = decay == 1;
    static const cm_op steps[] = {CM_OP_sgd_step, CM_OP_adam_step, CM_OP_adam_step, CM_OP_muon_step};
    o->step = (cm_call){.op = steps[type], .attr.decoupled = type == 2};
    CM_TRY(read_compute(node, &o->step.attr.compute));
    if (o->step.op != CM_OP_adam_step) return cm_json_need_number(node, "momentum", &o->step.attr.beta1);
    double epsilon;
    CM_TRY(cm_json_need_number(node, "beta1", &o->step.attr.beta1));
    CM_TRY(cm_json_need_number(node, "beta2", &o->step.attr.beta2));
    CM_TRY(cm_json_need_number(node, "epsilon", &epsilon));
    o->step.attr.epsilon = (float)epsilon;
    return CM_OK;
}

static void flatten(cm_tensor *t) { *t = cm_tensor_1d(t->data, CM_F32, (int)cm_tensor_count(t)); }

static cm_status read_parameters(optimizer *o) {
    const cm_json *table;
    CM_TRY(cm_json_need(o->run->inputs, "parameters", CM_JSON_OBJECT, &table));
    for (const cm_json *node = cm_json_first(table); node; node = cm_json_next(node)) {
        if (o->count == PARAMETERS) return cm_fail(CM_ERR_INPUT, "parameters: more than %d", PARAMETERS);
        parameter *p = &o->parameters[o->count++];
        p->name = cm_json_key(node);
        CM_TRY(cm_case_array_tensor(o->run, node, p->name, &p->value));
        p->rows = p->value.dim[0];
        flatten(&p->value);
        CM_TRY(cm_case_like(o->run, &p->value, &p->first));
        CM_TRY(cm_case_like(o->run, &p->value, &p->second));
        CM_TRY(cm_case_like(o->run, &p->value, &p->gradient));
    }
    return CM_OK;
}

static cm_status read_gradients(optimizer *o, const cm_json *table) {
    for (int i = 0; i < o->count; i++) {
        parameter *p = &o->parameters[i];
        cm_case_array array;
        CM_TRY(cm_case_array_read(table, p->name, &array));
        bool fits = array.count == cm_tensor_count(&p->value);
        if (fits) memcpy(p->gradient.data, array.data, array.count * sizeof(float));
        cm_case_array_free(&array);
        if (!fits) return cm_fail(CM_ERR_INPUT, "gradients: %s has another size than the parameter", p->name);
    }
    return CM_OK;
}

/* The norm of all gradients together. */
static cm_status gradient_norm(optimizer *o, double *norm) {
    double sum = 0.0;
    for (int i = 0; i < o->count; i++) {
        float partial[64];
        cm_tensor *x = &o->parameters[i].gradient;
        int blocks = (x->dim[0] + NORM_BLOCK - 1) / NORM_BLOCK;
        if (blocks > 64) return cm_fail(CM_ERR_INPUT, "gradients: %s is too large", o->parameters[i].name);
        cm_call call = {.op = CM_OP_sum_squares, .t = {cm_tensor_1d(partial, CM_F32, blocks), *x}};
        CM_TRY(cm_case_call(o->run, &call));
        for (int block = 0; block < blocks; block++) sum += (double)partial[block];
    }
    *norm = sqrt(sum);
    return CM_OK;
}

static bool is_weight(const char *name) {
    static const char suffix[] = ".weight";
    size_t length = strlen(name), tail = sizeof suffix - 1;
    return length >= tail && strcmp(name + length - tail, suffix) == 0;
}

static cm_tensor as_matrix(const cm_tensor *flat, int rows) {
    return cm_tensor_2d(flat->data, CM_F32, rows, flat->dim[0] / rows);
}

static cm_status update(optimizer *o, const parameter *p) {
    cm_call call = o->step;
    call.attr.weight_decay = o->weights_only && !is_weight(p->name) ? 0.0 : o->weight_decay;
    const bool matrix = call.op == CM_OP_muon_step;
    cm_tensor tensors[] = {p->value, p->first, p->second, p->gradient};
    for (int i = 0, place = 0; i < 4; i++) /* only adam_step has a second moment */
        if (i != 2 || call.op == CM_OP_adam_step)
            call.t[place++] = matrix ? as_matrix(&tensors[i], p->rows) : tensors[i];
    return cm_case_call(o->run, &call);
}

static cm_status compare_parameter(const optimizer *o, int step, const parameter *p) {
    size_t n = cm_tensor_count(&p->value);
    cm_case_report *report = o->run->report;
    CM_TRY(cm_case_check(report, p->value.data, n, "steps/%d/parameters/%s", step, p->name));
    CM_TRY(cm_case_check(report, p->first.data, n, "steps/%d/first_moment/%s", step, p->name));
    if (o->step.op != CM_OP_adam_step) return CM_OK;
    return cm_case_check(report, p->second.data, n, "steps/%d/second_moment/%s", step, p->name);
}

static cm_status optimizer_step(optimizer *o, int step) {
    double norm = 0.0;
    CM_TRY(gradient_norm(o, &norm));
    cm_attr *attr = &o->step.attr;
    attr->learning_rate = cm_schedule_rate(&o->schedule, step);
    attr->gradient_scale = o->clip_norm > 0.0 ? fmin(1.0, o->clip_norm / (norm + 1e-6)) : 1.0;
    attr->correction1 = 1.0 - pow(attr->beta1, step + 1);
    attr->correction2 = 1.0 - pow(attr->beta2, step + 1);
    attr->first = step == 0;
    float rate = (float)attr->learning_rate, size = (float)norm;
    CM_TRY(cm_case_check(o->run->report, &rate, 1, "steps/%d/learning_rate", step));
    CM_TRY(cm_case_check(o->run->report, &size, 1, "steps/%d/gradient_norm", step));
    for (int i = 0; i < o->count; i++) {
        CM_TRY(update(o, &o->parameters[i]));
        CM_TRY(compare_parameter(o, step, &o->parameters[i]));
    }
    return CM_OK;
}

cm_status cm_case_optimizer(cm_case_run *run) {
    optimizer o = {.run = run};
    const cm_json *gradients;
    CM_TRY(read_optimizer(run, &o));
    CM_TRY(read_parameters(&o));
    CM_TRY(cm_json_need(run->inputs, "gradients", CM_JSON_ARRAY, &gradients));
    int step = 0;
    for (const cm_json *node = cm_json_first(gradients); node; node = cm_json_next(node)) {
        CM_TRY(read_gradients(&o, node));
        CM_TRY(optimizer_step(&o, step++));
    }
    return CM_OK;
}
