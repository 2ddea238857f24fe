/* Whole updates of small networks of every kind, for tests that compare ways to make them. */
#ifndef CM_TESTS_UPDATES_H
#define CM_TESTS_UPDATES_H

#include "trainer/trainer.h"

enum { CM_TEST_UPDATE_KINDS = 10, CM_TEST_UPDATE_ROWS = 6 };

/* Kind 0..CM_TEST_UPDATE_KINDS - 1 of a network and its losses; 0 is an MLP, 7 a wide one, 9 one that
 * trains for 8 bits. */
void cm_test_update_kind(int kind, cm_network_config *c, cm_trainer_options *o);

/* Kind 0..CM_TEST_PLANE_KINDS - 1 of a network with planes: residual ones with two blocks, with an action embedding,
 * with an action's numbers, with chance, with value prefixes, with a consistency loss; an MLP and the original network
 * of small pictures; a residual one that trains for 8 bits; one of larger pictures, which takes the longest. */
enum { CM_TEST_PLANE_KINDS = 10 };
void cm_test_update_planes(int kind, cm_network_config *c, cm_trainer_options *o);

/* Parameters, running statistics and the last total loss after `updates` updates on one batch of CM_TEST_UPDATE_ROWS
 * rows, unrolled three steps; *count of them, freed by the caller. Fails the test if one fails. */
float *cm_test_updates(cm_backend *backend, int kind, cm_dtype compute, int updates, size_t *count);
float *cm_test_updates_of(cm_backend *backend, const cm_network_config *c, const cm_trainer_options *o,
                          cm_dtype compute, int updates, size_t *count);

#endif
