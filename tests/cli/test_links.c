/* A run's folder of a stranger's: links in it, and what is no file, lead nothing to be read, written or removed outside
 * of it; what others have put there is left alone. */
#include <check.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "runs.h"

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run ref" SMALL);
    hash_of("ref", reference);
}

static void path_of(const char *name, char out[256]) { snprintf(out, 256, "%s/%s", cm_test_folder, name); }

static void put(const char *name, const char *text) {
    char path[256];
    path_of(name, path);
    ck_assert_msg(cm_file_write(path, text, strlen(text)) == CM_OK, "%s", cm_error_message());
}

static void make(const char *name) {
    char path[256];
    path_of(name, path);
    ck_assert_int_eq(cm_directory_make(path), CM_OK);
}

static void expect_content(const char *name, const char *text) {
    char content[4096];
    cm_program_file(cm_test_folder, name, content, sizeof content);
    ck_assert_str_eq(content, text);
}

/* A copy of the finished run in f, and files that are no business of it in home. */
static void begin(void) {
    char command[256];
    snprintf(command, sizeof command, "cd %s && rm -rf f home && cp -r ref f", cm_test_folder);
    ck_assert_int_eq(system(command), 0);
    make("home/.ssh");
    put("home/.ssh/id", "key");
    put("home/file", "mine");
    make("home/.writing-1-1");
    make("home/00000001");
    put("home/00000001/file", "mine");
}

static void expect_home(void) {
    expect_content("home/.ssh/id", "key");
    expect_content("home/file", "mine");
    expect_content("home/00000001/file", "mine");
    char path[256];
    path_of("home/.writing-1-1", path);
    ck_assert(cm_file_is_directory(path));
    path_of("home/config.json", path);
    ck_assert(!cm_file_exists(path));
}

/* Every subcommand that takes a run. */
static const char *const commands[] = {
    "train --quiet --resume f --updates 400",
    "train --quiet --run g --init-from f --updates 10",
    "train --quiet --run g --replay-from f --updates 10",
    "eval --run f --episodes 1",
    "inspect --run f",
    "plot --run f",
    "play --run f --episodes 1",
};

static const struct {
    const char *name, *target;
} links[] = {
    {"checkpoints", "../home"},      {"log.txt", "../home/file"},     {"metrics.jsonl", "../home/file"},
    {"config.json", "../home/file"}, {"result.json", "../home/file"}, {"README.md", "../home/file"},
    {"lock", "../home/file"},        {"log.txt", "../home/.bashrc"},  {"monitor.csv", "../home/file"},
    {"tensorboard", "../home"},      {"episodes", "../home"},
};

static void replace_by_link(const char *name, const char *target) {
    char path[256], command[512];
    snprintf(command, sizeof command, "rm -rf %s/f/%s", cm_test_folder, name);
    ck_assert_int_eq(system(command), 0);
    snprintf(path, sizeof path, "%s/f/%s", cm_test_folder, name);
    ck_assert_int_eq(symlink(target, path), 0);
}

START_TEST(a_link_is_named_and_nothing_behind_it_is_touched) {
    char says[256];
    replace_by_link(links[_i].name, links[_i].target);
    snprintf(says, sizeof says, "only latest and best may be links in a run's folder, and these are: %s; put the files",
             links[_i].name);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        run(commands[i]);
        ck_assert_msg(result.status != 0 && strstr(result.err, says), "%s: %d: %s", commands[i], result.status,
                      result.err);
    }
    expect_ok("runs f");
    ck_assert_msg(strstr(result.err, says) != NULL, "%s", result.err);
    expect_home();
}
END_TEST

START_TEST(all_links_are_named_in_one_line) {
    replace_by_link("log.txt", "/dev/null");
    replace_by_link("checkpoints", "../home");
    expect_exit("train --quiet --resume f --updates 400", 2,
                "cumind: f: only latest and best may be links in a run's folder, and these are: log.txt, checkpoints; "
                "put the files themselves in their place\n");
    expect_home();
}
END_TEST

