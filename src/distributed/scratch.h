/* Shared folders of a job's ranks and their launcher on this machine. They belong to the job, so nothing is left of it,
 * however it ends; those of a command that was killed are removed by the next job of the same user. */
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
    int lock[CM_SCRATCH_FOLDERS]; /* the folder's descriptor, locked (flock) as long as the command lives; -1: none */
} cm_scratch;

/* Makes and locks the folders, but those that the user has named himself by Open MPI's variables. Removes first what
 * other commands have left: folders of this user with our name whose lock is free. */
void cm_scratch_make(cm_scratch *scratch);

/* Names them to a launcher that this process is about to become, in its environment. */
void cm_scratch_tell(const cm_scratch *scratch);

/* Removes them with what is still in them, and their locks. */
void cm_scratch_remove(cm_scratch *scratch);

#ifdef __cplusplus
}
#endif
#endif
