/* The interpreter of PTX, on text by hand: what instructions give, and that it says what is wrong with a kernel. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/by_hand.h"
#include "support/main.h"
#include "tensor/tensor.h"

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- one thread ---- */

/* What `body` leaves in %r1. */
static uint32_t result_of(const char *body) {
    char text[TEXT];
    fill(text, BEGIN "BODY\nst.global.u32 [%d0], %r1;" END, "BODY", body);
    expect_ok(text, 1, 1);
    return words[0];
}

typedef struct sample {
    const char *body;
    uint32_t want;
} sample;

static const sample samples[] = {
    {"add.s32 %r1, 2147483647, 1;", 0x80000000u},
    {"sub.s32 %r1, 3, 5;", 0xfffffffeu},
    {"mul.lo.s32 %r1, 65537, 65537;", 131073},
    {"mad.lo.s32 %r1, -3, 7, 1;", (uint32_t)-20},
    {"mul.hi.u32 %r1, -1, 3;", 2},
    {"mul.hi.s32 %r1, -5, 3;", 0xffffffff},
    {"mul.wide.s32 %d2, -2, 3; cvt.u32.u64 %r1, %d2;", (uint32_t)-6},
    {"mul.wide.u32 %d2, -1, 2; shr.u64 %d2, %d2, 32; cvt.u32.u64 %r1, %d2;", 1},
    {"div.s32 %r1, -7, 2;", (uint32_t)-3},
    {"div.u32 %r1, -7, 2;", 0x7ffffffcu},
    {"rem.s32 %r1, -7, 2;", (uint32_t)-1},
    {"min.s32 %r1, -1, 1;", (uint32_t)-1},
    {"min.u32 %r1, -1, 1;", 1},
    {"shl.b32 %r1, 1, 32;", 0},
    {"shr.s32 %r1, -8, 40;", 0xffffffffu},
    {"shr.u32 %r1, -8, 1;", 0x7ffffffcu},
    {"cvt.s64.s32 %d2, -1; shr.u64 %d2, %d2, 60; cvt.u32.u64 %r1, %d2;", 15},
    {"mov.b32 {%h1, %h2}, 305419896; cvt.u32.u16 %r1, %h2;", 0x1234},
    {"cvt.s8.s32 %h1, 511; cvt.u32.u16 %r1, %h1;", 0xffff},
    {"cvt.s8.s32 %h1, 257; cvt.u32.u16 %r1, %h1;", 1},
    {"mov.b16 %h1, 0x80; cvt.s32.s8 %r1, %h1;", (uint32_t)-128},
    {"mov.b16 %h1, 0x17f; cvt.s16.s8 %h1, %h1; cvt.u32.u16 %r1, %h1;", 127},
    {"mov.b64 %d2, {7, 9}; shr.u64 %d2, %d2, 32; cvt.u32.u64 %r1, %d2;", 9},
    {"setp.lt.s32 %p1, -1, 0; selp.b32 %r1, 5, 6, %p1;", 5},
    {"prmt.b32 %r1, 0x44332211, 0x08776655, 0x1054;", 0x22116655},
    {"prmt.b32 %r1, 0x44332211, 0x88776655, 0xb7f3;", 0x0088ff44},
    {"setp.lt.u32 %p1, -1, 0; selp.b32 %r1, 5, 6, %p1;", 6},
    {"setp.ne.f32 %p1, 0f7FC00000, 0f3F800000; selp.b32 %r1, 5, 6, %p1;", 6},
    {"setp.neu.f32 %p1, 0f7FC00000, 0f3F800000; selp.b32 %r1, 5, 6, %p1;", 5},
    {"setp.num.f32 %p1, 0f7FC00000, 0f3F800000; selp.b32 %r1, 5, 6, %p1;", 6},
    /* copysign gives the second number the sign of the first */
    {"copysign.f32 %f1, 0fBF800000, 0f40000000; mov.b32 %r1, %f1;", 0xc0000000u},
    {"max.f32 %f1, 0f7FC00000, 0f40000000; mov.b32 %r1, %f1;", 0x40000000u},
    {"max.f32 %f1, 0f80000000, 0f00000000; mov.b32 %r1, %f1;", 0},
    {"min.f32 %f1, 0f00000000, 0f80000000; mov.b32 %r1, %f1;", 0x80000000u},
    {"sub.rn.f32 %f1, 0f7F800000, 0f7F800000; mov.b32 %r1, %f1;", 0x7fffffffu},
    {"sqrt.rn.f32 %f1, 0fBF800000; mov.b32 %r1, %f1;", 0x7fffffffu},
    /* 1 + 2^-24 lies between 1 and 1 + 2^-23: to even, to zero, down */
    {"add.rn.f32 %f1, 0f3F800000, 0f33800001; mov.b32 %r1, %f1;", 0x3f800001u},
    {"add.rz.f32 %f1, 0f3F800000, 0f33800001; mov.b32 %r1, %f1;", 0x3f800000u},
    {"add.rz.f32 %f1, 0fBF800000, 0fB3800001; mov.b32 %r1, %f1;", 0xbf800000u},
    {"fma.rm.f32 %f1, 0f3F800000, 0fBF800000, 0fB3800000; mov.b32 %r1, %f1;", 0xbf800001u},
    {"fma.rn.f32 %f1, 0f3F800000, 0fBF800000, 0fB3800000; mov.b32 %r1, %f1;", 0xbf800000u},
    /* (1 + 2^-12)^2 - (1 + 2^-11): rounded once it is 2^-24, twice 0 */
    {"fma.rn.f32 %f1, 0f3F800800, 0f3F800800, 0fBF801000; mov.b32 %r1, %f1;", 0x33800000u},
    {"mul.rn.f32 %f1, 0f3F800800, 0f3F800800; add.rn.f32 %f1, %f1, 0fBF801000; mov.b32 %r1, %f1;", 0},
    {"cvt.rni.f32.f32 %f1, 0f40200000; mov.b32 %r1, %f1;", 0x40000000u},
    {"cvt.rzi.s32.f32 %r1, 0fC02CCCCD;", (uint32_t)-2},
    {"cvt.rzi.s32.f32 %r1, 0f4F800000;", 0x7fffffffu},
    {"cvt.rzi.s32.f32 %r1, 0f7FC00000;", 0},
    {"popc.b32 %r1, 0xf0010003;", 7},
    {"dp4a.s32.s32 %r1, 0x80ff0203, 0x7f040580, 1000;", (uint32_t)(1000 - 128 * 127 - 4 + 10 - 3 * 128)},
    {"cvt.sat.f32.f32 %f1, 0f40000000; mov.b32 %r1, %f1;", 0x3f800000u},
    {"cvt.sat.f32.f32 %f1, 0f7FC00000; mov.b32 %r1, %f1;", 0},
    {"cvt.rn.f32.f64 %f1, 0d3FF0000010000000; mov.b32 %r1, %f1;", 0x3f800000u},
    {"cvt.rn.bf16x2.f32 %r1, 0f3F800000, 0f40008000;", 0x3f804000u}, /* 2 + 2^-7 is a tie */
    {"cvt.rn.f16x2.f32 %r1, 0f3F800000, 0fC0000000;", 0x3c00c000u},
    {"cvt.rn.f16x2.f32 %r1, 0f7F800001, 0f00000000;", 0x7fff0000u},
    {"ex2.approx.ftz.f32 %f1, 0f40400000; mov.b32 %r1, %f1;", 0x41000000u},
    {"ex2.approx.ftz.f32 %f1, 0fC3020000; mov.b32 %r1, %f1;", 0},              /* 2^-130 */
    {"ex2.approx.f32 %f1, 0fC3020000; mov.b32 %r1, %f1;", 0x00080000u},        /* the same, subnormal */
    {"rcp.approx.ftz.f64 %g1, 0d4008000000000000; mov.b64 {%r1, _}, %g1;", 0}, /* a third, the lower half 0 */
    {"setp.eq.s32 %p1, 1, 2; mov.u32 %r1, 3; @%p1 mov.u32 %r1, 4; @!%p1 add.s32 %r1, %r1, 10;", 13},
};

