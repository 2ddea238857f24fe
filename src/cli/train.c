#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/recipe.h"
#include "cli/resolve.h"
#include "cli/view.h"
#include "cli/watch.h"
#include "core/crash.h"
#include "core/file.h"
#include "core/log.h"
#include "core/patient.h"
#include "core/printable.h"
#include "core/terminal.h"
#include "core/trace.h"
#include "distributed/launch.h"
#include "env/env.h"
#include "env/python.h"
#include "env/trust.h"
#include "run/checkpoint.h"
#include "run/directory.h"
#include "run/ranks.h"
#include "run/run.h"

enum { SEEDS = 64, CELLS = 6 }; /* CELLS: of a line of the table of seeds */

/* ---- signals: the first asks the run to stop, a second SIGINT or SIGTERM ends the process at once and says what it
 * was in; batch systems repeat theirs ---- */

static cm_stop stop;
static cm_cli_ranks ranks;      /* that train */
static int output_error;        /* why a line of a run could not be printed; 0: all were */
static bool has_left;           /* an environment that hangs */
static char last_run[PATH_MAX]; /* folder of the run that was trained last */

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)info;
    static cm_stop people; /* of these two signals: they mean it when they ask again */
    static const char text[] = "\nending where it is, then saving; again to end at once\n";
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
    if (number == SIGINT && is_first && write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
}

/* SIGUSR1 is what a launcher tells all ranks by; the last ones are those by which batch systems tell that the time is
 * over. */
