/* Products in 8 bits: every instruction set makes the whole numbers that ref makes. */
#include "backend/check.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/int8_board.h"
#include "backend/cpu/int8_bytes.h"
#include "backend/cpu/int8_winograd.h"
#include "backend/pair.h"

#include <limits.h>

enum { TABLES = 2 * CM_INT8_KERNELS + 2 };

/* A pair whose cpu backend has the kernels of this number: those of this processor, their kernels of pairs alone, and
 * two of bytes on any processor; false: there are fewer. */
static bool open_with(pair *p, int number) {
    const cm_int8_kernels *usable[TABLES];
    int count;
    cm_int8_usable(usable, &count);
    for (int i = count - 1; i >= 0; i--)
        if (usable[i]->pairs && usable[i]->pairs != usable[i]) usable[count++] = usable[i]->pairs;
    usable[count++] = &int8_bytes;
    usable[count++] = &int8_tiled;
    if (number >= count) return false;
    pair_open(p);
    ((cm_cpu *)p->cpu->state)->int8 = usable[number];
    return true;
}

static void close_with(pair *p) { pair_close(p); }

#include "backend/int8_products.h"

static int products_of(int fours, int threes) { return 6 * fours + 5 * threes; }

/* The fewest products of tiles along one side, of all ways. */
static int fewest_along(int places, bool has_fours) {
    int fewest = INT_MAX;
    for (int fours = 0; fours <= (has_fours ? places : 0); fours++)
        for (int threes = 0; threes <= places; threes++)
            if (4 * fours + 3 * threes >= places && products_of(fours, threes) < fewest)
                fewest = products_of(fours, threes);
    return fewest;
}

START_TEST(boards_have_the_tiles_with_the_fewest_products) {
    for (int h = 1; h <= 20; h++)
        for (int w = 1; w <= 20; w++) {
            cm_int8_board b;
            ck_assert(cm_int8_board_find(h, w, 16, &b));
            ck_assert_int_eq(cm_int8_board_products(&b), fewest_along(h, true) * fewest_along(w, true));
            ck_assert_int_ge(cm_int8_side_places(b.down), h);
            ck_assert_int_ge(cm_int8_side_places(b.across), w);
        }
}
END_TEST

/* Of 231 channels with tiles of 4 x 4, 924 with those of 3 x 4, 3,698 without fours (int8_winograd.h). */
START_TEST(tiles_are_those_whose_sums_are_exact) {
    static const int channels[] = {230, 231, 923, 924, 3697};
    const int three = fewest_along(13, false), four = fewest_along(13, true),
              products[] = {four * four, three * four, three * four, three * three, three * three};
    cm_int8_board b;
    for (int i = 0; i < COUNT(channels); i++) {
        ck_assert(cm_int8_board_find(13, 13, channels[i], &b));
        ck_assert_int_eq(cm_int8_board_products(&b), products[i]);
    }
    ck_assert(!cm_int8_board_find(13, 13, 3698, &b));
}
END_TEST

START_TEST(few_channels_are_direct_sums_where_there_are_bytes) {
    static const struct {
        const cm_int8_kernels *kernels;
        int channels, outputs;
        bool fits;
    } cases[] = {{&int8_bytes, 32, 32, true},   {&int8_bytes, 16, 32, false},   {&int8_bytes, 32, 31, false},
                 {&cm_int8_base, 16, 16, true}, {&cm_int8_base, 16, 15, false}, {&cm_int8_base, 40, 40, false},
                 {&int8_tiled, 128, 128, false}};
    for (int i = 0; i < COUNT(cases); i++) {
        const cm_tensor x = cm_tensor_make(NULL, CM_F32, 4, (int[]){1, 6, 7, cases[i].channels}),
                        w = cm_tensor_make(NULL, CM_F32, 4, (int[]){cases[i].outputs, 3, 3, cases[i].channels});
        ck_assert_msg(cm_int8_winograd_fits(cases[i].kernels, &x, &w, 1) == cases[i].fits, "case %d", i);
    }
}
END_TEST

static void refuse(cm_call *call, const char *why) {
    ck_assert_int_eq(cm_call_check(call), CM_ERR_INPUT);
    ck_assert_msg(strstr(cm_error_message(), why) != NULL, "%s", cm_error_message());
}

START_TEST(calls_in_8_bits_are_checked) {
    pair p;
    pair_open(&p);
    cm_call call = {.op = CM_OP_dense, .attr = {.compute = CM_I8, .range = 1.0f}};
    call.t[CM_T_dense_y] = pair_matrix(&p, 2, 3, 0);
    call.t[CM_T_dense_x] = pair_matrix(&p, 2, 4, 0);
    call.t[CM_T_dense_weight] = pair_matrix(&p, 3, 4, 0);
    CHECK_OK(cm_call_check(&call));
    const float bad[] = {0.0f, -1.0f, INFINITY, NAN};
    for (int i = 0; i < COUNT(bad); i++) {
        call.attr.range = bad[i];
        refuse(&call, "attr.range must be above 0");
    }
    call.attr.range = 1.0f;
    call.attr.accumulate = 1u << CM_T_dense_y;
    refuse(&call, "attr.accumulate must be 0");
    call.attr.accumulate = 0;
    cm_call backward = {.op = CM_OP_dense_backward, .attr = {.compute = CM_I8, .range = 1.0f}};
    backward.t[CM_T_dense_backward_dy] = call.t[CM_T_dense_y];
    backward.t[CM_T_dense_backward_x] = call.t[CM_T_dense_x];
    backward.t[CM_T_dense_backward_weight] = call.t[CM_T_dense_weight];
    refuse(&backward, "attr.compute must be float32, bfloat16 or float16");
    pair_free(&call);
    pair_close(&p);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("int8");
    add_int8_products(tests, TABLES);
    tcase_add_test(tests, boards_have_the_tiles_with_the_fewest_products);
    tcase_add_test(tests, tiles_are_those_whose_sums_are_exact);
    tcase_add_test(tests, few_channels_are_direct_sums_where_there_are_bytes);
    tcase_add_test(tests, calls_in_8_bits_are_checked);
    return pair_main("cpu int8", tests);
}
