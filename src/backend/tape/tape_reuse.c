/* Memory that planes share: of a tape with gradient checkpointing (tape_recompute.c) a variable has its place only from
 * a call that writes all of it to the last one that touches it before the next such call.
 *
 * All other variables stay apart: constants, and rows, which fused kernels of a backend look at by their addresses. */
#include <stdlib.h>

#include "backend/tape/tape_internal.h"
#include "core/arena.h"

/* Calls, counted through the forward and the backward pass, at which an owner's memory is its own. */
typedef struct period {
    int first, last;
    int next; /* of the same owner, the one before it; NONE */
} period;

enum { NONE = -1 };

typedef struct shared {
    cm_var owner;
    size_t bytes;
} shared;

typedef struct planner {
    cm_tape *tape;
    period *periods;
    int count;
    int *latest; /* of each owner: its latest period; NONE: it is apart */
    shared *shares;
    const shared **placed; /* those of `shares` that have a place, in the order of these */
    int share_count, placed_count;
    size_t *place; /* of each owner, in bytes */
} planner;

bool cm_tape_is_shared(const cm_tape *tape, cm_var owner) {
    return tape->var[owner].memory == CM_MEM_WORK && tape->var[owner].shape.ndim == 4;
}

/* ---- periods ---- */

/* Does a call write all of an owner without looking at it? */
static bool is_written_whole(const cm_tape *tape, const cm_tape_node *node, cm_var owner) {
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        const cm_tape_var *v = node->t[t] == CM_NO_VAR ? NULL : &tape->var[node->t[t]];
        if (!v || v->memory != CM_MEM_WORK || v->owner != owner) continue;
        if (!cm_op_tensor_written(node->op, t) || (node->attr.accumulate >> t & 1u)) return false;
        if (cm_tensor_bytes(&v->shape) != cm_tensor_bytes(&tape->var[owner].shape)) return false;
    }
    return true;
}

static void add_period(planner *p, cm_var owner, int at) {
    p->periods[p->count] = (period){at, at, p->latest[owner]};
    p->latest[owner] = p->count++;
}

static void touch(planner *p, const cm_tape_node *node, int at) {
    for (int t = 0; t < CM_CALL_TENSORS; t++) {
        const cm_tape_var *v = node->t[t] == CM_NO_VAR ? NULL : &p->tape->var[node->t[t]];
        if (!v || v->memory != CM_MEM_WORK || !cm_tape_is_shared(p->tape, v->owner)) continue;
        const int latest = p->latest[v->owner];
        if (latest != NONE && (p->periods[latest].last == at || !is_written_whole(p->tape, node, v->owner))) {
            p->periods[latest].last = at;
        } else {
            add_period(p, v->owner, at);
        }
    }
}

static void find_periods(planner *p) {
    const cm_tape *tape = p->tape;
    for (cm_var v = 0; v < tape->vars; v++) p->latest[v] = NONE;
    for (int i = 0; i < tape->forward.count; i++) touch(p, &tape->forward.node[i], i);
    for (int i = 0; i < tape->backward.count; i++) touch(p, &tape->backward.node[i], tape->forward.count + i);
}

static bool meet(const planner *p, cm_var a, cm_var b) {
    for (int i = p->latest[a]; i != NONE; i = p->periods[i].next)
        for (int j = p->latest[b]; j != NONE; j = p->periods[j].next)
            if (p->periods[i].first <= p->periods[j].last && p->periods[j].first <= p->periods[i].last) return true;
    return false;
}

/* ---- places ---- */

/* The largest first; of equal ones in the order of their numbers. */
static int compare(const void *a, const void *b) {
    const shared *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->owner < y->owner ? -1 : 1;
}

/* Those that are apart get the first places; the others are listed. */
static size_t place_others(planner *p) {
    size_t end = 0;
    for (cm_var v = 0; v < p->tape->vars; v++) {
        const cm_tape_var *var = &p->tape->var[v];
        const size_t bytes = cm_align(cm_tensor_bytes(&var->shape));
        if (var->memory != CM_MEM_WORK || var->owner != v || !var->named) continue;
        if (p->latest[v] != NONE) {
            p->shares[p->share_count++] = (shared){v, bytes};
        } else {
            p->place[v] = end;
            end += bytes;
        }
    }
    return end;
}

/* The first gap of its size among those that have a place while it has one; p->placed stays in their order. */
static void place_shared(planner *p, const shared *s, size_t begin) {
    size_t at = begin;
    int i = 0, after;
    for (; i < p->placed_count; i++) {
        const shared *other = p->placed[i];
        if (!meet(p, s->owner, other->owner)) continue;
        if (at + s->bytes <= p->place[other->owner]) break;
        if (p->place[other->owner] + other->bytes > at) at = p->place[other->owner] + other->bytes;
    }
    p->place[s->owner] = at;
    for (after = p->placed_count++; after > 0 && p->place[p->placed[after - 1]->owner] > at; after--)
        p->placed[after] = p->placed[after - 1];
    p->placed[after] = s;
}

static size_t end_of_shared(const planner *p, size_t begin) {
    size_t end = begin;
    for (int i = 0; i < p->share_count; i++) {
        const size_t own = p->place[p->shares[i].owner] + p->shares[i].bytes;
        if (own > end) end = own;
    }
    return end;
}

/* Views move with their owners; those that no call names stay behind all. */
static void move(planner *p, size_t end) {
    cm_tape *tape = p->tape;
    for (cm_var v = 0; v < tape->vars; v++)
        if (tape->var[v].memory == CM_MEM_WORK && tape->var[v].owner == v && !tape->var[v].named)
            p->place[v] = tape->var[v].offset - tape->bytes[CM_MEM_WORK] + end;
    for (cm_var v = 0; v < tape->vars; v++) {
        cm_tape_var *var = &tape->var[v];
        if (var->memory == CM_MEM_WORK && var->owner != v)
            var->offset = var->offset - tape->var[var->owner].offset + p->place[var->owner];
    }
    for (cm_var v = 0; v < tape->vars; v++)
        if (tape->var[v].memory == CM_MEM_WORK && tape->var[v].owner == v) tape->var[v].offset = p->place[v];
    tape->bytes[CM_MEM_WORK] = end;
}

static void plan(planner *p) {
    find_periods(p);
    const size_t begin = place_others(p);
    qsort(p->shares, (size_t)p->share_count, sizeof *p->shares, compare);
    for (int i = 0; i < p->share_count; i++) place_shared(p, &p->shares[i], begin);
    move(p, end_of_shared(p, begin));
}

static cm_status alloc_plan(planner *p) {
    const size_t vars = (size_t)p->tape->vars + 1;
    const size_t calls = (size_t)(p->tape->forward.count + p->tape->backward.count) + 1;
    CM_TRY(cm_alloc(&p->periods, calls * CM_CALL_TENSORS, sizeof *p->periods, "the memory of a tape"));
    CM_TRY(cm_alloc(&p->latest, vars, sizeof *p->latest, "the memory of a tape"));
    CM_TRY(cm_alloc(&p->shares, vars, sizeof *p->shares, "the memory of a tape"));
    CM_TRY(cm_alloc(&p->placed, vars, sizeof(shared *), "the memory of a tape"));
    return cm_alloc(&p->place, vars, sizeof *p->place, "the memory of a tape");
}

cm_status cm_tape_reuse(cm_tape *tape) {
    planner p = {.tape = tape};
    const cm_status status = alloc_plan(&p);
    if (status == CM_OK) plan(&p);
    free(p.periods);
    free(p.latest);
    free(p.shares);
    free((void *)p.placed);
    free(p.place);
    return status;
}
