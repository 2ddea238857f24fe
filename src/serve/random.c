/* Random numbers for a libevent that is linked statically, as in the wheel: its own are those of a glibc from 2.36 on,
 * which is newer than the oldest that the wheel serves (docs/INSTALL.md). */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) void arc4random_buf(void *out, size_t size) {
    for (size_t at = 0; at < size;) {
        const ssize_t n = getrandom((char *)out + at, size - at, 0);
        if (n > 0) at += (size_t)n;
    }
}

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
    uint32_t number;
    arc4random_buf(&number, sizeof number);
    return number;
}
