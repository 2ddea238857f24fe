/* Progress of play: counted by the threads that play, read by any other to show it. */
#ifndef CM_ARENA_TALLY_H
#define CM_ARENA_TALLY_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed at first; only the functions below touch it. */
typedef struct cm_tally {
    int64_t games; /* finished; or scored, or positions answered */
    int64_t moves; /* in games, of openings none                 */
} cm_tally;

/* `tally` NULL: not counted. */
static inline void cm_tally_add(cm_tally *tally, int64_t games, int64_t moves) {
    if (!tally) return;
    __atomic_fetch_add(&tally->games, games, __ATOMIC_RELAXED);
    __atomic_fetch_add(&tally->moves, moves, __ATOMIC_RELAXED);
}

static inline cm_tally cm_tally_read(const cm_tally *tally) {
    cm_tally now;
    now.games = __atomic_load_n(&tally->games, __ATOMIC_RELAXED);
    now.moves = __atomic_load_n(&tally->moves, __ATOMIC_RELAXED);
    return now;
}

#ifdef __cplusplus
}
#endif
#endif
