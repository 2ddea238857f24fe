#include "support/lanes.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tensor/tensor.h"

enum { STACK = 64 * 1024, GUARD = 64, NONSENSE = 0xff, GUARD_BYTE = 0x5a };

typedef enum barrier_kind { SUM, SUM_16, MOST, LEAST, PLAIN, PRODUCT, PRODUCT_32, PRODUCT_8 } barrier_kind;

/* What a lane brings to a barrier. */
typedef struct ticket {
    barrier_kind kind;
    int64_t number; /* of the barrier, counted from 1 */
    double value;
    cm_found found;
    bool bfloat;
    uint32_t a[4], b[2];
    float a_32[4], b_32[2], sum[4];
    int32_t whole[4]; /* sums of PRODUCT_8 */
} ticket;

/* The hub, or a lane, with the place where it was left. */
typedef struct side {
    ucontext_t context;
    void *place[5]; /* as __builtin_setjmp wants it */
    bool begun;
} side;

/* ThreadSanitizer counts calls and returns, and AddressSanitizer takes a jump for the end of what it leaves: what
 * changes stacks is kept from them, and all others return. */
#define UNSEEN __attribute__((noinline, no_sanitize_address, no_sanitize_thread))

/* Contexts only begin; the compiler's own jumps need no call of the system, and no sanitizer steps between them. A
 * function may not jump to a place of its own. */
UNSEEN _Noreturn static void go_on(side *to) {
    if (to->begun) __builtin_longjmp(to->place, 1);
    setcontext(&to->context);
    abort();
}

UNSEEN static void change_sides(side *from, side *to) {
    from->begun = true;
    if (!__builtin_setjmp(from->place)) go_on(to);
}

/* Barriers of all lanes, or of the parts of a block, of 8, 16 or 32 lanes. */
typedef enum circle { ALL, EIGHTS, SIXTEENS, WARPS, CIRCLES } circle;
enum { LEAST_PART = 8, PARTS = CM_BLOCK / LEAST_PART };

typedef struct barriers {
    int64_t number[CM_BLOCK];         /* of the last one that a lane came to */
    int64_t came[PARTS], made[PARTS]; /* by the part's number: lanes to barriers; results */
    ticket ticket[2][CM_BLOCK];       /* of barriers with even and with odd numbers */
} barriers;

/* One launch while it runs. */
typedef struct run {
    lanes_body body;
    const void *args;
    int64_t items, steps;  /* steps: how often a lane came to a barrier, or to its end */
    int count, now;        /* lanes; the one that has its turn */
    bool backwards;        /* from the last item to the first */
    bool lanes_backwards;  /* from the last lane to the first */
    unsigned char *memory; /* [items][memory_bytes + GUARD]; NULL: none */
    size_t memory_bytes;
    side hub, lane[CM_BLOCK];
    bool done[CM_BLOCK];
    barriers barriers[CIRCLES];
    unsigned char stacks[CM_BLOCK][STACK]; /* the rest is zero when a launch begins */
} run;

static _Thread_local run *current;
static _Thread_local uint64_t directions = 1; /* random */

static unsigned char *memory_of(const run *r, int64_t item) {
    return r->memory ? r->memory + (size_t)item * (r->memory_bytes + GUARD) : NULL;
}

static void run_items(run *r, int index) {
    cm_lanes lanes = {index, r->count, r, NULL};
    for (int64_t i = 0; i < r->items; i++) {
        const int64_t item = r->backwards ? r->items - 1 - i : i;
        lanes.memory = (float *)(void *)memory_of(r, item);
        r->body(r->args, item, &lanes);
    }
}

UNSEEN static void run_lane(void) {
    run *r = current;
    int index = r->now;
    run_items(r, index);
    r->done[index] = true;
    r->steps++;
    change_sides(&r->lane[index], &r->hub);
}

/* The first of the lanes at the barrier of lane i. */
static int first_of(circle c, int i) {
    return c == ALL ? 0 : i / (LEAST_PART << (c - EIGHTS)) * (LEAST_PART << (c - EIGHTS));
}

