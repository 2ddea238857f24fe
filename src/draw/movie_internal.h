/* A kind of moving picture is a row: movie_NAME.c has it, movie.c lists it. */
#ifndef CM_DRAW_MOVIE_INTERNAL_H
#define CM_DRAW_MOVIE_INTERNAL_H

#include "core/file.h"
#include "draw/movie.h"
#include "draw/raster.h"

#define CM_MOVIE_HOLD 1.5 /* seconds that the last frame stays before the first comes again */

typedef struct cm_movie_kind {
    const char *ending;
    /* A state of its own into movie->state; on errors nothing is left. */
    cm_status (*begin)(cm_movie *movie);
    cm_status (*add)(cm_movie *movie, const cm_scene *scene); /* all of one size; NULL: its frames are texts */
    cm_status (*add_text)(cm_movie *movie, const char *text);
    cm_status (*end)(cm_movie *movie); /* all of the file is there then */
    void (*destroy)(cm_movie *movie);  /* frees the state, and what is not ended leaves no file */
} cm_movie_kind;

struct cm_movie {
    const cm_movie_kind *kind;
    cm_movie_config config;
    int frames;
    double width, height; /* of the first scene */
    void *state;
};

extern const cm_movie_kind cm_movie_gif, cm_movie_svg, cm_movie_mp4, cm_movie_cast;
#endif
