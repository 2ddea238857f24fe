#include "support/op_cases.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/check.h"
#include "backend/ref/ref.h"
#include "backend/sampling.h"
#include "core/rng.h"

enum { GUARD = 64, GAP = 3, ANY = 0 };
static const unsigned char guard_byte = 0xA5;

/* ---- sizes ---- */

/* Dimensions that `name` stands for in the row, e.g. "N=3x4" -> 2 of them; 0 if it is not there. */
static int read_sizes(const char *sizes, const char *name, int dim[CM_MAX_DIMS]) {
    size_t length = strlen(name);
    for (const char *at = sizes; at && *at; at = strchr(at, ' '), at = at ? at + 1 : NULL) {
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        int count = 0;
        for (at += length + 1; *at >= '0' && *at <= '9'; at += *at == 'x') {
            char *end;
            dim[count++] = (int)strtol(at, &end, 10);
            at = end;
        }
        return count;
    }
    return 0;
}

static int product(const int *dim, int n) {
    int all = 1;
    for (int i = 0; i < n; i++) all *= dim[i];
    return all;
}

/* What a letter of ops.def stands for. */
static int letter_size(const op_case *row, bool action, char letter) {
    const cm_attr *a = &row->attr;
    int dim[CM_MAX_DIMS], count;
    char name[2] = {letter, '\0'};
    switch (letter) {
    case 'E': return !action ? 0 : a->encoding == CM_ENCODE_ONEHOT ? a->actions : 1;
    case 'G': return a->groups ? a->groups : 1;
    case 'S': return a->support.size;
    case 's': return a->stride;
    case 'g': count = read_sizes(row->sizes, "N", dim); return a->per_channel ? dim[count - 1] : 1;
    default: break;
    }
    count = read_sizes(row->sizes, name, dim);
    if (count) return product(dim, count);
    count = letter == 'B' ? read_sizes(row->sizes, "*", dim) : 0;
    ck_assert_msg(count > 0, "%s: \"%s\" gives no size for %c", cm_op_name(row->op), row->sizes, letter);
    return dim[0];
}

static int read_factor(const op_case *row, bool action, const char **at) {
    if (**at >= '0' && **at <= '9') {
        char *end;
        int value = (int)strtol(*at, &end, 10);
        *at = end;
        return value;
    }
    return letter_size(row, action, *(*at)++);
}

static int read_expression(const op_case *row, bool action, const char **at) {
    int sum = 0, term = read_factor(row, action, at);
    for (;;) {
        char sign = **at;
        if (sign != '*' && sign != '/' && sign != '+') return sum + term;
        ++*at;
        int factor = read_factor(row, action, at);
        if (sign == '*') term *= factor;
        if (sign == '/') term = (term + factor - 1) / factor;
        if (sign == '+') sum += term, term = factor;
    }
}

/* The shape of tensor i from its brackets in ops.def. */
static cm_tensor shape_of(const op_case *row, cm_op op, int i, bool action) {
    int dim[CM_MAX_DIMS] = {1, 1, 1, 1}, ndim = 0;
    const char *at = cm_op_tensor_shape(op, i);
    if (*at == '=') return shape_of(row, op, op_copied(op, i), action);
    if (strncmp(at, "any]", 4) == 0) {
        ndim = read_sizes(row->sizes, "any", dim);
        return cm_tensor_make(NULL, CM_F32, ndim, dim);
    }
    while (*at != ']') {
        if (*at == '*') {
            ndim += read_sizes(row->sizes, "*", dim);
            at++;
        } else if (*at == '~') {
            char letter[2] = {at[1], '\0'};
            ndim += read_sizes(row->sizes, letter, dim + ndim);
            at += 2;
        } else {
            dim[ndim++] = read_expression(row, action, &at);
        }
        at += *at == ',';
    }
    return cm_tensor_make(NULL, CM_F32, ndim, dim);
}

/* ---- what is known of operations ---- */

int op_tensor(cm_op op, const char *name) {
    char text[CM_OP_NAME_BYTES];
    for (int i = 0; i < cm_op_tensor_count(op); i++)
        if (strcmp(cm_op_tensor_name(op, i, text), name) == 0) return i;
    return -1;
}