static void check_barriers(const run *r) {
    for (circle c = ALL; c < CIRCLES; c++)
        for (int i = 0; i < r->count; i++) {
            const int64_t *number = r->barriers[c].number;
            if (number[i] != number[first_of(c, i)])
                ck_abort_msg("lane %d met %ld times, lane %d %ld times", i, (long)number[i], first_of(c, i),
                             (long)number[first_of(c, i)]);
        }
}

static void run_turns(run *r) {
    for (int left = r->count; left > 0;) {
        const int64_t steps = r->steps;
        left = 0;
        for (int i = 0; i < r->count; i++) {
            r->now = r->lanes_backwards ? r->count - 1 - i : i;
            if (!r->done[r->now]) change_sides(&r->hub, &r->lane[r->now]);
            left += !r->done[r->now];
        }
        if (left > 0 && steps == r->steps) ck_abort_msg("%d lanes wait for lanes that do not come", left);
    }
    check_barriers(r);
}

/* Memory of the items. Freed by the caller. */
static void alloc_memory(run *r, size_t bytes) {
    if (bytes == 0) return;
    r->memory_bytes = (bytes + 15) / 16 * 16;
    r->memory = malloc((size_t)r->items * (r->memory_bytes + GUARD));
    if (!r->memory) ck_abort_msg("no memory for the lanes");
    for (int64_t i = 0; i < r->items; i++) {
        memset(memory_of(r, i), NONSENSE, r->memory_bytes);
        memset(memory_of(r, i) + r->memory_bytes, GUARD_BYTE, GUARD);
    }
}

static void check_memory(const run *r) {
    for (int64_t i = 0; r->memory && i < r->items; i++)
        for (size_t k = 0; k < GUARD; k++)
            if (memory_of(r, i)[r->memory_bytes + k] != GUARD_BYTE)
                ck_abort_msg("written behind the memory that lanes share");
}

/* What the last launch was run in, for the next: launches are many, and fresh stacks are a page fault per lane each. */
static run *kept;

/* Returned with release. */
static run *acquire_run(void) {
    run *r = __atomic_exchange_n(&kept, NULL, __ATOMIC_ACQ_REL);
    if (!r) r = malloc(sizeof *r);
    if (!r) ck_abort_msg("no memory for a launch");
    memset(r, 0, offsetof(run, stacks));
    return r;
}

static void release(run *r) {
    free(r->memory);
    free(__atomic_exchange_n(&kept, r, __ATOMIC_ACQ_REL));
}

static void begin_lane(side *lane, unsigned char *stack) {
    if (getcontext(&lane->context) != 0) ck_abort_msg("no context for a lane");
    lane->context.uc_stack.ss_sp = stack;
    lane->context.uc_stack.ss_size = STACK;
    lane->context.uc_link = NULL; /* run_lane does not return */
    makecontext(&lane->context, run_lane, 0);
}

void lanes_run(lanes_body body, const void *args, int64_t items, int count, size_t memory) {
    if (count > CM_BLOCK) ck_abort_msg("%d lanes cannot be run", count);
    run *r = acquire_run();
    directions = directions * 6364136223846793005u + 1442695040888963407u;
    r->backwards = directions >> 63;
    r->lanes_backwards = directions >> 62 & 1;
    r->body = body, r->args = args, r->items = items, r->count = count;
    alloc_memory(r, memory);
    current = r;
    for (int i = 0; count > 1 && i < count; i++) begin_lane(&r->lane[i], r->stacks[i]);
    if (count > 1)
        run_turns(r);
    else
        run_items(r, 0);
    check_memory(r);
    release(r);
}

/* The barriers that a lane comes to as one of lanes->count, the first lane there, and the number of its part. */
static barriers *barriers_of(const cm_lanes *lanes, int *first, int *part) {
    run *r = lanes->barrier;
    circle c = ALL;
    if (lanes->count != r->count)
        for (c = EIGHTS; LEAST_PART << (c - EIGHTS) < lanes->count;) c++;
    *first = r->now - lanes->index;
    *part = *first / LEAST_PART;
    return &r->barriers[c];
}

