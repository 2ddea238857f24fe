/* The unroll of a small network of any kind, played by a backend, for tests that compare what two ways to play it
 * leave.
 */
#ifndef CM_TESTS_UNROLLED_H
#define CM_TESTS_UNROLLED_H

#include "device/device.h"
#include "support/updates.h"
#include "trainer/unroll.h"

typedef struct cm_test_unrolled {
    cm_stream *stream;
    cm_network *network;
    cm_unroll unroll;
    cm_buffer memory[CM_MEM_COUNT];
    cm_pass *pass;
} cm_test_unrolled;

/* Three steps of kind 0..CM_TEST_UPDATE_KINDS - 1 (updates.h) for `rows` rows, on numbers that are the same every time.
 * The backend stays the caller's. */
void cm_test_unrolled_open(cm_test_unrolled *u, cm_backend *backend, int kind, cm_dtype compute, int rows);
/* The same of any network and its losses. */
void cm_test_unrolled_open_of(cm_test_unrolled *u, cm_backend *backend, const cm_network_config *c,
                              const cm_trainer_options *o, cm_dtype compute, int rows);
void cm_test_unrolled_run(cm_test_unrolled *u); /* forward and backward */
/* Fails the test if a number of a variable that is left in memory differs by more than `tolerance` of the largest of
 * that variable, or of all gradients of parameters if it is one. */
void cm_test_unrolled_compare(const cm_test_unrolled *got, const cm_test_unrolled *want, float tolerance);
void cm_test_unrolled_close(cm_test_unrolled *u);

#endif
