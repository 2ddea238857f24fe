/* mpirun waits for its daemons on all machines before it ends; for one behind a cable that was pulled, as long as TCP
 * tries, a quarter of an hour. So a process of ours on each machine outlives the ranks there and ends mpirun, or its
 * daemon, if that does not end by itself. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/arena.h"
#include "distributed/mpi/internal.h"

enum { GRACE_MS = 3000, LOOK_MS = 100 };

struct cm_guard {
    int line; /* the other end is the guard's; it hangs up when this process ends, however it does */
};

/* Open MPI says how many ranks there are, here and in all. */
static int number_of(const char *variable) {
    const char *text = getenv(variable);
    return text ? atoi(text) : -1;
}

/* True if `pid` is mpirun or a daemon of it: a batch system looks after its own. */
static bool is_launcher(pid_t pid) {
    static const char *const names[] = {"mpirun", "orterun", "orted"};
    char path[32], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(name, sizeof name, file)) name[0] = '\0';
    if (file) fclose(file);
    name[strcspn(name, "\n")] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

/* The guard's life. The launcher's end is seen by its name too, as another process may get its number. */
static void watch(int line, pid_t launcher) {
    char word;
    setsid();
    prctl(PR_SET_NAME, "cumind-guard");
    for (int number = 1; number < NSIG; number++) signal(number, SIG_IGN);
    for (int fd = 0; fd < 1024; fd++) {
        if (fd != line) close(fd);
    }
    if (read(line, &word, 1) == 1) _exit(0); /* all went well */
    for (int ms = 0; ms < GRACE_MS; ms += LOOK_MS) {
        if (!is_launcher(launcher)) _exit(0);
        poll(NULL, 0, LOOK_MS);
    }
    kill(launcher, SIGKILL); /* told more gently, mpirun 4.1 goes on waiting */
    _exit(0);
}

cm_status cm_guard_start(cm_guard **out) {
    int ends[2], here = number_of("OMPI_COMM_WORLD_LOCAL_SIZE"), all = number_of("OMPI_COMM_WORLD_SIZE");
    pid_t launcher = getppid();
    *out = NULL;
    if (here >= all || number_of("OMPI_COMM_WORLD_LOCAL_RANK") != 0 || !is_launcher(launcher)) return CM_OK;
    CM_TRY(cm_alloc(out, 1, sizeof **out, "the guard of the ranks"));
    if (pipe(ends) == 0) {
        pid_t child = fork();
        if (child == 0) watch(ends[0], launcher);
        close(ends[0]);
        (*out)->line = ends[1];
        if (child > 0) return CM_OK;
        close(ends[1]);
    }
    free(*out);
    *out = NULL;
    return cm_fail(CM_ERR_DEVICE, "the process that guards the ranks of this machine cannot be started");
}

void cm_guard_stop(cm_guard *guard) {
    if (!guard) return;
    ssize_t n = write(guard->line, "", 1);
    (void)n; /* a guard that is gone needs no word */
    close(guard->line);
    free(guard);
}
