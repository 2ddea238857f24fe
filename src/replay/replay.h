/* The replay: whole episodes in a ring of fixed size, from which training positions are drawn.
 *
 * Life of a step. Acting appends a step to the open episode of its environment (cm_replay_append) and ends the episode
 * (cm_replay_finish). cm_replay_commit, called between iterations, makes steps visible: it applies the priority
 * updates, moves finished episodes into the ring, removes the oldest episodes beyond a limit, and shows steps of open
 * episodes. Between two commits drawing sees the content of the last one. So batches depend on (seed, update, content)
 * alone, not on the progress of acting.
 *
 * The limit on steps goes by the age of each step: the old beginning of an episode is no longer drawn while its end
 * still is. So ends (falls, results) are drawn as often as they are played.
 *
 * An episode of T steps takes T + 1 rows; the last row holds o_T. An episode longer than segment_steps is stored in
 * segments. A segment before the last counts as truncated and is bootstrapped with the search value of the position
 * that follows. An open episode is shown in the same way: its last row serves as o_T. A step of it is drawn once
 * td_steps steps have followed, so that its n-step return is complete. Shorter returns would bootstrap with values of
 * the least known states, and learning suffers.
 *
 * Observations that are stacks of frames are made when a batch is drawn; each frame is stored once (frame_store.h).
 *
 * All memory is one block, allocated by cm_replay_create and described by cm_replay_plan. Nothing is allocated later.
 *
 * Threads. Append and finish may run concurrently for different environments, and concurrently with drawing and
 * cm_replay_update_priorities. Commit, clear and loading need the replay alone: they return CM_ERR_STATE while a
 * prefetch (prefetch.h) draws. batch.h draws, prefetch.h draws ahead, segment.h saves and loads.
 */
#ifndef CM_REPLAY_REPLAY_H
#define CM_REPLAY_REPLAY_H

#include "core/policy_form.h"
#include "replay/targets.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_replay cm_replay;

/* Packed: in memory, each compressed by zstd, in a quarter of the space; where that is too little, as of noise, the
 * oldest segments leave early. A file is read and written through the system's page cache: what is drawn often is read
 * from memory as long as there is some, and none of it counts as this process's. */
typedef enum cm_replay_place { CM_REPLAY_RAM, CM_REPLAY_FILE, CM_REPLAY_PACKED } cm_replay_place;

/* Letters: O observation_size, A actions, P entries of a policy, E environments, S symmetries. */
typedef struct cm_replay_config {
    /* what is stored */
    int observation_size;   /* O, 1 .. 16 Mi elements                                                             */
    float observation_unit; /* > 0: each is k times this, k of 0 .. 255, and stored as a byte; 0: stored as float32 */
    int frames;             /* K > 1: an observation is a stack of K frames (core/frames.h), each of them stored once */
    int frame_channels;     /* of a cell of a frame; read where K > 1 */
    cm_replay_place place;  /* where frames lie, or where there are no stacks observations */
    int actions;            /* A, 1 .. 2^24                                                                       */
    cm_policy_form form;    /* of policies per number (core/policy_form.h), P = D n; all 0: P = A                 */
    int entries;            /* > 0, .. 16384: of joint policies the entries that are not 0 are kept, at most so many  */
    int environments;       /* E, 1 .. 65536                                                               */
    /* how much; the block is as large as `bytes` allows and the other limits need */
    uint64_t bytes;       /* of the whole block; 0: what the limits below need                               */
    int64_t max_steps;    /* 0: no limit. Steps of all environments back to which is drawn; older ones are not  */
    int64_t max_episodes; /* 0: no limit. Finished episodes kept; segments of one count with its end           */
    int segment_steps;    /* longest segment stored, 1 .. 16 Mi; at least the longest episode to keep those whole */
    int commit_steps;     /* most steps of one environment between two commits, 1 .. 1 Mi                    */
    /* what is drawn */
    bool sample_open;  /* steps of open episodes may be drawn, see above */
    bool prioritized;  /* by priority; else uniformly         */
    bool new_is_max;   /* a new position gets the largest priority; else |search value - n-step return| + epsilon */
    double alpha;      /* 0 .. 16: P ~ priority^alpha         */
    double epsilon;    /* >= 0, added to |error|              */
    double weight_min; /* 0 .. 1: the least importance weight */
    cm_target_rule targets;
    /* Symmetries, one drawn per sample; 0 or 1: none. Copied. Row s, element e of a transformed frame is element
     * symmetry_elements[s, e] of the stored one; its action a stands for the stored action symmetry_actions[s, a]. */
    int symmetries;
    const int32_t *symmetry_elements; /* [S, O / K], each row a permutation */
    const int32_t *symmetry_actions;  /* [S, A], each row a permutation; of joint policies */
} cm_replay_config;

