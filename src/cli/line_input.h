/* Lines from a file descriptor, as programs send them that wait for answers. Whether one has come can be asked. */
#ifndef CM_CLI_LINE_INPUT_H
#define CM_CLI_LINE_INPUT_H

#include "core/status.h"

enum { CM_LINE_INPUT_MOST = 1 << 24 }; /* bytes of a line */

/* A zeroed struct reads standard input. */
typedef struct cm_line_input {
    int file;    /* borrowed */
    char *bytes; /* [capacity], owned: what was read and not yet taken is at .. used */
    size_t at, used, capacity;
    bool is_ended;    /* no more bytes follow */
    const char *name; /* in messages; NULL: "standard input" */
} cm_line_input;

void cm_line_input_close(cm_line_input *input);

/* Waits for the next line; *line, without its end (\n, \r\n or that of the file), is a NUL-terminated text of *size
 * bytes that the input owns until its next call; NULL after the last. Zero bytes within it are question marks.
 * Errors: CM_ERR_IO; CM_ERR_INPUT for a line that is too long; CM_ERR_MEMORY. */
cm_status cm_line_input_next(cm_line_input *input, char **line, size_t *size) CM_MUST_USE;

/* Whether the next call need not wait, as a line, the end or an error is there. Waits for that up to `seconds`. */
bool cm_line_input_is_ready(cm_line_input *input, double seconds);
#endif
