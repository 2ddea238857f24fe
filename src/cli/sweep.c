/* cumind sweep: hyper-parameters by successive halving, asynchronous or synchronous. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/seed_jobs.h"
#include "cli/sweep_page.h"
#include "cli/sweep_table.h"
#include "cli/watch.h"
#include "core/busy.h"
#include "core/file.h"
#include "core/log.h"
#include "core/printable.h"
#include "env/python.h"
#include "env/trust.h"
#include "run/directory.h"
#include "sweep/worker.h"

enum { TRIALS = 27, ROWS = 20 };

static char folder[PATH_MAX]; /* of the sweep */

/* ---- a new sweep ---- */

/* Rungs are counted in environment steps, and so is the length of the runs. */
static cm_status check_length(const cm_configuration *c) {
    const cm_run_options *o = &c->run;
    if (o->env_steps > 0 && o->updates == 0 && o->num_episodes == 0 && o->time_limit <= 0.0 && c->agent.collect)
        return CM_OK;
    return cm_fail(CM_ERR_INPUT, "sweep: the length of a run has to be one in environment steps alone: --env-steps N");
}

static cm_status read_numbers(const cm_arguments *arguments, const cm_configuration *c, cm_sweep_plan *plan) {
    int64_t trials = TRIALS, seeds = 1, rungs, workers = 1;
    CM_TRY(cm_argument_int(arguments, "--trials", 1, CM_SWEEP_TRIALS, &trials));
    CM_TRY(cm_argument_int(arguments, "--seeds", 1, CM_SWEEP_SEEDS, &seeds));
    rungs = cm_sweep_plan_usual_rungs((int)trials);
    CM_TRY(cm_argument_int(arguments, "--rungs", 1, CM_SWEEP_RUNGS, &rungs));
    if (cm_argument_is_set(arguments, "--synchronous") && cm_argument_is_set(arguments, "--workers"))
        return cm_fail(CM_ERR_INPUT,
                       "sweep: with --synchronous any number of workers may be at a rung: drop --workers");
    CM_TRY(cm_argument_int(arguments, "--jobs", 1, CM_SEEDS, &workers));
    CM_TRY(cm_argument_int(arguments, "--workers", 1, CM_SWEEP_TRIALS, &workers));
    if (cm_argument_is_set(arguments, "--synchronous")) workers = 0;
    plan->trials = (int)trials, plan->seeds = (int)seeds, plan->rungs = (int)rungs, plan->workers = (int)workers;
    plan->seed = c->run.seed;
    return cm_sweep_plan_divide(plan, c->run.env_steps, c->run.evaluation_interval);
}

/* Another configuration takes the values that are checked. */
static cm_status read_keys(const cm_arguments *arguments, cm_sweep_plan *plan) {
    static cm_configuration scratch;
    cm_config *config;
    CM_TRY(cm_configuration_create(&scratch, &config));
    cm_status status = CM_OK;
    for (int i = 0; status == CM_OK && i < arguments->positional_count; i++)
        status = cm_sweep_space_add(&plan->space, config, arguments->positional[i]);
    cm_config_destroy(config);
    return status == CM_OK ? CM_OK : cm_fail_in(status, "sweep");
}

/* What is wrong with all trials is said at once, and not of each of them. */
static cm_status try_session(const cm_configuration *configuration) {
    cm_session *session;
    CM_TRY(cm_session_open(configuration, NULL, &session));
    cm_session_close(session);
    return CM_OK;
}

/* sweep.json comes last: it makes a sweep of the folder. */
static cm_status make_folder(const cm_sweep_plan *plan, const cm_config *config) {
    char base[PATH_MAX];
    CM_TRY(cm_directory_make(folder));
    CM_TRY(cm_path_join(base, sizeof base, folder, "base.json"));
    CM_TRY(cm_config_save(config, base));
    return cm_sweep_plan_save(plan, folder);
}

