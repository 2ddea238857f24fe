/* Shared folders of a job's ranks and their launcher on this machine. They belong to the job, so nothing is left of it,
 * however it ends. */
#ifndef CM_DISTRIBUTED_SCRATCH_H
#define CM_DISTRIBUTED_SCRATCH_H

#include <linux/limits.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SCRATCH_FOLDERS = 2 }; /* of shared memory, and of all else */

/* "": there is none, and Open MPI chooses. */
typedef struct cm_scratch {
    char folder[CM_SCRATCH_FOLDERS][PATH_MAX];
} cm_scratch;

/* Makes the folders, but those that the user has named himself by Open MPI's variables. */
void cm_scratch_make(cm_scratch *scratch);

/* Names them to a launcher that this process is about to become, in its environment. */
void cm_scratch_tell(const cm_scratch *scratch);

/* Removes them with what is still in them. */
void cm_scratch_remove(const cm_scratch *scratch);

#ifdef __cplusplus
}
#endif
#endif
