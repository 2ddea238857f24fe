#include "core/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/memory.h"

enum { HUGE_PAGE = 2 << 20, LARGE = 64 << 20 }; /* bytes */

size_t cm_align(size_t bytes) {
    size_t mask = CM_ALIGN - 1;
    return bytes > SIZE_MAX - mask ? SIZE_MAX & ~mask : (bytes + mask) & ~mask;
}

/* Large blocks ask for huge pages: random access to them is bound by address translation otherwise. */
static void *take_block(size_t size) {
    void *base = NULL;
    bool large = size >= HUGE_PAGE;
    if (posix_memalign(&base, large ? HUGE_PAGE : CM_ALIGN, size) != 0) return NULL;
    if (large) (void)madvise(base, size, MADV_HUGEPAGE); /* a wish; ordinary pages do as well */
    memset(base, 0, size);
    return base;
}

cm_status cm_arena_create(cm_arena *arena, size_t bytes, const char *what) {
    size_t size = cm_align(bytes ? bytes : 1);
    *arena = (cm_arena){0};
    if (size >= LARGE) CM_TRY(cm_memory_check((double)bytes, what)); /* the system would promise it and kill us later */
    void *base = size < bytes ? NULL : take_block(size);
    if (!base) return cm_memory_fail((double)bytes, what);
    arena->base = base, arena->capacity = size;
    return CM_OK;
}

void cm_arena_destroy(cm_arena *arena) {
    free(arena->base);
    *arena = (cm_arena){0};
}

void *cm_arena_take(cm_arena *arena, size_t bytes) {
    size_t size = cm_align(bytes);
    if (size < bytes || size > arena->capacity - arena->used) return NULL;
    size_t at = arena->used;
    arena->used += size;
    return arena->base ? arena->base + at : NULL;
}

void cm_arena_reset(cm_arena *arena) { arena->used = 0; }

cm_status cm_alloc(void *out, size_t n, size_t size, const char *what) {
    void *block = calloc(n ? n : 1, size ? size : 1);
    memcpy(out, &block, sizeof block);
    return block ? CM_OK : cm_memory_fail((double)n * (double)size, what);
}
