/* Products of warp groups, wgmma: a warp's part of each, 16 of 64 rows, is made from shared memory as it is when the
 * warp waits for the product's group, and not before; sums are in registers until then as they were, and are added to
 * as they are then. Shared memory counts as read when a product is issued and when it is made. */
#include <stdlib.h>
#include <string.h>

#include "ptx/machine.h"
#include "tensor/tensor.h"

enum { GROUP = 4, ROWS = 16, DEPTH = 16, COLUMNS = 256, CORE = 8, PIECE = 16, AT_FIRST = 16 };

typedef struct product {
    const ptx_instruction *at;
    uint64_t a, b; /* descriptors */
    bool adds;     /* to the sums that are there */
    uint32_t group;
    uint64_t end; /* in cycles of the profile */
} product;

/* Of a warp, in the order of the text. */
typedef struct ptx_products {
    product *all;
    int count, capacity;
    uint32_t groups;           /* that it has closed */
    bool is_fenced;            /* it has come to a wgmma.fence */
    uint64_t trace;            /* of all that it has issued in the block: the same in all warps of a group */
    const ptx_instruction *at; /* of the last one */
} ptx_products;

struct ptx_products *ptx_products_open(int warps) {
    return calloc((size_t)warps, sizeof(ptx_products));
}

void ptx_products_close(struct ptx_products *products, int warps) {
    for (int k = 0; products && k < warps; k++) free(products[k].all);
    free(products);
}

static ptx_products *products_of(const thread *t) { return &t->block->products[t->index / PTX_WARP]; }

static void come(thread *t) { ptx_come(t, PTX_SYNCS, UINT32_MAX); }

void ptx_come_to_bf16_group(thread *t, const ptx_instruction *i) {
    (void)i;
    come(t);
}

void ptx_come_to_f16_group(thread *t, const ptx_instruction *i) {
    (void)i;
    come(t);
}

void ptx_come_to_group_fence(thread *t, const ptx_instruction *i) {
    (void)i;
    come(t);
}

void ptx_come_to_group_commit(thread *t, const ptx_instruction *i) {
    (void)i;
    come(t);
}

void ptx_come_to_group_wait(thread *t, const ptx_instruction *i) {
    (void)i;
    come(t);
}

bool ptx_is_of_group(const ptx_instruction *i) {
    return i->run == ptx_come_to_bf16_group || i->run == ptx_come_to_f16_group || i->run == ptx_come_to_group_fence ||
           i->run == ptx_come_to_group_commit || i->run == ptx_come_to_group_wait;
}

/* ---- factors in shared memory ---- */

/* Both in pieces of 8 rows by 8 columns, 128 bytes one after the other, row by row (PTX ISA, "Matrix Descriptor",
 * K-major and not swizzled); a of [64, 16], b of [n, 16], as its columns are rows here. */
typedef struct factors {
    double a[ROWS][DEPTH], b[DEPTH][COLUMNS];
} factors;

static uint64_t field(uint64_t descriptor, int first) { return (descriptor >> first & 0x3fff) * PIECE; }

static void check_descriptor(thread *t, uint64_t descriptor) {
    const uint64_t known = 0x3fff | (uint64_t)0x3fff << 16 | (uint64_t)0x3fff << 32;
    if (descriptor & ~known)
        ptx_fail(t, "the matrix descriptor 0x%016llx is not known here: swizzled, or with another offset of its base",
                 (unsigned long long)descriptor);
}

/* The piece of rows from 8 * row, of columns from 8 * column on. */
static const unsigned char *piece_of(thread *all, uint64_t descriptor, int row, int column) {
    const uint64_t address =
        field(descriptor, 0) + (uint64_t)row * field(descriptor, 32) + (uint64_t)column * field(descriptor, 16);
    ptx_space space = PTX_SHARED;
    const unsigned char *first = ptx_place(all, address, PIECE, &space);
    ptx_place(all, address + (CORE - 1) * PIECE, PIECE, &space);
    /* Two lanes stand for all of the warp: no lane is both. */
    for (int k = 0; k < CORE; k++) {
        ptx_races_factor(&all[0], first + k * PIECE, PIECE);
        ptx_races_factor(&all[PTX_WARP - 1], first + k * PIECE, PIECE);
    }
    return first;
}

static double number(const unsigned char *piece, int row, int column, cm_dtype type) {
    uint16_t bits;
    memcpy(&bits, piece + row * PIECE + column * (int)sizeof bits, sizeof bits);
    return (double)cm_widen(bits, type);
}

/* f: NULL where they are not asked for yet. */
static void read_factors(thread *all, const product *p, factors *f) {
    const int warp = all->index / PTX_WARP % GROUP, columns = 2 * p->at->count;
    const cm_dtype type = p->at->run == ptx_come_to_bf16_group ? CM_BF16 : CM_F16;
    for (int half = 0; half < DEPTH / CORE; half++) {
        for (int part = 0; part < ROWS / CORE; part++) {
            const unsigned char *piece = piece_of(all, p->a, warp * (ROWS / CORE) + part, half);
            for (int k = 0; f && k < CORE * CORE; k++)
                f->a[part * CORE + k / CORE][half * CORE + k % CORE] = number(piece, k / CORE, k % CORE, type);
        }
        for (int part = 0; part < columns / CORE; part++) {
            const unsigned char *piece = piece_of(all, p->b, part, half);
            for (int k = 0; f && k < CORE * CORE; k++)
                f->b[half * CORE + k % CORE][part * CORE + k / CORE] = number(piece, k / CORE, k % CORE, type);
        }
    }
}

