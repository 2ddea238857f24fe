/* Barriers, where threads wait until all that are to come are there, then go on together. */
#include <stdio.h>
#include <string.h>

#include "ptx/machine.h"
#include "tensor/tensor.h"

void ptx_come(thread *t, ptx_state state, uint32_t mask) {
    t->state = state;
    t->mask = mask;
    if (state == PTX_SYNCS && !(mask >> t->index % PTX_WARP & 1))
        ptx_fail(t, "it is not in the mask 0x%x of those at a barrier", mask);
}

void ptx_come_to_barrier(thread *t, const ptx_instruction *i) {
    if (PTX_AT(0).u32 != 0) ptx_fail(t, "no other barrier than 0 is known here");
    ptx_come(t, PTX_WAITS, UINT32_MAX);
}

void ptx_come_to_warp_barrier(thread *t, const ptx_instruction *i) { ptx_come(t, PTX_SYNCS, PTX_AT(0).u32); }
void ptx_come_to_shuffle(thread *t, const ptx_instruction *i) { ptx_come(t, PTX_SYNCS, PTX_AT(5).u32); }
void ptx_come_to_shuffle_from(thread *t, const ptx_instruction *i) { ptx_come(t, PTX_SYNCS, PTX_AT(5).u32); }

void ptx_come_to_bf16_product(thread *t, const ptx_instruction *i) {
    (void)i;
    ptx_come(t, PTX_SYNCS, UINT32_MAX);
}

void ptx_come_to_f16_product(thread *t, const ptx_instruction *i) {
    (void)i;
    ptx_come(t, PTX_SYNCS, UINT32_MAX);
}

void ptx_come_to_tf32_product(thread *t, const ptx_instruction *i) {
    (void)i;
    ptx_come(t, PTX_SYNCS, UINT32_MAX);
}

void ptx_come_to_s8_product(thread *t, const ptx_instruction *i) {
    (void)i;
    ptx_come(t, PTX_SYNCS, UINT32_MAX);
}

static bool is_shuffle(const ptx_instruction *i) {
    return i->run == ptx_come_to_shuffle || i->run == ptx_come_to_shuffle_from;
}

/* Where only the operation says which lanes wait for which, not its place: the others are .aligned. */
static bool is_anywhere(const ptx_instruction *i) { return i->run == ptx_come_to_warp_barrier || is_shuffle(i); }

static bool is_same_barrier(const thread *a, const thread *b) {
    if (b->state != a->state || a->mask != b->mask || a->at->run != b->at->run) return false;
    return a->at == b->at || is_anywhere(a->at) || a->index / PTX_WARP != b->index / PTX_WARP;
}

/* ---- what they do ---- */

/* Lanes that met at a barrier of their warp have seen what each of them had. */
static void order(thread *all, uint32_t mask) {
    uint32_t seen[PTX_WARP] = {0};
    for (int k = 0; k < PTX_WARP; k++) {
        if (!(mask >> k & 1)) continue;
        for (int of = 0; of < PTX_WARP; of++)
            if (all[k].seen[of] > seen[of]) seen[of] = all[k].seen[of];
        seen[k] = all[k].clock;
    }
    for (int k = 0; k < PTX_WARP; k++)
        if (mask >> k & 1) {
            memcpy(all[k].seen, seen, sizeof seen);
            all[k].clock++;
            all[k].known_fences = all[k].fences;
        }
}

/* shfl.sync.bfly.b32 and .idx.b32 d|p, a, b, c, mask: from the lane whose number differs in the bits of b, or from lane
 * b, within segments that c says (PTX ISA, 9.7.9.6). */
typedef struct request {
    uint32_t from;
    bool is_inside; /* the lane that is asked for is one of the segment; else it is the lane's own */
} request;

