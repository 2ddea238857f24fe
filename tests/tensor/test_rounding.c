/* 16-bit types of matrix products: which number of theirs a float32 becomes. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "support/main.h"
#include "tensor/tensor.h"

static const struct {
    cm_dtype type;
    float x;
    uint16_t want;
} known[] = {
    {CM_F16, 0.0f, 0x0000},         {CM_F16, -0.0f, 0x8000},        {CM_F16, 1.0f, 0x3c00},
    {CM_F16, -2.0f, 0xc000},        {CM_F16, 1.0f / 3, 0x3555},     {CM_F16, 3.14159265f, 0x4248},
    {CM_F16, 65504.0f, 0x7bff},     {CM_F16, 65519.99f, 0x7bff},    {CM_F16, 65520.0f, 0x7c00},
    {CM_F16, -1e30f, 0xfc00},       {CM_F16, INFINITY, 0x7c00},     {CM_F16, 0x1p-14f, 0x0400},
    {CM_F16, 0x1.ff8p-15f, 0x03ff}, {CM_F16, 0x1.ffcp-15f, 0x0400}, {CM_F16, 0x1p-24f, 0x0001},
    {CM_F16, 0x1p-25f, 0x0000},     {CM_F16, 0x1.01p-25f, 0x0001},  {CM_F16, 0x1.8p-24f, 0x0002},
    {CM_F16, -0x1p-40f, 0x8000},    {CM_F16, 0x1.002p0f, 0x3c00},   {CM_F16, 0x1.006p0f, 0x3c02},
    {CM_BF16, 1.0f, 0x3f80},        {CM_BF16, 0x1.01p0f, 0x3f80},   {CM_BF16, 0x1.03p0f, 0x3f82},
    {CM_BF16, 65520.0f, 0x4780},    {CM_BF16, -INFINITY, 0xff80},
};

START_TEST(known_numbers_are_rounded_to_the_nearest_even) {
    uint16_t got = cm_to_half(known[_i].x, known[_i].type);
    ck_assert_msg(got == known[_i].want, "%s of %a is %04x, not %04x", cm_dtype_name(known[_i].type),
                  (double)known[_i].x, got, known[_i].want);
}
END_TEST

static const cm_dtype types[] = {CM_BF16, CM_F16};
static const uint16_t infinity[] = {0x7f80, 0x7c00};

/* Between neighbours h and h + 1: what is nearer to one becomes that one, the middle the even one. */
START_TEST(every_number_comes_back_and_the_middle_goes_to_even) {
    const cm_dtype type = types[_i];
    for (uint16_t h = 0; h < infinity[_i]; h++) {
        const float x = cm_widen(h, type), next = cm_widen((uint16_t)(h + 1), type);
        ck_assert_msg(cm_to_half(x, type) == h && cm_to_half(-x, type) == (h | 0x8000), "%04x does not come back", h);
        if (isinf(next)) break;
        const float middle = (float)(((double)x + (double)next) / 2);
        if (middle == x) continue; /* there is no float32 between them */
        const uint16_t even = (uint16_t)(h & 1 ? h + 1 : h);
        ck_assert_msg(cm_to_half(middle, type) == even, "the middle behind %04x is not even", h);
        ck_assert_msg(cm_to_half(nextafterf(middle, x), type) == h, "below the middle behind %04x", h);
        ck_assert_msg(cm_to_half(nextafterf(middle, next), type) == h + 1, "above the middle behind %04x", h);
    }
    ck_assert(isinf(cm_widen(infinity[_i], type)) && cm_to_half(INFINITY, type) == infinity[_i]);
}
END_TEST

START_TEST(nan_stays_nan) {
    const cm_dtype type = types[_i];
    const union {
        uint32_t u;
        float f;
    } low = {0x7f800001u}; /* all its digits are in the half that is cut off */
    ck_assert(isnan(cm_rounded(NAN, type)));
    ck_assert(isnan(cm_rounded(-NAN, type)));
    ck_assert(isnan(cm_rounded(low.f, type)));
}
END_TEST

START_TEST(float32_is_not_rounded) { ck_assert_float_eq(cm_rounded(1.0f / 3, CM_F32), 1.0f / 3); }
END_TEST

int main(void) {
    Suite *suite = suite_create("tensor/rounding");
    TCase *tests = tcase_create("rounding");
    tcase_add_loop_test(tests, known_numbers_are_rounded_to_the_nearest_even, 0, sizeof known / sizeof *known);
    tcase_add_loop_test(tests, every_number_comes_back_and_the_middle_goes_to_even, 0, 2);
    tcase_add_loop_test(tests, nan_stays_nan, 0, 2);
    tcase_add_test(tests, float32_is_not_rounded);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
