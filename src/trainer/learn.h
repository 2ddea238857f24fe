/* One update from a batch of the replay: bootstrap values by the slow weights where that is asked for, then the update.
 */
#ifndef CM_TRAINER_LEARN_H
#define CM_TRAINER_LEARN_H

#include "replay/batch.h"
#include "trainer/trainer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_learner cm_learner;

/* `trainer` is borrowed; `bootstrap` as in its configuration and in that of the batches. Room for batches of `rows`
 * rows, `unroll` steps and observations of `observation_size` elements. */
cm_status cm_learner_create(cm_trainer *trainer, int rows, int unroll, int observation_size, bool bootstrap,
                            cm_learner **out) CM_MUST_USE;
void cm_learner_destroy(cm_learner *learner); /* NULL is allowed */

/* Updates the trainer; the batch's value targets are completed in place. Errors: those of cm_trainer_update. */
cm_status cm_learner_update(cm_learner *learner, cm_batch *batch, cm_train_report *report) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