static bool is_one_of(const char *name, const char *words) {
    char word[CM_OP_NAME_BYTES + 2], line[256];
    snprintf(word, sizeof word, " %s ", name);
    snprintf(line, sizeof line, " %s ", words);
    return strstr(line, word) != NULL;
}

int op_copied(cm_op op, int i) {
    char of[CM_OP_NAME_BYTES];
    const char *at = cm_op_tensor_shape(op, i);
    ck_assert_msg(*at == '=', "%s: tensor %d is a copy of nothing", cm_op_name(op), i);
    snprintf(of, sizeof of, "%.*s", (int)strcspn(at + 1, "]"), at + 1);
    return op_tensor(op, of);
}

bool op_half(cm_op op, int i) { return cm_op_tensor_dtype(op, i) == CM_BF16; }

bool op_has_products(cm_op op) {
    return op == CM_OP_dense || op == CM_OP_dense_backward || op == CM_OP_conv2d || op == CM_OP_conv2d_backward ||
           op == CM_OP_conv2d_norm || op == CM_OP_lstm || op == CM_OP_lstm_backward;
}

/* ---- memory with guards ---- */

static void allocate(op_run *run, int i, cm_tensor shape, bool strided) {
    if (strided && shape.ndim == 2) shape.stride += GAP;
    size_t bytes = cm_tensor_bytes(&shape);
    run->block_bytes[i] = bytes + 2 * GUARD;
    run->block[i] = aligned_alloc(64, (run->block_bytes[i] + 63) / 64 * 64);
    ck_assert_ptr_nonnull(run->block[i]);
    memset(run->block[i], guard_byte, run->block_bytes[i]);
    shape.data = (char *)run->block[i] + GUARD;
    run->call.t[i] = shape;
}

/* True if byte `at` of the block belongs to an element. */
static bool is_element(const op_run *run, int i, size_t at) {
    const cm_tensor *t = &run->call.t[i];
    if (at < GUARD || at >= run->block_bytes[i] - GUARD) return false;
    size_t element = (at - GUARD) / cm_dtype_size(t->dtype);
    return element % (size_t)t->stride < (size_t)cm_tensor_row_size(t);
}

bool op_run_intact(const op_run *run, const op_run *before, char message[128]) {
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        const unsigned char *now = run->block[i], *then = before->block[i];
        if (!now || memcmp(now, then, run->block_bytes[i]) == 0) continue;
        bool writes = cm_op_tensor_written(run->call.op, i);
        for (size_t at = 0; at < run->block_bytes[i]; at++) {
            if (now[at] == then[at] || (writes && is_element(run, i, at))) continue;
            char name[CM_OP_NAME_BYTES];
            snprintf(message, 128, "byte %ld of %s %s", (long)at - GUARD, cm_op_tensor_name(run->call.op, i, name),
                     is_element(run, i, at) ? "(an input) has changed" : "(outside of it) was written");
            return false;
        }
    }
    return true;
}

void op_run_copy(op_run *to, const op_run *from) {
    *to = *from;
    to->forward_run = NULL;
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        if (!from->block[i]) continue;
        to->block[i] = aligned_alloc(64, (from->block_bytes[i] + 63) / 64 * 64);
        ck_assert_ptr_nonnull(to->block[i]);
        memcpy(to->block[i], from->block[i], from->block_bytes[i]);
        to->call.t[i].data = (char *)to->block[i] + GUARD;
    }
}

void op_run_free(op_run *run) {
    if (run->forward_run) op_run_free(run->forward_run);
    free(run->forward_run);
    for (int i = 0; i < CM_CALL_TENSORS; i++) free(run->block[i]);
    memset(run, 0, sizeof *run);
}

/* ---- numbers ---- */

static float *element(const cm_tensor *t, int r, int i) { return (float *)t->data + (size_t)r * t->stride + i; }

/* The coefficients of bootstrap that are 0, whose rows are not read. */
static bool has_no_value(int row) { return row % 3 == 1; }

