/* From a recording to a list of calls with places in memory. */
#include "backend/tape/tape_internal.h"

/* The order is that of tape_internal.h. */
static cm_status complete(cm_tape *tape) {
    if (tape->training) {
        cm_tape_place_ranges(tape);
        cm_tape_backward(tape);
        if (tape->half) CM_TRY(cm_tape_half_activations(tape));
        cm_tape_merge_gradients(tape);
        CM_TRY(cm_tape_record_again(tape));
    }
    cm_tape_place(tape, 0);
    if (tape->half && tape->error == CM_OK) CM_TRY(cm_tape_make_copies(tape));
    if (tape->recompute != CM_RECOMPUTE_NONE && tape->error == CM_OK) CM_TRY(cm_tape_reuse(tape));
    cm_tape_give_branches(tape);
    return CM_OK;
}

cm_status cm_tape_finish(cm_tape *tape) {
    const bool now = !tape->finished && tape->error == CM_OK;
    tape->finished = true;
    if (now) CM_TRY(complete(tape));
    return tape->error == CM_OK ? CM_OK : cm_fail(tape->error, "%s", tape->message);
}