/* ---- memory --------------------------------------------------------------------------------------------------------
 */

enum { CM_REPLAY_PLAN_ROWS = 23 };

typedef struct cm_replay_plan_row {
    const char *name;
    const char *dtype;
    int64_t rows, columns;
    uint64_t bytes; /* with padding to CM_ALIGN */
} cm_replay_plan_row;

typedef struct cm_replay_plan {
    uint64_t bytes;      /* of the block: the sum over the rows, never more than a limit in config.bytes  */
    int32_t ring_rows;   /* rows for finished episodes: steps, and one more for each episode              */
    int32_t open_rows;   /* rows of each open episode: segment_steps + 1 + 2 commit_steps           */
    int32_t frames;      /* that are stored once; 0: each row has an observation of its own         */
    uint64_t file_bytes; /* of the file that they lie in; not in `bytes`                             */
    int count;
    cm_replay_plan_row row[CM_REPLAY_PLAN_ROWS];
} cm_replay_plan;

/* What cm_replay_create would take. Errors: CM_ERR_INPUT for a value out of range, or no limit at all; CM_ERR_MEMORY if
 * the budget cannot hold the open episodes and one finished episode, with the bytes that it takes at least. */
cm_status cm_replay_plan_make(const cm_replay_config *config, cm_replay_plan *out) CM_MUST_USE;

/* Owned by the caller. Errors: as cm_replay_plan_make; CM_ERR_INPUT for a symmetry that is no permutation. */
cm_status cm_replay_create(const cm_replay_config *config, cm_replay **out) CM_MUST_USE;
void cm_replay_destroy(cm_replay *replay); /* NULL is allowed */

/* With CM_REPLAY_FILE, before anything is filled: takes the disk that plan.file_bytes says, in a file without a name in
 * `folder`, which is gone when the process has ended, however it did. Else nothing. Errors: CM_ERR_INPUT if it is no
 * folder; CM_ERR_IO if the disk has less or nothing can be written there. */
cm_status cm_replay_open_file(cm_replay *replay, const char *folder) CM_MUST_USE;

/* The configuration in use; its symmetry tables are the replay's own copies. */
const cm_replay_config *cm_replay_configuration(const cm_replay *replay);

/* ---- filling -------------------------------------------------------------------------------------------------------
 */

/* Position t of an episode and what was done there. Rows are copied. */
typedef struct cm_replay_step {
    const float *observation; /* [O] o_t                                                         */
    const uint8_t *legal;     /* [P] 1 where an action may be played; NULL: everywhere            */
    const float *policy;      /* [P] visit counts or weights of the search, >= 0, not all 0 of a number */
    float root_value;         /* of the search at o_t, from the view of to_play                   */
    int32_t action;           /* a_t                                                              */
    float reward;             /* r_t, received after a_t, of the player who acted                 */
    uint8_t to_play;          /* player to move at o_t                                            */
    bool explored;            /* the move was a uniform random one, not the search's (targets.h)  */
} cm_replay_step;

/* Adds a step to the open episode of `environment`, or begins one. Of a stack of frames the newest is stored: the
 * others are those of the steps before, and of an episode's first step the same frame. Errors: CM_ERR_INPUT for a bad
 * number, as one of an observation that is no whole multiple of the unit, or for a first stack of several frames;
 * CM_ERR_NOT_FINITE; CM_ERR_STATE after commit_steps steps without a commit. Nothing is added then. */
cm_status cm_replay_append(cm_replay *replay, int environment, const cm_replay_step *step) CM_MUST_USE;

