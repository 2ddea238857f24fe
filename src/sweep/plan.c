#include "sweep/plan.h"

#include <stdio.h>

#include "core/file.h"

static const char file_name[] = "sweep.json";
enum { FORMAT = 2 }; /* 1 had no workers: its rungs are synchronous */

static int64_t power(int exponent) {
    int64_t x = 1;
    for (int i = 0; i < exponent; i++) x *= CM_SWEEP_ETA;
    return x;
}

int cm_sweep_plan_usual_rungs(int trials) { return trials >= 9 ? 3 : trials >= 3 ? 2 : 1; }

int cm_sweep_plan_width(const cm_sweep_plan *plan, int rung) {
    const int width = (int)(plan->trials / power(rung));
    return width > 0 ? width : 1;
}

cm_status cm_sweep_plan_divide(cm_sweep_plan *plan, int64_t env_steps, int64_t every) {
    const int64_t first = env_steps / power(plan->rungs - 1);
    if (plan->trials < power(plan->rungs - 1))
        return cm_fail(CM_ERR_INPUT, "--rungs: %d rungs are for at least %lld trials, there are %d", plan->rungs,
                       (long long)power(plan->rungs - 1), plan->trials);
    if (first < 1)
        return cm_fail(CM_ERR_INPUT, "--rungs: %lld environment steps are too few for %d rungs", (long long)env_steps,
                       plan->rungs);
    const int64_t parts = every > 0 && every < first ? (first + every - 1) / every : 1;
    plan->interval = first / parts;
    for (int r = 0; r + 1 < plan->rungs; r++) plan->steps[r] = plan->interval * parts * power(r);
    plan->steps[plan->rungs - 1] = env_steps;
    return CM_OK;
}

/* ---- the file ---- */

cm_status cm_sweep_plan_save(const cm_sweep_plan *plan, const char *folder) {
    char path[PATH_MAX];
    cm_json_writer *json;
    CM_TRY(cm_path_join(path, sizeof path, folder, file_name));
    CM_TRY(cm_json_writer_create(2, &json));
    cm_json_begin_object(json, NULL);
    cm_json_put_int(json, "format", FORMAT);
    cm_json_put_int(json, "trials", plan->trials);
    cm_json_put_int(json, "seeds", plan->seeds);
    cm_json_put_int(json, "seed", plan->seed);
    cm_json_put_int(json, "workers", plan->workers);
    cm_json_begin_array(json, "steps");
    for (int r = 0; r < plan->rungs; r++) cm_json_put_int(json, NULL, plan->steps[r]);
    cm_json_end_array(json);
    cm_json_put_int(json, "evaluation_interval", plan->interval);
    cm_sweep_space_write(&plan->space, json, "keys");
    cm_json_end_object(json);
    const cm_status status = cm_json_writer_save(json, path);
    cm_json_writer_destroy(json);
    return status;
}

static cm_status read_steps(const cm_json *array, cm_sweep_plan *out) {
    const int count = cm_json_size(array);
    if (count < 1 || count > CM_SWEEP_RUNGS)
        return cm_fail(CM_ERR_INPUT, "steps: must be 1..%d rungs, got %d", CM_SWEEP_RUNGS, count);
    for (const cm_json *node = cm_json_first(array); node; node = cm_json_next(node)) {
        const int64_t least = out->rungs ? out->steps[out->rungs - 1] + 1 : 1;
        if (!cm_json_is_integer(node, least, CM_JSON_MOST))
            return cm_fail(CM_ERR_INPUT, "steps: must be integers, each larger than the one before it");
        out->steps[out->rungs++] = (int64_t)cm_json_number(node, 0.0);
    }
    return CM_OK;
}

static cm_status read_plan(const cm_json *root, cm_sweep_plan *out) {
    const cm_json *steps, *keys;
    int64_t trials, seeds, format, workers = 0;
    *out = (cm_sweep_plan){.rungs = 0};
    CM_TRY(cm_json_need_int(root, "format", 1, FORMAT, &format));
    CM_TRY(cm_json_need_int(root, "trials", 1, CM_SWEEP_TRIALS, &trials));
    CM_TRY(cm_json_need_int(root, "seeds", 1, CM_SWEEP_SEEDS, &seeds));
    CM_TRY(cm_json_need_int(root, "seed", 0, CM_JSON_MOST, &out->seed));
    CM_TRY(cm_json_need_int(root, "evaluation_interval", 1, CM_JSON_MOST, &out->interval));
    if (format > 1) CM_TRY(cm_json_need_int(root, "workers", 0, CM_SWEEP_TRIALS, &workers));
    CM_TRY(cm_json_need(root, "steps", CM_JSON_ARRAY, &steps));
    CM_TRY(cm_json_need(root, "keys", CM_JSON_ARRAY, &keys));
    out->trials = (int)trials, out->seeds = (int)seeds, out->workers = (int)workers;
    CM_TRY(read_steps(steps, out));
    return cm_sweep_space_read(keys, &out->space);
}

cm_status cm_sweep_plan_load(const char *folder, cm_sweep_plan *out) {
    char path[PATH_MAX];
    cm_json_doc *doc;
    CM_TRY(cm_path_join(path, sizeof path, folder, file_name));
    if (!cm_file_exists(path))
        return cm_fail(CM_ERR_INPUT, "%s: holds no sweep: there is no %s in it", folder, file_name);
    cm_status status = cm_json_read(path, &doc);
    if (status == CM_OK) {
        status = read_plan(cm_json_root(doc), out);
        if (status != CM_OK) status = cm_fail_in(status, "%s", path);
        cm_json_free(doc);
    }
    if (status != CM_ERR_INPUT) return status;
    return cm_fail(status, "%s; mend the file, or bring back a copy of it", cm_error_message());
}

cm_status cm_sweep_run_path(const char *folder, int trial, int64_t seed, const char *suffix, char out[PATH_MAX]) {
    const int n = snprintf(out, PATH_MAX, "%s/trials/%03d/seed-%lld%s", folder, trial, (long long)seed, suffix);
    return n >= 0 && n < PATH_MAX ? CM_OK : cm_fail(CM_ERR_INPUT, "%.60s...: the path is too long", folder);
}
