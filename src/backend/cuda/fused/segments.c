#include "backend/cuda/fused/segments.h"

#include <stdlib.h>

#include "backend/cuda/fused/norm_convs.h"
#include "backend/cuda/fused/towers.h"
#include "backend/cuda/ops/ops.h"
#include "backend/cuda/ops/sums.h"
#include "core/arena.h"

/* Calls first .. first + count - 1, of which those without a branch are one launch, or most of a chain fewer than they
 * are. */
typedef struct segment {
    int first, count;
    cm_row_kernel *rows;  /* as a fused row-wise kernel; or NULL */
    cm_tower *tower;      /* as a tower; or NULL */
    cm_norm_convs *chain; /* as norms that convolutions apply; or NULL */
} segment;

struct cm_fused_segments {
    segment *segment; /* in the order of the calls */
    int count;
    bool is_whole; /* it is one, whose calls have the work memory to themselves */
};

static cm_call_list part_of(const cm_call_list *pass, int first, int count) {
    return (cm_call_list){.calls = pass->calls + first,
                          .count = count,
                          .infers = pass->infers,
                          .is_idle = pass->is_idle,
                          .version = pass->version};
}

/* How many of the calls from `first` on make a fused segment. It ends with a call that is a step of it: those with
 * branches after that are given to them as early as ever. */
static int reach_from(const cm_call_list *pass, int first) {
    const cm_call_list rest = part_of(pass, first, pass->count - first);
    int count = pass->calls[first].branch == 0 ? cm_row_kernel_reach(&rest) : 0;
    while (count > 0 && pass->calls[first + count - 1].branch != 0) count--;
    return count;
}

static cm_status find_tower(cm_stream *stream, const cm_call_list *pass, segment *s) {
    s->count = cm_tower_reach(pass, s->first);
    return s->count > 1 ? cm_tower_create(stream, pass, s->first, s->count, &s->tower) : CM_OK;
}

static cm_status find_chain(cm_stream *stream, const cm_call_list *pass, segment *s) {
    s->count = cm_norm_convs_reach(pass, s->first);
    return s->count > 1 ? cm_norm_convs_create(stream, pass, s->first, s->count, &s->chain) : CM_OK;
}

static cm_status find_rows(cm_stream *stream, const cm_call_list *pass, segment *s) {
    s->count = reach_from(pass, s->first);
    const cm_call_list part = part_of(pass, s->first, s->count);
    return s->count > 1 ? cm_row_kernel_create(stream, &part, &s->rows) : CM_OK;
}

/* Where a fused segment is not worth it one that begins after its first call may be; of a tower's layers, and a
 * chain's, nothing is tried again. */
static cm_status find(cm_fused_segments *all, cm_stream *stream, const cm_call_list *pass) {
    for (int i = 0; i < pass->count;) {
        segment s = {.first = i};
        CM_TRY(find_tower(stream, pass, &s));
        if (s.count == 0) CM_TRY(find_chain(stream, pass, &s));
        const bool has_layers = s.count > 0;
        if (!has_layers) CM_TRY(find_rows(stream, pass, &s));
        if (s.tower || s.chain || s.rows) all->segment[all->count++] = s;
        i += has_layers || s.rows ? s.count : 1;
    }
    return CM_OK;
}

static cm_status find_whole(cm_fused_segments *all, cm_stream *stream, const cm_call_list *pass) {
    segment *s = &all->segment[0];
    s->count = pass->count;
    CM_TRY(cm_row_kernel_create(stream, pass, &s->rows));
    all->count = s->rows ? 1 : 0;
    return CM_OK;
}

cm_status cm_fused_segments_create(cm_stream *stream, const cm_call_list *pass, bool whole, cm_fused_segments **out) {
    cm_fused_segments *all = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&all, 1, sizeof *all, "fused segments"));
    all->is_whole = whole;
    cm_status status = cm_alloc(&all->segment, (size_t)pass->count, sizeof *all->segment, "fused segments");
    if (status == CM_OK) status = whole ? find_whole(all, stream, pass) : find(all, stream, pass);
    if (status == CM_OK && (all->count > 0 || !whole)) {
        *out = all;
    } else {
        cm_fused_segments_free(all);
    }
    return status;
}

