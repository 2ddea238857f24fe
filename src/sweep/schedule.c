#include "sweep/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

typedef struct result {
    double score;
    int trial;
    bool goes_on;
} result;

typedef struct standing {
    int begun, count; /* trials; results */
    result *best;     /* [trials], best first */
} standing;

struct cm_sweep_schedule {
    const cm_sweep_plan *plan;
    int workers, open;
    int64_t now;           /* virtual time */
    cm_sweep_place *place; /* [workers], of which `open` are in use */
    standing rung[CM_SWEEP_RUNGS];
};

/* ---- results ---- */

static bool stands_before(const result *a, const result *b) {
    if (isnan(a->score) != isnan(b->score)) return isnan(b->score);
    if (a->score > b->score || a->score < b->score) return a->score > b->score;
    return a->trial < b->trial;
}

static void insert(standing *r, result new) {
    int at = r->count++;
    for (; at > 0 && stands_before(&new, &r->best[at - 1]); at--) r->best[at] = r->best[at - 1];
    r->best[at] = new;
}

/* ---- who is next ---- */

static void begin(cm_sweep_schedule *s, int rung, int trial) {
    const int64_t *steps = s->plan->steps;
    s->rung[rung].begun++;
    s->place[s->open++] = (cm_sweep_place){rung, trial, s->now + steps[rung] - (rung > 0 ? steps[rung - 1] : 0)};
}

/* The best of a rung that may go on and has not; `settled`: nothing else can change who is best there. */
static result *find_due(cm_sweep_schedule *s, int index, bool settled) {
    standing *r = &s->rung[index];
    const int width = settled ? cm_sweep_plan_width(s->plan, index + 1) : 0;
    int most = s->plan->workers > 0 ? r->count / CM_SWEEP_ETA : 0;
    if (most < width) most = width;
    for (int i = 0; i < most && i < r->count && !isnan(r->best[i].score); i++)
        if (!r->best[i].goes_on) return &r->best[i];
    return NULL;
}

static bool begin_one(cm_sweep_schedule *s, bool settled) {
    for (int r = s->plan->rungs - 2; r >= 0; r--) {
        result *due = find_due(s, r, settled);
        if (!due) continue;
        due->goes_on = true;
        begin(s, r + 1, due->trial);
        return true;
    }
    if (s->rung[0].begun == s->plan->trials) return false;
    begin(s, 0, s->rung[0].begun);
    return true;
}

static void fill(cm_sweep_schedule *s) {
    const bool settled = s->open == 0 && s->rung[0].begun == s->plan->trials;
    while (s->open < s->workers && begin_one(s, settled)) {
    }
}

/* ---- the schedule ---- */

cm_status cm_sweep_schedule_create(const cm_sweep_plan *plan, cm_sweep_schedule **out) {
    cm_sweep_schedule *s;
    cm_status status = CM_OK;
    CM_TRY(cm_alloc(&s, 1, sizeof *s, "a schedule"));
    s->plan = plan;
    s->workers = plan->workers > 0 && plan->workers < plan->trials ? plan->workers : plan->trials;
    status = cm_alloc(&s->place, (size_t)s->workers, sizeof *s->place, "a schedule");
    for (int r = 0; status == CM_OK && r < plan->rungs; r++)
        status = cm_alloc(&s->rung[r].best, (size_t)plan->trials, sizeof *s->rung[r].best, "a schedule");
    if (status != CM_OK) {
        cm_sweep_schedule_destroy(s);
        return status;
    }
    fill(s);
    *out = s;
    return CM_OK;
}

void cm_sweep_schedule_destroy(cm_sweep_schedule *s) {
    if (!s) return;
    for (int r = 0; r < CM_SWEEP_RUNGS; r++) free(s->rung[r].best);
    free(s->place);
    free(s);
}

const cm_sweep_place *cm_sweep_schedule_open(const cm_sweep_schedule *s, int *count) {
    *count = s->open;
    return s->place;
}

/* Of those that end together the one that was begun first. */
const cm_sweep_place *cm_sweep_schedule_next(const cm_sweep_schedule *s) {
    const cm_sweep_place *next = NULL;
    for (int i = 0; i < s->open; i++)
        if (!next || s->place[i].end < next->end) next = &s->place[i];
    return next;
}

void cm_sweep_schedule_take(cm_sweep_schedule *s, double score) {
    cm_sweep_place *next = &s->place[cm_sweep_schedule_next(s) - s->place];
    insert(&s->rung[next->rung], (result){.score = score, .trial = next->trial});
    s->now = next->end;
    s->open--;
    memmove(next, next + 1, (size_t)(s->place + s->open - next) * sizeof *next);
    fill(s);
}

int cm_sweep_schedule_count(const cm_sweep_schedule *s, int rung, bool open) {
    return open ? s->rung[rung].begun : s->rung[rung].count;
}
