/* Time by stage: every range of a trace belongs to a stage, and a thread's time to the innermost range it is in.
 *
 * The thread that leads is the one that trains. While it waits for the thread that plays environments ("play") that
 * one's time stands for its own, so that the stages add up to the wall time. */
#include <stdatomic.h>
#include <string.h>

#include "cli/profile.h"
#include "core/clock.h"
#include "core/trace.h"

static const struct {
    const char *name, *about;
} stages[CM_STAGES] = {
#define CM_STAGE(NAME, name, about) {#name, about},
#include "cli/profile_stages.def"
#undef CM_STAGE
};

const char *cm_stage_name(cm_stage stage) { return stages[stage].name; }
const char *cm_stage_about(cm_stage stage) { return stages[stage].about; }

/* The stage of a range's own time; ranges that are not here belong to CM_STAGE_OTHER. */
static const struct {
    const char *range;
    cm_stage stage;
} ranges[] = {
    {"environment", CM_STAGE_ENVIRONMENT},
    {"search", CM_STAGE_TREE},
    {"append", CM_STAGE_REPLAY},
    {"draw", CM_STAGE_REPLAY},
    {"learn", CM_STAGE_REPLAY}, /* batches are handed over, priorities come back */
    {"reanalyse", CM_STAGE_REANALYSIS},
    {"bootstrap", CM_STAGE_REANALYSIS},
    {"forward", CM_STAGE_FORWARD},
    {"backward", CM_STAGE_BACKWARD},
    {"optimizer", CM_STAGE_OPTIMIZER},
    {"stage", CM_STAGE_COPIES},
    {"observe", CM_STAGE_COPIES},
    {"wait", CM_STAGE_WAITING},
    {"reduce", CM_STAGE_WAITING},
    {"play", CM_STAGES},
};

/* CM_STAGES: the time of the one that leads while another one's stands for it, which counts nowhere. */
enum { DEEPEST = 64, ACCOUNTED = CM_STAGES + 1 };
#define TIMELINE_SECONDS 2.0
#define SHORTEST_SPAN    5e-5

/* What a thread has been in. */
typedef struct account {
    double lead[ACCOUNTED], all[ACCOUNTED];
} account;

static struct {
    atomic_bool on;
    atomic_int epoch, threads;
    atomic_bool plays;  /* the one that leads waits for the one that plays */
    atomic_bool played; /* which is known: the first that acts */
    atomic_int spans;
    double start;
    account account[CM_PROFILE_THREADS];
    cm_stage_span span[CM_SPANS];
} profile;

static _Thread_local struct {
    int epoch, number, depth;
    bool leads; /* its time counts as that of the one that leads */
    double since;
    cm_stage stage[DEEPEST];
    double begin[DEEPEST];
} own;

static cm_stage stage_of(const char *range) {
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (strcmp(ranges[i].range, range) == 0) return ranges[i].stage;
    return CM_STAGE_OTHER;
}

/* The calling thread's account of this measurement; NULL: it came when there was none left. */
static account *mine(void) {
    const int epoch = atomic_load_explicit(&profile.epoch, memory_order_relaxed);
    if (own.epoch != epoch) {
        own.epoch = epoch, own.depth = 0, own.leads = false;
        own.number = atomic_fetch_add(&profile.threads, 1);
    }
    return own.number < CM_PROFILE_THREADS ? &profile.account[own.number] : NULL;
}

static void charge(account *a, double now) {
    if (own.depth == 0) return;
    const cm_stage stage = own.stage[own.depth < DEEPEST ? own.depth - 1 : DEEPEST - 1];
    a->all[stage] += now - own.since;
    if (own.leads) a->lead[stage] += now - own.since;
}

static void enter(cm_stage stage) {
    account *a = mine();
    const double now = cm_clock_seconds();
    if (!a) return;
    charge(a, now);
    if (own.depth < DEEPEST) own.stage[own.depth] = stage, own.begin[own.depth] = now;
    own.depth++;
    own.since = now;
}

static void keep_span(double now) {
    const int top = own.depth - 1;
    if (top >= DEEPEST || own.stage[top] >= CM_STAGE_OTHER) return;
    if (now - profile.start > TIMELINE_SECONDS || now - own.begin[top] < SHORTEST_SPAN) return;
    const int place = atomic_fetch_add(&profile.spans, 1);
    if (place >= CM_SPANS) return;
    profile.span[place] =
        (cm_stage_span){own.begin[top] - profile.start, now - profile.start, own.number, own.stage[top]};
}

static void leave(void) {
    account *a = mine();
    const double now = cm_clock_seconds();
    if (!a || own.depth == 0) return; /* begun before the measurement */
    charge(a, now);
    keep_span(now);
    own.depth--;
    own.since = now;
}

cm_stage cm_stage_now(void) {
    const bool is_in = own.epoch == atomic_load(&profile.epoch) && own.depth > 0 && own.depth <= DEEPEST;
    return is_in ? own.stage[own.depth - 1] : CM_STAGE_OTHER;
}

void cm_stage_enter(cm_stage stage) {
    if (atomic_load_explicit(&profile.on, memory_order_relaxed)) enter(stage);
}

void cm_stage_leave(void) {
    if (atomic_load_explicit(&profile.on, memory_order_relaxed)) leave();
}

/* ---- as a listener ---- */

/* What the thread that plays environments begins with. */
static bool plays(const char *range) { return strcmp(range, "act") == 0 || strcmp(range, "overlap") == 0; }

static void begin_range(const char *name) {
    const cm_stage stage = stage_of(name);
    if (!mine()) return;
    if (stage == CM_STAGES) atomic_store(&profile.plays, true);
    if (own.depth == 0 && own.number != 0)
        own.leads = plays(name) && atomic_load(&profile.plays) && !atomic_exchange(&profile.played, true);
    enter(stage);
}

static void end_range(void) {
    if (cm_stage_now() == CM_STAGES) atomic_store(&profile.plays, false), atomic_store(&profile.played, false);
    leave();
}

static const cm_trace_listener listener = {begin_range, end_range};

void cm_stages_begin(void) {
    memset(profile.account, 0, sizeof profile.account);
    atomic_store(&profile.threads, 0);
    atomic_store(&profile.spans, 0);
    atomic_store(&profile.plays, false);
    atomic_store(&profile.played, false);
    atomic_fetch_add(&profile.epoch, 1);
    (void)mine(); /* number 0 */
    own.leads = true;
    profile.start = cm_clock_seconds();
    atomic_store(&profile.on, true);
    cm_trace_listen(&listener);
}

/* The threads have left their ranges, or wait. */
void cm_stages_end(cm_stage_times *out) {
    cm_trace_listen(NULL);
    atomic_store(&profile.on, false);
    *out = (cm_stage_times){.wall = cm_clock_seconds() - profile.start, .threads = atomic_load(&profile.threads)};
    if (out->threads > CM_PROFILE_THREADS) out->threads = CM_PROFILE_THREADS;
    double accounted = 0.0;
    for (int t = 0; t < out->threads; t++) {
        for (int s = 0; s < CM_STAGES; s++) {
            out->seconds[s] += profile.account[t].lead[s];
            accounted += profile.account[t].lead[s];
            if (s != CM_STAGE_WAITING) out->busy += profile.account[t].all[s];
        }
    }
    if (accounted < out->wall) out->seconds[CM_STAGE_OTHER] += out->wall - accounted; /* between ranges */
    const int spans = atomic_load(&profile.spans);
    out->span_count = spans < CM_SPANS ? spans : CM_SPANS;
    memcpy(out->span, profile.span, (size_t)out->span_count * sizeof *out->span);
}