START_TEST(instructions_give_what_the_isa_says) {
    const uint32_t got = result_of(samples[_i].body);
    ck_assert_msg(got == samples[_i].want, "%s gives %08x, want %08x", samples[_i].body, got, samples[_i].want);
}
END_TEST

START_TEST(branches_loop_while_their_predicate_says) {
    ck_assert_uint_eq(result_of("mov.u32 %r1, 0; mov.u32 %r2, 0;\nAGAIN: add.s32 %r2, %r2, 1; add.s32 %r1, %r1, %r2;\n"
                                "setp.lt.s32 %p1, %r2, 10; @%p1 bra AGAIN;"),
                      55);
}
END_TEST

START_TEST(functions_get_arguments_and_give_a_result) {
    static const char function[] =
        ".func (.param .b64 result) half(.param .b64 a, .param .b64 b)\n{\n.reg .f64 %g<4>;\n"
        "ld.param.f64 %g1, [a]; ld.param.f64 %g2, [b]; sub.rn.f64 %g3, %g1, %g2;\n"
        "st.param.f64 [result+0], %g3; ret;\n}\n";
    char text[TEXT];
    snprintf(text, sizeof text, "%s%s", function,
             BEGIN "mov.f64 %g1, 0d4014000000000000;\n{\n.param .b64 x; st.param.f64 [x+0], %g1; .param .b64 y;\n"
                   "st.param.f64 [y+0], 0d4000000000000000; .param .b64 z; call.uni (z), half, (x, y);\n"
                   "ld.param.f64 %g2, [z+0];\n}\ncvt.rzi.s32.f64 %r1, %g2; cvt.rzi.s32.f64 %r2, %g1;\n"
                   "st.global.v2.u32 [%d0], {%r1, %r2};" END);
    expect_ok(text, 1, 1);
    ck_assert_uint_eq(words[0], 3);
    ck_assert_uint_eq(words[1], 5); /* registers of the caller are its own */
}
END_TEST

