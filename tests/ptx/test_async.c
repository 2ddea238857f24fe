/* The interpreter of PTX: asynchronous work, copies into shared memory and products of warp groups.
 */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ptx/by_hand.h"
#include "support/main.h"
#include "tensor/tensor.h"

enum { GROUP = 128, ROWS = 64, DEPTH = 16, RESULT = 8192 };

#define BEGIN_GROUP BEGIN_FOR("sm_90a", "256")

/* ---- copies ---- */

/* What `body`, which copies from words[0] on, leaves in words[8] to words[11] of %r1 to %r4. */
static void expect_copied(const char *body, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    char text[TEXT];
    const uint32_t want[] = {a, b, c, d};
    for (uint32_t k = 0; k < 8; k++) words[k] = 10 + k;
    fill(text,
         BEGIN "mov.u32 %r9, own; st.shared.v4.u32 [own], {1, 2, 3, 4}; st.shared.v4.u32 [own+16], {5, 6, 7, 8};\n"
               "BODY\nst.global.v4.u32 [%d0+32], {%r1, %r2, %r3, %r4};" END,
         "BODY", body);
    expect_ok(text, 1, 1);
    for (int k = 0; k < 4; k++) ck_assert_msg(words[8 + k] == want[k], "%s: %d: %08x", body, k, words[8 + k]);
}

#define READ "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [own];"

START_TEST(copies_are_there_once_they_are_waited_for) {
    expect_copied("cp.async.cg.shared.global [%r9], [%d0+16], 16; cp.async.commit_group; cp.async.wait_group 0;" READ,
                  14, 15, 16, 17);
    expect_copied("cp.async.cg.shared::cta.global.L2::128B [%r9+0], [%d0], 16; cp.async.wait_all;" READ, 10, 11, 12,
                  13);
    expect_copied("cp.async.ca.shared.global.L2::256B [%r9+8], [%d0], 8; cp.async.ca.shared.global [%r9], [%d0+8], 4;\n"
                  "cp.async.wait_all;" READ,
                  12, 2, 10, 11);
    /* After the bytes that are read come zeros; and none need be read at all. */
    expect_copied("mov.u32 %r8, 6; cp.async.cg.shared.global [%r9], [%d0], 16, %r8; cp.async.wait_all;" READ, 10, 11, 0,
                  0);
    expect_copied("cp.async.ca.shared.global [%r9+8], [%d0], 8, 0; cp.async.wait_all;" READ, 1, 2, 0, 0);
}
END_TEST

/* Nor is what they will lie on. */
START_TEST(copies_are_not_there_before) {
    const uint32_t none = UINT32_MAX;
    expect_copied("cp.async.cg.shared.global [%r9], [%d0], 16;" READ, none, none, none, none);
    expect_copied("cp.async.ca.shared.global [%r9], [%d0], 4; cp.async.commit_group;" READ, none, 2, 3, 4);
    expect_copied("cp.async.ca.shared.global [%r9], [%d0], 4; cp.async.wait_group 0;" READ, none, 2, 3, 4);
    expect_copied("cp.async.ca.shared.global [%r9], [%d0], 4; cp.async.commit_group;\n"
                  "cp.async.ca.shared.global [%r9+4], [%d0], 4; cp.async.commit_group;\n"
                  "cp.async.ca.shared.global [%r9+8], [%d0], 4; cp.async.wait_group 1;" READ,
                  10, none, none, 4);
    expect_copied("cp.async.ca.shared.global [%r9], [%d0], 4; cp.async.commit_group; cp.async.commit_group;\n"
                  "cp.async.wait_group 1; ld.shared.u32 %r1, [own]; cp.async.ca.shared.global [%r9], [%d0+4], 4;\n"
                  "ld.shared.u32 %r2, [own]; cp.async.wait_group 0; ld.shared.u32 %r3, [own]; cp.async.wait_all;\n"
                  "ld.shared.u32 %r4, [own];",
                  10, none, none, 11);
}
END_TEST

/* ---- products ---- */

static float a_at(int row, int k) { return (float)((row * 7 + k * 3) % 11 - 5); }
static float b_at(int k, int column) { return (float)((k * 5 + column * 2) % 13 - 6); }