/* Pictures of all kinds: shifted or not, by more than there is; of stack_frames every fourth is none. */
static void fill_pictures(const op_case *row, const char *name, const cm_tensor *t, cm_rng *rng) {
    const bool is_index = strcmp(name, "index") == 0;
    for (int r = 0; r < t->dim[0]; r++) {
        int32_t *to = (int32_t *)t->data + (size_t)r * (size_t)t->stride;
        for (int i = 0; i < t->dim[1]; i++)
            to[i] = is_index ? (int32_t)cm_rng_below(rng, (uint32_t)letter_size(row, false, 'n'))
                    : r % 3  ? (int32_t)cm_rng_below(rng, 17) - 8
                             : 0;
        if (is_index && r % 4 == 3) to[0] = -1;
    }
}

static void fill_bytes(const cm_tensor *t, cm_rng *rng) {
    uint8_t *to = t->data;
    for (size_t i = 0; i < cm_tensor_count(t); i++) to[i] = (uint8_t)cm_rng_below(rng, 256);
}

static void fill_integers(const op_run *run, const op_case *row, const char *name, const cm_tensor *t, cm_rng *rng) {
    int32_t *to = t->data;
    if (strcmp(name, "action") == 0) {
        bool table = row->op == CM_OP_embedding_add;
        uint32_t limit = (uint32_t)(table ? letter_size(row, true, 'A') : row->attr.actions);
        for (int i = 0; i < t->dim[0]; i++) to[i] = (int32_t)cm_rng_below(rng, limit);
        return;
    }
    bool choice = strcmp(name, "choice") == 0;
    int n = choice ? letter_size(row, true, 'M') - CM_SAMPLING_SEED : letter_size(row, true, 'n');
    for (int i = 0; i < t->dim[0]; i++)
        to[i] = run->call.op == CM_OP_scatter_rows ? (i * 5 + 1) % n : (int32_t)cm_rng_below(rng, (uint32_t)n);
    for (int i = 0; i < t->dim[0] && run->call.op == CM_OP_bootstrap; i++)
        if (has_no_value(i)) to[i] = -1;
}

/* A row of probabilities; every fifth is zero (a masked position). */
static void fill_distribution(const cm_tensor *t, int r, cm_rng *rng) {
    float sum = 0.0f;
    for (int i = 0; i < t->dim[1]; i++) {
        float weight = cm_rng_uniform(rng) < 0.3f ? 0.0f : cm_rng_uniform(rng);
        *element(t, r, i) = weight;
        sum += weight;
    }
    for (int i = 0; i < t->dim[1]; i++) *element(t, r, i) = r % 5 == 4 || sum == 0.0f ? 0.0f : *element(t, r, i) / sum;
}

static void fill_floats(const op_run *run, const char *name, const cm_tensor *t, cm_rng *rng) {
    cm_op op = run->call.op;
    bool positive = is_one_of(name, "variance second stats partial factor range most"),
         gain = strcmp(name, "scale") == 0;
    bool wide = is_one_of(name, "value target") && op != CM_OP_policy_loss, whole = strcmp(name, "before") == 0;
    /* As an lstm begins with: gates that are shut or open whatever comes would tell little. */
    float size = is_one_of(name, "weight_ih weight_hh") ? 1.0f / sqrtf((float)cm_tensor_row_size(t)) : 1.0f;
    for (int r = 0; r < t->dim[0]; r++) {
        for (int i = 0; i < cm_tensor_row_size(t); i++) {
            float z = size * cm_rng_normal(rng), *to = element(t, r, i);
            *to = positive ? 0.1f + z * z : gain ? 1.0f + 0.3f * z : wide ? 8.0f * z : z;
            if (whole) *to = roundf(2.0f * z); /* a number of steps may reach the horizon */
            if (strcmp(name, "memory") == 0) *to = fabsf(roundf(8.0f * z)); /* actions, a seed */
            if (op == CM_OP_bootstrap && strcmp(name, "coefficient") == 0 && has_no_value(r)) *to = 0.0f;
            if (strcmp(name, "legal") == 0) *to = z < 0.5f || i == 0 ? 1.0f : 0.0f;
        }
        if (op == CM_OP_policy_loss && strcmp(name, "target") == 0) fill_distribution(t, r, rng);
    }
}

/* Loss scaling after some steps: with attr.growth 4 the next one doubles it. */
static void fill_scaling(const cm_tensor *t) {
    static const float state[CM_SCALING_NUMBERS] = {8.0f, 3.0f, 19.0f, 2.0f, 0.75f, 0.02f};
    memcpy(t->data, state, sizeof state);
}

