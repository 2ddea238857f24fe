/* Runs that a stranger has made, of environments that leave a mark when they run: no command opens one that was not
 * named, directly or by links. Python itself leaves that mark, too, once `begin` has made the runs. */
#include <limits.h>
#include <sys/stat.h>

#include "runs.h"
#include "support/marking.h"

#define TINY                                                                                                           \
    " --env-steps 256 --set num_envs=4 --set min_memory_steps=64 --set hidden_dim=8 --set num_simulations=4"           \
    " --set evaluation_interval=0 --set final_evaluation_episodes=2"
#define REFUSED "if you trust it, go on with --set env_name="

/* What a user may do with a stranger's folder R, by every command: a line of each at least. */
static const char *const lines[] = {
    "train --quiet --resume R --env-steps 512",
    "train --quiet --run new --config R/config.json",
    "train --quiet --run new --config R/config.json --seeds 1-2",
    "train --quiet --run new --init-from R" TINY,
    "train --quiet --run new --replay-from R" TINY,
    "sweep learning_rate --quiet --run new --config R/config.json --trials 1",
    "sweep --show R",
    "sweep --resume R",
    "eval --run R --episodes 2",
    "eval --run R --checkpoint best --episodes 2 --json",
    "eval --run R --opponent random --games 2",
    "eval --run R --positions games.txt",
    "eval --run own --opponent R --games 2",
    "ladder R R",
    "ladder own --include R --games 2",
    "play --run R --quiet",
    "play --config R/config.json --quiet",
    "gtp --run R",
    "plot --run R",
    "plot R own --metric total_loss",
    "runs R",
    "runs R . --json",
    "runs --config R/config.json",
    "serve R --port 0 --for 0.2",
    "inspect --run R",
    "inspect --run R --checkpoint latest --json",
    "inspect --config R/config.json",
    "export --run R --hub exported --overwrite",
    "quantize --run R --to new --positions 8",
    "zoo R",
    "zoo --check R",
    "reproduce R",
    "reproduce catch --run R",
    "reproduce catch --resume R",
    "profile --run R --seconds 1 --no-advice",
    "profile --config R/config.json --seconds 1 --no-advice",
    "config --config R/config.json",
    "config --config R/config.json --explain env_name",
    "config --config R/config.json --write new.json",
    "environments",
    "benchmark env --config R/config.json --seconds 0.01",
    "benchmark inference --network configured --config R/config.json --seconds 0.01",
    "search --run R --positions games.txt",
    "search --run R --tree tree.html",
    "search --case R/case.json",
    "test-cases R --quiet",
    "report minatar R",
    "report atari100k R",
    "devices",
    "doctor --help",
    "help R",
    "completion bash",
    "version",
};
enum { LINES = sizeof lines / sizeof *lines };

static char mark[PATH_MAX], state[512], path_before[4096];

static void path_of(const char *name, char out[PATH_MAX]) {
    snprintf(out, PATH_MAX, "%s/%.255s", cm_test_folder, name);
}

static void write_text(const char *name, const char *text) {
    char path[PATH_MAX];
    path_of(name, path);
    ck_assert_int_eq(cm_file_write(path, text, strlen(text)), CM_OK);
}

static void copy_file(const char *from, const char *name) {
    char path[PATH_MAX], *bytes;
    size_t size;
    path_of(name, path);
    ck_assert_msg(cm_file_read(from, 1 << 26, &bytes, &size) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_file_write(path, bytes, size), CM_OK);
    free(bytes);
}

static void link_to(const char *target, const char *name) {
    char path[PATH_MAX];
    path_of(name, path);
    unlink(path);
    ck_assert_int_eq(symlink(target, path), 0);
}

/* A user who has trained with nothing yet. */
static void begin_each(void) {
    char path[PATH_MAX];
    snprintf(state, sizeof state, "%s/state-XXXXXX", cm_test_folder);
    ck_assert_ptr_nonnull(mkdtemp(state));
    setenv("XDG_STATE_HOME", state, 1);
    path_of("marks.so", path);
    unlink(path);
    copy_file(CM_TEST_MODULES "/marks.so", "marks.so");
    unlink(mark);
}

