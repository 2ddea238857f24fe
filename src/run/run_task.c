/* The task that a run is of, in its checkpoints: an environment that was changed and built again, mostly a library of
 * the user's, is told before numbers of the old one are read into arrays of the new one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/printable.h"
#include "core/text.h"
#include "env/frame_stack.h"
#include "run/run_internal.h"
#include "run/weights.h"

enum { COUNTS = 7 };

static const char random_play[] = "random_play", rewards[] = "rewards", observations[] = "observation_means",
                  ends[] = "ends", unit[] = "observation_unit";

typedef struct count {
    const char *key, *what;
    int64_t value;
    bool of_games; /* of games that go on, weights alone do not meet it */
} count;

static void counts_of(const cm_env_spec *spec, count out[COUNTS]) {
    const count counts[COUNTS] = {
        {"actions", "number of actions", spec->actions, false},
        {"action_size", "number of numbers in an action", spec->action_size, false},
        {"players", "number of players", spec->players, false},
        {"chance_outcomes", "number of chance outcomes", spec->chance_outcomes, false},
        {"max_steps", "time limit in steps", spec->max_steps, true},
        {"max_plies", "bound on an episode's steps", spec->max_plies, true},
        {"state_size", "state's size in bytes", (int64_t)spec->state_size, true},
    };
    memcpy(out, counts, sizeof counts);
}

static void put_floats(const char *key, const float *values, int steps, cm_json_writer *json) {
    cm_json_begin_array(json, key);
    for (int i = 0; i < steps; i++) cm_json_put_float(json, NULL, values[i]);
    cm_json_end_array(json);
}

void cm_run_put_task(const cm_env_spec *spec, const cm_env_probe *probe, cm_json_writer *json) {
    count counts[COUNTS];
    counts_of(spec, counts);
    cm_json_begin_object(json, CM_STATE_TASK);
    cm_json_begin_array(json, "observation_shape");
    for (int i = 0; i < spec->rank; i++) cm_json_put_int(json, NULL, spec->shape[i]);
    cm_json_end_array(json);
    for (int i = 0; i < COUNTS; i++) cm_json_put_int(json, counts[i].key, counts[i].value);
    cm_json_put_float(json, unit, spec->observation_unit);
    cm_json_begin_object(json, random_play);
    put_floats(rewards, probe->reward, probe->steps, json);
    put_floats(observations, probe->observation, probe->steps, json);
    put_floats(ends, probe->ended, probe->steps, json);
    cm_json_end_object(json);
    cm_json_end_object(json);
}

static bool is_built_in(const cm_env *env) {
    int rows = 0;
    const cm_env_def *const *all = cm_env_registry(&rows), *own = cm_env_single_frames(env).def;
    while (rows > 0 && all[rows - 1] != own) rows--;
    return rows > 0;
}

static cm_status refuse(const cm_env *env, const char *what, const char *now, const char *before) {
    return cm_fail(CM_ERR_INPUT,
                   "%s has changed since this run began: its %s is %s, was %s; go on with the old %s, or start again",
                   env->spec.name, what, now, before,
                   is_built_in(env)     ? "cumind"
                   : env->params.python ? "Python code"
                                        : "library");
}

static cm_status check_shape(const cm_env *env, const cm_json *saved) {
    char before[64] = "[", now[64] = "[";
    int32_t extent[3] = {0, 0, 0};
    const int rank = cm_json_size(saved);
    if (rank > 3) return cm_fail(CM_ERR_INPUT, "observation_shape: must have at most 3 numbers, got %d", rank);
    CM_TRY(cm_json_ints(saved, "observation_shape", (size_t)rank, 1, INT32_MAX, extent));
    cm_text_shape(extent, rank, ", ", before + 1, sizeof before - 2);
    strcat(before, "]");
    cm_text_shape(env->spec.shape, env->spec.rank, ", ", now + 1, sizeof now - 2);
    strcat(now, "]");
    return strcmp(before, now) == 0 ? CM_OK : refuse(env, "observations' shape", now, before);
}

cm_status cm_run_check_task(const cm_env *env, const cm_json *saved, bool plays_on) {
    count counts[COUNTS];
    if (!saved) return CM_OK;
    counts_of(&env->spec, counts);
    const cm_json *shape = cm_json_get(saved, "observation_shape");
    if (shape) CM_TRY(check_shape(env, shape));
    for (int i = 0; i < COUNTS; i++) {
        const cm_json *number = cm_json_get(saved, counts[i].key);
        char now[32], before[32];
        if (!number || (counts[i].of_games && !plays_on)) continue;
        snprintf(now, sizeof now, "%lld", (long long)counts[i].value);
        snprintf(before, sizeof before, "%.0f", cm_json_number(number, -1.0));
        if (strcmp(now, before) != 0) return refuse(env, counts[i].what, now, before);
    }
    return CM_OK;
}