/* Twice: what the first call has left in its memory the second one does not find, nor has it touched the caller's. */
START_TEST(functions_have_memory_of_their_own) {
    static const char function[] =
        ".extern .shared .align 16 .b8 asked[];\n.func (.param .b32 before) swap(.param .b32 x)\n{\n.reg .b32 %r<4>; "
        ".reg .b64 %d<2>;\n"
        ".local .align 8 .b8 its[8];\nmov.u64 %d1, its; ld.param.u32 %r1, [x]; ld.local.u32 %r2, [%d1+4];\n"
        "st.shared.u32 [asked+4], %r1; st.local.u32 [%d1+4], %r1; st.param.u32 [before+0], %r2; ret;\n}\n";
    char text[TEXT];
    snprintf(text, sizeof text, "%s%s", function,
             BEGIN ".local .align 4 .b8 mine[8];\nmov.u64 %d2, mine; st.local.v2.u32 [%d2], {7, 8};\n"
                   "{\n.param .b32 x; st.param.u32 [x+0], 5; .param .b32 z; call.uni (z), swap, (x);\n}\n"
                   "{\n.param .b32 x; st.param.u32 [x+0], 6; .param .b32 z; call.uni (z), swap, (x);\n"
                   "ld.param.u32 %r3, [z+0];\n}\nld.local.v2.u32 {%r1, %r2}, [%d2];\n"
                   "st.global.v2.u32 [%d0], {%r1, %r2}; st.global.u32 [%d0+8], %r3;\n"
                   "ld.shared.u32 %r4, [own+260]; st.global.u32 [%d0+12], %r4;" END);
    expect_ok(text, 1, 1);
    ck_assert_uint_eq(words[3], 6);
    ck_assert_uint_eq(words[0], 7);
    ck_assert_uint_eq(words[1], 8);
    ck_assert_uint_eq(words[2], UINT32_MAX);
}
END_TEST

START_TEST(vectors_are_loaded_and_stored_element_by_element) {
    for (uint32_t i = 0; i < 4; i++) words[i] = 10 + i;
    expect_ok(BEGIN "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d0];\n"
                    "st.shared.v4.u32 [own+16], {%r4, %r3, %r2, %r1}; ld.shared.v2.u32 {%r5, %r6}, [own+24];\n"
                    "ld.shared.u8 %h1, [own+16]; cvt.u32.u16 %r7, %h1; ld.shared.s16 %r8, [own+18];\n"
                    "st.global.v4.u32 [%d0+16], {%r5, %r6, %r7, %r8};" END,
              1, 1);
    ck_assert_uint_eq(words[4], 11);
    ck_assert_uint_eq(words[5], 10);
    ck_assert_uint_eq(words[6], 13);
    ck_assert_uint_eq(words[7], 0);
}
END_TEST

START_TEST(generic_addresses_reach_every_memory) {
    words[0] = 7;
    expect_ok(BEGIN ".local .align 4 .b8 mine[8];\nmov.u64 %d2, own; cvta.shared.u64 %d3, %d2; mov.u64 %d4, mine;\n"
                    "cvta.local.u64 %d5, %d4; mov.b64 %d6, words; cvta.param.u64 %d7, %d6; ld.u64 %d8, [%d7];\n"
                    "ld.u32 %r1, [%d8]; st.u32 [%d3+8], %r1; st.u32 [%d5+4], %r1; ld.shared.u32 %r2, [own+8];\n"
                    "ld.local.u32 %r3, [%d4+4]; add.s32 %r1, %r2, %r3; st.global.u32 [%d0+4], %r1;" END,
              1, 1);
    ck_assert_uint_eq(words[1], 14);
}
END_TEST

/* ---- threads at barriers ---- */