static void fill(op_run *run, const op_case *row, int i, cm_rng *rng) {
    char name[CM_OP_NAME_BYTES];
    cm_op_tensor_name(run->call.op, i, name);
    const cm_tensor *t = &run->call.t[i];
    if (run->call.op == CM_OP_stack_frames && t->dtype == CM_I32)
        fill_pictures(row, name, t, rng);
    else if (t->dtype == CM_U8)
        fill_bytes(t, rng);
    else if (t->dtype == CM_I32)
        fill_integers(run, row, name, t, rng);
    else if (strcmp(name, "scaling") == 0)
        fill_scaling(t);
    else
        fill_floats(run, name, t, rng);
}

/* ---- a call ---- */

static bool is_absent(cm_op op, int i, const op_variant *v) {
    if (!cm_op_tensor_optional(op, i)) return false;
    return v->absent == i || (op_half(op, i) ? !v->half : v->absent == -2);
}

/* An input that is a copy of another in 16 bits. */
static void fill_copy(const op_run *run, int i) {
    const cm_tensor *t = &run->call.t[i], *of = &run->call.t[op_copied(run->call.op, i)];
    for (int r = 0; r < t->dim[0]; r++)
        for (int k = 0; k < cm_tensor_row_size(t); k++)
            ((uint16_t *)t->data)[(size_t)r * t->stride + k] = cm_to_half(*element(of, r, k), t->dtype);
}

static void make_tensors(op_run *run, const op_case *row, const op_variant *v, cm_rng *rng) {
    cm_op op = run->call.op;
    int action = op_tensor(op, "action");
    bool encodes = action >= 0 ? !is_absent(op, action, v) : strstr(cm_op_name(op), "action_encoding") != NULL;
    for (int i = 0; i < cm_op_tensor_count(op); i++) {
        if (is_absent(op, i, v)) continue;
        cm_tensor shape = shape_of(row, op, i, encodes);
        shape.dtype = op_half(op, i) ? v->compute : cm_op_tensor_dtype(op, i);
        allocate(run, i, shape, v->strided);
        if (!op_half(op, i))
            fill(run, row, i, rng);
        else if (!cm_op_tensor_written(op, i))
            fill_copy(run, i);
    }
}

static void copy_elements(const cm_tensor *to, const cm_tensor *from) {
    size_t bytes = (size_t)cm_tensor_row_size(to) * cm_dtype_size(to->dtype);
    for (int r = 0; r < to->dim[0]; r++)
        memcpy((char *)to->data + (size_t)r * to->stride * cm_dtype_size(to->dtype),
               (char *)from->data + (size_t)r * from->stride * cm_dtype_size(from->dtype), bytes);
}

static cm_op_run ref_function(cm_op op) {
    static const cm_op_run functions[CM_OP_COUNT] = {
#define CM_OP(name, ...) [CM_OP_##name] = cm_ref_##name,
#include "backend/ops.def"
#undef CM_OP
    };
    return functions[op];
}

/* Runs the forward on ref with the backward's inputs, and gives the backward what it reads of the results. */
static void copy_from_forward(op_run *run, const op_case *row, const op_variant *v) {
    op_run *forward = calloc(1, sizeof *forward);
    ck_assert_ptr_nonnull(forward);
    op_variant plain = *v;
    int action = op_tensor(run->call.op, "action"), of_forward = op_tensor(row->op, "action");
    plain.absent =
        action >= 0 && !run->call.t[action].data && cm_op_tensor_optional(row->op, of_forward) ? of_forward : -1;
    plain.accumulate = plain.half = false;
    op_run_make(forward, row, row->op, plain);
    for (int i = 0; i < cm_op_tensor_count(row->op); i++) {
        char name[CM_OP_NAME_BYTES];
        int same = op_tensor(run->call.op, cm_op_tensor_name(row->op, i, name));
        bool shared =
            same >= 0 && !cm_op_tensor_written(row->op, i) && forward->call.t[i].data && run->call.t[same].data;
        if (shared) copy_elements(&forward->call.t[i], &run->call.t[same]);
    }
    ck_assert_int_eq(ref_function(row->op)(NULL, &forward->call), CM_OK);
    for (int i = 0; i < cm_op_tensor_count(row->op); i++) {
        char name[CM_OP_NAME_BYTES];
        int same = op_tensor(run->call.op, cm_op_tensor_name(row->op, i, name));
        if (same >= 0 && cm_op_tensor_written(row->op, i) && forward->call.t[i].data && run->call.t[same].data)
            copy_elements(&run->call.t[same], &forward->call.t[i]);
    }
    run->forward_run = forward;
}

