/* Moving pictures of what is played at the command line (--video FILE). */
#ifndef CM_CLI_RECORD_H
#define CM_CLI_RECORD_H

#include "cli/game_view.h"
#include "draw/movie.h"

/* The flags that a command with moving pictures has; further ones follow. */
#define CM_FLAGS_VIDEO                                                                                                 \
    {"--video", "FILE",                                                                                                \
     "Writes what is played as a moving picture: .gif, .svg (for browsers), .mp4 (by ffmpeg), or .cast (text, for "    \
     "asciinema)."},                                                                                                   \
        {"--fps", "RATE", "Its positions a second, 0.1 to 50; 30, of boards 5, of games of two 2."}, {                 \
        "--scale", "X", "Its size: 320 pixels times X from left to right, 0.25 to 8; 1.5."                             \
    }

typedef struct cm_recording {
    cm_movie *movie; /* owned; NULL: nothing is recorded */
    const char *path;
    cm_scene scene;
} cm_recording;

/* What the flags say; nothing is recorded where there is none. Errors: CM_ERR_INPUT, those of cm_movie_begin. The
 * caller ends it. */
cm_status cm_recording_begin(cm_recording *recording, const cm_arguments *arguments, const cm_env *env) CM_MUST_USE;

/* Adds the game as it stands; `note` is what is said of its last move. Errors: those of cm_movie_add. */
cm_status cm_recording_add(cm_recording *recording, cm_game *game, const cm_text *note) CM_MUST_USE;

/* Adds all positions of an episode that began with `seed`, as its actions[count] lead there. Errors: the same, and
 * those of steps. */
cm_status cm_recording_replay(cm_recording *recording, const cm_env *env, uint64_t seed, const int32_t *actions,
                              int count) CM_MUST_USE;

/* Ends the file and says how many frames it has, if `status` is CM_OK; else there is none. Returns the first error. */
cm_status cm_recording_end(cm_recording *recording, cm_status status) CM_MUST_USE;
#endif
