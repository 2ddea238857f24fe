/* Reference cases of operations: builds the calls of each kind and compares what they give. */
#include <string.h>

#include "cases/backend_run.h"

/* Calls have their tensors in the order of their rows in ops.def. */

static const char *const activation_words[] = {"none", "relu", "gelu_tanh", "elu", "tanh", "sigmoid", "softplus", NULL};

static cm_status read_activation(const cm_case_run *run, cm_activation *out) {
    int choice;
    CM_TRY(cm_case_choice(run->options, "activation", activation_words, &choice));
    *out = (cm_activation)choice;
    return CM_OK;
}

static cm_status read_epsilon(const cm_case_run *run, float *out) {
    double epsilon;
    CM_TRY(cm_json_need_number(run->options, "epsilon", &epsilon));
    *out = (float)epsilon;
    return CM_OK;
}

static cm_status run_both(cm_case_run *run, cm_call *forward, cm_call *backward) {
    CM_TRY(cm_case_call(run, forward));
    return cm_case_call(run, backward);
}

/* ---- layers with an activation after them ---- */

/* *y = act(z), and *dz = dy act'(z) */
static cm_status activate(cm_case_run *run, cm_activation activation, const cm_tensor *z, const cm_tensor *dy,
                          cm_tensor *y, cm_tensor *dz) {
    CM_TRY(cm_case_like(run, z, y));
    CM_TRY(cm_case_like(run, z, dz));
    cm_call forward = {.op = CM_OP_activation, .t = {*y, *z}, .attr.activation = activation};
    cm_call backward = {.op = CM_OP_activation_backward, .t = {*dz, *dy, *z, *y}, .attr.activation = activation};
    return run_both(run, &forward, &backward);
}

/* relu inside the layer gives the bits of relu after it. */
static cm_status check_fused(cm_case_run *run, cm_call *layer, cm_activation activation, const cm_tensor *y) {
    if (activation != CM_ACT_RELU) return CM_OK;
    cm_tensor fused;
    CM_TRY(cm_case_like(run, y, &fused));
    layer->t[0] = fused;
    layer->attr.activation = CM_ACT_RELU;
    CM_TRY(cm_case_call(run, layer));
    bool same = memcmp(fused.data, y->data, cm_tensor_bytes(y)) == 0;
    return same ? CM_OK : cm_case_compare(run, &fused, "y");
}

/* Tensors of a layer with a weight. */
typedef struct layer {
    cm_tensor x, weight, bias, dy, z, y, dz, dx, dweight, dbias;
    cm_activation activation;
} layer;

static cm_status read_layer(cm_case_run *run, layer *l) {
    CM_TRY(read_activation(run, &l->activation));
    CM_TRY(cm_case_input(run, "x", &l->x));
    CM_TRY(cm_case_input(run, "weight", &l->weight));
    CM_TRY(cm_case_optional(run, "bias", &l->bias));
    CM_TRY(cm_case_input(run, "dy", &l->dy));
    CM_TRY(cm_case_like(run, &l->dy, &l->z));
    CM_TRY(cm_case_like(run, &l->x, &l->dx));
    CM_TRY(cm_case_like(run, &l->weight, &l->dweight));
    l->dbias = (cm_tensor){0};
    return l->bias.data ? cm_case_like(run, &l->bias, &l->dbias) : CM_OK;
}

/* dense or conv2d, whose rows begin alike. */
static cm_status run_layer(cm_case_run *run, layer *l, cm_op op, cm_op gradients, const cm_attr *attr) {
    cm_call forward = {.op = op, .t = {l->z, l->x, l->weight, l->bias}, .attr = *attr};
    CM_TRY(cm_case_call(run, &forward));
    CM_TRY(activate(run, l->activation, &l->z, &l->dy, &l->y, &l->dz));
    CM_TRY(check_fused(run, &forward, l->activation, &l->y));
    cm_call backward = {.op = gradients, .t = {l->dx, l->dweight, l->dbias, l->dz, l->x, l->weight}, .attr = *attr};
    CM_TRY(cm_case_call(run, &backward));
    CM_TRY(cm_case_compare(run, &l->y, "y"));
    CM_TRY(cm_case_compare(run, &l->dx, "dx"));
    CM_TRY(cm_case_compare(run, &l->dweight, "dweight"));
    return l->dbias.data ? cm_case_compare(run, &l->dbias, "dbias") : CM_OK;
}

