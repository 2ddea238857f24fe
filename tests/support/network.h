/* A small network with weights and a backend, as tests of agents, planners and passes need it. */
#ifndef CM_TESTS_NETWORK_H
#define CM_TESTS_NETWORK_H

#include "network/network.h"

/* Family mlp: observations [observation], plain bodies of `hidden` units, heads of `head_hidden`, layer norm, min-max
 * state, initial weights by LeCun; `support` is that of values and of rewards. The caller changes what it tests. */
cm_network_config cm_test_mlp(int observation, int actions, int hidden, int head_hidden, cm_support support);

typedef struct cm_test_network {
    cm_network *network;
    cm_backend *backend;
    float *parameters, *state; /* of cm_network_parameters's layout */
} cm_test_network;

/* Opens "ref" or "cpu", makes the network with the initial weights of a seed. Fails the test if it cannot. */
void cm_test_network_open(cm_test_network *n, const cm_network_config *config, const char *backend, uint64_t seed);
void cm_test_network_close(cm_test_network *n);

/* That network as passes of `rows` rows in float32 use it. */
cm_network_use cm_test_network_use(const cm_test_network *n, cm_stream *stream, int rows);

#endif
