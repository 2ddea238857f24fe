/* What was recorded, read by what writes it in another notation. */
#include "backend/tape/tape_internal.h"

int cm_tape_variables(const cm_tape *tape) { return tape->vars; }

int cm_tape_calls(const cm_tape *tape) { return tape->forward.count; }

cm_tape_call cm_tape_call_at(const cm_tape *tape, int index) {
    const cm_tape_node *node = &tape->forward.node[index];
    return (cm_tape_call){node->op, &node->attr, node->t};
}

cm_tape_where cm_tape_where_is(const cm_tape *tape, cm_var var) {
    const cm_tape_var *v = &tape->var[var];
    const size_t begin = v->base == CM_NO_VAR ? 0 : tape->var[v->base].offset;
    return (cm_tape_where){v->memory, v->base, (v->offset - begin) / sizeof(float), v->slice};
}

bool cm_tape_is_constant(const cm_tape *tape, cm_var var, float *value) {
    for (int i = 0; i < tape->constants; i++) {
        if (tape->constant[i].var != var) continue;
        *value = tape->constant[i].value;
        return true;
    }
    return false;
}
