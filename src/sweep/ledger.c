#include "sweep/ledger.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/append.h"
#include "core/arena.h"
#include "core/clock.h"
#include "sweep/claim.h"

static const char file_name[] = "ledger.jsonl";
#define MOST_BYTES ((size_t)256 << 20)

/* ---- who is where ---- */

/* By score, failed ones last, then by number. */
static int compare_lines(const void *a, const void *b) {
    const cm_sweep_line *x = *(const cm_sweep_line *const *)a, *y = *(const cm_sweep_line *const *)b;
    if (x->rung != y->rung) return y->rung - x->rung;
    if (isnan(x->score) != isnan(y->score)) return isnan(x->score) ? 1 : -1;
    if (x->score > y->score || x->score < y->score) return x->score > y->score ? -1 : 1;
    return x->trial - y->trial;
}

bool cm_sweep_ledger_is_whole(const cm_sweep_ledger *ledger) { return !cm_sweep_schedule_next(ledger->schedule); }

int cm_sweep_ledger_rank(const cm_sweep_plan *plan, const cm_sweep_ledger *ledger, const cm_sweep_line **line) {
    int count = 0;
    for (int i = 0; i < ledger->count; i++) {
        int at = 0;
        while (at < count && line[at]->trial != ledger->line[i].trial) at++;
        line[at] = &ledger->line[i];
        if (at == count && count < plan->trials) count++;
    }
    qsort(line, (size_t)count, sizeof *line, compare_lines);
    return count;
}

/* ---- reading ---- */

static void add(cm_sweep_ledger *ledger, const cm_sweep_line *line) {
    ledger->line[ledger->count++] = *line;
    cm_sweep_schedule_take(ledger->schedule, line->score);
}

static cm_status read_line(void *context, const cm_json *value) {
    cm_sweep_ledger *ledger = context;
    const cm_sweep_place *place = cm_sweep_schedule_next(ledger->schedule);
    const char *error = cm_json_string(cm_json_get(value, "error"));
    int64_t rung, trial, env_steps;
    double seconds;
    CM_TRY(cm_json_need_int(value, "rung", 0, CM_SWEEP_RUNGS, &rung));
    CM_TRY(cm_json_need_int(value, "trial", 0, CM_SWEEP_TRIALS, &trial));
    CM_TRY(cm_json_need_int(value, "env_steps", 0, CM_JSON_MOST, &env_steps));
    CM_TRY(cm_json_need_number(value, "seconds", &seconds));
    if (!place || place->trial != trial || place->rung != rung)
        return cm_fail(CM_ERR_INPUT, "trial %lld at rung %lld does not belong here: the ledger was changed",
                       (long long)trial, (long long)rung);
    cm_sweep_line line = {.rung = (int)rung, .trial = (int)trial, .env_steps = env_steps, .seconds = seconds};
    CM_TRY(cm_sweep_score_read(value, &line.score));
    if (error) snprintf(line.error, sizeof line.error, "%s", error);
    add(ledger, &line);
    return CM_OK;
}

/* A line is made of results, which stay. */
static cm_status read_into(const char *folder, cm_sweep_ledger *ledger) {
    char path[PATH_MAX];
    CM_TRY(cm_path_join(path, sizeof path, folder, file_name));
    if (!cm_file_exists(path)) return CM_OK;
    const cm_status status = cm_json_read_growing(path, CM_JSON_SMALL, read_line, ledger);
    if (status != CM_ERR_INPUT) return status;
    return cm_fail(status, "%s; remove the file, and cumind sweep --resume %s writes it again", cm_error_message(),
                   folder);
}

static cm_status begin(const cm_sweep_plan *plan, cm_sweep_ledger *out) {
    const size_t most = (size_t)plan->trials * (size_t)plan->rungs;
    *out = (cm_sweep_ledger){.count = 0};
    CM_TRY(cm_sweep_schedule_create(plan, &out->schedule));
    return cm_alloc(&out->line, most, sizeof *out->line, "a ledger");
}

cm_status cm_sweep_ledger_read(const char *folder, const cm_sweep_plan *plan, cm_sweep_ledger *out) {
    CM_TRY(begin(plan, out));
    return read_into(folder, out);
}

void cm_sweep_ledger_free(cm_sweep_ledger *ledger) {
    free(ledger->line);
    cm_sweep_schedule_destroy(ledger->schedule);
    *ledger = (cm_sweep_ledger){.count = 0};
}

/* ---- writing ---- */

/* The file is cut back to its whole lines: it can only be torn where a machine has died. */
static cm_status open_file(const char *folder, cm_append_file *out) {
    char *data = NULL;
    size_t size = 0;
    cm_dir dir;
    CM_TRY(cm_dir_open(&dir, folder));
    cm_status status = cm_append_open(out, &dir, file_name);
    if (status == CM_OK) status = cm_dir_read(&dir, file_name, MOST_BYTES, &data, &size);
    cm_dir_close(&dir);
    const size_t all = size;
    while (size > 0 && data[size - 1] != '\n') size--;
    free(data);
    if (status == CM_OK && size < all) status = cm_append_cut(out, (int64_t)size);
    return status;
}

