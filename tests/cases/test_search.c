/* Every case of tests/cases/search: searches of mctx on tabular models, compared number by number. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "cases/search.h"
#include "support/main.h"

enum { PATH = 512, MOST_CASES = 64 };

static int list_cases(char paths[MOST_CASES][PATH]) {
    DIR *folder = opendir(CM_TEST_CASES "/search");
    ck_assert_msg(folder != NULL, "no folder " CM_TEST_CASES "/search");
    int count = 0;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (!strstr(entry->d_name, ".json")) continue;
        ck_assert_int_lt(count, MOST_CASES);
        snprintf(paths[count++], PATH, CM_TEST_CASES "/search/%s", entry->d_name);
    }
    closedir(folder);
    return count;
}

static void check_all(int threads) {
    static char paths[MOST_CASES][PATH];
    cm_pool *pool = NULL;
    ck_assert_int_eq(cm_pool_create(threads, &pool), CM_OK);
    int count = list_cases(paths);
    ck_assert_int_eq(count, 34);
    for (int i = 0; i < count; i++) {
        cm_search_case *searched = NULL;
        char first[256];
        ck_assert_msg(cm_search_case_read(paths[i], true, &searched) == CM_OK, "%s", cm_error_message());
        ck_assert_msg(cm_search_case_run(searched, pool, threads) == CM_OK, "%s: %s", paths[i], cm_error_message());
        int64_t different = cm_search_case_compare(searched, first, sizeof first);
        ck_assert_msg(different == 0, "%s: %s; %lld differ", paths[i], first, (long long)different);
        cm_search_case_destroy(searched);
    }
    cm_pool_destroy(pool);
}

START_TEST(search_cases_equal_mctx_with_1_thread) { check_all(1); }
END_TEST
START_TEST(search_cases_equal_mctx_with_2_threads) { check_all(2); }
END_TEST
START_TEST(search_cases_equal_mctx_with_3_threads) { check_all(3); }
END_TEST
START_TEST(search_cases_equal_mctx_with_8_threads) { check_all(8); }
END_TEST

int main(void) {
    Suite *suite = suite_create("search cases");
    TCase *tests = tcase_create("mctx");
    tcase_add_test(tests, search_cases_equal_mctx_with_1_thread);
    tcase_add_test(tests, search_cases_equal_mctx_with_2_threads);
    tcase_add_test(tests, search_cases_equal_mctx_with_3_threads);
    tcase_add_test(tests, search_cases_equal_mctx_with_8_threads);
    suite_add_tcase(suite, tests);
    return cm_test_main_in_process(suite);
}
