/* A stop that is asked by a signal, as a run's is. */
#ifndef TESTS_SUPPORT_ALARM_H
#define TESTS_SUPPORT_ALARM_H

#include <check.h>
#include <signal.h>
#include <sys/time.h>

#include "core/stop.h"

static cm_stop alarm_stop;

static inline void ring_alarm(int number) {
    (void)number;
    cm_stop_ask(&alarm_stop);
}

/* Not asked yet; it will be so many milliseconds from now, 1 .. 999. One at a time. */
static inline const cm_stop *stop_after(int milliseconds) {
    const struct itimerval once = {.it_value = {.tv_usec = 1000 * milliseconds}};
    alarm_stop = (cm_stop){0};
    ck_assert(signal(SIGALRM, ring_alarm) != SIG_ERR);
    ck_assert_int_eq(setitimer(ITIMER_REAL, &once, NULL), 0);
    return &alarm_stop;
}

#endif
