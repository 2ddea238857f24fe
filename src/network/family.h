/* A family of networks: how representation, dynamics and prediction are made of layers, and with chance the two halves
 * of dynamics (network.h). One file each, family_NAME.c, and a row of families.def.
 *
 * States are vectors [B, D], or planes [B, H, W, C] where `planes` says so. Actions are [B] int32, codes [B, codes].
 * Functions give the raw state; the caller scales it. */
#ifndef CM_NETWORK_FAMILY_H
#define CM_NETWORK_FAMILY_H

#include "network/layers.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_family {
    bool planes;
    cm_var (*representation)(cm_builder *b, cm_var observation);
    cm_var (*dynamics)(cm_builder *b, cm_var state, cm_var action);
    cm_outputs (*predict)(cm_builder *b, cm_hidden state, bool with_reward);
    /* with value prefixes: what the LSTM reads of a raw state [B, ...], and the head after it, [B, L] -> [B, S]; NULL
     * in a family that has none */
    cm_var (*prefix_input)(cm_builder *b, cm_var state);
    cm_var (*prefix_head)(cm_builder *b, cm_var h);
    /* with chance; NULL in a family that has none */
    cm_var (*afterstate)(cm_builder *b, cm_var state, cm_var action);
    cm_outputs (*predict_chance)(cm_builder *b, cm_hidden afterstate); /* logits of codes as policy; value */
    cm_var (*outcome)(cm_builder *b, cm_var afterstate, cm_var code);
} cm_family;

#define CM_FAMILY(NAME, name) extern const cm_family cm_family_##name;
#include "network/families.def"
#undef CM_FAMILY

#ifdef __cplusplus
}
#endif
#endif
