/* Asynchronous copies from global into shared memory, cp.async: bytes arrive when the thread waits for their
 * group, or ends, and not before. What they are to lie on is nonsense until then, as either may be found there. */
#include <stdlib.h>
#include <string.h>

#include "ptx/machine.h"

enum { NONSENSE = 0xff, AT_FIRST = 16 };

typedef struct copy {
    const ptx_instruction *at;
    unsigned char *to;
    const unsigned char *from;
    int bytes, given; /* given: that are read; those after them are 0 */
    uint32_t group;
    uint64_t arrival; /* in cycles of the profile */
} copy;

/* Of a thread, in the order of the text. */
typedef struct ptx_copies {
    copy *all;
    int count, capacity;
    uint32_t groups; /* that it has closed */
} ptx_copies;

struct ptx_copies *ptx_copies_open(int threads) {
    return calloc((size_t)threads, sizeof(ptx_copies));
}

void ptx_copies_close(struct ptx_copies *copies, int threads) {
    for (int k = 0; copies && k < threads; k++) free(copies[k].all);
    free(copies);
}

static copy *add(thread *t, ptx_copies *mine) {
    if (mine->count == mine->capacity) {
        const int capacity = mine->capacity ? 2 * mine->capacity : AT_FIRST;
        copy *wider = realloc(mine->all, (size_t)capacity * sizeof *wider);
        if (!wider) ptx_fail(t, "no memory for copies");
        mine->all = wider;
        mine->capacity = capacity;
    }
    return &mine->all[mine->count++];
}

/* Both ends are touched at any time from when it is issued until it has arrived. */
static void record(thread *t, const copy *c) {
    if (c->given) ptx_races_access(t, c->from, c->bytes, (1u << c->given) - 1, PTX_GLOBAL, false);
    ptx_races_access(t, c->to, c->bytes, UINT32_MAX, PTX_SHARED, true);
}

void ptx_copy_async(thread *t, const ptx_instruction *i) {
    ptx_space to = PTX_SHARED, from = PTX_GLOBAL;
    ptx_copies *mine = &t->block->copies[t->index];
    const uint32_t given = i->operands > 3 ? PTX_AT(3).u32 : i->bytes;
    if (given > i->bytes) ptx_fail(t, "a copy of %d bytes that reads %u", i->bytes, given);
    copy c = {.at = i, .bytes = i->bytes, .given = (int)given, .group = mine->groups};
    c.to = ptx_place(t, PTX_AT(0).u32 + (uint64_t)i->offset[0], i->bytes, &to);
    c.from = ptx_place(t, PTX_AT(1).u64 + (uint64_t)i->offset[1], i->bytes, &from);
    if (t->block->profile) {
        ptx_profile_access(t, i, (uintptr_t)c.from, PTX_GLOBAL);
        c.arrival = ptx_profile_copy(t);
    }
    record(t, &c);
    memset(c.to, NONSENSE, i->bytes);
    *add(t, mine) = c;
}

static void arrive(thread *t, const copy *c) {
    const ptx_instruction *here = t->at;
    if (t->block->profile) ptx_profile_until(t, c->arrival);
    t->at = c->at;
    record(t, c);
    memcpy(c->to, c->from, (size_t)c->given);
    memset(c->to + c->given, 0, (size_t)(c->bytes - c->given));
    t->at = here;
}

/* All copies but those of the last `pending` groups. */
static void wait_for(thread *t, ptx_copies *mine, uint32_t pending) {
    int done = 0;
    while (done < mine->count && (uint64_t)mine->all[done].group + pending < mine->groups)
        arrive(t, &mine->all[done++]);
    mine->count -= done;
    if (done) memmove(mine->all, mine->all + done, (size_t)mine->count * sizeof *mine->all);
}

void ptx_commit_copies(thread *t, const ptx_instruction *i) {
    (void)i;
    t->block->copies[t->index].groups++;
}

void ptx_wait_for_copies(thread *t, const ptx_instruction *i) {
    wait_for(t, &t->block->copies[t->index], PTX_AT(0).u32);
}

void ptx_wait_for_all_copies(thread *t, const ptx_instruction *i) {
    ptx_commit_copies(t, i);
    wait_for(t, &t->block->copies[t->index], 0);
}

/* What the thread wrote before it, products of warp groups may read (races.c). */
void ptx_fence(thread *t, const ptx_instruction *i) {
    (void)i;
    t->fences++;
}
