/* Runs a launch: its blocks one after the other, their threads interleaved. */
#include "ptx/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONSENSE = 0xff };

void ptx_where(const ptx_module *module, const ptx_instruction *i, char *text) {
    const char *source = ptx_source(module, i->source);
    int length = 0;
    if (source) length = snprintf(text, PTX_WHERE, "%.80s:%d, ", source, i->line);
    snprintf(text + length, (size_t)(PTX_WHERE - length), "line %d of the text", i->text_line);
}

void ptx_fail(thread *t, const char *format, ...) {
    block *b = t->block;
    char where[PTX_WHERE];
    ptx_where(b->entry->module, t->at, where);
    const int length =
        snprintf(b->why, PTX_LINE, "thread %d of block %lld, %s: ", t->index, (long long)b->index, where);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(b->why + length, (size_t)(PTX_LINE - length), format, arguments);
    va_end(arguments);
    longjmp(b->stop, 1);
}

int ptx_warps(const block *b) { return (b->launch->threads + PTX_WARP - 1) / PTX_WARP; }

size_t ptx_registers_of(const block *b) { return (size_t)ptx_warps(b) * PTX_WARP * b->register_count; }

/* Lane by lane of a warp's part of `all`, which has so many values for each lane. */
static ptx_value *part_of(const thread *t, ptx_value *all, size_t values) {
    return &all[(size_t)(t->index / PTX_WARP) * values * PTX_WARP + (size_t)(t->index % PTX_WARP)];
}

ptx_value *ptx_registers(const thread *t) { return part_of(t, t->block->registers, t->block->register_count); }

/* ---- a block ---- */

static void begin_thread(block *b, int index) {
    thread *t = &b->threads[index];
    *t = (thread){
        .function = b->entry,
        .at = b->entry->code,
        .index = (uint16_t)index,
        .clock = 1,
        .local = b->locals + PTX_GUARD + (size_t)index * (b->local_bytes + 2 * PTX_GUARD),
        .block = b,
    };
    t->base[PTX_REGISTERS] = ptx_registers(t);
    t->base[PTX_CONSTANTS] = ptx_constants(b->entry->module);
    t->base[PTX_SPECIAL] = part_of(t, b->special, PTX_SPECIALS);
    const int64_t special[PTX_SPECIALS] = {
        [PTX_TID] = index,
        [PTX_LANEID] = index % PTX_WARP,
        [PTX_CTAID] = b->index,
        [PTX_NTID] = b->launch->threads,
        [PTX_NCTAID] = b->launch->blocks,
        [PTX_ASKED] = PTX_SHARED_BASE + (int64_t)b->entry->shared_bytes,
    };
    for (int k = 0; k < PTX_SPECIALS; k++) t->base[PTX_SPECIAL][k * PTX_WARP].s64 = special[k];
    if (b->local_bytes) memset(t->local, NONSENSE, b->local_bytes);
}

/* Every warp in turn, then the barriers: false when all threads have ended. */
static bool run_turns(block *b) {
    const int threads = b->launch->threads;
    bool any = false, left = false;
    for (int first = 0; first < threads; first += PTX_WARP) {
        const int warp = b->launch->threads_backwards ? (threads - 1) / PTX_WARP * PTX_WARP - first : first;
        do any |= ptx_run_warp(b, warp);
        while (ptx_sync_warp(b, warp));
    }
    for (int k = 0; k < threads; k++) left |= b->threads[k].state != PTX_ENDED;
    if (left && !ptx_sync_block(b) && !any) ptx_fail_barrier(b);
    return left;
}

static void run_block(block *b, int64_t index) {
    b->index = index;
    b->epoch++;
    if (b->shared_bytes) memset(b->shared, NONSENSE, b->shared_bytes);
    for (int k = 0; k < b->launch->threads; k++) begin_thread(b, k);
    if (b->profile) ptx_profile_begin_block(b);
    while (run_turns(b)) continue;
    ptx_products_end_block(b);
    if (b->profile) ptx_profile_end_block(b);
}

/* ---- a launch ---- */

struct ptx_machine {
    ptx_value *registers; /* [count] */
    size_t count;
    struct races *races;
};

