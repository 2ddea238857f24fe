/* Runs whose checkpoints are damaged: --drop-damaged goes on with what is whole, and says what is not. */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>

#include "strange.h"

static void begin_all(void) {
    cm_test_folder_make();
    expect_ok("train --quiet --run ref" SMALL);
}

/* A copy of the finished run in f, file by file: hard links stay within it. */
static void begin(void) {
    char command[256];
    snprintf(command, sizeof command, "cd %s && rm -rf f && cp -a ref f", cm_test_folder);
    ck_assert_int_eq(system(command), 0);
}

static void flip(const char *file) {
    int descriptor = open(file, O_RDWR);
    char byte = 0;
    ck_assert_msg(descriptor >= 0, "%s", file);
    ck_assert_int_eq(pread(descriptor, &byte, 1, 90), 1);
    byte ^= 4;
    ck_assert_int_eq(pwrite(descriptor, &byte, 1, 90), 1);
    close(descriptor);
}

/* Flips a bit in the files of that beginning in the latest checkpoint, at most so many; returns how many there are. */
static int damage(const char *prefix, int most) {
    char path[256], file[640];
    int found = 0;
    snprintf(path, sizeof path, "%s/f/latest", cm_test_folder);
    DIR *folder = opendir(path);
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (found++ < most) flip(file);
    }
    closedir(folder);
    return found;
}

static int count_lines(const char *text) {
    int lines = 0;
    for (; (text = strchr(text, '\n')); text++) lines++;
    return lines;
}

START_TEST(a_damaged_segment_is_dropped_and_said) {
    ck_assert_int_ge(damage("replay-segment-", 1), 2);
    expect_exit("train --quiet --resume f --env-steps 1536", 1, "--drop-damaged goes on without what is damaged");
    expect_ok("train --quiet --resume f --env-steps 1536 --drop-damaged");
    ck_assert_int_eq(count_lines(result.err), 2);
    ck_assert_msg(strstr(result.err, ".bin: its checksum differs from the manifest's: the file is damaged; its "
                                     "episodes are left out\n") != NULL,
                  "%s", result.err);
    const char *losses = strstr(result.err, "the replay goes on without ");
    int lost = 0, steps = 0;
    ck_assert_msg(losses && sscanf(losses, "the replay goes on without %d of its %d steps", &lost, &steps) == 2, "%s",
                  result.err);
    ck_assert_msg(lost > 0 && lost < steps && steps <= 1024, "%s", result.err);
    char log[1 << 14];
    cm_program_file(cm_test_folder, "f/log.txt", log, sizeof log);
    ck_assert_msg(strstr(log, "WARNING the replay goes on without ") != NULL, "%s", log);
    expect_ok("train --quiet --resume f --env-steps 2048"); /* what it has saved since is whole */
    ck_assert_str_eq(result.err, "");
    expect_ok("eval --run f --episodes 1 --json");
}
END_TEST

START_TEST(all_segments_may_be_lost) {
    const int segments = damage("replay-segment-", 1000);
    expect_ok("train --quiet --resume f --env-steps 2048 --drop-damaged");
    ck_assert_int_eq(count_lines(result.err), segments + 1);
    expect_ok("train --quiet --resume f --env-steps 3072");
    ck_assert_str_eq(result.err, "");
}
END_TEST

START_TEST(of_many_damaged_segments_the_first_are_named) {
    enum { MANY = 1000, NAMED = 8 };
    static const char hash[] = "00112233445566778899aabbccddeeff";
    char folder[640], name[CM_MANIFEST_NAME];
    cm_manifest manifest = {0};
    cm_dir dir;
    file_of("f", "", folder);
    ck_assert_int_eq(cm_dir_open(&dir, folder), CM_OK);
    ck_assert_int_eq(cm_manifest_read(&manifest, &dir), CM_OK);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "replay-segment-%d-1.bin", 100000 + i);
        ck_assert_int_eq(cm_manifest_add(&manifest, name, 100, hash), CM_OK);
    }
    ck_assert_int_eq(cm_manifest_write(&manifest, &dir), CM_OK);
    cm_manifest_reset(&manifest);
    cm_dir_close(&dir);
    expect_ok("train --quiet --resume f --env-steps 1536 --drop-damaged");
    ck_assert_int_eq(count_lines(result.err), NAMED + 1);
    ck_assert_msg(strstr(result.err, "992 more segments are damaged; their episodes are left out\n") != NULL, "%s",
                  result.err);
}
END_TEST

static const char *const own[] = {"parameters.safetensors", "optimizer.safetensors", "state.json",
                                  "replay-state.bin",       "environments.bin",      "manifest.json"};

START_TEST(damage_elsewhere_goes_back_to_the_newest_whole_checkpoint) {
    ck_assert_int_eq(damage(own[_i], 1), 1);
    expect_ok("train --quiet --resume f --env-steps 1536 --drop-damaged");
    ck_assert_int_eq(count_lines(result.err), 1);
    ck_assert_msg(strstr(result.err, "f/checkpoints/00000128/") &&
                      strstr(result.err, "; the run goes back to checkpoint "),
                  "%s", result.err);
    expect_ok("train --quiet --resume f --env-steps 2048");
    ck_assert_str_eq(result.err, "");
}
END_TEST

/* Where nothing is damaged the flag changes no bit. */
START_TEST(a_whole_run_goes_on_as_ever) {
    char hash[64], other[64];
    expect_ok("train --quiet --resume f --env-steps 1536");
    hash_of("f", hash);
    begin();
    expect_ok("train --quiet --resume f --env-steps 1536 --drop-damaged");
    ck_assert_str_eq(result.err, "");
    hash_of("f", other);
    ck_assert_str_eq(hash, other);
    expect_exit("train --quiet --run g --drop-damaged", 2, "cumind: --drop-damaged: goes together with --resume\n");
}
END_TEST

START_TEST(a_run_without_a_whole_checkpoint_is_said_so) {
    char command[256];
    snprintf(command, sizeof command, "cd %s/f/checkpoints && for c in *; do echo x > $c/state.json; done",
             cm_test_folder);
    ck_assert_int_eq(system(command), 0);
    expect_exit("train --quiet --resume f --env-steps 1536 --drop-damaged", 1,
                "; no checkpoint of this run has all that a run cannot do without");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/lost");
    TCase *tests = tcase_create("lost");
    tcase_add_test(tests, a_damaged_segment_is_dropped_and_said);
    tcase_add_test(tests, all_segments_may_be_lost);
    tcase_add_test(tests, of_many_damaged_segments_the_first_are_named);
    tcase_add_loop_test(tests, damage_elsewhere_goes_back_to_the_newest_whole_checkpoint, 0,
                        (int)(sizeof own / sizeof *own));
    tcase_add_test(tests, a_whole_run_goes_on_as_ever);
    tcase_add_test(tests, a_run_without_a_whole_checkpoint_is_said_so);
    tcase_add_unchecked_fixture(tests, begin_all, cm_test_folder_remove);
    tcase_add_checked_fixture(tests, begin, NULL);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