/* Of a row of op_cases its place; of others, 0. */
static uint64_t number_of(const op_case *row) {
    for (int i = 0; i < op_case_count; i++)
        if (row == &op_cases[i]) return (uint64_t)i;
    return 0;
}

void op_run_make(op_run *run, const op_case *row, cm_op op, op_variant v) {
    memset(run, 0, sizeof *run);
    cm_rng rng = cm_rng_init(cm_key_make(v.seed, CM_RNG_TEST, (uint64_t)op), number_of(row));
    run->call = (cm_call){.op = op, .attr = row->attr};
    run->call.attr.activation = v.activation;
    run->call.attr.compute = v.compute;
    if (v.compute == CM_I8) run->call.attr.range = 1.5f; /* of numbers some of which are beyond */
    make_tensors(run, row, &v, &rng);
    for (int i = 0; v.accumulate && i < cm_op_tensor_count(op); i++)
        if (run->call.t[i].data && cm_op_tensor_accumulates(op, i)) run->call.attr.accumulate |= 1u << i;
    if (op != row->op) copy_from_forward(run, row, &v);
}

/* ---- variants ---- */

static const char *const activation_names[] = {"none", "relu", "gelu_tanh", "elu", "tanh", "sigmoid", "softplus"};

void op_describe(const op_case *row, cm_op op, op_variant v, char out[160]) {
    char name[CM_OP_NAME_BYTES] = "";
    if (v.absent >= 0) cm_op_tensor_name(op, v.absent, name);
    snprintf(out, 160, "%s %s %s%s%s%s%s%s%s", cm_op_name(op), row->sizes, activation_names[v.activation],
             v.compute == CM_BF16  ? " bfloat16"
             : v.compute == CM_F16 ? " float16"
             : v.compute == CM_I8  ? " int8"
                                   : "",
             v.half ? " with copies" : "", v.strided ? " strided" : "", v.accumulate ? " accumulate" : "",
             v.absent == -1   ? ""
             : v.absent == -2 ? " without options"
                              : " without ",
             name);
}

static bool may_be_int8(cm_op op) { return op == CM_OP_dense || op == CM_OP_conv2d || op == CM_OP_conv2d_norm; }

static bool has_copies(cm_op op) {
    for (int i = 0; i < cm_op_tensor_count(op); i++)
        if (op_half(op, i)) return true;
    return false;
}

void op_each_variant(const op_case *row, cm_op op, void (*visit)(const op_case *, cm_op, op_variant, void *),
                     void *at) {
    unsigned activations = op == row->op ? row->activations : row->backward_activations;
    for (int a = 0; a < CM_ACT_COUNT; a++) {
        if (!((activations ? activations : 1u) >> a & 1u)) continue;
        for (int type = CM_F32; type < CM_PRODUCT_TYPES; type++) {
            op_variant v = {.activation = (cm_activation)a, .compute = (cm_dtype)type, .absent = -1, .seed = 7};
            for (int i = 0; i < 8; i++) {
                v.accumulate = i & 1, v.strided = i >> 1 & 1, v.half = i >> 2;
                bool differs = v.half ? type != CM_F32 && has_copies(op) : type == CM_F32 || op_has_products(op);
                if (differs) visit(row, op, v, at);
            }
            v.accumulate = v.strided = v.half = false;
            for (int i = -2; type == CM_F32 && i < cm_op_tensor_count(op); i++) {
                if (i == -1 || (i >= 0 && !cm_op_tensor_optional(op, i))) continue;
                v.absent = i;
                visit(row, op, v, at);
            }
        }
        op_variant bits = {.activation = (cm_activation)a, .compute = CM_I8, .absent = -1, .seed = 7};
        for (int i = 0; may_be_int8(op) && i < 2; i++) {
            bits.strided = i;
            visit(row, op, bits, at);
        }
    }
}