static void end_each(void) {
    char path[PATH_MAX];
    path_of("new", path);
    if (cm_file_exists(path)) ck_assert_int_eq(cm_directory_remove(path), CM_OK);
}

/* python3 is from here on a program that leaves a mark. */
static void replace_python(void) {
    char bin[PATH_MAX], path[sizeof path_before + PATH_MAX];
    path_of("bin/python3", bin);
    ck_assert_int_eq(cm_directory_make_parent(bin), CM_OK);
    write_text("bin/python3", "#!/bin/sh\n: >\"$CUMIND_TEST_MARK\"\nexit 1\n");
    ck_assert_int_eq(chmod(bin, 0755), 0);
    path_of("bin", bin);
    snprintf(path, sizeof path, "%s:%s", bin, path_before);
    setenv("PATH", path, 1);
}

static void begin_all(void) {
    cm_test_folder_make();
    snprintf(path_before, sizeof path_before, "%s", getenv("PATH"));
    path_of("mark", mark);
    setenv("CUMIND_TEST_MARK", mark, 1);
    snprintf(state, sizeof state, "%s/state/stranger", cm_test_folder);
    setenv("XDG_STATE_HOME", state, 1);
    copy_file(CM_TEST_MODULES "/marks.so", "marks.so");
    write_text("marks.py", cm_test_marking_python);
    write_text("games.txt", "0\n");
    expect_ok("train --quiet --run library --set env_name=marks.so" TINY);
    ck_assert(cm_file_exists(mark));
    unlink(mark);
    expect_ok("train --quiet --run python --set env_name=marks.py" TINY);
    ck_assert(cm_file_exists(mark));
    expect_ok("train --quiet --run own --config default --set env_name=tictactoe" TINY);
    replace_python();
}

static void end_all(void) {
    setenv("PATH", path_before, 1);
    cm_test_folder_remove();
}

/* The line with the folder's name in place of R. */
static const char *fill(const char *line, const char *folder) {
    static char filled[4096];
    size_t used = 0;
    for (const char *c = line; *c; c++) {
        const bool is_place = *c == 'R' && (c == line || c[-1] == ' ') && (c[1] == ' ' || c[1] == '/' || c[1] == '\0');
        used += (size_t)snprintf(filled + used, sizeof filled - used, is_place ? "%s" : "%.1s", is_place ? folder : c);
    }
    return filled;
}

/* Whether a line opens what it is given, and so has to say that it does not. */
static bool needs_environment(const char *line) {
    static const char *const reads[] = {
        "plot",        "runs",          "inspect --run", "serve",        "environments",   "devices",    "report",
        "doctor",      "help",          "completion",    "version",      "search --case",  "test-cases", "--explain",
        "--init-from", "--replay-from", "export",        "sweep --show", "sweep --resume", "zoo",        "reproduce"};
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        if (strstr(line, reads[i])) return false;
    return true;
}

static void expect_no_mark(const char *folder, const char *refusal) {
    for (int i = 0; i < LINES; i++) {
        char path[PATH_MAX];
        run(fill(lines[i], folder));
        ck_assert_msg(!cm_file_exists(mark), "%s: a mark was left", fill(lines[i], folder));
        if (!refusal || !needs_environment(lines[i])) continue;
        ck_assert_msg(result.status != 0 && strstr(result.err, refusal), "%s: status %d: %s%s", fill(lines[i], folder),
                      result.status, result.out, result.err);
        path_of("new", path);
        ck_assert_msg(!cm_file_exists(path), "%s: has begun a run", lines[i]);
    }
}

