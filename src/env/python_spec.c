#include "env/python_spec.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/arena.h"

static cm_status read_shape(const cm_json *shape, cm_env_spec *spec) {
    enum { LARGEST = 65536, MOST_NUMBERS = 1 << 24 }; /* what registry.c allows */
    int32_t extent[3] = {1, 1, 1};
    const int rank = cm_json_size(shape);
    if (rank < 1 || rank > 3)
        return cm_fail(CM_ERR_INPUT, "its observations have %d dimensions; must be 1 to 3: wrap it so that they do",
                       rank);
    CM_TRY(cm_json_ints(shape, "the shape of its observations", (size_t)rank, 1, LARGEST, extent));
    const long long numbers = (long long)extent[0] * extent[1] * extent[2];
    if (numbers > MOST_NUMBERS)
        return cm_fail(CM_ERR_INPUT, "its observations have %lld numbers; at most %d are possible", numbers,
                       MOST_NUMBERS);
    memcpy(spec->shape, extent, sizeof extent);
    spec->rank = rank == 1 ? 1 : 3; /* [height, width] is one channel */
    spec->observation_size = (int)numbers;
    return CM_OK;
}

static cm_status read_names(cm_python_spec *e, const cm_json *names) {
    if (cm_json_size(names) == 0) return CM_OK;
    if (cm_json_size(names) != e->spec.actions)
        return cm_fail(CM_ERR_INPUT, "it has %d action_names, but %d actions", cm_json_size(names), e->spec.actions);
    CM_TRY(cm_alloc(&e->action_names, (size_t)e->spec.actions, sizeof *e->action_names, "names of actions"));
    char(*next)[CM_PYTHON_NAME] = e->action_names;
    for (const cm_json *name = cm_json_first(names); name; name = cm_json_next(name)) {
        if (cm_json_check(name, CM_JSON_STRING) != CM_OK) return cm_fail_in(CM_ERR_INPUT, "a name of its action_names");
        snprintf(*next++, CM_PYTHON_NAME, "%s", cm_json_string(name));
    }
    return CM_OK;
}

/* Values of each of the numbers of an action: as many as CM_ENV_MAX_COMBINATIONS leaves, at most three of many. */
static int bins_of(int numbers) {
    enum { BINS_ALONE = 11, BINS_OF_TWO = 5, BINS_OF_MORE = 3, MOST_WITH_THESE = 15, BINS_OF_MOST = 2 };
    if (numbers <= 2) return numbers == 1 ? BINS_ALONE : BINS_OF_TWO;
    return numbers <= MOST_WITH_THESE ? BINS_OF_MORE : BINS_OF_MOST;
}

/* Its screens, if it has some, are no smaller than its observations, of as many channels. */
static cm_status read_screen(const cm_json *screen, cm_python_spec *e) {
    enum { LARGEST = 512 }; /* what env/area.h resizes */
    const int *shape = e->spec.shape;
    if (!screen) return CM_OK;
    CM_TRY(cm_json_ints(screen, "its screens", 3, 1, LARGEST, e->screen));
    if (e->screen[2] == shape[2] && e->screen[0] >= shape[0] && e->screen[1] >= shape[1]) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "screens of %d x %d x %d are not made pictures of %d x %d x %d of", e->screen[0],
                   e->screen[1], e->screen[2], shape[0], shape[1], shape[2]);
}

cm_status cm_python_spec_read(const cm_json *root, cm_python_spec *e) {
    cm_env_spec *spec = &e->spec;
    const cm_json *shape;
    int64_t actions, players, max_steps, frames, angles = 0;
    CM_TRY(cm_json_need(root, "shape", CM_JSON_ARRAY, &shape));
    CM_TRY(read_shape(shape, spec));
    CM_TRY(read_screen(cm_json_get(root, "screen"), e));
    const bool is_continuous = cm_json_is_true(cm_json_get(root, "continuous"));
    CM_TRY(cm_json_need_int(root, "actions", 1, is_continuous ? CM_ENV_MAX_NUMBERS : CM_ENV_MAX_ACTIONS, &actions));
    CM_TRY(cm_json_need_int(root, "players", 1, 2, &players));
    CM_TRY(cm_json_need_int(root, "max_steps", 0, CM_PYTHON_STEPS, &max_steps));
    CM_TRY(cm_json_need_int(root, "frames", 1, CM_ENV_MAX_FRAMES, &frames));
    if (cm_json_get(root, "angles"))
        CM_TRY(cm_json_need_int(root, "angles", 0, (1 << CM_ENV_MAX_NUMBERS) - 1, &angles));
    spec->observation_unit = (float)cm_json_number(cm_json_get(root, "unit"), 0.0);
    spec->players = (int)players, spec->max_steps = (int)max_steps;
    spec->discount = players == 2 ? 1.0 : 0.997;
    spec->reward_low = -HUGE_VAL, spec->reward_high = HUGE_VAL;
    spec->reward_threshold = cm_json_number(cm_json_get(root, "reward_threshold"), (double)NAN);
    spec->symmetries = 1;
    spec->frames = (int)frames;
    spec->truncates = spec->replays = true;
    if (is_continuous) {
        spec->action_size = (int)actions, spec->action_low = -1.0f, spec->action_high = 1.0f;
        spec->action_bins = bins_of((int)actions);
        spec->angles = (uint32_t)angles;
    } else {
        spec->actions = (int)actions;
    }
    e->has_mask = !is_continuous && cm_json_is_true(cm_json_get(root, "mask"));
    e->shows = cm_json_is_true(cm_json_get(root, "shows"));
    return is_continuous ? CM_OK : read_names(e, cm_json_get(root, "action_names"));
}
