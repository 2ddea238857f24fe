/* What the ranks of a run agree on. With one rank nothing is sent and nothing changes. */
#include <math.h>

#include "core/clock.h"
#include "run/ranks.h"
#include "run/run_internal.h"

static cm_comm *comm_of(const cm_run *run) { return run->session->comm; }

cm_status cm_run_count(cm_run *run) {
    run->counts = (cm_actor_counts){.mean_return = (double)NAN, .mean_length = (double)NAN};
    if (run->actor) cm_actor_count(run->actor, &run->counts);
    return cm_ranks_count(comm_of(run), &run->counts);
}

cm_status cm_run_ask_stop(cm_run *run, bool *is_asked) {
    *is_asked = cm_stop_asked(run->stop);
    return cm_ranks_any(comm_of(run), is_asked);
}

cm_status cm_run_ask_time(cm_run *run) {
    const double before = run->state.seconds;
    double seconds[2] = {cm_clock_seconds() - run->began, run->halt.until - run->began}; /* so far, and in all */
    if (!(run->halt.until > 0.0) || run->time_over) return CM_OK;
    run->time_over = seconds[0] >= seconds[1];
    CM_TRY(cm_ranks_any(comm_of(run), &run->time_over));
    CM_TRY(comm_of(run)->broadcast(comm_of(run), seconds, sizeof seconds, 0));
    run->time_share = run->time_over ? 1.0 : fmin(1.0, (before + seconds[0]) / (before + seconds[1]));
    return CM_OK;
}

cm_status cm_run_share_directory(cm_run *run) {
    return comm_of(run)->broadcast(comm_of(run), run->directory.path, sizeof run->directory.path, 0);
}
