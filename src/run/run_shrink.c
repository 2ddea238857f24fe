/* What a run does about a plan of memory that does not fit: planes are recomputed, which changes no result; with
 * auto_fit an update is made of smaller batches, too. */
#include <stdio.h>

#include "backend/tape/tape.h"
#include "run/run_internal.h"

/* One process alone can change what all ranks must share, and a run that goes on has its batches. */
static bool may_divide(const cm_run *run) {
    return cm_run_options_of(run)->run.auto_fit && run->session->comm->size == 1 && run->is_new;
}

/* The next values after these; of smaller batches nothing is recomputed at first. */
static bool step(const cm_run *run, cm_trainer_options *o) {
    if (o->recompute < CM_RECOMPUTE_FULL) {
        o->recompute++;
        return true;
    }
    if (!may_divide(run) || o->batch_size % 2 != 0) return false;
    o->recompute = CM_RECOMPUTE_NONE;
    o->batch_size /= 2;
    o->gradient_accumulation *= 2;
    return true;
}

static cm_status plan(const cm_run *run, cm_trainer_need *out) {
    const cm_trainer_config config =
        cm_run_trainer_config(run->session, run->overlap ? run->learning_pool : run->session->pool);
    return cm_trainer_plan_memory(&config, out);
}

bool cm_run_shrink(cm_run *run) {
    cm_trainer_options *o = &run->session->configuration.trainer;
    const cm_trainer_options before = *o;
    cm_trainer_need now, next;
    if (plan(run, &now) != CM_OK) return false;
    while (step(run, o) && plan(run, &next) == CM_OK) {
        if (next.bytes >= now.bytes) continue;
        if (run->unshrunk == 0) run->unshrunk = now.activations;
        run->shrunk = next.activations;
        run->is_divided |= o->batch_size < before.batch_size;
        return true;
    }
    *o = before;
    return false;
}

bool cm_run_adopt_shrunk(const cm_run *run, const cm_run_request *request) {
    static const char why[] = "what fits into memory";
    const cm_trainer_options *fitted = &cm_run_options_of(run)->trainer;
    cm_trainer_options *known = &request->configuration->trainer;
    if (run->unshrunk == 0) return false;
    known->recompute = fitted->recompute;
    cm_config_derive(request->config, "recompute", why);
    if (!run->is_divided) return true;
    known->batch_size = fitted->batch_size;
    known->gradient_accumulation = fitted->gradient_accumulation;
    cm_config_derive(request->config, "batch_size", why);
    cm_config_derive(request->config, "gradient_accumulation", why);
    return true;
}

void cm_run_say_shrunk(const cm_run *run) {
    const cm_trainer_options *o = &cm_run_options_of(run)->trainer;
    char word[CM_OPTION_WORD], batches[80] = "", less[16], more[16];
    if (run->unshrunk == 0) return;
    cm_config_word(run->config, "recompute", word);
    cm_format_bytes((double)run->shrunk, less);
    cm_format_bytes((double)run->unshrunk, more);
    if (run->is_divided)
        snprintf(batches, sizeof batches, " batch_size=%d gradient_accumulation=%d", o->batch_size,
                 o->gradient_accumulation);
    cm_progress_say(run->progress, "          fitted: recompute=%s%s, activations of %s in place of %s", word, batches,
                    less, more);
}
