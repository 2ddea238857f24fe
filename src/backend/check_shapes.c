/* Shapes of calls: which sizes belong together.
 *
 * One line per operation, every tensor of its row: name[dimensions]. A dimension is an expression of numbers and
 * letters with * (times), / (divided, rounded up) and +; a letter takes the first size that stands for it, reading from
 * the left.
 *
 *     E      columns of the action encoding
 *     G      attr.groups (0: 1)
 *     S      attr.support.size
 *     g      groups of minmax
 *     s      attr.stride
 *     *      all dimensions but the last, equal in all tensors; the first of them is B
 *     ~N     the product of all trailing dimensions
 *     [any]  any shape
 *     [=x]   the shape of x
 *
 * A '+' behind the bracket: the tensor may be accumulated into.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/check_internal.h"

static const char *const shapes[CM_OP_COUNT] = {
    [CM_OP_dense] = "x[B,i] weight[o,i+E] bias[o] action[B] y[B,o]+ narrow_x[=x]",
    [CM_OP_dense_backward] = "dy[B,o] x[B,i] weight[o,i+E] action[B] dx[B,i]+ dweight[o,i+E]+ dbias[o]+ narrow_dy[=dy]",
    [CM_OP_conv2d] = "x[B,H,W,C] weight[O,k,k,C] bias[O] y[B,H/s,W/s,O]+",
    [CM_OP_conv2d_backward] = "x[B,H,W,C] weight[O,k,k,C] dy[B,H/s,W/s,O] dx[=x]+ dweight[=weight]+ dbias[O]+",
    [CM_OP_conv2d_norm] =
        "x[B,H,W,C] weight[O,k,k,C] scale[O] shift[O] mean[O] variance[O] y[B,H/s,W/s,O] residual[=y]",
    [CM_OP_activation] = "x[any] y[=x] narrow[=y]",
    [CM_OP_activation_backward] = "y[any] dy[=y] x[=y] dx[=y]+ narrow[=dx]",
    [CM_OP_add] = "a[any] b[=a] y[=a] narrow[=y]",
    [CM_OP_scale_add] = "x[any] y[=x]+ times[m] narrow[=y]",
    [CM_OP_layer_norm] = "x[R,~N] scale[N] shift[N] y[=x] saved[R,2*G] narrow[=y]",
    [CM_OP_layer_norm_backward] =
        "x[R,~N] dy[=x] y[=x] saved[R,2*G] scale[N] shift[N] dx[=x]+ dscale[N]+ dshift[N]+ narrow[=dx]",
    [CM_OP_batch_norm] = "x[*,C] scale[C] shift[C] residual[=x] y[=x] saved[2,C] stats[2,C]",
    [CM_OP_batch_norm_backward] =
        "x[*,C] dy[=x] y[=x] saved[2,C] scale[C] dx[=x]+ dscale[C]+ dshift[C]+ dresidual[=x]+",
    [CM_OP_batch_norm_inference] = "x[*,C] scale[C] shift[C] mean[C] variance[C] residual[=x] y[=x]",
    [CM_OP_batch_norm_inference_backward] =
        "x[*,C] dy[=x] y[=x] scale[C] mean[C] variance[C] dx[=x]+ dscale[C]+ dshift[C]+ dresidual[=x]+",
    [CM_OP_batch_norm_update] = "mean[C] variance[C] stats[n,2*C] factor[2]",
    [CM_OP_minmax] = "x[B,~N] y[=x] saved[B,3*g] narrow[=y] narrow_x[=x]",
    [CM_OP_minmax_backward] = "y[B,~N] dy[=y] saved[B,3*g] dx[=y]+ narrow[=dx]",
    [CM_OP_simnorm] = "x[*,n] y[=x]",
    [CM_OP_simnorm_backward] = "y[*,n] dy[=y] dx[=y]+",
    [CM_OP_avg_pool] = "x[B,H,W,C] y[B,H/2,W/2,C]",
    [CM_OP_avg_pool_backward] = "dx[B,H,W,C]+ dy[B,H/2,W/2,C]",
    [CM_OP_global_mean] = "x[B,H,W,C] y[B,C]",
    [CM_OP_global_mean_backward] = "dx[B,H,W,C]+ dy[B,C]",
    [CM_OP_action_encoding] = "x[*,C] action[B] y[*,C+E]",
    [CM_OP_action_encoding_backward] = "dx[*,C]+ dy[*,C+E]",
    [CM_OP_embedding_add] = "x[B,H] table[A,H] action[B] y[=x]",
    [CM_OP_embedding_add_backward] = "dy[B,H] action[B] dx[=dy]+ dtable[A,H]+",
    [CM_OP_gather_rows] = "x[n,~N] rows[m] y[m,~N]",
    [CM_OP_scatter_rows] = "x[m,~N] rows[m] y[n,~N]",
    [CM_OP_bootstrap] = "target[m] partial[m] coefficient[m] value[n,1] rows[m]",
    [CM_OP_one_hot] = "x[*,n] y[=x]",
    [CM_OP_softmax] = "x[*,n] legal[=x] y[=x]",
    [CM_OP_softmax_backward] = "y[*,n] dy[=y] dx[=y]+",
    [CM_OP_log_softmax] = "x[*,n] y[=x]",
    [CM_OP_log_softmax_backward] = "y[*,n] dy[=y] dx[=y]+",
    [CM_OP_value_transform] = "x[any] y[=x]",
    [CM_OP_two_hot] = "value[N] y[N,S]",
    [CM_OP_support_decode] = "logits[B,S] value[B]",
    [CM_OP_categorical_loss] =
        "logits[B,S] target[B] coefficient[B] loss[B] dlogits[=logits]+ decoded[B] narrow[=dlogits]",
    [CM_OP_policy_loss] = "logits[B,A] target[=logits] coefficient[B] legal[=logits] loss[B] entropy[B] "
                          "dlogits[=logits]+ narrow[=dlogits]",
    [CM_OP_scalar_loss] = "prediction[B,1] target[B] coefficient[B] loss[B] dprediction[B,1]+ narrow[=dprediction]",
    [CM_OP_square_loss] = "x[B,D] y[=x] coefficient[B] loss[B] dx[=x]+",
    [CM_OP_consistency_loss] = "x[B,D] y[=x] coefficient[B] loss[B] dx[=x]+",
    [CM_OP_lstm] = "x[T,B,i] h0[B,H] c0[B,H] weight_ih[4*H,i] weight_hh[4*H,H] bias_ih[4*H] bias_hh[4*H] y[T,B,H] "
                   "saved[T,B,6*H]",
    [CM_OP_lstm_backward] =
        "x[T,B,i] h0[B,H] c0[B,H] weight_ih[4*H,i] weight_hh[4*H,H] y[T,B,H] dy[=y] saved[T,B,6*H] dx[=x]+ "
        "dh0[=h0]+ dc0[=c0]+ dweight_ih[=weight_ih]+ dweight_hh[=weight_hh]+ dbias_ih[4*H]+ dbias_hh[4*H]+",
    [CM_OP_prefix_step] = "prefix[B] h[B,H] c[B,H] before[B,2] reward[B] memory[B,2*H+2]",
    [CM_OP_sample_actions] = "p[B,P] seed[B,2] logits[B,K] memory[B,K+2]",
    [CM_OP_sampled_action] = "action[B] choice[B] seed[B,2] memory[B,M]",
    [CM_OP_action_numbers] = "action[B] y[B,P]",
    [CM_OP_add_into] = "y[n] x[n]",
    [CM_OP_sum_squares] = "x[n] partial[n/4096]",
    [CM_OP_clip] = "factor[2] scaling[6] partial[n] check[m]",
    [CM_OP_adam_step] = "parameter[n] first[n] second[n] gradient[n] factor[2] scaling[6]",
    [CM_OP_sgd_step] = "parameter[n] momentum[n] gradient[n] factor[2]",
    [CM_OP_muon_step] = "parameter[m,n] momentum[m,n] gradient[m,n] factor[2]",
    [CM_OP_lerp] = "y[n] x[n] factor[2]",
};

const char *cm_op_shapes(cm_op op) { return shapes[op] ? shapes[op] : ""; }

/* The text behind "name[" in the operation's line, NULL if the tensor is not there. */
static const char *find_shape(cm_op op, const char *name) {
    size_t length = strlen(name);
    for (const char *word = cm_op_shapes(op); *word; word += strcspn(word, " "), word += strspn(word, " "))
        if (strncmp(word, name, length) == 0 && word[length] == '[') return word + length + 1;
    return NULL;
}

