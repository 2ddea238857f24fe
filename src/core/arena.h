/* One aligned block of memory, handed out piece by piece and freed as a whole. */
#ifndef CM_CORE_ARENA_H
#define CM_CORE_ARENA_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ALIGN = 64 }; /* bytes; a cache line and an AVX-512 vector */

typedef struct cm_arena {
    unsigned char *base; /* owned; NULL while only measuring */
    size_t capacity;     /* bytes */
    size_t used;         /* bytes, grows in steps of CM_ALIGN */
} cm_arena;

/* Rounds a size up to a multiple of CM_ALIGN. */
size_t cm_align(size_t bytes);

/* Takes a zeroed block of `bytes`, CM_ALIGN-aligned, of which a large one costs memory only where it is written to;
 * `what` names it in the error. Errors: CM_ERR_MEMORY, also for what the machine has not got and would only promise,
 * and for what is beyond cm_memory_limit. */
cm_status cm_arena_create(cm_arena *arena, size_t bytes, const char *what) CM_MUST_USE;
void cm_arena_destroy(cm_arena *arena);

/* The next `bytes` of the block, CM_ALIGN-aligned, or NULL when it is full (a bug in the size plan). An arena with
 * base NULL and capacity SIZE_MAX only measures: it returns NULL and counts in `used`. */
void *cm_arena_alloc(cm_arena *arena, size_t bytes);
void cm_arena_reset(cm_arena *arena); /* everything is free again; memory keeps its content */

/* calloc with a status: n * size zeroed bytes in *out (a pointer to a pointer), freed with free(). n * size may not
 * overflow. */
cm_status cm_alloc(void *out, size_t n, size_t size, const char *what) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
