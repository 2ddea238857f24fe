/* The sum tree against plain sums. */
#include <check.h>
#include <stdlib.h>

#include "core/rng.h"
#include "replay/sum_tree.h"
#include "support/main.h"

static cm_sum_tree make_tree(cm_arena *arena, int leaves) {
    cm_sum_tree tree;
    ck_assert_int_eq(cm_arena_create(arena, cm_sum_tree_bytes(leaves), "a sum tree"), CM_OK);
    cm_sum_tree_init(&tree, arena, leaves);
    ck_assert_uint_eq(arena->used, arena->capacity);
    return tree;
}

START_TEST(find_gives_the_leaf_whose_share_holds_the_number) {
    static const int sizes[] = {1, 2, 7, 8, 9, 63, 64, 65, 511, 513, 5000};
    int leaves = sizes[_i];
    cm_arena arena;
    cm_sum_tree tree = make_tree(&arena, leaves);
    cm_rng rng = cm_rng_init(cm_key_make(2, CM_RNG_TEST, (uint64_t)_i), 0);
    double *weight = calloc((size_t)leaves, sizeof *weight);
    for (int round = 0; round < 2000; round++) {
        int leaf = (int)cm_rng_below(&rng, (uint32_t)leaves);
        weight[leaf] = cm_rng_below(&rng, 3) ? cm_rng_below(&rng, 5) : 0.0; /* integers: every sum is exact */
        cm_sum_tree_set(&tree, leaf, weight[leaf]);
        double total = 0.0;
        for (int i = 0; i < leaves; i++) total += weight[i];
        ck_assert_double_eq(cm_sum_tree_total(&tree), total);
        if (total == 0.0) continue;
        double target[3] = {0.0, cm_rng_uniform_double(&rng) * total, total - 0.5}, number[3];
        for (int j = 0; j < 3; j++) number[j] = target[j];
        int32_t found[3];
        cm_sum_tree_find(&tree, 3, target, found);
        for (int j = 0; j < 3; j++) {
            double below = 0.0;
            for (int i = 0; i < found[j]; i++) below += weight[i];
            ck_assert_double_le(below, number[j]);
            ck_assert_double_gt(below + weight[found[j]], number[j]);
        }
    }
    free(weight);
    cm_arena_destroy(&arena);
}
END_TEST

START_TEST(tree_depends_on_its_weights_and_not_on_their_history) {
    cm_arena one_arena, two_arena;
    cm_sum_tree one = make_tree(&one_arena, 1000), two = make_tree(&two_arena, 1000);
    cm_rng rng = cm_rng_init(cm_key_make(3, CM_RNG_TEST, 0), 0);
    for (int i = 0; i < 20000; i++)
        cm_sum_tree_set(&one, (int)cm_rng_below(&rng, 1000), cm_rng_uniform_double(&rng) * (i % 3 ? 1.0 : 1e9));
    for (int i = 999; i >= 0; i--) cm_sum_tree_set(&two, i, cm_sum_tree_weight(&one, i));
    ck_assert_mem_eq(two_arena.base, one_arena.base, one_arena.used);
    cm_arena_destroy(&one_arena);
    cm_arena_destroy(&two_arena);
}
END_TEST

START_TEST(a_leaf_of_weight_0_is_never_found_even_past_the_end) {
    cm_arena arena;
    cm_sum_tree tree = make_tree(&arena, 100);
    for (int i = 10; i < 20; i++) cm_sum_tree_set(&tree, i, i % 2 ? 0.1 : 0.0);
    double total = cm_sum_tree_total(&tree), target[3] = {0.0, total, total * 1.0001};
    int32_t found[3];
    cm_sum_tree_find(&tree, 3, target, found);
    ck_assert_int_eq(found[0], 11);
    ck_assert_int_eq(found[1], 19);
    ck_assert_int_eq(found[2], 19);
    cm_arena_destroy(&arena);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sum tree");
    TCase *tests = tcase_create("sum tree");
    tcase_add_loop_test(tests, find_gives_the_leaf_whose_share_holds_the_number, 0, 11);
    tcase_add_test(tests, tree_depends_on_its_weights_and_not_on_their_history);
    tcase_add_test(tests, a_leaf_of_weight_0_is_never_found_even_past_the_end);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
