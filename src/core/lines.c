#include "core/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cm_status cm_lines_open(cm_lines *lines, int file, size_t most) {
    *lines = (cm_lines){.most = most, .file = fdopen(file, "r")};
    if (lines->file) return CM_OK;
    const int reason = errno;
    close(file);
    return cm_fail(CM_ERR_IO, "cannot read: %s", strerror(reason));
}

void cm_lines_close(cm_lines *lines) {
    if (lines->file) fclose(lines->file);
    free(lines->text);
    *lines = (cm_lines){.file = NULL};
}

static cm_status grow(cm_lines *lines) {
    size_t capacity = lines->capacity ? 2 * lines->capacity : 4096;
    if (capacity > lines->most) capacity = lines->most + 1;
    char *text = realloc(lines->text, capacity);
    if (!text) return cm_fail(CM_ERR_MEMORY, "no memory for a line of %zu bytes", capacity);
    lines->text = text, lines->capacity = capacity;
    return CM_OK;
}

/* The next byte, EOF at the end or after an error. */
static int next_byte(FILE *file) {
    int byte;
    while ((byte = getc_unlocked(file)) == EOF && ferror(file) && errno == EINTR) clearerr(file);
    return byte;
}

cm_status cm_lines_next(cm_lines *lines, bool *is_there) {
    int byte;
    lines->size = lines->bytes = 0;
    lines->is_whole = lines->is_long = *is_there = false;
    if (!lines->text) CM_TRY(grow(lines));
    while (!lines->is_whole && (byte = next_byte(lines->file)) != EOF) {
        lines->bytes++;
        lines->is_whole = byte == '\n';
        if (lines->is_whole) break;
        if (lines->size + 1 == lines->capacity && lines->capacity <= lines->most) CM_TRY(grow(lines));
        lines->is_long = lines->size == lines->most;
        if (lines->is_long) break;
        lines->text[lines->size++] = (char)byte;
    }
    if (ferror(lines->file)) return cm_fail(CM_ERR_IO, "cannot read: %s", strerror(errno));
    lines->text[lines->size] = '\0';
    *is_there = lines->bytes > 0;
    lines->number += *is_there;
    return CM_OK;
}
