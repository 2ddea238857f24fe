/* Loads and stores: which memory an address is in, whether all of the access is inside, and the bytes. */
#include <inttypes.h>
#include <string.h>

#include "ptx/machine.h"

static const char *name_of(ptx_space space) {
    static const char *names[] = {"generic", "global", "shared", "local", "param"};
    return names[space];
}

/* A piece of the host's memory that stands for memory of a kind, between guards. */
typedef struct window {
    unsigned char *first;
    size_t bytes;
    uint64_t base; /* the address, in its space, of the first byte */
} window;

static window window_of(const thread *t, ptx_space space) {
    const block *b = t->block;
    if (space == PTX_SHARED) return (window){b->shared, b->shared_bytes, PTX_SHARED_BASE};
    if (space == PTX_LOCAL) return (window){t->local, b->local_bytes, PTX_LOCAL_BASE};
    return (window){b->parameters, b->parameter_bytes, PTX_PARAM_BASE};
}

static bool is_near(const window *w, uint64_t address) {
    return w->bytes > 0 && address - ((uint64_t)(uintptr_t)w->first - PTX_GUARD) < w->bytes + 2 * (uint64_t)PTX_GUARD;
}

static const ptx_space windowed[] = {PTX_SHARED, PTX_LOCAL, PTX_PARAM};
enum { WINDOWS = sizeof windowed / sizeof *windowed };

/* The space that a generic address is in. */
static ptx_space space_of(const thread *t, uint64_t address) {
    for (int k = 0; k < WINDOWS; k++) {
        const window w = window_of(t, windowed[k]);
        if (is_near(&w, address)) return windowed[k];
    }
    return PTX_GLOBAL;
}

static inline unsigned char *placed(thread *t, uint64_t address, size_t bytes, ptx_space *space) {
    if (*space == PTX_SHARED) address &= UINT32_MAX;
    uint64_t offset = address;
    if (*space == PTX_GENERIC) {
        *space = space_of(t, address);
        if (*space != PTX_GLOBAL) offset = address - (uint64_t)(uintptr_t)window_of(t, *space).first;
    } else if (*space != PTX_GLOBAL) {
        offset = address - window_of(t, *space).base;
    }
    if (offset & (bytes - 1))
        ptx_fail(t, "%zu bytes of %s memory at 0x%" PRIx64 ", which is no multiple of them", bytes, name_of(*space),
                 address);
    if (*space == PTX_GLOBAL) return (unsigned char *)(uintptr_t)address; /* NOLINT: as the kernel got it */
    const window w = window_of(t, *space);
    if (offset > w.bytes || bytes > w.bytes - offset)
        ptx_fail(t, "%zu bytes at byte %" PRId64 " of %zu of %s memory", bytes, (int64_t)offset, w.bytes,
                 name_of(*space));
    return w.first + offset;
}

unsigned char *ptx_place(thread *t, uint64_t address, size_t bytes, ptx_space *space) {
    return placed(t, address, bytes, space);
}

static unsigned char *place(thread *t, const ptx_instruction *i, uint64_t address, size_t bytes, ptx_space *space) {
    *space = i->space;
    unsigned char *at = placed(t, address, bytes, space);
    const uintptr_t first = *space == PTX_GLOBAL ? 0 : (uintptr_t)window_of(t, *space).first;
    if (t->block->profile) ptx_profile_access(t, i, (uintptr_t)at - first, *space);
    return at;
}

static uint64_t address_of(thread *t, const ptx_instruction *i, ptx_operand base) {
    (void)i;
    return (i->space == PTX_SHARED ? PTX_VALUE(base).u32 : PTX_VALUE(base).u64) + (uint64_t)i->offset[0];
}

/* bytes is 1, 2, 4 or 8. */
static uint64_t extended(const unsigned char *from, int bytes, bool is_signed) {
    ptx_value value = {0};
    memcpy(&value, from, (size_t)bytes);
    const int spare = 64 - 8 * bytes;
    return is_signed ? (uint64_t)((int64_t)(value.u64 << spare) >> spare) : value.u64;
}

