/* The known name that is nearest to a misspelt one, for error messages. */
#ifndef CM_CORE_NEAREST_H
#define CM_CORE_NEAREST_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Index in [0, count) of the name with the smallest edit distance (insert, delete, replace, swap two neighbours;
 * another case is half a point) to `word`, the first of equals; -1 if none is near: if more than two fifths of the
 * letters of `word` would have to change, and more than one. A word of at least three letters that begins a name, or
 * is one with letters left out, not the first and no more than two for each that is there, or begins with a name of at
 * least three, is less than one change away, by the number of letters; so is the last word of a name, by the number of
 * words before it. name(rows, i) gives the i-th name. Words longer than 63 bytes are cut. */
int cm_nearest_name(const char *word, const void *rows, int count, const char *(*name)(const void *rows, int i));

#ifdef __cplusplus
}
#endif
#endif
