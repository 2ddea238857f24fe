#include "env/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/log.h"
#include "env/printed.h"
#include "env/shared_memory.h"

/* The text of spaces.py and, after it, actions.py, ids.py, frames.py, atari.py and serve.py. */
__asm__(".pushsection .rodata\n"
        ".hidden cm_serve_text\n"
        ".global cm_serve_text\n"
        "cm_serve_text:\n"
        ".incbin \"src/env/spaces.py\"\n"
        ".incbin \"src/env/actions.py\"\n"
        ".incbin \"src/env/ids.py\"\n"
        ".incbin \"src/env/frames.py\"\n"
        ".incbin \"src/env/atari.py\"\n"
        ".incbin \"src/env/serve.py\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char cm_serve_text[] __attribute__((visibility("hidden")));

enum { CHANNEL = 3 };      /* the descriptor on which serve.py talks */
enum { MEMORY = 4 };       /* the one of the memory that it shares, which is then its second argument */
enum { MOST = 1 << 28 };   /* bytes of a reply: more is none */
enum { LOOK_MS = 100 };    /* between two looks at the clock */
enum { TEXT = 4096 };      /* bytes of an error, or of what is said, with its end */
enum { BUFFER = 1 << 14 }; /* bytes that are sent, or read, at once */

enum { DONE, MISSING, FAILED, INFO, WARNING, ASIDE }; /* answers, and what is said in front of them, as in serve.py */

#define TELL_SECONDS 10.0 /* between two lines about a call that takes long */
#define STOP_SECONDS 1.0  /* that a call has to come back when the program was asked to stop */

static const cm_stop *heeded;

void cm_worker_heed(const cm_stop *stop) { heeded = stop; }

struct cm_worker {
    char name[64];
    const char *doing; /* what is waited for */
    char aside[24];    /* what it does first; "": nothing */
    double limit;      /* seconds that it may take; 0: any */
    pid_t process;     /* 0: ended, with this status */
    int status;
    int channel; /* -1: the process has ended */
    cm_shared_memory memory;
    int slots; /* of it */
    size_t sending, first, last;
    char out[BUFFER]; /* [sending] to be sent  */
    char in[BUFFER];  /* [first..last) received */
};

/* ---- the process ---- */

static const char folders_of[] = "PYTHONPATH=";

/* Whether a folder of a list is the current one: "", ".", "./". */
static bool is_here(const char *folder, size_t length) {
    if (strspn(folder, "./") < length) return false;
    return length == 0 || (folder[0] == '.' && (length == 1 || folder[1] == '/'));
}

/* "PYTHONPATH=/a::/b" without the folders that are the current one, of which nothing is imported. Freed with free(). */
static char *copy_folders(const char *variable) {
    char *copy = malloc(strlen(variable) + 1), *end = copy;
    if (!copy) return NULL;
    end += sprintf(end, "%s", folders_of);
    for (const char *folder = variable + sizeof folders_of - 1; folder;) {
        const size_t length = strcspn(folder, ":");
        const char *between = end[-1] == '=' ? "" : ":";
        if (!is_here(folder, length)) end += sprintf(end, "%s%.*s", between, (int)length, folder);
        folder = folder[length] ? folder + length + 1 : NULL;
    }
    return copy;
}

/* The variables that a process gets: *owned is one of them, and both are freed with free(). NULL: there is no memory.
 * The order of sets is the same in all processes, unless the user says otherwise. */
static char **copy_variables(char **owned) {
    static char hash_seed[] = "PYTHONHASHSEED=0";
    size_t count = 0;
    *owned = NULL;
    while (environ[count]) count++;
    char **copy = calloc(count + 2, sizeof *copy);
    if (copy && !getenv("PYTHONHASHSEED")) copy[count] = hash_seed;
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = environ[i];
        if (*owned || strncmp(environ[i], folders_of, sizeof folders_of - 1) != 0) continue;
        *owned = copy[i] = copy_folders(environ[i]);
        if (*owned) continue;
        free(copy);
        copy = NULL;
    }
    return copy;
}

/* Ctrl-C in a terminal, and what a launcher tells its ranks, reaches a group of processes, so this one and what it
 * starts have a group of their own; SIGTERM may be for everything on a machine and is held back until serve.py takes
 * no notice of it, as is what stops a process that is not in the foreground. When it ends is for the program to say, by
 * closing the channel: descriptor CHANNEL there. */