static request request_of(bool is_far, uint32_t lane, uint32_t b, uint32_t c) {
    const uint32_t limit = c & 31, segment = c >> 8 & 31, most = (lane & segment) | (limit & ~segment);
    const uint32_t asked = is_far ? lane ^ (b & 31) : (lane & segment) | (b & 31 & ~segment);
    return asked <= most ? (request){asked, true} : (request){lane, false};
}

static void shuffle(thread *all, uint32_t mask) {
    uint32_t brought[PTX_WARP] = {0};
    PTX_EACH_LANE(lane, mask) {
        const thread *t = &all[lane];
        const ptx_instruction *i = t->at;
        brought[lane] = PTX_AT(2).u32;
    }
    PTX_EACH_LANE(lane, mask) {
        thread *t = &all[lane];
        const ptx_instruction *i = t->at;
        const request r = request_of(i->run == ptx_come_to_shuffle, lane, PTX_AT(3).u32, PTX_AT(4).u32);
        if (!(mask >> r.from & 1)) ptx_fail(t, "it shuffles with lane %u, which is not in the mask 0x%x", r.from, mask);
        PTX_AT(0).u64 = brought[r.from];
        PTX_AT(1).u64 = r.is_inside;
    }
}

/* Where all that a lane waits for are next to it, and it asks none of them that is not in its mask. */
bool ptx_shuffle(const ptx_group *g, const ptx_instruction *i) {
    ptx_value space[4][PTX_WARP];
    const ptx_value *in[4];
    uint32_t brought[PTX_WARP];
    request requests[PTX_WARP];
    for (int n = 0; n < 4; n++) in[n] = ptx_lanes_of(g, i, n + 2, space[n]);
    if (g->all->block->profile) return false;
    PTX_EACH_LANE(lane, g->mask) {
        requests[lane] = request_of(i->run == ptx_come_to_shuffle, lane, in[1][lane].u32, in[2][lane].u32);
        brought[lane] = in[0][lane].u32;
        if (in[3][lane].u32 != g->mask || !(g->mask >> requests[lane].from & 1)) return false;
    }
    PTX_EACH_LANE(lane, g->mask) {
        ptx_results(g, i, 0)[lane].u64 = brought[requests[lane].from];
        ptx_results(g, i, 1)[lane].u64 = requests[lane].is_inside;
    }
    return true;
}

/* mma.m16n8k16 of f16 or bf16 with sums of f32: element i of a fragment's, low half first, is the matrix's at a row and
 * a column (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type"):
 *     a[8]  row    group for i = 0, 1, 4, 5, else group + 8      column  2 member + i % 2, from i = 4 on + 8
 *     b[4]  row    2 member + i % 2, from i = 2 on + 8           column  group
 *     c[4]  row    group for i = 0, 1, else group + 8            column  2 member + i % 2
 * where group = lane / 4 and member = lane % 4. Of mma.m16n8k8 of tf32 ("... for mma.m16n8k8"):
 *     a[4]  row    group for i = 0, 2, else group + 8            column  member, from i = 2 on + 4
 *     b[2]  row    member, from i = 1 on + 4                     column  group */
enum { ROWS = 16, COLUMNS = 8, DEPTH = 16, D = 0, A = 4, B = 8, C = 10 };

/* Zeros after a depth of 8. */
typedef struct factors {
    double a[ROWS][DEPTH], b[DEPTH][COLUMNS];
} factors;

static double half_of(const thread *t, int first, int k, cm_dtype type) {
    const ptx_instruction *i = t->at;
    return (double)cm_widen((uint16_t)(PTX_AT(first + k / 2).u32 >> k % 2 * 16), type);
}

static void read_halves(const thread *t, cm_dtype type, factors *f) {
    const int group = t->index % PTX_WARP / 4, member = t->index % 4;
    for (int k = 0; k < 8; k++)
        f->a[k % 4 < 2 ? group : group + 8][2 * member + k % 2 + (k < 4 ? 0 : 8)] = half_of(t, A, k, type);
    for (int k = 0; k < 4; k++) f->b[2 * member + k % 2 + (k < 2 ? 0 : 8)][group] = half_of(t, B, k, type);
}

