/* All frames stand in a row from left to right, which moves on by one at a time; what the first shapes of all frames
 * have in common is behind them and stays. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "draw/movie_internal.h"
#include "draw/vector.h"

/* Elements, in their order: number e is text[start[e] .. start[e + 1]). */
typedef struct state {
    cm_file_writer *file;
    FILE *out; /* of `text`, owned */
    char *text;
    size_t size;
    long *start;
    size_t elements, element_space;
    size_t *frame; /* first element of each, and the end of the last */
    size_t frame_space;
    size_t common;  /* elements at the front of all frames that are equal */
    cm_scene first; /* its size and background alone */
} state;

static void destroy(cm_movie *movie) {
    state *s = (state *)movie->state;
    if (s->out) fclose(s->out);
    free(s->text);
    free(s->start);
    free(s->frame);
    cm_file_abandon(s->file);
    free(s);
}

static cm_status fail_memory(void) { return cm_fail(CM_ERR_MEMORY, "a moving picture does not fit into memory"); }

static cm_status begin(cm_movie *movie) {
    CM_TRY(cm_alloc(&movie->state, 1, sizeof(state), "a moving picture"));
    state *s = (state *)movie->state;
    cm_status status = cm_file_begin(movie->config.path, &s->file);
    if (status == CM_OK && !(s->out = open_memstream(&s->text, &s->size))) status = fail_memory();
    if (status != CM_OK) destroy(movie);
    return status;
}

/* The array `all`, whose entries have `size` bytes, with space for one more after `used`; NULL: there is none. */
static void *reserve(void *all, size_t *space, size_t used, size_t size) {
    if (used < *space) return all;
    void *grown = realloc(all, (2 * *space + 64) * size);
    if (grown) *space = 2 * *space + 64;
    return grown;
}

static cm_status note_element(state *s) {
    long *start = reserve(s->start, &s->element_space, s->elements, sizeof *start);
    if (!start) return fail_memory();
    s->start = start;
    start[s->elements] = ftell(s->out);
    return CM_OK;
}

static cm_status note_frame(state *s, size_t number) {
    size_t *frame = reserve(s->frame, &s->frame_space, number, sizeof *frame);
    if (!frame) return fail_memory();
    s->frame = frame;
    frame[number] = s->elements;
    return CM_OK;
}

static bool are_equal(const state *s, size_t a, size_t b) {
    const long size = s->start[a + 1] - s->start[a];
    return size == s->start[b + 1] - s->start[b] &&
           memcmp(s->text + s->start[a], s->text + s->start[b], (size_t)size) == 0;
}

static cm_status add(cm_movie *movie, const cm_scene *scene) {
    state *s = (state *)movie->state;
    if (scene->status != CM_OK) return fail_memory();
    const size_t begin = s->elements;
    CM_TRY(note_frame(s, (size_t)movie->frames));
    CM_TRY(note_element(s));
    for (size_t i = 0; i < scene->shapes; i++) {
        CM_TRY(cm_vector_put_shape(s->out, scene, i));
        s->elements++;
        CM_TRY(note_element(s));
    }
    CM_TRY(note_frame(s, (size_t)movie->frames + 1));
    if (fflush(s->out) != 0) return fail_memory();
    if (movie->frames == 0) {
        s->first = (cm_scene){.width = scene->width, .height = scene->height, .background = scene->background};
        s->common = scene->shapes;
    }
    size_t equal = 0;
    while (equal < s->common && equal < scene->shapes && are_equal(s, equal, begin + equal)) equal++;
    s->common = equal;
    return CM_OK;
}

/* ---- the file ---- */

static void put_elements(FILE *out, const state *s, size_t from, size_t to) {
    fwrite(s->text + s->start[from], 1, (size_t)(s->start[to] - s->start[from]), out);
}

/* The places of the row of frames, one for each time, and the last one for as long as it is held. */
static void put_motion(FILE *out, const cm_movie *movie) {
    const state *s = (const state *)movie->state;
    const int held = (int)ceil(CM_MOVIE_HOLD * movie->config.rate), times = movie->frames + held;
    fputs("<animateTransform attributeName=\"transform\" type=\"translate\" calcMode=\"discrete\" "
          "repeatCount=\"indefinite\" dur=\"",
          out);
    cm_vector_put_number(out, times / movie->config.rate);
    fputs("s\" values=\"", out);
    for (int i = 0; i < times; i++) {
        fputs(i == 0 ? "" : ";", out);
        cm_vector_put_number(out, -s->first.width * (i < movie->frames ? i : movie->frames - 1));
    }
    fputs("\"/>\n", out);
}

/* Each frame is a picture of its own, as large as the whole, so that nothing of it reaches into the next one. */
static void put_frame(FILE *out, const state *s, int frame) {
    fputs("<svg x=\"", out);
    cm_vector_put_number(out, s->first.width * frame);
    fputs("\">", out);
    put_elements(out, s, s->frame[frame] + s->common, s->frame[frame + 1]);
    fputs("</svg>\n", out);
}

static void put_all(FILE *out, const cm_movie *movie) {
    const state *s = (const state *)movie->state;
    cm_vector_put_start(out, &s->first, movie->config.scale, movie->config.title);
    put_elements(out, s, 0, s->common);
    fputs("<g>", out);
    if (movie->frames > 1) put_motion(out, movie);
    for (int i = 0; i < movie->frames; i++) put_frame(out, s, i);
    fputs("</g></svg>\n", out);
}

static cm_status end(cm_movie *movie) {
    state *s = (state *)movie->state;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return fail_memory();
    put_all(out, movie);
    cm_status status = fclose(out) == 0 ? cm_file_append(s->file, text, size) : fail_memory();
    free(text);
    if (status != CM_OK) return status;
    cm_file_writer *file = s->file;
    s->file = NULL;
    return cm_file_commit(file);
}

const cm_movie_kind cm_movie_svg = {.ending = ".svg", .begin = begin, .add = add, .end = end, .destroy = destroy};
