/* Where the variables of WORK lie: known when all are, so that some can be laid after each other. */
#include "backend/tape/tape_internal.h"
#include "core/arena.h"

/* The variable whose own memory x lies in, and how many bytes after its begin. Elsewhere than in WORK: x's block. */
typedef struct position {
    cm_memory memory;
    cm_var owner;
    size_t offset;
} position;

static position position_of(const cm_tape *tape, cm_var x) {
    position p = {tape->var[x].memory, x, tape->var[x].offset};
    if (p.memory != CM_MEM_WORK) p.owner = CM_NO_VAR;
    while (p.owner != CM_NO_VAR && tape->var[p.owner].lies_in != CM_NO_VAR) {
        p.owner = tape->var[p.owner].lies_in;
        p.offset += tape->var[p.owner].offset;
    }
    return p;
}

cm_var cm_tape_owner(const cm_tape *tape, cm_var x) { return position_of(tape, x).owner; }

/* Rows of one kind, without gaps between them. */
static bool are_alike(const cm_tape *tape, const cm_var *parts, int count) {
    const cm_tensor *first = &tape->var[parts[0]].shape;
    for (int i = 0; i < count; i++) {
        const cm_tensor *t = &tape->var[parts[i]].shape;
        if (t->dtype != first->dtype || t->ndim != first->ndim || !cm_tensor_contiguous(t)) return false;
        for (int d = 1; d < t->ndim; d++)
            if (t->dim[d] != first->dim[d]) return false;
    }
    return true;
}

static bool lie_in_order(const cm_tape *tape, const cm_var *parts, int count) {
    position at = position_of(tape, parts[0]);
    for (int i = 0; i < count; i++) {
        const position p = position_of(tape, parts[i]);
        if (p.memory != at.memory || p.owner != at.owner || p.offset != at.offset) return false;
        at.offset += cm_tensor_bytes(&tape->var[parts[i]].shape);
    }
    return true;
}

/* The variable that has to be moved if x is, which is all that lies in it; CM_NO_VAR: x cannot be moved. */
static cm_var moved_with(const cm_tape *tape, cm_var x) {
    const position p = position_of(tape, x);
    if (p.owner == CM_NO_VAR) return CM_NO_VAR;
    return cm_tensor_bytes(&tape->var[p.owner].shape) == cm_tensor_bytes(&tape->var[x].shape) ? p.owner : CM_NO_VAR;
}

static bool are_free(const cm_tape *tape, const cm_var *parts, int count) {
    for (int i = 0; i < count; i++) {
        if (moved_with(tape, parts[i]) == CM_NO_VAR) return false;
        for (int j = 0; j < i; j++)
            if (moved_with(tape, parts[j]) == moved_with(tape, parts[i])) return false;
    }
    return true;
}

bool cm_tape_can_lay(const cm_tape *tape, const cm_var *parts, int count) {
    return are_alike(tape, parts, count) && (lie_in_order(tape, parts, count) || are_free(tape, parts, count));
}

cm_var cm_tape_lay(cm_tape *tape, const cm_var *parts, int count) {
    if (tape->error != CM_OK || !cm_tape_can_lay(tape, parts, count)) return CM_NO_VAR;
    cm_tensor shape = tape->var[parts[0]].shape;
    for (int i = 1; i < count; i++) shape.dim[0] += tape->var[parts[i]].shape.dim[0];
    shape.stride = cm_tensor_row_size(&shape);
    if (lie_in_order(tape, parts, count)) return cm_tape_alias(tape, parts[0], &shape, 0);
    cm_var whole = cm_tape_new(tape, CM_MEM_WORK, shape.dtype, shape.ndim, shape.dim, false);
    size_t offset = 0;
    for (int i = 0; i < count && whole != CM_NO_VAR; i++) {
        cm_var owner = moved_with(tape, parts[i]);
        tape->var[owner].lies_in = whole;
        tape->var[owner].offset = offset;
        offset += cm_tensor_bytes(&tape->var[parts[i]].shape);
    }
    return whole;
}

