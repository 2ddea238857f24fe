#include "core/terminal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/retry.h"
#include "core/text.h"

enum { LINE_BYTES = 4096, INDENT = 4 };

static const char lent[] = "CUMIND_TERMINAL"; /* the name of its file */

/* NULL: none. */
static const char *name_of_lent(void) {
    const char *name = getenv(lent);
    return name && *name ? name : NULL;
}

bool cm_terminal_is_lent(void) { return name_of_lent() != NULL; }

static struct winsize ask(int file) {
    struct winsize window = {.ws_col = 0};
    if (ioctl(file, TIOCGWINSZ, &window) != 0) return (struct winsize){.ws_col = 0};
    return window;
}

/* False: it is gone, or of another machine. */
static bool ask_lent(const char *name, struct winsize *out) {
    const int file = open(name, O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    const bool is_one = isatty(file);
    *out = ask(file);
    close(file);
    return is_one;
}

cm_terminal cm_terminal_of(int file) {
    struct winsize window = {.ws_col = 0};
    const char *kind = getenv("TERM");
    const char *name = file == STDOUT_FILENO ? name_of_lent() : NULL;
    const bool is_one = name ? ask_lent(name, &window) : isatty(file);
    if (!is_one) return (cm_terminal){.is_one = false};
    if (!name) window = ask(file);
    return (cm_terminal){.is_one = true,
                         .redraws = kind && *kind && strcmp(kind, "dumb") != 0,
                         .columns = window.ws_col,
                         .rows = window.ws_row};
}

void cm_terminal_lend(int file) {
    char name[256];
    if (isatty(file) && ttyname_r(file, name, sizeof name) == 0) {
        setenv(lent, name, 1);
    } else {
        unsetenv(lent);
    }
}

void cm_terminal_fold(const char *line, int columns, int indent, char *out, size_t size) {
    FILE *text = columns > 1 && cm_text_line_width(line) >= columns ? fmemopen(out, size, "w") : NULL;
    if (text) {
        cm_text_print(text, columns - 1, line, 0, indent);
        const bool is_whole = fclose(text) == 0;
        if (is_whole && strlen(out) > 0 && out[strlen(out) - 1] == '\n') return;
    }
    snprintf(out, size, "%.*s\n", (int)size - 2, line);
}

bool cm_terminal_write(int file, const char *line) {
    char text[2 * LINE_BYTES] = "";
    const cm_terminal terminal = cm_terminal_of(file);
    cm_terminal_fold(line, terminal.columns, INDENT, text, sizeof text);
    for (size_t at = 0, size = strlen(text); at < size;) {
        ssize_t n;
        do n = write(file, text + at, size - at);
        while (cm_is_eintr(n));
        if (n <= 0) return false;
        at += (size_t)n;
    }
    return true;
}
