/* GIF pictures, read back by giflib. */
#include <check.h>
#include <gif_lib.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "draw/gif.h"
#include "support/main.h"

enum { WIDTH = 37, HEIGHT = 23, FRAMES = 6, BYTES = 1 << 18 };

typedef struct bytes {
    unsigned char data[BYTES];
    size_t size, read, most; /* most: what may be written */
} bytes;

static bytes file;

static cm_status put(void *context, const void *data, size_t size) {
    bytes *b = (bytes *)context;
    if (b->size + size > b->most) return cm_fail(CM_ERR_IO, "x.gif: cannot write: No space left on device");
    memcpy(b->data + b->size, data, size);
    b->size += size;
    return CM_OK;
}

static int get(GifFileType *gif, GifByteType *out, int count) {
    bytes *b = (bytes *)gif->UserData;
    const size_t left = b->size - b->read, taken = (size_t)count < left ? (size_t)count : left;
    memcpy(out, b->data + b->read, taken);
    b->read += taken;
    return (int)taken;
}

static void begin(void) { file.size = file.read = 0, file.most = BYTES; }

/* ---- frames ---- */

static cm_image image;

static void set_pixel(int x, int y, unsigned colour) {
    for (int k = 0; k < 3; k++) image.rgb[3 * (y * image.width + x) + k] = (uint8_t)(colour >> (16 - 8 * k));
}

/* A square of a few colours that moves; frames 3 and 4 are equal. */
static void draw_frame(int frame) {
    const int at = frame == 4 ? 3 : frame;
    ck_assert_int_eq(cm_image_resize(&image, WIDTH, HEIGHT), CM_OK);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            set_pixel(x, y,
                      x >= 4 * at && x < 4 * at + 9 && y >= 5 && y < 15 ? (x + y) % 3 ? 0xd1383d : 0x2f6fdb : 0xeef1f5);
}

static void write_frames(void) {
    cm_gif *gif;
    ck_assert_int_eq(cm_gif_create(put, &file, &gif), CM_OK);
    for (int frame = 0; frame < FRAMES; frame++) {
        draw_frame(frame);
        ck_assert_int_eq(cm_gif_add(gif, &image, 3 + frame), CM_OK);
    }
    ck_assert_int_eq(cm_gif_end(gif), CM_OK);
    cm_gif_destroy(gif);
}

static GifFileType *read_all(void) {
    int error;
    GifFileType *gif = DGifOpen(&file, get, &error);
    ck_assert_ptr_nonnull(gif);
    ck_assert_int_eq(DGifSlurp(gif), GIF_OK);
    ck_assert_uint_eq(file.read, file.size);
    return gif;
}

/* Puts a frame on those before, as viewers do. */
static void paint(const GifFileType *gif, int frame, uint8_t *rgb, int *delay) {
    const SavedImage *saved = &gif->SavedImages[frame];
    const GifImageDesc *d = &saved->ImageDesc;
    GraphicsControlBlock control;
    ck_assert_int_eq(DGifSavedExtensionToGCB((GifFileType *)(uintptr_t)gif, frame, &control), GIF_OK);
    *delay = control.DelayTime;
    for (int i = 0; i < d->Width * d->Height; i++) {
        const int index = saved->RasterBits[i];
        if (index == control.TransparentColor) continue;
        const GifColorType c = d->ColorMap->Colors[index];
        const uint8_t pixel[] = {c.Red, c.Green, c.Blue};
        memcpy(rgb + 3 * ((d->Top + i / d->Width) * gif->SWidth + d->Left + i % d->Width), pixel, 3);
    }
}

START_TEST(frames_come_back_as_they_were) {
    uint8_t shown[3 * WIDTH * HEIGHT];
    int delay;
    write_frames();
    GifFileType *gif = read_all();
    ck_assert_int_eq(gif->ImageCount, FRAMES);
    ck_assert_int_eq(gif->SWidth, WIDTH);
    ck_assert_int_eq(gif->SHeight, HEIGHT);
    for (int frame = 0; frame < FRAMES; frame++) {
        draw_frame(frame);
        paint(gif, frame, shown, &delay);
        ck_assert_int_eq(delay, 3 + frame);
        ck_assert_msg(memcmp(shown, image.rgb, sizeof shown) == 0, "frame %d", frame);
    }
    DGifCloseFile(gif, &(int){0});
}
END_TEST

