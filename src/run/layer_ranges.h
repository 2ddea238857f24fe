/* The ranges of a network's layers in 8 bits (cm_param.range): as a member of JSON, by the weights' names, and measured
 * on what a replay holds. ranges[count of the network's table], 0: in floats. */
#ifndef CM_RUN_LAYER_RANGES_H
#define CM_RUN_LAYER_RANGES_H

#include "agent/agent.h"
#include "core/json.h"
#include "replay/replay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An object of those above 0. */
void cm_layer_ranges_put(const cm_network *network, const float *ranges, const char *key, cm_json_writer *json);

/* Those of such an object; others stay as they are. Errors: CM_ERR_INPUT names what is no weight of a layer or no range
 * above 0. */
cm_status cm_layer_ranges_read(const cm_network *network, const cm_json *object, float *ranges) CM_MUST_USE;

typedef struct cm_layer_ranges_request {
    cm_agent *agent;           /* borrowed, like all here: whose weights and backend, which takes 8 bits */
    const cm_network *network; /* of these weights, without ranges */
    const cm_replay *replay;   /* with positions that can be drawn */
    uint64_t seed, number;     /* of the run, of the measurement: both say which are drawn */
} cm_layer_ranges_request;

/* Raises ranges to the largest magnitude that each layer reads, in float32, in 256 positions as batches draw them and
 * the steps that follow them there. Errors: CM_ERR_MEMORY; those of drawing. */
cm_status cm_layer_ranges_measure(const cm_layer_ranges_request *request, float *ranges) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