START_TEST(shuffles_exchange_numbers_between_lanes) {
    expect_ok(BEGIN "shfl.sync.bfly.b32 %r1|%p1, %r0, 5, 31, -1; st.global.u32 [%d1], %r1;" END, WARP, 1);
    for (uint32_t i = 0; i < WARP; i++) ck_assert_uint_eq(words[i], i ^ 5);
    /* Groups of 8, each with a mask of its own: its own lanes alone. */
    expect_ok(BEGIN "and.b32 %r2, %r0, 24; shl.b32 %r3, 255, %r2;\n"
                    "shfl.sync.bfly.b32 %r1|%p1, %r0, 4, 31, %r3; st.global.u32 [%d1], %r1;" END,
              WARP, 1);
    for (uint32_t i = 0; i < WARP; i++) ck_assert_uint_eq(words[i], i ^ 4);
    /* From any lane, of any; within groups of 8 (c = 0x1807) from the third of the lane's own. */
    expect_ok(BEGIN "mul.lo.s32 %r2, %r0, 3; and.b32 %r2, %r2, 31;\n"
                    "shfl.sync.idx.b32 %r1|%p1, %r0, %r2, 31, -1; st.global.u32 [%d1], %r1;" END,
              WARP, 1);
    for (uint32_t i = 0; i < WARP; i++) ck_assert_uint_eq(words[i], 3 * i % WARP);
    expect_ok(BEGIN "shfl.sync.idx.b32 %r1|%p1, %r0, 2, 6151, -1; st.global.u32 [%d1], %r1;" END, WARP, 1);
    for (uint32_t i = 0; i < WARP; i++) ck_assert_uint_eq(words[i], i / 8 * 8 + 2);
}
END_TEST

/* a[16, depth] b[depth, 8] + c[16, 8] of numbers that tell row and column, laid out as the PTX ISA has it: thread by
 * thread in words, 10 of a thread. */
static float a_at(int row, int k) { return (float)((row * 7 + k * 3) % 11 - 5); }
static float b_at(int k, int column) { return (float)((k * 5 + column * 2) % 13 - 6); }
static float c_at(int row, int column) { return (float)(row * 8 + column); }

static uint32_t pair(float low, float high, cm_dtype type) {
    return (uint32_t)cm_to_half(high, type) << 16 | cm_to_half(low, type);
}

static void write_fragments(cm_dtype type) {
    for (int lane = 0; lane < WARP; lane++) {
        const int group = lane >> 2, member = lane % 4;
        uint32_t *mine = words + lane * 16;
        for (int reg = 0; reg < 4; reg++) {
            const int row = reg % 2 ? group + 8 : group, k = member * 2 + (reg < 2 ? 0 : 8);
            mine[reg] = pair(a_at(row, k), a_at(row, k + 1), type);
        }
        for (int reg = 0; reg < 2; reg++) {
            const int k = member * 2 + 8 * reg;
            mine[4 + reg] = pair(b_at(k, group), b_at(k + 1, group), type);
        }
        for (int i = 0; i < 4; i++) mine[8 + i] = bits_of(c_at(i < 2 ? group : group + 8, member * 2 + (i & 1)));
    }
}

/* In tf32, whose depth is 8. */
static void write_tf32(void) {
    for (int lane = 0; lane < WARP; lane++) {
        const int group = lane >> 2, member = lane % 4;
        uint32_t *mine = words + lane * 16;
        for (int reg = 0; reg < 4; reg++) mine[reg] = bits_of(a_at(reg % 2 ? group + 8 : group, member + reg / 2 * 4));
        for (int reg = 0; reg < 2; reg++) mine[4 + reg] = bits_of(b_at(member + reg * 4, group));
        for (int i = 0; i < 4; i++) mine[8 + i] = bits_of(c_at(i < 2 ? group : group + 8, member * 2 + (i & 1)));
    }
}

static void expect_products(int depth) {
    for (int lane = 0; lane < WARP; lane++)
        for (int i = 0; i < 4; i++) {
            const int row = i < 2 ? lane >> 2 : (lane >> 2) + 8, column = lane % 4 * 2 + (i & 1);
            float want = c_at(row, column);
            for (int k = 0; k < depth; k++) want += a_at(row, k) * b_at(k, column);
            ck_assert_msg(words[lane * 16 + 12 + i] == bits_of(want), "[%d, %d] is %08x, want %g", row, column,
                          words[lane * 16 + 12 + i], (double)want);
        }
}

