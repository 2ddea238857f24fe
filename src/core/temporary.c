#include "core/temporary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cm_status cm_temporary_folder(const char *what, char out[PATH_MAX]) {
    const char *named = getenv("TMPDIR"), *parent = named && *named ? named : "/tmp";
    const int n = snprintf(out, PATH_MAX, "%s/cumind-%s-XXXXXX", parent, what);
    if (n > 0 && n < PATH_MAX && mkdtemp(out)) return CM_OK;
    return cm_fail(CM_ERR_IO, "%s: no folder can be made there", parent);
}
