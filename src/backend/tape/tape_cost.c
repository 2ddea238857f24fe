/* What playing a tape once takes: arithmetic of the matrix products and traffic of all tensors. */
#include "backend/tape/tape_internal.h"

/* The call of a node, with the shapes of its tensors and no memory: `data` only tells that they are there. */
static cm_call call_of(const cm_tape *tape, const cm_tape_node *node) {
    static char present;
    cm_call call = {.op = node->op, .attr = node->attr};
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        if (node->t[i] == CM_NO_VAR) continue;
        call.t[i] = tape->var[node->t[i]].shape;
        call.t[i].data = &present;
    }
    return call;
}

double cm_tape_flops(const cm_tape *tape) {
    double flops = 0.0;
    for (int i = 0; i < tape->forward.count; i++) {
        const cm_call call = call_of(tape, &tape->forward.node[i]);
        flops += cm_call_flop(&call);
    }
    return flops;
}

cm_tape_cost cm_tape_costs(const cm_tape *tape) {
    cm_tape_cost cost = {0.0, 0.0, 0};
    const cm_tape_list *lists[2] = {&tape->forward, &tape->backward};
    for (int l = 0; l < 2; l++) {
        for (int i = 0; i < lists[l]->count; i++) {
            const cm_call call = call_of(tape, &lists[l]->node[i]);
            cost.flop += cm_call_flop(&call), cost.bytes += cm_call_bytes(&call);
            cost.calls++;
        }
    }
    return cost;
}