/* The line of a trial at a rung. *found: all its results are there. */
static cm_status gather(const char *folder, const cm_sweep_plan *plan, int rung, int trial, cm_json_writer *json,
                        cm_sweep_line *line, bool *found) {
    *line = (cm_sweep_line){.rung = rung, .trial = trial};
    cm_json_begin_array(json, "scores");
    for (int s = 0; s < plan->seeds; s++) {
        cm_sweep_result result;
        CM_TRY(cm_sweep_result_read(folder, rung, trial, plan->seed + s, found, &result));
        if (!*found) return CM_OK;
        cm_json_put_double(json, NULL, result.score);
        line->score += result.score;
        line->seconds += result.seconds;
        if (result.env_steps > line->env_steps) line->env_steps = result.env_steps;
        if (result.error[0] && !line->error[0])
            snprintf(line->error, sizeof line->error, "seed %lld: %.200s", (long long)(plan->seed + s), result.error);
    }
    line->score /= plan->seeds;
    cm_json_end_array(json);
    return CM_OK;
}

static cm_status write_line(cm_append_file *file, cm_json_writer *json) {
    size_t size;
    char *line;
    const char *text = cm_json_writer_text(json, &size);
    if (!text) return CM_ERR_MEMORY;
    CM_TRY(cm_alloc(&line, size + 1, 1, "a line of the ledger"));
    memcpy(line, text, size);
    line[size] = '\n';
    cm_status status = cm_append_write(file, line, size + 1);
    if (status == CM_OK) status = cm_file_sync(file->file, file->path);
    free(line);
    return status;
}

static cm_status append_trial(const char *folder, const cm_sweep_plan *plan, cm_sweep_ledger *ledger,
                              cm_append_file *file, bool *found) {
    const cm_sweep_place place = *cm_sweep_schedule_next(ledger->schedule);
    cm_json_writer *json;
    cm_sweep_line line;
    CM_TRY(cm_json_writer_create(0, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_int(json, "rung", place.rung);
    cm_json_put_int(json, "trial", place.trial);
    cm_sweep_space_put(&plan->space, plan->seed, place.trial, json, "values");
    cm_status status = gather(folder, plan, place.rung, place.trial, json, &line, found);
    if (status == CM_OK && *found) {
        cm_json_put_double(json, "score", line.score);
        if (line.error[0]) cm_json_put_string(json, "error", line.error);
        cm_json_put_int(json, "env_steps", line.env_steps);
        cm_json_put_double(json, "seconds", line.seconds);
        cm_json_put_int(json, "written", (int64_t)cm_clock_unix());
        cm_json_end_object(json);
        status = write_line(file, json);
    }
    if (status == CM_OK && *found) add(ledger, &line);
    cm_json_writer_destroy(json);
    return status;
}

static cm_status append_all(const char *folder, const cm_sweep_plan *plan, cm_sweep_ledger *ledger) {
    cm_append_file file;
    cm_status status = open_file(folder, &file);
    for (bool found = true; status == CM_OK && found && !cm_sweep_ledger_is_whole(ledger);)
        status = append_trial(folder, plan, ledger, &file, &found);
    cm_append_close(&file);
    return status;
}

static cm_status write_best(const char *folder, const cm_sweep_plan *plan, const cm_sweep_ledger *ledger) {
    const cm_sweep_line *order[CM_SWEEP_TRIALS];
    char path[PATH_MAX];
    cm_configuration configuration;
    cm_config *config;
    if (cm_sweep_ledger_rank(plan, ledger, order) == 0 || isnan(order[0]->score)) return CM_OK;
    CM_TRY(cm_path_join(path, sizeof path, folder, "best.json"));
    CM_TRY(cm_sweep_configure(folder, plan, order[0]->trial, false, &configuration, &config));
    const cm_status status = cm_config_save(config, path);
    cm_config_destroy(config);
    return status;
}

static cm_status extend(const char *folder, const cm_sweep_plan *plan, bool renews, cm_sweep_ledger *ledger,
                        int *fresh) {
    CM_TRY(read_into(folder, ledger));
    *fresh = ledger->count;
    CM_TRY(append_all(folder, plan, ledger));
    return renews || ledger->count > *fresh ? write_best(folder, plan, ledger) : CM_OK;
}

cm_status cm_sweep_ledger_extend(const char *folder, const cm_sweep_plan *plan, bool renews, cm_sweep_ledger *out,
                                 int *fresh) {
    char lock[PATH_MAX];
    int claim;
    *fresh = 0;
    CM_TRY(begin(plan, out));
    CM_TRY(cm_path_join(lock, sizeof lock, folder, "ledger.lock"));
    CM_TRY(cm_sweep_claim(lock, true, &claim));
    const cm_status status = extend(folder, plan, renews, out, fresh);
    cm_sweep_release(claim);
    return status;
}
