/* Readers and writers of words in a launch. Every word of memory has a cell, or every byte where there are accesses to
 * less than words: its last writer, and the last two readers since. Two accesses of which one writes must be
 * one thread's, or have a barrier between them. */
#include <stdlib.h>
#include <string.h>

#include "ptx/machine.h"

enum { WORD = 4, PAGE = 256, BUCKETS_AT_FIRST = 1 << 10, KEPT = 1 << 12 };

typedef struct access {
    const ptx_instruction *at;
    uint32_t block, epoch, clock;
    int16_t thread;  /* -1: no thread's */
    uint16_t fences; /* of the thread until then */
} access;

typedef struct cell {
    access writer, readers[2];
} cell;

typedef struct page {
    uintptr_t number; /* of the host's memory */
    uint64_t launch;  /* that the cells are of */
    int step;         /* bytes of a cell: WORD or 1 */
    cell cells[PAGE]; /* of `step` bytes each */
} page;

/* Pages by their number, and the one that was used last. */
typedef struct races {
    page **buckets;
    size_t count, size; /* size: of buckets, a power of 2 */
    page *last;
    uint64_t launch; /* counted from 1 */
} races;

struct races *ptx_races_open(void) {
    return calloc(1, sizeof(races));
}

static void forget(races *r) {
    for (size_t k = 0; k < r->size; k++) free(r->buckets[k]);
    free(r->buckets);
    r->buckets = NULL;
    r->count = r->size = 0;
    r->last = NULL;
}

void ptx_races_close(struct races *r) {
    if (!r) return;
    forget(r);
    free(r);
}

/* Pages are kept for the next launch, unless they are many. */
void ptx_races_begin(struct races *r) {
    if (r->count > KEPT) forget(r);
    r->launch++;
}

/* Where the page is, or is to be. */
static page **bucket_of(page **buckets, size_t size, uintptr_t number) {
    size_t k = (size_t)((uint64_t)number * 0x9e3779b97f4a7c15u >> 20) & (size - 1);
    while (buckets[k] && buckets[k]->number != number) k = (k + 1) & (size - 1);
    return &buckets[k];
}

static void grow(thread *t, races *r) {
    const size_t size = r->size ? 2 * r->size : BUCKETS_AT_FIRST;
    page **wider = calloc(size, sizeof *wider);
    if (!wider) ptx_fail(t, "no memory for what is known of accesses");
    for (size_t k = 0; k < r->size; k++)
        if (r->buckets[k]) *bucket_of(wider, size, r->buckets[k]->number) = r->buckets[k];
    free(r->buckets);
    r->buckets = wider;
    r->size = size;
}

static page *new_page(thread *t, uintptr_t number) {
    page *p = malloc(sizeof *p);
    if (!p) ptx_fail(t, "no memory for what is known of accesses");
    p->number = number;
    p->launch = 0;
    return p;
}

static void clear(page *p, uint64_t launch) {
    p->launch = launch;
    p->step = WORD;
    for (int k = 0; k < PAGE / WORD; k++)
        p->cells[k].writer.thread = p->cells[k].readers[0].thread = p->cells[k].readers[1].thread = -1;
}

static page *page_of(thread *t, uintptr_t number) {
    races *r = t->block->races;
    if (!r->last || r->last->number != number) {
        if (2 * (r->count + 1) > r->size) grow(t, r);
        page **bucket = bucket_of(r->buckets, r->size, number);
        if (!*bucket) *bucket = new_page(t, number), r->count++;
        r->last = *bucket;
    }
    if (r->last->launch != r->launch) clear(r->last, r->launch);
    return r->last;
}

static cell *cell_of(page *p, uintptr_t address) { return &p->cells[address % PAGE / (uintptr_t)p->step]; }

/* Whether what was done comes before all that the thread does now. */
static bool is_before(const access *a, const thread *t, ptx_space space) {
    if (a->thread < 0) return true;
    if (a->block != t->block->index) return space == PTX_SHARED; /* each block has its own */
    if (a->thread == t->index || a->epoch != t->block->epoch) return true;
    return a->thread / PTX_WARP == t->index / PTX_WARP && t->seen[a->thread % PTX_WARP] >= a->clock;
}

static void check(thread *t, const access *a, ptx_space space, const char *what) {
    if (is_before(a, t, space)) return;
    char where[PTX_WHERE];
    ptx_where(t->block->entry->module, a->at, where);
    ptx_fail(t, "a race: %s memory that thread %d of block %u %s at %s, with no barrier between them",
             space == PTX_SHARED ? "shared" : "global", a->thread, a->block, what, where);
}

static void note(thread *t, cell *c, ptx_space space, bool is_write) {
    const access mine = {t->at, (uint32_t)t->block->index, t->block->epoch, t->clock, (int16_t)t->index, t->fences};
    check(t, &c->writer, space, "has written");
    if (!is_write) {
        if (c->readers[0].thread != mine.thread || c->readers[0].block != mine.block) c->readers[1] = c->readers[0];
        c->readers[0] = mine;
        return;
    }
    for (int k = 0; k < 2; k++) check(t, &c->readers[k], space, "has read");
    c->writer = mine;
    c->readers[0].thread = c->readers[1].thread = -1;
}

/* Whether an access takes in words as a whole or not at all. */
static bool is_of_words(int bytes, uint32_t used) {
    for (int k = 0; k < bytes; k += WORD)
        if ((used >> k & 15) != 0 && (used >> k & 15) != 15) return false;
    return bytes >= WORD;
}

static void refine(page *p) {
    p->step = 1;
    for (int k = PAGE; k-- > 0;) p->cells[k] = p->cells[k / WORD];
}

void ptx_races_access(thread *t, const void *address, int bytes, uint32_t used, ptx_space space, bool is_write) {
    if (space != PTX_SHARED && space != PTX_GLOBAL) return;
    const uintptr_t first = (uintptr_t)address;
    page *p = page_of(t, first / PAGE); /* an access is within a page, by its alignment */
    if (p->step == WORD && !is_of_words(bytes, used)) refine(p);
    for (int k = 0; k < bytes; k += p->step)
        if (used >> k & 1) note(t, cell_of(p, first + (uintptr_t)k), space, is_write);
}

/* Whether what was written was fenced before the last barrier of its writer. */
static void check_fence(thread *t, const access *writer) {
    if (writer->thread < 0 || writer->block != t->block->index) return;
    if (t->block->threads[writer->thread].known_fences != writer->fences) return;
    char where[PTX_WHERE];
    ptx_where(t->block->entry->module, writer->at, where);
    ptx_fail(t, "it multiplies shared memory that thread %d wrote at %s without a fence.proxy.async ahead of a barrier",
             writer->thread, where);
}

void ptx_races_factor(thread *t, const void *address, int bytes) {
    ptx_races_access(t, address, bytes, UINT32_MAX, PTX_SHARED, false);
    const uintptr_t first = (uintptr_t)address;
    page *p = page_of(t, first / PAGE);
    for (int k = 0; k < bytes; k += p->step) check_fence(t, &cell_of(p, first + (uintptr_t)k)->writer);
}
