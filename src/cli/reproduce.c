/* cumind reproduce: trains an agent of the zoo again and judges it by the interval of its score. */
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/zoo_judge.h"
#include "core/file.h"
#include "core/printable.h"
#include "run/directory.h"
#include "run/summary.h"

/* A training that was asked to stop has saved, and ends well. */
static cm_status check_end(const cm_zoo_agent *agent, const char *folder) {
    cm_run_summary summary;
    CM_TRY(cm_run_summary_read(folder, false, true, &summary));
    if (strcmp(summary.state, "finished") == 0) return CM_OK;
    return cm_fail(CM_ERR_INTERRUPTED,
                   "the training was stopped before its end; cumind reproduce %s --resume %s goes on", agent->name,
                   folder);
}

/* Of a run that is there `train` refuses what its configuration and the agent's command do not have in common. */
static cm_status train(const cm_arguments *arguments, const cm_zoo_agent *agent, const char *folder, bool goes_on) {
    char words[256];
    int status = 0;
    snprintf(words, sizeof words, "%s%s", goes_on ? "--config " : "", agent->train);
    const cm_zoo_command command = {arguments->program, "train", words, goes_on ? "--resume" : "--run", folder};
    printf("cumind train %s %s %s\n", words, command.flag, CM_PRINTABLE(folder));
    CM_TRY(cm_zoo_run(&command, NULL, &status));
    if (status == 0) return check_end(agent, folder);
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
    const char *old = cm_argument(arguments, "--resume"), *given = cm_argument(arguments, "--run");
    const char *folder = old ? old : given ? given : own;
    if (old && given) return cm_fail(CM_ERR_INPUT, "reproduce: give either --run or --resume");
    if (old) CM_TRY(cm_run_directory_check(old));
    if (!old && cm_file_is_named(folder))
        return cm_fail(CM_ERR_INPUT,
                       "%s: is there already; choose another folder with --run DIR, or go on with "
                       "--resume %s",
                       folder, folder);
    CM_TRY(train(arguments, agent, folder, old != NULL));
    return judge(arguments, agent, folder);
}

static const cm_flag flags[] = {
    {"--run", "DIR", "The folder of the new run, which is not there yet; without it NAME.reproduced here."},
    {"--resume", "DIR", "Go on with a training that was stopped."},
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
    .examples = "  cumind reproduce cartpole\n"
                "  cumind reproduce cartpole --resume cartpole.reproduced    # after Ctrl-C\n",
    .run = run_reproduce,
};
