/* Stacks of frames against pictures that are stacked, padded and cut in plain arrays, and by hand. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "core/rng.h"
#include "support/main.h"

enum { FRAMES = 6, MOST = 12, CHANNELS = 4, COUNT = 5, ROWS = 8, SHIFT = 16 };
enum { NUMBERS = FRAMES * MOST * MOST * CHANNELS, PICTURE = MOST * MOST * CHANNELS * COUNT };

static cm_backend *backend;
static cm_stream *stream;

static void open_backend(void) {
    ck_assert_int_eq(cm_backend_open("cpu", &backend), CM_OK);
    ck_assert_int_eq(cm_stream_open(backend, &stream), CM_OK);
}

static void close_backend(void) {
    cm_stream_close(stream);
    cm_backend_close(backend);
}

typedef struct pictures {
    int height, width, channels, count;
    uint8_t bytes[NUMBERS];
    float floats[NUMBERS]; /* the same numbers */
    int32_t index[ROWS * COUNT], shift[ROWS * 2];
    float factor[ROWS];
} pictures;

static cm_call make_call(pictures *p, bool of_bytes, float *y) {
    const int frames[4] = {FRAMES, p->height, p->width, p->channels};
    const int stack[4] = {ROWS, p->height, p->width, p->count * p->channels};
    cm_call call = {.op = CM_OP_stack_frames, .attr = {.scale = 1.0f / 255.0f}};
    call.t[CM_T_stack_frames_y] = cm_tensor_make(y, CM_F32, 4, stack);
    call.t[CM_T_stack_frames_frames] =
        cm_tensor_make(of_bytes ? (void *)p->bytes : p->floats, of_bytes ? CM_U8 : CM_F32, 4, frames);
    call.t[CM_T_stack_frames_index] = cm_tensor_2d(p->index, CM_I32, ROWS, p->count);
    call.t[CM_T_stack_frames_shift] = cm_tensor_2d(p->shift, CM_I32, ROWS, 2);
    call.t[CM_T_stack_frames_factor] = cm_tensor_1d(p->factor, CM_F32, ROWS);
    return call;
}

static void fill(pictures *p, uint64_t number) {
    cm_rng rng = cm_rng_init(cm_key_make(7, CM_RNG_TEST, number), 0);
    p->height = 1 + (int)cm_rng_below(&rng, MOST), p->width = 1 + (int)cm_rng_below(&rng, MOST);
    p->channels = 1 + (int)cm_rng_below(&rng, CHANNELS), p->count = 1 + (int)cm_rng_below(&rng, COUNT);
    for (int i = 0; i < NUMBERS; i++) {
        p->bytes[i] = (uint8_t)cm_rng_below(&rng, 256);
        p->floats[i] = (float)p->bytes[i] * (1.0f / 255.0f);
    }
    for (int i = 0; i < ROWS * COUNT; i++) p->index[i] = (int32_t)cm_rng_below(&rng, FRAMES);
    p->index[(ROWS - 1) * p->count] = -1;
    for (int i = 0; i < ROWS; i++) { /* by more than the picture has, too */
        for (int d = 0; d < 2; d++) p->shift[2 * i + d] = i == 0 ? 0 : (int)cm_rng_below(&rng, 2 * SHIFT + 1) - SHIFT;
        p->factor[i] = i == 1 ? 1.0f : 0.9f + 0.2f * cm_rng_uniform(&rng);
    }
}