/* The ISA leaves open what becomes of the bits that tf32 does not have. */
static double tf32_of(thread *t, int operand) {
    const ptx_instruction *i = t->at;
    if (PTX_AT(operand).u32 & 0x1fff) ptx_fail(t, "a factor of tf32 has bits that this type does not");
    return (double)PTX_AT(operand).f32;
}

static void read_tf32(thread *t, factors *f) {
    const int group = t->index % PTX_WARP / 4, member = t->index % 4;
    for (int k = 0; k < 4; k++) f->a[group + k % 2 * 8][member + k / 2 * 4] = tf32_of(t, A + k);
    for (int k = 0; k < 2; k++) f->b[member + k * 4][group] = tf32_of(t, B + k);
}

static void write_sums(thread *t, const factors *f) {
    const ptx_instruction *i = t->at;
    const int group = t->index % PTX_WARP / 4, member = t->index % 4;
    float sums[4];
    for (int k = 0; k < 4; k++) {
        const int row = k < 2 ? group : group + 8, column = 2 * member + k % 2;
        double sum = (double)PTX_AT(C + k).f32;
        for (int at = 0; at < DEPTH; at++) sum += f->a[row][at] * f->b[at][column];
        sums[k] = (float)sum;
    }
    for (int k = 0; k < 4; k++) PTX_AT(D + k).f32 = sums[k];
}

/* mma.m16n8k32 of s8 with sums of s32, which wrap: a word is four neighbours along the sum, and word i of a and b is
 * where number i of those of tf32 is. */
enum { WORD = 4, BYTES_DEPTH = 32 };

typedef struct whole_factors {
    int8_t a[ROWS][BYTES_DEPTH], b[BYTES_DEPTH][COLUMNS];
} whole_factors;

static void read_bytes(const thread *t, whole_factors *f) {
    const ptx_instruction *i = t->at;
    const int group = t->index % PTX_WARP / 4, member = t->index % 4;
    for (int k = 0; k < 4; k++)
        for (int byte = 0; byte < WORD; byte++)
            f->a[group + k % 2 * 8][WORD * (member + k / 2 * 4) + byte] = (int8_t)(PTX_AT(A + k).u32 >> 8 * byte);
    for (int k = 0; k < 2; k++)
        for (int byte = 0; byte < WORD; byte++)
            f->b[WORD * (member + k * 4) + byte][group] = (int8_t)(PTX_AT(B + k).u32 >> 8 * byte);
}

static void write_whole_sums(thread *t, const whole_factors *f) {
    const ptx_instruction *i = t->at;
    const int group = t->index % PTX_WARP / 4, member = t->index % 4;
    uint32_t sums[4];
    for (int k = 0; k < 4; k++) {
        const int row = k < 2 ? group : group + 8, column = 2 * member + k % 2;
        sums[k] = PTX_AT(C + k).u32;
        for (int at = 0; at < BYTES_DEPTH; at++) sums[k] += (uint32_t)(f->a[row][at] * f->b[at][column]);
    }
    for (int k = 0; k < 4; k++) PTX_AT(D + k).u64 = sums[k];
}

static void multiply_bytes(thread *all) {
    whole_factors f;
    for (int k = 0; k < PTX_WARP; k++) read_bytes(&all[k], &f);
    for (int k = 0; k < PTX_WARP; k++) write_whole_sums(&all[k], &f);
}

static void multiply(thread *all) {
    const ptx_run_function run = all[0].at->run;
    if (run == ptx_come_to_s8_product) {
        multiply_bytes(all);
        return;
    }
    factors f = {.a = {{0.0}}};
    for (int k = 0; k < PTX_WARP; k++) {
        if (run == ptx_come_to_tf32_product)
            read_tf32(&all[k], &f);
        else
            read_halves(&all[k], run == ptx_come_to_bf16_product ? CM_BF16 : CM_F16, &f);
    }
    for (int k = 0; k < PTX_WARP; k++) write_sums(&all[k], &f);
}

