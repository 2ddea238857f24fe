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
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool cm_interrupted(void) { return interrupted != 0; }

static char last_line[96];

static void on_end(int number) {
    ssize_t written = write(STDERR_FILENO, last_line, strlen(last_line));
    (void)written; /* there is nobody left to tell */
    _exit(128 + number);
}

void cm_interrupt_ends(const char *name) {
    struct sigaction action = {.sa_handler = on_end};
    const char *clear = cm_terminal_of(STDERR_FILENO).redraws ? "\r\033[K" : ""; /* the line of progress */
    snprintf(last_line, sizeof last_line, "%scumind: %s: interrupted; it has no result\n", clear, name);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}
