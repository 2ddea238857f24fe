/* A library that leaves a mark when it is opened, whatever becomes of it afterwards: the file that CUMIND_TEST_MARK
 * names. Its game is that of nim.c. */
#include "nim.c"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void mark(void) {
    const char *path = getenv("CUMIND_TEST_MARK");
    const int file = path ? open(path, O_WRONLY | O_CREAT, 0666) : -1;
    if (file >= 0) close(file);
}
