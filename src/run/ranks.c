#include "run/ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"

enum { SHARED = 5 };

/* The counts that ranks share. */
typedef struct shared {
    const char *key;
    int64_t count;
} shared;

/* The first that so many ranks cannot share evenly; NULL: there is none. */
static const shared *find_uneven(const shared rows[SHARED], int ranks) {
    for (int i = 0; i < SHARED; i++) {
        if (rows[i].count % ranks != 0) return &rows[i];
    }
    return NULL;
}

cm_status cm_ranks_check(const cm_configuration *c, int ranks, bool resumes) {
    const shared rows[SHARED] = {{"Environment.num_envs", c->env.num_envs},
                                 {"Training.batch_size", c->trainer.batch_size},
                                 {"Memory.memory_steps", c->replay.memory_steps},
                                 {"Memory.memory_capacity", c->replay.memory_capacity},
                                 {"Memory.memory_bytes", c->replay.memory_bytes}};
    const shared *row = find_uneven(rows, ranks);
    int fewer = ranks - 1;
    if (!row) return CM_OK;
    if (resumes) {
        while (find_uneven(rows, fewer)) fewer--;
        return cm_fail(CM_ERR_INPUT, "%s of this run is %lld, which %d ranks cannot share evenly; go on with %d",
                       row->key, (long long)row->count, ranks, fewer);
    }
    int64_t rest = row->count % ranks, below = row->count - rest, above = below + ranks;
    int64_t nearest = below > 0 && rest <= ranks - rest ? below : above;
    return cm_fail(CM_ERR_INPUT,
                   "%s is %lld, which %d ranks cannot share evenly; the nearest count that they can is %lld", row->key,
                   (long long)row->count, ranks, (long long)nearest);
}

static void add(cm_actor_counts *sum, const cm_actor_counts *other) {
    int recent = sum->recent + other->recent;
    if (other->recent > 0 && sum->recent > 0) {
        double a = (double)sum->recent / recent, b = (double)other->recent / recent;
        sum->mean_return = a * sum->mean_return + b * other->mean_return;
        sum->mean_length = a * sum->mean_length + b * other->mean_length;
    } else if (other->recent > 0) {
        sum->mean_return = other->mean_return;
        sum->mean_length = other->mean_length;
    }
    sum->recent = recent;
    sum->env_steps += other->env_steps;
    sum->episodes += other->episodes;
    sum->simulations += other->simulations;
}

cm_status cm_ranks_count(cm_comm *comm, cm_actor_counts *counts) {
    enum { MOST = 64 };
    cm_actor_counts some[MOST], *all = some;
    if (comm->size == 1) return CM_OK;
    if (comm->size > MOST) CM_TRY(cm_alloc(&all, (size_t)comm->size, sizeof *all, "counts of the ranks"));
    cm_status status = comm->all_gather(comm, counts, sizeof *counts, all);
    for (int r = 0; r < comm->size && status == CM_OK; r++) {
        if (r == 0) {
            *counts = all[0];
        } else {
            add(counts, &all[r]);
        }
    }
    if (all != some) free(all);
    return status;
}

cm_status cm_ranks_lowest(cm_comm *comm, double *values, int count) {
    double *all = NULL;
    const size_t bytes = (size_t)count * sizeof *values;
    if (comm->size == 1) return CM_OK;
    CM_TRY(cm_alloc(&all, (size_t)comm->size, bytes, "numbers of the ranks"));
    const cm_status status = comm->all_gather(comm, values, bytes, all);
    for (int i = 0; i < comm->size * count && status == CM_OK; i++) values[i % count] = fmin(values[i % count], all[i]);
    free(all);
    return status;
}

cm_status cm_ranks_any(cm_comm *comm, bool *flag) {
    double count = *flag ? 1.0 : 0.0;
    CM_TRY(comm->all_reduce_double(comm, &count, 1));
    *flag = count > 0.0;
    return CM_OK;
}

typedef struct verdict {
    cm_status status;
    char message[1024];
} verdict;

cm_status cm_ranks_agree(cm_comm *comm, cm_status status) {
    verdict mine = {.status = status}, *all = NULL;
    bool is_wrong = status != CM_OK;
    if (comm->size == 1) return status;
    snprintf(mine.message, sizeof mine.message, "%s", is_wrong ? cm_error_message() : "");
    CM_TRY(cm_ranks_any(comm, &is_wrong));
    if (!is_wrong) return CM_OK;
    CM_TRY(cm_alloc(&all, (size_t)comm->size, sizeof *all, "what the ranks say"));
    status = comm->all_gather(comm, &mine, sizeof mine, all);
    for (int r = 0; r < comm->size && status == CM_OK; r++) {
        if (all[r].status != CM_OK) status = cm_fail(all[r].status, "%s", all[r].message);
    }
    free(all);
    return status;
}

/* The line of a text at `*at`, without blanks before it and a comma after it; *at goes on to the next one. */
static void next_line(const char **at, char line[160]) {
    const char *begin = *at + strspn(*at, " "), *end = begin + strcspn(begin, "\n");
    *at = *end ? end + 1 : end;
    const int length = (int)(end - begin) - (end > begin && end[-1] == ',');
    snprintf(line, 160, "%.*s", length, begin);
}

static cm_status fail_differing(int rank, const char *mine, const char *first) {
    char own[160] = "", other[160] = "";
    while (strcmp(own, other) == 0 && (*mine || *first)) {
        next_line(&mine, own);
        next_line(&first, other);
    }
    return cm_fail(CM_ERR_INPUT,
                   "rank %d has %s where rank 0 has %s: start all ranks with the same command, files and version", rank,
                   own, other);
}

cm_status cm_ranks_compare(cm_comm *comm, const char *text, size_t bytes) {
    uint64_t size = bytes;
    char *first = NULL;
    if (comm->size == 1) return CM_OK;
    CM_TRY(comm->broadcast(comm, &size, sizeof size, 0));
    CM_TRY(cm_alloc(&first, size + 1, 1, "the configuration of rank 0"));
    if (comm->rank == 0) memcpy(first, text, bytes);
    cm_status status = comm->broadcast(comm, first, size, 0);
    const bool is_same = size == bytes && memcmp(first, text, bytes) == 0;
    if (status == CM_OK) status = cm_ranks_agree(comm, is_same ? CM_OK : fail_differing(comm->rank, text, first));
    free(first);
    return status;
}