/* Leaves a ticket and comes back when all lanes have: true for the first to come back, whose part it is to make the
 * result of the barrier. One lane alone waits for none. */
static bool sync_lanes(const cm_lanes *lanes, ticket mine) {
    run *r = lanes->barrier;
    int first, part;
    barriers *m = barriers_of(lanes, &first, &part);
    const int here = first + lanes->index;
    mine.number = ++m->number[here];
    ticket *all = &m->ticket[mine.number % 2][first];
    all[lanes->index] = mine;
    m->came[part]++;
    r->steps++;
    do change_sides(&r->lane[here], &r->hub);
    while (m->came[part] < mine.number * lanes->count);
    const ticket *next = &all[(lanes->index + 1) % lanes->count];
    if (next->number != mine.number || next->kind != mine.kind)
        ck_abort_msg("lane %d is not at barrier %ld of the lane before it", lanes->index + 1, (long)mine.number);
    const bool is_first = m->made[part] < mine.number;
    m->made[part] = mine.number;
    return is_first;
}

/* The tickets of the barrier that this lane comes from; the result is in the first one. */
static ticket *tickets(const cm_lanes *lanes) {
    int first, part;
    barriers *m = barriers_of(lanes, &first, &part);
    return &m->ticket[m->number[first + lanes->index] % 2][first];
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
    bool first = sync_lanes(lanes, (ticket){.kind = SUM, .value = value});
    ticket *all = tickets(lanes);
    if (first) all[0].value = tree_sum(all, lanes->count);
    return all[0].value;
}

float cm_lanes_max(const cm_lanes *lanes, float value) {
    if (lanes->count == 1) return value;
    bool first = sync_lanes(lanes, (ticket){.kind = MOST, .value = (double)value});
    ticket *all = tickets(lanes);
    for (int i = 1; first && i < lanes->count; i++) all[0].value = fmax(all[0].value, all[i].value);
    return (float)all[0].value;
}

cm_found cm_lanes_least(const cm_lanes *lanes, cm_found found) {
    if (lanes->count == 1) return found;
    bool first = sync_lanes(lanes, (ticket){.kind = LEAST, .found = found});
    ticket *all = tickets(lanes);
    for (int i = 1; first && i < lanes->count; i++) all[0].found = cm_found_least(all[0].found, all[i].found);
    return all[0].found;
}

void cm_lanes_sync(const cm_lanes *lanes) {
    if (lanes->count > 1) sync_lanes(lanes, (ticket){.kind = PLAIN});
}

