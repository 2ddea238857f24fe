/* Weights of 8 bits in a checkpoint, as `cumind quantize` writes them: a run that plays and is not trained. state.json
 * has the member "quantised", an object of the layers' weights with the range of what each reads; quantised.safetensors
 * has these as int8 NAME and a float32 step of each row, NAME.step, and all other arrays in float32, but for those that
 * training alone reads. Read as floats they are number times step, of which products in 8 bits make the same numbers
 * again (backend/int8.h). */
#ifndef CM_RUN_QUANTISED_H
#define CM_RUN_QUANTISED_H

#include "network/network.h"
#include "run/checkpoint.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CM_FILE_QUANTISED  "quantised.safetensors"
#define CM_STATE_QUANTISED "quantised"
/* Whether the float32 arrays have ranges of training, NAME.range: a run that trained for 8 bits may be quantised
 * without.
 */
#define CM_STATE_TRAINED_RANGES "trained_ranges"
/* Whether the arrays are without those of training alone. Those of before have them. */
#define CM_STATE_INFERENCE_ONLY "inference_only"

/* Whether an open checkpoint holds such weights. */
bool cm_quantised_is(const cm_checkpoint_reader *reader);

/* Fills the blocks of the network's table (NULL: names and shapes are only compared) and ranges[count of the table]
 * (NULL: not wanted). Arrays that the file is without stay as they are. Errors: CM_ERR_INPUT for what is of another
 * network or no such file; CM_ERR_IO, CM_ERR_MEMORY. */
cm_status cm_quantised_load(cm_checkpoint_reader *reader, const cm_network *network, float *parameters, float *state,
                            float *ranges) CM_MUST_USE;

/* What a checkpoint is written from, all borrowed. `of` is the state.json of the checkpoint whose weights they are. */
typedef struct cm_quantised_source {
    const cm_network *network;
    const float *parameters, *state, *ranges;
    const cm_json *of;
} cm_quantised_source;

/* The files of such a checkpoint. Errors: those of writing. */
cm_status cm_quantised_put(const cm_quantised_source *source, cm_checkpoint_writer *writer) CM_MUST_USE;

/* Writes a new run at `to`, which is not there yet, with such a checkpoint and the configuration of the run `from`,
 * whose checkpoint the weights are of. Errors: CM_ERR_INPUT if `to` is there; those of reading and writing, and then
 * nothing stays of it. */
typedef struct cm_quantised_run {
    const char *from, *to;
    int64_t checkpoint; /* of `from` */
    const cm_network *network;
    const float *parameters, *state, *ranges;
} cm_quantised_run;
cm_status cm_quantised_write(const cm_quantised_run *run) CM_MUST_USE;

/* Bytes of the file with the layers that have a range in 8 bits; of the arrays that it is without, in float32. */
uint64_t cm_quantised_bytes(const cm_network *network, const float *ranges);
uint64_t cm_quantised_bytes_left_out(const cm_network *network);

#ifdef __cplusplus
}
#endif
#endif
