#include "core/clock.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

double cm_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double cm_clock_unix(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cm_clock_stamp(char out[32]) {
    time_t now = time(NULL);
    struct tm local;
    if (!localtime_r(&now, &local) || strftime(out, 32, "%Y%m%d-%H%M%S", &local) == 0)
        snprintf(out, 32, "%s", "unknown");
}

void cm_clock_format_duration(double s, char out[16]) {
    if (!(s >= 0.0)) s = 0.0;
    s = floor(fmin(s, 4.2e9) + 0.5); /* 133 years */
    uint32_t seconds = (uint32_t)s, minutes = seconds / 60, hours = minutes / 60;
    if (hours > 0) {
        snprintf(out, 16, "%uh%02um", hours, minutes % 60);
    } else if (minutes > 0) {
        snprintf(out, 16, "%um%02us", minutes, seconds % 60);
    } else {
        snprintf(out, 16, "%us", seconds);
    }
}
