#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/resolve.h"
#include "cli/seed_jobs.h"
#include "cli/watch.h"
#include "core/busy.h"
#include "core/cpu.h"
#include "core/crash.h"
#include "core/log.h"
#include "core/patient.h"
#include "core/terminal.h"
#include "core/trace.h"
#include "device/cuda/driver.h"
#include "distributed/launch.h"
#include "env/env.h"
#include "env/python.h"
#include "env/trust.h"
#include "run/checkpoint.h"
#include "run/directory.h"
#include "run/ranks.h"
#include "run/recipe.h"
#include "run/run.h"

/* ---- signals: the first asks the run to stop, a second SIGINT or SIGTERM ends the process at once and says what it
 * was in; batch systems repeat theirs ---- */

static cm_stop stop;
static cm_cli_ranks ranks;      /* that train */
static int output_error;        /* why a line of a run could not be printed; 0: all were */
static bool has_left;           /* an environment that hangs */
static char last_run[PATH_MAX]; /* folder of the run that was trained last */
static cm_seed_place place;     /* of this process next to those of other seeds */
static double began;            /* of the program: --time covers what is before its first run, too */

static char ending[128]; /* what the first ctrl-C is answered, below its own sign */

static void on_signal(int number, siginfo_t *info, void *context) {
    static const char heard[] = CM_LAUNCH_HEARD "\n";
    (void)info;
    static cm_stop people; /* of these two signals: they mean it when they ask again */
    const bool is_first = !cm_stop_asked(&people);
    if (number == SIGINT || number == SIGTERM) {
        if (cm_stop_is_urged(&people)) {
            if (cm_patient_pass(number)) return; /* it says where it is */
            cm_crash_say_where(context);
            _exit(128 + number);
        }
        cm_stop_ask(&people);
    }
    cm_stop_ask(&stop);
    if (number == SIGUSR1 && ranks.comm.size > 1 && ranks.comm.rank == 0 &&
        write(STDERR_FILENO, heard, sizeof heard - 1) < 0)
        return;
    if (number == SIGINT && is_first && write(STDERR_FILENO, ending, strlen(ending)) < 0) return;
}

/* SIGUSR1 is what a launcher tells all ranks by; the last ones are those by which batch systems tell that the time is
 * over. */
static void catch_signals(void) {
    static const int requests[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
    ending[0] = '\n';
    cm_terminal_fold("ending where it is, then saving; again to end at once", cm_terminal_of(STDERR_FILENO).columns, 4,
                     ending + 1, sizeof ending - 1);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) sigaction(requests[i], &action, NULL);
    if (signal(SIGHUP, SIG_IGN) != SIG_IGN) sigaction(SIGHUP, &action, NULL); /* under nohup it stays ignored */
    signal(SIGPIPE, SIG_IGN);                                                 /* a closed pipe must not end a run */
    cm_env_heed(&stop);
    cm_watch_begin("train", &stop);
}

/* ---- one run ---- */

/* What was trained with goes on, and is evaluated, without being named again. */
static void remember(const char *env_name) {
    if (cm_env_trust_remember(env_name) != CM_OK)
        cm_log(CM_WARNING, "%s; other commands will need --set env_name=%s", cm_error_message(), env_name);
}

static cm_status train_once(const cm_run_request *request, cm_run_result *result) {
    cm_run *run = NULL;
    const cm_status opened = cm_run_open(request, &run);
    if (opened != CM_OK && cm_stop_asked(&stop))
        return cm_fail(CM_ERR_INTERRUPTED, "train: interrupted while it began: %s", cm_error_message());
    CM_TRY(opened);
    if (ranks.comm.rank == 0) remember(request->configuration->env.env_name);
    cm_status status = cm_run_train(run, result);
    has_left |= cm_run_is_left(run);
    if (status == CM_OK) snprintf(last_run, sizeof last_run, "%s", result->directory);
    cm_run_close(run);
    result->directory = NULL;
    return status;
}

