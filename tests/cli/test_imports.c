/* What Python imports: what is installed and what stands next to the environment's file, and nothing of the folder that
 * the program was started in. */
#include <limits.h>

#include "runs.h"

static char here[512];

static void write_text(const char *name, const char *text) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_directory_make_parent(path), CM_OK);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

/* Here stand files of the names of modules, which leave a mark where they are imported; the environment stands there,
 * with a module of its own next to it. */
static void begin(void) {
    static const char *const modules[] = {"array",   "collections",   "gymnasium",     "helper",
                                          "inspect", "json",          "math",          "numpy",
                                          "random",  "sitecustomize", "usercustomize", "socket"};
    cm_test_folder_make();
    snprintf(here, sizeof here, "%s/here", cm_test_folder);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        char name[64];
        snprintf(name, sizeof name, "here/%s.py", modules[i]);
        write_text(name, "open('mark', 'w').close()\n");
    }
    write_text("there/helper.py", "LAST = 8\n");
    write_text("there/grid.py", "import json, random, helper\n"
                                "class Grid:\n"
                                "    actions, max_steps = 2, 9\n"
                                "    def reset(self, seed): return [float(helper.LAST)], {}\n"
                                "    def step(self, action): return [0.0], 0.0, True, False, {}\n");
    unsetenv("PYTHONPATH");
}

static void run_here(const char *env) {
    char line[256];
    snprintf(line, sizeof line, "benchmark env --env %s --seconds 0.01 --batch 2", env);
    cm_program_run(here, line, &result);
}

static bool is_marked(void) {
    char path[1024];
    snprintf(path, sizeof path, "%s/mark", here);
    return cm_file_exists(path);
}

/* An empty folder of the list is the current one, too, and is looked through before Python's own modules. */
START_TEST(nothing_is_imported_from_the_current_folder) {
    static const char *const lists[] = {NULL, ":", ".:./", "/tmp::/usr"};
    if (lists[_i]) setenv("PYTHONPATH", lists[_i], 1);
    run_here("../there/grid.py");
    ck_assert_msg(result.status == 0 && !is_marked(), "%s%s", result.out, result.err);
    run_here("gymnasium:helper:Grid-v0");
    ck_assert_msg(result.status != 0 && !is_marked(), "%s%s", result.out, result.err);
}
END_TEST

START_TEST(what_is_to_be_found_here_is_named) {
    write_text("there/grid.py", "import missing\n");
    write_text("here/missing.py", "open('mark', 'w').close()\n");
    run_here("../there/grid.py");
    cm_program_expect_line(result.err,
                           "No module named 'missing' (grid.py:1); that of this folder is imported with PYTHONPATH=");
    ck_assert(!is_marked());
    setenv("PYTHONPATH", here, 1);
    run_here("../there/grid.py");
    ck_assert(is_marked());
}
END_TEST

/* As where Python is given a file. */
START_TEST(what_stands_next_to_the_file_is_imported) {
    write_text("here/grid.py", "import helper\nraise Exception('imported')\n");
    run_here("grid.py");
    ck_assert(is_marked());
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/imports");
    TCase *tests = tcase_create("imports");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, begin, cm_test_folder_remove);
    tcase_add_loop_test(tests, nothing_is_imported_from_the_current_folder, 0, 4);
    tcase_add_test(tests, what_is_to_be_found_here_is_named);
    tcase_add_test(tests, what_stands_next_to_the_file_is_imported);
    return cm_test_main(suite);
}