/* words[0...]: a's pieces, of 8 rows one after the other; b's, of the first half of k and then of the other. */
static void write_factors(int n, cm_dtype type) {
    uint16_t *a = (uint16_t *)words, *b = a + ROWS * DEPTH;
    for (int k = 0; k < DEPTH; k++) {
        for (int row = 0; row < ROWS; row++)
            a[row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8] = cm_to_half(a_at(row, k), type);
        for (int column = 0; column < n; column++)
            b[k / 8 * n * 8 + column * 8 + k % 8] = cm_to_half(b_at(k, column), type);
    }
}

typedef struct kernel {
    char text[TEXT];
    size_t length;
} kernel;

__attribute__((format(printf, 2, 3))) static void put(kernel *k, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    k->length += (size_t)vsnprintf(k->text + k->length, TEXT - k->length, format, arguments);
    va_end(arguments);
    ck_assert_uint_lt(k->length, TEXT);
}

/* The factors of words[0...] into shared memory, %d2 and %d3 their descriptors, sum k of a thread is k. */
static void put_head(kernel *k, int n, const char *fence) {
    const int pieces = (ROWS + n) * 2;
    k->length = 0;
    put(k, "%s.reg .f32 %%s<128>; .shared .align 128 .b8 factors[%d];\nmov.u32 %%r9, factors;\n", BEGIN_GROUP,
        pieces * 16);
    for (int first = 0; first < pieces; first += GROUP)
        put(k,
            "add.s32 %%r2, %%r0, %d; setp.lt.u32 %%p1, %%r2, %d; setp.lt.u32 %%p2, %%r0, 128; and.pred %%p1, %%p1, "
            "%%p2;\nmul.wide.u32 %%d4, %%r2, 16; add.s64 %%d4, %%d0, %%d4; shl.b32 %%r3, %%r2, 4; add.s32 %%r3, %%r3, "
            "%%r9;\n@%%p1 cp.async.cg.shared.global [%%r3], [%%d4], 16;\n",
            first, pieces);
    put(k, "cp.async.commit_group; cp.async.wait_group 0;\n%s\n", fence);
    put(k, "shr.u32 %%r4, %%r9, 4; cvt.u64.u32 %%d4, %%r4; or.b64 %%d2, %%d4, 0x%llx;\n", 16ull << 32 | 8ull << 16);
    put(k, "add.s64 %%d4, %%d4, %d; or.b64 %%d3, %%d4, 0x%llx; setp.eq.s32 %%p1, 1, 1; setp.eq.s32 %%p2, 1, 2;\n",
        ROWS * DEPTH * 2 / 16, 8ull << 32 | (unsigned long long)n << 16);
    for (int s = 0; s < n / 2; s++) {
        float value = (float)s;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        put(k, "mov.f32 %%s%d, 0f%08X;", s, bits);
    }
}

#define FENCED "fence.proxy.async; bar.sync 0;"

static void put_product(kernel *k, int n, const char *type, const char *rest) {
    put(k, "\nwgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {", n, type, type);
    for (int s = 0; s < n / 2; s++) put(k, "%s%%s%d", s ? ", " : "", s);
    put(k, "}, %%d2, %%d3, %s, 0, 0;\n", rest);
}

/* Sums to words[RESULT + thread * n / 2 ...]. */
static void put_tail(kernel *k, int n) {
    put(k, "mul.wide.u32 %%d5, %%r0, %d; add.s64 %%d5, %%d0, %%d5;\n", n * 2);
    for (int s = 0; s < n / 2; s += 4)
        put(k, "st.global.v4.f32 [%%d5+%d], {%%s%d, %%s%d, %%s%d, %%s%d};\n", RESULT * 4 + s * 4, s, s + 1, s + 2,
            s + 3);
    put(k, END);
}

/* `times` a b added to what was there, or to 0. */
static void expect_sums(int n, int threads, int times, bool adds) {
    for (int at = 0; at < threads * n / 2; at++) {
        const int thread = at / (n / 2), s = at % (n / 2), lane = thread % 32;
        const int row = thread % GROUP / 32 * 16 + lane / 4 + s % 4 / 2 * 8, column = s / 4 * 8 + lane % 4 * 2 + s % 2;
        float want = adds ? (float)s : 0.0f, got;
        for (int k = 0; k < DEPTH; k++) want += (float)times * a_at(row, k) * b_at(k, column);
        memcpy(&got, &words[RESULT + at], sizeof got);
        ck_assert_msg(got == want, "[%d, %d] of %d is %g, want %g", row, column, n, (double)got, (double)want);
    }
}

