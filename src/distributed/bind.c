/* Ranks divide the processors of their machine. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "distributed/launch.h"

/* Which machine a rank is on, and the processors that it may use. */
typedef struct seat {
    char host[256];
    cpu_set_t processors;
} seat;

static bool is_same(const seat *a, const seat *b) {
    return strcmp(a->host, b->host) == 0 && CPU_EQUAL(&a->processors, &b->processors);
}

/* Processors [first, first + count) of those in `all`. */
static void choose(const cpu_set_t *all, int first, int count, cpu_set_t *out) {
    int number = 0;
    CPU_ZERO(out);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, all)) continue;
        if (number >= first && number < first + count) CPU_SET(cpu, out);
        number++;
    }
}

static void take_share(const seat *seats, int rank, int size) {
    const seat *mine = &seats[rank];
    int sharing = 0, place = 0, processors = CPU_COUNT(&mine->processors);
    cpu_set_t share;
    for (int r = 0; r < size; r++) {
        if (!is_same(&seats[r], mine)) continue;
        place += r < rank;
        sharing++;
    }
    if (sharing < 2 || processors < 2) return;
    if (sharing > processors) {
        choose(&mine->processors, place % processors, 1, &share);
    } else {
        int first = place * processors / sharing;
        choose(&mine->processors, first, (place + 1) * processors / sharing - first, &share);
    }
    int refused = sched_setaffinity(0, sizeof share, &share); /* then it is the system that places the rank */
    (void)refused;
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
    if (status == CM_OK) take_share(seats, comm->rank, comm->size);
    free(seats);
    return status;
}
