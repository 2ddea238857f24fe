/* Operations: what ops.def says about them. */
#include <stdio.h>
#include <string.h>

#include "backend/backend.h"

static const char *const names[CM_OP_COUNT] = {
#define CM_OP(name, ...) [CM_OP_##name] = #name,
#include "backend/ops.def"
#undef CM_OP
};

static const char *const words[CM_OP_COUNT][CM_CALL_TENSORS] = {
#define WORD(op, tensor, marks) #tensor marks,
#define CM_OP(name, ...)        [CM_OP_##name] = {CM_EACH_PAIR(WORD, name, __VA_ARGS__)},
#include "backend/ops.def"
#undef CM_OP
#undef WORD
};

const char *cm_op_name(cm_op op) { return names[op]; }

/* A tensor's name, marks and shape, e.g. "action?:i[B]"; "" after the last one. */
static const char *tensor_word(cm_op op, int index) {
    const char *word = index < CM_CALL_TENSORS ? words[op][index] : NULL;
    return word ? word : "";
}

int cm_op_tensor_count(cm_op op) {
    int count = 0;
    while (*tensor_word(op, count)) count++;
    return count;
}

const char *cm_op_tensor_name(cm_op op, int index, char out[CM_OP_NAME_BYTES]) {
    const char *word = tensor_word(op, index);
    snprintf(out, CM_OP_NAME_BYTES, "%.*s", (int)strcspn(word, "!?:["), word);
    return out;
}

int cm_op_tensor_place(cm_op op, const char *name, size_t length) {
    for (int i = 0; i < cm_op_tensor_count(op); i++)
        if (strncmp(words[op][i], name, length) == 0 && strcspn(words[op][i], "!?:[") == length) return i;
    return -1;
}

bool cm_op_tensor_optional(cm_op op, int index) { return strchr(tensor_word(op, index), '?') != NULL; }
bool cm_op_tensor_written(cm_op op, int index) { return strchr(tensor_word(op, index), '!') != NULL; }
bool cm_op_tensor_accumulates(cm_op op, int index) { return strstr(tensor_word(op, index), "]+") != NULL; }

cm_dtype cm_op_tensor_dtype(cm_op op, int index) {
    const char *type = strchr(tensor_word(op, index), ':');
    return !type ? CM_F32 : type[1] == 'i' ? CM_I32 : type[1] == 'b' ? CM_U8 : CM_BF16;
}

const char *cm_op_tensor_shape(cm_op op, int index) {
    const char *shape = strchr(tensor_word(op, index), '[');
    return shape ? shape + 1 : "";
}
