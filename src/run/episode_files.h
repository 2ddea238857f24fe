/* episodes/ of a run's folder: N.gif, the first episode of the evaluation after N updates, and best.gif. A file stands
 * there whole or not at all, however the process ends. */
#ifndef CM_RUN_EPISODE_FILES_H
#define CM_RUN_EPISODE_FILES_H

#include "core/directory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the bytes of a GIF as that of `updates`, and as the best one. Then the newest `most` (>= 1) stay; files of
 * more updates go, which are of a past that was given up. Files of other names stay as they are. Reads the folder once.
 * Errors: CM_ERR_IO, CM_ERR_MEMORY. */
cm_status cm_episode_files_write(const cm_dir *run, int64_t updates, const cm_file_bytes *gif, bool is_best,
                                 int most) CM_MUST_USE;

/* Removes what a process that was killed has left of writing such a file. What cannot be removed is warned of. */
void cm_episode_files_clean(const cm_dir *run);

#ifdef __cplusplus
}
#endif
#endif
