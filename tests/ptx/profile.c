#include "ptx/profile.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/machine.h"
#include "ptx/requests.h"

/* Of global memory: what the L2 cache has. Of a product of a warp group: besides the cycles that tensor cores are at
 * it. */
enum { LATENCY_SHARED = 30, LATENCY_GLOBAL = 270, LATENCY_LOCAL = 35, LATENCY_PRODUCT = 30 };

/* An instruction of one, in all launches. */
typedef struct tally {
    uint64_t cycles, issued, executed;
    ptx_traffic traffic;
    ptx_space space;
} tally;

/* What a thread did, the latest first: instruction `at` took it so many cycles. */
typedef struct link {
    uint32_t before, cycles; /* before: 0 has none */
    int at;
} link;

/* How far a thread is. From one jump to the next, or to a barrier, instructions are in the order that is best for them;
 * accesses stay behind the writes before them, and writes after accesses. */
typedef struct pace {
    uint64_t clock;             /* all so far are issued */
    uint64_t first, count;      /* when the straight run began, its instructions */
    uint64_t at, write, access; /* when the last one was issued, the last write, the last access */
    uint64_t product;           /* when tensor cores are done with what they have of its warp */
    uint32_t tail;              /* of links */
} pace;

typedef struct counter {
    uint32_t epoch, count;
} counter;

struct ptx_profile {
    const ptx_function *entry;
    tally *all; /* [instructions] */
    int instructions;
    uint64_t launches, blocks, longest;
    int threads;

    /* Of the block that runs. */
    pace *of;             /* [threads] */
    uint64_t *ready;      /* [registers of all threads] */
    counter *mine, *most; /* [threads, instructions], [warps, instructions]: since the last barrier */
    uint32_t epoch;
    link *links;
    size_t links_n, links_capacity;
    ptx_requests *requests; /* of the time since the last barrier */
};

ptx_profile *ptx_profile_open(const ptx_function *entry) {
    ptx_profile *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->entry = entry;
    p->instructions = ptx_instructions(entry->module);
    p->all = calloc((size_t)p->instructions, sizeof *p->all);
    p->requests = ptx_requests_open();
    if (p->all && p->requests) return p;
    ptx_profile_close(p);
    return NULL;
}

static void forget_block(ptx_profile *p) {
    free(p->of);
    free(p->ready);
    free(p->mine);
    free(p->most);
    p->of = NULL;
    p->ready = NULL;
    p->mine = p->most = NULL;
}

void ptx_profile_close(ptx_profile *p) {
    if (!p) return;
    forget_block(p);
    ptx_requests_close(p->requests);
    free(p->links);
    free(p->all);
    free(p);
}

/* ---- a launch ---- */

bool ptx_profile_begin(block *b) {
    ptx_profile *p = b->profile;
    const size_t threads = (size_t)b->launch->threads, instructions = (size_t)p->instructions;
    forget_block(p);
    p->threads = b->launch->threads;
    p->of = malloc(threads * sizeof *p->of);
    p->ready = malloc(ptx_registers_of(b) * sizeof *p->ready);
    p->mine = calloc(threads * instructions, sizeof *p->mine);
    p->most = calloc((threads + PTX_WARP - 1) / PTX_WARP * instructions, sizeof *p->most);
    p->epoch = 1;
    p->launches++;
    return p->of && p->ready && p->mine && p->most;
}

void ptx_profile_begin_block(block *b) {
    ptx_profile *p = b->profile;
    const size_t threads = (size_t)p->threads;
    memset(p->of, 0, threads * sizeof *p->of);
    memset(p->ready, 0, ptx_registers_of(b) * sizeof *p->ready);
    p->links_n = 1;
    p->blocks++;
}

/* ---- a thread ---- */

static tally *tally_of(const thread *t, const ptx_instruction *i) { return &t->block->profile->all[i->number]; }

