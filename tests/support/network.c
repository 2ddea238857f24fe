#include "support/network.h"

#include <check.h>
#include <stdlib.h>

cm_network_config cm_test_mlp(int observation, int actions, int hidden, int head_hidden, cm_support support) {
    return (cm_network_config){.family = CM_FAMILY_MLP,
                               .observation_ndim = 1,
                               .observation = {observation},
                               .actions = actions,
                               .hidden = hidden,
                               .head_hidden = head_hidden,
                               .body = CM_BODY_PLAIN,
                               .norm = CM_NORM_LAYER,
                               .minmax = true,
                               .value_support = support,
                               .reward_support = support,
                               .init = CM_INIT_LECUN_NORMAL};
}

void cm_test_network_open(cm_test_network *n, const cm_network_config *config, const char *backend, uint64_t seed) {
    ck_assert_msg(cm_network_create(config, &n->network) == CM_OK, "%s", cm_error_message());
    const cm_param_table *table = cm_network_parameters(n->network);
    n->parameters = calloc(table->parameters + 1, sizeof(float));
    n->state = calloc(table->states + 1, sizeof(float));
    cm_network_initialise(n->network, seed, n->parameters, n->state);
    ck_assert_msg(cm_backend_open(backend, &n->backend) == CM_OK, "%s", cm_error_message());
}

void cm_test_network_close(cm_test_network *n) {
    cm_backend_close(n->backend);
    cm_network_destroy(n->network);
    free(n->parameters);
    free(n->state);
}

cm_network_use cm_test_network_use(const cm_test_network *n, cm_stream *stream, int rows) {
    return (cm_network_use){
        .network = n->network, .stream = stream, .rows = rows, .parameters = n->parameters, .state = n->state};
}
