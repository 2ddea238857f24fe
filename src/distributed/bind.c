/* Ranks divide the processors of their machine. */
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/cpu.h"
#include "distributed/launch.h"

/* Which machine a rank is on, and the processors that it may use. */
typedef struct seat {
    char host[256];
    cpu_set_t processors;
} seat;

static bool is_same(const seat *a, const seat *b) {
    return strcmp(a->host, b->host) == 0 && CPU_EQUAL(&a->processors, &b->processors);
}

static void bind_share(const seat *seats, int rank, int size) {
    int sharing = 0, place = 0;
    for (int r = 0; r < size; r++) {
        if (!is_same(&seats[r], &seats[rank])) continue;
        place += r < rank;
        sharing++;
    }
    cm_cpu_share(place, sharing, INT_MAX);
}

cm_status cm_launch_bind(cm_comm *comm) {
    seat *seats = NULL;
    if (comm->size == 1) return CM_OK;
    CM_TRY(cm_alloc(&seats, (size_t)comm->size, sizeof *seats, "the ranks' processors"));
    seat *mine = &seats[comm->rank];
    gethostname(mine->host, sizeof mine->host - 1);
    cm_status status = CM_OK;
    if (sched_getaffinity(0, sizeof mine->processors, &mine->processors) != 0) CPU_ZERO(&mine->processors);
    status = comm->all_gather(comm, mine, sizeof *mine, seats);
    if (status == CM_OK) bind_share(seats, comm->rank, comm->size);
    free(seats);
    return status;
}