static const struct {
    const char *type, *rest;
    bool adds;
    int times;
} ways[] = {{"bf16", "%p1, 1, 1", true, 1},
            {"f16", "%p2, -1, 1", false, -1},
            {"bf16", "%p2, -1, -1", false, 1},
            {"f16", "%p1, 1, -1", true, -1}};
static const struct { int n, threads; } sizes[] = {{8, 128}, {24, 256}, {32, 128}, {64, 256}, {128, 128}, {256, 128}};
enum { WAYS = sizeof ways / sizeof *ways, SIZES = sizeof sizes / sizeof *sizes };

START_TEST(warp_groups_multiply_in_the_layout_of_the_isa) {
    const int way = _i % WAYS, n = sizes[_i / WAYS].n, threads = sizes[_i / WAYS].threads;
    kernel k;
    put_head(&k, n, FENCED);
    put(&k, "wgmma.fence.sync.aligned;");
    put_product(&k, n, ways[way].type, ways[way].rest);
    put(&k, "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n");
    put_tail(&k, n);
    write_factors(n, way % 2 ? CM_F16 : CM_BF16);
    expect_ok(k.text, threads, 1);
    expect_sums(n, threads, ways[way].times, ways[way].adds);
}
END_TEST

/* A kernel of n = 8, of products that `body` says by PRODUCT. */
static const char *eight(kernel *k, const char *head, const char *body) {
    kernel product = {.length = 0};
    char with[TEXT];
    put_product(&product, 8, "bf16", "%p1, 1, 1");
    put_head(k, 8, head);
    fill(with, body, "PRODUCT", product.text);
    put(k, "%s\n", with);
    put_tail(k, 8);
    write_factors(8, CM_BF16);
    return k->text;
}

#define FENCE   "wgmma.fence.sync.aligned;"
#define COMMIT  "wgmma.commit_group.sync.aligned;"
#define WAIT(n) "wgmma.wait_group.sync.aligned " #n ";"

START_TEST(sums_are_there_once_their_group_is_waited_for) {
    kernel k;
    expect_ok(eight(&k, FENCED, FENCE "PRODUCT PRODUCT" COMMIT "PRODUCT" COMMIT WAIT(0)), GROUP, 1);
    expect_sums(8, GROUP, 3, true);
    /* Until then they are what they were. */
    const struct {
        const char *body;
        int times;
    } rows[] = {{FENCE "PRODUCT" COMMIT, 0},
                {FENCE "PRODUCT PRODUCT" COMMIT "PRODUCT" COMMIT WAIT(1), 2},
                {FENCE "PRODUCT" COMMIT "PRODUCT" WAIT(0), 1},
                {FENCE "PRODUCT" COMMIT COMMIT WAIT(1), 1},
                {FENCE "PRODUCT" COMMIT "PRODUCT" COMMIT WAIT(2), 0}};
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        char body[TEXT];
        /* They are kept as they are, and the rest is waited for. */
        snprintf(body, sizeof body,
                 "%smov.f32 %%f1, %%s0; mov.f32 %%f2, %%s1; mov.f32 %%f3, %%s2; mov.f32 %%f4, %%s3;\n" COMMIT WAIT(
                     0) "mov.f32 %%s0, %%f1; mov.f32 %%s1, %%f2; mov.f32 %%s2, %%f3; mov.f32 %%s3, %%f4;\n",
                 rows[at].body);
        expect_ok(eight(&k, FENCED, body), GROUP, 1);
        expect_sums(8, GROUP, rows[at].times, true);
    }
}
END_TEST

/* Zeros come over the factors, with barriers all around, while a product may still read them: it finds zeros, if it is
 * not seen as a race. */