/* When a register is there; NULL for what is always there. */
static uint64_t *ready_of(thread *t, ptx_operand o) {
    if (o.base != PTX_REGISTERS) return NULL;
    return &t->block->profile->ready[t->base[PTX_REGISTERS] + o.at - t->block->registers];
}

static void wait_for(thread *t, ptx_operand o, uint64_t *at) {
    const uint64_t *ready = ready_of(t, o);
    if (ready && *ready > *at) *at = *ready;
}

static void add_link(thread *t, const ptx_instruction *i, uint64_t cycles) {
    ptx_profile *p = t->block->profile;
    if (p->links_n >= p->links_capacity) {
        const size_t capacity = p->links_capacity ? 2 * p->links_capacity : 1 << 16;
        link *wider = capacity <= UINT32_MAX ? realloc(p->links, capacity * sizeof *wider) : NULL;
        if (!wider) ptx_fail(t, "no memory for the profile");
        p->links = wider;
        p->links_capacity = capacity;
    }
    p->links[p->links_n] = (link){p->of[t->index].tail, (uint32_t)cycles, i->number};
    p->of[t->index].tail = (uint32_t)p->links_n++;
}

/* How many of an instruction there have been since the last barrier. */
static uint32_t count(counter *c, uint32_t epoch) {
    if (c->epoch != epoch) *c = (counter){epoch, 0};
    return ++c->count;
}

static uint32_t times_of(const thread *t, const ptx_instruction *i) {
    const ptx_profile *p = t->block->profile;
    return p->mine[(size_t)t->index * (size_t)p->instructions + (size_t)i->number].count;
}

