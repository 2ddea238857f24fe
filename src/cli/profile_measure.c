/* A short training of a configuration in a temporary folder: how fast it acts and learns. */
#include <malloc.h>
#include <math.h>
#include <unistd.h>

#include "cli/profile.h"
#include "core/clock.h"
#include "run/checkpoint.h"

/* What only a whole run needs is left out; nothing here changes how an iteration acts and learns. */
static const char *const settings[][2] = {
    {"evaluation_interval", "0"}, {"evaluation_updates", "0"}, {"final_evaluation_episodes", "0"},
    {"checkpoint_interval", "0"}, {"checkpoint_updates", "0"}, {"stop_at_goal", "false"},
    {"tensorboard", "false"},     {"monitor", "false"},        {"updates", "0"},
    {"extra_updates", "0"},       {"num_episodes", "0"},       {"env_steps", "1000000000000"},
    {"random_first_steps", "0"},  {"time_limit", "0"},         {"min_memory_size", "0"},
    {"min_memory_pct", "0"},
};

#define PATIENCE 8.0 /* seconds until a training that has learnt nothing is one that never will */

/* What is known of a training that is going on. */
typedef struct measuring {
    cm_profile *p;
    cm_stop stop;           /* of it */
    double seconds, opened; /* to measure; time of the clock when the run was open */
    int watched;
    void (*follow)(void *measuring, const cm_metrics *row, double share);
    int64_t iterations; /* that have learnt, or that had nothing to learn; of filling, episodes */
    bool is_on, is_done;
    double start, end, first, trained; /* seconds of the first iteration, and of all */
    cm_metrics before, after;
    size_t heap_before, heap_after;
} measuring;