START_TEST(factors_are_read_until_the_product_is_waited_for) {
    kernel k;
    static const char over[] =
        "shl.b32 %r5, %r0, 3; add.s32 %r5, %r5, %r9; st.shared.v2.u32 [%r5], {0, 0};st.shared.v2.u32 [%r5+1024], {0, 0}"
        ";\nfence.proxy.async; bar.sync 0;";
    char body[TEXT];
    snprintf(body, sizeof body, FENCE "PRODUCT" COMMIT "bar.sync 0;%s" WAIT(0), over);
    expect_ok(eight(&k, FENCED, body), GROUP, 1);
    expect_sums(8, GROUP, 0, true);
    snprintf(body, sizeof body, FENCE "PRODUCT" COMMIT WAIT(0) "bar.sync 0;%s", over);
    expect_ok(eight(&k, FENCED, body), GROUP, 1);
    expect_sums(8, GROUP, 1, true);
    snprintf(body, sizeof body, FENCE "PRODUCT" COMMIT "%s" WAIT(0), over);
    expect_failure(eight(&k, FENCED, body), GROUP, 1, "a race: shared memory");
}
END_TEST

/* ---- what is wrong ---- */

#define ALL    FENCE "PRODUCT" COMMIT WAIT(0)
#define OTHERS "wgmma.mma_async.sync.aligned."

static const struct {
    const char *head, *body, *says;
    int threads;
} faults[] = {
    {FENCED, FENCE "PRODUCT" COMMIT, "has not waited for all its products", 128},
    {FENCED, "PRODUCT" COMMIT WAIT(0), "without a wgmma.fence", 128},
    {FENCED, ALL, "not all its 128 threads", 96},
    {FENCED, ALL, "not all its 128 threads", 224},
    {FENCED, "setp.ge.u32 %p3, %r0, 96; @%p3 bra OUT;" ALL "OUT:", "not multiplied the same", 128},
    {FENCED, "setp.ge.u32 %p3, %r0, 96; @%p3 bra OUT;" ALL "PRODUCT" COMMIT WAIT(0) "bra END;\nOUT:" ALL "END:",
     "not multiplied the same", 128},
    {FENCED, "setp.ge.u32 %p3, %r0, 80; @%p3 bra OUT;" ALL "OUT:", "it waits for thread", 128},
    {FENCED, "setp.eq.u32 %p1, %r0, 5;" ALL, "something else than the first lane", 128},
    {FENCED, "setp.eq.s32 %p3, %r0, 5; @%p3 add.s64 %d3, %d3, 1;" ALL, "something else than the first lane", 128},
    {FENCED, "setp.eq.s32 %p3, %r0, 9; @%p3 add.s64 %d2, %d2, 1;" ALL, "something else than the first lane", 128},
    {FENCED, "or.b64 %d2, %d2, 0x4000000000000000;" ALL, "0x4000001000080040 is not known here", 128},
    {FENCED, "or.b64 %d3, %d3, 0x0002000000000000;" ALL, "is not known here", 128},
    {FENCED, "add.s64 %d3, %d3, 64;" ALL, "of shared memory", 128},
    {FENCED, "add.s64 %d3, %d3, 8;" ALL, "at byte 2416 of 2368 of shared memory", 128},
    {FENCED, OTHERS "m64n8k16.f32.bf16.bf16 {%s0, %s1, %s2, %s3}, %d2, %d3, %p1, 1, 1, 0, 1;", "transposed", 128},
    {FENCED, OTHERS "m64n8k16.f32.bf16.bf16 {%s0, %s1}, %d2, %d3, %p1, 1, 1, 0, 0;", "is not known here", 128},
    {FENCED, OTHERS "m64n8k16.f32.bf16.f16 {%s0, %s1, %s2, %s3}, %d2, %d3, %p1, 1, 1, 0, 0;", "is not known here", 128},
    {FENCED, OTHERS "m64n8k16.f32.bf16.bf16 {%s0, %s1, %s2, %s3}, %d2, %d3, %p1, 1, 2, 0, 0;", "is not known here",
     128},
    {"bar.sync 0;", ALL, "without a fence.proxy.async ahead of a barrier", 128},
    {"bar.sync 0; fence.proxy.async;", ALL, "without a fence.proxy.async ahead of a barrier", 128},
    {"fence.proxy.async.shared::cta;", ALL, "ahead of a barrier", 128},
    {FENCED, "st.shared.u32 [factors+1024], 0; bar.sync 0;" ALL, "a race: shared memory", 128},
    {FENCED, "setp.eq.s32 %p3, %r0, 31; @%p3 st.shared.u32 [factors+4], 0; bar.sync 0;" ALL, "that thread 31 wrote",
     128},
    {FENCED, "setp.eq.s32 %p3, %r0, 5; @%p3 st.shared.u32 [factors+4], 0; fence.proxy.async;" ALL, "a race: shared",
     128},
    {FENCED, ALL "setp.eq.s32 %p3, %r0, 0; @%p3 st.shared.u32 [factors+1028], 0;", "a race: shared", 128},
    {FENCED, ALL "setp.eq.s32 %p3, %r0, 0; @%p3 st.shared.u32 [factors+4], 0;", "a race: shared", 128},
    {FENCED, ALL "setp.eq.s32 %p3, %r0, 31; @%p3 st.shared.u32 [factors+4], 0;", "a race: shared", 128},
};