/* A new command needs a line above. */
START_TEST(every_command_is_tried) {
    char help[CM_OUTPUT_BYTES], *rest;
    int count = 0;
    expect_ok("help");
    snprintf(help, sizeof help, "%s", strstr(result.out, "Commands:\n"));
    for (char *line = strtok_r(help, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char name[32];
        if (strncmp(line, "  ", 2) != 0 || line[2] == ' ' || sscanf(line, "%31s", name) != 1) continue;
        bool is_tried = false;
        for (int i = 0; i < LINES; i++) {
            const size_t length = strlen(name);
            is_tried = is_tried || (strncmp(lines[i], name, length) == 0 && strchr(" ", lines[i][length]));
        }
        ck_assert_msg(is_tried, "%s: no line says how it meets a stranger's folder", name);
        count++;
    }
    ck_assert_int_ge(count, 17);
}
END_TEST

START_TEST(no_command_opens_what_a_run_names) {
    static const char *const runs[] = {"library", "python"};
    expect_no_mark(runs[_i], REFUSED);
}
END_TEST

/* The folder and the environment that it names behind links, then each file of the folder. */
START_TEST(no_command_opens_it_by_links) {
    static const char *const files[] = {"config.json", "lock", "latest", "best", "checkpoints", "metrics.jsonl"};
    char path[PATH_MAX], target[PATH_MAX];
    path_of("away/marks.so", path);
    ck_assert_int_eq(cm_directory_make_parent(path), CM_OK);
    copy_file(CM_TEST_MODULES "/marks.so", "away/marks.so");
    link_to("away/marks.so", "marks.so");
    link_to("library", "linked");
    expect_no_mark("linked", REFUSED);

    path_of("pieces/config.json", path);
    ck_assert_int_eq(cm_directory_make_parent(path), CM_OK);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "pieces/%s", files[i]);
        snprintf(target, sizeof target, "../library/%s", files[i]);
        link_to(target, path);
    }
    expect_no_mark("pieces", NULL);
}
END_TEST

/* "gymnasium:MODULE:ID" imports that module; and a case's environment is a name from outside, too. */
START_TEST(no_command_imports_a_module_that_a_file_names) {
    char path[PATH_MAX];
    path_of("module/lock", path);
    ck_assert_int_eq(cm_directory_make_parent(path), CM_OK);
    write_text("module/lock", "");
    write_text("module/config.json",
               "{\"Environment\": {\"env_name\": \"gymnasium:marks:Marks-v0\", \"max_steps\": 9}}");
    expect_no_mark("module", NULL);
    expect_exit("config --config module/config.json", 2, REFUSED "gymnasium:marks:Marks-v0");
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"./marks.so", "./marks.py", "gymnasium:marks:Marks-v0"};
        char text[512];
        snprintf(text, sizeof text,
                 "{\"format\": \"cumind-environment-case-1\", \"environment\": \"%s\", \"episodes\": []}", names[i]);
        write_text("module/case.json", text);
        run("test-cases module/case.json");
        ck_assert_msg(result.status != 0 && !cm_file_exists(mark), "%s: %s%s", names[i], result.out, result.err);
    }
}
END_TEST

/* In a folder with a configuration.json every command reads it. */
START_TEST(no_command_opens_what_a_configuration_here_names) {
    static const char *const here[] = {"train --quiet",
                                       "config",
                                       "inspect",
                                       "runs",
                                       "plot",
                                       "eval",
                                       "play --quiet",
                                       "profile --seconds 1 --no-advice",
                                       "search --positions p",
                                       "benchmark env --seconds 0.01",
                                       "benchmark --seconds 0.01 inference --network configured"};
    char path[PATH_MAX];
    path_of("here/configuration.json", path);
    ck_assert_int_eq(cm_directory_make_parent(path), CM_OK);
    link_to(_i ? "../python/config.json" : "../library/config.json", "here/configuration.json");
    path_of("here", path);
    for (size_t i = 0; i < sizeof here / sizeof *here; i++) {
        cm_program_run(path, here[i], &result);
        ck_assert_msg(!cm_file_exists(mark), "%s: a mark was left", here[i]);
    }
}
END_TEST