cm_status cm_case_dense(cm_case_run *run) {
    layer l;
    CM_TRY(read_layer(run, &l));
    return run_layer(run, &l, CM_OP_dense, CM_OP_dense_backward, &(cm_attr){.compute = run->compute});
}

/* The padding is k / 2, the layout NHWC: nothing else is known. */
static cm_status check_geometry(const cm_case_run *run, const cm_tensor *weight, int *stride) {
    static const char *const layouts[] = {"x NHWC, weight OHWI", NULL};
    int layout;
    int64_t value;
    CM_TRY(cm_case_choice(run->options, "layout", layouts, &layout));
    CM_TRY(cm_case_constant(run->options, "padding", weight->dim[1] / 2));
    CM_TRY(cm_json_need_int(run->options, "stride", 1, 1024, &value));
    *stride = (int)value;
    return CM_OK;
}

cm_status cm_case_conv2d(cm_case_run *run) {
    layer l;
    int stride;
    CM_TRY(read_layer(run, &l));
    CM_TRY(check_geometry(run, &l.weight, &stride));
    const cm_attr attr = {.compute = run->compute, .stride = stride};
    return run_layer(run, &l, CM_OP_conv2d, CM_OP_conv2d_backward, &attr);
}

/* ---- x, dy -> y, dx ---- */

typedef struct pair {
    cm_tensor x, dy, y, dx;
} pair;

static cm_status read_pair(cm_case_run *run, pair *p) {
    CM_TRY(cm_case_input(run, "x", &p->x));
    CM_TRY(cm_case_input(run, "dy", &p->dy));
    CM_TRY(cm_case_like(run, &p->dy, &p->y));
    return cm_case_like(run, &p->x, &p->dx);
}

static cm_status compare_pair(cm_case_run *run, const pair *p) {
    CM_TRY(cm_case_compare(run, &p->y, "y"));
    return cm_case_compare(run, &p->dx, "dx");
}

static cm_status run_pair(cm_case_run *run, cm_call *forward, cm_call *backward, const pair *p) {
    CM_TRY(run_both(run, forward, backward));
    return compare_pair(run, p);
}

cm_status cm_case_activation(cm_case_run *run) {
    pair p;
    cm_activation activation;
    CM_TRY(read_activation(run, &activation));
    CM_TRY(cm_case_input(run, "x", &p.x));
    CM_TRY(cm_case_input(run, "dy", &p.dy));
    CM_TRY(activate(run, activation, &p.x, &p.dy, &p.y, &p.dx));
    return compare_pair(run, &p);
}

cm_status cm_case_avg_pool(cm_case_run *run) {
    pair p;
    CM_TRY(cm_case_constant(run->options, "kernel", 3));
    CM_TRY(cm_case_constant(run->options, "stride", 2));
    CM_TRY(cm_case_constant(run->options, "padding", 1));
    CM_TRY(read_pair(run, &p));
    cm_call forward = {.op = CM_OP_avg_pool, .t = {p.y, p.x}},
            backward = {.op = CM_OP_avg_pool_backward, .t = {p.dx, p.dy}};
    return run_pair(run, &forward, &backward, &p);
}

cm_status cm_case_global_mean(cm_case_run *run) {
    pair p;
    CM_TRY(read_pair(run, &p));
    cm_call forward = {.op = CM_OP_global_mean, .t = {p.y, p.x}},
            backward = {.op = CM_OP_global_mean_backward, .t = {p.dx, p.dy}};
    return run_pair(run, &forward, &backward, &p);
}

cm_status cm_case_minmax(cm_case_run *run) {
    static const char *const over[] = {"sample", "channel", NULL};
    pair p;
    int choice;
    CM_TRY(cm_case_choice(run->options, "over", over, &choice));
    CM_TRY(read_pair(run, &p));
    cm_tensor saved;
    int groups = choice ? cm_tensor_last(&p.x) : 1, dim[2] = {p.x.dim[0], 3 * groups};
    CM_TRY(cm_case_output(run, 2, dim, &saved));
    const cm_attr attr = {.per_channel = choice == 1};
    cm_call forward = {.op = CM_OP_minmax, .t = {p.y, saved, p.x}, .attr = attr};
    cm_call backward = {.op = CM_OP_minmax_backward, .t = {p.dx, p.dy, p.y, saved}, .attr = attr};
    return run_pair(run, &forward, &backward, &p);
}

