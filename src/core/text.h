/* Blocks of text for a terminal: lines that are built, measured and put side by side. Widths count characters, not
 * bytes, and leave escape sequences out. */
#ifndef CM_CORE_TEXT_H
#define CM_CORE_TEXT_H

#include <stdio.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_TEXT_BYTES = 32768 };

/* NUL-terminated; what does not fit is cut off. A zeroed struct is empty. */
typedef struct cm_text {
    size_t used;
    char bytes[CM_TEXT_BYTES];
} cm_text;

void cm_text_clear(cm_text *text);
void cm_text_add(cm_text *text, const char *format, ...) CM_PRINTF(2, 3);

/* Adds `word` after a blank, or on a new line if the last one would be wider than `columns`. */
void cm_text_word(cm_text *text, int columns, const char *word);

/* Adds the words of a sentence, wrapped to `columns`, on lines of their own. */
void cm_text_wrap(cm_text *text, int columns, const char *sentence);

/* Prints `text` from column `at` on and ends the line: no wider than `columns` where there are blanks to break it at.
 * What follows a break, or a line's end within the text, is indented by `indent`. */
void cm_text_print(FILE *out, int columns, const char *text, int at, int indent);

/* Columns of the first line of `text`, and of the widest line of a block. */
int cm_text_line_width(const char *text);
int cm_text_width(const cm_text *text);

/* The numbers extent[rank] with `between` between them, as far as `size` bytes hold them; "" for rank 0. */
void cm_text_shape(const int *extent, int rank, const char *between, char *out, size_t size);

/* Adds `left` and, `gap` columns to the right of its widest line, `right`; line by line, without blanks at the ends. */
void cm_text_side_by_side(cm_text *text, const cm_text *left, const cm_text *right, int gap);

#ifdef __cplusplus
}
#endif
#endif
