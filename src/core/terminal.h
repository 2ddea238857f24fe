/* The terminals that files of this process are, and lines that fit them. */
#ifndef CM_CORE_TERMINAL_H
#define CM_CORE_TERMINAL_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_terminal {
    bool is_one;       /* a terminal; else all the rest is zero */
    bool redraws;      /* it understands escape sequences: TERM says its kind, and not "dumb" */
    int columns, rows; /* 0: it does not say */
} cm_terminal;

/* What `file` is now; the user may change its size at any time. */
cm_terminal cm_terminal_of(int file);

/* For a process that passes on what those write that it starts, before it starts them: their stdout counts as the
 * terminal that `file` is; as none if it is none. */
void cm_terminal_lend(int file);
bool cm_terminal_is_lent(void); /* stdout, by the process that started this one */

/* `line` and its end for a terminal of `columns`, without its last one; broken between words, and indented after a
 * break by `indent`. 0 columns: as it is. What does not fit into `size` bytes is cut off in front of the end. */
void cm_terminal_fold(const char *line, int columns, int indent, char *out, size_t size);

/* Writes a line of at most 4,095 bytes to `file` in one piece: folded, indented by 4, if that is a terminal. False if
 * the system refused; errno says why. */
bool cm_terminal_write(int file, const char *line);

#ifdef __cplusplus
}
#endif
#endif
