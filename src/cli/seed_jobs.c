#include "cli/seed_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "cli/output.h"
#include "core/arena.h"
#include "core/cpu.h"
#include "core/memory.h"
#include "core/stop.h"
#include "core/suspend.h"

enum { LINE = 4096, SAID = 256, LOOK_MS = 100, FILES = 3 };

/* ---- signals ---- */

static volatile sig_atomic_t asked, urged, latest; /* all, those that end the processes at once, the last */
static cm_stop people;                             /* asked by the two that mean it when they come again */

static void on_signal(int number) {
    if (number == SIGINT || number == SIGTERM) {
        if (cm_stop_is_urged(&people)) urged = 1;
        cm_stop_ask(&people);
    }
    asked = 1, latest = number;
}

/* They come only while the parent waits. *before: the mask without them. */
static void catch_signals(sigset_t *before) {
    static const int requests[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
    const struct sigaction action = {.sa_handler = on_signal};
    sigset_t block;
    sigemptyset(&block);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct sigaction now;
        sigaction(requests[i], NULL, &now);
        if (requests[i] == SIGHUP && now.sa_handler == SIG_IGN) continue; /* under nohup */
        sigaction(requests[i], &action, NULL);
        sigaddset(&block, requests[i]);
    }
    if (cm_suspend_catch()) sigaddset(&block, SIGTSTP);
    signal(SIGPIPE, SIG_IGN); /* the runs go on whatever becomes of their lines */
    sigprocmask(SIG_BLOCK, &block, before);
}

/* ---- a question ---- */

typedef struct reply {
    cm_status status;
    int number;
    char error[CM_SEED_ERROR];
} reply;

static cm_status fail_process(void) { return cm_fail(CM_ERR_IO, "no process can be begun: %s", strerror(errno)); }

cm_status cm_seed_jobs_ask(cm_status (*count)(const cm_arguments *arguments, int *out), const cm_arguments *arguments,
                           int *out) {
    reply r = {.status = CM_ERR_STATE, .error = "the process that reads the configuration has ended"};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return fail_process();
    fflush(NULL);
    const pid_t process = fork();
    if (process == 0) {
        r.status = count(arguments, &r.number);
        snprintf(r.error, sizeof r.error, "%s", r.status == CM_OK ? "" : cm_error_message());
        _exit(write(ends[1], &r, sizeof r) == sizeof r ? 0 : CM_EXIT_OTHER);
    }
    close(ends[1]);
    reply got;
    const bool is_there = process > 0 && read(ends[0], &got, sizeof got) == sizeof got;
    close(ends[0]);
    if (process < 0) return fail_process();
    waitpid(process, NULL, 0);
    if (is_there) r = got;
    *out = r.number;
    return r.status == CM_OK ? CM_OK : cm_fail(r.status, "%s", r.error);
}

/* ---- the processes ---- */

/* Lines that come through a pipe. */
typedef struct reader {
    int file; /* -1: closed */
    char line[LINE];
    size_t used;
} reader;

/* A place at which seeds are trained one after another. */
typedef struct worker {
    cm_seed *seed; /* NULL: none */
    pid_t process;
    reader out, err;
    int result; /* pipe by which the seed comes back, all of it at the end */
    cm_seed back;
    size_t got;       /* bytes of it */
    char shown[LINE]; /* last line of its stdout */
} worker;

typedef struct jobs {
    cm_seeds *seeds;
    cm_view view;
    bool json, draws;
    int count, next; /* workers; the next seed to begin */
    worker *worker;
    int drawn; /* lines on the terminal */
    bool has_failed, is_told;
    uint64_t said[SAID]; /* hashes of lines on stderr */
    int said_count;
    sigset_t mask;
} jobs;

/* Of a seed's process. */
static int hand_in = -1;
static sigset_t mask;

void cm_seed_jobs_heed(void) { sigprocmask(SIG_SETMASK, &mask, NULL); }

