/* Ladders: every player meets every other, and ratings from all games (arena/elo.h).
 *
 * Every pairing is a match of its own with the same seed and openings. So the games of two players do not depend on
 * other participants.
 */
#ifndef CM_ARENA_LADDER_H
#define CM_ARENA_LADDER_H

#include "arena/match.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_ladder_config {
    cm_match_config match;     /* of a pairing; its players are set by the ladder */
    cm_player *const *players; /* [count], made for match.shape; borrowed         */
    int count;                 /* P, 2 .. CM_ELO_MOST_PLAYERS                     */
    uint64_t seed;
    int opening; /* moves that are drawn */
    /* Called after every pairing with the score of player i against j; NULL: not. */
    void (*report)(void *context, int i, int j, const cm_side_score *score);
    void *context;
} cm_ladder_config;

/* What a ladder gives; all owned, free with cm_ladder_free. */
typedef struct cm_ladder {
    int count;           /* P                                                                           */
    cm_side_score *pair; /* [P, P] entry i * P + j: i against j, from the view of i; zero on the diagonal */
    cm_side_score *sum;  /* [P] each against all others                                                 */
    double *rating;      /* [P] Elo, mean 0                                                             */
    double *interval;    /* [P] half the width of its 95 % interval                                     */
    int *order;          /* [P] players from the highest rating to the lowest                           */
    bool padded;         /* a drawn game was added to every pairing, as arena/elo.h says                */
} cm_ladder;

/* Plays config->match.games games of every pairing, pairing by pairing in the order (0, 1), (0, 2), ... Errors:
 * CM_ERR_INPUT for a number of players out of range, or where games that were broken off connect too few of them for
 * ratings; CM_ERR_INTERRUPTED once match.stop was asked, and then *out is of the games that had ended; those of the
 * matches. */
cm_status cm_ladder_run(const cm_ladder_config *config, cm_ladder *out) CM_MUST_USE;
void cm_ladder_free(cm_ladder *ladder); /* leaves it empty */

/* Wins and half of the draws as a share of the games. */
double cm_side_points(const cm_side_score *score);

#ifdef __cplusplus
}
#endif
#endif
