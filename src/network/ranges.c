/* Ranges of what layers read: those of 8 bits, and those that training with fake quantisation keeps. */
#include <stdio.h>
#include <string.h>

#include "network/network.h"

void cm_network_trained_ranges(const cm_network *network, const float *state, float *ranges) {
    const cm_param_table *table = cm_network_parameters(network);
    for (int i = 0; i < table->count; i++) {
        const int row = cm_network_range_of(network, i);
        ranges[i] = row < 0 ? 0.0f : state[table->param[row].offset];
    }
}

/* The state's row of the layer whose array this is, -1: it has none. */
static int named_range(const cm_param_table *table, const cm_param *weight) {
    char name[CM_PARAM_NAME + sizeof CM_NETWORK_RANGE];
    const char *end = strrchr(weight->name, '.');
    if (!end) return -1;
    snprintf(name, sizeof name, "%.*s." CM_NETWORK_RANGE, (int)(end - weight->name), weight->name);
    const cm_param *found = cm_param_table_find(table, name);
    return found ? (int)(found - table->param) : -1;
}

int cm_network_range_of(const cm_network *network, int row) {
    const cm_param_table *table = cm_network_parameters(network);
    if (!cm_network_get_config(network)->fake_quantised || table->param[row].ndim < 2) return -1;
    for (; row >= 0; row--) { /* merged layers have the range of the first */
        const int found = named_range(table, &table->param[row]);
        if (found >= 0 || !table->param[row].joined) return found;
    }
    return -1;
}
