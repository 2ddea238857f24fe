/* Whether the ranks still hold the same parameters. */
#include <stdlib.h>
#include <xxhash.h>

#include "trainer/internal.h"

cm_status cm_agreement_create(cm_trainer *t) {
    if (t->config.comm->size == 1 || t->config.check_interval == 0) return CM_OK;
    const size_t tensors = (size_t)cm_network_parameters(t->config.network)->count, size = (size_t)t->config.comm->size;
    return cm_alloc(&t->hashes, tensors * size, sizeof *t->hashes, "hashes of parameters");
}

cm_status cm_agreement_check(cm_trainer *t) {
    cm_comm *comm = t->config.comm;
    const cm_param_table *table = cm_network_parameters(t->config.network);
    if (!t->hashes || t->updates % t->config.check_interval != 0) return CM_OK;
    const size_t tensors = (size_t)table->count;
    uint64_t *mine = t->hashes + (size_t)comm->rank * tensors;
    CM_TRY(cm_mirror_fetch(&t->parameters));
    CM_TRY(cm_mirror_fetch(&t->state));
    for (size_t i = 0; i < tensors; i++) {
        const cm_param *p = &table->param[i];
        const float *block = p->state ? t->state.host : t->parameters.host;
        mine[i] = XXH3_64bits(block + p->offset, p->count * sizeof(float));
    }
    CM_TRY(comm->all_gather(comm, mine, tensors * sizeof *mine, t->hashes));
    for (int rank = 1; rank < comm->size; rank++) {
        for (size_t i = 0; i < tensors; i++) {
            if (t->hashes[(size_t)rank * tensors + i] == t->hashes[i]) continue;
            return cm_fail(CM_ERR_STATE,
                           "update %lld: %s of rank %d is not that of rank 0: a machine computes wrongly, or the ranks "
                           "are of different builds",
                           (long long)t->updates, table->param[i].name, rank);
        }
    }
    return CM_OK;
}
