/* Moving pictures of evaluations: the first episode of each, as it is played again by its actions. They tell people
 * what numbers do not; nothing is read from them, so a run that cannot write them goes on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/log.h"
#include "draw/gif.h"
#include "env/draw.h"
#include "run/episode_files.h"
#include "run/run_internal.h"

enum { FRAMES = 12, SLOWEST = 50, HOLD = 150 }; /* frames at most; hundredths of a second for one, and for the last */

/* A picture that is being made. */
typedef struct film {
    const cm_env *env; /* borrowed */
    cm_gif *gif;
    cm_scene scene;
    cm_image image;
    char *states; /* two blocks: the position, and the one before */
    char *bytes;  /* [size] of the file */
    size_t size, space;
} film;

static cm_status take_bytes(void *context, const void *bytes, size_t size) {
    film *f = context;
    if (f->size + size > f->space) {
        const size_t space = 2 * (f->size + size);
        char *grown = realloc(f->bytes, space);
        if (!grown) return cm_fail(CM_ERR_MEMORY, "%zu bytes of a moving picture do not fit into memory", space);
        f->bytes = grown, f->space = space;
    }
    memcpy(f->bytes + f->size, bytes, size);
    f->size += size;
    return CM_OK;
}

static void close_film(film *f) {
    cm_gif_destroy(f->gif);
    cm_scene_free(&f->scene);
    cm_image_free(&f->image);
    free(f->states);
    free(f->bytes);
}

/* ---- the episode ---- */

static cm_status add_frame(film *f, const cm_env_moment *moment, double total, int hundredths) {
    cm_env_draw(f->env, f->states, moment, &f->scene);
    cm_env_draw_caption(f->env, f->states, moment, total, &f->scene);
    CM_TRY(cm_scene_render(&f->scene, 1.0, &f->image));
    return cm_gif_add(f->gif, &f->image, hundredths);
}

/* What an action has led to; who moved is seen in the position before, which boards alone need. */
static cm_status step(film *f, int action, cm_env_moment *moment, double *total) {
    char *before = f->env->spec.players == 2 ? f->states + f->env->spec.state_size : NULL;
    cm_env_outcome outcome;
    if (before) memcpy(before, f->states, f->env->spec.state_size);
    CM_TRY(cm_env_step(f->env, f->states, action, &outcome));
    *moment = cm_env_moment_of(f->env, before, action, f->states);
    *total += moment->player == 0 ? outcome.reward : -outcome.reward;
    return CM_OK;
}

/* All positions of a short one, so many of a long one, its last one always. */
static cm_status play_again(film *f, uint64_t seed, const int32_t *actions, int count, const cm_stop *stop) {
    const int every = count / FRAMES + 1, usual = (int)lround(100.0 * every / cm_env_draw_rate(f->env));
    const int hundredths = usual < SLOWEST ? usual : SLOWEST;
    cm_env_moment moment = CM_ENV_NO_MOMENT;
    double total = 0.0;
    cm_env_reset(f->env, f->states, seed);
    for (int i = 0; i < count; i++) {
        if (i % every == 0) CM_TRY(add_frame(f, &moment, total, hundredths));
        if (cm_stop_asked(stop)) return cm_fail(CM_ERR_INTERRUPTED, "a moving picture was broken off");
        CM_TRY(step(f, actions[i], &moment, &total));
    }
    CM_TRY(add_frame(f, &moment, total, HOLD));
    return cm_gif_end(f->gif);
}

/* ---- of a run ---- */

static cm_status make(cm_run *run, film *f, uint64_t seed, bool is_best) {
    int count;
    const int32_t *actions = cm_evaluator_first(run->evaluator, &count);
    f->env = &run->evaluated_env;
    CM_TRY(cm_alloc(&f->states, 2, f->env->spec.state_size, "a moving picture"));
    CM_TRY(cm_gif_create(take_bytes, f, &f->gif));
    CM_TRY(play_again(f, seed, actions, count, &run->halt));
    cm_run_keep_picture(run, f->bytes, f->size, f->image.width, f->image.height);
    const cm_file_bytes gif = {f->bytes, f->size};
    return cm_episode_files_write(&run->directory.dir, cm_trainer_updates(cm_run_trainer(run)), &gif, is_best,
                                  cm_run_options_of(run)->run.evaluation_gifs);
}

void cm_run_keep_episode(cm_run *run, uint64_t seed, bool is_best) {
    film f = {.env = NULL};
    int count;
    if (!cm_run_leads(run) || run->is_passing || !cm_evaluator_first(run->evaluator, &count)) return;
    const cm_status status = make(run, &f, seed, is_best);
    close_film(&f);
    if (status == CM_OK || status == CM_ERR_INTERRUPTED) return;
    if (cm_run_directory_keeps(&run->directory) != CM_OK) return; /* which the iteration says at its end */
    if (!run->is_pictureless) cm_log(CM_WARNING, "%s; there is no picture of this evaluation", cm_error_message());
    run->is_pictureless = true;
}
