/* The way of a warp through the text. Lanes that are at the same instruction run it together, the least advanced ones
 * first, so that lanes that have parted are together again as soon as they can. */
#include <limits.h>
#include <string.h>

#include "ptx/machine.h"

enum { NONSENSE = 0xff };

uint64_t ptx_steps;

/* ---- the way through the text ---- */

void ptx_branch(thread *t, const ptx_instruction *i) { t->pc = i->target; }

/* The arguments are the operands after the result. */
void ptx_call(thread *t, const ptx_instruction *i) {
    const ptx_function *callee = i->function;
    ptx_value *above = t->base[PTX_REGISTERS] + (size_t)t->function->registers * PTX_WARP;
    if (t->depth == PTX_DEPTH) ptx_fail(t, "calls are more than %d deep", PTX_DEPTH);
    for (int k = 0; k < callee->parameters_n; k++) above[callee->parameters[k].slot.at] = PTX_AT(i->outputs + k);
    t->frames[t->depth++] = (ptx_frame){t->function, t->pc, i};
    t->base[PTX_REGISTERS] = above;
    t->function = callee;
    t->pc = 0;
    if (callee->local_bytes) memset(t->local + callee->local_first, NONSENSE, callee->local_bytes);
}

void ptx_return(thread *t, const ptx_instruction *i) {
    if (t->depth == 0) {
        ptx_wait_for_all_copies(t, i);
        ptx_products_end_thread(t);
        t->state = PTX_ENDED;
        return;
    }
    const ptx_frame *frame = &t->frames[--t->depth];
    const ptx_value result = PTX_VALUE(t->function->result.slot);
    t->function = frame->function;
    t->base[PTX_REGISTERS] -= (size_t)t->function->registers * PTX_WARP;
    t->pc = frame->pc;
    i = frame->call;
    if (i->outputs) PTX_AT(0) = result;
}

/* ---- lanes together ---- */

/* Lanes that run from `pc` on in `function`, and where others wait for them in it. */
typedef struct way {
    ptx_group g;
    const ptx_function *function;
    int pc, next;
    uint32_t all; /* of the lanes: g.mask has those of them that run an instruction */
} way;

static bool is_after(const thread *a, const thread *b) {
    return a->depth != b->depth ? a->depth > b->depth : a->pc < b->pc;
}

static bool has_same_frame(const thread *a, int lane_a, const thread *b, int lane_b) {
    return a->function == b->function && a->depth == b->depth &&
           a->base[PTX_REGISTERS] - lane_a == b->base[PTX_REGISTERS] - lane_b;
}

/* Of those that run, the ones that are least advanced: false if there are none. */
static bool find_way(thread *all, int width, way *w) {
    int leader = -1;
    for (int k = 0; k < width; k++)
        if (all[k].state == PTX_RUNS && (leader < 0 || is_after(&all[k], &all[leader]))) leader = k;
    if (leader < 0) return false;
    const thread *of = &all[leader];
    *w = (way){.g.all = all, .function = of->function, .pc = of->pc, .next = INT_MAX};
    for (int k = 0; k < PTX_BASES; k++) w->g.base[k] = of->base[k] - (k == PTX_CONSTANTS ? 0 : leader);
    for (int k = 0; k < width; k++) {
        if (all[k].state != PTX_RUNS || !has_same_frame(&all[k], k, of, leader)) continue;
        if (all[k].pc == w->pc)
            w->all |= 1u << k;
        else if (all[k].pc < w->next)
            w->next = all[k].pc;
    }
    return true;
}

/* Lanes where the predicate is as the instruction wants it. */
static uint32_t guarded(const way *w, const ptx_instruction *i) {
    const ptx_value *guard = &w->g.base[i->guard.base][i->guard.at];
    uint32_t mask = 0;
    for (int k = 0; k < PTX_WARP; k++) mask |= (uint32_t)(!guard[k].pred == i->is_negated) << k;
    return mask & w->all;
}

static void tell(way *w, uint32_t mask) { PTX_EACH_LANE(lane, mask) w->g.all[lane].pc = w->pc; }

/* One lane after the other: false if any does not go on with the next instruction. */
static bool run_each(way *w, const ptx_instruction *i) {
    bool go_on = true;
    const uint32_t turn = w->g.all->block->launch->threads_backwards ? PTX_WARP - 1 : 0;
    for (uint32_t k = 0; k < PTX_WARP; k++) {
        thread *t = &w->g.all[k ^ turn];
        if (!(w->g.mask >> (k ^ turn) & 1)) continue;
        t->at = i;
        t->pc = w->pc;
        i->run(t, i);
        go_on &= t->state == PTX_RUNS && t->pc == w->pc && t->function == w->function;
    }
    return go_on;
}

/* What the profile is told ahead of an instruction, of all that come to it and of those that run it. */
static void profile(way *w, const ptx_instruction *i) {
    PTX_EACH_LANE(lane, w->all) {
        w->g.all[lane].at = i;
        ptx_profile_issue(&w->g.all[lane], i);
    }
    PTX_EACH_LANE(lane, w->g.mask) ptx_profile_result(&w->g.all[lane], i);
}

/* False if the lanes part, or do not go on. */
static bool run_one(way *w) {
    const ptx_instruction *i = &w->function->code[w->pc];
    w->g.mask = i->is_guarded ? guarded(w, i) : w->all;
    if (w->g.all->block->profile) profile(w, i);
    w->pc++;
    if (!w->g.mask) return true;
    if (i->run_together && i->run_together(&w->g, i)) return true;
    if (i->run == ptx_branch && w->g.mask == w->all) {
        w->pc = i->target;
        return true;
    }
    if (run_each(w, i)) return true;
    thread *first = &w->g.all[0];
    return w->g.mask == w->all && ptx_sync_at_once(first->block, first->index, w->all);
}

/* Until lanes part, do not go on, or come to where others wait. */
static void run_way(way *w) {
    uint64_t steps = 0;
    bool go_on = true;
    while (go_on && w->pc < w->next) {
        go_on = run_one(w);
        steps += (uint64_t)__builtin_popcount(w->all);
    }
    tell(w, go_on ? w->all : w->all & ~w->g.mask);
    __atomic_fetch_add(&ptx_steps, steps, __ATOMIC_RELAXED);
}

bool ptx_run_warp(block *b, int first) {
    const int left = b->launch->threads - first, width = left < PTX_WARP ? left : PTX_WARP;
    bool any = false;
    for (way w; find_way(&b->threads[first], width, &w); any = true) run_way(&w);
    return any;
}
