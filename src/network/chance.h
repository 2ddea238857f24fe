/* The parts of a network that know of chance (network.h, CM_NETWORK_CHANCE). States of family mlp are vectors [B, D],
 * those of resnet planes [B, H, W, C]. */
#ifndef CM_NETWORK_CHANCE_H
#define CM_NETWORK_CHANCE_H

#include "network/layers.h"

#ifdef __cplusplus
extern "C" {
#endif

cm_var cm_chance_afterstate(cm_builder *b, cm_var state, cm_var action); /* state, action [B] -> afterstate */
cm_var cm_chance_outcome(cm_builder *b, cm_var afterstate, cm_var code); /* afterstate, code [B, codes] -> state */
cm_var cm_chance_encode(cm_builder *b, cm_var observations);             /* [B, 2 O] -> [B, codes] */

#ifdef __cplusplus
}
#endif
#endif