/* That of the environment which the command line names is taken; of another's there is word. */
static void say_recipe(cm_progress *progress, const cm_config *config, const char *env_name) {
    const cm_recipe *other = cm_config_is_chosen(config, "env_name") ? cm_recipe_for(env_name) : NULL;
    const char *own = cm_config_recipe(config);
    const bool is_short = cm_progress_is_narrow(progress); /* its name, or the reasons for it */
    int most = (int)(is_short ? strcspn(own, ":(") : strlen(own));
    while (most > 0 && own[most - 1] == ' ') most--;
    if (*own) {
        cm_progress_say(progress, "recipe    %.*s", most, own);
    } else if (other) {
        cm_progress_say(progress, "recipe    there is one for this task: --config %s", other->name);
    }
}

/* `interval`: of lines where nothing is redrawn. */
static cm_status open_progress(const cm_arguments *arguments, double interval, cm_progress **out) {
    cm_progress_style style = cm_cli_style(arguments);
    style.interval = place.interval > 0.0 ? place.interval : interval;
    style.columns = place.columns;
    style.verbose = cm_argument_is_set(arguments, "--verbose");
    if (ranks.comm.size > 1 && !cm_terminal_is_lent()) style.tty = style.colour = false; /* one of the launcher's own */
    if (ranks.comm.rank > 0) style.quiet = true, style.json = false;
    CM_TRY(cm_progress_create(&style, out));
    cm_progress_watch(*out);
    return CM_OK;
}

/* The environment is opened and played for it, which may take a while. */
static cm_status configure(const cm_arguments *arguments, cm_configuration *configuration, cm_config **config) {
    cm_progress *progress = NULL;
    CM_TRY(open_progress(arguments, 5.0, &progress));
    const cm_status status = cm_cli_configuration(arguments, configuration, config);
    cm_progress_destroy(progress);
    return status;
}

static cm_status train_with(cm_arguments *arguments, const cm_run_request *request, cm_run_result *result) {
    cm_progress *progress = NULL;
    CM_TRY(open_progress(arguments, request->configuration->run.log_interval, &progress));
    if (!request->resume && !cm_argument_is_set(arguments, "--config"))
        say_recipe(progress, request->config, request->configuration->env.env_name);
    cm_run_request with_progress = *request;
    with_progress.comm = &ranks.comm;
    with_progress.progress = progress;
    with_progress.program = arguments->program;
    with_progress.began = began;
    began = 0.0;
    cm_status status = train_once(&with_progress, result);
    if (output_error == 0) output_error = cm_progress_error(progress);
    cm_progress_destroy(progress);
    return status;
}

/* ---- resume ---- */

static cm_status resume_with(cm_arguments *arguments, const char *run, const cm_config *before, cm_run_result *result) {
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_run_request request = {.directory = run,
                              .resume = true,
                              .checkpoint = CM_CHECKPOINT_LATEST,
                              .overwrite = cm_argument_is_set(arguments, "--overwrite"),
                              .drop_damaged = cm_argument_is_set(arguments, "--drop-damaged"),
                              .stop = &stop};
    if (cm_argument_is_set(arguments, "--checkpoint")) {
        CM_TRY(cm_cli_checkpoint(arguments, &request.checkpoint));
    } else if (request.overwrite) {
        return cm_fail(CM_ERR_INPUT, "--overwrite: goes together with --checkpoint");
    }
    CM_TRY(cm_cli_run_configuration(arguments, run, &configuration, &config));
    cm_status status = cm_run_check_changes(before, config);
    request.config = config;
    request.configuration = &configuration;
    if (status == CM_OK) status = train_with(arguments, &request, result);
    cm_config_destroy(config);
    return status;
}