/* latest and best count only where they name a checkpoint of this run; what they lead to is not written to. */
START_TEST(latest_that_leads_elsewhere_is_not_followed) {
    static const char *const targets[] = {"../home", "../home/00000001", "/", "checkpoints/../../home/00000001"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        begin();
        replace_by_link("latest", targets[i]);
        replace_by_link("best", targets[i]);
        expect_ok("train --quiet --resume f --updates 120");
        expect_home();
    }
}
END_TEST

/* As `cp -rL` and scp leave them: said before anything is learnt, while the run can be looked at. */
START_TEST(latest_that_is_a_folder_is_named_before_anything_is_done) {
    char path[256];
    path_of("f/best", path);
    ck_assert_int_eq(unlink(path), 0);
    make("f/best");
    expect_ok("eval --run f --episodes 1");
    expect_exit("train --quiet --resume f --updates 400", 2,
                "cumind: f/best: is a folder, where a link to a checkpoint belongs, as in a copy that followed links; "
                "remove it: what it is a copy of is in checkpoints/\n");
}
END_TEST

START_TEST(links_below_a_folder_lead_to_runs_alone) {
    char path[256];
    make("home/runs");
    path_of("home/runs/round", path);
    ck_assert_int_eq(symlink("..", path), 0);
    path_of("home/runs/run", path);
    ck_assert_int_eq(symlink("../../f", path), 0);
    expect_ok("runs home --json");
    ck_assert_ptr_nonnull(strstr(result.out, "\"home/runs/run\""));
    ck_assert_msg(!strstr(result.out, "round"), "%s", result.out);
    replace_by_link("log.txt", "/dev/null");
    expect_ok("runs f");
    const char *said = strstr(result.err, "and these are: log.txt");
    ck_assert_msg(said && !strstr(said + 1, "and these are"), "%s", result.err); /* once */
}
END_TEST

static void make_odd(const char *name, int kind) {
    char path[256];
    snprintf(path, sizeof path, "%s/f/%s", cm_test_folder, name);
    ck_assert_int_eq(cm_file_exists(path) ? unlink(path) : 0, 0);
    if (kind == 0) ck_assert_int_eq(mkfifo(path, 0600), 0);
    if (kind == 1) ck_assert_int_eq(mkdir(path, 0700), 0);
}

START_TEST(pipes_and_folders_in_the_place_of_files_are_refused_at_once) {
    static const char *const names[] = {"lock",    "config.json", "metrics.jsonl",
                                        "log.txt", "result.json", "monitor.csv"};
    for (int i = 0; i < 6; i++) {
        char says[256];
        begin();
        make_odd(names[i], _i);
        snprintf(says, sizeof says, "cumind: f: no regular files or folders, as those of a run are: %s; remove them\n",
                 names[i]);
        expect_exit("train --quiet --resume f --updates 400", 2, says);
        expect_exit("eval --run f --episodes 1", 2, says);
    }
}
END_TEST

/* Within a checkpoint, too: a file that is a link or a pipe is as good as damaged. */
START_TEST(files_of_a_checkpoint_that_are_links_or_pipes_are_refused) {
    static const char *const names[] = {"manifest.json", "state.json", "parameters.safetensors", "environments.bin",
                                        "replay-state.bin"};
    for (int i = 0; i < 5; i++) {
        char command[512], says[128];
        begin();
        snprintf(command, sizeof command,
                 _i ? "cd %s/f/latest && rm %s && mkfifo %s"
                    : "cd %s/f/latest && mv %s ../../../home/moved && ln -s ../../../home/moved %s",
                 cm_test_folder, names[i], names[i]);
        ck_assert_int_eq(system(command), 0);
        snprintf(says, sizeof says, "/%s: %s", names[i],
                 _i ? "not a regular file" : "is a link, which is not followed");
        run("train --quiet --resume f --updates 400");
        ck_assert_msg(result.status == 1 && strstr(result.err, says), "%d: %s", result.status, result.err);
    }
}
END_TEST