ptx_machine *ptx_machine_open(void) {
    ptx_machine *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->races = ptx_races_open();
    if (m->races) return m;
    free(m);
    return NULL;
}

void ptx_machine_close(ptx_machine *m) {
    if (!m) return;
    ptx_races_close(m->races);
    free(m->registers);
    free(m);
}

/* Registers of the entry and of what it calls, one below the other. */
static size_t registers_of(const ptx_function *f, int depth) {
    size_t most = 0;
    for (int k = 0; k < f->length && depth < PTX_DEPTH; k++) {
        if (!f->code[k].function) continue;
        const size_t below = registers_of(f->code[k].function, depth + 1);
        if (below > most) most = below;
    }
    return f->registers + most;
}

static void copy_parameters(block *b) {
    for (int k = 0; k < b->entry->parameters_n; k++) {
        const ptx_parameter *p = &b->entry->parameters[k];
        memcpy(b->parameters + p->offset, b->launch->parameters[k], p->bytes);
    }
}

/* Bytes between guards. */
static unsigned char *allocate(size_t bytes) {
    unsigned char *all = malloc(bytes + 2 * PTX_GUARD);
    return all ? all + PTX_GUARD : NULL;
}

static void release(unsigned char *first) {
    if (first) free(first - PTX_GUARD);
}

/* Registers are not cleared: a kernel writes one before it reads it. */
static bool reserve_registers(ptx_machine *m, size_t count) {
    if (count <= m->count) return true;
    free(m->registers);
    m->count = 0;
    m->registers = malloc(count * sizeof *m->registers);
    if (m->registers) m->count = count;
    return m->registers;
}

static bool open_block(ptx_machine *m, block *b) {
    const ptx_function *entry = b->entry;
    const size_t threads = (size_t)b->launch->threads;
    b->register_count = registers_of(entry, 0);
    b->local_bytes = ptx_local_bytes(entry->module);
    b->parameter_bytes = entry->parameter_bytes;
    b->shared_bytes = entry->shared_bytes + b->launch->shared;
    b->threads = calloc(threads, sizeof *b->threads);
    b->shared = allocate(b->shared_bytes);
    b->parameters = allocate(b->parameter_bytes);
    b->special = calloc((size_t)ptx_warps(b) * PTX_SPECIALS * PTX_WARP, sizeof *b->special);
    b->locals = malloc(threads * (b->local_bytes + 2 * PTX_GUARD));
    b->copies = ptx_copies_open(b->launch->threads);
    b->products = ptx_products_open(ptx_warps(b));
    if (!b->threads || !b->special || !b->shared || !b->parameters || !b->locals || !b->copies || !b->products)
        return false;
    if (!reserve_registers(m, ptx_registers_of(b))) return false;
    b->registers = m->registers;
    b->races = m->races;
    ptx_races_begin(b->races);
    copy_parameters(b);
    b->profile = b->launch->profile;
    return !b->profile || ptx_profile_begin(b);
}

static void close_block(block *b) {
    ptx_products_close(b->products, ptx_warps(b));
    ptx_copies_close(b->copies, b->launch->threads);
    free(b->locals);
    free(b->special);
    release(b->parameters);
    release(b->shared);
    free(b->threads);
}

static bool run_blocks(block *b) {
    const int64_t blocks = b->launch->blocks;
    if (setjmp(b->stop)) return false;
    for (int64_t k = 0; k < blocks; k++) run_block(b, b->launch->backwards ? blocks - 1 - k : k);
    return true;
}

bool ptx_run(ptx_machine *machine, const ptx_function *entry, const ptx_launch *launch, char *why) {
    block b = {.entry = entry, .launch = launch, .why = why};
    const int most = entry->max_threads && entry->max_threads < PTX_THREADS ? (int)entry->max_threads : PTX_THREADS;
    if (launch->threads < 1 || launch->threads > most || launch->blocks < 1 || launch->blocks > INT32_MAX) {
        snprintf(why, PTX_LINE, "%.120s: %lld blocks of %d threads, of at most %d", entry->name,
                 (long long)launch->blocks, launch->threads, most);
        return false;
    }
    bool ok = open_block(machine, &b);
    if (ok)
        ok = run_blocks(&b);
    else
        snprintf(why, PTX_LINE, "no memory for a block");
    close_block(&b);
    return ok;
}