/* ---- lanes that are there ---- */

static int warp_end(const block *b, int first) {
    return first + PTX_WARP < b->launch->threads ? first + PTX_WARP : b->launch->threads;
}

/* Whether all whom the thread waits for are there. */
static bool is_complete(const block *b, const thread *t, int first) {
    const int end = warp_end(b, first);
    for (int k = 0; k < PTX_WARP; k++) {
        if (!(t->mask >> k & 1)) continue;
        if (first + k >= end || !is_same_barrier(t, &b->threads[first + k])) return false;
    }
    return true;
}

static void sync_lanes(block *b, int first, const thread *t) {
    thread *all = &b->threads[first];
    const uint32_t mask = t->mask;
    if (b->profile) ptx_profile_sync(b, first, mask);
    if (t->at->run == ptx_come_to_warp_barrier)
        order(all, mask);
    else if (is_shuffle(t->at))
        shuffle(all, mask);
    else if (ptx_is_of_group(t->at))
        ptx_sync_group(all);
    else
        multiply(all);
    for (int k = 0; k < PTX_WARP; k++)
        if (mask >> k & 1) all[k].state = PTX_RUNS;
}

bool ptx_sync_at_once(block *b, int first, uint32_t mask) {
    const thread *all = &b->threads[first];
    PTX_EACH_LANE(lane, mask) if (all[lane].state != PTX_SYNCS || all[lane].mask != mask) return false;
    sync_lanes(b, first, &all[__builtin_ctz(mask)]);
    return true;
}

bool ptx_sync_warp(block *b, int first) {
    bool any = false;
    for (int k = first; k < warp_end(b, first); k++) {
        thread *t = &b->threads[k];
        if (t->state != PTX_SYNCS || !is_complete(b, t, first)) continue;
        sync_lanes(b, first, t);
        any = true;
    }
    return any;
}

/* bar.sync is for all threads of the block, of a warp by the same instruction. */
bool ptx_sync_block(block *b) {
    for (int k = 0; k < b->launch->threads; k++) {
        const thread *t = &b->threads[k];
        if (t->state != PTX_WAITS || !is_same_barrier(t, &b->threads[k / PTX_WARP * PTX_WARP])) return false;
    }
    b->epoch++;
    if (b->profile) ptx_profile_barrier(b);
    for (int k = 0; k < b->launch->threads; k++) {
        b->threads[k].state = PTX_RUNS;
        b->threads[k].known_fences = b->threads[k].fences;
    }
    return true;
}

static const char *doing(const thread *t) {
    return t->state == PTX_ENDED   ? "has ended"
           : t->state == PTX_WAITS ? "waits at a barrier of the block"
                                   : "is at a barrier";
}

void ptx_fail_barrier(block *b) {
    thread *waiting = NULL;
    for (int k = 0; k < b->launch->threads && !waiting; k++)
        if (b->threads[k].state != PTX_ENDED) waiting = &b->threads[k];
    const int first = waiting->state == PTX_WAITS ? 0 : waiting->index / PTX_WARP * PTX_WARP;
    for (int k = first; k < b->launch->threads; k++) {
        thread *other = &b->threads[k];
        const bool is_asked = waiting->state == PTX_WAITS || (waiting->mask >> k % PTX_WARP & 1);
        if (other == waiting || !is_asked || is_same_barrier(waiting, other)) continue;
        ptx_fail(waiting, "it waits for thread %d, which %s at line %d of the text", k, doing(other),
                 other->at->text_line);
    }
    ptx_fail(waiting, "it waits for threads that its block or warp does not have (mask 0x%x)", waiting->mask);
}
