/* Counts the allocations of the one program that includes this: malloc and its like, of all its libraries, too. Where a
 * sanitizer has its own allocator nothing is counted, and the test is to be skipped. */
#ifndef CM_TESTS_ALLOCATIONS_H
#define CM_TESTS_ALLOCATIONS_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CM_ALLOCATIONS_COUNTED = 0 };

static long cm_allocations(void) { return 0; }
#else
enum { CM_ALLOCATIONS_COUNTED = 1 };

static long cm_allocation_count;

/* How many there were so far, of all threads. */
static long cm_allocations(void) { return __atomic_load_n(&cm_allocation_count, __ATOMIC_RELAXED); }

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

static void cm_allocation(void) { __atomic_fetch_add(&cm_allocation_count, 1, __ATOMIC_RELAXED); }
void *malloc(size_t bytes) { return cm_allocation(), __libc_malloc(bytes); }
void *calloc(size_t n, size_t bytes) { return cm_allocation(), __libc_calloc(n, bytes); }
void *realloc(void *block, size_t bytes) { return cm_allocation(), __libc_realloc(block, bytes); }
void *aligned_alloc(size_t align, size_t bytes) { return cm_allocation(), __libc_memalign(align, bytes); }
#endif

#endif