/* In a process of its own: an environment in Python may be opened for the defaults. */
static cm_status create(const cm_arguments *arguments, int *out) {
    static cm_sweep_plan plan;
    cm_configuration configuration;
    cm_config *config;
    *out = 0;
    CM_TRY(read_keys(arguments, &plan));
    CM_TRY(cm_cli_configuration(arguments, &configuration, &config));
    cm_status status = check_length(&configuration);
    if (status == CM_OK) status = read_numbers(arguments, &configuration, &plan);
    if (status == CM_OK) status = try_session(&configuration);
    if (status == CM_OK) status = make_folder(&plan, config);
    if (status == CM_OK) status = cm_env_trust_remember(configuration.env.env_name);
    cm_config_destroy(config);
    return status;
}

static cm_status refuse_folder(void) {
    char path[PATH_MAX];
    CM_TRY(cm_path_join(path, sizeof path, folder, "sweep.json"));
    if (cm_file_exists(path))
        return cm_fail(CM_ERR_INPUT, "%s: holds a sweep already; go on with --resume %s, or choose another --run",
                       folder, folder);
    if (cm_run_directory_check(folder) == CM_OK)
        return cm_fail(CM_ERR_INPUT, "%s: is a run, and a sweep has a folder of its own; choose another --run", folder);
    return CM_OK;
}

static cm_status begin(const cm_arguments *arguments) {
    char root[CM_OPTION_TEXT];
    const char *run = cm_argument(arguments, "--run");
    int unused;
    if (arguments->positional_count == 0)
        return cm_fail(CM_ERR_INPUT, "sweep: name the keys to vary, such as learning_rate num_simulations=8,16,32");
    if (run) snprintf(folder, sizeof folder, "%s", run);
    if (!run) CM_TRY(cm_cli_run_root(arguments->command, root));
    if (!run) CM_TRY(cm_run_directory_name(root, "sweeps", folder, sizeof folder));
    CM_TRY(refuse_folder());
    return cm_seed_jobs_ask(create, arguments, &unused);
}

/* ---- a worker ---- */

static cm_stop user, piece; /* asked by signals; the second one also where a rung ends, and reset then */

static void on_signal(int number) {
    (void)number;
    cm_stop_ask(&user);
    cm_stop_ask(&piece);
}

