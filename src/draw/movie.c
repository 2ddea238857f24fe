#include "draw/movie.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/arena.h"
#include "draw/movie_internal.h"

static const cm_movie_kind *const kinds[] = {&cm_movie_gif, &cm_movie_svg, &cm_movie_mp4, &cm_movie_cast};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const cm_movie_kind *find_kind(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    for (int i = 0; dot && dot != name && i < KINDS; i++)
        if (strcasecmp(dot, kinds[i]->ending) == 0) return kinds[i];
    return NULL;
}

cm_status cm_movie_begin(const cm_movie_config *config, cm_movie **out) {
    const cm_movie_kind *kind = find_kind(config->path);
    *out = NULL;
    if (!kind)
        return cm_fail(CM_ERR_INPUT, "%s: of what kind is it? its name must end with .gif, .svg, .mp4 or .cast",
                       config->path);
    CM_TRY(cm_alloc(out, 1, sizeof **out, "a moving picture"));
    (*out)->kind = kind;
    (*out)->config = *config;
    const cm_status status = kind->begin(*out);
    if (status == CM_OK) return CM_OK;
    free(*out);
    *out = NULL;
    return status;
}

bool cm_movie_is_text(const cm_movie *movie) { return movie->kind->add == NULL; }

int cm_movie_frames(const cm_movie *movie) { return movie->frames; }

cm_status cm_movie_add(cm_movie *movie, const cm_scene *scene) {
    cm_scene shown = *scene;
    if (movie->frames == 0) movie->width = scene->width, movie->height = scene->height;
    shown.width = movie->width, shown.height = movie->height;
    CM_TRY(movie->kind->add(movie, &shown));
    movie->frames++;
    return CM_OK;
}

cm_status cm_movie_add_text(cm_movie *movie, const char *text) {
    CM_TRY(movie->kind->add_text(movie, text));
    movie->frames++;
    return CM_OK;
}

cm_status cm_movie_commit(cm_movie *movie) {
    const cm_status status = movie->frames > 0 ? movie->kind->end(movie)
                                               : cm_fail(CM_ERR_STATE, "%s: there is no frame", movie->config.path);
    cm_movie_abandon(movie);
    return status;
}

void cm_movie_abandon(cm_movie *movie) {
    if (!movie) return;
    movie->kind->destroy(movie);
    free(movie);
}
