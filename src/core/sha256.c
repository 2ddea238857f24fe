#include "core/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/retry.h"

void cm_sha256_of(const void *bytes, size_t size, uint8_t out[CM_SHA256_BYTES]) {
    SHA2_CTX hash;
    SHA256Init(&hash);
    SHA256Update(&hash, bytes, size);
    SHA256Final(out, &hash);
}

static cm_status hash_all(const char *path, int file, char out[CM_SHA256_HEX]) {
    enum { PIECE = 1 << 16 };
    uint8_t piece[PIECE];
    SHA2_CTX hash;
    SHA256Init(&hash);
    for (ssize_t n; (n = read(file, piece, PIECE)) != 0;) {
        if (cm_is_eintr(n)) continue;
        if (n < 0) return cm_fail(CM_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
        SHA256Update(&hash, piece, (size_t)n);
    }
    SHA256End(&hash, out);
    return CM_OK;
}

cm_status cm_sha256_file(const char *path, char out[CM_SHA256_HEX]) {
    struct stat about;
    int file;
    do file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    while (cm_is_eintr(file));
    if (file < 0) return cm_fail(CM_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    cm_status status = CM_OK;
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        status = cm_fail(CM_ERR_INPUT, "%s: not a regular file", path);
    } else {
        status = hash_all(path, file, out);
    }
    close(file);
    return status;
}