START_TEST(what_warp_groups_must_not_do_ends_the_launch_with_a_line) {
    kernel k;
    expect_failure(eight(&k, faults[_i].head, faults[_i].body), faults[_i].threads, 1, faults[_i].says);
}
END_TEST

/* Every block begins without a wgmma.fence. */
START_TEST(blocks_fence_for_themselves) {
    kernel k;
    expect_failure(
        eight(&k, FENCED, "mov.u32 %r5, %ctaid.x; setp.eq.s32 %p3, %r5, 0; @%p3 " FENCE "PRODUCT" COMMIT WAIT(0)),
        GROUP, 2, "without a wgmma.fence");
    ck_assert_msg(strstr(why, "of block 1,"), "%s", why);
}
END_TEST

/* What only one warp reads, a barrier of this warp is enough for. */
START_TEST(warps_fence_their_own_rows) {
    kernel k;
    static const char again[] = "setp.eq.s32 %p3, %r0, 5; @%p3 ld.shared.u32 %r5, [factors+4];\n"
                                "@%p3 st.shared.u32 [factors+4], %r5; fence.proxy.async; bar.warp.sync -1;" ALL;
    expect_ok(eight(&k, FENCED, again), GROUP, 1);
    expect_sums(8, GROUP, 1, true);
}
END_TEST

#define NEIGHBOURS                                                                                                     \
    "mov.u32 %r9, own; xor.b32 %r2, %r0, 32; shl.b32 %r1, %r0, 2; add.s32 %r1, %r1, %r9; shl.b32 %r2, %r2, 2;\n"       \
    "add.s32 %r2, %r2, %r9; mul.wide.u32 %d3, %r0, 4; add.s64 %d3, %d0, %d3;\n"                                        \
    "cp.async.ca.shared.global [%r1], [%d3+1024], 4;\n"

static const struct {
    const char *text, *says;
    int threads;
} wrong_copies[] = {
    {BEGIN NEIGHBOURS "bar.sync 0; cp.async.wait_all; ld.shared.u32 %r3, [%r2];" END, "a race: shared memory", 64},
    {BEGIN NEIGHBOURS "cp.async.wait_all; ld.shared.u32 %r3, [%r2];" END, "a race: shared memory", 64},
    {BEGIN NEIGHBOURS "ld.shared.u32 %r3, [%r2]; bar.sync 0; cp.async.wait_all;" END, "a race: shared memory", 64},
    /* Without a wait they arrive at the end at the latest. */
    {BEGIN NEIGHBOURS "bar.sync 0; ld.shared.u32 %r3, [%r2];" END, "a race: shared memory", 64},
    {BEGIN NEIGHBOURS "st.global.u32 [%d0+1028], 0; cp.async.wait_all;" END, "a race: global memory", 64},
    {BEGIN "mov.u32 %r9, own; cp.async.cg.shared.global [%r9+8], [%d0], 16;" END, "no multiple", 1},
    {BEGIN "mov.u32 %r9, own; cp.async.ca.shared.global [%r9], [%d0+4], 8;" END, "no multiple", 1},
    {BEGIN "mov.u32 %r9, own; cp.async.ca.shared.global [%r9+320], [%d0], 8;" END, "of shared memory", 1},
    {BEGIN "mov.u32 %r9, own; cp.async.ca.shared.global [%r9], [%d0], 8, 9;" END, "a copy of 8 bytes that reads 9", 1},
    {BEGIN "mov.u32 %r9, own; cp.async.cg.shared.global [%r9], [%d0], 8;" END, "is not known here", 1},
    {BEGIN "mov.u32 %r9, own; cp.async.ca.shared.global [%r9], [%d0], 2;" END, "is not known here", 1},
    {BEGIN "mov.u32 %r9, own; cp.async.ca.shared.global.L2::cache_hint [%r9], [%d0], 8, %d1;" END, "is not known", 1},
    {BEGIN "ld.shared.u32 [%r9], [%d0], [%d1];" END, "more than 2 addresses", 1},
};