/* ---- what warps do ---- */

/* Lane 4 g + q has of rows g and g + 8 the columns 8 j + 2 q and the next, in d[4 j] to d[4 j + 3]. */
static ptx_value *sum_at(thread *all, const ptx_instruction *i, int row, int column) {
    const thread *t = &all[row % 8 * 4 + column % 8 / 2];
    return &ptx_registers(t)[i->o[column / 8 * 4 + row / 8 * 2 + column % 2].at];
}

static void multiply(thread *all, const product *p) {
    const ptx_instruction *i = p->at;
    const thread *t = all;
    const int columns = 2 * i->count;
    const double sign = (double)(PTX_AT(i->count + 3).s32 * PTX_AT(i->count + 4).s32);
    factors f;
    read_factors(all, p, &f);
    for (int row = 0; row < ROWS; row++) {
        double sums[COLUMNS];
        for (int n = 0; n < columns; n++) sums[n] = p->adds ? (double)sum_at(all, i, row, n)->f32 : 0.0;
        for (int k = 0; k < DEPTH; k++) {
            const double a = sign * f.a[row][k];
            for (int n = 0; n < columns; n++) sums[n] += a * f.b[k][n];
        }
        for (int n = 0; n < columns; n++) sum_at(all, i, row, n)->f32 = (float)sums[n];
    }
}

static product *add(thread *t, ptx_products *mine) {
    if (mine->count == mine->capacity) {
        const int capacity = mine->capacity ? 2 * mine->capacity : AT_FIRST;
        product *wider = realloc(mine->all, (size_t)capacity * sizeof *wider);
        if (!wider) ptx_fail(t, "no memory for products");
        mine->all = wider;
        mine->capacity = capacity;
    }
    return &mine->all[mine->count++];
}

static product product_of(thread *t) {
    const ptx_instruction *i = t->at;
    const int at = i->count;
    return (product){.at = i, .a = PTX_AT(at).u64, .b = PTX_AT(at + 1).u64, .adds = PTX_AT(at + 2).pred};
}

static void check_product(thread *t, const ptx_products *mine, const product *first) {
    const product p = product_of(t);
    const int threads = GROUP * PTX_WARP;
    if (t->depth) ptx_fail(t, "products of warp groups in a .func are not known here");
    if (t->index / threads * threads + threads > t->block->launch->threads)
        ptx_fail(t, "its warp group has not all its %d threads", threads);
    if (!mine->is_fenced) ptx_fail(t, "it multiplies without a wgmma.fence ahead of it");
    if (p.a != first->a || p.b != first->b || p.adds != first->adds)
        ptx_fail(t, "it multiplies something else than the first lane of its warp");
}

static uint64_t mixed(uint64_t trace, uint64_t with) { return (trace ^ with) * 0x9e3779b97f4a7c15u + 1; }

static void issue(thread *all, ptx_products *mine) {
    product p = product_of(all);
    for (int k = 0; k < PTX_WARP; k++) check_product(&all[k], mine, &p);
    check_descriptor(all, p.a);
    check_descriptor(all, p.b);
    p.group = mine->groups;
    for (int k = 0; k < PTX_WARP && all->block->profile; k++) p.end = ptx_profile_product(&all[k], p.at->count);
    read_factors(all, &p, NULL);
    mine->trace = mixed(mixed(mixed(mine->trace, p.a), p.b), (uint64_t)p.at->number << 1 | p.adds);
    mine->at = p.at;
    *add(all, mine) = p;
}

static void finish(thread *all, const product *p) {
    const ptx_instruction *here = all->at;
    for (int k = 0; k < PTX_WARP; k++) {
        if (all->block->profile) ptx_profile_until(&all[k], p->end);
        all[k].at = p->at;
    }
    multiply(all, p);
    for (int k = 0; k < PTX_WARP; k++) all[k].at = here;
}

/* All products but those of the last `pending` groups. */
static void wait_for(thread *all, ptx_products *mine, uint32_t pending) {
    int done = 0;
    while (done < mine->count && (uint64_t)mine->all[done].group + pending < mine->groups)
        finish(all, &mine->all[done++]);
    mine->count -= done;
    if (done) memmove(mine->all, mine->all + done, (size_t)mine->count * sizeof *mine->all);
}

void ptx_sync_group(thread *all) {
    const ptx_instruction *i = all->at;
    const thread *t = all;
    ptx_products *mine = products_of(all);
    if (i->run == ptx_come_to_group_fence)
        mine->is_fenced = true;
    else if (i->run == ptx_come_to_group_commit)
        mine->groups++;
    else if (i->run == ptx_come_to_group_wait)
        wait_for(all, mine, PTX_AT(0).u32);
    else
        issue(all, mine);
}

/* ---- what must be so at the end ---- */

void ptx_products_end_thread(thread *t) {
    if (products_of(t)->count) ptx_fail(t, "it ends and has not waited for all its products");
}

void ptx_products_end_block(block *b) {
    ptx_products *all = b->products;
    for (int k = 0; k < ptx_warps(b); k++) {
        const ptx_products *first = &all[k / GROUP * GROUP];
        if (all[k].trace == first->trace) continue;
        thread *t = &b->threads[k * PTX_WARP];
        t->at = all[k].at ? all[k].at : first->at;
        ptx_fail(t, "its warp has not multiplied the same as the first one of its warp group");
    }
    for (int k = 0; k < ptx_warps(b); k++) all[k].is_fenced = false, all[k].trace = 0, all[k].at = NULL;
}