static void expect_mark(bool is_there, const char *arguments) {
    unlink(mark);
    run(arguments);
    ck_assert_msg(cm_file_exists(mark) == is_there && (result.status == 0) == is_there, "%s: status %d: %s", arguments,
                  result.status, result.err);
}

START_TEST(what_is_named_is_opened_and_what_was_trained_with_needs_no_name) {
    char path[PATH_MAX];
    expect_mark(false, "eval --run library --episodes 2");
    expect_mark(true, "eval --run library --episodes 2 --set env_name=./marks.so");
    expect_mark(true, "inspect --run library --set Environment.env_name=./marks.so");
    expect_mark(true, "export --run library --torch named --set env_name=./marks.so");
    expect_mark(true, "benchmark env --env ./marks.so --seconds 0.01");
    expect_mark(false, "eval --run library --episodes 2"); /* to be named once is not to be trained with */
    expect_mark(false, "train --quiet --run new --config library/config.json");
    expect_mark(true, "train --quiet --run new --config library/config.json --set env_name=marks.so");
    expect_mark(true, "train --quiet --resume new --env-steps 512");
    expect_mark(true, "eval --run library --episodes 2");
    expect_mark(false, "eval --run library --episodes 2 --set env_name=./away.so");
    copy_file(CM_TEST_MODULES "/marks.so", "away.so");
    expect_mark(true, "eval --run library --episodes 2 --set env_name=./away.so");

    path_of("marks.so", path);
    FILE *file = fopen(path, "ab");
    ck_assert(file && fputc('x', file) == 'x' && fclose(file) == 0);
    expect_mark(false, "eval --run library --episodes 2");
    ck_assert_msg(strstr(result.err, "is not as it was when you trained with it; " REFUSED), "%s", result.err);
    expect_mark(true, "train --quiet --resume new --env-steps 600 --set env_name=marks.so");
    expect_mark(true, "eval --run library --episodes 2");

    snprintf(path, sizeof path, "%s/cumind/environments", state);
    ck_assert_int_eq(unlink(path), 0);
    expect_mark(false, "eval --run library --episodes 2");
}
END_TEST

/* Gymnasium is here a module that does what it does with a name. */
START_TEST(a_module_that_was_trained_with_needs_no_name_and_another_does) {
    char path[PATH_MAX];
    path_of("installed/gymnasium.py", path);
    ck_assert_int_eq(cm_directory_make_parent(path), CM_OK);
    write_text("installed/gymnasium.py", "import importlib\n"
                                         "def make(name, **options):\n"
                                         "    if ':' in name: importlib.import_module(name.split(':')[0])\n"
                                         "    env = importlib.import_module('quiet').Corridor()\n"
                                         "    env.close = lambda: None\n"
                                         "    return env\n");
    write_text("installed/marks_a.py", "import os\nopen(os.environ['CUMIND_TEST_MARK'], 'w').close()\n");
    write_text("installed/marks_b.py", "import marks_a\n");
    write_text("installed/quiet.py", strstr(cm_test_marking_python, "class"));
    path_of("installed", path);
    setenv("PYTHONPATH", path, 1);
    setenv("PATH", path_before, 1);
    expect_mark(true, "train --quiet --run new --set env_name=gymnasium:marks_a:A-v0" TINY);
    expect_mark(true, "eval --run new --episodes 2");
    expect_mark(true, "config --set env_name=gymnasium:marks_b:A-v0 --write b.json");
    expect_mark(false, "config --config b.json");
    ck_assert_msg(strstr(result.err, REFUSED "gymnasium:marks_b:A-v0"), "%s", result.err);
    unlink(mark);
    expect_ok("config --set env_name=gymnasium:A-v0 --write installed.json");
    expect_ok("config --config installed.json"); /* of what is installed */
    ck_assert(!cm_file_exists(mark));
}
END_TEST

