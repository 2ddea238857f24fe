/* A recorded tape as a graph of ONNX: its calls, one after another, by the rows of operators.c.
 *
 * Variables of rank 4, [B, H, W, C] on a tape, are values [B, C, H, W]; weights of convolutions, too. All others have
 * the shape that they have on the tape. The tape is one of a single row, so that a first dimension is the batch.
 */
#ifndef CM_EXPORT_TRANSLATE_H
#define CM_EXPORT_TRANSLATE_H

#include "backend/tape/tape.h"
#include "export/onnx_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The network's arrays: its table, and the blocks of that layout. Borrowed. */
typedef struct cm_export_weights {
    const cm_param_table *table;
    const float *parameters, *state;
} cm_export_weights;

typedef struct cm_translation {
    const cm_tape *tape;
    cm_export_weights weights;
    cm_onnx_graph *graph;
    cm_onnx_value *value; /* [variables] that stand for them so far, by variable; owned */
    int values;
} cm_translation;

/* For a tape that is finished; both are borrowed. Close it also after an error. */
cm_status cm_translation_open(cm_translation *t, const cm_tape *tape, const cm_export_weights *weights,
                              cm_onnx_graph *graph) CM_MUST_USE;
void cm_translation_close(cm_translation *t);

/* All calls, once values have been written for the tape's inputs. Errors are kept by the graph: an operation without a
 * row is one. */
void cm_translate_calls(cm_translation *t);

/* ---- for rows ---- */

/* The value of a variable; as rows [B, n], channels last; CM_NO_VALUE of CM_NO_VAR. */
cm_onnx_value cm_translate_read(cm_translation *t, cm_var var);
cm_onnx_value cm_translate_read_rows(cm_translation *t, cm_var var);
/* The variable is that value from now on, which is of its shape, or rows [B, n]. */
void cm_translate_write(cm_translation *t, cm_var var, cm_onnx_value value);
void cm_translate_write_rows(cm_translation *t, cm_var var, cm_onnx_value rows);

/* The value [B, rest...] in another shape, `ndim` numbers of which one may be -1. */
cm_onnx_value cm_translate_reshape(cm_translation *t, cm_onnx_value value, const int64_t *dim, int ndim);
/* [B, H, W, C] -> [B, C, H, W], and back. */
cm_onnx_value cm_translate_channels_first(cm_translation *t, cm_onnx_value value);
cm_onnx_value cm_translate_channels_last(cm_translation *t, cm_onnx_value value);
/* Columns first .. first + count - 1 of rows. */
cm_onnx_value cm_translate_columns(cm_translation *t, cm_onnx_value rows, int first, int count);

/* A layer in 8 bits: its weight, in bytes with a step for each of its rows, is the port's name, and its steps
 * NAME.step; data[product of dim] is what they stand for. Its input as what it is read as; of other layers x itself. */
cm_onnx_value cm_translate_int8_weight(cm_translation *t, const cm_onnx_port *port, const float *data);
cm_onnx_value cm_translate_int8_input(cm_translation *t, const cm_attr *attr, cm_onnx_value x);

/* Bytes times `unit`; whole numbers as rows [B, n] of zeros with a 1 at each. */
cm_onnx_value cm_translate_scale(cm_translation *t, cm_onnx_value bytes, float unit);
cm_onnx_value cm_translate_one_hot(cm_translation *t, cm_onnx_value index, int n);

/* Copies [N, H, W, C] to [N, C, H, W], or back. */
void cm_channels_first(float *to, const float *from, const int dim[4]);
void cm_channels_last(float *to, const float *from, const int dim[4]);

#ifdef __cplusplus
}
#endif
#endif