/* What file managers, network file systems and their users leave in checkpoints/. */
START_TEST(names_of_others_are_left_alone_and_hinder_nothing) {
    char path[256];
    put("f/checkpoints/.DS_Store", "finder");
    put("f/checkpoints/.nfs0000000000000001", "open");
    make("f/checkpoints/.git");
    put("f/checkpoints/.git/HEAD", "ref");
    put("f/checkpoints/notes.txt", "notes");
    put("f/checkpoints/00000007", "no folder");
    put("f/notes.tmp-1", "notes");
    path_of("f/checkpoints/99999999", path);
    ck_assert_int_eq(symlink("../../home", path), 0);
    make("f/checkpoints/.writing-5-5/below");
    put("f/checkpoints/.removed-5", "");
    expect_ok("train --quiet --resume f --updates 300 --set env_steps=100000");
    ck_assert_str_eq(result.err, "");
    expect_ok("runs f");
    ck_assert_str_eq(result.err, "");
    expect_content("f/checkpoints/.DS_Store", "finder");
    expect_content("f/checkpoints/.nfs0000000000000001", "open");
    expect_content("f/checkpoints/.git/HEAD", "ref");
    expect_content("f/checkpoints/notes.txt", "notes");
    expect_content("f/checkpoints/00000007", "no folder");
    expect_content("f/notes.tmp-1", "notes");
    static const char *const ours[] = {"f/checkpoints/.writing-5-5", "f/checkpoints/.removed-5"};
    for (int i = 0; i < 2; i++) {
        path_of(ours[i], path);
        ck_assert(!cm_file_is_named(path));
    }
    expect_home();
}
END_TEST

START_TEST(a_log_that_is_another_file_too_is_not_written_to) {
    char from[256], to[256], before[1 << 14], after[1 << 14];
    static const char *const names[] = {"f/log.txt", "f/metrics.jsonl"};
    for (int i = 0; i < 2; i++) {
        begin();
        path_of("home/file", from);
        path_of(names[i], to);
        ck_assert_int_eq(unlink(to), 0);
        ck_assert_int_eq(link(from, to), 0);
        cm_program_file(cm_test_folder, "f/config.json", before, sizeof before);
        run("train --quiet --resume f --updates 400");
        ck_assert_int_eq(result.status, 1);
        ck_assert_msg(strstr(result.err, ": has another name elsewhere (a hard link)") != NULL, "%s", result.err);
        cm_program_file(cm_test_folder, "f/config.json", after, sizeof after);
        ck_assert(strcmp(before, after) == 0);
        expect_home();
    }
}
END_TEST

/* What only other programs read is not worth a run. */
START_TEST(a_monitor_that_is_another_file_too_is_not_written_to_and_the_run_goes_on) {
    char from[256], to[256];
    path_of("home/file", from);
    path_of("f/monitor.csv", to);
    ck_assert_int_eq(unlink(to), 0);
    ck_assert_int_eq(link(from, to), 0);
    expect_ok("train --quiet --resume f --updates 300 --set env_steps=100000");
    ck_assert_msg(strstr(result.err, "/monitor.csv: has another name elsewhere (a hard link)") != NULL, "%s",
                  result.err);
    expect_home();
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/links");
    TCase *tests = tcase_create("links");
    tcase_add_loop_test(tests, a_link_is_named_and_nothing_behind_it_is_touched, 0,
                        (int)(sizeof links / sizeof *links));
    tcase_add_test(tests, all_links_are_named_in_one_line);
    tcase_add_test(tests, latest_that_leads_elsewhere_is_not_followed);
    tcase_add_test(tests, latest_that_is_a_folder_is_named_before_anything_is_done);
    tcase_add_test(tests, links_below_a_folder_lead_to_runs_alone);
    tcase_add_loop_test(tests, pipes_and_folders_in_the_place_of_files_are_refused_at_once, 0, 2);
    tcase_add_loop_test(tests, files_of_a_checkpoint_that_are_links_or_pipes_are_refused, 0, 2);
    tcase_add_test(tests, names_of_others_are_left_alone_and_hinder_nothing);
    tcase_add_test(tests, a_log_that_is_another_file_too_is_not_written_to);
    tcase_add_test(tests, a_monitor_that_is_another_file_too_is_not_written_to_and_the_run_goes_on);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_checked_fixture(tests, begin, NULL);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
