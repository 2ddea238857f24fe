#include "support/lanes.h"

#include <check.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { STACK = 64 * 1024 };

typedef enum meeting_kind { SUM, SUM_16, MOST, LEAST, PLAIN } meeting_kind;

/* What a lane brings to a meeting. */
typedef struct ticket {
    meeting_kind kind;
    int64_t number; /* of the meeting, counted from 1 */
    double value;
    cm_found found;
} ticket;

/* The hub, or a lane, with the place where it was left. */
typedef struct side {
    ucontext_t context;
    jmp_buf jump;
    bool begun;
} side;

/* ThreadSanitizer counts calls and returns: what changes stacks is kept from it, and all others return. */
#define UNSEEN __attribute__((no_sanitize_thread))

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
/* Sanitizers take jumps between stacks for errors. */
UNSEEN static void change_sides(side *from, side *to) { swapcontext(&from->context, &to->context); }
#else
/* Contexts only begin; jumps need no call of the system. */
static void change_sides(side *from, side *to) {
    from->begun = true;
    if (_setjmp(from->jump)) return;
    if (to->begun) _longjmp(to->jump, 1);
    setcontext(&to->context);
}
#endif

/* One launch while it runs. */
typedef struct run {
    lanes_body body;
    const void *args;
    int64_t items;
    int count, now;       /* lanes; the one that has its turn */
    bool backwards;       /* from the last item to the first */
    bool lanes_backwards; /* from the last lane to the first */
    side hub, lane[CM_BLOCK];
    bool done[CM_BLOCK];
    int64_t meetings[CM_BLOCK];
    ticket ticket[2][CM_BLOCK]; /* of meetings with even and with odd numbers */
} run;

static _Thread_local run *current;
static _Thread_local uint64_t directions = 1; /* random */

static void run_items(run *r, int index) {
    cm_lanes lanes = {index, r->count, r};
    for (int64_t i = 0; i < r->items; i++) r->body(r->args, r->backwards ? r->items - 1 - i : i, &lanes);
}

UNSEEN static void run_lane(void) {
    run *r = current;
    int index = r->now;
    run_items(r, index);
    r->done[index] = true;
    change_sides(&r->lane[index], &r->hub);
}

static void take_turns(run *r) {
    for (int left = r->count; left > 0;) {
        left = 0;
        for (int i = 0; i < r->count; i++) {
            r->now = r->lanes_backwards ? r->count - 1 - i : i;
            if (!r->done[r->now]) change_sides(&r->hub, &r->lane[r->now]);
            left += !r->done[r->now];
        }
    }
    for (int i = 0; i < r->count; i++)
        if (r->meetings[i] != r->meetings[0])
            ck_abort_msg("lane %d met %ld times, lane 0 %ld times", i, (long)r->meetings[i], (long)r->meetings[0]);
}

void lanes_run(lanes_body body, const void *args, int64_t items, int count) {
    run *r = calloc(1, sizeof *r);
    char *stacks = count > 1 ? malloc((size_t)count * STACK) : NULL;
    if (!r || count > CM_BLOCK) ck_abort_msg("%d lanes cannot be run", count);
    directions = directions * 6364136223846793005u + 1442695040888963407u;
    r->backwards = directions >> 63;
    r->lanes_backwards = directions >> 62 & 1;
    r->body = body, r->args = args, r->items = items, r->count = count;
    current = r;
    for (int i = 0; count > 1 && i < count; i++) {
        if (getcontext(&r->lane[i].context) != 0) ck_abort_msg("no context for a lane");
        r->lane[i].context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
        r->lane[i].context.uc_stack.ss_size = STACK;
        r->lane[i].context.uc_link = NULL; /* run_lane does not return */
        makecontext(&r->lane[i].context, run_lane, 0);
    }
    if (count > 1)
        take_turns(r);
    else
        run_items(r, 0);
    free(stacks);
    free(r);
}

/* Leaves a ticket and comes back when all lanes have: true for the first to come back, whose part it is to make the
 * result of the meeting. One lane alone meets nobody. (Nothing here calls Check's assertions but in failing: they write
 * a line each.) */