#define PRODUCT(kind)                                                                                                  \
    BEGIN "mul.wide.u32 %d2, %r0, 64; add.s64 %d2, %d0, %d2;\n"                                                        \
          "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d2]; ld.global.v2.u32 {%r5, %r6}, [%d2+16];\n"                     \
          "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d2+32];\n"                                                         \
          "mma.sync.aligned." kind ".f32 {%f5, %f6, %f7, %f8}, {%r1, %r2, %r3, %r4},\n"                                \
          "{%r5, %r6}, {%f1, %f2, %f3, %f4}; st.global.v4.f32 [%d2+48], {%f5, %f6, %f7, %f8};" END

START_TEST(matrices_are_multiplied_in_the_layout_of_the_isa) {
    char typed[TEXT];
    fill(typed, PRODUCT("m16n8k16.row.col.f32.TYPE.TYPE"), "TYPE", _i ? "bf16" : "f16");
    write_fragments(_i ? CM_BF16 : CM_F16);
    expect_ok(typed, WARP, 1);
    expect_products(16);
}
END_TEST

#define TF32 PRODUCT("m16n8k8.row.col.f32.tf32.tf32")

START_TEST(matrices_of_tf32_are_multiplied_in_the_layout_of_the_isa) {
    write_tf32();
    expect_ok(TF32, WARP, 1);
    expect_products(8);
}
END_TEST

/* Of whole numbers of 8 bits, four in a word, whose depth is 32. */
static void write_bytes(void) {
    for (int lane = 0; lane < WARP; lane++) {
        const int group = lane >> 2, member = lane % 4;
        uint32_t *mine = words + lane * 16;
        memset(mine, 0, 16 * sizeof *mine);
        for (int byte = 0; byte < 4; byte++) {
            const int k = member * 4 + byte, shift = 8 * byte;
            for (int reg = 0; reg < 4; reg++)
                mine[reg] |= ((uint32_t)(int)a_at(reg % 2 ? group + 8 : group, k + reg / 2 * 16) & 255) << shift;
            for (int reg = 0; reg < 2; reg++)
                mine[4 + reg] |= ((uint32_t)(int)b_at(k + reg * 16, group) & 255) << shift;
        }
        for (int i = 0; i < 4; i++) mine[8 + i] = (uint32_t)c_at(i < 2 ? group : group + 8, member * 2 + (i & 1));
    }
}

START_TEST(matrices_of_bytes_are_multiplied_in_the_layout_of_the_isa) {
    write_bytes();
    expect_ok(BEGIN "mul.wide.u32 %d2, %r0, 64; add.s64 %d2, %d0, %d2;\n"
                    "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d2]; ld.global.v2.u32 {%r5, %r6}, [%d2+16];\n"
                    "ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d2+32];\n"
                    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r7, %r8, %r9, %r10}, {%r1, %r2, %r3, %r4},\n"
                    "{%r5, %r6}, {%r7, %r8, %r9, %r10}; st.global.v4.u32 [%d2+48], {%r7, %r8, %r9, %r10};" END,
              WARP, 1);
    for (int i = 0; i < WARP * 16; i++) { /* as expect_products reads them */
        if (i % 16 >= 12) words[i] = bits_of((float)(int32_t)words[i]);
    }
    expect_products(32);
}
END_TEST

/* Bits that a device need not read. */
START_TEST(factors_of_tf32_have_no_other_bits) {
    for (int reg = 0; reg < 6; reg++) {
        write_tf32();
        words[7 * 16 + reg] |= 0x1000;
        expect_failure(TF32, WARP, 1, "bits that this type does not");
    }
}
END_TEST

#define TO_NEIGHBOUR                                                                                                   \
    "shl.b32 %r1, %r0, 2; mov.u32 %r2, own; add.s32 %r3, %r2, %r1; xor.b32 %r4, %r1, 128; add.s32 %r4, %r2, %r4;\n"    \
    "st.shared.u32 [%r3], %r0;\n"
#define FROM_NEIGHBOUR "ld.shared.u32 %r5, [%r4]; st.global.u32 [%d1], %r5;"

START_TEST(a_barrier_brings_what_others_wrote) {
    expect_ok(BEGIN TO_NEIGHBOUR "bar.sync 0;" FROM_NEIGHBOUR END, 64, 1);
    for (uint32_t i = 0; i < 64; i++) ck_assert_uint_eq(words[i], i ^ 32);
}
END_TEST

START_TEST(bytes_of_a_word_are_threads_own) {
    words[0] = 0;
    expect_ok(BEGIN "cvt.u16.u32 %h1, %r0; cvt.u64.u32 %d2, %r0; add.s64 %d2, %d0, %d2; st.global.u8 [%d2], %h1;" END,
              4, 1);
    ck_assert_uint_eq(words[0], 0x03020100u);
}
END_TEST

/* ---- what is wrong ---- */

typedef struct fault {
    const char *text, *says;
    int threads;
    int64_t blocks;
} fault;

