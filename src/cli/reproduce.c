/* cumind reproduce: trains an agent of the zoo again and judges it by the interval of its score. */
#include <stdio.h>

#include "cli/output.h"
#include "cli/zoo_judge.h"
#include "core/file.h"
#include "core/printable.h"

static cm_status train(const cm_arguments *arguments, const cm_zoo_agent *agent, const char *folder) {
    int status = 0;
    printf("cumind train %s --run %s\n", agent->train, CM_PRINTABLE(folder));
    CM_TRY(cm_zoo_run(arguments->program, "train", agent->train, folder, NULL, &status));
    if (status == 0) return CM_OK;
    return cm_fail(CM_ERR_STATE, "reproduce %s: train has ended with status %d", agent->name, status);
}

static cm_status judge(cm_arguments *arguments, const cm_zoo_agent *agent, const char *folder) {
    double score;
    printf("cumind eval --run %s %s\n", CM_PRINTABLE(folder), agent->eval);
    CM_TRY(cm_zoo_judge(arguments->program, agent, folder, &score));
    const bool is_inside = cm_zoo_is_inside(agent, score);
    cm_cli_line(4, "%s: %s %g %s the interval [%g, %g]; that of zoo:%s is %g",
                is_inside ? "reproduced" : "NOT REPRODUCED", agent->member, score,
                is_inside ? "lies within" : "lies outside", agent->least, agent->most, agent->name, agent->score);
    arguments->verdict = is_inside ? 0 : CM_EXIT_OTHER;
    return CM_OK;
}

static cm_status run_reproduce(cm_arguments *arguments) {
    const cm_zoo_agent *agent;
    char own[PATH_MAX];
    if (arguments->positional_count == 0)
        return cm_fail(CM_ERR_INPUT, "reproduce: needs the NAME of an agent; cumind zoo lists them");
    CM_TRY(cm_zoo_named(arguments->positional[0], &agent));
    snprintf(own, sizeof own, "%s.reproduced", agent->name);
    const char *folder = cm_argument_is_set(arguments, "--run") ? cm_argument(arguments, "--run") : own;
    if (cm_file_is_named(folder))
        return cm_fail(CM_ERR_INPUT, "%s: is there already; choose another folder with --run DIR", folder);
    CM_TRY(train(arguments, agent, folder));
    return judge(arguments, agent, folder);
}

static const cm_flag flags[] = {
    {"--run", "DIR", "The folder of the new run, which is not there yet; without it NAME.reproduced here."},
    CM_FLAGS_END,
};

const cm_command cm_command_reproduce = {
    .name = "reproduce",
    .about = "train an agent of the zoo again and judge it by its interval",
    .positional = "NAME",
    .details = "Runs the two commands that made the agent and its score, and prints them. Exits with 1 if the score "
               "lies outside the interval. Processors round sums in orders of their own, so the new agent is another "
               "one, of the same strength.",
    .flags = flags,
    .examples = "  cumind reproduce cartpole\n",
    .run = run_reproduce,
};
