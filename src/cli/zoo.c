/* cumind zoo: the agents that come with the program, and whether they still score what they are known for. */
#include <stdio.h>

#include "cli/output.h"
#include "cli/zoo_judge.h"

/* ---- the list ---- */

static void show(const cm_zoo_agent *agent) {
    cm_cli_line(4, "zoo:%-26s %10.5g  [%g, %g]  cumind train %s", agent->name, agent->score, agent->least, agent->most,
                agent->train);
}

static void put(const cm_zoo_agent *agent, const char *folder, cm_json_writer *json) {
    cm_json_begin_object(json, NULL);
    cm_json_put_string(json, "name", agent->name);
    if (folder) cm_json_put_string(json, "run", folder);
    cm_json_put_string(json, "train", agent->train);
    cm_json_put_string(json, "eval", agent->eval);
    cm_json_put_string(json, "member", agent->member);
    cm_json_put_double(json, "score", agent->score);
    cm_json_put_double(json, "least", agent->least);
    cm_json_put_double(json, "most", agent->most);
    cm_json_end_object(json);
}

static cm_status list_json(void) {
    cm_json_writer *json = NULL;
    char folder[PATH_MAX];
    CM_TRY(cm_json_writer_create(2, &json));
    cm_json_begin_array(json, NULL);
    for (int i = 0; cm_zoo_at(i); i++)
        put(cm_zoo_at(i), cm_zoo_folder(cm_zoo_at(i), folder) == CM_OK ? folder : NULL, json);
    cm_json_end_array(json);
    return cm_cli_print(json, CM_OK);
}

static cm_status list(void) {
    char folder[PATH_MAX];
    printf("%-30s %10s  %s\n", "run", "score", "interval, and the command that made it");
    for (int i = 0; cm_zoo_at(i); i++) show(cm_zoo_at(i));
    return cm_zoo_folder(cm_zoo_at(0), folder);
}

/* ---- the check ---- */

static cm_status check(const cm_arguments *arguments, const cm_zoo_agent *agent, int *outside) {
    char folder[PATH_MAX];
    double score;
    CM_TRY(cm_zoo_folder(agent, folder));
    CM_TRY(cm_zoo_judge(arguments->program, agent, folder, &score));
    const bool is_inside = cm_zoo_is_inside(agent, score);
    *outside += !is_inside;
    cm_cli_line(4, "zoo:%-26s %10.5g  %s [%g, %g]", agent->name, score, is_inside ? "within" : "OUTSIDE", agent->least,
                agent->most);
    fflush(stdout);
    return CM_OK;
}

static cm_status check_agents(cm_arguments *arguments) {
    int outside = 0;
    for (int i = 0; arguments->positional_count == 0 && cm_zoo_at(i); i++)
        CM_TRY(check(arguments, cm_zoo_at(i), &outside));
    for (int i = 0; i < arguments->positional_count; i++) {
        const cm_zoo_agent *agent;
        CM_TRY(cm_zoo_named(arguments->positional[i], &agent));
        CM_TRY(check(arguments, agent, &outside));
    }
    arguments->verdict = outside > 0 ? CM_EXIT_OTHER : 0;
    return CM_OK;
}

static cm_status run_zoo(cm_arguments *arguments) {
    const bool is_json = cm_argument_is_set(arguments, "--json"), checks = cm_argument_is_set(arguments, "--check");
    if (checks && is_json) return cm_fail(CM_ERR_INPUT, "zoo: --json is for the list; leave it out with --check");
    if (checks) return check_agents(arguments);
    if (arguments->positional_count > 0)
        return cm_fail(CM_ERR_INPUT, "zoo: names of agents are for --check; cumind play --run zoo:%.60s plays one",
                       arguments->positional[0]);
    return is_json ? list_json() : list();
}

static const cm_flag flags[] = {
    {"--check", NULL, "Evaluate the agents NAME, or all, and exit with 1 if a score lies outside its interval."},
    CM_FLAG_JSON,
    CM_FLAGS_END,
};

const cm_command cm_command_zoo = {
    .name = "zoo",
    .about = "list the trained agents that come with the program",
    .positional = "[NAME...]",
    .details = "zoo:NAME stands for the run of an agent wherever one may stand: play, eval, ladder, search, inspect, "
               "export, and Agent in Python. The weights are of 8 bits. The score is what cumind eval gives with the "
               "arguments that --json lists; the interval is what cumind reproduce judges a retrained agent by.",
    .flags = flags,
    .examples = "  cumind play --run zoo:connect4\n"
                "  cumind zoo --check cartpole\n",
    .run = run_zoo,
};
