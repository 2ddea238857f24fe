#include "cli/line_input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/memory.h"

enum { PIECE = 4096 };

void cm_line_input_close(cm_line_input *input) {
    free(input->bytes);
    *input = (cm_line_input){0};
}

static const char *name_of(const cm_line_input *input) { return input->name ? input->name : "standard input"; }

static char *find_end(const cm_line_input *input) {
    return input->used > input->at ? memchr(input->bytes + input->at, '\n', input->used - input->at) : NULL;
}

/* Space for another piece, and a NUL, behind what is there. */
static cm_status reserve(cm_line_input *input) {
    if (input->at > 0) {
        memmove(input->bytes, input->bytes + input->at, input->used - input->at);
        input->used -= input->at, input->at = 0;
    }
    if (input->used + PIECE < input->capacity) return CM_OK;
    if (input->used > CM_LINE_INPUT_MOST)
        return cm_fail(CM_ERR_INPUT, "%s: a line is longer than %d bytes", name_of(input), CM_LINE_INPUT_MOST);
    const size_t capacity = 2 * input->capacity + 2 * PIECE;
    char *bytes = realloc(input->bytes, capacity);
    if (!bytes) return cm_memory_fail((double)capacity, "a line of input");
    input->bytes = bytes, input->capacity = capacity;
    return CM_OK;
}

static cm_status read_piece(cm_line_input *input) {
    ssize_t count;
    CM_TRY(reserve(input));
    do count = read(input->file, input->bytes + input->used, PIECE);
    while (count < 0 && errno == EINTR);
    if (count < 0) return cm_fail(CM_ERR_IO, "%s: cannot be read: %s", name_of(input), strerror(errno));
    input->is_ended = count == 0;
    input->used += (size_t)count;
    return CM_OK;
}

/* Takes the bytes up to `end` as a line. */
static void take(cm_line_input *input, char *end, char **line, size_t *size) {
    char *text = input->bytes + input->at;
    size_t length = (size_t)(end - text);
    input->at = (size_t)(end - input->bytes) + 1;
    if (input->at > input->used) input->at = input->used;
    if (length > 0 && text[length - 1] == '\r') length--;
    for (size_t i = 0; i < length; i++) text[i] = text[i] == '\0' ? '?' : text[i];
    text[length] = '\0';
    *line = text, *size = length;
}

cm_status cm_line_input_next(cm_line_input *input, char **line, size_t *size) {
    char *end = find_end(input);
    *line = NULL, *size = 0;
    while (!end && !input->is_ended) {
        const size_t seen = input->used - input->at;
        CM_TRY(read_piece(input));
        end = input->used > seen ? memchr(input->bytes + seen, '\n', input->used - seen) : NULL;
    }
    if (!end && input->used == input->at) return CM_OK;
    take(input, end ? end : input->bytes + input->used, line, size);
    return CM_OK;
}

bool cm_line_input_is_ready(cm_line_input *input, double seconds) {
    const double until = cm_clock_seconds() + seconds;
    while (!find_end(input) && !input->is_ended) {
        const double left = until - cm_clock_seconds();
        struct pollfd wait = {.fd = input->file, .events = POLLIN};
        const int count = poll(&wait, 1, left > 0.0 ? (int)(left * 1e3) + 1 : 0);
        if (count == 0) return false;
        if (count < 0 && errno != EINTR) return true;
        if (count > 0 && read_piece(input) != CM_OK) return true;
    }
    return true;
}
