/* Memory that this process shares with one that it starts, by a file without a name that the other inherits. */
#ifndef CM_ENV_SHARED_MEMORY_H
#define CM_ENV_SHARED_MEMORY_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_shared_memory {
    int file; /* to be inherited, above those that programs expect to have; -1: the system has no such files */
    const uint8_t *base; /* [bytes] what the other process has written; NULL until it is mapped */
    size_t bytes;
} cm_shared_memory;

/* A file of no bytes. */
cm_shared_memory cm_shared_memory_open(void);

/* Gives it its size for ever, of which what is never written to costs no memory, and maps it to be read. False: the
 * system does not do that, and nothing has changed. */
bool cm_shared_memory_map(cm_shared_memory *memory, size_t bytes);

/* The other process may still have it. */
void cm_shared_memory_close(cm_shared_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