static cm_status resume(cm_arguments *arguments, const char *run) {
    static const char *const others[] = {"--run", "--init-from", "--replay-from", "--seeds", "--env"};
    if (arguments->positional_count > 0)
        return cm_fail(CM_ERR_INPUT, "--resume goes on with a run: %.100s belongs to a new one",
                       arguments->positional[0]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (cm_argument_is_set(arguments, others[i])) {
            return cm_fail(CM_ERR_INPUT, "--resume goes on with a run: %s belongs to new ones", others[i]);
        }
    }
    cm_arguments bare = {.command = arguments->command, .is_mute = true};
    cm_configuration configuration;
    cm_config *before = NULL;
    cm_run_result result;
    CM_TRY(cm_cli_run_configuration(&bare, run, &configuration, &before));
    cm_status status = resume_with(arguments, run, before, &result);
    cm_config_destroy(before);
    return status;
}

/* ---- several seeds ---- */

/* A new run, of a seed of --seeds or, NULL, of the one that is configured. */
static cm_status train_new(cm_arguments *arguments, cm_seed *seed, cm_run_result *result) {
    char text[32], folder[PATH_MAX];
    cm_configuration configuration;
    cm_config *config = NULL;
    const char *directory = cm_argument(arguments, "--run");
    if (seed && directory) {
        CM_TRY(cm_seeds_folder(directory, seed->seed, folder));
        directory = folder;
    }
    const char *from = cm_argument(arguments, "--init-from"), *games = cm_argument(arguments, "--replay-from");
    if (from) CM_TRY(cm_recipe_advise_run(from));
    if (games) CM_TRY(cm_recipe_advise_run(games));
    CM_TRY(configure(arguments, &configuration, &config));
    if (seed) snprintf(text, sizeof text, "%lld", (long long)seed->seed);
    cm_status status = seed ? cm_config_assign(config, "seed", text, "--seeds") : CM_OK;
    cm_run_request request = {
        .config = config,
        .configuration = &configuration,
        .directory = directory,
        .checkpoint = CM_CHECKPOINT_LATEST,
        .init_from = from,
        .replay_from = games,
        .space = place.space,
        .stop = &stop,
    };
    if (status == CM_OK) status = train_with(arguments, &request, result);
    cm_config_destroy(config);
    return status;
}

static cm_status train_one_of(cm_arguments *arguments, cm_seed *seed) {
    seed->is_begun = true;
    CM_TRY(train_new(arguments, seed, &seed->result));
    seed->is_made = true;
    snprintf(seed->folder, sizeof seed->folder, "%s", last_run);
    return CM_OK;
}

/* In this process, one after another: the ranks have all processors, and a trace is of one process. */
static cm_status train_in_turn(cm_arguments *arguments, cm_seeds *seeds) {
    bool is_asked = false;
    for (int i = 0; i < seeds->count && !is_asked; i++) {
        CM_TRY(train_one_of(arguments, &seeds->row[i]));
        is_asked = cm_stop_asked(&stop);
        CM_TRY(cm_ranks_any(&ranks.comm, &is_asked));
    }
    if (ranks.comm.rank == 0) cm_seeds_say(arguments, seeds);
    return CM_OK;
}

/* As many as there are processors for the threads of each; a GPU is not shared. */
static cm_status count_at_once(const cm_arguments *arguments, int *out) {
    cm_configuration configuration;
    cm_config *config;
    cm_arguments mute = *arguments;
    mute.is_mute = true; /* the run of the seed will warn */
    CM_TRY(cm_cli_configuration(&mute, &configuration, &config));
    cm_config_destroy(config);
    const cm_run_options *o = &configuration.run;
    const int threads = o->threads > 0 ? (int)o->threads : 1, most = cm_cpu_count() / threads;
    const bool is_host = o->backend == CM_BACKEND_CPU || o->backend == CM_BACKEND_REF ||
                         o->device_type == CM_DEVICE_TYPE_CPU || !cm_cuda_is_expected();
    *out = is_host && most > 1 ? most : 1;
    return CM_OK;
}

static cm_status train_apart(cm_arguments *arguments, cm_seeds *seeds) {
    cm_seed *own;
    int at_once;
    CM_TRY(cm_seed_jobs_ask(count_at_once, arguments, &at_once));
    CM_TRY(cm_seed_jobs_run(arguments, seeds, at_once < seeds->count ? at_once : seeds->count, &own, &place));
    if (own) {
        began = cm_clock_seconds(); /* each seed has the time for itself */
        catch_signals();
        cm_seed_jobs_heed();
        CM_TRY(train_one_of(arguments, own));
        cm_seed_jobs_hand_in(own);
        return CM_OK;
    }
    cm_seeds_say(arguments, seeds);
    return cm_seeds_verdict(seeds);
}