static const fault faults[] = {
    {BEGIN TO_NEIGHBOUR FROM_NEIGHBOUR END, "a race: shared memory", 64, 1},
    /* Shuffles order no memory, a barrier of each warp nothing between warps. */
    {BEGIN TO_NEIGHBOUR "shfl.sync.bfly.b32 %r6|%p1, %r0, 1, 31, -1;" FROM_NEIGHBOUR END, "a race: shared memory", 64,
     1},
    {BEGIN TO_NEIGHBOUR "bar.warp.sync -1;" FROM_NEIGHBOUR END, "a race: shared memory", 64, 1},
    {BEGIN "st.shared.u32 [own], %r0;" END, "a race: shared memory", 2, 1},
    {BEGIN "cvt.u16.u32 %h1, %r0; st.global.u8 [%d0+1], %h1;" END, "a race: global memory", 2, 1},
    {BEGIN "cvt.u16.u32 %h1, %r0; setp.eq.s32 %p1, %r0, 0; @%p1 st.shared.u32 [own+4], 0;\n"
           "@!%p1 st.shared.u8 [own+7], %h1;" END,
     "a race: shared memory", 2, 1},
    {BEGIN "ld.global.u32 %r1, [%d0]; st.global.u32 [%d0], %r1;" END, "a race: global memory", 2, 1},
    {BEGIN "st.global.u32 [%d0], %r0;" END, "a race: global memory", 1, 2},
    {BEGIN "setp.eq.s32 %p1, %r0, 3; @%p1 bra OUT; bar.sync 0;\nOUT:" END, "has ended", 8, 1},
    {BEGIN "setp.eq.s32 %p1, %r0, 3; @%p1 bra OUT; bar.warp.sync -1;\nOUT:" END, "has ended", 32, 1},
    {BEGIN "setp.eq.s32 %p1, %r0, 3; @%p1 bra OTHER; bar.sync 0; bra OUT;\nOTHER: bar.sync 0;\nOUT:" END,
     "waits at a barrier of the block", 8, 1},
    {BEGIN "setp.eq.s32 %p1, %r0, 3; @%p1 bra OTHER; bar.warp.sync -1; bra OUT;\nOTHER: bar.sync 0;\nOUT:" END,
     "it waits for thread", 32, 1},
    {BEGIN "shfl.sync.bfly.b32 %r1|%p1, %r0, 1, 31, 3;" END, "not in the mask 0x3", 4, 1},
    {BEGIN "shfl.sync.bfly.b32 %r1|%p1, %r0, 2, 31, 3;" END, "shuffles with lane", 2, 1},
    {BEGIN "shfl.sync.bfly.b32 %r1|%p1, %r0, 1, 31, -1;" END, "does not have", 8, 1},
    {BEGIN "ld.global.v2.u32 {%r1, %r2}, [%d0+4];" END, "no multiple", 1, 1},
    {BEGIN "ld.shared.u32 %r1, [own+2];" END, "no multiple", 1, 1},
    {BEGIN "mov.u32 %r1, asked; ld.shared.u32 %r2, [%r1+64];" END, "4 bytes at byte 64 of 64 of shared memory", 1, 1},
    {BEGIN "mov.u32 %r1, own; ld.shared.u32 %r2, [%r1+-4];" END, "of shared memory", 1, 1},
    {BEGIN "mov.u32 %r2, 0; ld.shared.u32 %r2, [%r2];" END, "of shared memory", 1, 1},
    {BEGIN "mov.u64 %d2, own; cvta.shared.u64 %d3, %d2; st.u32 [%d3+320], %r0;" END, "of shared memory", 1, 1},
    {BEGIN ".local .align 4 .b8 mine[8];\nmov.u64 %d2, mine; ld.local.u32 %r1, [%d2+8];" END, "of local memory", 1, 1},
    {BEGIN "ld.param.u32 %r1, [words+8];" END, "of param memory", 1, 1},
    {BEGIN "mov.u32 %r1, 0; div.s32 %r1, 1, %r1;" END, "a division by 0", 1, 1},
    {BEGIN "trap;" END, "it traps", 1, 1},
    {BEGIN END, "of at most 64", 65, 1},
    {BEGIN "lop3.b32 %r1, %r0, %r0, %r0, 1;" END, "lop3.b32 is an instruction that is not known here", 1, 1},
    {BEGIN "ld.global.nc.u32 %r1, [%d0];" END, "ld.global.nc.u32 is an instruction that is not known here", 1, 1},
    {BEGIN "atom.global.add.u32 %r1, [%d0], 1;" END, "atom.global.add.u32 is an instruction that is not known", 1, 1},
    {BEGIN "red.global.add.u32 [%d0], 1;" END, "red.global.add.u32 is an instruction that is not known", 1, 1},
    {BEGIN "add.s32 %r1, %r0;" END, "add.s32 is an instruction that is not known here", 1, 1},
    {BEGIN "bra NOWHERE;" END, "no label NOWHERE", 1, 1},
    {BEGIN "add.s32 %r1, %r99, 1;" END, "%r99 is not known here", 1, 1},
    {BEGIN "call nothing;" END, "no function nothing", 1, 1},
    {".version 9.0\n.entry other() { ret; }\n", "no entry has kernel in its name", 1, 1},
    {".version 9.0\n.entry kernel1() { ret; }\n.entry kernel2() { ret; }\n", "more than one entry", 1, 1},
    {".version 9.0\n.entry kernel() { ret;\n", "a function without an end", 1, 1},
};

