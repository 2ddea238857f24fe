#include "run/ranks.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/arena.h"

cm_status cm_ranks_check(const cm_configuration *c, int ranks) {
    const struct {
        const char *key;
        int64_t count;
    } rows[] = {{"Environment.num_envs", c->env.num_envs},
                {"Training.batch_size", c->trainer.batch_size},
                {"Memory.memory_steps", c->replay.memory_steps},
                {"Memory.memory_capacity", c->replay.memory_capacity},
                {"Memory.memory_bytes", c->replay.memory_bytes}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t rest = rows[i].count % ranks, below = rows[i].count - rest, above = below + ranks;
        if (rest == 0) continue;
        int64_t nearest = below > 0 && rest <= ranks - rest ? below : above;
        return cm_fail(CM_ERR_INPUT,
                       "%s is %lld, which %d ranks cannot share evenly; the nearest count that they can is %lld",
                       rows[i].key, (long long)rows[i].count, ranks, (long long)nearest);
    }
    return CM_OK;
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
