/* Folders for what is gone afterwards. */
#ifndef CM_CORE_TEMPORARY_H
#define CM_CORE_TEMPORARY_H

#include <linux/limits.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes one for `what`, a word, in the folder that the environment variable TMPDIR names, else in /tmp; the caller
 * removes it. Errors: CM_ERR_IO. */
cm_status cm_temporary_folder(const char *what, char out[PATH_MAX]) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
