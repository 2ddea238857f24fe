#include "run/pace.h"

#include <math.h>
#include <stdio.h>

#include "core/clock.h"

#define KNOWN_SECONDS 60.0
#define LONG_SECONDS  1800.0
#define MOST_OF_IT    0.9
#define OFTEN         4.0 /* and the step by which it is lowered */

void cm_pace_advise(cm_pace *pace, double whole, double replay_ratio, char *out, size_t size) {
    char now[16], then[16];
    const double share = pace->learning / pace->seconds;
    out[0] = '\0';
    if (pace->is_said || pace->seconds < KNOWN_SECONDS) return;
    if (!(isfinite(whole) && whole >= LONG_SECONDS && share >= MOST_OF_IT && replay_ratio >= OFTEN)) return;
    pace->is_said = true;
    cm_clock_format_duration(whole, now);
    cm_clock_format_duration(whole * (1.0 - share + share / OFTEN), then);
    snprintf(out, size,
             "%.0f %% of the time is learning, from each step %g times: a run with replay_ratio=%g would take %s in "
             "place of %s; where steps are cheap it is better lower (docs/TUNING.md)",
             100.0 * share, replay_ratio, replay_ratio / OFTEN, then, now);
}

/* ---- a limit on time ---- */

#define MOST_SHARE    0.25
#define UNKNOWN_SHARE 0.1
#define GROWTH        1.5 /* of episodes, until the run ends: those of a learning agent may get longer */
#define MARGIN        1.1 /* as two evaluations do not take the same time */

double cm_pace_need(const cm_pace *pace, int episodes, int most_steps) {
    const double grown = GROWTH * pace->length, length = most_steps > 0 ? fmin(grown, most_steps) : grown;
    double step = (double)NAN;
    if (pace->steps > 0) step = pace->acting / (double)pace->steps;
    if (pace->evaluated > 0) step = pace->evaluating / (double)pace->evaluated;
    return length > 0.0 ? MARGIN * step * length * episodes : (double)NAN;
}

bool cm_pace_affords(const cm_pace *pace, int episodes, int most_steps, double spent) {
    cm_pace known = *pace;
    if (!(known.length > 0.0)) known.length = most_steps;
    const double need = cm_pace_need(&known, episodes, most_steps);
    return isnan(need) || pace->evaluating + need <= MOST_SHARE * (spent + need);
}

double cm_pace_reserve(const cm_pace *pace, int episodes, int most_steps, double limit) {
    const double need = episodes > 0 ? cm_pace_need(pace, episodes, most_steps) : 0.0;
    return fmin((isfinite(need) ? need : UNKNOWN_SHARE * limit) + pace->saving, MOST_SHARE * limit);
}