/* The process that began this one passes on what it is asked by SIGUSR1, and its end by SIGTERM. */
static void catch_signals(void) {
    static const int requests[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) sigaction(requests[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    cm_env_heed(&user);
    cm_watch_begin("sweep", &user);
}

/* What a worker prints. */
typedef struct talk {
    bool json, quiet;
    int jobs, seeds, rungs;
    double interval, began, told; /* seconds between lines; of the clock */
} talk;

static void add_time(const talk *t, const cm_sweep_progress *p, cm_text *line) {
    const double seconds = cm_clock_seconds() - t->began, rate = t->jobs * (double)p->steps_made / seconds;
    char left[16];
    if (p->steps_made == 0) return;
    cm_clock_format_duration((double)p->steps_left / rate, left);
    cm_text_add(line, ", %.0f steps/s, %s left", rate, left);
}

static void add_best(const cm_sweep_progress *p, cm_text *line) {
    if (!isnan(p->best)) cm_text_add(line, ", best %.2f (trial %d)", p->best, p->best_trial);
}

static void say(const cm_text *line) {
    printf("%s\n", line->bytes);
    fflush(stdout);
}

static void on_step(void *context, const cm_sweep_progress *p, const cm_sweep_task *task, const cm_metrics *row) {
    talk *t = context;
    static cm_text line;
    const double now = cm_clock_seconds();
    if (t->json || t->quiet || now - t->told < t->interval) return;
    t->told = now;
    cm_text_clear(&line);
    cm_text_add(&line, "rung %d/%d  trial %d", task->rung + 1, t->rungs, task->trial);
    if (t->seeds > 1) cm_text_add(&line, ", seed %lld", (long long)task->seed);
    cm_text_add(&line, " at %lld steps; %d of %d runs", (long long)row->env_steps, p->runs_done, p->runs);
    add_time(t, p, &line);
    add_best(p, &line);
    say(&line);
}

static void say_json(const cm_sweep_line *l) {
    char score[40] = "null";
    if (!isnan(l->score)) cm_json_format_double(l->score, score);
    printf("{\"event\": \"trial\", \"rung\": %d, \"trial\": %d, \"score\": %s, \"env_steps\": %lld, \"seconds\": "
           "%.3f}\n",
           l->rung, l->trial, score, (long long)l->env_steps, l->seconds);
    fflush(stdout);
}

static void on_line(void *context, const cm_sweep_progress *p, const cm_sweep_line *l) {
    const talk *t = context;
    static cm_text line;
    if (t->quiet) return;
    if (t->json) {
        say_json(l);
        return;
    }
    cm_text_clear(&line);
    cm_text_add(&line, "rung %d/%d  trial %d: ", l->rung + 1, t->rungs, l->trial);
    if (isnan(l->score)) {
        cm_text_add(&line, "failed: %s", CM_PRINTABLE(l->error));
    } else {
        cm_text_add(&line, "score %.2f", l->score);
    }
    cm_text_add(&line, "; %d of %d runs", p->runs_done, p->runs);
    add_time(t, p, &line);
    add_best(p, &line);
    say(&line);
}

/* That it was asked to stop is no error: its run is saved. */
static cm_status work(const cm_arguments *arguments, const cm_sweep_plan *plan, int jobs, const cm_seed_place *place) {
    talk t = {.json = cm_argument_is_set(arguments, "--json"),
              .quiet = cm_argument_is_set(arguments, "--quiet"),
              .jobs = jobs,
              .seeds = plan->seeds,
              .rungs = plan->rungs,
              .interval = place->interval > 0.0 ? place->interval : 10.0,
              .began = cm_clock_seconds()};
    const cm_sweep_worker worker = {.folder = folder,
                                    .plan = plan,
                                    .program = arguments->program,
                                    .space = place->space,
                                    .user = &user,
                                    .stop = &piece,
                                    .on_step = on_step,
                                    .on_line = on_line,
                                    .context = &t};
    catch_signals();
    cm_seed_jobs_heed();
    const cm_status status = cm_sweep_work(&worker);
    return status == CM_ERR_INTERRUPTED ? CM_OK : status;
}

/* ---- the whole ---- */

static void say_plan(const cm_arguments *arguments, const cm_sweep_plan *plan) {
    static cm_text line;
    if (cm_argument_is_set(arguments, "--quiet") || cm_argument_is_set(arguments, "--json")) return;
    cm_text_clear(&line);
    for (int r = 0; r < plan->rungs; r++)
        cm_text_add(&line, "%s%d%s to %lld steps", r ? ", " : "", cm_sweep_plan_width(plan, r), r ? "" : " trials",
                    (long long)plan->steps[r]);
    cm_cli_line(10, "sweep     %s", CM_PRINTABLE(folder));
    cm_cli_line(10, "rungs     %s%s", line.bytes, plan->seeds > 1 ? ", each of several seeds" : "");
}

static cm_status write_page(const cm_arguments *arguments, const cm_sweep_plan *plan, const cm_sweep_ledger *ledger) {
    const char *path = cm_argument(arguments, "--html");
    if (!path) return CM_OK;
    CM_TRY(cm_sweep_page_write(plan, ledger, path));
    if (!cm_argument_is_set(arguments, "--json") && !cm_argument_is_set(arguments, "--quiet"))
        printf("written to %s\n", CM_PRINTABLE(path));
    return CM_OK;
}

static cm_status show(const cm_arguments *arguments, const cm_sweep_plan *plan) {
    cm_sweep_ledger ledger;
    int64_t rows = ROWS;
    CM_TRY(cm_argument_int(arguments, "--rows", 1, CM_SWEEP_TRIALS, &rows));
    cm_status status = cm_sweep_ledger_read(folder, plan, &ledger);
    if (status == CM_OK && cm_argument_is_set(arguments, "--json")) {
        status = cm_sweep_table_json(folder, plan, &ledger);
    } else if (status == CM_OK && !cm_argument_is_set(arguments, "--quiet")) {
        const cm_view view = cm_view_of_stdout(arguments);
        status = cm_sweep_table_print(&view, folder, plan, &ledger, (int)rows);
    }
    if (status == CM_OK) status = write_page(arguments, plan, &ledger);
    cm_sweep_ledger_free(&ledger);
    return status;
}

static void warn_of_idle(const cm_sweep_plan *plan, int jobs) {
    if (plan->workers > 0 && jobs > plan->workers * plan->seeds)
        cm_log(CM_WARNING, "--jobs %d: at most %d of them have work, as the sweep was begun with --workers %d", jobs,
               plan->workers * plan->seeds, plan->workers);
}

static cm_status run_jobs(const cm_arguments *arguments, const cm_sweep_plan *plan) {
    static cm_seeds jobs = {.noun = "job", .member = "job"};
    cm_seed_place place;
    cm_seed *own;
    int64_t count = 1;
    CM_TRY(cm_argument_int(arguments, "--jobs", 1, CM_SEEDS, &count));
    jobs.count = (int)count;
    for (int i = 0; i < jobs.count; i++) jobs.row[i].seed = i + 1;
    warn_of_idle(plan, jobs.count);
    say_plan(arguments, plan);
    CM_TRY(cm_seed_jobs_run(arguments, &jobs, jobs.count, &own, &place));
    if (own) return work(arguments, plan, jobs.count, &place);
    CM_TRY(cm_seeds_verdict(&jobs));
    return show(arguments, plan);
}

/* An environment that is code is named on every machine that has not trained with it, as for cumind train --resume. */
static cm_status trust(const cm_arguments *arguments) {
    static const char key[] = "env_name=";
    const char *set;
    if (cm_argument_is_set(arguments, "--env")) cm_env_trust_named(cm_argument(arguments, "--env"));
    for (int i = 0; (set = cm_argument_at(arguments, "--set", i)) != NULL; i++) {
        if (strncmp(set, key, sizeof key - 1) != 0)
            return cm_fail(CM_ERR_INPUT, "sweep: the configuration of a sweep that is there stays: --set %.60s", set);
        cm_env_trust_named(set + sizeof key - 1);
    }
    return CM_OK;
}

/* A sweep that is there has all but its jobs and outputs fixed. */
static cm_status open_old(const cm_arguments *arguments, const char *flag) {
    static const char *const others[] = {"--config", "--seed",      "--backend", "--threads",
                                         "--dtype",  "--trials",    "--seeds",   "--rungs",
                                         "--run",    "--env-steps", "--workers", "--synchronous"};
    if (arguments->positional_count > 0)
        return cm_fail(CM_ERR_INPUT, "sweep: %s is of a sweep that is there: %.60s belongs to a new one", flag,
                       arguments->positional[0]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cm_argument_is_set(arguments, others[i]))
            return cm_fail(CM_ERR_INPUT, "sweep: %s is of a sweep that is there: %s belongs to a new one", flag,
                           others[i]);
    snprintf(folder, sizeof folder, "%s", cm_argument(arguments, flag));
    return trust(arguments);
}

static cm_status run_sweep(cm_arguments *arguments) {
    static cm_sweep_plan plan;
    const bool shows = cm_argument_is_set(arguments, "--show"), resumes = cm_argument_is_set(arguments, "--resume");
    if (shows && resumes) return cm_fail(CM_ERR_INPUT, "sweep: give either --show or --resume");
    CM_TRY(cm_cli_try_file("--html", cm_argument(arguments, "--html")));
    CM_TRY(shows || resumes ? open_old(arguments, shows ? "--show" : "--resume") : begin(arguments));
    CM_TRY(cm_sweep_plan_load(folder, &plan));
    return shows ? show(arguments, &plan) : run_jobs(arguments, &plan);
}

static void list_ranges(cm_text *text) {
    cm_configuration configuration;
    cm_config *config = NULL;
    const cm_option *row;
    if (cm_configuration_create(&configuration, &config) != CM_OK) return;
    cm_text_add(text, "\n\nKeys that have a range of their own: ");
    for (int i = 0, listed = 0; (row = cm_config_row(config, i)) != NULL; i++)
        if (row->sweep[0] < row->sweep[1])
            cm_text_add(text, "%s%s %g..%g", listed++ > 0 ? ", " : "", row->key, row->sweep[0], row->sweep[1]);
    cm_text_add(text, ".");
    cm_config_destroy(config);
}

static const cm_flag flags[] = {
    CM_FLAGS_CONFIGURATION,
    CM_FLAG_ENV,
    {"--env-steps", "N", "Environment steps of a whole run, as in 1.5M."},
    {"--seed", "N", "Seed of the draws, and of the first run of every trial."},
    CM_FLAGS_MACHINE,
    {"--trials", "N", "Configurations that are drawn; 27."},
    {"--seeds", "N", "Runs of a trial, whose scores are averaged; 1."},
    {"--rungs", "N",
     "Times that trials are compared, a third of which goes on each time; 3 from nine trials on; 1: all are trained to "
     "their end, which is random search."},
    {"--jobs", "N", "Runs that are trained at once, each on its share of the processors; 1."},
    {"--workers", "N",
     "Trials that all jobs and machines may train at once; as many as --jobs. The order of trials follows from it, so "
     "it "
     "stays."},
    {"--synchronous", NULL, "Compare a rung when all its trials have come to its end; any number of jobs may help."},
    {"--run", "DIR", "Folder of the new sweep; without it one is made below checkpoint_root_dir."},
    {"--resume", "DIR", "Go on with a sweep, also next to other processes and machines that work on it."},
    {"--show", "DIR", "Print what a sweep has found, and end."},
    {"--rows", "N", "Trials in the table, 20."},
    {"--html", "FILE",
     "Write a page with parallel coordinates of the trials and the importance of the keys. It needs no network."},
    {"--json", NULL, "Print a JSON object per line: a trial at a rung; at the end, and with --show alone, one of all."},
    {"--quiet", NULL, "Print nothing but warnings and errors."},
    CM_FLAGS_END,
};

const cm_command cm_command_sweep = {
    .name = "sweep",
    .about = "find values of keys by training with many",
    .positional = "[KEY...]",
    .details =
        "KEY is a key of the configuration: alone with the range of its own, or all its choices; KEY=A,B,C with a "
        "list; "
        "KEY=LOW..HIGH with a range, by the logarithm where it spans a factor of ten. All else is configured as for "
        "cumind train.\n\n"
        "Trials are drawn at random and compared by asynchronous successive halving (ASHA): after a ninth of the "
        "environment steps, and after a third of them, a trial goes on as soon as it is in the best third of those "
        "that "
        "have come as far. A trial that waits is a run with a "
        "checkpoint that is gone on with to the same bits, so that schedules are those of the whole length. The score "
        "is the mean return of an evaluation there, at the end that of the report, over the seeds of the trial. What "
        "fails counts as worst.\n\n"
        "The folder has all that is known: ledger.jsonl, with a line for each trial at each rung, and best.json, which "
        "cumind train --config takes. It goes on after whatever ended it, and several machines that share the folder "
        "may work on it at once; with the same --workers the ledger is the same but for its times.",
    .list = list_ranges,
    .flags = flags,
    .examples = "  cumind sweep learning_rate num_simulations=8,16,32 --seeds 3 --jobs 2\n"
                "  cumind sweep learning_rate=1e-4..1e-2 optimizer --env catch --run sweep\n"
                "  cumind sweep --show sweep --html sweep.html\n"
                "  cumind train --config sweep/best.json\n",
    .run = run_sweep,
    .fits_task = true,
};
