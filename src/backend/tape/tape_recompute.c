/* Gradient checkpointing: what a segment of the forward pass makes for itself alone is not kept. The calls that make it
 * are recorded a second time, in front of the first backward call that reads some of it, with the same variables, so
 * that tape_reuse.c may give their memory to others meanwhile. A call gives the same bits both times, as what it reads
 * has the same bits; where a backend makes one launch of several calls, and of others than before, it may round
 * otherwise.
 *
 * Only planes are made again; rows of two dimensions are small and stay. Batch statistics are written twice, with the
 * same bits: running statistics take them after the pass (cm_tape_norm_call), so once.
 *
 * Segments lie in each other: unroll steps hold blocks. A step that is recomputed makes what lies between its blocks; a
 * block is then recomputed from that. */
#include <stdlib.h>
#include <string.h>

#include "backend/tape/tape_internal.h"
#include "core/arena.h"

enum { KEPT = 0 /* the segment of calls that are in no other */, UNTOUCHED = -1 };

typedef struct recorder {
    cm_tape *tape;
    int *home;         /* of an owner: the innermost segment with all forward calls that touch it; KEPT: it stays */
    bool *wanted;      /* of an owner: a backward call, or one that is recomputed, reads it */
    bool *is_there;    /* of an owner: it has been made, and calls in the backward pass may read it */
    bool *is_needed;   /* of an owner, while a segment is recomputed */
    bool *is_emitted;  /* of a forward call, likewise */
    cm_tape_list list; /* the backward pass so far */
} recorder;

/* ---- segments ---- */

void cm_tape_use_recompute(cm_tape *tape, cm_recompute recompute) {
    tape->recompute = tape->training ? recompute : CM_RECOMPUTE_NONE;
}

/* The first is all of the tape. */
static bool add_segment(cm_tape *tape, int outer) {
    if (!cm_tape_grow(tape, &tape->segments, tape->segment_count, &tape->segment_capacity, sizeof *tape->segments))
        return false;
    tape->segments[tape->segment_count++] = (cm_tape_segment){.outer = outer, .first = tape->forward.count};
    return true;
}

void cm_tape_begin_segment(cm_tape *tape, cm_recompute level) {
    if (tape->recompute < level) return;
    if (tape->segment_count == 0 && !add_segment(tape, KEPT)) return;
    if (add_segment(tape, tape->segment)) tape->segment = tape->segment_count - 1;
}

void cm_tape_end_segment(cm_tape *tape, cm_recompute level) {
    if (tape->recompute < level || tape->error != CM_OK) return;
    tape->segments[tape->segment].end = tape->forward.count;
    tape->segment = tape->segments[tape->segment].outer;
}

/* Inner segments have higher numbers. */
static int common_segment(const cm_tape *tape, int a, int b) {
    while (a != b) {
        if (a > b) {
            a = tape->segments[a].outer;
        } else {
            b = tape->segments[b].outer;
        }
    }
    return a;
}

static bool is_inside(const cm_tape *tape, int segment, int of) { return common_segment(tape, segment, of) == of; }

/* ---- what is kept ---- */

static cm_var owner_at(const recorder *r, const cm_tape_node *node, int t) {
    return node->t[t] == CM_NO_VAR ? CM_NO_VAR : cm_tape_owner(r->tape, node->t[t]);
}

static bool is_read(const cm_tape_node *node, int t) { return !cm_op_tensor_written(node->op, t); }

static void touch(recorder *r, const cm_tape_node *node) {
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        const cm_var o = owner_at(r, node, t);
        if (o == CM_NO_VAR) continue;
        r->home[o] = r->home[o] == UNTOUCHED ? node->segment : common_segment(r->tape, r->home[o], node->segment);
        if (!cm_tape_is_shared(r->tape, o)) r->home[o] = KEPT;
    }
}

static void find_homes(recorder *r) {
    const cm_tape_list *forward = &r->tape->forward;
    for (cm_var o = 0; o < r->tape->vars; o++) r->home[o] = UNTOUCHED;
    for (int i = 0; i < forward->count; i++) touch(r, &forward->node[i]);
}

/* ---- what is wanted ---- */

static void want_reads(recorder *r, const cm_tape_node *node) {
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        const cm_var o = owner_at(r, node, t);
        if (o != CM_NO_VAR && is_read(node, t)) r->wanted[o] = true;
    }
}