static void catch_signals(void) {
    static const int requests[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
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
    if (*cm_config_recipe(config)) {
        cm_progress_say(progress, "recipe    %s", cm_config_recipe(config));
    } else if (other) {
        cm_progress_say(progress, "recipe    there is one for this task: --config %s", other->name);
    }
}

static cm_status train_with(cm_arguments *arguments, const cm_run_request *request, cm_run_result *result) {
    cm_progress_style style = cm_cli_style(arguments);
    style.interval = request->configuration->run.log_interval;
    style.verbose = cm_argument_given(arguments, "--verbose");
    if (ranks.comm.size > 1 && !cm_terminal_is_lent()) style.tty = style.colour = false; /* one of the launcher's own */
    if (ranks.comm.rank > 0) style.quiet = true, style.json = false;
    cm_progress *progress = NULL;
    CM_TRY(cm_progress_create(&style, &progress));
    cm_progress_watch(progress);
    if (!request->resume && !cm_argument_given(arguments, "--config"))
        say_recipe(progress, request->config, request->configuration->env.env_name);
    cm_run_request with_progress = *request;
    with_progress.comm = &ranks.comm;
    with_progress.progress = progress;
    with_progress.program = arguments->program;
    cm_status status = train_once(&with_progress, result);
    if (output_error == 0) output_error = cm_progress_error(progress);
    cm_progress_destroy(progress);
    return status;
}

/* ---- resume ---- */

/* Only keys that may change on resume may differ between the run's configuration and the one asked for. */
static cm_status check_changes(const cm_config *before, const cm_config *after) {
    cm_config_difference *differences = NULL;
    const cm_config_difference *first = NULL;
    cm_run_carry carry = CM_CARRY_WEIGHTS; /* of all that differs */
    int count = 0;
    cm_status status = CM_OK;
    CM_TRY(cm_config_compare(before, after, &differences, &count));
    for (int i = 0; i < count; i++) {
        const cm_config_difference *d = &differences[i];
        if (d->may_change || cm_run_is_moved_file(d->key, d->before, d->after)) continue;
        const cm_run_carry own = cm_run_carry_of(d->section, d->key);
        if (!first) first = d;
        carry = own < carry ? own : carry;
    }
    if (first)
        status =
            cm_fail(CM_ERR_INPUT,
                    "%s: %s.%s cannot change on resume: the run has %s, you ask for %s; start a new run%s, or "
                    "leave it",
                    first->origin, first->section, first->key, first->before, first->after, cm_run_carry_advice(carry));
    free(differences);
    return status;
}

static cm_status resume_with(cm_arguments *arguments, const char *run, const cm_config *before, cm_run_result *result) {
    cm_configuration configuration;
    cm_config *config = NULL;
    cm_run_request request = {.directory = run,
                              .resume = true,
                              .checkpoint = CM_CHECKPOINT_LATEST,
                              .overwrite = cm_argument_given(arguments, "--overwrite"),
                              .drop_damaged = cm_argument_given(arguments, "--drop-damaged"),
                              .stop = &stop};
    if (cm_argument_given(arguments, "--checkpoint")) {
        CM_TRY(cm_cli_checkpoint(arguments, &request.checkpoint));
    } else if (request.overwrite) {
        return cm_fail(CM_ERR_INPUT, "--overwrite: goes together with --checkpoint");
    }
    CM_TRY(cm_cli_run_configuration(arguments, run, &configuration, &config));
    cm_status status = check_changes(before, config);
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
        if (cm_argument_given(arguments, others[i])) {
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

/* "1-5", "3", "1,4,7" */
static cm_status parse_seeds(const char *text, int64_t seeds[SEEDS], int *count) {
    *count = 0;
    for (const char *at = text; *at;) {
        char *end = NULL;
        long long first = strtoll(at, &end, 10), last = first;
        if (end != at && *end == '-') {
            const char *second = end + 1;
            last = strtoll(second, &end, 10);
            if (end == second) break;
        }
        if (end == at || first < 0 || last < first || last - first >= SEEDS - *count || (*end && *end != ',')) break;
        for (long long s = first; s <= last; s++) seeds[(*count)++] = s;
        if (*end == '\0') return CM_OK;
        at = end + 1;
    }
    return cm_fail(CM_ERR_INPUT,
                   "--seeds: must be a range or list of at most %d seeds such as 1-5 or 1,4,7, got \"%.40s\"", SEEDS,
                   text);
}

static cm_status check_seeds(const char *text, const int64_t *seeds, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (seeds[i] == seeds[j])
                return cm_fail(CM_ERR_INPUT, "--seeds: %lld stands twice in \"%.40s\"", (long long)seeds[i], text);
    return CM_OK;
}

/* The folder of one seed's run below --run. */
static cm_status seed_folder(const char *directory, int64_t seed, char out[PATH_MAX]) {
    int n = snprintf(out, PATH_MAX, "%s/seed-%lld", directory, (long long)seed);
    return n >= 0 && n < PATH_MAX ? CM_OK : cm_fail(CM_ERR_INPUT, "--run: the path is too long");
}

/* A seed whose folder holds a run: with one that has finished there is nothing to go on with. */
static cm_status refuse_seed(const char *folder, int64_t seed) {
    char report[PATH_MAX];
    CM_TRY(cm_path_join(report, sizeof report, folder, "result.json"));
    if (cm_file_exists(report))
        return cm_fail(CM_ERR_INPUT, "%s: holds a finished run; leave %lld out of --seeds, or choose another --run",
                       folder, (long long)seed);
    return cm_fail(CM_ERR_INPUT,
                   "%s: holds a run already; go on with --resume %s, leave %lld out of --seeds, or choose another "
                   "--run",
                   folder, folder, (long long)seed);
}

/* Neither the folder of all nor that of a seed may hold a run: known before the first seed is trained. */
static cm_status check_seed_folders(const char *directory, const int64_t *seeds, int count) {
    char folder[PATH_MAX];
    if (directory && cm_run_directory_check(directory) == CM_OK)
        return cm_fail(CM_ERR_INPUT, "%s: is a run, and the runs of --seeds go below --run; choose another --run",
                       directory);
    for (int i = 0; directory && i < count; i++) {
        CM_TRY(seed_folder(directory, seeds[i], folder));
        if (cm_run_directory_check(folder) == CM_OK) return refuse_seed(folder, seeds[i]);
    }
    return CM_OK;
}

static cm_status train_seed(cm_arguments *arguments, int64_t seed, bool alone, cm_run_result *result) {
    char text[32], folder[PATH_MAX];
    cm_configuration configuration;
    cm_config *config = NULL;
    const char *directory = cm_argument(arguments, "--run");
    if (!alone && directory) {
        CM_TRY(seed_folder(directory, seed, folder));
        directory = folder;
    }
    CM_TRY(cm_cli_configuration(arguments, &configuration, &config));
    snprintf(text, sizeof text, "%lld", (long long)seed);
    cm_status status = alone ? CM_OK : cm_config_assign(config, "seed", text, "--seeds");
    cm_run_request request = {
        .config = config,
        .configuration = &configuration,
        .directory = directory,
        .checkpoint = CM_CHECKPOINT_LATEST,
        .init_from = cm_argument(arguments, "--init-from"),
        .replay_from = cm_argument(arguments, "--replay-from"),
        .stop = &stop,
    };
    if (status == CM_OK) status = train_with(arguments, &request, result);
    cm_config_destroy(config);
    return status;
}

/* A number of the report, for the table or for JSON; there is none of a run that was stopped or wants none. */
static void format_result(const cm_run_result *r, bool json, double value, char out[32]) {
    if (r->evaluated) {
        snprintf(out, 32, json ? "%.9g" : "%.2f", value);
    } else {
        snprintf(out, 32, "%s", json ? "null" : "-");
    }
}

static void print_seed(int64_t seed, const cm_run_result *r) {
    char mean[32], std[32];
    format_result(r, true, r->final.mean, mean);
    format_result(r, true, r->final.std, std);
    printf("{\"event\": \"seed\", \"seed\": %lld, \"mean\": %s, \"std\": %s, \"env_steps\": %lld, \"updates\": %lld, "
           "\"seconds\": %.3f}\n",
           (long long)seed, mean, std, (long long)r->env_steps, (long long)r->updates, r->seconds);
}

/* A line of the table of seeds, without the last cells where a terminal has no room for them. */
static void print_cells(const cm_view *view, const char cells[CELLS][32]) {
    static const int widths[CELLS] = {8, 11, 11, 11, 11, 10};
    int width = 0;
    for (int i = 0; i < CELLS; i++) {
        width += widths[i];
        if (!view->tty || width <= view->columns) printf("%*s", widths[i], cells[i]);
    }
    printf("\n");
}

static void print_row(const cm_view *view, int64_t seed, const cm_run_result *r) {
    char cells[CELLS][32];
    snprintf(cells[0], 32, "%lld", (long long)seed);
    format_result(r, false, r->final.mean, cells[1]);
    format_result(r, false, r->final.std, cells[2]);
    snprintf(cells[3], 32, "%lld", (long long)r->env_steps);
    snprintf(cells[4], 32, "%lld", (long long)r->updates);
    snprintf(cells[5], 32, "%.1f", r->seconds);
    print_cells(view, (const char(*)[32])cells);
}

static void say_seeds(const cm_arguments *arguments, const int64_t *seeds, const cm_run_result *results, int count) {
    static const char head[CELLS][32] = {"seed", "mean", "std", "env steps", "updates", "seconds"};
    const bool json = cm_argument_given(arguments, "--json");
    const cm_view view = cm_view_of_stdout(arguments);
    if (!json) {
        printf("\n");
        print_cells(&view, head);
    }
    for (int i = 0; i < count; i++) {
        if (json) {
            print_seed(seeds[i], &results[i]);
        } else {
            print_row(&view, seeds[i], &results[i]);
        }
    }
}

/* What an interrupt has left, of `count` seeds the first `done` were trained. */
static void say_stopped(const cm_arguments *arguments, const int64_t *seeds, const cm_run_result *results, int done,
                        int count) {
    if (cm_argument_given(arguments, "--json")) return;
    if (results[done - 1].end == CM_RUN_STOPPED)
        printf("stopped: seed %lld is unfinished; --resume %s goes on with it\n", (long long)seeds[done - 1],
               CM_PRINTABLE(last_run));
    if (done < count)
        printf("stopped: %d of %d seeds were not begun; --seeds LIST trains those\n", count - done, count);
}

static cm_status train_seeds(cm_arguments *arguments, const char *text) {
    int64_t seeds[SEEDS];
    cm_run_result results[SEEDS] = {{.end = CM_RUN_STOPPED}};
    int count = 0, done = 0;
    CM_TRY(parse_seeds(text, seeds, &count));
    CM_TRY(check_seeds(text, seeds, count));
    CM_TRY(check_seed_folders(cm_argument(arguments, "--run"), seeds, count));
    bool is_asked = false;
    for (; done < count && !is_asked; done++) {
        CM_TRY(train_seed(arguments, seeds[done], false, &results[done]));
        is_asked = cm_stop_asked(&stop);
        CM_TRY(cm_ranks_any(&ranks.comm, &is_asked));
    }
    if (ranks.comm.rank > 0 || cm_argument_given(arguments, "--quiet")) return CM_OK;
    say_seeds(arguments, seeds, results, done);
    say_stopped(arguments, seeds, results, done, count);
    return CM_OK;
}

/* ---- the command ---- */

static cm_status dispatch(cm_arguments *arguments) {
    const char *run = cm_argument(arguments, "--resume"), *seeds = cm_argument(arguments, "--seeds");
    cm_run_result result;
    if (run) return resume(arguments, run);
    static const char *const others[] = {"--checkpoint", "--overwrite", "--drop-damaged"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cm_argument_given(arguments, others[i]))
            return cm_fail(CM_ERR_INPUT, "%s: goes together with --resume", others[i]);
    if (!seeds) return train_seed(arguments, 0, true, &result);
    if (cm_argument_given(arguments, "--seed")) return cm_fail(CM_ERR_INPUT, "give either --seed or --seeds");
    return train_seeds(arguments, seeds);
}

static cm_status train_traced(cm_arguments *arguments) {
    const char *trace = ranks.comm.rank == 0 ? cm_argument(arguments, "--trace") : NULL;
    catch_signals();
    if (trace) CM_TRY(cm_trace_open(trace));
    cm_status status = dispatch(arguments);
    if (trace && cm_trace_close() != CM_OK && status == CM_OK) status = CM_ERR_IO;
    return status;
}

static cm_status run_train(cm_arguments *arguments) {
    if (cm_argument_given(arguments, "--quiet") && cm_argument_given(arguments, "--json"))
        return cm_fail(CM_ERR_INPUT,
                       "--quiet prints nothing, --json a line for every iteration; leave one of them out");
    CM_TRY(cm_cli_take_name(arguments));
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

static const cm_flag flags[] = {
    CM_FLAGS_CONFIGURATION,
    CM_FLAG_ENV,
    {"--seed", "N", "Seed of all random numbers: same configuration and seed, same run."},
    {"--seeds", "LIST", "Train once for each of several seeds: 1-5 or 1,4,7."},
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
        "NAME is an environment (cumind environments lists them; ./grid.py, gymnasium:LunarLander-v3) or a recipe. An "
        "environment that is named here, by --env or by --set env_name=NAME is trained with its recipe, where there is "
        "one and no --config; what --set gives counts above it.\n\n"
        "Trains until the first limit is met, or, with stop_at_goal, until two evaluations in succession reach the "
        "goal; a run whose length a flag gives goes on to it, unless --set stop_at_goal=true stands beside it. --time "
        "alone "
        "is a length, too, and schedules such as the learning rate's then follow the clock. "
        "Then the best parameters that were evaluated, else the last ones, are evaluated greedily on new seeds. "
        "SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGXCPU break off what is "
        "going on, an update in its midst too, and save, and the exit status is 0; --resume makes the rest, to the "
        "same "
        "bits. That takes less than two seconds, ten where an environment hangs; only a checkpoint that takes longer "
        "is "
        "waited for. A run that has not begun yet is given up: its folder goes, and the exit status is 130. A second "
        "SIGINT or SIGTERM ends at once, with 130 or 143.\n\n"
        "A run goes on with any number of ranks (--num-devices), whatever their number was: with the same one it is "
        "the "
        "unbroken run.\n\n"
        "A checkpoint that is damaged is not gone on with, unless by --drop-damaged: where files of the replay are, "
        "without "
        "their episodes; where others are, from the newest checkpoint that has those whole.\n\n"
        "With --set collect=false nobody acts: the games of --replay-from are all that is learnt from, for --updates "
        "N.\n\n"
        "On --resume these keys may change: the limits (env_steps, updates, num_episodes, time_limit), learning_rate, "
        "weight_decay, clip_norm and the schedule, evaluation, checkpoint, logging and device keys, env_timeout, "
        "prefetch_depth and "
        "prefetch_threads. "
        "cumind config --explain KEY says it of each key. Others are refused.",
    .flags = flags,
    .examples = "  cumind train                                   # CartPole-v1, a few seconds\n"
                "  cumind train catch --seed 3                    # with its recipe\n"
                "  cumind train go9 --set num_simulations=50\n"
                "  cumind train --resume checkpoints/CartPole-v1/20251121-073900 --updates 9k\n",
    .run = run_train,
    .fits_task = true,
};
