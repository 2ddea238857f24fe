/* cumind play --video: a frame for every position, or one line and no file. */
#include <check.h>
#include <gif_lib.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/program.h"

static cm_output result;

static int count_frames(const char *name) {
    char path[64];
    int error;
    snprintf(path, sizeof path, "%s/%s", cm_test_folder, name);
    GifFileType *gif = DGifOpenFileName(path, &error);
    ck_assert_msg(gif && DGifSlurp(gif) == GIF_OK, "%s", path);
    const int count = gif->ImageCount;
    DGifCloseFile(gif, &error);
    return count;
}

static const struct {
    const char *play;
    int frames;
} plays[] = {
    {"catch --episodes 3", 3 * 10},
    {"Pendulum-v1", 201},
    {"glide2 --set max_steps=7", 8},
    {"glide4 --set max_steps=7", 8}, /* whose actions are too many to be listed */
};

START_TEST(there_is_a_frame_for_every_position) {
    char line[128], says[64];
    snprintf(line, sizeof line, "play --video a.gif --scale 0.5 --set env_name=%s", plays[_i].play);
    cm_program_run(cm_test_folder, line, &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    ck_assert_int_eq(count_frames("a.gif"), plays[_i].frames);
    snprintf(says, sizeof says, "a.gif: %d frames\n", plays[_i].frames);
    ck_assert_msg(strstr(result.out, says) != NULL, "%s", result.out);
}
END_TEST

START_TEST(games_of_two_are_watched_and_the_result_is_said) {
    cm_program_run(cm_test_folder, "play --video t.cast --set env_name=tictactoe --seed 2", &result);
    ck_assert_msg(result.status == 0, "%s", result.err);
    ck_assert_msg(strstr(result.out, "episode 0: return ") != NULL, "%s", result.out);
    ck_assert_ptr_null(strstr(result.out, "your move"));
    static char text[1 << 16];
    cm_program_file(cm_test_folder, "t.cast", text, sizeof text);
    int lines = 0;
    for (const char *at = text; *at; at++) lines += *at == '\n';
    ck_assert(lines >= 1 + 6 && lines <= 1 + 10);
}
END_TEST

static const struct {
    const char *arguments, *says;
    int status;
} errors[] = {
    {"--video a.avi", "--video: a.avi: of what kind is it? its name must end with .gif, .svg, .mp4 or .cast", 2},
    {"--video gone/a.gif", "--video: gone/a.gif: cannot write: No such file or directory", 1},
    {"--video a.gif --fps 51", "--fps: must be a number in 0.1..50, got \"51\"", 2},
    {"--video a.gif --scale x", "--scale: must be a number in 0.25..8, got \"x\"", 2},
    {"--fps 10", "--fps: goes with --video FILE alone", 2},
    {"--video a.gif --human only", "--video: a person needs to see the board; leave it out, or say --human none", 2},
};

START_TEST(wrong_usage_is_one_line_and_leaves_no_file) {
    char line[128];
    snprintf(line, sizeof line, "play --set env_name=catch %s", errors[_i].arguments);
    cm_program_run(cm_test_folder, line, &result);
    cm_program_expect_error(&result, errors[_i].status, errors[_i].says);
    snprintf(line, sizeof line, "%s/a.gif", cm_test_folder);
    ck_assert(!cm_file_exists(line));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cli/video");
    TCase *tests = tcase_create("video");
    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, cm_test_folder_make, cm_test_folder_remove);
    tcase_add_loop_test(tests, there_is_a_frame_for_every_position, 0, (int)(sizeof plays / sizeof *plays));
    tcase_add_test(tests, games_of_two_are_watched_and_the_result_is_said);
    tcase_add_loop_test(tests, wrong_usage_is_one_line_and_leaves_no_file, 0, (int)(sizeof errors / sizeof *errors));
    return cm_test_main(suite);
}