START_TEST(where_the_list_cannot_be_written_training_goes_on) {
    setenv("XDG_STATE_HOME", "/dev/null/state", 1);
    expect_mark(true, "train --quiet --run new --set env_name=marks.so" TINY);
    cm_program_expect_line(result.err, "; other commands will need --set env_name=");
    expect_mark(false, "eval --run new --episodes 2");
    expect_mark(true, "eval --run new --episodes 2 --set env_name=marks.so");
}
END_TEST

/* Equal bytes next to other files may do other things: they are trusted where they were trained with. */
START_TEST(a_copy_elsewhere_is_not_what_was_trained_with) {
    char path[PATH_MAX], *text;
    size_t size;
    expect_mark(true, "train --quiet --run new --set env_name=marks.so" TINY);
    copy_file(CM_TEST_MODULES "/marks.so", "copy.so");
    path_of("new/config.json", path);
    ck_assert_int_eq(cm_file_read(path, 1 << 20, &text, &size), CM_OK);
    char *name = strstr(text, "/marks.so");
    ck_assert_ptr_nonnull(name);
    memcpy(name, "/copy.so\"", 9);
    memmove(name + 9, name + 10, strlen(name + 10) + 1);
    write_text("new/config.json", text);
    free(text);
    expect_mark(false, "eval --run new --episodes 2");
    ck_assert_msg(strstr(result.err, "you have not trained with it; " REFUSED), "%s", result.err);
    link_to("marks.so", "copy.so"); /* and a link to it is it */
    expect_mark(true, "eval --run new --episodes 2");
}
END_TEST

/* What a checkpoint says of an environment is all that is needed to count its network's numbers. */
START_TEST(inspect_tells_of_an_environment_that_it_does_not_open) {
    static char opened[CM_OUTPUT_BYTES];
    expect_ok("inspect --run library --json --set env_name=marks.so");
    snprintf(opened, sizeof opened, "%s", result.out);
    unlink(mark);
    expect_ok("inspect --run library --json");
    ck_assert_str_eq(result.out, opened);
    ck_assert(!cm_file_exists(mark));
}
END_TEST

START_TEST(ranks_follow_the_rule) {
    char list[PATH_MAX];
    if (!cm_program_has_mpi()) return;
    setenv("TMPDIR", "/tmp", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* of MPI, to the end */
    snprintf(list, sizeof list, "%s/cumind/environments", state);
    expect_mark(false, "train --quiet --num-devices 2 --oversubscribe --run new --config library/config.json");
    ck_assert(!cm_file_exists(list));
    expect_mark(
        true,
        "train --quiet --num-devices 2 --oversubscribe --run new --config library/config.json --set env_name=marks.so");
    ck_assert(cm_file_exists(list));
    expect_mark(true, "train --quiet --num-devices 2 --oversubscribe --resume new --env-steps 512");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/stranger");
    TCase *tests = tcase_create("stranger");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, begin_all, end_all);
    tcase_add_checked_fixture(tests, begin_each, end_each);
    tcase_add_test(tests, every_command_is_tried);
    tcase_add_loop_test(tests, no_command_opens_what_a_run_names, 0, 2);
    tcase_add_test(tests, no_command_opens_it_by_links);
    tcase_add_test(tests, no_command_imports_a_module_that_a_file_names);
    tcase_add_loop_test(tests, no_command_opens_what_a_configuration_here_names, 0, 2);
    tcase_add_test(tests, what_is_named_is_opened_and_what_was_trained_with_needs_no_name);
    tcase_add_test(tests, a_module_that_was_trained_with_needs_no_name_and_another_does);
    tcase_add_test(tests, where_the_list_cannot_be_written_training_goes_on);
    tcase_add_test(tests, a_copy_elsewhere_is_not_what_was_trained_with);
    tcase_add_test(tests, inspect_tells_of_an_environment_that_it_does_not_open);
    tcase_add_test(tests, ranks_follow_the_rule);
    return cm_test_main(suite);
}
