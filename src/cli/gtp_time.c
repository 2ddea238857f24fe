/* Commands of the Go Text Protocol about time. */
#include <string.h>
#include <strings.h>

#include "cli/gtp.h"

static cm_status need_seconds(const cm_gtp *gtp, int index, double *out) {
    CM_TRY(cm_gtp_real(gtp, index, out));
    return *out >= 0.0 ? CM_OK : cm_fail(CM_ERR_INPUT, "syntax error");
}

static cm_status need_count(const cm_gtp *gtp, int index, int *out) {
    CM_TRY(cm_gtp_int(gtp, index, out));
    return *out >= 0 ? CM_OK : cm_fail(CM_ERR_INPUT, "syntax error");
}

static cm_status set_from(cm_gtp *gtp, int first) {
    double main, period;
    int stones;
    CM_TRY(need_seconds(gtp, first, &main));
    CM_TRY(need_seconds(gtp, first + 1, &period));
    CM_TRY(need_count(gtp, first + 2, &stones));
    cm_gtp_clock_set(&gtp->clock, main, period, stones);
    return CM_OK;
}

static cm_status run_time_settings(cm_gtp *gtp) { return set_from(gtp, 1); }

static cm_status run_kgs_time_settings(cm_gtp *gtp) {
    const char *kind = gtp->word[1];
    double main;
    if (strcasecmp(kind, "none") == 0) {
        cm_gtp_clock_set(&gtp->clock, 0.0, 1.0, 0);
        return CM_OK;
    }
    if (strcasecmp(kind, "canadian") == 0) return set_from(gtp, 2);
    if (strcasecmp(kind, "byoyomi") == 0) {
        CM_TRY(set_from(gtp, 2));
        gtp->clock.is_japanese = true;
        return CM_OK;
    }
    if (strcasecmp(kind, "absolute") != 0) return cm_fail(CM_ERR_INPUT, "syntax error");
    CM_TRY(need_seconds(gtp, 2, &main));
    cm_gtp_clock_set(&gtp->clock, main, 0.0, 0);
    return CM_OK;
}

static cm_status run_time_left(cm_gtp *gtp) {
    int player, stones;
    double seconds;
    CM_TRY(cm_gtp_colour(gtp, 1, &player));
    CM_TRY(need_seconds(gtp, 2, &seconds));
    CM_TRY(need_count(gtp, 3, &stones));
    gtp->clock.is_limited = true;
    gtp->clock.left[player].seconds = seconds;
    gtp->clock.left[player].stones = stones;
    return CM_OK;
}

const cm_gtp_command cm_gtp_time[] = {
    {"time_settings", 3, false, run_time_settings},
    {"kgs-time_settings", 1, false, run_kgs_time_settings},
    {"time_left", 3, false, run_time_left},
    CM_GTP_END,
};
