/* What the program and its module of MPI (mpi/, lib/cumind_mpi.so) share. */
#ifndef CM_DISTRIBUTED_MODULE_H
#define CM_DISTRIBUTED_MODULE_H

#include "core/module.h"
#include "distributed/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_COMM_ENTRY "cumind_comm_module"

typedef struct cm_comm_module {
    const char *version; /* of cumind */
    size_t sizes[2];     /* of cm_comm and cm_comm_options */
    cm_status (*open)(const cm_comm_options *options, cm_comm *out);
} cm_comm_module;

typedef const cm_comm_module *(*cm_comm_entry)(void);

#ifdef __cplusplus
}
#endif
#endif
