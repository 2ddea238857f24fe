/* A search whose trees lie on a device, where kernels (kernels.h) and the model's passes work on them in turn: the host
 * says what to start from, launches, and reads the roots' numbers at the end. The rules, and so the integers, are those
 * of cm_search_run; floats differ only as far as logarithms and the model do.
 *
 *     request      fills what is to be copied to the device
 *     begin        kernels: after the model's root pass
 *     grow         N times, after a recurrent pass each, with chance also after one of afterstates
 *     end
 *     result_span  says what is to be copied to the host
 *     result       makes the results of it, as cm_search_run does
 *
 * Between request and result nothing depends on the host, so it may be recorded once and replayed. Searches with kept
 * trees or checks after every simulation are not served: these trees stay on the host.
 *
 * A search is used by one thread at a time. The host has memory of the same size: its mirror, a cm_search. */
#ifndef CM_MCTS_DEVICE_SEARCH_H
#define CM_MCTS_DEVICE_SEARCH_H

#include "mcts/kernels.h"
#include "mcts/search.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_device_search cm_device_search;

/* Where trees lie. */
typedef struct cm_device_place {
    const cm_device *device;          /* borrowed */
    const cm_search_kernels *kernels; /* of this device; borrowed */
} cm_device_place;

/* Bytes to be copied between a block of the device and one of the host. */
typedef struct cm_span {
    void *device, *host;
    size_t bytes;
} cm_span;

/* Whether such a search is served. */
bool cm_device_search_serves(const cm_search_params *params);

/* Takes all memory. Every root of the model's rows is searched: batch = its rows. The caller owns it. Errors: those of
 * cm_search_create, CM_ERR_MEMORY for the device, CM_ERR_ABSENT if the kernels are of another build. */
cm_status cm_device_search_create(const cm_search_params *params, int batch, const cm_device_place *place,
                                  const cm_device_model *model, cm_device_search **out) CM_MUST_USE;
void cm_device_search_destroy(cm_device_search *search); /* NULL is allowed */

/* *out: to be copied to the device before begin. Errors: CM_ERR_INPUT, as cm_search_run. */
cm_status cm_device_search_request(cm_device_search *search, const cm_roots *roots, cm_span *out) CM_MUST_USE;

/* Launches. Errors: CM_ERR_DEVICE. */
cm_status cm_device_search_begin(const cm_device_search *search, void *queue) CM_MUST_USE;
cm_status cm_device_search_grow(const cm_device_search *search, void *queue) CM_MUST_USE;
cm_status cm_device_search_end(const cm_device_search *search, void *queue) CM_MUST_USE;

/* What its kernels work on; owned by the search. */
const cm_tree_args *cm_device_search_args(const cm_device_search *search);

/* To be copied to the host: before cm_device_search_result; for the mirror, with all that the trees have. */
cm_span cm_device_search_result_span(const cm_device_search *search);
cm_span cm_device_search_trees(const cm_device_search *search);

/* The results of the roots of the request. Errors: CM_ERR_NOT_FINITE names the root. */
cm_status cm_device_search_result(cm_device_search *search, const cm_roots *roots,
                                  const cm_search_result *result) CM_MUST_USE;

/* The trees as they were last copied; owned by the search. Its root logits are those of the last result. */
const cm_search *cm_device_search_mirror(const cm_device_search *search);

#ifdef __cplusplus
}
#endif
#endif
