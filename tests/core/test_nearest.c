/* Proposals for misspelt names. */
#include <check.h>

#include "core/nearest.h"
#include "support/main.h"

static const char *const names[] = {"train", "tree", "MCTS", "num_simulations", "--seed", "--help"};
enum { NAMES = sizeof names / sizeof *names };

static const char *name_at(const void *rows, int i) { return ((const char *const *)rows)[i]; }

static const char *nearest(const char *word) {
    int i = cm_nearest_name(word, names, NAMES, name_at);
    return i < 0 ? "none" : names[i];
}

START_TEST(slips_of_the_finger_are_understood) {
    ck_assert_str_eq(nearest("train"), "train");
    ck_assert_str_eq(nearest("trian"), "train");
    ck_assert_str_eq(nearest("tran"), "train");
    ck_assert_str_eq(nearest("mcts"), "MCTS");
    ck_assert_str_eq(nearest("simulations"), "num_simulations");
    ck_assert_str_eq(nearest("num_simulatoins"), "num_simulations");
    ck_assert_str_eq(nearest("--hlep"), "--help");
}
END_TEST

START_TEST(words_that_are_far_from_all_names_have_no_neighbour) {
    ck_assert_str_eq(nearest("zzzz"), "none");
    ck_assert_str_eq(nearest("gradient"), "none");
    ck_assert_str_eq(nearest("t"), "none");
    ck_assert_str_eq(nearest(""), "none");
    ck_assert_int_eq(cm_nearest_name("train", names, 0, name_at), -1);
}
END_TEST

START_TEST(short_forms_come_before_other_slips) {
    static const char *const keys[] = {"env_steps", "num_envs", "env_name", "num_simulations",
                                       "seeds",     "--set",    "--seed",   "--env-steps"};
    static const char *const pairs[][2] = {
        {"num_sims", "num_simulations"}, {"env", "env_name"},      {"--sed", "--seed"},      {"--steps", "--env-steps"},
        {"num_env", "num_envs"},         {"--seedling", "--seed"}, {"env_names", "env_name"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        int found = cm_nearest_name(pairs[i][0], keys, sizeof keys / sizeof *keys, name_at);
        ck_assert_int_ge(found, 0);
        ck_assert_str_eq(keys[found], pairs[i][1]);
    }
}
END_TEST

START_TEST(letters_that_a_long_name_happens_to_have_are_no_short_form) {
    static const char *const keys[] = {"final_evaluation_episodes", "per_beta_annealing_steps"};
    static const char *const pairs[][2] = {{"foo", "none"},
                                           {"pbt", "none"},
                                           {"final", "final_evaluation_episodes"},
                                           {"final_eval_eps", "final_evaluation_episodes"},
                                           {"per_beta", "per_beta_annealing_steps"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        int found = cm_nearest_name(pairs[i][0], keys, 2, name_at);
        ck_assert_str_eq(found < 0 ? "none" : keys[found], pairs[i][1]);
    }
}
END_TEST

START_TEST(last_word_of_a_name_comes_before_its_first_one) {
    static const char *const keys[] = {"loss_scale", "mean_of_loss", "total_loss", "code_loss", "gloss", "--dry-run"};
    static const char *const pairs[][2] = {
        {"loss", "total_loss"}, {"scale", "loss_scale"}, {"loss_scal", "loss_scale"}, {"run", "--dry-run"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        int found = cm_nearest_name(pairs[i][0], keys, sizeof keys / sizeof *keys, name_at);
        ck_assert_int_ge(found, 0);
        ck_assert_str_eq(keys[found], pairs[i][1]);
    }
    ck_assert_int_eq(cm_nearest_name("ss", keys, 3, name_at), -1);
}
END_TEST

START_TEST(a_swap_of_neighbours_is_one_change) {
    static const char *const two[] = {"abXX", "ba"};
    ck_assert_int_eq(cm_nearest_name("ab", two, 2, name_at), 1);
    static const char *const three[] = {"acb", "abc"};
    ck_assert_int_eq(cm_nearest_name("bac", three, 2, name_at), 1);
}
END_TEST

START_TEST(long_words_are_cut) {
    char word[200] = "";
    for (int i = 0; i < 199; i++) word[i] = 'a';
    static const char *const one[] = {"aa"};
    ck_assert_int_eq(cm_nearest_name(word, one, 1, name_at), -1);
    ck_assert_int_eq(cm_nearest_name(word, (const char *const[]){word}, 1, name_at), 0);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("core/nearest");
    TCase *tests = tcase_create("nearest");
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, slips_of_the_finger_are_understood);
    tcase_add_test(tests, words_that_are_far_from_all_names_have_no_neighbour);
    tcase_add_test(tests, short_forms_come_before_other_slips);
    tcase_add_test(tests, letters_that_a_long_name_happens_to_have_are_no_short_form);
    tcase_add_test(tests, last_word_of_a_name_comes_before_its_first_one);
    tcase_add_test(tests, a_swap_of_neighbours_is_one_change);
    tcase_add_test(tests, long_words_are_cut);
    return cm_test_main(suite);
}
