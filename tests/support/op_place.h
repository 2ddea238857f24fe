/* The tensors of an op_run where the device of a stream can use them: blocks of that device with the same guard bytes,
 * written and read through its copy functions. Where the device is the host they are the run's own. */
#ifndef CM_TESTS_SUPPORT_OP_PLACE_H
#define CM_TESTS_SUPPORT_OP_PLACE_H

#include "support/op_cases.h"

typedef struct op_place {
    cm_call call; /* with addresses of the device */
    op_run *run;  /* borrowed */
    cm_buffer block[CM_CALL_TENSORS];
} op_place;

/* Takes the memory and writes what the run holds. Fails the test if it cannot. */
void op_place_make(op_place *place, const cm_stream *stream, op_run *run);
void op_place_write(op_place *place); /* device <- run */
void op_place_read(op_place *place);  /* run <- device, after all that runs there */
void op_place_free(op_place *place);

/* All of it: the run's call, prepared and run once; the results are in the run. */
cm_status op_run_eager(cm_stream *stream, op_run *run) CM_MUST_USE;

#endif