static int spawn(const char *name, int side, int output, int memory, pid_t *out) {
    char program[] = "python3", flag[] = "-c", path[512], has_memory[] = "4", *owned;
    char **variables = copy_variables(&owned);
    if (!variables) return ENOMEM;
    snprintf(path, sizeof path, "%s", name);
    char *const command[] = {program, flag, (char *)cm_serve_text, path, memory < 0 ? NULL : has_memory, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGTTIN);
    sigaddset(&signals, SIGTTOU);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int file = STDOUT_FILENO; output >= 0 && file <= STDERR_FILENO; file++)
        posix_spawn_file_actions_adddup2(&files, output, file);
    posix_spawn_file_actions_adddup2(&files, side, CHANNEL);
    if (memory >= 0) posix_spawn_file_actions_adddup2(&files, memory, MEMORY);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &signals);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    const int error = posix_spawnp(out, program, &files, &attributes, command, variables);
    free(owned);
    free(variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER; /* processes of several environments at once */

static cm_status connect_process(cm_worker *worker, const char *name) {
    int sides[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sides) != 0)
        return cm_fail(CM_ERR_IO, "cannot talk to a process of its own: %s", strerror(errno));
    pthread_mutex_lock(&starting);
    const int error = spawn(name, sides[1], cm_printed_to(), worker->memory.file, &worker->process);
    pthread_mutex_unlock(&starting);
    close(sides[1]);
    worker->channel = sides[0];
    if (error == 0) return CM_OK;
    worker->process = 0;
    if (error == ENOENT)
        return cm_fail(CM_ERR_INPUT, "is written in Python, but no python3 is on the path; install it");
    return cm_fail(CM_ERR_IO, "cannot start python3: %s", strerror(error));
}

/* It ends when it sees the channel closed, unless the environment does not come back; one that the system holds even
 * then, as a disk does that has gone, is left to it. Returns its status. */
static int end_process(cm_worker *worker) {
    const double spent = cm_stop_seconds(heeded); /* several processes have the same time */
    const double enough = cm_clock_seconds() + fmax(0.05, 1.0 - fmax(0.0, spent - 0.5)), most = enough + 2.0;
    int status = 0;
    while (waitpid(worker->process, &status, WNOHANG) == 0 && cm_clock_seconds() < most) {
        if (cm_clock_seconds() > enough) kill(worker->process, SIGKILL);
        poll(NULL, 0, 2);
    }
    kill(-worker->process, SIGKILL); /* what it has started */
    worker->process = 0;
    return status;
}

/* Whatever is said to it later ends here, too. */
static cm_status fail_ended(cm_worker *worker) {
    cm_worker_dismiss(worker);
    if (worker->process > 0) worker->status = end_process(worker);
    if (WIFSIGNALED(worker->status))
        return cm_fail(CM_ERR_IO, "the Python process that plays it was ended by signal %d (%s)",
                       WTERMSIG(worker->status), strsignal(WTERMSIG(worker->status)));
    return cm_fail(CM_ERR_IO, "the Python process that plays it has ended, with status %d",
                   WEXITSTATUS(worker->status));
}

/* ---- messages ---- */

/* Nothing more is heard of it, nor said to it. */
static void kill_process(cm_worker *worker) {
    cm_worker_dismiss(worker);
    if (worker->process <= 0) return;
    kill(worker->process, SIGKILL);
    worker->status = end_process(worker);
}

static const char *doing(const cm_worker *worker) { return worker->aside[0] ? worker->aside : worker->doing; }

/* A call that does not come back. */
static cm_status fail_hung(cm_worker *worker) {
    kill_process(worker);
    return cm_fail(CM_ERR_IO, "%s has not come back for %g s, the env_timeout (0 waits without end)", doing(worker),
                   worker->limit);
}

/* A stop ends all that hang, and one line says so: as many may hang as there are environments. */
static cm_status fail_stopped(cm_worker *worker) {
    static const cm_stop *told;
    kill_process(worker);
    if (__atomic_exchange_n(&told, heeded, __ATOMIC_ACQ_REL) != heeded)
        cm_log(CM_WARNING, "%s: %s has not come back since the request to stop; its process was ended", worker->name,
               doing(worker));
    return cm_fail(CM_ERR_INTERRUPTED, "%s has not come back since the request to stop", doing(worker));
}

/* Waits until there is something to read, or space to write (POLLIN, POLLOUT). */
static cm_status await(cm_worker *worker, short events) {
    const double since = cm_clock_seconds();
    double told = since;
    struct pollfd channel = {.fd = worker->channel, .events = events};
    for (;;) {
        if (cm_stop_seconds(heeded) > STOP_SECONDS)
            return fail_stopped(worker); /* many short calls, too, are a long one */
        if (poll(&channel, 1, worker->limit > 0.0 && worker->limit < 1.0 ? LOOK_MS / 10 : LOOK_MS) > 0) return CM_OK;
        const double now = cm_clock_seconds();
        if (worker->limit > 0.0 && now - since >= worker->limit) return fail_hung(worker);
        if (now - told < TELL_SECONDS) continue;
        cm_log(CM_WARNING, "%s: its Python has been busy for %.0f s; waiting", worker->name, now - since);
        told = now;
    }
}

