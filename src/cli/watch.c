#include "cli/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "core/busy.h"
#include "core/crash.h"
#include "core/log.h"

enum { SAY_SECONDS = 3, END_SECONDS = 9 };
static const double vain_seconds = 1.5; /* that what is in vain has, in which it may end as all else does */

static const char *command;
static const cm_stop *asked;

static void end(const char *what) {
    char line[4096 + 256];
    const char *advice = cm_crash_advice();
    snprintf(line, sizeof line,
             "cumind: %s: was asked to stop, and %s did not end within %d s (does an environment hang?)%s%s\n", command,
             what, END_SECONDS, advice[0] ? "; " : "", advice);
    if (write(STDERR_FILENO, line, strlen(line)) < 0) _exit(CM_EXIT_OTHER);
    _exit(CM_EXIT_OTHER);
}

static void end_in_vain(void) {
    char line[256];
    cm_busy_undo();
    snprintf(line, sizeof line, "cumind: %s: interrupted while it began, before there was anything to save\n", command);
    if (write(STDERR_FILENO, line, strlen(line)) < 0) _exit(CM_EXIT_INTERRUPTED);
    _exit(CM_EXIT_INTERRUPTED);
}

static void sleep_some(void) { nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL); }

/* It looks, as a handler of signals can do no more than to set a flag. */
static void *watch(void *context) {
    (void)context;
    while (!cm_stop_asked(asked)) sleep_some();
    const double began = cm_clock_seconds();
    for (double said = began, since = began;;) { /* since: what is awaited ended */
        cm_busy_kind kind;
        const char *what = cm_busy_what(&kind);
        const double now = cm_clock_seconds();
        if (kind == CM_BUSY_AWAITED) since = now;
        if (kind == CM_BUSY_VAIN && now - began >= vain_seconds) end_in_vain();
        if (now - since >= END_SECONDS) end(what);
        if (now - said >= SAY_SECONDS) {
            cm_log(CM_WARNING, "asked to stop %.0f s ago, and still %s", now - began, what);
            said = now;
        }
        sleep_some();
    }
    return NULL;
}

void cm_watch_begin(const char *name, const cm_stop *stop) {
    sigset_t all, old;
    pthread_t thread;
    if (asked) return;
    command = name, asked = stop;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    if (pthread_create(&thread, NULL, watch, NULL) == 0) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