static bool is_apart(const cm_arguments *arguments) {
    return cm_argument_is_set(arguments, "--seeds") && ranks.comm.size == 1 &&
           !cm_argument_is_set(arguments, "--trace");
}

static cm_status train_seeds(cm_arguments *arguments, const char *text) {
    static cm_seeds seeds;
    CM_TRY(cm_seeds_parse(text, &seeds));
    CM_TRY(cm_seeds_check_folders(cm_argument(arguments, "--run"), &seeds));
    return is_apart(arguments) ? train_apart(arguments, &seeds) : train_in_turn(arguments, &seeds);
}

/* ---- the command ---- */

static cm_status dispatch(cm_arguments *arguments) {
    const char *run = cm_argument(arguments, "--resume"), *seeds = cm_argument(arguments, "--seeds");
    cm_run_result result;
    if (run) return resume(arguments, run);
    static const char *const others[] = {"--checkpoint", "--overwrite", "--drop-damaged"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cm_argument_is_set(arguments, others[i]))
            return cm_fail(CM_ERR_INPUT, "%s: goes together with --resume", others[i]);
    if (!seeds) return train_new(arguments, NULL, &result);
    if (cm_argument_is_set(arguments, "--seed")) return cm_fail(CM_ERR_INPUT, "give either --seed or --seeds");
    return train_seeds(arguments, seeds);
}

static cm_status train_traced(cm_arguments *arguments) {
    const char *trace = ranks.comm.rank == 0 ? cm_argument(arguments, "--trace") : NULL;
    if (!is_apart(arguments)) catch_signals(); /* processes of their own have their own */
    if (trace) CM_TRY(cm_trace_open(trace));
    cm_status status = dispatch(arguments);
    if (trace && cm_trace_close() != CM_OK && status == CM_OK) status = CM_ERR_IO;
    return status;
}

static cm_status run_train(cm_arguments *arguments) {
    began = cm_clock_seconds();
    cm_busy_with("beginning", CM_BUSY_VAIN);
    if (cm_argument_is_set(arguments, "--quiet") && cm_argument_is_set(arguments, "--json"))
        return cm_fail(CM_ERR_INPUT,
                       "--quiet prints nothing, --json a line for every iteration; leave one of them out");
    CM_TRY(cm_cli_resolve_name(arguments));
    if (cm_launch_find().ranks > 1) catch_signals(); /* MPI takes a while to begin: a request to stop may come then */
    cm_status status = cm_cli_ranks_open(arguments, &ranks);
    if (status == CM_OK && ranks.is_over) return CM_OK;
    arguments->comm = &ranks.comm;
    if (status == CM_OK) status = train_traced(arguments);
    cm_cli_ranks_close(&ranks, status);
    arguments->has_left = has_left;
    if (status != CM_OK || output_error == 0) return status;
    return cm_fail(CM_ERR_IO, "standard output cannot be written: %s", strerror(output_error));
}

static void list_resumable(cm_text *text) {
    cm_configuration configuration;
    cm_config *config = NULL;
    const cm_option *row;
    if (cm_configuration_create(&configuration, &config) != CM_OK) return;
    cm_text_add(text, "\n\nOn --resume these keys may change, others are refused: ");
    for (int i = 0, listed = 0; (row = cm_config_row(config, i)) != NULL; i++)
        if (row->flags & CM_OPTION_RESUME) cm_text_add(text, "%s%s", listed++ > 0 ? ", " : "", row->key);
    cm_text_add(text, ".");
    cm_config_destroy(config);
}

