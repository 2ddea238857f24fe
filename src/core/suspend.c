#include "core/suspend.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t asked, is_caught;

static void on_stop(int number) {
    (void)number;
    asked = 1;
}

bool cm_suspend_catch(void) {
    struct sigaction action = {.sa_handler = on_stop}, now;
    sigaction(SIGTSTP, NULL, &now);
    if (now.sa_handler == SIG_IGN) return false;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTSTP, &action, NULL);
    is_caught = 1;
    return true;
}

void cm_suspend_release(void) {
    if (is_caught) signal(SIGTSTP, SIG_DFL);
    is_caught = 0;
}

bool cm_suspend_asked(void) {
    const bool was = asked != 0;
    asked = 0;
    return was;
}

void cm_suspend_self(void) {
    struct sigaction before;
    sigset_t one, mask;
    sigemptyset(&one);
    sigaddset(&one, SIGTSTP);
    sigaction(SIGTSTP, &(struct sigaction){.sa_handler = SIG_DFL}, &before);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &one, &mask); /* here it stops */
    sigprocmask(SIG_SETMASK, &mask, NULL);
    sigaction(SIGTSTP, &before, NULL);
}
