/* Which moving pictures of evaluations stay in a run's folder. */
#include "run/episode_files.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/folder.h"
#include "support/main.h"

static cm_dir dir;
static const cm_file_bytes gif = {(char *)"GIF89a", 6};

static void begin(void) {
    cm_test_folder_make();
    ck_assert_int_eq(cm_dir_open(&dir, cm_test_folder), CM_OK);
}

static void end(void) {
    cm_dir_close(&dir);
    cm_test_folder_remove();
}

static const char *path_of(const char *name) {
    static char path[160];
    snprintf(path, sizeof path, "%s/episodes/%s", cm_test_folder, name);
    return path;
}

static void put(const char *name) { ck_assert_int_eq(cm_file_write(path_of(name), "old", 3), CM_OK); }

static cm_status write(int64_t updates, bool is_best, int most) {
    return cm_episode_files_write(&dir, updates, &gif, is_best, most);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The folder has these files and no other. `names`: in order, a blank between them. */
static void expect_files(const char *names) {
    static char text[4096];
    char *found[64];
    int count = 0;
    DIR *folder = opendir(path_of(""));
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; count < 64 && (entry = readdir(folder));)
        if (*entry->d_name != '.') found[count++] = strdup(entry->d_name);
    closedir(folder);
    qsort(found, (size_t)count, sizeof *found, by_name);
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        strcat(strcat(text, i ? " " : ""), found[i]);
        free(found[i]);
    }
    ck_assert_str_eq(text, names);
}

START_TEST(the_newest_stay_and_the_best) {
    ck_assert_int_eq(write(10, true, 2), CM_OK);
    ck_assert_int_eq(write(20, false, 2), CM_OK);
    expect_files("00000010.gif 00000020.gif best.gif");
    ck_assert_int_eq(write(30, false, 2), CM_OK);
    ck_assert_int_eq(write(123456789012, true, 2), CM_OK);
    expect_files("00000030.gif 123456789012.gif best.gif");
}
END_TEST

START_TEST(of_a_past_that_was_given_up_none_stays) {
    for (int i = 1; i <= 5; i++) ck_assert_int_eq(write(10 * i, false, 3), CM_OK);
    expect_files("00000030.gif 00000040.gif 00000050.gif");
    ck_assert_int_eq(write(35, false, 3), CM_OK);
    expect_files("00000030.gif 00000035.gif");
}
END_TEST

/* As after a lower evaluation_gifs; the folder lists them in no order. */
START_TEST(of_a_thousand_all_but_the_newest_go_at_once) {
    enum { MANY = 1000 };
    char name[32];
    ck_assert_int_eq(cm_dir_make(&dir, "episodes"), CM_OK);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "%08d.gif", i * 7919 % MANY);
        FILE *file = fopen(path_of(name), "w");
        ck_assert(file != NULL && fclose(file) == 0);
    }
    ck_assert_int_eq(write(MANY, false, 3), CM_OK);
    expect_files("00000998.gif 00000999.gif 00001000.gif");
}
END_TEST

START_TEST(files_of_other_names_stay) {
    static const char names[] = "1.gif a.gif best.gif.old best.gif.tmp-1x notes.tmp-12";
    char copy[sizeof names];
    ck_assert_int_eq(write(1, false, 1), CM_OK);
    strcpy(copy, names);
    for (char *name = strtok(copy, " "); name; name = strtok(NULL, " ")) put(name);
    cm_episode_files_clean(&dir);
    ck_assert_int_eq(write(2, false, 1), CM_OK);
    char all[sizeof names + 32];
    snprintf(all, sizeof all, "00000002.gif %s", names);
    expect_files(all);
}
END_TEST

START_TEST(what_a_killed_writer_left_is_removed) {
    cm_episode_files_clean(&dir); /* there is no folder yet */
    ck_assert_int_eq(write(1, true, 1), CM_OK);
    put("00000002.gif.tmp-4711");
    put("best.gif.tmp-1");
    cm_episode_files_clean(&dir);
    expect_files("00000001.gif best.gif");
}
END_TEST

int main(void) {
    Suite *suite = suite_create("run/episode_files");
    TCase *tests = tcase_create("episode_files");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, the_newest_stay_and_the_best);
    tcase_add_test(tests, of_a_past_that_was_given_up_none_stays);
    tcase_add_test(tests, of_a_thousand_all_but_the_newest_go_at_once);
    tcase_add_test(tests, files_of_other_names_stay);
    tcase_add_test(tests, what_a_killed_writer_left_is_removed);
    return cm_test_main(suite);
}
