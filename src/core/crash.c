#include "core/crash.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/module.h"
#include "core/printable.h"

enum { FRAMES = 64, LINE_BYTES = 3 * 4096, ADVICE_BYTES = 4096, STACK_BYTES = 64 << 10, NEAR_BYTES = 64 << 10 };

static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { CAUGHT = sizeof caught / sizeof *caught };

static const char *line_before = "", *line_who = "";
static char line_advice[ADVICE_BYTES];
static _Thread_local _Alignas(16) char own_stack[STACK_BYTES];

/* ---- where ---- */

typedef struct place {
    const char *file;
    uintptr_t at; /* in it, as tools count that read it */
    bool is_module;
} place;

static uintptr_t program_counter(const ucontext_t *context) {
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)context->uc_mcontext.pc;
#endif
}

static uintptr_t stack_pointer(const ucontext_t *context) {
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
    return (uintptr_t)context->uc_mcontext.sp;
#endif
}

/* The program and its modules are ours to tell of, not the libraries that they call. */
static bool place_of(void *address, const void *program, place *out) {
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
    out->is_module = cm_module_is_open(info.dli_fbase);
    out->file = info.dli_fname;
    out->at = (uintptr_t)address - map->l_addr;
    return out->is_module || info.dli_fbase == program;
}

/* The innermost call of a module's code, else of the program's. */
static bool find_place(uintptr_t counter, place *out) {
    void *frame[FRAMES];
    Dl_info program;
    if (!dladdr((const void *)line_advice, &program)) return false;
    int count = backtrace(frame, FRAMES), first = 0;
    while (first < count && (uintptr_t)frame[first] != counter) first++; /* those of the handler */
    bool found = false;
    for (int i = first; i < count; i++) {
        place here;
        char *address = (char *)frame[i] - (i > first); /* a call, not what it returns to */
        if (!place_of(address, program.dli_fbase, &here) || (found && !here.is_module)) continue;
        *out = here, found = true;
        if (here.is_module) break;
    }
    return found;
}

/* ---- what ---- */

static const char *what_happened(int number, const siginfo_t *info, const ucontext_t *context) {
    switch (number) {
    case SIGSEGV: {
        const uintptr_t distance = (uintptr_t)info->si_addr - stack_pointer(context) + NEAR_BYTES;
        return distance < 2 * NEAR_BYTES ? "its stack is full (a recursion without end?)" : "a segmentation fault";
    }
    case SIGBUS: return "a bus error (a file that it reads was cut, or a full disk?)";
    case SIGFPE: return info->si_code == FPE_INTDIV ? "a division of an integer by zero" : "an arithmetic error";
    case SIGILL: return "an instruction that this processor does not have";
    default: return "a call of abort";
    }
}

static const char *what_to_do(int number, const place *where) {
    if (number == SIGILL) return "names the function; build it on this machine (make clean all), if it was on another";
    return where->is_module ? "names the function, and the line where it was built with -g"
                            : "names the function: please report it, with what led to it";
}

static int tell(char *line, int number, const siginfo_t *info, const ucontext_t *context) {
    place where;
    const char *what = what_happened(number, info, context), *and = line_advice[0] ? "; " : "";
    if (!find_place(program_counter(context), &where))
        return snprintf(line, LINE_BYTES, "%scumind: %s: crashed: %s%s%s\n", line_before, line_who, what, and,
                        line_advice);
    return snprintf(line, LINE_BYTES, "%scumind: %s: %s crashed: %s; `addr2line -fe %s 0x%zx` %s%s%s\n", line_before,
                    line_who, where.file, what, where.file, (size_t)where.at, what_to_do(number, &where), and,
                    line_advice);
}

/* Whatever goes wrong on the way: two seconds are enough. */
static void end_soon(void) {
    signal(SIGALRM, SIG_DFL);
    alarm(2);
}

/* A crash in here ends the process, too: the signal is blocked meanwhile. */
static void on_crash(int number, siginfo_t *info, void *context) {
    static atomic_flag is_told = ATOMIC_FLAG_INIT;
    static char line[LINE_BYTES];
    const bool is_sent = info->si_code <= 0 && info->si_pid != getpid(); /* by somebody else */
    while (atomic_flag_test_and_set(&is_told)) pause();                  /* another thread tells of its own */
    end_soon();
    if (!is_sent) {
        const int length = tell(line, number, info, context);
        const size_t size = length < LINE_BYTES ? (size_t)length : LINE_BYTES - 1;
        if (write(STDERR_FILENO, line, size) < 0) _exit(128 + number); /* no one is left to tell */
    }
    signal(number, SIG_DFL);
    raise(number);
}

void cm_crash_say_where(const void *context) {
    static char line[LINE_BYTES];
    place where;
    end_soon();
    if (!find_place(program_counter(context), &where) || !where.is_module) return;
    const int length = snprintf(line, sizeof line, "cumind: %s: it was in %s: `addr2line -fe %s 0x%zx` %s\n", line_who,
                                where.file, where.file, (size_t)where.at, what_to_do(SIGINT, &where));
    if (write(STDERR_FILENO, line, (size_t)length) < 0) return;
}

/* ---- asking for it ---- */

static bool is_telling;

void cm_crash_own_stack(void) {
    stack_t now;
    if (!is_telling || sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE))
        return; /* a sanitizer has given one */
    const stack_t own = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    sigaltstack(&own, NULL); /* without it a full stack ends the process untold */
}

const char *cm_crash_advice(void) { return line_advice; }

void cm_crash_advise(const char *advice) { cm_printable(advice, line_advice, sizeof line_advice); }

void cm_crash_catch(const char *before, const char *who) {
    void *frame[1];
    backtrace(frame, 1); /* its first call opens a library */
    line_before = before, line_who = who;
    for (int i = 0; i < CAUGHT; i++) {
        struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK}, now;
        sigemptyset(&action.sa_mask);
        if (sigaction(caught[i], NULL, &now) != 0 || now.sa_handler != SIG_DFL) continue;
        is_telling = sigaction(caught[i], &action, NULL) == 0;
    }
    cm_crash_own_stack();
}