static void count_instruction(thread *t, const ptx_instruction *i) {
    ptx_profile *p = t->block->profile;
    const size_t all = (size_t)p->instructions, at = (size_t)i->number;
    counter *most = &p->most[(size_t)(t->index / PTX_WARP) * all + at];
    const uint32_t times = count(&p->mine[(size_t)t->index * all + at], p->epoch);
    p->all[at].executed++;
    if (most->epoch == p->epoch && times <= most->count) return;
    count(most, p->epoch);
    p->all[at].issued++;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static bool is_barrier(const ptx_instruction *i) {
    return i->run == ptx_come_to_barrier || i->run == ptx_come_to_warp_barrier || ptx_is_of_group(i) ||
           i->run == ptx_wait_for_copies || i->run == ptx_wait_for_all_copies || i->run == ptx_fence;
}

static bool ends_straight_run(const ptx_instruction *i) {
    return i->run == ptx_branch || i->run == ptx_call || i->run == ptx_return || is_barrier(i);
}

void ptx_profile_issue(thread *t, const ptx_instruction *i) {
    pace *of = &t->block->profile->of[t->index];
    const bool reads = i->run == ptx_load && i->space != PTX_PARAM, writes = i->run == ptx_store;
    uint64_t at = ends_straight_run(i) ? of->clock : of->first;
    for (int k = i->writes; k < i->operands; k++) wait_for(t, i->o[k], &at);
    if (i->is_guarded) wait_for(t, i->guard, &at);
    if (reads || writes) at = later(at, writes ? of->access : of->write);
    const uint64_t clock = later(of->first + ++of->count, later(of->clock, at + 1));
    if (clock > of->clock) add_link(t, i, clock - of->clock);
    of->clock = clock;
    of->at = at;
    if (writes) of->write = at;
    if (reads || writes) of->access = later(of->access, at);
    if (ends_straight_run(i)) of->first = clock, of->count = 0;
    count_instruction(t, i);
}

void ptx_profile_result(thread *t, const ptx_instruction *i) {
    for (int k = 0; k < i->writes; k++) {
        uint64_t *ready = ready_of(t, i->o[k]);
        if (ready) *ready = t->block->profile->of[t->index].at + i->latency;
    }
}

static uint64_t latency_of(ptx_space space) {
    return space == PTX_SHARED ? LATENCY_SHARED : space == PTX_GLOBAL ? LATENCY_GLOBAL : LATENCY_LOCAL;
}

void ptx_profile_access(thread *t, const ptx_instruction *i, uint64_t address, ptx_space space) {
    const ptx_profile *p = t->block->profile;
    const int bytes = i->bytes * i->count;
    if (space == PTX_PARAM || bytes == 0) return;
    for (int k = 0; k < i->writes; k++) {
        uint64_t *ready = ready_of(t, i->o[k]);
        if (ready) *ready += latency_of(space);
    }
    tally_of(t, i)->space = space;
    if (space == PTX_LOCAL) return;
    const ptx_request key = {t->index / PTX_WARP, i->number, times_of(t, i), bytes, space};
    if (!ptx_requests_add(p->requests, &key, t->index % PTX_WARP, address)) ptx_fail(t, "no memory for the profile");
}

/* ---- asynchronous work ---- */

uint64_t ptx_profile_copy(thread *t) { return t->block->profile->of[t->index].at + LATENCY_GLOBAL; }

/* The tensor cores of a warp take its products one after the other. */
uint64_t ptx_profile_product(thread *t, int cycles) {
    pace *of = &t->block->profile->of[t->index];
    of->product = later(of->product, of->clock) + (uint64_t)cycles;
    return of->product + LATENCY_PRODUCT;
}

void ptx_profile_until(thread *t, uint64_t when) {
    pace *of = &t->block->profile->of[t->index];
    if (when <= of->clock) return;
    add_link(t, t->at, when - of->clock);
    of->first = of->clock = when;
    of->count = 0;
}

/* ---- those at a barrier ---- */

/* All lanes go on as the last one that has come. */
static void wait_for_last(ptx_profile *p, int first, int end, uint32_t mask) {
    int last = -1;
    for (int k = first; k < end; k++)
        if (mask >> (k - first) % PTX_WARP & 1 && (last < 0 || p->of[k].clock > p->of[last].clock)) last = k;
    for (int k = first; k < end; k++)
        if (mask >> (k - first) % PTX_WARP & 1) p->of[k] = p->of[last];
}

void ptx_profile_sync(block *b, int first, uint32_t mask) {
    const int end = first + PTX_WARP < b->launch->threads ? first + PTX_WARP : b->launch->threads;
    wait_for_last(b->profile, first, end, mask);
    for (int k = first; k < end; k++)
        if (mask >> (k - first) & 1) ptx_profile_result(&b->threads[k], b->threads[k].at);
}

static void add_traffic(void *to, const ptx_request *request, const ptx_traffic *traffic) {
    tally *of = &((ptx_profile *)to)->all[request->instruction];
    of->traffic.requests += traffic->requests;
    of->traffic.units += traffic->units;
    of->traffic.least += traffic->least;
}

/* What the slowest one did since the last barrier is what the block has waited for. */
static void settle(block *b) {
    ptx_profile *p = b->profile;
    wait_for_last(p, 0, p->threads, UINT32_MAX);
    for (uint32_t at = p->of[0].tail; at; at = p->links[at].before)
        p->all[p->links[at].at].cycles += p->links[at].cycles;
    for (int k = 0; k < p->threads; k++) p->of[k].tail = 0;
    p->links_n = 1;
    p->epoch++;
    ptx_requests_settle(p->requests, add_traffic, p);
}

void ptx_profile_barrier(block *b) {
    ptx_profile *p = b->profile;
    settle(b);
    const ptx_instruction *i = b->threads[0].at;
    for (int k = 0; k < p->threads; k++) p->of[k].first = p->of[k].clock += i->latency;
    p->all[i->number].cycles += i->latency;
}

void ptx_profile_end_block(block *b) {
    ptx_profile *p = b->profile;
    settle(b);
    if (p->of[0].clock > p->longest) p->longest = p->of[0].clock;
}

/* ---- what it says ---- */

static void add(tally *to, const tally *more) {
    to->cycles += more->cycles;
    to->issued += more->issued;
    to->executed += more->executed;
    to->traffic.requests += more->traffic.requests;
    to->traffic.units += more->traffic.units;
    to->traffic.least += more->traffic.least;
    if (more->traffic.requests) to->space = more->space;
}

ptx_cost ptx_profile_total(const ptx_profile *p) {
    tally of[PTX_PARAM + 1] = {{0}};
    ptx_cost total = {0};
    for (int k = 0; k < p->instructions; k++) add(&of[p->all[k].space], &p->all[k]);
    for (int k = 0; k <= PTX_PARAM; k++)
        total.cycles += of[k].cycles, total.issued += of[k].issued, total.executed += of[k].executed;
    total.shared = of[PTX_SHARED].traffic;
    total.global = of[PTX_GLOBAL].traffic;
    return total;
}

typedef struct place {
    int source, line;
    tally of;
} place;

typedef struct places {
    const ptx_profile *profile;
    place *all;
    int count;
} places;

static void add_place(void *to, const ptx_instruction *i) {
    places *list = to;
    const tally *mine = &list->profile->all[i->number];
    int at = 0;
    if (mine->executed == 0) return;
    while (at < list->count && (list->all[at].source != i->source || list->all[at].line != i->line)) at++;
    if (at == list->count) list->all[list->count++] = (place){.source = i->source, .line = i->line};
    add(&list->all[at].of, mine);
}

static int most_cycles_first(const void *a, const void *b) {
    const uint64_t x = ((const place *)a)->of.cycles, y = ((const place *)b)->of.cycles;
    return (x < y) - (x > y);
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static double ratio(uint64_t a, uint64_t b) { return b ? (double)a / (double)b : 0.0; }

static void print_place(const ptx_profile *p, const place *line, uint64_t cycles, FILE *out) {
    static const char *spaces[] = {[PTX_SHARED] = "shared", [PTX_GLOBAL] = "global"};
    const char *source = ptx_source(p->entry->module, line->source);
    const tally *of = &line->of;
    char name[PTX_WHERE];
    snprintf(name, sizeof name, "%.100s:%d", source ? last_part(source) : "?", line->line);
    fprintf(out, "  %-28s %10.0f %6.1f %10.0f %6.1f", name, ratio(of->cycles, p->blocks),
            100.0 * ratio(of->cycles, cycles), ratio(of->issued, p->blocks), ratio(of->executed, of->issued));
    if (of->traffic.requests)
        fprintf(out, "   %-6s %6.2f of %.2f units", spaces[of->space], ratio(of->traffic.units, of->traffic.requests),
                ratio(of->traffic.least, of->traffic.requests));
    fputc('\n', out);
}

static void print_traffic(const char *name, const ptx_traffic *t, FILE *out) {
    if (t->requests)
        fprintf(out, "  %s: %llu requests, %.2f units each where %.2f would do\n", name,
                (unsigned long long)t->requests, ratio(t->units, t->requests), ratio(t->least, t->requests));
}

void ptx_profile_print(const ptx_profile *p, int lines, FILE *out) {
    const ptx_cost total = ptx_profile_total(p);
    places list = {.profile = p, .all = calloc((size_t)p->instructions + 1, sizeof(place))};
    fprintf(out, "%s: %llu launches, %llu blocks of %d threads\n", p->entry->name, (unsigned long long)p->launches,
            (unsigned long long)p->blocks, p->threads);
    fprintf(out, "  cycles of a block: %.0f, of the longest one %llu; 4 slots a cycle take %.0f\n",
            ratio(total.cycles, p->blocks), (unsigned long long)p->longest, ratio(total.issued, 4 * p->blocks));
    print_traffic("shared", &total.shared, out);
    print_traffic("global", &total.global, out);
    if (!list.all) return;
    ptx_each_instruction(p->entry->module, add_place, &list);
    qsort(list.all, (size_t)list.count, sizeof *list.all, most_cycles_first);
    fprintf(out, "  %-28s %10s %6s %10s %6s\n", "line", "cycles", "%", "issued", "lanes");
    for (int k = 0; k < list.count && k < lines; k++) print_place(p, &list.all[k], total.cycles, out);
    free(list.all);
}
