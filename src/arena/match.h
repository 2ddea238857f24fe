/* Matches: two players meet in many games at once. With one player, episodes of that player.
 *
 * Game i starts from cm_env_reset with seed S + i. The first player moves first in even games, the second in odd ones.
 * A game depends on (S, i) alone. So results are the same for any number of threads and concurrent games, and several
 * processes can each play a part of the games of one match.
 *
 * Players that never vary would repeat the same two games. With an opening of n moves the first n of a game are drawn
 * uniformly, the same for the games 2k and 2k + 1, so each opening is played from both sides.
 */
#ifndef CM_ARENA_MATCH_H
#define CM_ARENA_MATCH_H

#include "arena/games.h"
#include "arena/player.h"
#include "arena/tally.h"
#include "core/stop.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_MATCH_STEPS = 100000 }; /* of a game at most: it is cut then */

typedef struct cm_match cm_match;

typedef struct cm_match_config {
    const cm_env *env;     /* borrowed, like all pointers here                                      */
    cm_pool *pool;         /* whose workers play the shards                                        */
    cm_match_shape shape;  /* what the players were made for                                        */
    cm_player *players[2]; /* "we", "they"; they are NULL with one player, who makes every move     */
    int games;             /* most of one run, by all parts                                         */
    int part, parts;       /* plays games part, part + parts, ... only; parts 0: all games          */
    bool keeps_moves;      /* only for games whose length is bounded (spec.max_plies > 0)           */
    int32_t *first;        /* [CM_MATCH_STEPS at most, max_plies where that is less] out: the moves of game 0, by the
                            * process that plays it; NULL: not kept */
    cm_tally *tally;       /* is added to as games go on; NULL: not                                */
    const cm_stop *stop;   /* asked: ends before the next turn or within this one; NULL: plays on */
} cm_match_config;

/* The shape for `games` games at a time by the workers of the pool. */
cm_match_shape cm_match_shape_of(int games, const cm_pool *pool);

/* The same where moves are timed: each worker plays one game at a time. */
cm_match_shape cm_match_shape_timed(int games, const cm_pool *pool);

/* Takes all memory; the caller owns the match. Errors: CM_ERR_INPUT, CM_ERR_MEMORY. */
cm_status cm_match_create(const cm_match_config *config, cm_match **out) CM_MUST_USE;
void cm_match_destroy(cm_match *match); /* NULL is allowed */
size_t cm_match_bytes(const cm_match *match);

/* Plays those of the games 0 .. games-1 that are this part's. An environment without a limit is cut after
 * CM_MATCH_STEPS. Allocates nothing unless a player does. Errors: CM_ERR_INPUT if no opening of that many moves leaves
 * a game to play; CM_ERR_INTERRUPTED before the next step of an environment once it was asked to stop, and then games
 * that do not count, as they have not ended or others that were to begin before them have not, have a length of 0;
 * those of the players. */
cm_status cm_match_run(cm_match *match, int games, uint64_t seed, int opening) CM_MUST_USE;

/* The games of the last run, owned by the match: game k is number part + k * parts. Of one that was broken off those
 * that count are kept by cm_match_keep_ended alone, one after another; returns how many. */
int cm_match_keep_ended(cm_match *match);
const cm_games *cm_match_games(const cm_match *match);

#ifdef __cplusplus
}
#endif
#endif