START_TEST(what_copies_must_not_do_ends_the_launch_with_a_line) {
    expect_failure(wrong_copies[_i].text, wrong_copies[_i].threads, 1, wrong_copies[_i].says);
}
END_TEST

START_TEST(copies_are_waited_for_and_a_barrier_brings_them_to_others) {
    for (uint32_t k = 0; k < 64; k++) words[256 + k] = 100 + k;
    expect_ok(BEGIN NEIGHBOURS "cp.async.wait_all; bar.sync 0; ld.shared.u32 %r3, [%r2]; st.global.u32 [%d1], %r3;" END,
              64, 1);
    for (uint32_t k = 0; k < 64; k++) ck_assert_uint_eq(words[k], 100 + (k ^ 32));
}
END_TEST

/* Bytes that a copy does not read are no race. */
START_TEST(copies_read_what_they_are_given) {
    words[1] = 0;
    expect_ok(BEGIN "mov.u32 %r9, own; setp.eq.s32 %p1, %r0, 0; @%p1 cp.async.ca.shared.global [%r9], [%d0], 8, 4;\n"
                    "@!%p1 st.global.u32 [%d0+4], 7; cp.async.wait_all;" END,
              2, 1);
    ck_assert_uint_eq(words[1], 7);
}
END_TEST

/* ---- what it costs ---- */

static uint64_t copying(const char *body) {
    char text[TEXT];
    fill(text, BEGIN "mov.u32 %r9, own; BODY" END, "BODY", body);
    return cost_of_text(text, 1).cycles;
}

START_TEST(copies_take_their_time_with_other_instructions) {
    const uint64_t one = copying("cp.async.ca.shared.global [%r9], [%d0], 8; cp.async.wait_all;");
    const uint64_t two = copying("cp.async.ca.shared.global [%r9], [%d0], 8; cp.async.commit_group;\n"
                                 "cp.async.ca.shared.global [%r9+8], [%d0], 8; cp.async.wait_all;");
    const uint64_t apart = copying("cp.async.ca.shared.global [%r9], [%d0], 8; cp.async.wait_all;\n"
                                   "cp.async.ca.shared.global [%r9+8], [%d0], 8; cp.async.wait_all;");
    ck_assert_uint_gt(one, 250);
    ck_assert_uint_le(two, one + 4);
    ck_assert_uint_gt(apart, one + 250);
    /* A quarter of a warp copies 128 bytes, four sectors, in one request. */
    const ptx_cost cost = cost_of_text(BEGIN "mov.u32 %r9, own; shl.b32 %r1, %r0, 4; add.s32 %r9, %r9, %r1;\n"
                                             "mul.wide.u32 %d3, %r0, 16; add.s64 %d3, %d0, %d3;\n"
                                             "cp.async.cg.shared.global [%r9], [%d3], 16; cp.async.wait_all;" END,
                                       8);
    ck_assert_uint_eq(cost.global.requests, 1);
    ck_assert_uint_eq(cost.global.units, 4);
}
END_TEST

static uint64_t multiplying(int n, int products, bool one_by_one) {
    kernel k;
    put_head(&k, n, FENCED);
    put(&k, FENCE);
    for (int p = 0; p < products; p++) {
        put_product(&k, n, "bf16", "%p1, 1, 1");
        if (one_by_one || p == products - 1) put(&k, COMMIT WAIT(0));
    }
    put_tail(&k, n);
    write_factors(n, CM_BF16);
    return cost_of_text(k.text, GROUP).cycles;
}

