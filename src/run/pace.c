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