/* The stack of row i, padded by SHIFT pixels that repeat the borders and cut at (SHIFT + down, SHIFT + right). */
static void pad_and_cut(const pictures *p, int i, float *out) {
    static float padded[(MOST + 2 * SHIFT) * (MOST + 2 * SHIFT) * CHANNELS * COUNT];
    const int h = p->height, w = p->width, c = p->channels, numbers = p->count * c, wide = w + 2 * SHIFT;
    for (int y = 0; y < h + 2 * SHIFT; y++)
        for (int x = 0; x < wide; x++) {
            const int from_y = y < SHIFT ? 0 : y - SHIFT >= h ? h - 1 : y - SHIFT;
            const int from_x = x < SHIFT ? 0 : x - SHIFT >= w ? w - 1 : x - SHIFT;
            for (int n = 0; n < numbers; n++) {
                const int frame = p->index[i * p->count + n / c];
                padded[(y * wide + x) * numbers + n] = p->floats[((frame * h + from_y) * w + from_x) * c + n % c];
            }
        }
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w * numbers; x++)
            out[y * w * numbers + x] =
                padded[((y + SHIFT + p->shift[2 * i]) * wide + SHIFT + p->shift[2 * i + 1]) * numbers + x] *
                p->factor[i];
}

START_TEST(stacks_are_padded_with_their_borders_cut_and_multiplied) {
    static pictures p;
    static float y[ROWS * PICTURE], want[PICTURE];
    fill(&p, (uint64_t)_i);
    const size_t numbers = (size_t)(p.height * p.width * p.channels * p.count);
    for (int of_bytes = 0; of_bytes < 2; of_bytes++) {
        cm_call call = make_call(&p, of_bytes, y);
        memset(y, 0xff, sizeof y);
        ck_assert_msg(cm_call_eager(stream, &call) == CM_OK, "%s", cm_error_message());
        for (int i = 0; i < ROWS; i++) {
            if (i + 1 < ROWS) {
                pad_and_cut(&p, i, want);
            } else {
                memset(want, 0, sizeof want);
            }
            ck_assert_mem_eq(y + (size_t)i * numbers, want, numbers * sizeof *want);
        }
    }
}
END_TEST

START_TEST(borders_repeat_as_worked_by_hand) {
    float frame[6] = {1, 2, 3, 4, 5, 6}, factor = 0.5f, y[6]; /* rows 1 2 3 and 4 5 6 */
    int32_t index = 0, shift[2] = {1, -1};
    const int dim[4] = {1, 2, 3, 1};
    cm_call call = {.op = CM_OP_stack_frames};
    call.t[CM_T_stack_frames_y] = cm_tensor_make(y, CM_F32, 4, dim);
    call.t[CM_T_stack_frames_frames] = cm_tensor_make(frame, CM_F32, 4, dim);
    call.t[CM_T_stack_frames_index] = cm_tensor_2d(&index, CM_I32, 1, 1);
    call.t[CM_T_stack_frames_shift] = cm_tensor_2d(shift, CM_I32, 1, 2);
    call.t[CM_T_stack_frames_factor] = cm_tensor_1d(&factor, CM_F32, 1);
    ck_assert_int_eq(cm_call_eager(stream, &call), CM_OK);
    const float want[6] = {2, 2, 2.5f, 2, 2, 2.5f};
    ck_assert_mem_eq(y, want, sizeof want);
}
END_TEST

START_TEST(frames_that_are_not_there_and_stacks_that_are_too_high_are_refused) {
    static pictures p;
    static float y[ROWS * PICTURE];
    fill(&p, 0);
    cm_call call = make_call(&p, true, y);
    p.index[p.count] = FRAMES;
    ck_assert_int_eq(cm_call_eager(stream, &call), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "index[1, 0] is 6, must be in [0, 6)"));
    call.t[CM_T_stack_frames_index].dim[1] = call.t[CM_T_stack_frames_index].stride = 33;
    ck_assert_int_eq(cm_call_eager(stream, &call), CM_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(cm_error_message(), "32 at most"));
}
END_TEST

int main(void) {
    Suite *suite = suite_create("backend/stack_frames");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, open_backend, close_backend);
    tcase_add_loop_test(tests, stacks_are_padded_with_their_borders_cut_and_multiplied, 0, 30);
    tcase_add_test(tests, borders_repeat_as_worked_by_hand);
    tcase_add_test(tests, frames_that_are_not_there_and_stacks_that_are_too_high_are_refused);
    suite_add_tcase(suite, tests);
    return cm_test_main(suite);
}