static cm_status send_bytes(cm_worker *worker, const char *at, size_t size) {
    while (size > 0) {
        const ssize_t sent = send(worker->channel, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            CM_TRY(await(worker, POLLOUT));
            continue;
        }
        if (sent <= 0) return fail_ended(worker);
        at += sent, size -= (size_t)sent;
    }
    return CM_OK;
}

static cm_status flush(cm_worker *worker) {
    const size_t size = worker->sending;
    worker->sending = 0;
    return send_bytes(worker, worker->out, size);
}

static cm_status put(cm_worker *worker, const void *bytes, size_t size) {
    if (size == 0) return CM_OK;
    if (worker->sending + size > BUFFER) CM_TRY(flush(worker));
    if (size > BUFFER) return send_bytes(worker, (const char *)bytes, size);
    memcpy(worker->out + worker->sending, bytes, size);
    worker->sending += size;
    return CM_OK;
}

/* At least one byte, at most `size`. */
static cm_status receive_some(cm_worker *worker, void *bytes, size_t size, size_t *out) {
    ssize_t got = -1;
    while (got < 0) {
        CM_TRY(await(worker, POLLIN));
        got = recv(worker->channel, bytes, size, 0);
        if (got < 0 && errno != EINTR) got = 0;
    }
    *out = (size_t)got;
    return got > 0 ? CM_OK : fail_ended(worker);
}

/* What is more than a buffer goes to its place at once. */
static cm_status get(cm_worker *worker, void *bytes, size_t size) {
    char *at = (char *)bytes;
    while (size > 0) {
        size_t some = worker->last - worker->first;
        if (some == 0 && size >= BUFFER) {
            CM_TRY(receive_some(worker, at, size, &some));
        } else if (some == 0) {
            worker->first = 0;
            CM_TRY(receive_some(worker, worker->in, BUFFER, &worker->last));
            continue;
        } else {
            some = some < size ? some : size;
            memcpy(at, worker->in + worker->first, some);
            worker->first += some;
        }
        at += some, size -= some;
    }
    return CM_OK;
}

/* What comes next would be read as something else: nothing more is said to it. */
static cm_status fail_talk(cm_worker *worker, const char *what) {
    cm_worker_dismiss(worker);
    return cm_fail(CM_ERR_IO, "its Python process %s", what);
}

typedef struct reply_head {
    int32_t answer, bytes;
} reply_head;

/* A text of a reply. */
static cm_status receive_text(cm_worker *worker, int32_t bytes, char text[TEXT]) {
    if (bytes >= TEXT) return fail_talk(worker, "gives an endless text");
    CM_TRY(get(worker, text, (size_t)bytes));
    text[bytes] = '\0';
    return CM_OK;
}

/* Each process says it; once is enough. */
static void say(const cm_worker *worker, int32_t level, const char *text) {
    enum { MOST_SAID = 64 };
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *said[MOST_SAID]; /* for as long as the program runs */
    static int count;
    char line[TEXT + sizeof worker->name + 2];
    snprintf(line, sizeof line, "%s: %s", worker->name, text);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < count && strcmp(said[i], line) != 0) i++;
    const bool is_new = i == count && count < MOST_SAID && (said[count] = strdup(line)) != NULL;
    count += is_new;
    pthread_mutex_unlock(&lock);
    if (is_new) cm_log(level == WARNING ? CM_WARNING : CM_INFO, "%s", line);
}

/* Of the next answer; what is said in front of it is logged. */
static cm_status receive_head(cm_worker *worker, reply_head *head) {
    char text[TEXT];
    for (;;) {
        CM_TRY(get(worker, head, sizeof *head));
        if (head->answer < DONE || head->answer > ASIDE || head->bytes < 0 || head->bytes > MOST)
            return fail_talk(worker, "gives no answer that is one");
        if (head->answer < INFO) return CM_OK;
        CM_TRY(receive_text(worker, head->bytes, text));
        if (head->answer == ASIDE) {
            snprintf(worker->aside, sizeof worker->aside, "%.*s", (int)sizeof worker->aside - 1, text);
        } else if (text[0] != '\0') {
            say(worker, head->answer, text);
        }
    }
}

static cm_status receive_failure(cm_worker *worker, int32_t bytes) {
    char text[TEXT];
    CM_TRY(receive_text(worker, bytes, text));
    return cm_fail(CM_ERR_INPUT, "%s", text);
}

