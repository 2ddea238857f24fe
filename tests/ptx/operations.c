/* The operations on registers: a function for each row of operations.def, and the table that finds it by its name. */
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/machine.h"
#include "tensor/tensor.h"

typedef uint64_t of_u64, of_b64;
typedef int64_t of_s64;
typedef uint32_t of_u32, of_b32, of_pred;
typedef int32_t of_s32;
typedef uint16_t of_u16, of_b16;
typedef int16_t of_s16;
typedef float of_f32;
typedef double of_f64;

/* ---- what rows say ---- */

static void check_divisor(const ptx_group *g, const ptx_instruction *i, uint32_t lane, bool is_zero) {
    if (!is_zero) return;
    g->all[lane].at = i;
    ptx_fail(&g->all[lane], "a division by 0");
}

#define DIVISOR(b) (check_divisor(g, i, lane, (b) == 0), (b))

/* Bytes of b and a, which begin with number 4 and 0, by the digits of `which`; 8 is added for eight times their sign.
 */
static uint32_t permuted(uint32_t a, uint32_t b, uint32_t which) {
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) {
        const uint32_t digit = which >> 4 * i & 15, of = digit % 8;
        const uint32_t byte = (of < 4 ? a >> 8 * of : b >> 8 * (of - 4)) & 255;
        result |= (digit < 8 ? byte : byte >> 7 ? 255u : 0u) << 8 * i;
    }
    return result;
}

/* c and the products of four bytes with a sign. */
static uint32_t dot_of_bytes(uint32_t a, uint32_t b, uint32_t c) {
    for (int i = 0; i < 4; i++) c += (uint32_t)((int8_t)(a >> 8 * i) * (int8_t)(b >> 8 * i));
    return c;
}

/* The NaN that a device makes. */
static float made(float x) {
    static const union {
        uint32_t bits;
        float value;
    } nan = {0x7fffffff};
    return x != x ? nan.value : x;
}

/* A NaN gives way to a number; -0 is less than 0. */
static float least_f32(float a, float b) {
    if (a != a) return b;
    return b != b || a < b || (a == b && signbit(a)) ? a : b;
}

static double least_f64(double a, double b) {
    if (a != a) return b;
    return b != b || a < b || (a == b && signbit(a)) ? a : b;
}

/* Out of range, to its end; a NaN, to 0. */
static double truncated(double a, double from, double to) {
    if (a != a) return 0.0;
    return a <= from ? from : a >= to ? to : trunc(a);
}

/* volatile: made between the changes of the mode. */
static float rounded_sum(volatile float a, volatile float b, int mode) {
    fesetround(mode);
    volatile float sum = a + b;
    fesetround(FE_TONEAREST);
    return sum;
}

static float rounded_fma(volatile float a, volatile float b, volatile float c, int mode) {
    fesetround(mode);
    volatile float result = fmaf(a, b, c);
    fesetround(FE_TONEAREST);
    return result;
}

/* What .ftz makes of subnormal numbers. */
static float flushed(float x) { return fpclassify(x) == FP_SUBNORMAL ? copysignf(0.0f, x) : x; }

/* rcp.approx.ftz.f64 reads and gives no more than the upper 32 bits. */
static double high_half(double x) {
    ptx_value value = {.f64 = fpclassify(x) == FP_SUBNORMAL ? copysign(0.0, x) : x};
    value.u64 &= ~(uint64_t)UINT32_MAX;
    return value.f64;
}

static uint16_t narrow(float x, cm_dtype type) { return x != x ? 0x7fff : cm_to_half(x, type); }

/* ---- functions ---- */

#define GIVE(type, expression) out[lane].type = (of_##type)(expression)

/* `each` is done for every lane of the group. Lanes that read and write the same register are the same lane. */
#define FUNCTION(name, operands, each)                                                                                 \
    static bool run_##name(const ptx_group *g, const ptx_instruction *i) {                                             \
        ptx_value space[operands][PTX_WARP];                                                                           \
        const ptx_value *in[operands];                                                                                 \
        ptx_value *out = ptx_results(g, i, 0);                                                                         \
        for (int n = 0; n < (operands); n++) in[n] = ptx_lanes_of(g, i, n + 1, space[n]);                              \
        if (g->mask == UINT32_MAX) {                                                                                   \
            for (uint32_t lane = 0; lane < PTX_WARP; lane++) each;                                                     \
        } else {                                                                                                       \
            PTX_EACH_LANE(lane, g->mask) each;                                                                         \
        }                                                                                                              \
        return true;                                                                                                   \
    }
#define UNARY(name, to, from, expression)                                                                              \
    FUNCTION(name, 1, {                                                                                                \
        const of_##from a = in[0][lane].from;                                                                          \
        GIVE(to, expression);                                                                                          \
    })
#define BINARY(name, to, from, expression)                                                                             \
    FUNCTION(name, 2, {                                                                                                \
        const of_##from a = in[0][lane].from;                                                                          \
        const of_##from b = in[1][lane].from;                                                                          \
        GIVE(to, expression);                                                                                          \
    })
