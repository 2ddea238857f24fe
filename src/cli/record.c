#include "cli/record.h"

#include <stdlib.h>

#include "cli/output.h"
#include "core/arena.h"
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

static cm_status add_scene(cm_recording *recording, const cm_env *env, const void *state, const cm_env_moment *moment,
                           double total) {
    cm_env_draw(env, state, moment, &recording->scene);
    cm_env_draw_caption(env, state, moment, total, &recording->scene);
    return cm_movie_add(recording->movie, &recording->scene);
}

static cm_env_moment moment_of(const cm_game *game) {
    if (game->count == 0) return CM_ENV_NO_MOMENT;
    const cm_game_move last = game->moves[game->count - 1];
    return (cm_env_moment){.action = last.action, .player = last.player, .cell = game->last_cell};
}

static cm_status add_text(cm_recording *recording, cm_game *game, const cm_text *note) {
    cm_text text = {0};
    cm_game_draw(game, &view, -1, note, &text);
    return cm_movie_add_text(recording->movie, text.bytes);
}

cm_status cm_recording_add(cm_recording *recording, cm_game *game, const cm_text *note) {
    if (!recording->movie) return CM_OK;
    if (cm_movie_is_text(recording->movie)) return add_text(recording, game, note);
    const cm_env_moment moment = moment_of(game);
    return add_scene(recording, game->env, game->state, &moment, game->total);
}

static cm_status add_picture(const cm_recording *recording, const cm_env *env, const void *state) {
    char picture[CM_ENV_PICTURE_BYTES];
    cm_env_picture(env, state, picture, sizeof picture);
    return cm_movie_add_text(recording->movie, picture);
}

cm_status cm_recording_replay(cm_recording *recording, const cm_env *env, uint64_t seed, const int32_t *actions,
                              int count) {
    const bool is_text = cm_movie_is_text(recording->movie);
    cm_env_moment moment = CM_ENV_NO_MOMENT;
    double total = 0.0;
    void *state;
    CM_TRY(cm_alloc(&state, 1, env->spec.state_size, "a game"));
    cm_env_reset(env, state, seed);
    cm_status status = CM_OK;
    for (int i = 0; status == CM_OK; i++) {
        cm_env_outcome outcome;
        status = is_text ? add_picture(recording, env, state) : add_scene(recording, env, state, &moment, total);
        if (i == count || status != CM_OK) break;
        status = cm_env_step(env, state, actions[i], &outcome);
        moment = cm_env_moment_of(env, NULL, actions[i], state);
        total += status == CM_OK ? outcome.reward : 0.0;
    }
    free(state);
    return status;
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
