#include "cli/record.h"

#include <stdio.h>

#include "cli/output.h"
#include "env/draw.h"

/* As a terminal of usual width shows it. */
static const cm_view view = {.tty = true, .colour = true, .utf8 = true, .columns = 79};

cm_status cm_recording_begin(cm_recording *recording, const cm_arguments *arguments, const cm_env *env) {
    cm_movie_config config = {.path = cm_argument(arguments, "--video"),
                              .title = env->spec.name,
                              .rate = cm_env_draw_rate(env),
                              .scale = 1.5};
    *recording = (cm_recording){.path = config.path};
    for (int i = 0; i < 2 && !config.path; i++) {
        const char *flag = i == 0 ? "--fps" : "--scale";
        if (cm_argument_is_set(arguments, flag)) return cm_fail(CM_ERR_INPUT, "%s: goes with --video FILE alone", flag);
    }
    if (!config.path) return CM_OK;
    CM_TRY(cm_argument_real(arguments, "--fps", 0.1, CM_MOVIE_RATE, &config.rate));
    CM_TRY(cm_argument_real(arguments, "--scale", 0.25, 8.0, &config.scale));
    const cm_status status = cm_movie_begin(&config, &recording->movie);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "--video");
}

static cm_status add_scene(cm_recording *recording, const cm_game *game) {
    cm_env_moment moment = CM_ENV_NO_MOMENT;
    if (game->count > 0) {
        const cm_game_move last = game->moves[game->count - 1];
        moment = (cm_env_moment){.action = last.action, .player = last.player, .cell = game->last_cell};
    }
    cm_env_draw(game->env, game->state, &moment, &recording->scene);
    cm_env_draw_caption(game->env, game->state, &moment, game->total, &recording->scene);
    return cm_movie_add(recording->movie, &recording->scene);
}

static cm_status add_text(cm_recording *recording, cm_game *game, const cm_text *note) {
    cm_text text = {0};
    cm_game_draw(game, &view, -1, note, &text);
    return cm_movie_add_text(recording->movie, text.bytes);
}

cm_status cm_recording_add(cm_recording *recording, cm_game *game, const cm_text *note) {
    if (!recording->movie) return CM_OK;
    return cm_movie_is_text(recording->movie) ? add_text(recording, game, note) : add_scene(recording, game);
}

cm_status cm_recording_end(cm_recording *recording, cm_status status) {
    cm_movie *movie = recording->movie;
    recording->movie = NULL;
    cm_scene_free(&recording->scene);
    if (!movie || status != CM_OK) {
        cm_movie_abandon(movie);
        return status;
    }
    const int frames = cm_movie_frames(movie);
    CM_TRY(cm_movie_commit(movie));
    cm_cli_line(4, "%s: %d frames", recording->path, frames);
    return CM_OK;
}
