/* Branches of a pass that trains. Of small networks a launch fills a GPU in part, and takes the time of a launch: what
 * need not wait for another stands in a row of its own. Forward these are the heads, each with its loss. Backward what
 * follows a call waits for the gradients at inputs, never for those of parameters. */
#include "backend/tape/tape_internal.h"

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

/* ---- forward ---- */

enum { TRUNK }; /* a branch of no head */

/* Calls that a head ends with. They keep nothing of a library that belongs to a stream. */
static bool may_branch(cm_op op) {
    switch (op) {
    case CM_OP_dense:
    case CM_OP_activation:
    case CM_OP_layer_norm:
    case CM_OP_policy_loss:
    case CM_OP_categorical_loss:
    case CM_OP_scalar_loss:
    case CM_OP_square_loss:
    case CM_OP_consistency_loss: return true;
    default: return false;
    }
}

/* That of the calls which wait for it, whose `branch` is theirs, if it is one; a new one of nothing that waits. */
static int branch_of(const cm_tape *tape, int place, int *branches) {
    const cm_tape_list *list = &tape->forward;
    int branch = TRUNK;
    if (!may_branch(list->node[place].op)) return TRUNK;
    for (int i = place + 1; i < list->count; i++) {
        const int other = list->node[i].branch;
        if ((branch != TRUNK && other == branch) || !waits_for(tape, &list->node[i], &list->node[place])) continue;
        if (other == TRUNK || branch != TRUNK) return TRUNK;
        branch = other;
    }
    return branch == TRUNK ? ++*branches : branch;
}

/* They are spread over the branches and where the trunk is, which has the last. */
static void assign_forward(cm_tape *tape) {
    int branches = 0;
    for (int i = tape->forward.count - 1; i >= 0; i--) tape->forward.node[i].branch = branch_of(tape, i, &branches);
    for (int i = 0; i < tape->forward.count; i++) {
        cm_tape_node *call = &tape->forward.node[i];
        if (call->branch != TRUNK) call->branch = (call->branch - 1) % (tape->branches + 1);
    }
}

/* ---- backward ---- */

static void assign_backward(cm_tape *tape) {
    int given = 0;
    for (int i = 0; i < tape->backward.count; i++) {
        cm_tape_node *call = &tape->backward.node[i];
        if (cm_tape_makes_parameters(call) && !is_waited_for(tape, i)) call->branch = 1 + given++ % tape->branches;
    }
}

void cm_tape_give_branches(cm_tape *tape) {
    if (tape->branches == 0 || !tape->training) return;
    assign_forward(tape);
    assign_backward(tape);
}