void cm_seed_jobs_hand_in(const cm_seed *own) {
    const char *bytes = (const char *)own;
    for (size_t at = 0; at < sizeof *own;) {
        const ssize_t n = write(hand_in, bytes + at, sizeof *own - at);
        if (n < 0 && errno != EINTR) return;
        at += n > 0 ? (size_t)n : 0;
    }
}

static void close_files(const worker *w) {
    const int files[FILES] = {w->out.file, w->err.file, w->result};
    for (int i = 0; i < FILES; i++)
        if (files[i] >= 0) close(files[i]);
}

/* In the new process. Its group is its own, so that ctrl-C and ctrl-Z come to the parent alone. */
static void become(const jobs *j, const int to[FILES], int place, pid_t parent) {
    for (int i = 0; i < j->count; i++)
        if (i != place && j->worker[i].seed) close_files(&j->worker[i]);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(CM_EXIT_OTHER);
    setpgid(0, 0);
    cm_suspend_release();
    if (!freopen("/dev/null", "r", stdin)) _exit(CM_EXIT_OTHER);
    dup2(to[0], STDOUT_FILENO);
    dup2(to[1], STDERR_FILENO);
    hand_in = to[2];
    mask = j->mask;
    cm_cpu_share(place, j->count, cm_cpu_count() / j->count);
}

static void close_all(int pipes[FILES][2], int side) {
    for (int i = 0; i < FILES; i++)
        if (pipes[i][side] >= 0) close(pipes[i][side]);
}

static cm_status open_pipes(int pipes[FILES][2]) {
    for (int i = 0; i < FILES; i++) pipes[i][0] = pipes[i][1] = -1;
    for (int i = 0; i < FILES; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) == 0 && fcntl(pipes[i][0], F_SETFL, O_NONBLOCK) == 0) continue;
        const int why = errno;
        close_all(pipes, 0);
        close_all(pipes, 1);
        return cm_fail(CM_ERR_IO, "no pipe to a process: %s", strerror(why));
    }
    return CM_OK;
}

/* True in the new process. */
static cm_status begin(jobs *j, int place, bool *is_new) {
    worker *w = &j->worker[place];
    int pipes[FILES][2];
    const pid_t parent = getpid();
    CM_TRY(open_pipes(pipes));
    fflush(NULL);
    const pid_t process = fork();
    if (process < 0) {
        const cm_status status = fail_process();
        close_all(pipes, 0);
        close_all(pipes, 1);
        return status;
    }
    *is_new = process == 0;
    w->seed = &j->seeds->row[j->next++];
    w->seed->is_begun = true;
    if (process == 0) {
        close_all(pipes, 0);
        become(j, (const int[FILES]){pipes[0][1], pipes[1][1], pipes[2][1]}, place, parent);
        return CM_OK;
    }
    close_all(pipes, 1);
    setpgid(process, process); /* whichever of the two comes first */
    w->process = process;
    w->out.file = pipes[0][0], w->err.file = pipes[1][0], w->result = pipes[2][0];
    w->out.used = w->err.used = w->got = 0;
    w->shown[0] = '\0';
    return CM_OK;
}

/* ---- what they say ---- */

/* At most `columns` characters of a line. */
static int fitting(const char *line, int columns) {
    int bytes = 0;
    while (line[bytes] && (columns > 0 || (line[bytes] & 0xC0) == 0x80)) {
        bytes++;
        if ((line[bytes] & 0xC0) != 0x80) columns--;
    }
    return bytes;
}

static void clear(jobs *j) {
    if (j->drawn > 0) printf("\033[%dA\r\033[J", j->drawn);
    j->drawn = 0;
}

static void draw(jobs *j) {
    const int most = j->view.rows > 2 ? j->view.rows - 2 : j->count;
    if (!j->draws) return;
    clear(j);
    for (int i = 0; i < j->count && j->drawn < most; i++) {
        const worker *w = &j->worker[i];
        char line[LINE + 32];
        if (!w->seed) continue;
        snprintf(line, sizeof line, "%s %lld  %s", j->seeds->noun, (long long)w->seed->seed, w->shown);
        printf("%.*s\n", fitting(line, j->view.columns), line);
        j->drawn++;
    }
    fflush(stdout);
}

