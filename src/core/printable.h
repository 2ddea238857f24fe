/* Text from outside as people may read it: names, messages and values of files, folders and environments. */
#ifndef CM_CORE_PRINTABLE_H
#define CM_CORE_PRINTABLE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_PRINTABLE_BYTES = 4096 };

/* Copies `text` to out[size] and returns `out`. Whatever acts on a terminal in place of being shown becomes an escape:
 * control characters, DEL and bytes that are not UTF-8 "\x1b", lines' ends and tabs "\n", "\r" and "\t", U+0080 to
 * U+009F and what changes the direction of writing or breaks lines "\u009b". So the copy is one line, and its copy is
 * equal to it. What does not fit is left out, from an end of a character or an escape on. */
char *cm_printable(const char *text, char *out, size_t size);

/* The same, but lines' ends stay, and so do colours, ESC [ 31 ; 1 m: for pictures of several lines. */
char *cm_printable_lines(const char *text, char *out, size_t size);

/* The copy of `text` as an argument of printf; it lives to the end of the block. */
#define CM_PRINTABLE(text) cm_printable(text, (char[CM_PRINTABLE_BYTES]){0}, CM_PRINTABLE_BYTES)

#ifdef __cplusplus
}
#endif
#endif
