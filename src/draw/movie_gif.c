#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "draw/gif.h"
#include "draw/movie_internal.h"

/* A frame is written when the next one has come, or the last one's longer time is known. */
typedef struct state {
    cm_file_writer *file;
    cm_gif *gif;
    cm_image image; /* the frame that waits */
} state;

static cm_status write_bytes(void *context, const void *bytes, size_t size) {
    return cm_file_append(((state *)context)->file, bytes, size);
}

static void destroy(cm_movie *movie) {
    state *s = (state *)movie->state;
    cm_gif_destroy(s->gif);
    cm_file_abandon(s->file);
    cm_image_free(&s->image);
    free(s);
}

static cm_status begin(cm_movie *movie) {
    CM_TRY(cm_alloc(&movie->state, 1, sizeof(state), "a moving picture"));
    state *s = (state *)movie->state;
    cm_status status = cm_file_begin(movie->config.path, &s->file);
    if (status == CM_OK) status = cm_gif_create(write_bytes, s, &s->gif);
    if (status != CM_OK) destroy(movie);
    return status;
}

/* Hundredths of a second from the start to frame number `frame`: none is lost where the rate divides no hundred. */
static int time_of(const cm_movie *movie, int frame) { return (int)lround(100.0 * frame / movie->config.rate); }

static cm_status add(cm_movie *movie, const cm_scene *scene) {
    state *s = (state *)movie->state;
    const int waiting = movie->frames - 1;
    if (waiting >= 0) CM_TRY(cm_gif_add(s->gif, &s->image, time_of(movie, waiting + 1) - time_of(movie, waiting)));
    return cm_scene_render(scene, movie->config.scale, &s->image);
}

static cm_status end(cm_movie *movie) {
    state *s = (state *)movie->state;
    cm_file_writer *file = s->file;
    CM_TRY(cm_gif_add(s->gif, &s->image, (int)lround(100.0 * CM_MOVIE_HOLD)));
    CM_TRY(cm_gif_end(s->gif));
    s->file = NULL;
    return cm_file_commit(file);
}

const cm_movie_kind cm_movie_gif = {.ending = ".gif", .begin = begin, .add = add, .end = end, .destroy = destroy};