cm_status cm_case_simnorm(cm_case_run *run) {
    pair p;
    int64_t group;
    CM_TRY(cm_json_need_int(run->options, "group", 1, 1 << 20, &group));
    CM_TRY(read_pair(run, &p));
    cm_call forward = {.op = CM_OP_simnorm, .t = {p.y, p.x}, .attr.group = (int)group};
    cm_call backward = {.op = CM_OP_simnorm_backward, .t = {p.dx, p.dy, p.y}, .attr.group = (int)group};
    return run_pair(run, &forward, &backward, &p);
}

/* A vector is one row. */
static cm_tensor as_rows(cm_tensor t) { return t.ndim == 1 ? cm_tensor_2d(t.data, t.dtype, 1, t.dim[0]) : t; }

/* softmax, or log_softmax, which has nothing illegal. */
static cm_status run_softmax(cm_case_run *run, cm_op op, cm_op gradient, cm_tensor legal) {
    pair p;
    CM_TRY(read_pair(run, &p));
    cm_call forward = {.op = op, .t = {as_rows(p.y), as_rows(p.x), as_rows(legal)}};
    cm_call backward = {.op = gradient, .t = {as_rows(p.dx), as_rows(p.dy), as_rows(p.y)}};
    return run_pair(run, &forward, &backward, &p);
}

cm_status cm_case_softmax(cm_case_run *run) {
    cm_tensor legal;
    CM_TRY(cm_case_optional(run, "legal", &legal));
    return run_softmax(run, CM_OP_softmax, CM_OP_softmax_backward, legal);
}

cm_status cm_case_log_softmax(cm_case_run *run) {
    return run_softmax(run, CM_OP_log_softmax, CM_OP_log_softmax_backward, (cm_tensor){0});
}

/* ---- normalisations with parameters ---- */

static cm_tensor flat(const cm_tensor *t) { return cm_tensor_1d(t->data, CM_F32, (int)cm_tensor_count(t)); }

/* The tensor as [rows, columns]. */
static cm_tensor as_matrix(const cm_tensor *t, int columns) {
    return cm_tensor_2d(t->data, t->dtype, (int)(cm_tensor_count(t) / (size_t)columns), columns);
}

/* scale and shift have the shape of the last `axes` dimensions of x. */
static cm_status check_axes(const cm_tensor *x, const cm_tensor *scale, int64_t axes) {
    bool same = scale->ndim == axes && axes <= x->ndim;
    for (int i = 0; same && i < axes; i++) same = scale->dim[i] == x->dim[x->ndim - axes + i];
    return same ? CM_OK : cm_fail(CM_ERR_INPUT, "scale: must have the shape of the last %d axes of x", (int)axes);
}

cm_status cm_case_layer_norm(cm_case_run *run) {
    pair p;
    cm_tensor scale, shift, saved, dscale, dshift;
    int64_t axes;
    float epsilon;
    CM_TRY(read_epsilon(run, &epsilon));
    CM_TRY(cm_json_need_int(run->options, "axes", 1, CM_MAX_DIMS, &axes));
    CM_TRY(read_pair(run, &p));
    CM_TRY(cm_case_input(run, "scale", &scale));
    CM_TRY(cm_case_input(run, "shift", &shift));
    CM_TRY(check_axes(&p.x, &scale, axes));
    CM_TRY(check_axes(&p.x, &shift, axes));
    if (!cm_tensor_same_shape(&p.x, &p.dy)) return cm_fail(CM_ERR_INPUT, "dy: must have the shape of x");
    int n = (int)cm_tensor_count(&scale);
    cm_tensor x = as_matrix(&p.x, n), y = as_matrix(&p.y, n);
    CM_TRY(cm_case_output(run, 2, (int[]){x.dim[0], 2}, &saved));
    CM_TRY(cm_case_like(run, &scale, &dscale));
    CM_TRY(cm_case_like(run, &shift, &dshift));
    cm_tensor dx = as_matrix(&p.dx, n), dy = as_matrix(&p.dy, n);
    cm_call forward = {.op = CM_OP_layer_norm, .t = {y, saved, x, flat(&scale), flat(&shift)}, .attr.epsilon = epsilon};
    cm_call backward = {.op = CM_OP_layer_norm_backward,
                        .t = {dx, flat(&dscale), flat(&dshift), dy, x, y, saved, flat(&scale), flat(&shift)},
                        .attr.epsilon = epsilon};
    CM_TRY(run_pair(run, &forward, &backward, &p));
    CM_TRY(cm_case_compare(run, &dscale, "dscale"));
    return cm_case_compare(run, &dshift, "dshift");
}

