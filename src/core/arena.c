#include "core/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/memory.h"

enum { HUGE_PAGE = 2 << 20 }; /* bytes */

size_t cm_align(size_t bytes) {
    size_t mask = CM_ALIGN - 1;
    return bytes > SIZE_MAX - mask ? SIZE_MAX & ~mask : (bytes + mask) & ~mask;
}

/* Stands in front of a block. */
typedef struct block_head {
    void *whole; /* as calloc gave it */
    size_t size; /* of the block itself */
} block_head;

/* Large blocks ask for huge pages: random access to them is bound by address translation otherwise. A block is zero,
 * and no page of a large one is there before it is written to. */
static void *alloc_block(size_t size) {
    const size_t align = size >= HUGE_PAGE ? HUGE_PAGE : CM_ALIGN, more = align + sizeof(block_head);
    char *whole = size <= SIZE_MAX - more ? calloc(1, size + more) : NULL;
    if (!whole) return NULL;
    char *base = whole + sizeof(block_head);
    base += (align - (uintptr_t)base % align) % align;
    const block_head head = {whole, size};
    memcpy(base - sizeof head, &head, sizeof head);
    if (size >= HUGE_PAGE) (void)madvise(base, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* a wish */
    return base;
}

cm_status cm_arena_create(cm_arena *arena, size_t bytes, const char *what) {
    size_t size = cm_align(bytes ? bytes : 1);
    *arena = (cm_arena){0};
    CM_TRY(cm_memory_reserve(size, what));
    void *base = size < bytes ? NULL : alloc_block(size);
    if (!base) {
        cm_memory_release(size);
        return cm_memory_fail((double)bytes, what);
    }
    arena->base = base, arena->capacity = size;
    return CM_OK;
}

void cm_arena_destroy(cm_arena *arena) {
    block_head head;
    if (arena->base) {
        memcpy(&head, arena->base - sizeof head, sizeof head);
        cm_memory_release(head.size);
        free(head.whole);
    }
    *arena = (cm_arena){0};
}

void *cm_arena_alloc(cm_arena *arena, size_t bytes) {
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
