/* The plan of a run's main memory: what its parts take, what is allowed, and what to do about it. */
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "run/run_internal.h"

enum { LARGE_PICTURE = 3 * 100 * 100 }; /* numbers */

size_t cm_run_memory(const cm_run *run, cm_memory_row rows[CM_RUN_PLAN_ROWS], int *count) {
    const cm_memory_row others[] = {
        {"acting", cm_actor_memory(run->actor) + cm_actor_bytes(run->actor)}, /* and the copy that is saved */
        {"evaluation", cm_evaluator_memory(run->evaluator) + cm_evaluator_memory(run->final_evaluator)},
        {"packed weights and scratch", cm_backend_held(run->session->backend)},
    };
    enum { OTHERS = sizeof others / sizeof *others };
    size_t total = cm_run_learner_memory(run->learner, rows, CM_RUN_PLAN_ROWS - OTHERS, count);
    for (int i = 0; i < OTHERS; i++) {
        rows[(*count)++] = others[i];
        total += others[i].bytes;
    }
    return total;
}

static uint64_t limit_of(const cm_run *run) {
    const uint64_t set = (uint64_t)cm_run_options_of(run)->run.memory_limit;
    return set > 0 ? set : UINT64_MAX;
}

/* What is allowed, by the user or by what there was before the run took anything. */
uint64_t cm_run_memory_space(const cm_run *run) {
    const uint64_t limit = limit_of(run);
    if (!run->session->backend->device->is_host) return UINT64_MAX;
    return limit < run->space.bytes ? limit : run->space.bytes;
}

const char *cm_run_memory_advice(const cm_run *run, const char *most) {
    const cm_env_spec *spec = &run->session->env.spec;
    if (strcmp(most, CM_ROW_REANALYSIS) == 0)
        return "set reanalyse_ratio to 0, or lower num_simulations, threads or the sizes of the network";
    if (spec->rank == 3 && spec->observation_size >= LARGE_PICTURE)
        return "give smaller pictures (84 x 84), or lower memory_steps, batch_size, num_unroll_steps or num_envs";
    return "lower memory_steps, batch_size, num_unroll_steps, num_envs, threads or the sizes of the network";
}

static cm_status fail_limit(const cm_run *run, const char *needed, const char *most) {
    const uint64_t limit = limit_of(run);
    const bool is_divisible = strcmp(most, CM_ROW_ACTIVATIONS) == 0 && !cm_run_options_of(run)->run.auto_fit;
    char allowed[96], advice[160];
    snprintf(advice, sizeof advice, "%s%s", is_divisible ? "set auto_fit to true, or " : "",
             cm_run_memory_advice(run, most));
    if (limit <= run->space.bytes) {
        cm_format_bytes((double)limit, allowed);
        return cm_fail(CM_ERR_MEMORY, "Device.memory_limit: the run needs %s, %s are allowed; most of it is %s: %s",
                       needed, allowed, most, advice);
    }
    cm_memory_describe(&run->space, allowed, sizeof allowed);
    return cm_fail(CM_ERR_MEMORY, "memory: the run needs %s, %s; most of it is %s: %s", needed, allowed, most, advice);
}

/* Before any of it is written to, which is when it costs memory. Where the device is the host, all of the plan counts
 * for the limit that the user set. */
cm_status cm_run_check_memory(const cm_run *run) {
    cm_memory_row rows[CM_RUN_PLAN_ROWS];
    char needed[16];
    int count = 0, most = 0;
    const uint64_t bytes = (uint64_t)cm_run_memory(run, rows, &count) * (uint64_t)run->session->comm->local_size;
    if (bytes <= cm_run_memory_space(run)) return CM_OK;
    for (int i = 1; i < count; i++) most = rows[i].bytes > rows[most].bytes ? i : most;
    cm_format_bytes((double)bytes, needed);
    return fail_limit(run, needed, rows[most].name);
}

/* The same of what the network's sizes say before anything is made of it: weights are written when they are made. */
cm_status cm_run_check_least_memory(const cm_run *run) {
    enum { COPIES = 4 }; /* weights, gradients, moments, and what acts: at least */
    const cm_param_table *table = cm_network_parameters(run->session->network);
    const uint64_t ranks = (uint64_t)run->session->comm->local_size;
    const uint64_t bytes = COPIES * (uint64_t)table->parameters * sizeof(float) * ranks;
    char needed[32] = "at least ";
    if (bytes <= cm_run_memory_space(run)) return CM_OK;
    cm_format_bytes((double)bytes, needed + strlen(needed));
    return fail_limit(run, needed, "parameters");
}

/* What large pictures need more than all else; where that is not said yet. */
cm_status cm_run_advise_of_pictures(const cm_run *run, cm_status status) {
    const cm_env_spec *spec = &run->session->env.spec;
    const bool is_large = spec->rank == 3 && spec->observation_size >= LARGE_PICTURE;
    if (status != CM_ERR_MEMORY || !is_large || strstr(cm_error_message(), "smaller pictures")) return status;
    return cm_fail(status, "%s; smaller pictures (84 x 84) than those of %d x %d x %d take a fraction",
                   cm_error_message(), (int)spec->shape[0], (int)spec->shape[1], (int)spec->shape[2]);
}

void cm_run_say_rows(cm_run *run, const cm_memory_row *rows, int count, uint64_t bytes, uint64_t space) {
    char size[16];
    for (int i = 0; i < count; i++) {
        cm_format_bytes((double)rows[i].bytes, size);
        if (bytes > space / 2) {
            cm_progress_say(run->progress, "  %-32s %8s", rows[i].name, size);
        } else {
            cm_progress_detail(run->progress, "  %-32s %8s", rows[i].name, size);
        }
    }
}
