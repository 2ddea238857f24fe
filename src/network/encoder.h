/* The encoder of a network with chance (network.h, CM_NETWORK_CHANCE). */
#ifndef CM_NETWORK_ENCODER_H
#define CM_NETWORK_ENCODER_H

#include "network/layers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The observations before and after [B, 2 O] -> numbers of the codes [B, codes]. */
cm_var cm_encoder(cm_builder *b, cm_var observations);

#ifdef __cplusplus
}
#endif
#endif