START_TEST(what_a_kernel_must_not_do_ends_it_with_a_line) {
    const fault *f = &faults[_i];
    expect_failure(f->text, f->threads, f->blocks, f->says);
}
END_TEST

/* A barrier of 8 lanes orders their memory, and no others'. */
START_TEST(barriers_of_some_lanes_are_for_these) {
    static const char text[] = BEGIN
        "shl.b32 %r1, %r0, 2; mov.u32 %r2, own; add.s32 %r3, %r2, %r1; xor.b32 %r4, %r1, GAP; add.s32 %r4, %r2, %r4;\n"
        "and.b32 %r5, %r0, 24; shl.b32 %r6, 255, %r5; st.shared.u32 [%r3], %r0; bar.warp.sync %r6;\n" FROM_NEIGHBOUR
            END;
    char near[TEXT], far[TEXT];
    fill(near, text, "GAP", "16");
    fill(far, text, "GAP", "32");
    expect_ok(near, WARP, 1);
    for (uint32_t i = 0; i < WARP; i++) ck_assert_uint_eq(words[i], i ^ 4);
    expect_failure(far, WARP, 1, "a race: shared memory");
}
END_TEST

/* What a load reads and does not use is no race: nvcc says so. */
START_TEST(bytes_that_are_not_used_do_not_race) {
    static const char load[] = "ld.shared.v2.u32 {%r1, %r2}, [own]; setp.eq.s32 %p1, %r0, 1;\n"
                               "@%p1 st.shared.u32 [own+4], %r0;";
    char text[TEXT];
    snprintf(text, sizeof text, "%s%s%s", BEGIN, load, END);
    expect_failure(text, 2, 1, "a race: shared memory");
    snprintf(text, sizeof text, "%s.pragma \"used_bytes_mask 15\";\n%s%s", BEGIN, load, END);
    expect_ok(text, 2, 1);
}
END_TEST

START_TEST(a_line_says_where_the_source_has_it) {
    expect_failure(".file 3 \"kernels.h\"\n" BEGIN ".loc 3 12 5, function_name x, inlined_at 1 2 3\ntrap;" END, 1, 1,
                   "thread 0 of block 0, kernels.h:12, line ");
}
END_TEST

/* ---- what a launch costs (ptx/profile.h) ---- */

static ptx_cost cost_of(const char *body, int threads) {
    char text[TEXT];
    fill(text, BEGIN "BODY" END, "BODY", body);
    return cost_of_text(text, threads);
}

static uint64_t cycles_of(const char *body) { return cost_of(body, WARP).cycles - cost_of("", WARP).cycles; }

/* Every lane reads what lies `stride` bytes after what its neighbour reads. */
static ptx_cost reading(const char *space, int stride) {
    char body[TEXT];
    snprintf(body, sizeof body,
             "mov.u32 %%r2, own; mul.lo.s32 %%r3, %%r0, %d; add.s32 %%r2, %%r2, %%r3; mul.wide.u32 %%d2, %%r0, %d;\n"
             "add.s64 %%d2, %%d0, %%d2; ld.%s.u32 %%r4, [%s];",
             stride, stride, space, space[0] == 's' ? "%r2" : "%d2");
    return cost_of(body, WARP);
}

START_TEST(requests_move_what_their_lanes_do_not_share) {
    const struct {
        const char *space;
        int stride;
        uint64_t units, least;
    } rows[] = {{"shared", 4, 1, 1}, {"shared", 0, 1, 1}, {"shared", 8, 2, 1},
                {"global", 4, 4, 4}, {"global", 0, 1, 1}, {"global", 32, 32, 4}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const ptx_cost cost = reading(rows[k].space, rows[k].stride);
        const ptx_traffic *traffic = rows[k].space[0] == 's' ? &cost.shared : &cost.global;
        ck_assert_uint_eq(traffic->requests, 1);
        ck_assert_uint_eq(traffic->units, rows[k].units);
        ck_assert_uint_eq(traffic->least, rows[k].least);
    }
}
END_TEST