/* ---- as files have it ---- */

/* Bounds are those of registry.c, or wider. */
static cm_status read_spec(const cm_json *root, cm_env_spec *spec) {
    enum { LARGEST = 65536, MOST_NUMBERS = 1 << 24 };
    const cm_json *task = cm_json_get(root, CM_STATE_TASK), *shape;
    const char *name;
    int64_t actions, numbers = 0, players, outcomes;
    int32_t extent[3] = {1, 1, 1};
    CM_TRY(cm_json_need_string(root, "environment", &name));
    CM_TRY(cm_json_need(task, "observation_shape", CM_JSON_ARRAY, &shape));
    spec->rank = cm_json_size(shape);
    if (spec->rank != 1 && spec->rank != 3) return cm_fail(CM_ERR_INPUT, "observation_shape: must have 1 or 3 numbers");
    CM_TRY(cm_json_ints(shape, "observation_shape", (size_t)spec->rank, 1, LARGEST, extent));
    if ((int64_t)extent[0] * extent[1] * extent[2] > MOST_NUMBERS)
        return cm_fail(CM_ERR_INPUT, "observation_shape: must have at most %d numbers in all", MOST_NUMBERS);
    CM_TRY(cm_json_need_int(task, "actions", 1, CM_ENV_MAX_COMBINATIONS, &actions));
    CM_TRY(cm_json_need_int(task, "players", 1, 2, &players));
    CM_TRY(cm_json_need_int(task, "chance_outcomes", 0, CM_ENV_MAX_OUTCOMES, &outcomes));
    if (cm_json_get(task, "action_size")) /* newer */
        CM_TRY(cm_json_need_int(task, "action_size", 0, CM_ENV_MAX_NUMBERS, &numbers));
    const double told = cm_json_number(cm_json_get(task, unit), 0.0); /* newer, too */
    if (told > 0.0 && isfinite((float)told)) spec->observation_unit = (float)told;
    cm_printable(name, spec->name, sizeof spec->name);
    memcpy(spec->shape, extent, sizeof extent);
    spec->observation_size = extent[0] * extent[1] * extent[2];
    spec->actions = (int)actions, spec->action_size = (int)numbers;
    spec->players = (int)players, spec->chance_outcomes = (int)outcomes;
    return CM_OK;
}

static cm_status load_task(void *context, cm_checkpoint_reader *reader) {
    cm_json_doc *state = NULL;
    CM_TRY(cm_checkpoint_get_json(reader, CM_FILE_STATE, &state));
    const cm_json *root = cm_json_root(state);
    const bool says_it = cm_json_get(root, CM_STATE_TASK) != NULL;
    cm_status status = says_it ? read_spec(root, context)
                               : cm_fail(CM_ERR_INPUT, "is of before checkpoints told of their environment; open that, "
                                                       "with --set env_name=PATH");
    cm_json_free(state);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "%s", CM_FILE_STATE);
}

cm_status cm_run_read_task(const char *run, int64_t checkpoint, cm_env_spec *spec) {
    cm_checkpoint_store *store = NULL;
    const cm_checkpoint_part part = {.name = "the task", .context = spec, .load = load_task};
    memset(spec, 0, sizeof *spec);
    CM_TRY(cm_checkpoint_store_create(run, 1, NULL, &store));
    cm_status status = cm_checkpoint_load(store, checkpoint, &part, 1, NULL);
    cm_checkpoint_store_destroy(store);
    return status;
}

/* ---- going on ---- */

static cm_status read_floats(const cm_json *play, const char *key, const cm_env_probe *probe, float *out) {
    return cm_json_floats(cm_json_get(play, key), key, (size_t)probe->steps, out);
}

/* Rewards and rules that have changed fit all arrays. */
static cm_status warn_of_play(const cm_run *run, const cm_json *play) {
    cm_env_probe before = {0};
    char how[160];
    const size_t steps = cm_json_count_numbers(cm_json_get(play, rewards));
    before.steps = steps < CM_ENV_PROBE_STEPS ? (int)steps : CM_ENV_PROBE_STEPS;
    CM_TRY(read_floats(play, rewards, &before, before.reward));
    CM_TRY(read_floats(play, observations, &before, before.observation));
    CM_TRY(read_floats(play, ends, &before, before.ended));
    cm_env_probe_compare(&run->probe, &before, how, sizeof how);
    if (how[0])
        cm_log(
            CM_WARNING,
            "%s has changed since these games were played: %s; what was learnt from them may mislead: start again, or "
            "with the weights alone (--init-from)",
            run->session->env.spec.name, how);
    return CM_OK;
}

cm_status cm_run_meet_task(const cm_run *run, const cm_json *saved) {
    const cm_json *play = saved ? cm_json_get(saved, random_play) : NULL;
    return play && cm_run_leads(run) ? warn_of_play(run, play) : CM_OK;
}
