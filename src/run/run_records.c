/* What other programs read of a run: event files of TensorBoard, monitor.csv. Rank 0 writes them. Whatever happens to
 * them, the run goes on. */
#include <stdlib.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/log.h"
#include "run/run_internal.h"

static const cm_run_options *options(const cm_run *run) { return &cm_run_options_of(run)->run; }

/* The axis of curves: steps of the environments; offline there are none. */
static int64_t step_at(const cm_run *run, int64_t env_steps, int64_t updates) {
    return cm_run_collects(run) ? env_steps : updates;
}

static int64_t step_of(const cm_run *run) {
    return step_at(run, run->counts.env_steps, cm_trainer_updates(cm_run_trainer(run)));
}

static bool is_board_open(const cm_run *run) { return cm_tensorboard_is_open(&run->board); }

/* ---- when the run is opened ---- */

static void warn(const char *what) {
    cm_log(CM_WARNING, "%s; the run goes on and writes no %s", cm_error_message(), what);
}

/* Rows beyond the last event: of a file that is gone or damaged, of a time when none was written. */
static void put_missing(cm_run *run, int64_t known) {
    char path[PATH_MAX];
    cm_metrics *rows = NULL;
    int count = 0;
    const double now = cm_clock_unix(), seconds = cm_run_seconds(run);
    cm_status status = cm_path_join(path, sizeof path, run->directory.path, "metrics.jsonl");
    if (status == CM_OK) status = cm_metrics_read(path, &rows, &count);
    if (status != CM_OK) cm_log(CM_WARNING, "%s; events that are missing are not written again", cm_error_message());
    for (int i = 0; i < count; i++) {
        const int64_t step = step_at(run, rows[i].env_steps, rows[i].updates);
        if (step > known) cm_tensorboard_put_row(&run->board, &rows[i], step, now - (seconds - rows[i].seconds));
    }
    free(rows);
}

/* What was written beyond the checkpoint is cut off also where nothing is written any more. */
static cm_status open_board(cm_run *run, bool resumes) {
    const int64_t last = step_of(run) - (run->state.is_pending ? 1 : 0); /* that has its row */
    cm_event_history history = {.known = -1};
    if (resumes) CM_TRY(cm_tensorboard_cut(&run->directory.dir, last, &history));
    if (!options(run)->tensorboard) return CM_OK;
    CM_TRY(cm_tensorboard_open(&run->board, &run->directory.dir, &history));
    cm_tensorboard_put_start(&run->board, resumes ? last : -1); /* readers drop nothing at the first that they see */
    if (resumes) put_missing(run, history.known); /* first: a later event would say that none is missing */
    cm_tensorboard_put_configuration(&run->board, run->config, step_of(run));
    return CM_OK;
}

/* As there. */
static cm_status open_monitor(cm_run *run) {
    const cm_dir *dir = &run->directory.dir;
    if (!cm_run_collects(run) || (!options(run)->monitor && cm_dir_look(dir, CM_MONITOR_NAME) == CM_DIR_NONE))
        return CM_OK;
    CM_TRY(cm_monitor_open(&run->monitor, dir, run->session->env.spec.name, run->state.seconds));
    if (!options(run)->monitor) cm_monitor_close(&run->monitor);
    return CM_OK;
}

cm_status cm_run_open_records(cm_run *run, bool resumes) {
    int64_t places;
    const cm_comm *comm = run->session->comm;
    if (run->is_passing) return CM_OK;
    run->drawn_updates = cm_trainer_updates(cm_run_trainer(run));
    (void)cm_actor_ended(run->actor, &places);
    if (options(run)->monitor && comm->size > 1)
        CM_TRY(cm_alloc(&run->episodes, (size_t)(places * comm->size) + 1, sizeof *run->episodes, "episodes of ranks"));
    if (!cm_run_leads(run)) return CM_OK;
    if (open_board(run, resumes) != CM_OK) warn("event files");
    if (open_monitor(run) != CM_OK) warn("monitor.csv");
    return CM_OK;
}

void cm_run_close_records(cm_run *run) {
    cm_tensorboard_close(&run->board);
    cm_monitor_close(&run->monitor);
    cm_proto_free(&run->picture.bytes);
    free(run->episodes);
}

/* ---- while it trains ---- */

cm_status cm_run_write_episodes(cm_run *run) {
    cm_comm *comm = run->session->comm;
    int64_t places;
    const cm_episode *ended = cm_actor_ended(run->actor, &places);
    if (!options(run)->monitor) return CM_OK;
    if (run->episodes) {
        CM_TRY(comm->all_gather(comm, ended, (size_t)places * sizeof *ended, run->episodes));
        ended = run->episodes, places *= comm->size;
    }
    if (run->monitor.rows.file >= 0) cm_monitor_write(&run->monitor, ended, places, cm_run_seconds(run));
    return CM_OK;
}

/* Of evaluations: all of the first 128, then 64 for every doubling of their number, as pictures are large. */
static bool is_picture_due(int64_t evaluation) {
    int64_t stride = 1;
    for (int64_t n = evaluation; n >= 128; n /= 2) stride *= 2;
    return evaluation % stride == 0;
}

void cm_run_keep_picture(cm_run *run, const void *gif, size_t size, int width, int height) {
    cm_run_picture *p = &run->picture;
    if (!is_board_open(run) || !is_picture_due(run->state.evaluations)) return;
    cm_proto_reset(&p->bytes);
    cm_proto_append(&p->bytes, gif, size);
    p->width = width, p->height = height;
}

void cm_run_write_row(cm_run *run) {
    const cm_metrics *row = &run->row;
    const int64_t step = step_at(run, row->env_steps, row->updates);
    cm_run_picture *p = &run->picture;
    if (!is_board_open(run)) return;
    cm_tensorboard_put_row(&run->board, row, step, cm_clock_unix());
    if (p->bytes.size > 0)
        cm_tensorboard_put_image(&run->board, "eval/episode", p->bytes.bytes, p->bytes.size, p->width, p->height, step);
    cm_proto_reset(&p->bytes);
}

/* Of every array of weights, and of the gradient of the last update. */
static cm_status write_histograms(cm_run *run) {
    cm_trainer *trainer = cm_run_trainer(run);
    const cm_param_table *table = cm_network_parameters(run->session->network);
    const float back = (float)(1.0 / cm_trainer_gradient_scale(trainer));
    const int64_t step = step_of(run);
    CM_TRY(cm_trainer_fetch(trainer, CM_TRAINER_ALL));
    const float *weights = cm_trainer_parameters(trainer, CM_WEIGHTS_ONLINE),
                *gradients = cm_trainer_gradients(trainer);
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        if (p->state) continue;
        cm_tensorboard_put_histogram(&run->board, "weights", p->name, weights + p->offset, p->count, 1.0f, step);
        cm_tensorboard_put_histogram(&run->board, "gradients", p->name, gradients + p->offset, p->count, back, step);
    }
    return CM_OK;
}

cm_status cm_run_write_histograms(cm_run *run) {
    const int64_t every = options(run)->histogram_interval, updates = cm_trainer_updates(cm_run_trainer(run)),
                  before = run->drawn_updates;
    if (!is_board_open(run) || every == 0 || updates / every == before / every) return CM_OK;
    run->drawn_updates = updates;
    return write_histograms(run);
}

void cm_run_end_records(cm_run *run) {
    if (is_board_open(run)) cm_tensorboard_put_end(&run->board, step_of(run));
}
