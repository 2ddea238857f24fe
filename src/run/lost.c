#include "run/lost.h"

#include "core/log.h"

void cm_run_note_lost(int64_t *lost, int64_t records, cm_status status, const cm_append_file *file, const char *what) {
    if (status != CM_OK) {
        if (*lost == 0)
            cm_log(CM_WARNING, "%s; the run goes on, without %s as long as that is so", cm_error_message(), what);
        *lost += records;
        return;
    }
    if (*lost > 0) cm_log(CM_INFO, "%s: can be written again; %lld %s are missing", file->path, (long long)*lost, what);
    *lost = 0;
}
