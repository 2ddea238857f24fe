/* Reference cases of operations: builds the calls of each kind and compares what they give. */
#include <string.h>

#include "cases/backend_run.h"

/* A call's tensor by its name in ops.def. */
#define T(call, op, name) ((call).t[CM_T_##op##_##name])

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

/* ---- layers with an activation behind them ---- */

/* *y = act(z), and *dz = dy act'(z) */
static cm_status activate(cm_case_run *run, cm_activation activation, const cm_tensor *z, const cm_tensor *dy,
                          cm_tensor *y, cm_tensor *dz) {
    CM_TRY(cm_case_like(run, z, y));
    CM_TRY(cm_case_like(run, z, dz));
    cm_call forward = {.op = CM_OP_activation, .attr.activation = activation};
    T(forward, activation, y) = *y;
    T(forward, activation, x) = *z;
    CM_TRY(cm_case_call(run, &forward));
    cm_call backward = {.op = CM_OP_activation_backward, .attr.activation = activation};
    T(backward, activation_backward, dx) = *dz;
    T(backward, activation_backward, dy) = *dy;
    T(backward, activation_backward, x) = *z;
    T(backward, activation_backward, y) = *y;
    return cm_case_call(run, &backward);
}

/* relu inside the layer gives the bits of relu behind it. */
static cm_status check_fused(cm_case_run *run, cm_call *layer, int y_index, cm_activation activation,
                             const cm_tensor *y) {
    if (activation != CM_ACT_RELU) return CM_OK;
    cm_tensor fused;
    CM_TRY(cm_case_like(run, y, &fused));
    layer->t[y_index] = fused;
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

static cm_status compare_layer(cm_case_run *run, const layer *l) {
    CM_TRY(cm_case_compare(run, &l->y, "y"));
    CM_TRY(cm_case_compare(run, &l->dx, "dx"));
    CM_TRY(cm_case_compare(run, &l->dweight, "dweight"));
    return l->dbias.data ? cm_case_compare(run, &l->dbias, "dbias") : CM_OK;
}

cm_status cm_case_dense(cm_case_run *run) {
    layer l;
    CM_TRY(read_layer(run, &l));
    cm_call forward = {.op = CM_OP_dense, .attr.compute = run->compute};
    T(forward, dense, y) = l.z;
    T(forward, dense, x) = l.x;
    T(forward, dense, weight) = l.weight;
    T(forward, dense, bias) = l.bias;
    CM_TRY(cm_case_call(run, &forward));
    CM_TRY(activate(run, l.activation, &l.z, &l.dy, &l.y, &l.dz));
    CM_TRY(check_fused(run, &forward, CM_T_dense_y, l.activation, &l.y));
    cm_call backward = {.op = CM_OP_dense_backward, .attr.compute = run->compute};
    T(backward, dense_backward, dx) = l.dx;
    T(backward, dense_backward, dweight) = l.dweight;
    T(backward, dense_backward, dbias) = l.dbias;
    T(backward, dense_backward, dy) = l.dz;
    T(backward, dense_backward, x) = l.x;
    T(backward, dense_backward, weight) = l.weight;
    CM_TRY(cm_case_call(run, &backward));
    return compare_layer(run, &l);
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
    cm_call forward = {.op = CM_OP_conv2d, .attr = {.compute = run->compute, .stride = stride}};
    T(forward, conv2d, y) = l.z;
    T(forward, conv2d, x) = l.x;
    T(forward, conv2d, weight) = l.weight;
    T(forward, conv2d, bias) = l.bias;
    CM_TRY(cm_case_call(run, &forward));
    CM_TRY(activate(run, l.activation, &l.z, &l.dy, &l.y, &l.dz));
    CM_TRY(check_fused(run, &forward, CM_T_conv2d_y, l.activation, &l.y));
    cm_call backward = {.op = CM_OP_conv2d_backward, .attr = {.compute = run->compute, .stride = stride}};
    T(backward, conv2d_backward, dx) = l.dx;
    T(backward, conv2d_backward, dweight) = l.dweight;
    T(backward, conv2d_backward, dbias) = l.dbias;
    T(backward, conv2d_backward, dy) = l.dz;
    T(backward, conv2d_backward, x) = l.x;
    T(backward, conv2d_backward, weight) = l.weight;
    CM_TRY(cm_case_call(run, &backward));
    return compare_layer(run, &l);
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
    CM_TRY(cm_case_call(run, forward));
    CM_TRY(cm_case_call(run, backward));
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
    cm_call forward = {.op = CM_OP_avg_pool}, backward = {.op = CM_OP_avg_pool_backward};
    T(forward, avg_pool, y) = p.y;
    T(forward, avg_pool, x) = p.x;
    T(backward, avg_pool_backward, dx) = p.dx;
    T(backward, avg_pool_backward, dy) = p.dy;
    return run_pair(run, &forward, &backward, &p);
}

cm_status cm_case_global_mean(cm_case_run *run) {
    pair p;
    CM_TRY(read_pair(run, &p));
    cm_call forward = {.op = CM_OP_global_mean}, backward = {.op = CM_OP_global_mean_backward};
    T(forward, global_mean, y) = p.y;
    T(forward, global_mean, x) = p.x;
    T(backward, global_mean_backward, dx) = p.dx;
    T(backward, global_mean_backward, dy) = p.dy;
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
    cm_call forward = {.op = CM_OP_minmax, .attr.per_channel = choice == 1};
    cm_call backward = {.op = CM_OP_minmax_backward, .attr.per_channel = choice == 1};
    T(forward, minmax, y) = T(backward, minmax_backward, y) = p.y;
    T(forward, minmax, saved) = T(backward, minmax_backward, saved) = saved;
    T(forward, minmax, x) = p.x;
    T(backward, minmax_backward, dx) = p.dx;
    T(backward, minmax_backward, dy) = p.dy;
    return run_pair(run, &forward, &backward, &p);
}

cm_status cm_case_simnorm(cm_case_run *run) {
    pair p;
    int64_t group;
    CM_TRY(cm_json_need_int(run->options, "group", 1, 1 << 20, &group));
    CM_TRY(read_pair(run, &p));
    cm_call forward = {.op = CM_OP_simnorm, .attr.group = (int)group};
    cm_call backward = {.op = CM_OP_simnorm_backward, .attr.group = (int)group};
    T(forward, simnorm, y) = T(backward, simnorm_backward, y) = p.y;
    T(forward, simnorm, x) = p.x;
    T(backward, simnorm_backward, dx) = p.dx;
    T(backward, simnorm_backward, dy) = p.dy;
    return run_pair(run, &forward, &backward, &p);
}

/* A vector is one row. */
static cm_tensor as_rows(cm_tensor t) { return t.ndim == 1 ? cm_tensor_2d(t.data, t.dtype, 1, t.dim[0]) : t; }

cm_status cm_case_softmax(cm_case_run *run) {
    pair p;
    cm_tensor legal;
    CM_TRY(read_pair(run, &p));
    CM_TRY(cm_case_optional(run, "legal", &legal));
    cm_call forward = {.op = CM_OP_softmax}, backward = {.op = CM_OP_softmax_backward};
    T(forward, softmax, y) = T(backward, softmax_backward, y) = as_rows(p.y);
    T(forward, softmax, x) = as_rows(p.x);
    T(forward, softmax, legal) = as_rows(legal);
    T(backward, softmax_backward, dx) = as_rows(p.dx);
    T(backward, softmax_backward, dy) = as_rows(p.dy);
    return run_pair(run, &forward, &backward, &p);
}

cm_status cm_case_log_softmax(cm_case_run *run) {
    pair p;
    CM_TRY(read_pair(run, &p));
    cm_call forward = {.op = CM_OP_log_softmax}, backward = {.op = CM_OP_log_softmax_backward};
    T(forward, log_softmax, y) = T(backward, log_softmax_backward, y) = as_rows(p.y);
    T(forward, log_softmax, x) = as_rows(p.x);
    T(backward, log_softmax_backward, dx) = as_rows(p.dx);
    T(backward, log_softmax_backward, dy) = as_rows(p.dy);
    return run_pair(run, &forward, &backward, &p);
}

/* ---- normalisations with parameters ---- */

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
    cm_call forward = {.op = CM_OP_layer_norm, .attr.epsilon = epsilon};
    cm_call backward = {.op = CM_OP_layer_norm_backward, .attr.epsilon = epsilon};
    T(forward, layer_norm, y) = T(backward, layer_norm_backward, y) = y;
    T(forward, layer_norm, saved) = T(backward, layer_norm_backward, saved) = saved;
    T(forward, layer_norm, x) = T(backward, layer_norm_backward, x) = x;
    T(forward, layer_norm, scale) = T(backward, layer_norm_backward, scale) = cm_tensor_1d(scale.data, CM_F32, n);
    T(forward, layer_norm, shift) = T(backward, layer_norm_backward, shift) = cm_tensor_1d(shift.data, CM_F32, n);
    T(backward, layer_norm_backward, dx) = as_matrix(&p.dx, n);
    T(backward, layer_norm_backward, dscale) = cm_tensor_1d(dscale.data, CM_F32, n);
    T(backward, layer_norm_backward, dshift) = cm_tensor_1d(dshift.data, CM_F32, n);
    T(backward, layer_norm_backward, dy) = as_matrix(&p.dy, n);
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
    cm_call forward = {.op = CM_OP_batch_norm, .attr.epsilon = n->epsilon};
    cm_call backward = {.op = CM_OP_batch_norm_backward, .attr.epsilon = n->epsilon};
    cm_call update = {.op = CM_OP_batch_norm_update, .attr.scale = n->momentum};
    T(forward, batch_norm, y) = T(backward, batch_norm_backward, y) = n->p.y;
    T(forward, batch_norm, saved) = T(backward, batch_norm_backward, saved) = saved;
    T(forward, batch_norm, stats) = stats;
    T(forward, batch_norm, x) = T(backward, batch_norm_backward, x) = n->p.x;
    T(forward, batch_norm, scale) = T(backward, batch_norm_backward, scale) = n->scale;
    T(forward, batch_norm, shift) = n->shift;
    T(backward, batch_norm_backward, dx) = n->p.dx;
    T(backward, batch_norm_backward, dscale) = n->dscale;
    T(backward, batch_norm_backward, dshift) = n->dshift;
    T(backward, batch_norm_backward, dy) = n->p.dy;
    T(update, batch_norm_update, mean) = n->mean;
    T(update, batch_norm_update, variance) = n->variance;
    T(update, batch_norm_update, stats) = cm_tensor_2d(stats.data, CM_F32, 1, 2 * channels);
    CM_TRY(cm_case_call(run, &forward));
    CM_TRY(cm_case_call(run, &update));
    return cm_case_call(run, &backward);
}