/* The position after the last step of an episode. */
typedef struct cm_replay_end {
    const float *observation; /* [O] o_T                                                              */
    const uint8_t *legal;     /* [P] or NULL                                                          */
    bool terminated;          /* a real end; else a time limit (truncation). Both at once: terminated */
    float root_value;         /* V(o_T), the bootstrap of a truncated episode; 0 if terminated        */
    uint8_t to_play;          /* player to move at o_T                                                */
} cm_replay_end;

/* Ends the open episode. Errors: CM_ERR_STATE if there is none; CM_ERR_INPUT, CM_ERR_NOT_FINITE as above. */
cm_status cm_replay_finish(cm_replay *replay, int environment, const cm_replay_end *end) CM_MUST_USE;

/* Makes what was appended visible, see above. Errors: CM_ERR_STATE while a prefetch is drawing. */
cm_status cm_replay_commit(cm_replay *replay) CM_MUST_USE;

/* Takes back what was appended and finished since the last commit. Between iterations, as commit. */
void cm_replay_undo_append(cm_replay *replay);

/* Empties it: finished and open episodes, priorities; counters of steps go on. Errors: as commit. */
cm_status cm_replay_clear(cm_replay *replay) CM_MUST_USE;

/* ---- priorities ----------------------------------------------------------------------------------------------------
 */

/* New priorities of n drawn positions; they take effect at the next commit (the last one of a position counts). slot[n]
 * and index[n] are those of the batch: a position that has been overwritten or moved since is ignored. A priority that
 * is not finite stands for the largest one there is. Nothing happens without config.prioritized.
 * Errors: CM_ERR_INPUT for a slot out of range or a negative priority; rows before it have been taken. */
cm_status cm_replay_update_priorities(cm_replay *replay, int n, const int32_t *slot, const uint32_t *index,
                                      const float *priority) CM_MUST_USE;

/* ---- looking -------------------------------------------------------------------------------------------------------
 */

typedef struct cm_replay_counts {
    uint64_t bytes;         /* of the block                                             */
    uint64_t file_bytes;    /* of the file that frames lie in, 0: there is none          */
    int64_t positions;      /* that may be drawn                                        */
    int64_t episodes;       /* finished ones in the ring                                */
    int64_t segments;       /* in the ring: episodes, or parts of long ones             */
    int64_t steps;          /* in the ring                                              */
    int64_t rows;           /* of the ring in use: steps + segments                       */
    int32_t ring_rows;      /* rows of the ring                                         */
    uint64_t first_segment; /* number of the oldest; they are numbered from 0 in the order of their coming */
    uint64_t collected;     /* steps ever appended; where environments go in step, exact */
    uint64_t late_updates;  /* priority updates ignored so far                          */
} cm_replay_counts;

void cm_replay_count(const cm_replay *replay, cm_replay_counts *out); /* as of the last commit */

/* A position of the replay as a search sees it: what an unroll or a bootstrap of a drawn position may come to. */
typedef struct cm_replay_position {
    int64_t key;  /* says which it is for as long as it is kept, wherever it lies; >= 0, below 2^33 */
    int32_t slot; /* where it lies until the next commit */
} cm_replay_position;

/* The positions that the last commit has shown, the oldest episodes first: *count of them in out[cm_replay_slots]. */
void cm_replay_positions(const cm_replay *replay, cm_replay_position *out, int32_t *count);
int32_t cm_replay_slots(const cm_replay *replay); /* how many there can be at most */

/* observation[O] and legal[P] of one of them, as in a batch without symmetries. Where the file of the memory cannot be
 * read the observation is 0, and the next commit says CM_ERR_IO. */
void cm_replay_look(const cm_replay *replay, int32_t slot, float *observation, uint8_t *legal);

/* CuMind's rule: `episodes` are at least min_size and min_fill (0 .. 1) of max_episodes. Errors: CM_ERR_INPUT if a
 * number is out of range or both are 0, or if min_fill is given and max_episodes is not. */
cm_status cm_replay_is_ready(int64_t episodes, int64_t max_episodes, int64_t min_size, double min_fill,
                             bool *ready) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
