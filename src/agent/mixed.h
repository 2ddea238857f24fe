/* Mixed value targets (EfficientZero V2, Wang et al. 2024, section 4.3): early, and of new positions, n-step returns;
 * later, of old ones, the value that a new search gives the position itself, which does not depend on how it was
 * played. */
#ifndef CM_AGENT_MIXED_H
#define CM_AGENT_MIXED_H

#include "replay/batch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_mixed_rule {
    uint64_t batches; /* after which old positions have such targets; 0: never */
    uint32_t age;     /* steps of this replay that make a position old */
} cm_mixed_rule;

/* Whether row `row` of a batch has the values of searches as targets. */
static inline bool cm_mixed_selects(const cm_mixed_rule *rule, const cm_batch *batch, int row) {
    return rule->batches > 0 && batch->update >= rule->batches && batch->collected - batch->index[row] >= rule->age;
}

#ifdef __cplusplus
}
#endif
#endif