static size_t heap_in_use(void) {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void begin(measuring *m, const cm_metrics *row, double now) {
    m->before = *row;
    m->is_on = true;
    m->heap_before = heap_in_use();
    m->start = now;
    if (m->watched & CM_WATCH_STAGES) cm_stages_begin();
    cm_calls_count(m->watched & CM_WATCH_CALLS);
}

static void end(measuring *m, const cm_metrics *row, double now) {
    cm_calls_count(false);
    if (m->watched & CM_WATCH_STAGES) cm_stages_end(&m->p->stages);
    m->after = *row;
    m->end = now;
    m->heap_after = heap_in_use();
    m->is_on = false, m->is_done = true;
    cm_stop_ask(&m->stop);
}

/* After every iteration. The first one that has learnt records graphs and fills caches. */
static void follow(void *context, const cm_metrics *row, double share) {
    measuring *m = context;
    const double now = cm_clock_seconds();
    (void)share;
    if (m->is_done) return;
    if (m->iterations == 0) m->first = now - m->opened;
    if (row->updates == 0 && now - m->opened > PATIENCE) m->p->never_learns = true;
    if (row->updates > 0 || m->p->never_learns) m->iterations++;
    if (!m->is_on && m->iterations >= 2) {
        begin(m, row, now);
    } else if (m->is_on && now - m->start >= m->seconds) {
        end(m, row, now);
    }
}

static double rate_of(double after, double before, double seconds) { return (after - before) / seconds; }

static cm_status read_rate(const measuring *m, cm_profile_rate *out) {
    const double seconds = m->end - m->start;
    if (!m->is_done)
        return cm_fail(CM_ERR_INPUT,
                       "profile: four iterations of one step of %d environments take longer than %.0f s; "
                       "lower num_envs or num_simulations",
                       m->p->configuration->env.num_envs, m->trained);
    const int64_t iterations = m->after.iteration - m->before.iteration;
    const double simulations = m->after.simulations_per_second / m->after.env_steps_per_second;
    *out = (cm_profile_rate){
        .env_steps = rate_of((double)m->after.env_steps, (double)m->before.env_steps, seconds),
        .updates = rate_of((double)m->after.updates, (double)m->before.updates, seconds),
        .growth = ((double)m->heap_after - (double)m->heap_before) / (double)iterations,
        .seconds = seconds,
        .iterations = iterations,
    };
    out->simulations = isfinite(simulations) ? simulations * out->env_steps : 0.0;
    out->samples = out->updates * (double)m->p->configuration->trainer.batch_size;
    out->first = fmax(0.0, m->first - seconds / (double)iterations);
    return CM_OK;
}

/* What the profile says of the machine and the memory is that of the run as it is configured. */
static void note_run(cm_profile *p, const cm_run *run) {
    const cm_session *s = cm_run_session(run);
    p->memory_bytes = (double)cm_run_memory(run, p->memory, &p->memory_count);
    p->is_device = !s->backend->device->is_host;
    p->threads = cm_pool_size(s->pool);
    snprintf(p->environment, sizeof p->environment, "%s", s->env.spec.name);
    cm_session_describe(s, p->backend, sizeof p->backend);
}

static cm_status train(measuring *m, const char *folder) {
    cm_progress *progress = NULL;
    const cm_progress_style style = {.file = STDOUT_FILENO, .quiet = true};
    cm_run *run = NULL;
    cm_run_result result;
    cm_profile *p = m->p;
    const double began = cm_clock_seconds();
    CM_TRY(cm_progress_create(&style, &progress));
    const cm_run_request request = {.config = p->config,
                                    .configuration = p->configuration,
                                    .directory = folder,
                                    .is_passing = true,
                                    .progress = progress,
                                    .checkpoint = CM_CHECKPOINT_LATEST,
                                    .program = p->program,
                                    .replay_from = m->follow == follow && p->games[0] ? p->games : NULL,
                                    .follower = {m->follow, m},
                                    .stop = &m->stop};
    if (m->watched & CM_WATCH_CALLS) cm_calls_listen();
    cm_status status = cm_run_open(&request, &run);
    m->opened = cm_clock_seconds();
    if (status == CM_OK && !p->backend[0]) note_run(p, run);
    if (status == CM_OK) status = cm_run_train(run, &result);
    if (m->is_on) end(m, &m->before, cm_clock_seconds()), m->is_done = false;
    m->trained = cm_clock_seconds() - m->opened;
    cm_run_close(run);
    cm_tally_add(p->tally, 1, 0);
    cm_progress_destroy(progress);
    m->opened -= began; /* how long it took */
    return status;
}

static cm_status assign_all(cm_profile *p, int steps, const char *least_memory) {
    char text[16];
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        CM_TRY(cm_config_assign(p->config, settings[i][0], settings[i][1], "profile"));
    snprintf(text, sizeof text, "%d", steps);
    CM_TRY(cm_config_assign(p->config, "steps_per_iteration", text, "profile"));
    return cm_config_assign(p->config, "min_memory_steps", least_memory, "profile");
}

static cm_status find_status(const cm_profile *p, cm_status status) {
    return cm_stop_asked(p->stop) ? cm_fail(CM_ERR_INTERRUPTED, "profile: interrupted") : status;
}

cm_status cm_profile_measure(cm_profile *p, double seconds, int watched, cm_profile_rate *out) {
    char folder[PATH_MAX];
    measuring m = {.p = p, .seconds = seconds, .watched = watched, .follow = follow, .stop = {.with = p->stop}};
    CM_TRY(assign_all(p, p->steps, "1"));
    CM_TRY(cm_path_join(folder, sizeof folder, p->folder, "run"));
    m.stop.until = cm_clock_seconds() + 20.0 + 4.0 * seconds;
    cm_status status = train(&m, folder);
    if (watched & CM_WATCH_CALLS) {
        const cm_status listed = cm_calls_end(&p->operations);
        if (status == CM_OK) status = listed;
    }
    const cm_status removed = cm_dir_remove(NULL, folder);
    CM_TRY(find_status(p, status));
    CM_TRY(removed);
    CM_TRY(read_rate(&m, out));
    out->opening = m.opened;
    return CM_OK;
}

/* ---- games to begin with ---- */

/* Ends the filling as soon as batches can be drawn. */
static void follow_filling(void *context, const cm_metrics *row, double share) {
    measuring *m = context;
    (void)share;
    const int64_t enough = 4 * (int64_t)m->p->configuration->trainer.batch_size;
    m->iterations = row->episodes;
    if (row->env_steps >= enough && row->episodes >= 8) cm_stop_ask(&m->stop);
}

cm_status cm_profile_fill(cm_profile *p) {
    const int usual = p->configuration->mcts.num_simulations;
    char simulations[16];
    measuring m = {.p = p, .stop = {.with = p->stop}};
    CM_TRY(assign_all(p, 8, "1000000000000"));
    CM_TRY(cm_config_assign(p->config, "num_simulations", "1", "profile"));
    CM_TRY(cm_path_join(p->games, sizeof p->games, p->folder, "games"));
    m.stop.until = cm_clock_seconds() + 5.0;
    m.follow = follow_filling;
    const cm_status status = train(&m, p->games);
    if (m.iterations == 0) p->games[0] = '\0'; /* no episode ends so soon */
    snprintf(simulations, sizeof simulations, "%d", usual);
    CM_TRY(cm_config_assign(p->config, "num_simulations", simulations, "profile"));
    return find_status(p, status);
}