/* Parts and their gradients. */
static bool can_stack(const cm_tape *tape, const cm_var *parts, const cm_var *gradients, int count) {
    for (int i = 0; i < count; i++)
        if (tape->var[parts[i]].base != CM_NO_VAR || (gradients[i] == CM_NO_VAR) != (gradients[0] == CM_NO_VAR))
            return false;
    return cm_tape_can_lay(tape, parts, count) &&
           (gradients[0] == CM_NO_VAR || cm_tape_can_lay(tape, gradients, count));
}

cm_var cm_tape_stack(cm_tape *tape, const cm_var *parts, int count) {
    cm_var gradients[CM_TAPE_PARTS] = {CM_NO_VAR};
    if (count == 1) return parts[0];
    for (int i = 0; i < count; i++)
        if (tape->error != CM_OK || parts[i] == CM_NO_VAR) return CM_NO_VAR;
    for (int i = 0; i < count && i < CM_TAPE_PARTS; i++) gradients[i] = tape->var[parts[i]].grad;
    if (count < 1 || count > CM_TAPE_PARTS || !can_stack(tape, parts, gradients, count)) {
        cm_tape_error(tape, "%d variables cannot be stacked: views, of several shapes, in other stacks, or too many",
                      count);
        return CM_NO_VAR;
    }
    cm_var whole = cm_tape_lay(tape, parts, count);
    cm_var gradient = gradients[0] == CM_NO_VAR ? CM_NO_VAR : cm_tape_lay(tape, gradients, count);
    if (whole == CM_NO_VAR) return CM_NO_VAR;
    tape->var[whole].grad = gradient;
    for (int i = 0; i < count; i++) {
        tape->var[parts[i]].base = whole;
        tape->var[parts[i]].slice = true;
    }
    return whole;
}

/* ---- at the end of a recording ---- */

static size_t resolve(cm_tape *tape, cm_var x) {
    cm_tape_var *v = &tape->var[x];
    if (v->lies_in == CM_NO_VAR) return v->offset;
    v->offset += resolve(tape, v->lies_in);
    v->named = tape->var[v->lies_in].named;
    v->owner = tape->var[v->lies_in].owner;
    v->lies_in = CM_NO_VAR;
    return v->offset;
}

bool cm_tape_has_memory(const cm_tape *tape, cm_var x) {
    return tape->var[x].memory != CM_MEM_WORK || tape->var[x].named;
}

static void name_owner(cm_tape *tape, cm_var x) {
    const cm_var owner = x == CM_NO_VAR ? CM_NO_VAR : position_of(tape, x).owner;
    if (owner != CM_NO_VAR) tape->var[owner].named = true;
}

static void name_all(cm_tape *tape, const cm_tape_list *list) {
    for (int i = 0; i < list->count; i++)
        for (int t = 0; t < CM_CALL_TENSORS; t++) name_owner(tape, list->node[i].t[t]);
}

/* Of those that are named, or of the others, from *end on, which moves. */
static void give_places(cm_tape *tape, cm_var first, bool named, size_t *end) {
    for (cm_var i = first; i < tape->vars; i++) {
        cm_tape_var *v = &tape->var[i];
        if (v->memory != CM_MEM_WORK || v->lies_in != CM_NO_VAR || v->named != named) continue;
        v->offset = *end;
        v->owner = i;
        *end += cm_align(cm_tensor_bytes(&v->shape));
    }
}

/* What is not named has a place behind the block, where it meets nothing. */
void cm_tape_place(cm_tape *tape, cm_var first) {
    size_t *bytes = &tape->bytes[CM_MEM_WORK];
    name_all(tape, &tape->forward);
    name_all(tape, &tape->backward);
    for (int i = 0; i < tape->constants; i++) name_owner(tape, tape->constant[i].var);
    give_places(tape, first, true, bytes);
    size_t beyond = *bytes;
    give_places(tape, first, false, &beyond);
    for (cm_var i = first; i < tape->vars; i++)
        if (tape->var[i].memory == CM_MEM_WORK) resolve(tape, i);
}
