#include "env/printed.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/retry.h"

enum { TEXT = 1024, BUFFER = 4096, SECOND = 1000 /* milliseconds */, KNOWN = 64 };

#define LONGEST 64.0 /* seconds between lines that say nothing new */

static int reading = -1, writing = -1;
static pthread_t reader;

/* Of the thread that reads. */
typedef struct printed {
    char line[TEXT], held[TEXT]; /* what has come of a line, and the last one that is not said yet */
    size_t length;
    enum { PLAIN, ESCAPE, SEQUENCE } state;
    long long waiting;    /* lines that are not said yet */
    bool is_new;          /* one of them was never said before: it is the one that is held */
    double next, again;   /* when one may be said that is new, and one that is not: seconds of the clock */
    double pause;         /* before the next one that is not */
    uint64_t said[KNOWN]; /* hashes of lines that were, the last ones in a ring */
    unsigned count;
} printed;

static uint64_t hash_of(const char *line) { return cm_hash(CM_HASH_BEGIN, line, strlen(line)); }

static bool is_known(const printed *p, const char *line) {
    const uint64_t hash = hash_of(line);
    for (unsigned i = 0; i < p->count && i < KNOWN; i++)
        if (p->said[i] == hash) return true;
    return false;
}

/* When what waits may be said. */
static double due(const printed *p) { return p->is_new ? p->next : p->again; }

static void say(printed *p) {
    if (p->waiting == 0) return;
    if (p->waiting == 1) {
        cm_log(CM_INFO, "Python prints: %s", p->held);
    } else {
        cm_log(CM_INFO, "Python prints: %s (and %lld lines before it)", p->held, p->waiting - 1);
    }
    if (p->is_new) p->said[p->count++ % KNOWN] = hash_of(p->held);
    p->pause = p->is_new || p->pause < 1.0 ? 1.0 : fmin(2.0 * p->pause, LONGEST);
    p->next = cm_clock_seconds() + 1.0;
    p->again = cm_clock_seconds() + p->pause;
    p->waiting = 0;
    p->is_new = false;
}

/* Empty lines are none. */
static void end_line(printed *p) {
    p->line[p->length] = '\0';
    const bool is_empty = strspn(p->line, " \t") == p->length, is_new = !is_empty && !is_known(p, p->line);
    if (!is_empty && (is_new || !p->is_new)) memcpy(p->held, p->line, p->length + 1);
    p->is_new |= is_new;
    p->waiting += !is_empty;
    p->length = 0;
    if (cm_clock_seconds() >= due(p)) say(p);
}

/* Colours and whatever else acts on a terminal, ESC [ 31 ; 1 m, are no part of a line. */
static bool is_of_sequence(printed *p, char byte) {
    if (p->state == PLAIN) {
        if (byte == '\x1b') p->state = ESCAPE;
        return byte == '\x1b';
    }
    if (p->state == ESCAPE) {
        p->state = byte == '[' ? SEQUENCE : PLAIN;
        return byte == '[';
    }
    if (byte >= '@' && byte <= '~') p->state = PLAIN;
    return true;
}

static void append(printed *p, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const bool is_end = bytes[i] == '\n' || bytes[i] == '\r';
        if (is_end) p->state = PLAIN;
        if (!is_end && is_of_sequence(p, bytes[i])) continue;
        if (!is_end) p->line[p->length++] = bytes[i];
        if (is_end || p->length == TEXT - 1) end_line(p);
    }
}

/* What has no end is a line after a second of silence. */
static void *read_all(void *context) {
    (void)context;
    printed p = {.length = 0};
    char bytes[BUFFER];
    struct pollfd channel = {.fd = reading, .events = POLLIN};
    for (;;) {
        const bool waits = p.waiting > 0 || p.length > 0;
        const double left = p.length > 0 && p.waiting == 0 ? 1.0 : due(&p) - cm_clock_seconds();
        const int ready = poll(&channel, 1, !waits ? -1 : left > 0.0 ? (int)(left * SECOND) + 1 : SECOND);
        if (ready == 0 && p.length > 0 && p.waiting == 0) end_line(&p);
        if (cm_clock_seconds() >= due(&p)) say(&p);
        if (ready <= 0) continue;
        const ssize_t count = read(reading, bytes, sizeof bytes);
        if (count == 0 || (count < 0 && errno != EINTR)) break;
        if (count > 0) append(&p, bytes, (size_t)count);
    }
    end_line(&p);
    say(&p);
    return NULL;
}

static bool begin(void) {
    int sides[2];
    sigset_t all, before;
    if (pipe2(sides, O_CLOEXEC) != 0) return false;
    reading = sides[0];
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int error = pthread_create(&reader, NULL, read_all, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) {
        writing = sides[1];
        return true;
    }
    close(sides[0]);
    close(sides[1]);
    return false;
}

int cm_printed_to(void) {
    if (writing < 0 && !begin()) return -1;
    return writing;
}

void cm_printed_end(void) {
    struct timespec until;
    if (writing < 0) return;
    close(writing);
    writing = -1;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 500000000;
    until.tv_sec += until.tv_nsec / 1000000000, until.tv_nsec %= 1000000000;
    (void)pthread_timedjoin_np(reader, NULL, &until);
}
