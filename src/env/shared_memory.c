#include "env/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ABOVE = 16 }; /* descriptors that a process is started with are below */

cm_shared_memory cm_shared_memory_open(void) {
    cm_shared_memory memory = {.file = -1};
    const int file = memfd_create("cumind", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return memory;
    memory.file = fcntl(file, F_DUPFD_CLOEXEC, ABOVE);
    close(file);
    return memory;
}

/* Sealed, so that reading never meets an end that the other process has moved. */
bool cm_shared_memory_map(cm_shared_memory *memory, size_t bytes) {
    if (memory->file < 0 || ftruncate(memory->file, (off_t)bytes) != 0) return false;
    void *base = MAP_FAILED;
    if (fcntl(memory->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        base = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, memory->file, 0);
    if (base == MAP_FAILED) return false;
    memory->base = base, memory->bytes = bytes;
    return true;
}

void cm_shared_memory_close(cm_shared_memory *memory) {
    if (memory->base) munmap((void *)(uintptr_t)memory->base, memory->bytes);
    if (memory->file >= 0) close(memory->file);
    *memory = (cm_shared_memory){.file = -1};
}