static int find_tensor(cm_op op, const char *name, size_t length) {
    char text[CM_OP_NAME_BYTES];
    for (int i = 0; i < cm_op_tensor_count(op); i++)
        if (strncmp(cm_op_tensor_name(op, i, text), name, length) == 0 && text[length] == '\0') return i;
    return -1;
}

bool cm_op_may_accumulate(cm_op op, int index) {
    char name[CM_OP_NAME_BYTES];
    const char *shape = find_shape(op, cm_op_tensor_name(op, index, name));
    return shape && shape[strcspn(shape, "]")] == ']' && shape[strcspn(shape, "]") + 1] == '+';
}

/* ---- sizes of letters ---- */

typedef struct sizes {
    const cm_call *call;
    cm_letters *letters;
} sizes;

/* An expression of a dimension, read up to ',' or ']'. */
typedef struct expression {
    const char *at;
    int64_t value; /* 0 if a letter is not known */
    int tensor;    /* first tensor that gave a letter of it */
    char text[48]; /* with numbers in place of letters */
} expression;

static int64_t read_factor(const sizes *known, expression *e) {
    int64_t value;
    if (*e->at >= '0' && *e->at <= '9') {
        char *end;
        value = strtol(e->at, &end, 10);
        e->at = end;
    } else {
        cm_letter l = known->letters->of[(unsigned char)*e->at++ & 127];
        value = l.size;
        if (e->tensor == CM_NO_TENSOR) e->tensor = l.tensor;
    }
    size_t used = strlen(e->text);
    snprintf(e->text + used, sizeof e->text - used, "%lld", (long long)value);
    return value;
}

