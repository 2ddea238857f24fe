#include "distributed/scratch.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/directory.h"

enum { NAMES = 2 }; /* Open MPI 4's, and that of later ones */

static const struct {
    const char *parent; /* NULL: that of temporary files */
    const char *variable[NAMES];
} rows[CM_SCRATCH_FOLDERS] = {
    {"/dev/shm", {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"}},
    {NULL, {"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"}},
};

static void make(int row, char folder[PATH_MAX]) {
    const char *temporary = getenv("TMPDIR"), *parent = rows[row].parent;
    folder[0] = '\0';
    for (int i = 0; i < NAMES; i++)
        if (getenv(rows[row].variable[i])) return;
    if (!parent) parent = temporary && *temporary ? temporary : "/tmp";
    const int n = snprintf(folder, PATH_MAX, "%s/cumind-ranks-XXXXXX", parent);
    if (n < 0 || n >= PATH_MAX || !mkdtemp(folder)) folder[0] = '\0';
}

void cm_scratch_make(cm_scratch *scratch) {
    for (int row = 0; row < CM_SCRATCH_FOLDERS; row++) make(row, scratch->folder[row]);
}

void cm_scratch_tell(const cm_scratch *scratch) {
    for (int row = 0; row < CM_SCRATCH_FOLDERS; row++)
        for (int i = 0; i < NAMES && scratch->folder[row][0]; i++)
            setenv(rows[row].variable[i], scratch->folder[row], 1);
}

void cm_scratch_remove(const cm_scratch *scratch) {
    for (int row = 0; row < CM_SCRATCH_FOLDERS; row++) {
        if (scratch->folder[row][0] == '\0') continue;
        const cm_status status = cm_dir_remove(NULL, scratch->folder[row]);
        (void)status; /* what cannot be removed is of no use to anybody */
    }
}