float cm_lanes_sum_16(const cm_lanes *lanes, float value) {
    bool first = sync_lanes(lanes, (ticket){.kind = SUM_16, .value = (double)value});
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

/* ---- copies: at once, as early as a device could ---- */

void cm_lanes_send(const cm_lanes *lanes, void *to, const void *from) {
    (void)lanes;
    if ((uintptr_t)to % 16 != 0 || (uintptr_t)from % 16 != 0) ck_abort_msg("16 bytes are sent that are not aligned");
    memcpy(to, from, 16);
}

void cm_lanes_wait(const cm_lanes *lanes) { (void)lanes; }

/* ---- products ---- */

static float widened(uint32_t pair, int which, bool bfloat) {
    return cm_widen((uint16_t)(which ? pair >> 16 : pair & 0xffffu), bfloat ? CM_BF16 : CM_F16);
}

/* sum[row, column] += a[row, k] b[k, column] for all k < depth, in their order. */
static void add_products(ticket *all, int depth, float a[16][16], float b[16][8]) {
    for (int row = 0; row < 16; row++) {
        float sum[8];
        for (int c = 0; c < 8; c++) sum[c] = all[row % 8 * 4 + c / 2].sum[row / 8 * 2 + c % 2];
        for (int k = 0; k < depth; k++)
            for (int c = 0; c < 8; c++) sum[c] += a[row][k] * b[k][c];
        for (int c = 0; c < 8; c++) all[row % 8 * 4 + c / 2].sum[row / 8 * 2 + c % 2] = sum[c];
    }
}

/* a[row, k] and b[k, column] are brought by the lanes that lanes.h says. */
static void multiply(ticket *all) {
    float a[16][16], b[16][8];
    for (int k = 0; k < 16; k++) {
        for (int row = 0; row < 16; row++) {
            const ticket *t = &all[row % 8 * 4 + k % 8 / 2];
            a[row][k] = widened(t->a[row / 8 + k / 8 * 2], k % 2, t->bfloat);
        }
        for (int column = 0; column < 8; column++) {
            const ticket *t = &all[column * 4 + k % 8 / 2];
            b[k][column] = widened(t->b[k / 8], k % 2, t->bfloat);
        }
    }
    add_products(all, 16, a, b);
}

/* What all lanes bring is multiplied by the first that comes back; each finds its sums in the ticket that it gets. */
static const ticket *sync_for_product(const cm_lanes *lanes, const ticket *mine, void (*make)(ticket *all)) {
    if (lanes->count != CM_WARP) ck_abort_msg("%d lanes have no product", lanes->count);
    bool first = sync_lanes(lanes, *mine);
    ticket *all = tickets(lanes);
    if (first) make(all);
    return &all[lanes->index];
}

static void sync_for_sums(const cm_lanes *lanes, ticket *mine, float sum[4], void (*make)(ticket *all)) {
    memcpy(mine->sum, sum, sizeof mine->sum);
    memcpy(sum, sync_for_product(lanes, mine, make)->sum, sizeof mine->sum);
}

void cm_lanes_product(const cm_lanes *lanes, bool bfloat, const uint32_t a[4], const uint32_t b[2], float sum[4]) {
    ticket mine = {.kind = PRODUCT, .bfloat = bfloat};
    memcpy(mine.a, a, sizeof mine.a);
    memcpy(mine.b, b, sizeof mine.b);
    sync_for_sums(lanes, &mine, sum, multiply);
}

static void multiply_32(ticket *all) {
    float a[16][16], b[16][8];
    for (int k = 0; k < 8; k++) {
        for (int row = 0; row < 16; row++) a[row][k] = all[row % 8 * 4 + k % 4].a_32[row / 8 + k / 4 * 2];
        for (int column = 0; column < 8; column++) b[k][column] = all[column * 4 + k % 4].b_32[k / 4];
    }
    add_products(all, 8, a, b);
}

/* All of it in sum. */
void cm_lanes_product_32(const cm_lanes *lanes, const float a[4], const float b[2], float sum[4], float rest[2][4]) {
    (void)rest;
    ticket mine = {.kind = PRODUCT_32};
    memcpy(mine.a_32, a, sizeof mine.a_32);
    memcpy(mine.b_32, b, sizeof mine.b_32);
    sync_for_sums(lanes, &mine, sum, multiply_32);
}

static int byte_of(uint32_t word, int which) { return (int8_t)(word >> 8 * which & 255u); }

static void multiply_8(ticket *all) {
    for (int lane = 0; lane < CM_WARP; lane++)
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 32; k++) {
                const ticket *a = &all[lane / 4 * 4 + k % 16 / 4], *b = &all[(lane % 4 * 2 + i % 2) * 4 + k % 16 / 4];
                all[lane].whole[i] += byte_of(a->a[i / 2 + k / 16 * 2], k % 4) * byte_of(b->b[k / 16], k % 4);
            }
}

void cm_lanes_product_8(const cm_lanes *lanes, const uint32_t a[4], const uint32_t b[2], int32_t sum[4]) {
    ticket mine = {.kind = PRODUCT_8};
    memcpy(mine.a, a, sizeof mine.a);
    memcpy(mine.b, b, sizeof mine.b);
    memcpy(mine.whole, sum, sizeof mine.whole);
    memcpy(sum, sync_for_product(lanes, &mine, multiply_8)->whole, sizeof mine.whole);
}

uint32_t cm_lanes_pair(float low, float high, bool bfloat) {
    const cm_dtype type = bfloat ? CM_BF16 : CM_F16;
    return (uint32_t)cm_to_half(high, type) << 16 | cm_to_half(low, type);
}