static const cm_flag flags[] = {
    CM_FLAGS_CONFIGURATION,
    CM_FLAG_ENV,
    {"--seed", "N", "Seed of all random numbers: same configuration and seed, same run."},
    {"--seeds", "LIST",
     "Train once for each of several seeds, 1-5 or 1,4,7: as many at once as there are processors for their threads."},
    CM_FLAGS_MACHINE,
    CM_FLAGS_RANKS,
    {"--run", "DIR", "Folder of the new run; without it one is made below checkpoint_root_dir."},
    {"--resume", "DIR", "Go on with a run."},
    {"--checkpoint", "WHICH", "With --resume: the checkpoint, by its number, best or latest; without it the latest."},
    {"--overwrite", NULL,
     "With --checkpoint: go on from one that has later ones behind it, which go, as their lines of metrics do."},
    {"--drop-damaged", NULL, "With --resume: go on without what is damaged of a checkpoint, and say what that was."},
    {"--init-from", "DIR", "Start a new run from the weights of an old one."},
    {"--replay-from", "DIR", "Start a new run with the memory of an old one: its games, for any network."},
    {"--updates", "N", "End after so many updates of the whole run, as in 20k."},
    {"--env-steps", "N", "End after so many environment steps of the whole run, as in 1.5M."},
    {"--time", "TIME",
     "End after this time, 60s, 5m or 2h, the evaluation of the result included; with a length of another kind at "
     "most."},
    {"--json", NULL, "Print one JSON object per line: start, iteration, evaluation, end."},
    {"--quiet", NULL, "Print nothing but warnings and errors."},
    {"--verbose", NULL, "Print details too, as the plan of memory; -v is short for it."},
    {"--trace", "FILE", "Write a timeline for the Chrome and Perfetto viewers."},
    CM_FLAGS_END,
};

const cm_command cm_command_train = {
    .name = "train",
    .about = "train an agent",
    .positional = "[NAME]",
    .details =
        "NAME is an environment (cumind environments lists them; ./grid.py, gymnasium:LunarLander-v3, atari:Pong) or a "
        "recipe. An environment that is named here, by --env or by --set env_name=NAME is trained with its "
        "recipe, where there is one and no --config; what --set gives counts above it.\n\n"
        "Trains until the first limit is met, or, with stop_at_goal, until two evaluations in succession reach "
        "the goal; a run whose length a flag gives goes on to it, unless --set stop_at_goal=true stands with "
        "it. --time alone is a length, too, and schedules such as the learning rate's then follow the clock. "
        "Then the best parameters that were evaluated, else the last ones, are evaluated greedily on new seeds. "
        "SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU break off what is going on, an update in its "
        "midst too, and save, and the exit status is 0; --resume makes the rest, to the same bits. That takes "
        "less than two seconds, ten where an environment hangs; only a checkpoint that takes longer is waited "
        "for. A run that has not begun yet is given up: its folder goes, and the exit status is 130. A second "
        "SIGINT or SIGTERM ends at once, with 130 or 143.\n\n"
        "A run goes on with any number of ranks (--num-devices), whatever their number was: with the same one "
        "it is the unbroken run.\n\n"
        "A checkpoint that is damaged is not gone on with, unless by --drop-damaged: where files of the replay "
        "are, without their episodes; where others are, from the newest checkpoint that has those whole.\n\n"
        "--seeds trains as many at once as there are processors for their threads, each in a process on its "
        "share of processors and memory: where one ends the next begins on its share, and those that run keep "
        "theirs; on a GPU, or with --trace, one after another. Ctrl-Z stops all, and they go on together. Every "
        "run is the one that its seed gives alone.\n\n"
        "--set collect=false is offline reinforcement learning, from the games of --replay-from alone, for "
        "--updates N.",
    .list = list_resumable,
    .flags = flags,
    .examples = "  cumind train                                   # CartPole-v1, a few seconds\n"
                "  cumind train catch --seed 3                    # with its recipe\n"
                "  cumind train go9 --set num_simulations=50\n"
                "  cumind train --resume checkpoints/CartPole-v1/20251121-073900 --updates 9k\n",
    .run = run_train,
    .fits_task = true,
};
