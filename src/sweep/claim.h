/* A claim is a lock on a file (flock): it ends with the process that holds it, however that ends, so that nothing of a
 * dead worker has to time out. On NFS the kernel makes of it a lock at the server, which all machines see; there the
 * claim of a machine that is cut off ends with its lease. The file stays. */
#ifndef CM_SWEEP_CLAIM_H
#define CM_SWEEP_CLAIM_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the file `path` if it is not there, and locks it. With `waits` until the one that has it gives it back;
 * without, *claim is -1 if another has it. Errors: CM_ERR_IO, also where the file system knows no locks. */
cm_status cm_sweep_claim(const char *path, bool waits, int *claim) CM_MUST_USE;
void cm_sweep_release(int claim); /* -1 is allowed */

#ifdef __cplusplus
}
#endif
#endif
