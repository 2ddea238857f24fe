#include "support/fenced.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page(void) { return (size_t)sysconf(_SC_PAGESIZE); }
static size_t whole_pages(size_t bytes) { return (bytes + page() - 1) / page() * page(); }

/* `bytes` are a multiple of CM_ALIGN, and so is a page: the block is aligned, and ends where the fence begins. */
static cm_status allocate(const cm_device *device, size_t bytes, const char *what, void **out) {
    const size_t own = whole_pages(bytes);
    (void)device;
    unsigned char *pages = mmap(NULL, own + page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + own, page(), PROT_NONE) != 0)
        return cm_fail(CM_ERR_MEMORY, "no memory for %s behind a fence", what);
    *out = pages + own - bytes;
    return CM_OK;
}

static void release(const cm_device *device, void *block, size_t bytes) {
    const size_t own = whole_pages(bytes);
    (void)device;
    if (block) munmap((unsigned char *)block + bytes - own, own + page());
}

static cm_status copy(const cm_device *device, void *to, const void *from, size_t bytes) {
    (void)device;
    memcpy(to, from, bytes);
    return CM_OK;
}

const cm_device fenced_device = {
    .name = "cpu", .is_host = true, .alloc = allocate, .free = release, .write = copy, .read = copy, .copy = copy};
