/* cumind environments: what can be trained on. */
#include <math.h>
#include <stdio.h>

#include "cli/output.h"
#include "cli/view.h"
#include "core/text.h"
#include "env/env.h"

enum { TABLE = 62, ABOUT = 57 }; /* columns in front of what a task is about, and of the longest such text */

static bool is_narrow(const cm_view *view) { return view->tty && view->columns < TABLE + ABOUT; }

/* Not even the numbers have space. */
static bool is_tiny(const cm_view *view) { return view->tty && view->columns < TABLE; }

/* One line, or on a narrow terminal two. */
static void show(const cm_env *env, const cm_view *view) {
    const cm_env_spec *spec = &env->spec;
    char shape[48], goal[16] = "-", sizes[48] = "";
    cm_text_shape(spec->shape, spec->rank, "x", shape, sizeof shape);
    if (isfinite(spec->reward_threshold)) snprintf(goal, sizeof goal, "%g", spec->reward_threshold);
    if (env->def->max_size > 0) {
        snprintf(sizes, sizeof sizes, "; n: %d to %d", env->def->min_size, env->def->max_size);
    }
    char row[128];
    if (is_tiny(view)) {
        snprintf(row, sizeof row, "%-24s %7d %6s", spec->name, spec->actions, goal);
    } else {
        snprintf(row, sizeof row, "%-24s %7d %7d %11s %6s", spec->name, spec->players, spec->actions, shape, goal);
    }
    printf("%s%s", row, is_narrow(view) ? "\n" : "");
    cm_cli_line(4, "%s%s%s", is_narrow(view) ? "    " : "  ", env->def->about, sizes);
}

static void put_json(const cm_env *env, cm_json_writer *json) {
    const cm_env_spec *spec = &env->spec;
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "name", spec->name);
    cm_json_put_string(json, "about", env->def->about);
    cm_json_put_int(json, "players", spec->players);
    cm_json_put_int(json, "actions", spec->actions);
    cm_json_begin_array(json, "observation_shape");
    for (int i = 0; i < spec->rank; i++) cm_json_put_int(json, NULL, spec->shape[i]);
    cm_json_end_array(json);
    cm_json_put_int(json, "max_steps", spec->max_steps);
    if (isfinite(spec->reward_threshold)) cm_json_put_double(json, "goal_return", spec->reward_threshold);
    if (env->def->max_size > 0) {
        cm_json_put_int(json, "min_size", env->def->min_size);
        cm_json_put_int(json, "max_size", env->def->max_size);
    }
    cm_json_end_object(json);
}

/* Every row of the registry in its default size; `json` NULL: a table. */
static cm_status list(cm_json_writer *json, const cm_view *view) {
    int count;
    const cm_env_def *const *rows = cm_env_registry(&count);
    for (int i = 0; i < count; i++) {
        cm_env env;
        CM_TRY(cm_env_open(&env, rows[i]->name, NULL));
        if (json) {
            put_json(&env, json);
        } else {
            show(&env, view);
        }
    }
    return CM_OK;
}

static cm_status run_environments(cm_arguments *arguments) {
    const cm_view view = cm_view_of_stdout(arguments);
    if (!cm_argument_is_set(arguments, "--json")) {
        if (is_tiny(&view)) {
            printf("%-24s %7s %6s\n", "env_name", "actions", "goal");
        } else {
            printf("%-24s %7s %7s %11s %6s%s\n", "env_name", "players", "actions", "observation", "goal",
                   is_narrow(&view) ? "" : "  about");
        }
        return list(NULL, &view);
    }
    cm_json_writer *json;
    CM_TRY(cm_json_writer_create(2, &json));
    cm_json_begin_array(json, NULL);
    cm_status status = list(json, &view);
    cm_json_end_array(json);
    return cm_cli_print(json, status);
}

static const cm_flag flags[] = {CM_FLAG_JSON, CM_FLAGS_END};

const cm_command cm_command_environments = {
    .name = "environments",
    .about = "list the games and control tasks",
    .positional = "",
    .details =
        "A name is a value of env_name. The goal is the mean return that counts as solved, where there is one. "
        "What has several sizes takes one behind its name: hex7, glide3. The path of a file of your own, "
        "./grid.so (a library in C) or ./grid.py, is an environment, too, gymnasium:LunarLander-v3 one that "
        "Python's gymnasium knows, and atari:Pong a game that Python's ale-py brings (docs/ADDING_AN_ENVIRONMENT.md).",
    .flags = flags,
    .examples = "  cumind environments\n"
                "  cumind train --set env_name=Catch    # names may be in capitals or not\n",
    .run = run_environments,
};
