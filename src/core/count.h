/* Whole numbers as people write them. */
#ifndef CM_CORE_COUNT_H
#define CM_CORE_COUNT_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "20000", "20k", "1.5M", "2G", "1e6" (k thousand, M million, G thousand million): a whole number of at most 2^53 in
 * size, in *out. False, with *out unchanged, for anything else, such as "1.5", "20 k" or "". */
bool cm_parse_count(const char *text, int64_t *out);

#ifdef __cplusplus
}
#endif
#endif