void cm_fused_segments_free(cm_fused_segments *all) {
    if (!all) return;
    for (int i = 0; i < all->count; i++) {
        cm_row_kernel_free(all->segment[i].rows);
        cm_tower_free(all->segment[i].tower);
        cm_norm_convs_free(all->segment[i].chain);
    }
    free(all->segment);
    free(all);
}

int cm_fused_segments_count(const cm_fused_segments *all) { return all ? all->count : 0; }

bool cm_fused_segments_is_whole(const cm_fused_segments *all) { return all && all->is_whole; }

/* A run of a list. */
typedef struct run {
    cm_stream *stream;
    const cm_call_list *pass;
    const cm_segment_runner *runner;
    bool joins;          /* sums of calls with branches are made together */
    cm_sums sums;        /* that are not made yet */
    const cm_call *last; /* that they are of, one of the pass: what a chain leaves has none */
} run;

static cm_status run_sums(run *r) {
    cm_stream *branch = r->stream;
    if (r->sums.count == 0) return CM_OK;
    CM_TRY(r->runner->enter(r->stream, r->last, r->runner->context, &branch));
    return cm_sums_run(branch, &r->sums);
}

static cm_status run_call(run *r, const cm_call *call) {
    cm_call rest;
    if (!r->joins || !cm_sums_are_of(call)) return r->runner->run(r->stream, call, r->runner->context);
    if (r->sums.count + CM_SUMS_OF_CALL > CM_SUMS) CM_TRY(run_sums(r));
    rest = *call;
    r->last = call;
    return cm_sums_take(&r->sums, &rest) ? r->runner->run(r->stream, &rest, r->runner->context) : CM_OK;
}

static cm_status launch_segment(const run *r, const segment *s, const cm_call_list *part) {
    if (s->tower) return cm_tower_run(r->stream, r->pass, s->tower);
    if (s->chain) return cm_norm_convs_run(r->stream, r->pass, s->chain);
    return cm_row_kernel_run(r->stream, part, s->rows);
}

/* What its launches leave of call i of a segment; NULL: nothing. */
static const cm_call *rest_of(const run *r, const segment *s, const cm_call_list *part, int i, cm_call *memory) {
    if (s->chain) return cm_norm_convs_rest(s->chain, r->pass, i, memory);
    return part->calls[i].branch != 0 ? &part->calls[i] : NULL;
}

/* The launches, and after them what they leave. */
static cm_status run_segment(run *r, const segment *s, bool is_whole) {
    const cm_call_list part = is_whole ? *r->pass : part_of(r->pass, s->first, s->count);
    CM_TRY(launch_segment(r, s, &part));
    for (int i = 0; i < part.count; i++) {
        cm_call memory;
        const cm_call *rest = rest_of(r, s, &part, i, &memory);
        if (rest) CM_TRY(run_call(r, rest));
    }
    return CM_OK;
}

/* Sums wait for those of calls that come soon after; where none does they are made while others run. */
static bool are_more_soon(const cm_call_list *pass, int first) {
    enum { SOON = 6 };
    for (int i = first; i < first + SOON && i < pass->count; i++)
        if (cm_sums_are_of(&pass->calls[i])) return true;
    return false;
}

cm_status cm_fused_segments_run(const cm_fused_segments *all, cm_stream *stream, const cm_call_list *pass,
                                const cm_segment_runner *runner) {
    run r = {.stream = stream, .pass = pass, .runner = runner, .joins = all};
    int next = 0;
    for (int i = 0; i < pass->count;) {
        const segment *s = all && next < all->count ? &all->segment[next] : NULL;
        if (s && s->first == i) {
            CM_TRY(run_segment(&r, s, all->is_whole));
            i += s->count;
            next++;
        } else {
            CM_TRY(run_call(&r, &pass->calls[i]));
            i++;
        }
        if (!are_more_soon(pass, i)) CM_TRY(run_sums(&r));
    }
    return CM_OK;
}
