/* What the fuzzers share: an input as a file that needs no disk. Each fuzzer reads bytes that may be anything; it may
 * only return, with whatever status, and must leave nothing behind. */
#ifndef CM_TESTS_FUZZ_H
#define CM_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FUZZ_PATH = 64 };

/* Puts data[size] into a file in memory and its name into `path`; returns the descriptor, which the caller closes. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[FUZZ_PATH]) {
    int file = memfd_create("fuzz", 0);
    if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
    snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", file);
    return file;
}

/* A folder in memory for what needs a name that can be replaced; made by the first call. It is removed when the process
 * exits, and by scripts/fuzz where a crash ends it. */
static inline void fuzz_remove_folder(void);
static inline const char *fuzz_folder(void) {
    static char folder[FUZZ_PATH];
    if (folder[0]) return folder;
    snprintf(folder, sizeof folder, "/dev/shm/cumind-fuzz-%d", (int)getpid());
    if (cm_directory_make(folder) != CM_OK || atexit(fuzz_remove_folder) != 0) abort();
    return folder;
}
static inline void fuzz_remove_folder(void) {
    if (cm_directory_remove(fuzz_folder()) != CM_OK) fprintf(stderr, "%s\n", cm_error_message());
}

/* A property that must hold whatever the input is. */
#define FUZZ_EXPECT(property)                                                                                          \
    do {                                                                                                               \
        if (!(property)) {                                                                                             \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #property);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