cm_status cm_worker_send(cm_worker *worker, const cm_worker_request *requests, int count, double limit) {
    static const char *const calls[] = {[CM_WORKER_RESET] = "its reset",
                                        [CM_WORKER_STEP] = "its step",
                                        [CM_WORKER_REPLAY] = "a step or reset of an episode that is played again",
                                        [CM_WORKER_SHOW] = "its render",
                                        [CM_WORKER_FRAME] = "its render, or what leads there"};
    if (worker->channel < 0) return fail_ended(worker);
    worker->doing = calls[requests[0].what];
    worker->limit = limit;
    for (int i = 0; i < count; i++) {
        const cm_worker_request *r = &requests[i];
        const struct {
            int32_t what, bytes, more, is_fresh;
            uint64_t key, next, seed;
        } head = {(int32_t)r->what, (int32_t)r->data_bytes, count - 1 - i, r->is_fresh, r->key, r->next, r->seed};
        CM_TRY(put(worker, &head, sizeof head));
        CM_TRY(put(worker, r->data, r->data_bytes));
    }
    return flush(worker);
}

cm_status cm_worker_receive(cm_worker *worker, void *reply, size_t *bytes, bool *is_missing) {
    reply_head head;
    if (worker->channel < 0) return fail_ended(worker);
    CM_TRY(receive_head(worker, &head));
    if (head.answer == FAILED) return receive_failure(worker, head.bytes);
    if ((size_t)head.bytes > *bytes) return fail_talk(worker, "answers with too much");
    *bytes = (size_t)head.bytes;
    *is_missing = head.answer == MISSING;
    return get(worker, reply, *bytes);
}

void cm_worker_share(cm_worker *worker, int slots, size_t bytes) {
    if (cm_shared_memory_map(&worker->memory, (size_t)slots * cm_align(bytes))) worker->slots = slots;
}

const uint8_t *cm_worker_slot(const cm_worker *worker, int k) {
    if (k >= worker->slots) return NULL;
    return worker->memory.base + (size_t)k * (worker->memory.bytes / (size_t)worker->slots);
}

/* ---- beginning and end ---- */

static cm_status receive_description(cm_worker *worker, char **reply, size_t *bytes) {
    reply_head head;
    CM_TRY(receive_head(worker, &head));
    if (head.answer == FAILED) return receive_failure(worker, head.bytes);
    *bytes = (size_t)head.bytes;
    CM_TRY(cm_alloc(reply, *bytes + 1, 1, "the description of an environment"));
    return get(worker, *reply, *bytes);
}

static const char atari[] = "atari:"; /* its options, after a comma, are keys that the user has not written here */

/* One that has no process yet, nor a channel. */
static cm_status make(const char *name, cm_worker **out) {
    CM_TRY(cm_alloc(out, 1, sizeof **out, "a process that plays an environment"));
    const char *slash = strrchr(name, '/');
    const int length = strncmp(name, atari, strlen(atari)) == 0 ? (int)strcspn(name, ",") : (int)sizeof(*out)->name;
    snprintf((*out)->name, sizeof(*out)->name, "%.*s", length, slash && strchr(name, ':') == NULL ? slash + 1 : name);
    (*out)->channel = -1;
    (*out)->memory.file = -1;
    (*out)->doing = "its import, constructor or first reset";
    return CM_OK;
}

/* Of one that could be connected with, or not (status). */
static cm_status introduce(cm_worker *worker, cm_status status, cm_worker **out, char **reply, size_t *bytes) {
    if (status == CM_OK) status = receive_description(worker, reply, bytes);
    if (status == CM_OK) {
        *out = worker;
        return CM_OK;
    }
    free(*reply);
    *reply = NULL;
    status = cm_fail_in(status, "%s", worker->name);
    cm_worker_stop(worker);
    return status;
}

cm_status cm_worker_start(const char *name, double limit, cm_worker **out, char **reply, size_t *bytes) {
    cm_worker *worker;
    *out = NULL, *reply = NULL;
    CM_TRY(make(name, &worker));
    worker->limit = limit;
    worker->memory = cm_shared_memory_open();
    return introduce(worker, connect_process(worker, name), out, reply, bytes);
}

cm_status cm_worker_attach(const char *name, int channel, cm_worker **out, char **reply, size_t *bytes) {
    cm_worker *worker;
    *out = NULL, *reply = NULL;
    CM_TRY(make(name, &worker));
    worker->channel = channel;
    return introduce(worker, CM_OK, out, reply, bytes);
}

void cm_worker_dismiss(cm_worker *worker) {
    if (!worker) return;
    if (worker->channel >= 0) close(worker->channel);
    worker->channel = -1;
}

void cm_worker_stop(cm_worker *worker) {
    if (!worker) return;
    cm_worker_dismiss(worker);
    if (worker->process > 0) (void)end_process(worker);
    cm_shared_memory_close(&worker->memory);
    free(worker);
}
