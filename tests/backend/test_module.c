/* Modules: where they are looked for, which are taken, what is said about the others; and the cuda backend as a user
 * without a GPU meets it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/module.h"
#include "core/file.h"
#include "mcts/kernels.h"
#include "support/folder.h"
#include "support/main.h"

static bool says(const char *part) { return strstr(cm_error_message(), part) != NULL; }

static cm_status open_kind(const char *name, const cm_backend_class **kind) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s.so", CM_TEST_MODULES, name);
    return cm_module_open(path, kind);
}

START_TEST(a_module_of_this_build_is_opened_and_speaks_through_the_programs_messages) {
    const cm_backend_class *kind;
    ck_assert_msg(open_kind("good", &kind) == CM_OK, "%s", cm_error_message());
    ck_assert_str_eq(kind->name, "test module");
    cm_backend backend = {.kind = kind};
    ck_assert_int_eq(kind->open(&backend), CM_ERR_DEVICE);
    ck_assert_str_eq(cm_error_message(), "the module's own message about test module");
    ck_assert_ptr_eq(backend.device, &cm_device_cpu);
}
END_TEST

START_TEST(a_module_of_another_version_or_build_is_refused) {
    const cm_backend_class *kind;
    ck_assert_int_eq(open_kind("other_version", &kind), CM_ERR_ABSENT);
    ck_assert_msg(says("other_version.so is of version 0.0.9, this program of "), "%s", cm_error_message());
    ck_assert_ptr_null(kind);
    ck_assert_int_eq(open_kind("other_build", &kind), CM_ERR_ABSENT);
    ck_assert_msg(says("other_build.so is of another build than this program; build both again"), "%s",
                  cm_error_message());
    ck_assert_ptr_null(kind);
}
END_TEST

START_TEST(what_is_no_module_or_lacks_a_function_says_so) {
    const cm_backend_class *kind;
    ck_assert_int_eq(open_kind("no_entry", &kind), CM_ERR_ABSENT);
    ck_assert(says("no_entry.so is no module of cumind: it has no cumind_module"));
    ck_assert_int_eq(open_kind("no_symbol", &kind), CM_ERR_ABSENT);
    ck_assert_msg(says("undefined symbol: cm_is_nowhere; build it again with `make cuda`"), "%s", cm_error_message());
    ck_assert_int_eq(open_kind("is_not_there", &kind), CM_ERR_ABSENT);
    ck_assert_msg(says("is_not_there.so cannot be opened: "), "%s", cm_error_message());
}
END_TEST

static const cm_module_about some = {.file = "m.so", .build = "make m"};

START_TEST(a_module_is_found_next_to_the_program_where_it_is_installed_and_by_tests) {
    static const char *const folders[] = {"bin/lib", "lib/cumind", "lib"};
    static const char *const programs[] = {"bin", "bin", "tests/part"};
    char program[128], path[CM_MODULE_PATH_BYTES], file[256];
    cm_test_folder_make();
    for (int i = 0; i < 3; i++) {
        snprintf(program, sizeof program, "%s/%s", cm_test_folder, programs[i]);
        ck_assert_int_eq(cm_directory_make(program), CM_OK);
        ck_assert_int_eq(cm_module_find(program, &some, path), CM_ERR_ABSENT);
        ck_assert(says("the module m.so is neither in "));
        ck_assert(says(": build it with `make m`"));
        snprintf(file, sizeof file, "%s/%s", cm_test_folder, folders[i]);
        ck_assert_int_eq(cm_directory_make(file), CM_OK);
        snprintf(file, sizeof file, "%s/%s/m.so", cm_test_folder, folders[i]);
        ck_assert_int_eq(cm_file_write(file, "x", 1), CM_OK);
        ck_assert_msg(cm_module_find(program, &some, path) == CM_OK, "%s", cm_error_message());
        ck_assert(strncmp(path, program, strlen(program)) == 0);
        snprintf(file, sizeof file, "rm %s/%s/m.so", cm_test_folder, folders[i]);
        ck_assert_int_eq(system(file), 0);
    }
    cm_test_folder_remove();
}
END_TEST

START_TEST(a_module_is_found_in_a_package_of_python_next_to_that_of_the_program) {
    static const cm_module_about packed = {
        .file = "m.so", .build = "make m", .package = "../../cumind_m", .install = "pip install m"};
    static const char *const programs[] = {"site/cumind/lib", "site/other/lib"};
    char program[128], path[CM_MODULE_PATH_BYTES], file[256];
    cm_test_folder_make();
    snprintf(program, sizeof program, "%s/%s", cm_test_folder, programs[_i]);
    ck_assert_int_eq(cm_directory_make(program), CM_OK);
    ck_assert_int_eq(cm_module_find(program, &packed, path), CM_ERR_ABSENT);
    ck_assert(says(_i == 0 ? "the module m.so is not installed: pip install m" : ": build it with `make m`"));
    snprintf(file, sizeof file, "%s/site/cumind_m", cm_test_folder);
    ck_assert_int_eq(cm_directory_make(file), CM_OK);
    strcat(file, "/m.so");
    ck_assert_int_eq(cm_file_write(file, "x", 1), CM_OK);
    ck_assert_int_eq(cm_module_find(program, &packed, path), _i == 0 ? CM_OK : CM_ERR_ABSENT);
    ck_assert_int_eq(cm_module_find(program, &some, path), CM_ERR_ABSENT);
    cm_test_folder_remove();
}
END_TEST

START_TEST(a_module_that_no_package_of_python_has_says_what_to_do_there) {
    static const cm_module_about built = {.file = "m.so", .build = "make m", .install = "wheels have none"};
    static const char *const answers[] = {"the module m.so is not installed: wheels have none",
                                          ": build it with `make m`"};
    static const char *const programs[] = {"site/cumind/lib", "site/other/lib"};
    char program[128], path[CM_MODULE_PATH_BYTES];
    cm_test_folder_make();
    snprintf(program, sizeof program, "%s/%s", cm_test_folder, programs[_i]);
    ck_assert_int_eq(cm_directory_make(program), CM_OK);
    ck_assert_int_eq(cm_module_find(program, &built, path), CM_ERR_ABSENT);
    ck_assert_msg(says(answers[_i]), "%s", cm_error_message());
    cm_test_folder_remove();
}
END_TEST

/* Opening needs no GPU: every function that the module calls of the program and of the libraries is found. */
START_TEST(the_built_cuda_module_opens_and_has_every_operation) {
    const cm_backend_class *kind = NULL;
    char path[512];
    snprintf(path, sizeof path, "%s/../../lib/cumind_cuda.so", CM_TEST_MODULES);
    if (!cm_file_exists(path)) {
        printf("SKIP cuda module: it is not built (make cuda)\n");
        return;
    }
    ck_assert_msg(cm_module_open(path, &kind) == CM_OK, "%s", cm_error_message());
    ck_assert_str_eq(kind->name, "cuda");
    for (int op = 0; op < CM_OP_COUNT; op++) ck_assert_msg(kind->run[op] != NULL, "%s", cm_op_name((cm_op)op));
    ck_assert(kind->open && kind->close && kind->stream_open && kind->stream_close && kind->prepare && kind->repack);
    ck_assert(kind->write && kind->read && kind->run_list && kind->destroy_graph && kind->describe);
    ck_assert_uint_gt(kind->stream_bytes, 0);
    ck_assert(kind->capture && kind->search_kernels->begin && kind->search_kernels->grow && kind->search_kernels->end);
    ck_assert_uint_eq(kind->search_kernels->args_bytes, sizeof(cm_tree_args));
}
END_TEST

