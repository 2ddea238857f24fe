/* Lanes of a backward pass: what follows a call of it waits for the gradients at inputs, never for those of parameters.
 *
 * Of small networks a launch fills a GPU in part, and takes the time of a launch; a quarter of an update's need not
 * stand in one row with the others. */
#include "backend/tape_internal.h"

static bool touches(const cm_tape *tape, const cm_tape_node *call, const cm_tape_var *v, bool only_writes) {
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        if (call->t[t] == CM_NO_VAR || !cm_tape_overlap(&tape->var[call->t[t]], v)) continue;
        if (!only_writes || cm_op_tensor_written(call->op, t)) return true;
    }
    return false;
}

/* Does `later` touch what `call` writes, or write what it reads? */
static bool waits_for(const cm_tape *tape, const cm_tape_node *later, const cm_tape_node *call) {
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        if (call->t[t] == CM_NO_VAR) continue;
        if (touches(tape, later, &tape->var[call->t[t]], !cm_op_tensor_written(call->op, t))) return true;
    }
    return false;
}

static bool is_waited_for(const cm_tape *tape, int place) {
    const cm_tape_list *list = &tape->backward;
    for (int i = place + 1; i < list->count; i++)
        if (waits_for(tape, &list->node[i], &list->node[place])) return true;
    return false;
}

void cm_tape_give_lanes(cm_tape *tape) {
    int given = 0;
    for (int i = 0; i < tape->backward.count && tape->lanes > 0; i++) {
        cm_tape_node *call = &tape->backward.node[i];
        if (cm_tape_makes_parameters(call) && !is_waited_for(tape, i)) call->lane = 1 + given++ % tape->lanes;
    }
}
