/* Shapes of calls: which sizes belong together, in the notation of ops.def. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/check_internal.h"

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

/* From what is read first: a result is measured by it. */
static void bind_all(const sizes *known) {
    const cm_call *call = known->call;
    const int tensors = cm_op_tensor_count(call->op);
    for (int i = 0; i < 2 * tensors; i++) {
        const int t = i % tensors;
        if (call->t[t].data && cm_op_tensor_written(call->op, t) == (i >= tensors))
            bind_tensor(known, t, cm_op_tensor_shape(call->op, t));
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

cm_status cm_check_refuse(const cm_call *call, int tensor, const char *what) {
    const tensor_text t = describe(call, tensor);
    return cm_fail(CM_ERR_INPUT, "%s: %s is %s: %s", cm_op_name(call->op), t.name, t.shape, what);
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
    int other = cm_op_tensor_place(call->op, name, strcspn(name, "]"));
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
    for (int i = 0; i < cm_op_tensor_count(call->op); i++)
        if (call->t[i].data) CM_TRY(check_shape(&known, i, cm_op_tensor_shape(call->op, i)));
    return CM_OK;
}
