/* Trace ranges: a timeline that the Chrome and Perfetto viewers open (JSON trace events). Off: one branch per range. */
#ifndef CM_CORE_TRACE_H
#define CM_CORE_TRACE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts recording: at most 4 Mi ranges, later ones are counted and dropped. CM_ERR_STATE if one is being recorded,
 * CM_ERR_IO if no file can be written at `path`. */
cm_status cm_trace_open(const char *path) CM_MUST_USE;

/* Writes the file; nothing to do if nothing is recorded. Ranges that are open are left out. Other threads must have
 * left their ranges (a pool between two runs has). Errors: CM_ERR_IO names the path. */
cm_status cm_trace_close(void) CM_MUST_USE;

/* A listener that is told of every range when it begins and ends, on its thread, whether one is being recorded or not:
 * a profiler. Borrowed; NULL: none. A range that is open when it comes only ends for it. */
typedef struct cm_trace_listener {
    void (*begin)(const char *name);
    void (*end)(void);
} cm_trace_listener;
void cm_trace_listen(const cm_trace_listener *listener);

bool cm_trace_on(void);                /* recorded, or listened to */
void cm_trace_begin(const char *name); /* name: a string literal; ranges nest per thread */
void cm_trace_end(void);

/* The innermost range that the calling thread is in, as far as ranges were on when it began; NULL: none. */
const char *cm_trace_range(void);
/* What this thread does until cm_trace_return belongs to a range of another thread, which has given it work: a listener
 * is told, nothing is recorded. */
void cm_trace_join(const char *name);
void cm_trace_return(void);

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
