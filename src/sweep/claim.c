#include "sweep/claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/file.h"
#include "core/retry.h"

cm_status cm_sweep_claim(const char *path, bool waits, int *claim) {
    int result;
    *claim = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (*claim < 0) return cm_file_fail(path, "open");
    do result = flock(*claim, waits ? LOCK_EX : LOCK_EX | LOCK_NB);
    while (cm_is_eintr(result));
    if (result == 0) return CM_OK;
    const cm_status status = errno == EWOULDBLOCK ? CM_OK : cm_file_fail(path, "lock");
    close(*claim);
    *claim = -1;
    return status;
}

void cm_sweep_release(int claim) {
    if (claim >= 0) close(claim);
}