START_TEST(products_keep_tensor_cores_busy_one_after_the_other) {
    const uint64_t one = multiplying(128, 1, false), three = multiplying(128, 3, false);
    ck_assert_uint_ge(three, one + 2 * 64);
    ck_assert_uint_le(three, one + 2 * 64 + 4);
    ck_assert_uint_gt(multiplying(128, 3, true), three + 2 * 20);
    ck_assert_uint_ge(multiplying(64, 3, false), multiplying(64, 1, false) + 2 * 32);
}
END_TEST

/* ---- launches that begin before the one ahead of them has ended ---- */

static bool waits_first(const char *body) {
    char text[TEXT], said[PTX_LINE];
    fill(text, BEGIN "BODY" END, "BODY", body);
    ptx_module *module = ptx_open(text, said);
    ck_assert_msg(module, "%s", said);
    const ptx_function *entry = ptx_entry(module, "kernel", said);
    ck_assert_msg(entry, "%s", said);
    const bool waits = ptx_waits_first(entry);
    ptx_close(module);
    return waits;
}

#define WAITS "griddepcontrol.wait;"
#define LETS  "griddepcontrol.launch_dependents;"

START_TEST(a_kernel_waits_before_it_touches_memory) {
    ck_assert(waits_first("mov.u32 %r1, 5;" WAITS LETS "st.global.u32 [%d1], %r1;"));
    ck_assert(!waits_first("st.global.u32 [%d1], %r0;" WAITS LETS));
    ck_assert(waits_first("cvta.to.global.u64 %d2, %d1;" WAITS LETS));
    ck_assert(!waits_first("ld.global.u32 %r1, [%d1];" WAITS LETS));
    ck_assert(!waits_first("st.shared.u32 [own], %r0;" WAITS LETS));
    ck_assert(!waits_first("prefetch.L1 [%d1];" WAITS LETS));
    ck_assert(!waits_first("mov.u32 %r9, own; cp.async.ca.shared.global [%r9], [%d0], 4;" WAITS LETS));
    ck_assert(!waits_first("bar.sync 0;" WAITS LETS));
    ck_assert(!waits_first("setp.eq.u32 %p1, %r0, 0; @%p1 " WAITS "st.global.u32 [%d1], %r0;"));
    ck_assert(!waits_first("setp.eq.u32 %p1, %r0, 0; @%p1 bra OVER; " WAITS " OVER: st.global.u32 [%d1], %r0;"));
    ck_assert(!waits_first(LETS WAITS));
    ck_assert(!waits_first("mov.u32 %r1, 5;"));
    expect_ok(BEGIN WAITS LETS "st.global.u32 [%d1], %r0;" END, WARP, 1);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ptx/async");
    TCase *tc = tcase_create("behind");
    tcase_add_test(tc, a_kernel_waits_before_it_touches_memory);
    tcase_add_test(tc, copies_are_there_once_they_are_waited_for);
    tcase_add_test(tc, copies_are_not_there_before);
    tcase_add_test(tc, copies_are_waited_for_and_a_barrier_brings_them_to_others);
    tcase_add_loop_test(tc, what_copies_must_not_do_ends_the_launch_with_a_line, 0,
                        sizeof wrong_copies / sizeof *wrong_copies);
    tcase_add_loop_test(tc, warp_groups_multiply_in_the_layout_of_the_isa, 0, WAYS * SIZES);
    tcase_add_test(tc, sums_are_there_once_their_group_is_waited_for);
    tcase_add_test(tc, factors_are_read_until_the_product_is_waited_for);
    tcase_add_loop_test(tc, what_warp_groups_must_not_do_ends_the_launch_with_a_line, 0,
                        sizeof faults / sizeof *faults);
    tcase_add_test(tc, copies_read_what_they_are_given);
    tcase_add_test(tc, blocks_fence_for_themselves);
    tcase_add_test(tc, warps_fence_their_own_rows);
    tcase_add_test(tc, copies_take_their_time_with_other_instructions);
    tcase_add_test(tc, products_keep_tensor_cores_busy_one_after_the_other);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