static void read_operator(expression *e) {
    size_t used = strlen(e->text);
    snprintf(e->text + used, sizeof e->text - used, " %c ", *e->at++);
}

static int64_t read_term(const sizes *known, expression *e) {
    int64_t value = read_factor(known, e);
    while (*e->at == '*' || *e->at == '/') {
        bool times = *e->at == '*';
        read_operator(e);
        int64_t factor = read_factor(known, e);
        value = times ? value * factor : factor ? (value + factor - 1) / factor : 0;
        if (!times) snprintf(e->text + strlen(e->text), sizeof e->text - strlen(e->text), " rounded up");
    }
    return value;
}

static void read_expression(const sizes *known, expression *e) {
    e->tensor = CM_NO_TENSOR;
    e->text[0] = '\0';
    e->value = read_term(known, e);
    while (*e->at == '+') {
        size_t used = strlen(e->text);
        read_operator(e);
        int64_t term = read_term(known, e);
        if (term == 0) e->text[used] = '\0'; /* no encoding: "128", not "128 + 0" */
        e->value += term;
    }
}

static bool is_letter_alone(const char *at) {
    return ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')) && (at[1] == ',' || at[1] == ']');
}

static void bind(const sizes *known, char name, int size, int tensor) {
    cm_letter *l = &known->letters->of[(unsigned char)name & 127];
    if (l->size == 0) *l = (cm_letter){size, tensor};
}

/* Takes the sizes of letters from one tensor. */
static void bind_tensor(const sizes *known, int tensor, const char *at) {
    const cm_tensor *t = &known->call->t[tensor];
    if (*at == '=' || strncmp(at, "any]", 4) == 0) return;
    for (int d = 0; *at != ']' && d < t->ndim; d++) {
        if (*at == '*') {
            bind(known, 'B', t->dim[0], tensor);
            if (known->letters->lead == CM_NO_TENSOR) known->letters->lead = tensor;
            d = t->ndim - 2;
        } else if (*at == '~') {
            bind(known, at[1], cm_tensor_row_size(t), tensor);
        } else if (is_letter_alone(at)) {
            bind(known, *at, t->dim[d], tensor);
        }
        at += strcspn(at, ",]");
        if (*at == ',') at++;
    }
}

static void bind_all(const sizes *known) {
    cm_op op = known->call->op;
    for (const char *word = cm_op_shapes(op); *word; word += strcspn(word, " "), word += strspn(word, " ")) {
        size_t length = strcspn(word, "[");
        int tensor = find_tensor(op, word, length);
        if (tensor >= 0 && known->call->t[tensor].data) bind_tensor(known, tensor, word + length + 1);
    }
}

