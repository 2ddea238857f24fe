#include "core/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/printable.h"
#include "core/retry.h"
#include "core/terminal.h"

enum { LINE_BYTES = 2048 };

static struct {
    pthread_mutex_t lock;
    cm_log_level level;
    int file;     /* -1: none */
    bool is_kept; /* it is one in memory */
    bool file_failed;
    cm_log_hook hook;
    void *hook_context;
} sink = {PTHREAD_MUTEX_INITIALIZER, CM_INFO, -1, false, false, NULL, NULL};

static const char *const level_names[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
static const char *const level_prefixes[] = {"debug: ", "", "warning: ", "error: "};

/* prefix + line + newline in one write, so that lines of several threads or processes never mix. */
static bool write_line(int file, const char *prefix, const char *line) {
    char text[LINE_BYTES + 64];
    snprintf(text, sizeof text, "%s%s", prefix, line);
    return cm_terminal_write(file, text);
}

/* Once for a file. */
static void complain(void) {
    char complaint[128];
    if (sink.file_failed) return;
    sink.file_failed = true;
    snprintf(complaint, sizeof complaint, "the log file cannot be written: %s; lines are missing in it",
             strerror(errno));
    write_line(STDERR_FILENO, level_prefixes[CM_WARNING], complaint);
}

static void write_to_file(cm_log_level level, const char *line) {
    char stamp[32] = "", prefix[64];
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local)) strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &local);
    snprintf(prefix, sizeof prefix, "%s %-7s ", stamp, level_names[level]);
    if (!write_line(sink.file, prefix, line)) complain();
}

void cm_log(cm_log_level level, const char *format, ...) {
    if (level < CM_DEBUG || level >= CM_SILENT) return;
    char text[LINE_BYTES], line[LINE_BYTES + 8];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n < 0) return;
    cm_printable(text, line, sizeof line);
    if ((size_t)n >= sizeof text || strlen(line) >= LINE_BYTES) strcat(cm_printable(text, line, LINE_BYTES - 3), "...");
    pthread_mutex_lock(&sink.lock);
    if (sink.file >= 0 && level >= CM_INFO) write_to_file(level, line);
    if (level >= sink.level && !(sink.hook && sink.hook(sink.hook_context, level, line)))
        write_line(STDERR_FILENO, level_prefixes[level], line);
    pthread_mutex_unlock(&sink.lock);
}

void cm_log_hold(void) { pthread_mutex_lock(&sink.lock); }
void cm_log_release(void) { pthread_mutex_unlock(&sink.lock); }

void cm_log_set_level(cm_log_level level) {
    pthread_mutex_lock(&sink.lock);
    sink.level = level;
    pthread_mutex_unlock(&sink.lock);
}

/* The lock is held. Returns the file before it, which the caller closes; -1: none. */
static int take_file(int file, bool is_kept) {
    const int before = sink.file;
    sink.file = file, sink.is_kept = is_kept, sink.file_failed = false;
    return before;
}

static void close_file(int file) {
    if (file >= 0) close(file);
}

static bool write_all(int file, const char *data, ssize_t size) {
    for (ssize_t n = 0; size > 0; data += n, size -= n) {
        do n = write(file, data, (size_t)size);
        while (cm_is_eintr(n));
        if (n <= 0) return false;
    }
    return true;
}

/* The lock is held. Lines of `kept` go to the file that has taken its place. */
static void write_kept(int kept) {
    char piece[LINE_BYTES];
    bool is_written = lseek(kept, 0, SEEK_SET) == 0;
    ssize_t n = 1;
    while (is_written && n > 0) {
        do n = read(kept, piece, sizeof piece);
        while (cm_is_eintr(n));
        is_written = n >= 0 && write_all(sink.file, piece, n);
    }
    if (!is_written) complain();
}

cm_status cm_log_open(const cm_dir *dir, const char *name) {
    int file;
    CM_TRY(cm_dir_append(dir, name, &file));
    pthread_mutex_lock(&sink.lock);
    const bool was_kept = sink.is_kept;
    const int before = take_file(file, false);
    if (was_kept) write_kept(before);
    close_file(before);
    pthread_mutex_unlock(&sink.lock);
    return CM_OK;
}

void cm_log_keep(void) {
    const int file = memfd_create("log", MFD_CLOEXEC);
    if (file < 0) cm_log(CM_WARNING, "the first lines will be missing in the log: %s", strerror(errno));
    pthread_mutex_lock(&sink.lock);
    close_file(take_file(file, file >= 0));
    pthread_mutex_unlock(&sink.lock);
}

void cm_log_close(void) {
    pthread_mutex_lock(&sink.lock);
    close_file(take_file(-1, false));
    pthread_mutex_unlock(&sink.lock);
}

void cm_log_set_hook(cm_log_hook hook, void *context) {
    pthread_mutex_lock(&sink.lock);
    sink.hook = hook, sink.hook_context = context;
    pthread_mutex_unlock(&sink.lock);
}

void cm_log_get_hook(cm_log_hook *hook, void **context) {
    pthread_mutex_lock(&sink.lock);
    *hook = sink.hook, *context = sink.hook_context;
    pthread_mutex_unlock(&sink.lock);
}

bool cm_log_plans(void) {
    const char *value = getenv("CUMIND_LOG_PLANS");
    return value && strcmp(value, "1") == 0;
}