/* Tensors of batch_norm. */
typedef struct batch_norm {
    pair p;
    cm_tensor scale, shift, mean, variance, dscale, dshift;
    float epsilon, momentum;
} batch_norm;

static cm_status batch_norm_training(cm_case_run *run, const batch_norm *n) {
    cm_tensor saved, stats;
    int channels = cm_tensor_last(&n->p.x), dim[2] = {2, channels};
    CM_TRY(cm_case_output(run, 2, dim, &saved));
    CM_TRY(cm_case_output(run, 2, dim, &stats));
    const cm_attr attr = {.epsilon = n->epsilon};
    const cm_tensor row = cm_tensor_2d(stats.data, CM_F32, 1, 2 * channels);
    cm_call forward = {.op = CM_OP_batch_norm, .t = {n->p.y, saved, stats, n->p.x, n->scale, n->shift}, .attr = attr};
    cm_call update = {.op = CM_OP_batch_norm_update, .t = {n->mean, n->variance, row}, .attr.scale = n->momentum};
    cm_call backward = {.op = CM_OP_batch_norm_backward,
                        .t = {n->p.dx, n->dscale, n->dshift, {0}, n->p.dy, n->p.x, n->p.y, saved, n->scale},
                        .attr = attr};
    CM_TRY(cm_case_call(run, &forward));
    CM_TRY(cm_case_call(run, &update));
    return cm_case_call(run, &backward);
}

static cm_status batch_norm_inference(cm_case_run *run, const batch_norm *n) {
    const cm_attr attr = {.epsilon = n->epsilon};
    cm_call forward = {.op = CM_OP_batch_norm_inference,
                       .t = {n->p.y, n->p.x, n->scale, n->shift, n->mean, n->variance},
                       .attr = attr};
    cm_call backward = {
        .op = CM_OP_batch_norm_inference_backward,
        .t = {n->p.dx, n->dscale, n->dshift, {0}, n->p.dy, n->p.x, n->p.y, n->scale, n->mean, n->variance},
        .attr = attr};
    return run_both(run, &forward, &backward);
}

cm_status cm_case_batch_norm(cm_case_run *run) {
    batch_norm n;
    bool training;
    double momentum;
    CM_TRY(cm_case_flag(run->options, "training", &training));
    CM_TRY(read_epsilon(run, &n.epsilon));
    CM_TRY(cm_json_need_number(run->options, "momentum", &momentum));
    n.momentum = (float)momentum;
    CM_TRY(read_pair(run, &n.p));
    CM_TRY(cm_case_input(run, "scale", &n.scale));
    CM_TRY(cm_case_input(run, "shift", &n.shift));
    CM_TRY(cm_case_input(run, "running_mean", &n.mean));
    CM_TRY(cm_case_input(run, "running_var", &n.variance));
    CM_TRY(cm_case_like(run, &n.scale, &n.dscale));
    CM_TRY(cm_case_like(run, &n.shift, &n.dshift));
    CM_TRY(training ? batch_norm_training(run, &n) : batch_norm_inference(run, &n));
    CM_TRY(compare_pair(run, &n.p));
    CM_TRY(cm_case_compare(run, &n.dscale, "dscale"));
    CM_TRY(cm_case_compare(run, &n.dshift, "dshift"));
    CM_TRY(cm_case_compare(run, &n.mean, "running_mean_after"));
    return cm_case_compare(run, &n.variance, "running_var_after");
}

/* ---- actions ---- */

