/* Ratings of players from the games they played against each other.
 *
 * Model: Bradley and Terry (1952). i scores against j with p_ij = 1 / (1 + 10^((r_j - r_i) / 400)); a draw is half a
 * point each. The ratings have the highest likelihood, found by Newton's method, and mean 0. Intervals are r -+ 1.96 s,
 * with s^2 from the inverse of the Fisher information sum n_ij p_ij (1 - p_ij) (ln 10 / 400)^2 on the ratings of mean
 * 0. Drawn games vary less than this, so with many draws the intervals are too wide, not too narrow.
 *
 * The ratings of highest likelihood are not finite if some players never lost a point to the others (Ford 1957). Then a
 * drawn game is added to every pairing that was played, and `padded` says so.
 */
#ifndef CM_ARENA_ELO_H
#define CM_ARENA_ELO_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_ELO_MOST_PLAYERS = 256 };

/* points [P, P]: points[i * P + j] of i against j, games [P, P]: games between them, points_ij + points_ji = games_ij =
 * games_ji; the diagonal is not read. rating [P], interval [P]: half the width of the 95 % interval. Errors:
 * CM_ERR_INPUT unless 2 <= P <= CM_ELO_MOST_PLAYERS and the games connect all players; CM_ERR_MEMORY. */
cm_status cm_elo_fit(int players, const double *points, const double *games, double *rating, double *interval,
                     bool *padded) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
