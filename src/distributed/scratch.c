#include "distributed/scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/directory.h"

#define PREFIX "cumind-job-"

enum { NAMES = 2 }; /* Open MPI 4's, and that of later ones */

static const struct {
    const char *parent; /* NULL: that of temporary files */
    const char *variable[NAMES];
} rows[CM_SCRATCH_FOLDERS] = {
    {"/dev/shm", {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"}},
    {NULL, {"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"}},
};

/* Removes the folder `name` of a job whose command was killed: its lock is free. */
static cm_status sweep(void *context, const char *name) {
    const cm_dir *parent = context;
    cm_status status = CM_OK;
    struct stat s;
    cm_dir folder;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || cm_dir_enter(&folder, parent, name) != CM_OK) return CM_OK;
    if (fstat(folder.file, &s) == 0 && s.st_uid == geteuid() && flock(folder.file, LOCK_EX | LOCK_NB) == 0)
        status = cm_dir_remove(parent, name);
    cm_dir_close(&folder);
    (void)status; /* what cannot be removed does not hinder this job */
    return CM_OK;
}

static void sweep_all(const char *parent) {
    cm_dir all;
    cm_status status = cm_dir_open(&all, parent);
    if (status == CM_OK) status = cm_dir_each(&all, sweep, &all);
    cm_dir_close(&all);
    (void)status;
}

/* Opens and locks a new folder; -1: the sweep of another job took it first. */
static int hold(const char *folder) {
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0 || (flock(file, LOCK_EX | LOCK_NB) == 0 && access(folder, F_OK) == 0)) return file;
    close(file);
    return -1;
}

static void make(int row, char folder[PATH_MAX], int *lock) {
    const char *temporary = getenv("TMPDIR"), *parent = rows[row].parent;
    folder[0] = '\0';
    *lock = -1;
    for (int i = 0; i < NAMES; i++)
        if (getenv(rows[row].variable[i])) return;
    if (!parent) parent = temporary && *temporary ? temporary : "/tmp";
    sweep_all(parent);
    const int n = snprintf(folder, PATH_MAX, "%s/" PREFIX "XXXXXX", parent);
    if (n > 0 && n < PATH_MAX && mkdtemp(folder)) *lock = hold(folder);
    if (*lock < 0) folder[0] = '\0';
}

void cm_scratch_make(cm_scratch *scratch) {
    for (int row = 0; row < CM_SCRATCH_FOLDERS; row++) make(row, scratch->folder[row], &scratch->lock[row]);
}

void cm_scratch_tell(const cm_scratch *scratch) {
    for (int row = 0; row < CM_SCRATCH_FOLDERS; row++)
        for (int i = 0; i < NAMES && scratch->folder[row][0]; i++)
            setenv(rows[row].variable[i], scratch->folder[row], 1);
}

void cm_scratch_remove(cm_scratch *scratch) {
    for (int row = 0; row < CM_SCRATCH_FOLDERS; row++) {
        if (scratch->folder[row][0] == '\0') continue;
        const cm_status status = cm_dir_remove(NULL, scratch->folder[row]);
        (void)status; /* what cannot be removed is of no use to anybody */
        close(scratch->lock[row]);
        scratch->folder[row][0] = '\0';
    }
}
