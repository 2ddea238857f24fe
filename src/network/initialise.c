/* Initial parameters (networks 0.1). */
#include <math.h>
#include <string.h>

#include "core/hash.h"
#include "core/rng.h"
#include "network/network.h"

/* N(0, 1) truncated to [-2, 2] by rejection. */
static float truncated_normal(cm_rng *rng) {
    for (;;) {
        float x = cm_rng_normal(rng);
        if (x >= -2.0f && x <= 2.0f) return x;
    }
}

static void fill(const cm_param *p, int fan_in, cm_rng *rng, float *out) {
    double bound = 1.0 / sqrt((double)fan_in);
    for (size_t i = 0; i < p->count; i++) {
        switch (p->init) {
        case CM_INIT_ZERO: out[i] = 0.0f; break;
        case CM_INIT_ONE: out[i] = 1.0f; break;
        case CM_INIT_LECUN_NORMAL: out[i] = (float)(truncated_normal(rng) * bound / 0.87962566103423978); break;
        case CM_INIT_UNIFORM_FAN_IN: out[i] = (float)(bound * (2.0 * cm_rng_uniform_double(rng) - 1.0)); break;
        case CM_INIT_EMBEDDING: out[i] = (float)(cm_rng_normal(rng) / sqrt((double)p->dim[1])); break;
        case CM_INIT_LSTM: out[i] = (float)((2.0 * cm_rng_uniform_double(rng) - 1.0) / sqrt(p->dim[0] / 4.0)); break;
        }
    }
}

/* Keyed by the name, so that a layer's start does not depend on what else the network has. */
static uint64_t name_hash(const char *name) { return cm_hash(CM_HASH_BEGIN, name, strlen(name)); }

void cm_network_initialise(const cm_network *network, uint64_t seed, float *parameters, float *state) {
    const cm_param_table *table = cm_network_parameters(network);
    int fan_in = 1; /* of the last weight: a bias stands after its weight and shares it */
    for (int i = 0; i < table->count; i++) {
        const cm_param *p = &table->param[i];
        if (p->ndim > 1) fan_in = p->fan_in;
        cm_rng rng = cm_rng_init(cm_key_make(seed, CM_RNG_PARAMETERS, name_hash(p->name)), 0);
        fill(p, fan_in, &rng, (p->state ? state : parameters) + p->offset);
    }
}