/* Whatever is missing here, it is one line that says what to do; a machine that has all opens it. */
START_TEST(the_cuda_backend_opens_or_says_in_one_line_what_is_missing) {
    cm_backend *backend;
    cm_status status = cm_backend_open("cuda", &backend);
    if (status == CM_OK) {
        ck_assert_str_eq(backend->kind->name, "cuda");
        cm_backend_close(backend);
        return;
    }
    printf("SKIP cuda: %s\n", cm_error_message());
    ck_assert_int_eq(status, CM_ERR_ABSENT);
    ck_assert_ptr_null(backend);
    ck_assert(says("driver") || says("module") || says("GPU"));
    ck_assert_ptr_null(strchr(cm_error_message(), '\n'));
}
END_TEST

START_TEST(auto_opens_whatever_there_is) {
    cm_backend *backend;
    ck_assert_int_eq(cm_backend_open("auto", &backend), CM_OK);
    ck_assert_str_ne(backend->kind->name, "ref");
    ck_assert_ptr_nonnull(backend->device);
    cm_backend_close(backend);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("modules");
    TCase *tc = tcase_create("modules");
    tcase_add_test(tc, a_module_of_this_build_is_opened_and_speaks_through_the_programs_messages);
    tcase_add_test(tc, a_module_of_another_version_or_build_is_refused);
    tcase_add_test(tc, what_is_no_module_or_lacks_a_function_says_so);
    tcase_add_test(tc, a_module_is_found_next_to_the_program_where_it_is_installed_and_by_tests);
    tcase_add_loop_test(tc, a_module_is_found_in_a_package_of_python_next_to_that_of_the_program, 0, 2);
    tcase_add_loop_test(tc, a_module_that_no_package_of_python_has_says_what_to_do_there, 0, 2);
    tcase_add_test(tc, the_built_cuda_module_opens_and_has_every_operation);
    tcase_add_test(tc, the_cuda_backend_opens_or_says_in_one_line_what_is_missing);
    tcase_add_test(tc, auto_opens_whatever_there_is);
    suite_add_tcase(suite, tc);
    return cm_test_main(suite);
}
