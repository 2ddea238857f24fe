/* Moving pictures as files: their frames, and that there is a whole one or none. */
#include <check.h>
#include <dirent.h>
#include <gif_lib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/json.h"
#include "draw/movie.h"
#include "support/folder.h"
#include "support/main.h"

enum { FRAMES = 7 };

static char path[64];
static cm_scene scene;

static void name(const char *file) { snprintf(path, sizeof path, "%s/%s", cm_test_folder, file); }

static cm_status begin(const char *file, cm_movie **movie) {
    name(file);
    return cm_movie_begin(&(cm_movie_config){.path = path, .title = "a <test>", .rate = 25.0, .scale = 0.5}, movie);
}

/* A background, and a ball that moves. */
static void draw(int frame) {
    cm_scene_begin(&scene, 80.0, 60.0, CM_COLOUR_PAPER);
    cm_scene_rectangle(&scene, 0.0, 50.0, 80.0, 10.0, 0.0, CM_COLOUR_SHADE);
    cm_scene_text(&scene, 2.0, 58.0, 8.0, CM_ANCHOR_START, CM_COLOUR_INK, "a < b & c");
    cm_scene_circle(&scene, 10.0 + 8.0 * frame, 30.0, 6.0, CM_COLOUR_RED);
}

static cm_status add_all(cm_movie *movie) {
    for (int frame = 0; frame < FRAMES; frame++) {
        draw(frame);
        CM_TRY(cm_movie_add(movie, &scene));
    }
    return CM_OK;
}

static void make(const char *file) {
    cm_movie *movie;
    ck_assert_msg(begin(file, &movie) == CM_OK, "%s", cm_error_message());
    ck_assert_msg(add_all(movie) == CM_OK, "%s", cm_error_message());
    ck_assert_int_eq(cm_movie_frames(movie), FRAMES);
    ck_assert_msg(cm_movie_commit(movie) == CM_OK, "%s", cm_error_message());
}

static char *read_file(void) {
    char *text;
    size_t size;
    ck_assert_msg(cm_file_read(path, 1 << 20, &text, &size) == CM_OK, "%s", cm_error_message());
    return text;
}

static int count_of(const char *text, const char *part) {
    int count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) count++;
    return count;
}