/* ---- checking one tensor ---- */

typedef struct tensor_text {
    char name[CM_OP_NAME_BYTES], shape[64];
} tensor_text;

static tensor_text describe(const cm_call *call, int tensor) {
    tensor_text text;
    cm_op_tensor_name(call->op, tensor, text.name);
    cm_tensor_describe(&call->t[tensor], text.shape);
    return text;
}

/* "dense: weight is float32 [64, 131], x is float32 [32, 128]: <what>" */
static cm_status fail_tensors(const cm_call *call, int tensor, int other, const char *what) {
    if (other == CM_NO_TENSOR || other == tensor) return cm_check_refuse(call, tensor, what);
    tensor_text t = describe(call, tensor), o = describe(call, other);
    return cm_fail(CM_ERR_INPUT, "%s: %s is %s, %s is %s: %s", cm_op_name(call->op), t.name, t.shape, o.name, o.shape,
                   what);
}

static const char *const ordinal[CM_MAX_DIMS] = {"first", "second", "third", "fourth"};

static cm_status check_dimension(const sizes *known, int tensor, int d, expression *e) {
    const cm_tensor *t = &known->call->t[tensor];
    int64_t size = t->dim[d];
    bool trailing = *e->at == '~';
    if (trailing) {
        size = cm_tensor_row_size(t);
        e->at++;
    }
    read_expression(known, e);
    if (e->value == 0 || e->value == size) return CM_OK;
    char what[128];
    if (trailing)
        snprintf(what, sizeof what, "its rows must have %s elements", e->text);
    else
        snprintf(what, sizeof what, "its %s dimension must be %s", ordinal[d], e->text);
    return fail_tensors(known->call, tensor, e->tensor, what);
}

static cm_status check_same_shape(const sizes *known, int tensor, const char *name) {
    const cm_call *call = known->call;
    int other = find_tensor(call->op, name, strcspn(name, "]"));
    if (cm_tensor_same_shape(&call->t[tensor], &call->t[other])) return CM_OK;
    return fail_tensors(call, tensor, other, "they must have the same shape");
}

static cm_status check_lead(const sizes *known, int tensor) {
    const cm_tensor *t = &known->call->t[tensor], *lead = &known->call->t[known->letters->lead];
    bool same = t->ndim == lead->ndim;
    for (int d = 0; same && d + 1 < t->ndim; d++) same = t->dim[d] == lead->dim[d];
    return same ? CM_OK
                : fail_tensors(known->call, tensor, known->letters->lead,
                               "they must agree in all dimensions but the last");
}

static cm_status check_rank(const sizes *known, int tensor, const char *at) {
    const cm_tensor *t = &known->call->t[tensor];
    int rank = 1;
    bool any = *at == '*';
    for (; *at != ']'; at++) {
        rank += *at == ',';
        any = any || *at == '~';
    }
    if (any ? t->ndim >= rank : t->ndim == rank) return CM_OK;
    char what[64];
    snprintf(what, sizeof what, "it must have %s%d dimension%s", any ? "at least " : "", rank, rank > 1 ? "s" : "");
    return cm_check_refuse(known->call, tensor, what);
}

static cm_status check_shape(const sizes *known, int tensor, const char *at) {
    if (strncmp(at, "any]", 4) == 0) return CM_OK;
    if (*at == '=') return check_same_shape(known, tensor, at + 1);
    CM_TRY(check_rank(known, tensor, at));
    int d = 0;
    if (*at == '*') {
        CM_TRY(check_lead(known, tensor));
        d = known->call->t[tensor].ndim - 1;
        at += 2;
    }
    for (;; d++) {
        expression e = {.at = at};
        CM_TRY(check_dimension(known, tensor, d, &e));
        if (*e.at == ']') return CM_OK;
        at = e.at + 1;
    }
}

cm_status cm_check_shapes(const cm_call *call, cm_letters *letters) {
    const sizes known = {.call = call, .letters = letters};
    bind_all(&known);
    for (int i = 0; i < cm_op_tensor_count(call->op); i++) {
        char name[CM_OP_NAME_BYTES];
        if (call->t[i].data) CM_TRY(check_shape(&known, i, find_shape(call->op, cm_op_tensor_name(call->op, i, name))));
    }
    return CM_OK;
}