static void read_output(jobs *j, worker *w, const char *line) {
    snprintf(w->shown, sizeof w->shown, "%s", line);
    if (j->draws) return;
    if (j->json && line[0] == '{') {
        printf("{\"%s\": %lld, %s\n", j->seeds->member, (long long)w->seed->seed, line + 1);
    } else {
        printf("%s %lld  %s\n", j->seeds->noun, (long long)w->seed->seed, line);
    }
    fflush(stdout);
}

/* A line that another has said, too, is not said again. */
static bool is_first(jobs *j, const char *line) {
    const uint64_t hash = XXH3_64bits(line, strlen(line));
    for (int i = 0; i < j->said_count && i < SAID; i++)
        if (j->said[i] == hash) return false;
    j->said[j->said_count++ % SAID] = hash;
    return true;
}

static void read_error(jobs *j, worker *w, const char *line) {
    static const char own[] = "cumind: ";
    if (strncmp(line, own, sizeof own - 1) == 0) {
        snprintf(w->seed->error, sizeof w->seed->error, "%s", line + sizeof own - 1);
    } else if (*line && is_first(j, line)) {
        clear(j);
        cm_cli_say("%s %lld  %s", j->seeds->noun, (long long)w->seed->seed, line);
        draw(j);
    }
}

/* All that is there. */
static bool read_lines(jobs *j, worker *w, reader *r, void (*read_line)(jobs *j, worker *w, const char *line)) {
    char bytes[LINE];
    bool has_some = false;
    for (ssize_t n; r->file >= 0 && (n = read(r->file, bytes, sizeof bytes)) != 0; has_some = true) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return has_some;
        for (ssize_t i = 0; i < n; i++) {
            if (bytes[i] != '\n') r->line[r->used++] = bytes[i];
            if (bytes[i] != '\n' && r->used < sizeof r->line - 1) continue;
            r->line[r->used] = '\0', r->used = 0;
            read_line(j, w, r->line);
        }
    }
    if (r->file >= 0) close(r->file);
    r->file = -1;
    return has_some;
}

static void read_result(worker *w) {
    while (w->result >= 0 && w->got < sizeof w->back) {
        const ssize_t n = read(w->result, (char *)&w->back + w->got, sizeof w->back - w->got);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        w->got += (size_t)n;
    }
}

/* ---- the work of the parent ---- */

/* What a process has left that has ended: those that it has started may still hold its outputs, and are not waited for.
 */
static void finish(jobs *j, worker *w, int state) {
    cm_seed *s = w->seed;
    read_lines(j, w, &w->out, read_output);
    read_lines(j, w, &w->err, read_error);
    read_result(w);
    close_files(w);
    if (w->got == sizeof w->back) {
        s->result = w->back.result, s->is_made = true;
        memcpy(s->folder, w->back.folder, sizeof s->folder);
    }
    s->code = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
    if (s->code != 0 && s->error[0] == '\0' && WIFSIGNALED(state)) {
        snprintf(s->error, sizeof s->error, "its process was ended by signal %d (%s)", WTERMSIG(state),
                 strsignal(WTERMSIG(state)));
    } else if (s->code != 0 && s->error[0] == '\0') {
        snprintf(s->error, sizeof s->error, "its process has ended with status %d", s->code);
    }
    j->has_failed |= s->code != 0;
    w->seed = NULL;
}

static void look(jobs *j, worker *w, bool *has_news) {
    int state;
    if (!w->seed) return;
    const bool is_over = waitpid(w->process, &state, WNOHANG) == w->process;
    if (read_lines(j, w, &w->out, read_output)) *has_news = true;
    read_lines(j, w, &w->err, read_error);
    read_result(w);
    if (!is_over) return;
    finish(j, w, state);
    *has_news = true;
}

