/* Fake quantisation: where the maxima of what layers read lie in STATS. A layer is called for several unroll steps; its
 * range is one, so the maxima of its calls are neighbours. */
#include "backend/int8.h"
#include "backend/tape/tape_internal.h"

static bool is_of(const cm_tape_node *node, cm_var range) {
    return node->op == CM_OP_fake_quantise && node->t[CM_T_fake_quantise_range] == range;
}

/* From the first call of a range on. */
static cm_range_call place(cm_tape *tape, int first, cm_var range) {
    const int parts = CM_INT8_PARTS;
    cm_range_call all = {.range = tape->var[range].offset, .most = tape->bytes[CM_MEM_STATS]};
    for (int i = first; i < tape->forward.count; i++) {
        if (!is_of(&tape->forward.node[i], range)) continue;
        const cm_var most = cm_tape_new(tape, CM_MEM_STATS, CM_F32, 1, &parts, false);
        tape->forward.node[i].t[CM_T_fake_quantise_most] = most;
        all.numbers += parts;
    }
    return all;
}

void cm_tape_place_ranges(cm_tape *tape) {
    for (int i = 0; i < tape->forward.count; i++) {
        const cm_tape_node *node = &tape->forward.node[i];
        if (node->op != CM_OP_fake_quantise || node->t[CM_T_fake_quantise_most] != CM_NO_VAR) continue;
        if (!cm_tape_grow(tape, &tape->range, tape->ranges, &tape->range_capacity, sizeof *tape->range)) return;
        tape->range[tape->ranges++] = place(tape, i, node->t[CM_T_fake_quantise_range]);
    }
}

int cm_tape_range_calls(const cm_tape *tape) { return tape->ranges; }

const cm_range_call *cm_tape_range_call(const cm_tape *tape, int index) { return &tape->range[index]; }
