#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/terminal.h"

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
    (void)number;
    interrupted = 1;
}

void cm_interrupt_catch(void) {
    static const int requests[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND}, now;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        sigaction(requests[i], NULL, &now);
        if (requests[i] == SIGHUP && now.sa_handler == SIG_IGN) continue; /* under nohup */
        sigaction(requests[i], &action, NULL);
    }
}

bool cm_interrupted(void) { return interrupted != 0; }

static const char *last_line = "";

static void on_end(int number) {
    ssize_t written = write(STDERR_FILENO, last_line, strlen(last_line));
    (void)written; /* there is no one left to tell */
    _exit(128 + number);
}

static cm_stop stop;

static void on_ask(int number) {
    if (cm_stop_is_urged(&stop)) on_end(number);
    cm_stop_ask(&stop);
}

const cm_stop *cm_interrupt_asks(void) {
    struct sigaction action = {.sa_handler = on_ask, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &stop;
}

/* Two lines, one of which is said while the other is written. */
void cm_interrupt_leaves(const char *name, const char *what) {
    static char lines[2][160];
    static int next;
    const char *clear = cm_terminal_of(STDERR_FILENO).redraws ? "\r\033[K" : ""; /* the line of progress */
    snprintf(lines[next], sizeof lines[next], "%scumind: %s: interrupted; %s\n", clear, name, what);
    __atomic_store_n(&last_line, lines[next], __ATOMIC_RELEASE);
    next = 1 - next;
}

void cm_interrupt_ends(const char *name) {
    struct sigaction action = {.sa_handler = on_end};
    cm_interrupt_leaves(name, "it has no result");
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
