/* A recording of a terminal: a line of JSON about it, then one for each change (docs.asciinema.org, asciicast v2). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/json.h"
#include "core/text.h"
#include "draw/movie_internal.h"

/* The first line says how large the largest frame is: the others wait for it. */
typedef struct state {
    cm_file_writer *file;
    FILE *out; /* of `text`, owned */
    char *text;
    size_t size;
    int columns, rows;
} state;

static void destroy(cm_movie *movie) {
    state *s = (state *)movie->state;
    if (s->out) fclose(s->out);
    free(s->text);
    cm_file_abandon(s->file);
    free(s);
}

static cm_status begin(cm_movie *movie) {
    CM_TRY(cm_alloc(&movie->state, 1, sizeof(state), "a recording"));
    state *s = (state *)movie->state;
    cm_status status = cm_file_begin(movie->config.path, &s->file);
    if (status == CM_OK && !(s->out = open_memstream(&s->text, &s->size)))
        status = cm_fail(CM_ERR_MEMORY, "a recording does not fit into memory");
    if (status != CM_OK) destroy(movie);
    return status;
}

static void measure(state *s, const char *text) {
    int rows = 0;
    for (const char *at = text; *at; at += strcspn(at, "\n") + (strchr(at, '\n') != NULL), rows++) {
        const int width = cm_text_line_width(at);
        if (width > s->columns) s->columns = width;
    }
    if (rows + 1 > s->rows) s->rows = rows + 1;
}

/* A screen that is cleared and written from its upper left corner on, as a terminal takes it. */
static cm_status copy_screen(const char *text, char **out) {
    static const char clear[] = "\033[H\033[2J";
    CM_TRY(cm_alloc(out, 2 * strlen(text) + sizeof clear, 1, "a recording"));
    char *to = stpcpy(*out, clear);
    for (; *text; *to++ = *text++)
        if (*text == '\n') *to++ = '\r';
    return CM_OK;
}

static cm_status write_event(const cm_movie *movie, const char *screen) {
    const state *s = (const state *)movie->state;
    cm_json_writer *json;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_array(json, NULL);
    cm_json_put_double(json, NULL, round(1e6 * movie->frames / movie->config.rate) / 1e6);
    cm_json_put_string(json, NULL, "o");
    cm_json_put_string(json, NULL, screen);
    cm_json_end_array(json);
    size_t size;
    const char *line = cm_json_writer_text(json, &size);
    const bool is_there = line && fwrite(line, 1, size, s->out) == size && fputc('\n', s->out) != EOF;
    cm_json_writer_destroy(json);
    return is_there ? CM_OK : cm_fail(CM_ERR_MEMORY, "a recording does not fit into memory");
}

static cm_status add_text(cm_movie *movie, const char *text) {
    char *screen;
    measure((state *)movie->state, text);
    CM_TRY(copy_screen(text, &screen));
    const cm_status status = write_event(movie, screen);
    free(screen);
    return status;
}

static cm_status write_head(const cm_movie *movie) {
    const state *s = (const state *)movie->state;
    cm_json_writer *json;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_int(json, "version", 2);
    cm_json_put_int(json, "width", s->columns);
    cm_json_put_int(json, "height", s->rows);
    cm_json_put_string(json, "title", movie->config.title);
    cm_json_end_object(json);
    const cm_status status = cm_json_writer_append(json, s->file);
    cm_json_writer_destroy(json);
    return status;
}

static cm_status end(cm_movie *movie) {
    state *s = (state *)movie->state;
    const bool is_there = fclose(s->out) == 0;
    s->out = NULL;
    if (!is_there) return cm_fail(CM_ERR_MEMORY, "a recording does not fit into memory");
    CM_TRY(write_head(movie));
    CM_TRY(cm_file_append(s->file, s->text, s->size));
    cm_file_writer *file = s->file;
    s->file = NULL;
    return cm_file_commit(file);
}

const cm_movie_kind cm_movie_cast = {
    .ending = ".cast", .begin = begin, .add_text = add_text, .end = end, .destroy = destroy};