/* Tells all what was asked for. */
static void pass_on(jobs *j) {
    static const char text[] = "every run ends where it is, then all is saved; again to end at once";
    for (int i = 0; i < j->count; i++) {
        const worker *w = &j->worker[i];
        if (!w->seed) continue;
        kill(urged ? -w->process : w->process, urged ? SIGKILL : SIGUSR1);
        if (urged) waitpid(w->process, NULL, 0);
    }
    if (urged) _exit(128 + latest);
    clear(j);
    if (latest == SIGINT) fprintf(stderr, "\n%s\n", text);
    draw(j);
    j->is_told = true;
}

static void tell_all(const jobs *j, int number) {
    for (int i = 0; i < j->count; i++)
        if (j->worker[i].seed) kill(-j->worker[i].process, number);
}

/* What is behind on the terminal then is of others. */
static void suspend(jobs *j) {
    tell_all(j, SIGSTOP);
    cm_suspend_self();
    tell_all(j, SIGCONT);
    j->drawn = 0;
    draw(j);
}

static void wait_for_news(const jobs *j) {
    struct pollfd files[CM_SEEDS * FILES];
    const struct timespec wait = {.tv_nsec = LOOK_MS * 1000000L};
    nfds_t count = 0;
    for (int i = 0; i < j->count; i++) {
        const worker *w = &j->worker[i];
        if (!w->seed) continue;
        files[count++] = (struct pollfd){.fd = w->out.file, .events = POLLIN};
        files[count++] = (struct pollfd){.fd = w->err.file, .events = POLLIN};
        files[count++] = (struct pollfd){.fd = w->result, .events = POLLIN};
    }
    if (ppoll(files, count, &wait, &j->mask) < 0) return; /* a signal */
}

static int running(const jobs *j) {
    int count = 0;
    for (int i = 0; i < j->count; i++) count += j->worker[i].seed != NULL;
    return count;
}

static bool begins_more(const jobs *j) { return j->next < j->seeds->count && !asked && !j->has_failed; }

/* Until all have ended, or in a new process at once: the number of its place; -1: in the parent. */
static cm_status work(jobs *j, int *place) {
    cm_status status = CM_OK;
    *place = -1;
    while (status == CM_OK && (running(j) > 0 || begins_more(j))) {
        bool has_news = false, is_new = false;
        for (int i = 0; i < j->count && begins_more(j) && status == CM_OK; i++) {
            if (!j->worker[i].seed) status = begin(j, i, &is_new);
            if (is_new) *place = i;
            if (is_new) return CM_OK;
        }
        wait_for_news(j);
        for (int i = 0; i < j->count; i++) look(j, &j->worker[i], &has_news);
        if (has_news) draw(j);
        if (urged || (asked && !j->is_told)) pass_on(j);
        if (cm_suspend_asked()) suspend(j);
    }
    return status;
}

cm_status cm_seed_jobs_run(const cm_arguments *arguments, cm_seeds *seeds, int at_once, cm_seed **own,
                           cm_seed_place *place) {
    jobs j = {.seeds = seeds,
              .view = cm_view_of_stdout(arguments),
              .json = cm_argument_is_set(arguments, "--json"),
              .count = at_once};
    int number;
    j.draws = j.view.tty && !j.json && !cm_argument_is_set(arguments, "--quiet");
    *own = NULL;
    *place = (cm_seed_place){.space = cm_memory_available() / (uint64_t)at_once};
    CM_TRY(cm_alloc(&j.worker, (size_t)at_once, sizeof *j.worker, "processes of seeds"));
    catch_signals(&j.mask);
    cm_status status = work(&j, &number);
    if (number >= 0) *own = j.worker[number].seed;
    if (number >= 0 && j.draws) {
        char prefix[32];
        place->interval = 0.5;
        place->columns =
            j.view.columns - snprintf(prefix, sizeof prefix, "%s %lld  ", seeds->noun, (long long)(*own)->seed);
    }
    if (number < 0) {
        clear(&j);
        sigprocmask(SIG_SETMASK, &j.mask, NULL);
    }
    free(j.worker);
    return status;
}