static cm_status batch_norm_inference(cm_case_run *run, const batch_norm *n) {
    cm_call forward = {.op = CM_OP_batch_norm_inference, .attr.epsilon = n->epsilon};
    cm_call backward = {.op = CM_OP_batch_norm_inference_backward, .attr.epsilon = n->epsilon};
    T(forward, batch_norm_inference, y) = T(backward, batch_norm_inference_backward, y) = n->p.y;
    T(forward, batch_norm_inference, x) = T(backward, batch_norm_inference_backward, x) = n->p.x;
    T(forward, batch_norm_inference, scale) = T(backward, batch_norm_inference_backward, scale) = n->scale;
    T(forward, batch_norm_inference, shift) = n->shift;
    T(forward, batch_norm_inference, mean) = T(backward, batch_norm_inference_backward, mean) = n->mean;
    T(forward, batch_norm_inference, variance) = T(backward, batch_norm_inference_backward, variance) = n->variance;
    T(backward, batch_norm_inference_backward, dx) = n->p.dx;
    T(backward, batch_norm_inference_backward, dscale) = n->dscale;
    T(backward, batch_norm_inference_backward, dshift) = n->dshift;
    T(backward, batch_norm_inference_backward, dy) = n->p.dy;
    CM_TRY(cm_case_call(run, &forward));
    return cm_case_call(run, &backward);
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
    cm_call forward = {.op = CM_OP_action_encoding, .attr = attr};
    cm_call backward = {.op = CM_OP_action_encoding_backward, .attr = attr};
    T(forward, action_encoding, y) = y;
    T(forward, action_encoding, x) = state;
    T(forward, action_encoding, action) = action;
    T(backward, action_encoding_backward, dx) = dstate;
    T(backward, action_encoding_backward, dy) = dy;
    CM_TRY(cm_case_call(run, &forward));
    CM_TRY(cm_case_call(run, &backward));
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
    cm_call forward = {.op = CM_OP_embedding_add}, backward = {.op = CM_OP_embedding_add_backward};
    T(forward, embedding_add, y) = y;
    T(forward, embedding_add, x) = state;
    T(forward, embedding_add, table) = table;
    T(forward, embedding_add, action) = T(backward, embedding_add_backward, action) = action;
    T(backward, embedding_add_backward, dx) = dstate;
    T(backward, embedding_add_backward, dtable) = dtable;
    T(backward, embedding_add_backward, dy) = dy;
    CM_TRY(cm_case_call(run, &forward));
    CM_TRY(cm_case_call(run, &backward));
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
    cm_tensor *inputs = &T(forward, lstm, x), *gradients = &T(backward, lstm_backward, dx);
    for (int i = 0; i < LSTM_INPUTS; i++) {
        CM_TRY(cm_case_input(run, lstm_inputs[i], &inputs[i]));
        CM_TRY(cm_case_like(run, &inputs[i], &gradients[i]));
    }
    CM_TRY(cm_case_input(run, "dy", &dy));
    CM_TRY(cm_case_like(run, &dy, &y));
    CM_TRY(cm_case_output(run, 3, (int[]){dy.dim[0], dy.dim[1], 6 * dy.dim[2]}, &saved));
    T(forward, lstm, y) = T(backward, lstm_backward, y) = y;
    T(forward, lstm, saved) = T(backward, lstm_backward, saved) = saved;
    T(backward, lstm_backward, dy) = dy;
    T(backward, lstm_backward, x) = T(forward, lstm, x);
    T(backward, lstm_backward, h0) = T(forward, lstm, h0);
    T(backward, lstm_backward, c0) = T(forward, lstm, c0);
    T(backward, lstm_backward, weight_ih) = T(forward, lstm, weight_ih);
    T(backward, lstm_backward, weight_hh) = T(forward, lstm, weight_hh);
    CM_TRY(cm_case_call(run, &forward));
    CM_TRY(cm_case_call(run, &backward));
    CM_TRY(cm_case_compare(run, &y, "y"));
    for (int i = 0; i < LSTM_INPUTS; i++) CM_TRY(cm_case_compare(run, &gradients[i], lstm_gradients[i]));
    return CM_OK;
}