#define TERNARY(name, to, from, expression)                                                                            \
    FUNCTION(name, 3, {                                                                                                \
        const of_##from a = in[0][lane].from;                                                                          \
        const of_##from b = in[1][lane].from;                                                                          \
        const of_##from c = in[2][lane].from;                                                                          \
        GIVE(to, expression);                                                                                          \
    })
#define SHIFT(name, type, expression)                                                                                  \
    FUNCTION(name, 2, {                                                                                                \
        const of_##type a = in[0][lane].type;                                                                          \
        const uint32_t by = in[1][lane].u32;                                                                           \
        GIVE(type, expression);                                                                                        \
    })
#define SELECT(name, type) FUNCTION(name, 3, GIVE(type, in[2][lane].pred ? in[0][lane].type : in[1][lane].type))
#include "ptx/operations.def"
#undef UNARY
#undef BINARY
#undef TERNARY
#undef SHIFT
#undef SELECT

static void run_trap(thread *t, const ptx_instruction *i) {
    (void)i;
    ptx_fail(t, "it traps");
}

/* All launches ahead have ended: there is one at a time. */
static void run_wait_for_launches(thread *t, const ptx_instruction *i) { (void)t, (void)i; }
static void run_let_next_begin(thread *t, const ptx_instruction *i) { (void)t, (void)i; }

/* Does it work on registers alone, and on arguments? */
static bool is_of_registers(const ptx_instruction *i) {
    if (!i->run || i->run == ptx_to_generic || i->run == ptx_from_generic) return true;
    return i->run == ptx_load && i->space == PTX_PARAM;
}

bool ptx_waits_first(const ptx_function *entry) {
    int k = 0;
    while (k < entry->length && is_of_registers(&entry->code[k])) k++;
    return k < entry->length && entry->code[k].run == run_wait_for_launches && !entry->code[k].is_guarded;
}

/* ---- the table ---- */

#define UNARY(name, to, from, expression)   {#name, 2, NULL, run_##name},
#define BINARY(name, to, from, expression)  {#name, 3, NULL, run_##name},
#define TERNARY(name, to, from, expression) {#name, 4, NULL, run_##name},
#define SHIFT(name, type, expression)       {#name, 3, NULL, run_##name},
#define SELECT(name, type)                  {#name, 4, NULL, run_##name},

static ptx_operation rows[] = {
#include "ptx/operations.def"
    {"trap", 0, run_trap, NULL},
    {"ret", 0, ptx_return, NULL},
    {"ret_uni", 0, ptx_return, NULL},
    {"exit", 0, ptx_return, NULL},
    {"griddepcontrol_wait", 0, run_wait_for_launches, NULL},
    {"griddepcontrol_launch_dependents", 0, run_let_next_begin, NULL},
    {"prefetch_L1", 1, ptx_prefetch, NULL},
    {"bar_sync", 1, ptx_come_to_barrier, NULL},
    {"bar_warp_sync", 1, ptx_come_to_warp_barrier, NULL},
    {"shfl_sync_bfly_b32", 6, ptx_come_to_shuffle, ptx_shuffle},
    {"shfl_sync_idx_b32", 6, ptx_come_to_shuffle_from, ptx_shuffle},
    {"cp_async_commit_group", 0, ptx_commit_copies, NULL},
    {"cp_async_wait_group", 1, ptx_wait_for_copies, NULL},
    {"cp_async_wait_all", 0, ptx_wait_for_all_copies, NULL},
    {"fence_proxy_async", 0, ptx_fence, NULL},
    {"fence_proxy_async_shared__cta", 0, ptx_fence, NULL},
    {"wgmma_fence_sync_aligned", 0, ptx_come_to_group_fence, NULL},
    {"wgmma_commit_group_sync_aligned", 0, ptx_come_to_group_commit, NULL},
    {"wgmma_wait_group_sync_aligned", 1, ptx_come_to_group_wait, NULL},
    {"mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32", 14, ptx_come_to_bf16_product, NULL},
    {"mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32", 14, ptx_come_to_f16_product, NULL},
    {"mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32", 14, ptx_come_to_tf32_product, NULL},
    {"mma_sync_aligned_m16n8k32_row_col_s32_s8_s8_s32", 14, ptx_come_to_s8_product, NULL},
};

static int by_name(const void *a, const void *b) {
    return strcmp(((const ptx_operation *)a)->name, ((const ptx_operation *)b)->name);
}

const ptx_operation *ptx_operation_named(const char *name) {
    static bool is_sorted;
    if (!is_sorted) qsort(rows, sizeof rows / sizeof *rows, sizeof *rows, by_name);
    is_sorted = true;
    const ptx_operation key = {.name = name};
    return bsearch(&key, rows, sizeof rows / sizeof *rows, sizeof *rows, by_name);
}