START_TEST(frames_after_the_first_write_what_has_changed) {
    write_frames();
    GifFileType *gif = read_all();
    const GifImageDesc *second = &gif->SavedImages[1].ImageDesc, *equal = &gif->SavedImages[4].ImageDesc;
    ck_assert_int_eq(second->Left, 0);
    ck_assert_int_eq(second->Top, 5);
    ck_assert_int_eq(second->Width, 13);
    ck_assert_int_eq(second->Height, 10);
    ck_assert_int_eq(equal->Width * equal->Height, 1);
    DGifCloseFile(gif, &(int){0});
}
END_TEST

START_TEST(it_begins_again_for_ever) {
    write_frames();
    GifFileType *gif = read_all();
    const ExtensionBlock *blocks = gif->SavedImages[0].ExtensionBlocks;
    ck_assert_int_eq(blocks[0].Function, APPLICATION_EXT_FUNC_CODE);
    ck_assert_int_eq(memcmp(blocks[0].Bytes, "NETSCAPE2.0", 11), 0);
    ck_assert_int_eq(memcmp(blocks[1].Bytes, "\1\0\0", 3), 0);
    DGifCloseFile(gif, &(int){0});
}
END_TEST

START_TEST(pictures_of_many_colours_are_close) {
    cm_gif *gif;
    int delay;
    double error = 0.0;
    ck_assert_int_eq(cm_image_resize(&image, 128, 128), CM_OK);
    for (int y = 0; y < 128; y++)
        for (int x = 0; x < 128; x++)
            set_pixel(x, y, (unsigned)(2 * x) << 16 | (unsigned)(2 * y) << 8 | (unsigned)((x + y) / 2));
    ck_assert_int_eq(cm_gif_create(put, &file, &gif), CM_OK);
    ck_assert_int_eq(cm_gif_add(gif, &image, 1), CM_OK);
    ck_assert_int_eq(cm_gif_end(gif), CM_OK);
    cm_gif_destroy(gif);
    uint8_t *shown = calloc(128 * 128, 3);
    GifFileType *read = read_all();
    paint(read, 0, shown, &delay);
    for (int i = 0; i < 3 * 128 * 128; i++) error += abs(shown[i] - image.rgb[i]) / (3.0 * 128 * 128);
    ck_assert_double_lt(error, 5.0); /* a cube of 6 x 7 x 6 colours has 17 */
    DGifCloseFile(read, &(int){0});
    free(shown);
}
END_TEST

START_TEST(error_of_the_output_is_that_of_the_frame) {
    write_frames();
    const size_t whole = file.size;
    for (size_t most = 0; most < whole; most += 97) {
        cm_gif *gif;
        cm_status status = CM_OK;
        file.size = 0, file.most = most;
        ck_assert_int_eq(cm_gif_create(put, &file, &gif), CM_OK);
        for (int frame = 0; frame < FRAMES && status == CM_OK; frame++) {
            draw_frame(frame);
            status = cm_gif_add(gif, &image, 3);
        }
        if (status == CM_OK) status = cm_gif_end(gif);
        ck_assert_int_eq(status, CM_ERR_IO);
        ck_assert_str_eq(cm_error_message(), "x.gif: cannot write: No space left on device");
        cm_gif_destroy(gif);
    }
}
END_TEST

static void end(void) { cm_image_free(&image); }

int main(void) {
    Suite *suite = suite_create("draw/gif");
    TCase *tests = tcase_create("gif");
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, frames_come_back_as_they_were);
    tcase_add_test(tests, frames_after_the_first_write_what_has_changed);
    tcase_add_test(tests, it_begins_again_for_ever);
    tcase_add_test(tests, pictures_of_many_colours_are_close);
    tcase_add_test(tests, error_of_the_output_is_that_of_the_frame);
    return cm_test_main(suite);
}
