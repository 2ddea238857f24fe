/* Sequential halving as a table of considered visit counts (Karnin et al. 2013; Danihelka et al. 2022;
 * docs/spec/search.md 9). */
#ifndef CM_MCTS_CONSIDERED_H
#define CM_MCTS_CONSIDERED_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* out[simulations]: the visit count that an action must have to be considered in simulation t, when m actions start. m
 * >= 0. */
static CM_HD inline void cm_considered_sequence(int32_t *out, int m, int simulations) {
    if (m <= 1) {
        for (int t = 0; t < simulations; t++) out[t] = t;
        return;
    }
    int rounds = 0;
    while ((1 << rounds) < m) rounds++; /* ceil(log2(m)) */
    int32_t visits = 0;                 /* of the first k actions, which are always equal */
    int written = 0;
    int k = m; /* actions that are left */
    while (written < simulations) {
        int extra = simulations / (rounds * k), half = k / 2;
        for (int e = extra > 1 ? extra : 1; e > 0 && written < simulations; e--, visits++) {
            for (int i = 0; i < k && written < simulations; i++) out[written++] = visits;
        }
        k = half > 2 ? half : 2;
    }
}

/* table[m + 1, simulations]: row r is the sequence of r actions; rows 0 and 1 are equal. */
static CM_HD inline void cm_considered_table(int32_t *table, int m, int simulations) {
    for (int r = 0; r <= m; r++) cm_considered_sequence(table + (size_t)r * (size_t)simulations, r, simulations);
}

#ifdef __cplusplus
}
#endif
#endif
