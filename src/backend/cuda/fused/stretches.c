#include "backend/cuda/fused/stretches.h"

#include <stdlib.h>

#include "backend/cuda/fused/towers.h"
#include "backend/cuda/ops/ops.h"
#include "core/arena.h"

/* Calls first .. first + count - 1, of which those without a lane are one launch. */
typedef struct stretch {
    int first, count;
    void *rows;      /* as a pass of rows; or NULL */
    cm_tower *tower; /* as a tower; or NULL */
} stretch;

struct cm_stretches {
    stretch *stretch; /* in the order of the calls */
    int count;
};

static cm_call_list part_of(const cm_call_list *pass, int first, int count) {
    return (cm_call_list){
        .calls = pass->calls + first, .count = count, .infers = pass->infers, .version = pass->version};
}

/* How many of the calls from `first` on make a stretch. It ends with a call that is a step of it: those with lanes
 * behind that are given to them as early as ever. */
static int reach_from(const cm_call_list *pass, int first) {
    const cm_call_list rest = part_of(pass, first, pass->count - first);
    int count = pass->calls[first].lane == 0 ? cm_row_pass_reach(&rest) : 0;
    while (count > 0 && pass->calls[first + count - 1].lane != 0) count--;
    return count;
}

static cm_status find_tower(cm_stream *stream, const cm_call_list *pass, stretch *s) {
    s->count = cm_tower_reach(pass, s->first);
    return s->count > 1 ? cm_tower_create(stream, pass, s->first, s->count, &s->tower) : CM_OK;
}

static cm_status find_rows(cm_stream *stream, const cm_call_list *pass, stretch *s) {
    s->count = reach_from(pass, s->first);
    const cm_call_list part = part_of(pass, s->first, s->count);
    return s->count > 1 ? cm_row_pass_create(stream, &part, &s->rows) : CM_OK;
}

/* Where a stretch of rows is not worth it one that begins behind its first call may be; of a tower's layers nothing is
 * tried again. */
static cm_status find(cm_stretches *all, cm_stream *stream, const cm_call_list *pass) {
    for (int i = 0; i < pass->count;) {
        stretch s = {.first = i};
        CM_TRY(find_tower(stream, pass, &s));
        const bool is_of_tower = s.count > 0;
        if (!is_of_tower) CM_TRY(find_rows(stream, pass, &s));
        if (s.tower || s.rows) all->stretch[all->count++] = s;
        i += is_of_tower || s.rows ? s.count : 1;
    }
    return CM_OK;
}

cm_status cm_stretches_create(cm_stream *stream, const cm_call_list *pass, cm_stretches **out) {
    cm_stretches *all = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&all, 1, sizeof *all, "stretches of rows"));
    cm_status status = cm_alloc(&all->stretch, (size_t)pass->count, sizeof *all->stretch, "stretches of rows");
    if (status == CM_OK) status = find(all, stream, pass);
    if (status != CM_OK) {
        cm_stretches_free(all);
        return status;
    }
    *out = all;
    return CM_OK;
}

void cm_stretches_free(cm_stretches *all) {
    if (!all) return;
    for (int i = 0; i < all->count; i++) {
        cm_row_pass_free(all->stretch[i].rows);
        cm_tower_free(all->stretch[i].tower);
    }
    free(all->stretch);
    free(all);
}

int cm_stretches_count(const cm_stretches *all) { return all->count; }

/* The launch, and behind it the calls that have lanes. */
static cm_status run_stretch(const stretch *s, cm_stream *stream, const cm_call_list *pass, cm_stretch_run run,
                             void *context) {
    const cm_call_list part = part_of(pass, s->first, s->count);
    CM_TRY(s->tower ? cm_tower_run(stream, pass, s->tower) : cm_row_pass_run(stream, &part, s->rows));
    for (int i = 0; i < part.count; i++)
        if (part.calls[i].lane != 0) CM_TRY(run(stream, &part.calls[i], context));
    return CM_OK;
}

cm_status cm_stretches_run(const cm_stretches *all, cm_stream *stream, const cm_call_list *pass, cm_stretch_run run,
                           void *context) {
    int next = 0;
    for (int i = 0; i < pass->count;) {
        const stretch *s = all && next < all->count ? &all->stretch[next] : NULL;
        if (s && s->first == i) {
            CM_TRY(run_stretch(s, stream, pass, run, context));
            i += s->count;
            next++;
        } else {
            CM_TRY(run(stream, &pass->calls[i], context));
            i++;
        }
    }
    return CM_OK;
}