static bool meet(const cm_lanes *lanes, ticket mine) {
    run *r = lanes->meeting;
    mine.number = ++r->meetings[lanes->index];
    ticket *all = r->ticket[mine.number % 2];
    all[lanes->index] = mine;
    change_sides(&r->lane[lanes->index], &r->hub);
    const ticket *next = &all[(lanes->index + 1) % r->count];
    if (next->number != mine.number || next->kind != mine.kind)
        ck_abort_msg("lane %d is not at meeting %ld of the lane before it", lanes->index + 1, (long)mine.number);
    return lanes->index == (r->lanes_backwards ? r->count - 1 : 0);
}

/* The tickets of the meeting that this lane comes from; the result is in the first one. */
static ticket *tickets(const cm_lanes *lanes) {
    run *r = lanes->meeting;
    return r->ticket[r->meetings[lanes->index] % 2];
}

static int least(int a, int b) { return a < b ? a : b; }

/* The order is that of kernel.cuh: lanes 16, 8, 4, 2, 1 apart, then the warps one after the other. */
static double tree_sum(const ticket *all, int count) {
    double total = 0.0;
    for (int first = 0; first < count; first += CM_WARP) {
        int width = least(count, CM_WARP);
        double sum[CM_WARP];
        for (int i = 0; i < width; i++) sum[i] = all[first + i].value;
        for (int far = width / 2; far > 0; far /= 2)
            for (int i = 0; i < far; i++) sum[i] += sum[i + far];
        total = first ? total + sum[0] : sum[0];
    }
    return total;
}

double cm_lanes_sum(const cm_lanes *lanes, double value) {
    if (lanes->count == 1) return value;
    bool first = meet(lanes, (ticket){.kind = SUM, .value = value});
    ticket *all = tickets(lanes);
    if (first) all[0].value = tree_sum(all, lanes->count);
    return all[0].value;
}

float cm_lanes_max(const cm_lanes *lanes, float value) {
    if (lanes->count == 1) return value;
    bool first = meet(lanes, (ticket){.kind = MOST, .value = (double)value});
    ticket *all = tickets(lanes);
    for (int i = 1; first && i < lanes->count; i++) all[0].value = fmax(all[0].value, all[i].value);
    return (float)all[0].value;
}

cm_found cm_lanes_least(const cm_lanes *lanes, cm_found found) {
    if (lanes->count == 1) return found;
    bool first = meet(lanes, (ticket){.kind = LEAST, .found = found});
    ticket *all = tickets(lanes);
    for (int i = 1; first && i < lanes->count; i++) all[0].found = cm_found_least(all[0].found, all[i].found);
    return all[0].found;
}

void cm_lanes_meet(const cm_lanes *lanes) {
    if (lanes->count > 1) meet(lanes, (ticket){.kind = PLAIN});
}

float cm_lanes_sum_16(const cm_lanes *lanes, float value) {
    bool first = meet(lanes, (ticket){.kind = SUM_16, .value = (double)value});
    ticket *all = tickets(lanes);
    if (!first) return (float)all[0].value;
    float sum[16];
    if (lanes->count != CM_WARP) ck_abort_msg("%d lanes have no sum of 16", lanes->count);
    for (int i = 0; i < 16; i++) {
        sum[i] = (float)all[i].value;
        float twin = (float)all[i + 16].value;
        if (memcmp(&sum[i], &twin, sizeof twin) != 0)
            ck_abort_msg("lanes %d and %d bring different numbers", i, i + 16);
    }
    for (int far = 8; far > 0; far /= 2)
        for (int i = 0; i < far; i++) sum[i] += sum[i + far];
    all[0].value = (double)sum[0];
    return sum[0];
}

/* What is to be fetched must be there to be read. */
void cm_lanes_fetch(const cm_lanes *lanes, const void *memory, size_t bytes) {
    const volatile unsigned char *first = memory;
    if (lanes->index == 0 && bytes > 0) (void)(first[0] + first[bytes - 1]);
}