/* Does it write an owner that has a mark, and that is made again? */
static bool makes(const recorder *r, const cm_tape_node *node, const bool *mark) {
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        const cm_var o = owner_at(r, node, t);
        if (o != CM_NO_VAR && !is_read(node, t) && mark[o] && r->home[o] > KEPT) return true;
    }
    return false;
}

static void find_wanted(recorder *r) {
    const cm_tape_list *forward = &r->tape->forward, *backward = &r->tape->backward;
    for (int i = 0; i < backward->count; i++) want_reads(r, &backward->node[i]);
    for (int i = forward->count - 1; i >= 0; i--)
        if (makes(r, &forward->node[i], r->wanted)) want_reads(r, &forward->node[i]);
    for (cm_var o = 0; o < r->tape->vars; o++) r->is_there[o] = r->home[o] <= KEPT;
}

/* ---- recorded again ---- */

static void append(recorder *r, const cm_tape_node *node) {
    cm_tape_node *call = cm_tape_append(r->tape, &r->list, node->op);
    if (call) *call = *node;
}

/* Marks the calls of a segment that make what is wanted of it. */
static void mark_calls(recorder *r, int s) {
    const cm_tape_segment *segment = &r->tape->segments[s];
    for (cm_var o = 0; o < r->tape->vars; o++) r->is_needed[o] = r->wanted[o] && r->home[o] == s;
    for (int i = segment->end - 1; i >= segment->first; i--) {
        const cm_tape_node *node = &r->tape->forward.node[i];
        r->is_emitted[i] = makes(r, node, r->is_needed);
        for (int t = 0; t < CM_CALL_TENSORS && r->is_emitted[i]; t++) {
            const cm_var o = owner_at(r, node, t);
            if (o != CM_NO_VAR && is_read(node, t)) r->is_needed[o] |= r->home[o] > KEPT && !r->is_there[o];
        }
    }
}

static void emit(recorder *r, int s) {
    const cm_tape_segment *segment = &r->tape->segments[s];
    mark_calls(r, s);
    for (int i = segment->first; i < segment->end; i++)
        if (r->is_emitted[i]) append(r, &r->tape->forward.node[i]);
    for (cm_var o = 0; o < r->tape->vars; o++) r->is_there[o] |= r->home[o] == s;
}

static void recompute(recorder *r, int s);

/* What a call reads is made, but for what comes with the segment that it is in: `own`, or UNTOUCHED. */
static void demand(recorder *r, const cm_tape_node *node, int own) {
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        const cm_var o = owner_at(r, node, t);
        if (o == CM_NO_VAR || !is_read(node, t) || r->is_there[o]) continue;
        if (own == UNTOUCHED || !is_inside(r->tape, r->home[o], own)) recompute(r, r->home[o]);
    }
}

static void recompute(recorder *r, int s) {
    const cm_tape_segment *segment = &r->tape->segments[s];
    for (int i = segment->first; i < segment->end; i++)
        if (makes(r, &r->tape->forward.node[i], r->wanted)) demand(r, &r->tape->forward.node[i], s);
    emit(r, s);
}

static void record(recorder *r) {
    const cm_tape_list *backward = &r->tape->backward;
    for (int i = 0; i < backward->count; i++) {
        demand(r, &backward->node[i], UNTOUCHED);
        append(r, &backward->node[i]);
    }
}

static cm_status alloc_marks(recorder *r) {
    const size_t vars = (size_t)r->tape->vars + 1, calls = (size_t)r->tape->forward.count + 1;
    bool **marks[] = {&r->wanted, &r->is_there, &r->is_needed};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        CM_TRY(cm_alloc(marks[i], vars, sizeof(bool), "the segments of a tape"));
    CM_TRY(cm_alloc(&r->is_emitted, calls, sizeof(bool), "the segments of a tape"));
    return cm_alloc(&r->home, vars, sizeof(int), "the segments of a tape");
}

static void free_marks(recorder *r) {
    free(r->home);
    free(r->wanted);
    free(r->is_there);
    free(r->is_needed);
    free(r->is_emitted);
}

cm_status cm_tape_record_again(cm_tape *tape) {
    recorder r = {.tape = tape};
    if (tape->segment_count == 0 || tape->error != CM_OK) return CM_OK;
    const cm_status status = alloc_marks(&r);
    if (status == CM_OK) {
        find_homes(&r);
        find_wanted(&r);
        record(&r);
        free(tape->backward.node);
        tape->backward = r.list;
    }
    free_marks(&r);
    return status;
}