void ptx_load(thread *t, const ptx_instruction *i) {
    ptx_space space;
    const int all = i->bytes * i->count;
    const unsigned char *from = place(t, i, address_of(t, i, i->o[i->count]), (size_t)all, &space);
    ptx_races_access(t, from, all, i->used, space, false);
    for (int k = 0; k < i->count; k++) {
        const unsigned char *element = from + k * i->bytes;
        if (i->bytes == 4 && !i->is_signed) {
            uint32_t word;
            memcpy(&word, element, sizeof word);
            PTX_AT(k).u64 = word;
        } else {
            PTX_AT(k).u64 = extended(element, i->bytes, i->is_signed);
        }
    }
}

void ptx_store(thread *t, const ptx_instruction *i) {
    ptx_space space;
    const int all = i->bytes * i->count;
    unsigned char *to = place(t, i, address_of(t, i, i->o[0]), (size_t)all, &space);
    if (space == PTX_PARAM) ptx_fail(t, "arguments are not written");
    ptx_races_access(t, to, all, i->used, space, true);
    for (int k = 0; k < i->count; k++) memcpy(to + k * i->bytes, &PTX_AT(k + 1), i->bytes);
}

/* Something of the line must be there to be read, or it is not needed. */
void ptx_prefetch(thread *t, const ptx_instruction *i) {
    ptx_space space;
    const volatile unsigned char *from = place(t, i, address_of(t, i, i->o[0]), 1, &space);
    (void)*from;
}

void ptx_to_generic(thread *t, const ptx_instruction *i) {
    if (i->space == PTX_GLOBAL) {
        PTX_AT(0).u64 = PTX_AT(1).u64;
        return;
    }
    const window w = window_of(t, i->space);
    PTX_AT(0).u64 = (uint64_t)(uintptr_t)w.first + PTX_AT(1).u64 - w.base;
}

void ptx_from_generic(thread *t, const ptx_instruction *i) {
    if (i->space == PTX_GLOBAL) {
        PTX_AT(0).u64 = PTX_AT(1).u64;
        return;
    }
    const window w = window_of(t, i->space);
    PTX_AT(0).u64 = PTX_AT(1).u64 - (uint64_t)(uintptr_t)w.first + w.base;
}

/* ---- from register to register, several values in one ---- */

bool ptx_move(const ptx_group *g, const ptx_instruction *i) {
    ptx_value space[PTX_WARP];
    ptx_value *to = ptx_results(g, i, 0);
    const ptx_value *from = ptx_lanes_of(g, i, 1, space);
    PTX_EACH_LANE(lane, g->mask) to[lane] = from[lane];
    return true;
}

bool ptx_pack(const ptx_group *g, const ptx_instruction *i) {
    const uint64_t mask = UINT64_MAX >> (64 - 8 * i->bytes);
    ptx_value space[PTX_WARP], all[PTX_WARP] = {{0}};
    for (int k = 0; k < i->count; k++) {
        const ptx_value *from = ptx_lanes_of(g, i, k + 1, space);
        for (int lane = 0; lane < PTX_WARP; lane++) all[lane].u64 |= (from[lane].u64 & mask) << (8 * i->bytes * k);
    }
    PTX_EACH_LANE(lane, g->mask) ptx_results(g, i, 0)[lane] = all[lane];
    return true;
}

bool ptx_unpack(const ptx_group *g, const ptx_instruction *i) {
    const uint64_t mask = UINT64_MAX >> (64 - 8 * i->bytes);
    ptx_value space[PTX_WARP], all[PTX_WARP];
    memcpy(all, ptx_lanes_of(g, i, i->count, space), sizeof all);
    for (int k = 0; k < i->count; k++) {
        ptx_value *to = ptx_results(g, i, k);
        PTX_EACH_LANE(lane, g->mask) to[lane].u64 = all[lane].u64 >> (8 * i->bytes * k) & mask;
    }
    return true;
}
