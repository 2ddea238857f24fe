/* A file of lines, read front to back in the memory of one line, however long the file is. */
#ifndef CM_CORE_LINES_H
#define CM_CORE_LINES_H

#include <stdio.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_lines {
    FILE *file;   /* owned */
    char *text;   /* of the line that was read last, without its newline; a NUL follows it */
    size_t size;  /* its bytes; of a line that is too long the first `most` */
    size_t bytes; /* that the line takes in the file, with its newline; of one that is too long `most` + 1 */
    bool is_whole, is_long;
    size_t most, capacity;
    int number; /* of the line, from 1 */
} cm_lines;

/* Takes over an open file, which is closed on error, too. */
cm_status cm_lines_open(cm_lines *lines, int file, size_t most) CM_MUST_USE;
void cm_lines_close(cm_lines *lines);

/* Reads the next line; *is_there false: there is none. is_whole: it ends with a newline, as all but the last do.
 * is_long: it has more than `most` bytes, and no more of it is read.
 * Errors: CM_ERR_IO "cannot read: reason", CM_ERR_MEMORY. */
cm_status cm_lines_next(cm_lines *lines, bool *is_there) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
