/* Trace ranges: a timeline that the Chrome and Perfetto viewers open (JSON trace events). Off: one branch per range. */
#ifndef CM_CORE_TRACE_H
#define CM_CORE_TRACE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

cm_status cm_trace_open(const char *path) CM_MUST_USE; /* starts recording; at most 4 Mi ranges, later ones are counted and dropped */
cm_status cm_trace_close(void) CM_MUST_USE;            /* writes the file; nothing to do if none is open */
bool cm_trace_on(void);
void cm_trace_begin(const char *name); /* name: a string literal; ranges nest per thread */
void cm_trace_end(void);

#define CM_TRACE_BEGIN(name)                                                                                           \
    do {                                                                                                               \
        if (cm_trace_on()) cm_trace_begin(name);                                                                       \
    } while (0)
#define CM_TRACE_END()                                                                                                 \
    do {                                                                                                               \
        if (cm_trace_on()) cm_trace_end();                                                                             \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
