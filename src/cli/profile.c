/* cumind profile: measures a short training of a configuration, and says which keys to change. */
#include "cli/profile.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/resolve.h"
#include "cli/ticker.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/log.h"
#include "core/temporary.h"
#include "env/python.h"

#define BASE_SECONDS 4.0 /* of the training whose stages are shown */

static cm_stop stop;

static void on_signal(int number) {
    (void)number;
    cm_stop_ask(&stop);
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (signal(SIGHUP, SIG_IGN) != SIG_IGN) sigaction(SIGHUP, &action, NULL); /* under nohup it stays ignored */
    cm_env_heed(&stop);
}

/* As many steps as a quarter of a second takes, of those that are configured: then even slow tasks have several
 * iterations in a few seconds. */
static cm_status choose_steps(cm_profile *p) {
    const int configured = p->configuration->agent.steps_per_iteration;
    cm_profile_rate probe;
    p->steps = 1;
    CM_TRY(cm_profile_measure(p, 0.1, 0, &probe));
    const double each = probe.seconds / (double)probe.iterations;
    p->steps = p->steps_before = (int)fmin(configured, fmax(1.0, 0.25 / each));
    p->environments_before = p->configuration->env.num_envs;
    return CM_OK;
}

/* On a device calls are launched one by one where they are timed: stages are those of a training that is not. */
static cm_status measure_base(cm_profile *p) {
    cm_profile_rate slowed;
    if (!p->is_device) return cm_profile_measure(p, p->pace * BASE_SECONDS, CM_WATCH_STAGES | CM_WATCH_CALLS, &p->base);
    CM_TRY(cm_profile_measure(p, p->pace * BASE_SECONDS, CM_WATCH_STAGES, &p->base));
    return cm_profile_measure(p, p->pace * BASE_SECONDS, CM_WATCH_CALLS, &slowed);
}

static cm_status measure(cm_profile *p) {
    CM_TRY(cm_profile_fill(p));
    CM_TRY(choose_steps(p));
    CM_TRY(measure_base(p));
    CM_TRY(cm_roofs_measure(p->configuration, 0.25 * p->pace, &p->roofs));
    cm_roofs_raise(&p->roofs, &p->operations);
    CM_TRY(cm_profile_ladder(p));
    if (p->is_device) CM_TRY(cm_profile_graphs(p));
    if (!p->has_advice) return CM_OK;
    CM_TRY(cm_profile_sweep(p));
    return cm_profile_advise(p);
}

/* Nothing is written into the user's folders, and nothing that the measurements warn of concerns a run. */
static cm_status measure_apart(cm_profile *p, double seconds, const cm_arguments *arguments) {
    static cm_ticker ticker;
    static char what[64];
    CM_TRY(cm_temporary_folder("profile", p->folder));
    cm_log_set_level(CM_ERROR);
    snprintf(what, sizeof what, "trainings measured of at most %.0fs", seconds);
    cm_ticker_begin(&ticker, arguments, 5.0, what, NULL, 0);
    p->tally = &ticker.tally;
    cm_status status = measure(p);
    cm_ticker_end(&ticker);
    cm_log_set_level(CM_INFO);
    const cm_status removed = cm_dir_remove(NULL, p->folder);
    return status == CM_OK ? removed : status;
}

static cm_status show(const cm_profile *p, const cm_arguments *arguments) {
    const char *page = cm_argument(arguments, "--html");
    if (page) CM_TRY(cm_profile_write_page(p, page));
    if (cm_argument_is_set(arguments, "--json")) return cm_profile_print_json(p);
    cm_profile_print(p);
    if (page) cm_cli_line(0, "\n%s: the same with pictures", page);
    return CM_OK;
}

static cm_status configure(cm_arguments *arguments, cm_configuration *configuration, cm_config **config) {
    const char *run = cm_argument(arguments, "--run");
    if (!run) return cm_cli_configuration(arguments, configuration, config);
    return cm_cli_run_configuration(arguments, run, configuration, config);
}

/* Before anything is measured. */
static cm_status check(const cm_profile *p, const char *page) {
    cm_file_writer *probe;
    if (page) {
        CM_TRY(cm_file_begin(page, &probe));
        cm_file_abandon(probe);
    }
    if (p->configuration->agent.collect) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "profile: collect=false acts in no environment; profile the run that played the games");
}

static cm_status run_profile(cm_arguments *arguments) {
    static cm_profile p; /* large */
    static cm_configuration configuration;
    double seconds = 60.0;
    p = (cm_profile){
        .stop = &stop, .program = arguments->program, .has_advice = !cm_argument_is_set(arguments, "--no-advice")};
    CM_TRY(cm_argument_seconds(arguments, "--seconds", &seconds));
    if (seconds < 1.0) return cm_fail(CM_ERR_INPUT, "--seconds: a profile takes a second at least");
    p.until = cm_clock_seconds() + seconds;
    p.pace = fmin(1.0, seconds / 45.0);
    catch_signals();
    CM_TRY(cm_cli_resolve_name(arguments));
    CM_TRY(configure(arguments, &configuration, &p.config));
    p.configuration = &configuration;
    cm_status status = check(&p, cm_argument(arguments, "--html"));
    if (status == CM_OK) status = measure_apart(&p, seconds, arguments);
    if (status == CM_OK) status = show(&p, arguments);
    free(p.sweep);
    free(p.ladder);
    free(p.advice);
    cm_config_destroy(p.config);
    return status;
}

static const cm_flag flags[] = {
    CM_FLAGS_CONFIGURATION,
    CM_FLAG_ENV,
    {"--run", "DIR", "Profile the configuration of this run."},
    CM_FLAGS_MACHINE,
    {"--seconds", "TIME", "What is not measured after this time is left out, and named; default 60s."},
    {"--no-advice", NULL, "Stages, operations and precisions alone, in a fifth of the time."},
    {"--html", "FILE", "Also write a page with roofline, timeline and sweeps; it needs no network."},
    {"--json", NULL, "Print JSON: stages, operations, sweeps, ladder, memory, advice."},
    CM_FLAGS_END,
};

const cm_command cm_command_profile = {
    .name = "profile",
    .about = "say what a training spends its time on, and which keys to change",
    .positional = "[NAME]",
    .details =
        "NAME is an environment or a recipe, as of train. Trains in a temporary folder, again and again for about a "
        "second, and changes nothing of yours. Shows the "
        "stages of an iteration, whose shares add up to its wall time; operations with their rates and the share of "
        "what this machine could do, by products or by copies; the network in every precision; and how fast training "
        "is with other values of the keys that matter, the knee named.\n\n"
        "Advice is at most five lines. Each was applied on top of those before it and measured again, interleaved "
        "with the run without it; its gain is in environment steps per second of acting and learning together. What "
        "gains less than a tenth is not advised. num_simulations is only shown, as fewer make play weaker; batch_size "
        "changes what is learnt from as many positions.\n\n"
        "On a GPU stages are those of a training as it is, and operations those of a second one that launches them one "
        "by one.",
    .flags = flags,
    .examples = "  cumind profile connect4 --html profile.html\n"
                "  cumind profile cartpole --set num_envs=64 --json\n",
    .run = run_profile,
    .fits_task = true,
};