cm_status cm_case_action_encoding(cm_case_run *run) {
    static const char *const encodings[] = {"onehot", "scaled", "board", NULL};
    cm_tensor state, action, dy, y, dstate;
    int encoding;
    int64_t actions;
    CM_TRY(cm_case_choice(run->options, "encoding", encodings, &encoding));
    CM_TRY(cm_json_need_int(run->options, "actions", 1, 1 << 20, &actions));
    CM_TRY(cm_case_input(run, "state", &state));
    CM_TRY(cm_case_integers(run, "action", &action));
    CM_TRY(cm_case_input(run, "dy", &dy));
    CM_TRY(cm_case_like(run, &dy, &y));
    CM_TRY(cm_case_like(run, &state, &dstate));
    cm_attr attr = {.encoding = (cm_encoding)encoding, .actions = (int)actions};
    cm_call forward = {.op = CM_OP_action_encoding, .t = {y, state, action}, .attr = attr};
    cm_call backward = {.op = CM_OP_action_encoding_backward, .t = {dstate, dy}, .attr = attr};
    CM_TRY(run_both(run, &forward, &backward));
    CM_TRY(cm_case_compare(run, &y, "y"));
    return cm_case_compare(run, &dstate, "dstate");
}

cm_status cm_case_embedding_add(cm_case_run *run) {
    cm_tensor state, table, action, dy, y, dstate, dtable;
    CM_TRY(cm_case_input(run, "state", &state));
    CM_TRY(cm_case_input(run, "table", &table));
    CM_TRY(cm_case_integers(run, "action", &action));
    CM_TRY(cm_case_input(run, "dy", &dy));
    CM_TRY(cm_case_like(run, &dy, &y));
    CM_TRY(cm_case_like(run, &state, &dstate));
    CM_TRY(cm_case_like(run, &table, &dtable));
    cm_call forward = {.op = CM_OP_embedding_add, .t = {y, state, table, action}};
    cm_call backward = {.op = CM_OP_embedding_add_backward, .t = {dstate, dtable, dy, action}};
    CM_TRY(run_both(run, &forward, &backward));
    CM_TRY(cm_case_compare(run, &y, "y"));
    CM_TRY(cm_case_compare(run, &dstate, "dstate"));
    return cm_case_compare(run, &dtable, "dtable");
}

/* ---- lstm ---- */

/* Inputs x h0 c0 weight_ih weight_hh bias_ih bias_hh stand in this order in the row of lstm; their gradients in that of
 * lstm_backward. */
enum { LSTM_INPUTS = 7 };
static const char *const lstm_inputs[LSTM_INPUTS] = {"x", "h0", "c0", "weight_ih", "weight_hh", "bias_ih", "bias_hh"};
static const char *const lstm_gradients[LSTM_INPUTS] = {"dx",         "dh0",      "dc0",     "dweight_ih",
                                                        "dweight_hh", "dbias_ih", "dbias_hh"};

cm_status cm_case_lstm(cm_case_run *run) {
    cm_tensor y, dy, saved;
    int64_t horizon;
    CM_TRY(cm_json_need_int(run->options, "horizon", 0, 1 << 20, &horizon));
    cm_attr attr = {.compute = run->compute, .horizon = (int)horizon};
    cm_call forward = {.op = CM_OP_lstm, .attr = attr}, backward = {.op = CM_OP_lstm_backward, .attr = attr};
    cm_tensor *inputs = &forward.t[CM_T_lstm_x], *gradients = backward.t;
    for (int i = 0; i < LSTM_INPUTS; i++) {
        CM_TRY(cm_case_input(run, lstm_inputs[i], &inputs[i]));
        CM_TRY(cm_case_like(run, &inputs[i], &gradients[i]));
    }
    CM_TRY(cm_case_input(run, "dy", &dy));
    CM_TRY(cm_case_like(run, &dy, &y));
    CM_TRY(cm_case_output(run, 3, (int[]){dy.dim[0], dy.dim[1], 6 * dy.dim[2]}, &saved));
    forward.t[CM_T_lstm_y] = y;
    forward.t[CM_T_lstm_saved] = saved;
    const cm_tensor read[] = {dy, inputs[0], inputs[1], inputs[2], y, saved, inputs[3], inputs[4]};
    memcpy(&backward.t[CM_T_lstm_backward_dy], read, sizeof read);
    CM_TRY(run_both(run, &forward, &backward));
    CM_TRY(cm_case_compare(run, &y, "y"));
    for (int i = 0; i < LSTM_INPUTS; i++) CM_TRY(cm_case_compare(run, &gradients[i], lstm_gradients[i]));
    return CM_OK;
}
