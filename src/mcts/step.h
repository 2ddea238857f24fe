/* The inner part of the search: everything between two model calls. Internal to the folder.
 *
 * step_impl.inc is compiled several times, with the scalar rules (the judge) and with vectors of an instruction set;
 * each gives one table. All tables give the same bits. */
#ifndef CM_MCTS_STEP_H
#define CM_MCTS_STEP_H

#include "mcts/qtransform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An edge to expand. */
typedef struct cm_leaf {
    int32_t parent, action;
    int32_t child; /* slot of the new node, or of the old one that is evaluated again at the depth limit */
} cm_leaf;

/* What the model said about the leaves of n roots. */
typedef struct cm_growth {
    int n;
    const int32_t *order;                   /* [n] the root of each row        */
    const cm_leaf *leaf;                    /* [B] by root                     */
    const float *reward, *discount, *value; /* [n]                            */
    const float *prior_logits;              /* [n, width]                      */
    int width;                              /* columns of the new nodes        */
} cm_growth;

typedef struct cm_step {
    const char *name;

    /* Fills the block of a fresh root from its value and root_logits, and makes the root's first selection. False if a
     * number is not finite. */
    bool (*root)(cm_tree *tree, int b, float value);

    /* Writes the evaluations into the leaves, backs them up to the roots and renews the selection of every node on the
     * way. Returns CM_NONE, or a root for which a number is not finite. */
    int (*grow)(cm_tree *tree, const cm_growth *rows);
} cm_step;

extern const cm_step cm_step_scalar;
extern const cm_step cm_step_avx2; /* only on machines that have it */

/* The fastest table that this machine can run. */
const cm_step *cm_step_best(void);

/* The edge that root b expands next; a new node gets `slot`. */
cm_leaf cm_step_leaf(const cm_tree *tree, int b, int32_t slot);

/* The q-transform at the root. */
cm_affine cm_step_root_map(const cm_tree *tree, int b);

#ifdef __cplusplus
}
#endif
#endif