static int count_files(void) {
    int count = 0;
    DIR *folder = opendir(cm_test_folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

START_TEST(gif_has_every_frame_for_its_time_and_the_last_one_longer) {
    int error, times = 0;
    make("ball.GIF");
    GifFileType *gif = DGifOpenFileName(path, &error);
    ck_assert_int_eq(DGifSlurp(gif), GIF_OK);
    ck_assert_int_eq(gif->ImageCount, FRAMES);
    ck_assert_int_eq(gif->SWidth, 40);
    ck_assert_int_eq(gif->SHeight, 30);
    for (int frame = 0; frame < FRAMES; frame++) {
        GraphicsControlBlock control;
        DGifSavedExtensionToGCB(gif, frame, &control);
        ck_assert_int_eq(control.DelayTime, frame < FRAMES - 1 ? 4 : 150);
        times += control.DelayTime;
    }
    ck_assert_int_eq(times, 6 * 4 + 150);
    DGifCloseFile(gif, &error);
}
END_TEST

START_TEST(svg_has_every_frame_and_what_they_share_once) {
    make("ball.svg");
    char *text = read_file();
    ck_assert_int_eq(
        strncmp(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"30\" viewBox=\"0 0 80 60\"", 76),
        0);
    ck_assert_int_eq(count_of(text, "<circle"), FRAMES);
    ck_assert_int_eq(count_of(text, "<svg x="), FRAMES);
    ck_assert_int_eq(count_of(text, "<text"), 1);
    ck_assert_int_eq(count_of(text, ">a &lt; b &amp; c</text>"), 1);
    ck_assert_int_eq(count_of(text, "<title>a &lt;test&gt;</title>"), 1);
    ck_assert_ptr_nonnull(strstr(text, "<svg x=\"480\"><circle cx=\"58\" cy=\"30\" r=\"6\" "
                                       "fill=\"#d1383d\"/></svg>"));
    /* seven places, and the last one for a second and a half more: 38 times of 1/25 s */
    ck_assert_ptr_nonnull(strstr(text, "dur=\"1.8s\" values=\"0;-80;-160;-240;-320;-400;-480;-480;"));
    ck_assert_int_eq(count_of(text, ";-480"), 39);
    free(text);
}
END_TEST

START_TEST(images_in_svg_are_gif_pictures) {
    static const uint8_t rgb[] = {255, 0, 0, 0, 0, 255};
    cm_movie *movie;
    ck_assert_int_eq(begin("image.svg", &movie), CM_OK);
    cm_scene_begin(&scene, 80.0, 60.0, CM_COLOUR_PAPER);
    cm_scene_image(&scene, 0.0, 0.0, 80.0, 60.0, rgb, 2, 1);
    ck_assert_int_eq(cm_movie_add(movie, &scene), CM_OK);
    ck_assert_int_eq(cm_movie_commit(movie), CM_OK);
    char *text = read_file(), *data = strstr(text, "base64,R0lGODlhAgABA"); /* GIF89a, 2 x 1 */
    ck_assert_ptr_nonnull(data);
    const size_t length = strcspn(data + 7, "\"");
    ck_assert_uint_eq(length % 4, 0);
    ck_assert_int_eq(count_of(text, "animateTransform"), 0);
    free(text);
}
END_TEST

START_TEST(recording_has_a_line_for_each_text_at_its_time) {
    cm_movie *movie;
    cm_json_doc *line;
    ck_assert_int_eq(begin("play.cast", &movie), CM_OK);
    ck_assert(cm_movie_is_text(movie));
    ck_assert_int_eq(cm_movie_add_text(movie, "\033[31mred\033[0m\nand a longer line\n"), CM_OK);
    ck_assert_int_eq(cm_movie_add_text(movie, "\"quoted\"\n"), CM_OK);
    ck_assert_int_eq(cm_movie_commit(movie), CM_OK);
    char *text = read_file(), *rest = text;
    for (int i = 0; i < 3; i++) {
        char *end = strchr(rest, '\n');
        *end = '\0';
        ck_assert_msg(cm_json_parse(rest, strlen(rest), path, &line) == CM_OK, "%s", cm_error_message());
        cm_json_free(line);
        if (i == 0) ck_assert_str_eq(rest, "{\"version\": 2, \"width\": 17, \"height\": 3, \"title\": \"a <test>\"}");
        if (i == 1)
            ck_assert_str_eq(
                rest, "[0.0, \"o\", \"\\u001b[H\\u001b[2J\\u001b[31mred\\u001b[0m\\r\\nand a longer line\\r\\n\"]");
        if (i == 2) ck_assert_str_eq(rest, "[0.04, \"o\", \"\\u001b[H\\u001b[2J\\\"quoted\\\"\\r\\n\"]");
        rest = end + 1;
    }
    ck_assert_str_eq(rest, "");
    free(text);
}
END_TEST

static const struct {
    const char *file, *part;
} refused[] = {
    {"ball.avi", "ball.avi: of what kind is it? its name must end with .gif, .svg, .mp4 or .cast"},
    {"ball", "ball: of what kind is it?"},
    {".gif", ".gif: of what kind is it?"},
    {"gone/ball.gif", "gone/ball.gif: cannot write: No such file or directory"},
    {"gone/ball.svg", "gone/ball.svg: cannot write: No such file or directory"},
    {"gone/ball.mp4", "gone/ball.mp4: cannot write: No such file or directory"},
    {"gone/ball.cast", "gone/ball.cast: cannot write: No such file or directory"},
};

START_TEST(what_cannot_be_written_is_refused_at_once) {
    cm_movie *movie;
    ck_assert_int_ne(begin(refused[_i].file, &movie), CM_OK);
    ck_assert_ptr_null(movie);
    ck_assert_msg(strstr(cm_error_message(), refused[_i].part) != NULL, "%s", cm_error_message());
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

static const char *const endings[] = {"x.gif", "x.svg", "x.cast", "x.mp4"};

static cm_status add_one(cm_movie *movie) {
    draw(0);
    return cm_movie_is_text(movie) ? cm_movie_add_text(movie, "text\n") : cm_movie_add(movie, &scene);
}

START_TEST(abandoned_movies_leave_nothing) {
    cm_movie *movie;
    ck_assert_int_eq(begin(endings[_i], &movie), CM_OK);
    if (_i < 3) ck_assert_int_eq(add_one(movie), CM_OK);
    cm_movie_abandon(movie);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

START_TEST(full_disk_is_one_line_and_leaves_what_was_there) {
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    struct rlimit before;
    cm_movie *movie;
    name(endings[_i]);
    ck_assert_int_eq(cm_file_write(path, "old", 3), CM_OK);
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    setrlimit(RLIMIT_FSIZE, &none);
    cm_status status = begin(endings[_i], &movie);
    if (status == CM_OK) status = add_one(movie);
    if (status == CM_OK) status = cm_movie_commit(movie);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert_int_eq(status, CM_ERR_IO);
    ck_assert_msg(strstr(cm_error_message(), "cannot write: File too large") != NULL, "%s", cm_error_message());
    char *text = read_file();
    ck_assert_str_eq(text, "old");
    ck_assert_int_eq(count_files(), 1);
    free(text);
}
END_TEST

START_TEST(movie_without_frames_is_none) {
    cm_movie *movie;
    ck_assert_int_eq(begin("empty.gif", &movie), CM_OK);
    ck_assert_int_eq(cm_movie_commit(movie), CM_ERR_STATE);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

/* ---- mp4 ---- */

/* A program of that name, in place of the one that this machine may have. */
static void make_ffmpeg(const char *text) {
    char file[64];
    snprintf(file, sizeof file, "%s/bin", cm_test_folder);
    ck_assert_int_eq(mkdir(file, 0777), 0);
    setenv("PATH", file, 1);
    snprintf(file, sizeof file, "%s/bin/ffmpeg", cm_test_folder);
    if (!text) return;
    ck_assert_int_eq(cm_file_write(file, text, strlen(text)), CM_OK);
    ck_assert_int_eq(chmod(file, 0777), 0);
}

START_TEST(mp4_without_ffmpeg_says_what_to_do) {
    cm_movie *movie;
    make_ffmpeg(NULL);
    ck_assert_int_eq(begin("ball.mp4", &movie), CM_OK);
    ck_assert_int_eq(add_all(movie), CM_ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "ball.mp4: needs the program ffmpeg, which is not on the path; "
                                                     "install it, or write a .gif or .svg"));
    cm_movie_abandon(movie);
    ck_assert_int_eq(count_files(), 1);
}
END_TEST

/* What it gets on its input, and the words that say how it is to read it. */
START_TEST(ffmpeg_gets_the_pixels_of_every_frame) {
    make_ffmpeg("#!/bin/sh\nPATH=/usr/bin:/bin\nfor word; do file=$word; done\necho \"$@\" >\"${file#file:}\"\n"
                "wc -c >>\"${file#file:}\"\n");
    make("ball.mp4");
    char *text = read_file();
    ck_assert_ptr_nonnull(strstr(text, "-f rawvideo -pix_fmt rgb24 -video_size 40x30 -framerate 25 -i pipe:0"));
    ck_assert_msg(strstr(text, "\n25200\n") != NULL, "%s", text); /* 7 * 40 * 30 * 3 */
    ck_assert_int_eq(count_files(), 2);
    free(text);
}
END_TEST

static const char *const failing[] = {
    "#!/bin/sh\nPATH=/usr/bin:/bin\ncat >/dev/null\necho '[mp4 @ 0x55] no space' >&2\n",
    "#!/bin/sh\necho 'no space' >&2\nexit 1\n",
};

START_TEST(what_ffmpeg_says_is_the_error) {
    cm_movie *movie;
    make_ffmpeg(failing[_i]);
    ck_assert_int_eq(begin("ball.mp4", &movie), CM_OK);
    cm_status status = add_all(movie);
    if (status == CM_OK) {
        status = cm_movie_commit(movie);
    } else {
        cm_movie_abandon(movie);
    }
    ck_assert_int_eq(status, CM_ERR_IO);
    ck_assert_msg(strstr(cm_error_message(), "ball.mp4: ffmpeg failed: no space") != NULL, "%s", cm_error_message());
    ck_assert_int_eq(count_files(), 1);
}
END_TEST

static void end(void) {
    cm_scene_free(&scene);
    cm_test_folder_remove();
}

int main(void) {
    Suite *suite = suite_create("draw/movie");
    TCase *tests = tcase_create("movie");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, cm_test_folder_make, end);
    tcase_add_test(tests, gif_has_every_frame_for_its_time_and_the_last_one_longer);
    tcase_add_test(tests, svg_has_every_frame_and_what_they_share_once);
    tcase_add_test(tests, images_in_svg_are_gif_pictures);
    tcase_add_test(tests, recording_has_a_line_for_each_text_at_its_time);
    tcase_add_loop_test(tests, what_cannot_be_written_is_refused_at_once, 0, (int)(sizeof refused / sizeof *refused));
    tcase_add_loop_test(tests, abandoned_movies_leave_nothing, 0, 4);
    tcase_add_loop_test(tests, full_disk_is_one_line_and_leaves_what_was_there, 0, 3);
    tcase_add_test(tests, movie_without_frames_is_none);
    tcase_add_test(tests, mp4_without_ffmpeg_says_what_to_do);
    tcase_add_test(tests, ffmpeg_gets_the_pixels_of_every_frame);
    tcase_add_loop_test(tests, what_ffmpeg_says_is_the_error, 0, 2);
    return cm_test_main(suite);
}
