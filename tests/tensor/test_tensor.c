/* Tensors: which of them share memory. */
#include <check.h>

#include "support/main.h"
#include "tensor/tensor.h"

START_TEST(tensors_overlap_if_they_share_a_byte) {
    float memory[24] = {0};
    const cm_tensor first = cm_tensor_2d(memory, CM_F32, 3, 4), second = cm_tensor_2d(memory + 12, CM_F32, 3, 4);
    const cm_tensor between = cm_tensor_1d(memory + 11, CM_F32, 2), none = cm_tensor_2d(NULL, CM_F32, 3, 4);
    cm_tensor columns = cm_tensor_2d(memory + 2, CM_F32, 3, 2), behind = cm_tensor_1d(memory + 8, CM_F32, 1);
    columns.stride = 4; /* its last element is memory[11] */
    ck_assert(!cm_tensor_overlaps(&first, &second) && !cm_tensor_overlaps(&second, &first));
    ck_assert(cm_tensor_overlaps(&first, &between) && cm_tensor_overlaps(&between, &first));
    ck_assert(cm_tensor_overlaps(&between, &second) && cm_tensor_overlaps(&second, &between));
    ck_assert(cm_tensor_overlaps(&first, &first));
    ck_assert(cm_tensor_overlaps(&columns, &between) && !cm_tensor_overlaps(&columns, &second));
    ck_assert(cm_tensor_overlaps(&columns, &behind)); /* in a gap */
    ck_assert(!cm_tensor_overlaps(&first, &none) && !cm_tensor_overlaps(&none, &first));
    ck_assert(!cm_tensor_overlaps(&none, &none));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("tensor");
    TCase *tests = tcase_create("tensors");
    tcase_add_test(tests, tensors_overlap_if_they_share_a_byte);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
