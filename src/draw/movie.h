/* Moving pictures of scenes: .gif, .svg (one file that plays in a browser), .mp4 (by the program ffmpeg); and .cast, a
 * recording of text as asciinema plays it (asciicast v2).
 *
 * The file appears under its name as a whole, or not at all.
 */
#ifndef CM_DRAW_MOVIE_H
#define CM_DRAW_MOVIE_H

#include "draw/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_MOVIE_RATE = 50 }; /* frames a second at most: viewers of GIF pictures are slower with more */

typedef struct cm_movie_config {
    const char *path;  /* its ending says of what kind it is */
    const char *title; /* what it shows */
    double rate;       /* frames a second, up to CM_MOVIE_RATE */
    double scale;      /* pixels a unit */
} cm_movie_config;

typedef struct cm_movie cm_movie;

/* Texts are borrowed until the end; the caller owns *out. Errors: CM_ERR_INPUT for another ending, CM_ERR_IO if the
 * file cannot be written, CM_ERR_MEMORY. */
cm_status cm_movie_begin(const cm_movie_config *config, cm_movie **out) CM_MUST_USE;

/* Whether its frames are texts. */
bool cm_movie_is_text(const cm_movie *movie);

/* Adds a frame; all scenes have the size of the first, in which further ones are cut. Errors: CM_ERR_IO, CM_ERR_MEMORY,
 * CM_ERR_INPUT for too many pixels; CM_ERR_ABSENT without ffmpeg. */
cm_status cm_movie_add(cm_movie *movie, const cm_scene *scene) CM_MUST_USE;
cm_status cm_movie_add_text(cm_movie *movie, const char *text) CM_MUST_USE; /* lines, each with its end */

int cm_movie_frames(const cm_movie *movie);

/* Ends it. After either the movie is gone. Errors: those of adding; the file is as it was. */
cm_status cm_movie_commit(cm_movie *movie) CM_MUST_USE;
void cm_movie_abandon(cm_movie *movie); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
