/* The search of a planner on a device, which holds the trees, the hidden states and the network's passes. A whole
 * search is one captured graph: the root pass, then N recurrent passes (with chance also N of afterstates) with the
 * tree's kernels between them. The host draws the noise before and chooses the moves after. Internal to the folder; a
 * planner owns one. */
#ifndef CM_AGENT_DEVICE_PLANNER_H
#define CM_AGENT_DEVICE_PLANNER_H

#include "agent/planner.h"
#include "agent/sampled.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_device_planner cm_device_planner;

/* Whether such a planner's trees lie on the device: the backend has kernels for them, the model is the network's own
 * dynamics, and the trees are not checked after every simulation. */
bool cm_device_planner_serves(const cm_planner_config *config);

/* Takes all memory. The stream is borrowed; the caller owns the planner. */
cm_status cm_device_planner_open(const cm_planner_config *config, cm_stream *stream,
                                 cm_device_planner **out) CM_MUST_USE;
void cm_device_planner_close(cm_device_planner *planner); /* NULL is allowed */

float *cm_device_planner_observations(cm_device_planner *planner);      /* [R, O] */
cm_sampled_roots cm_device_planner_roots(cm_device_planner *planner);   /* with draws */
size_t cm_device_planner_model_bytes(const cm_device_planner *planner); /* memory of the passes */

/* Launches a search of roots->count <= R rows, and waits for nothing. Errors: CM_ERR_INPUT, as cm_search_run;
 * CM_ERR_DEVICE. */
cm_status cm_device_planner_begin(cm_device_planner *planner, const cm_roots *roots) CM_MUST_USE;
/* Waits for it and makes its results: of the same roots. Errors: those of cm_search_run, CM_ERR_DEVICE. */
cm_status cm_device_planner_end(cm_device_planner *planner, const cm_roots *roots,
                                const cm_search_result *result) CM_MUST_USE;

/* The trees of the last search, copied to the host; owned by the planner, valid until it begins the next. */
cm_status cm_device_planner_trees(cm_device_planner *planner, const cm_search **out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