START_TEST(instructions_wait_for_what_they_read) {
    const char *chain = "add.s32 %r1, %r0, 1; add.s32 %r1, %r1, 1; add.s32 %r1, %r1, 1; add.s32 %r1, %r1, 1;";
    const char *apart = "add.s32 %r1, %r0, 1; add.s32 %r2, %r0, 1; add.s32 %r3, %r0, 1; add.s32 %r4, %r0, 1;";
    ck_assert_uint_gt(cycles_of(chain), 3 * cycles_of("add.s32 %r1, %r0, 1; add.s32 %r1, %r1, 1;") / 2);
    ck_assert_uint_le(cycles_of(apart), 4);
    /* Two reads take as long as one, but for a write between them. */
    const char *one = "ld.global.u32 %r1, [%d1]; add.s32 %r1, %r1, 1;";
    const char *two = "ld.global.u32 %r1, [%d1]; add.s32 %r1, %r1, 1; ld.global.u32 %r2, [%d1]; add.s32 %r2, %r2, 1;";
    const char *written = "ld.global.u32 %r1, [%d1]; add.s32 %r1, %r1, 1; st.global.u32 [%d1], %r1;\n"
                          "ld.global.u32 %r2, [%d1]; add.s32 %r2, %r2, 1;";
    ck_assert_uint_le(cycles_of(two), cycles_of(one) + 4);
    ck_assert_uint_ge(cycles_of(written), 2 * cycles_of(one) - 20);
}
END_TEST

/* Half of a warp has nothing to do for a while; and what a lane takes, those at its barrier wait for. */
START_TEST(lanes_diverge_and_synchronize) {
    const char *some = "setp.lt.u32 %p1, %r0, 16; @%p1 bra DONE; add.s32 %r1, %r0, 1; add.s32 %r1, %r1, 1;\nDONE:";
    const ptx_cost none = cost_of("", WARP), half = cost_of(some, WARP);
    ck_assert_uint_eq(half.issued - none.issued, 4);
    ck_assert_uint_eq(half.executed - none.executed, 2 * WARP + 2 * WARP / 2);
    const char *alone =
        "setp.ne.s32 %p1, %r0, 0; @%p1 bra DONE; ld.global.u32 %r1, [%d0]; add.s32 %r1, %r1, 1;\nDONE:\n";
    char met[TEXT];
    snprintf(met, sizeof met, "%sbar.sync 0;", alone);
    ck_assert_uint_gt(cycles_of(met), cycles_of("ld.global.u32 %r1, [%d0]; add.s32 %r1, %r1, 1;"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ptx/ptx");
    TCase *tc = tcase_create("ptx");
    tcase_add_loop_test(tc, instructions_give_what_the_isa_says, 0, sizeof samples / sizeof *samples);
    tcase_add_test(tc, branches_loop_while_their_predicate_says);
    tcase_add_test(tc, functions_get_arguments_and_give_a_result);
    tcase_add_test(tc, functions_have_memory_of_their_own);
    tcase_add_test(tc, vectors_are_loaded_and_stored_element_by_element);
    tcase_add_test(tc, generic_addresses_reach_every_memory);
    tcase_add_test(tc, shuffles_exchange_numbers_between_lanes);
    tcase_add_loop_test(tc, matrices_are_multiplied_in_the_layout_of_the_isa, 0, 2);
    tcase_add_test(tc, matrices_of_tf32_are_multiplied_in_the_layout_of_the_isa);
    tcase_add_test(tc, matrices_of_bytes_are_multiplied_in_the_layout_of_the_isa);
    tcase_add_test(tc, factors_of_tf32_have_no_other_bits);
    tcase_add_test(tc, a_barrier_brings_what_others_wrote);
    tcase_add_test(tc, bytes_of_a_word_are_threads_own);
    tcase_add_loop_test(tc, what_a_kernel_must_not_do_ends_it_with_a_line, 0, sizeof faults / sizeof *faults);
    tcase_add_test(tc, barriers_of_some_lanes_are_for_these);
    tcase_add_test(tc, bytes_that_are_not_used_do_not_race);
    tcase_add_test(tc, a_line_says_where_the_source_has_it);
    tcase_add_test(tc, requests_move_what_their_lanes_do_not_share);
    tcase_add_test(tc, instructions_wait_for_what_they_read);
    tcase_add_test(tc, lanes_diverge_and_synchronize);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
