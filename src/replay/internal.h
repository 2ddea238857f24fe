/* The replay's insides, shared by the files of this folder only. */
#ifndef CM_REPLAY_INTERNAL_H
#define CM_REPLAY_INTERNAL_H

#include "core/arena.h"
#include "replay/frame_store.h"
#include "replay/replay.h"
#include "replay/sum_tree.h"

/* What is kept for each row. The order is that of the plan and of the files. */
typedef enum cm_field {
    FIELD_OBSERVATION, /* or, of frames that are stored once, the number of the newest one                   */
    FIELD_POLICY,      /* rows of policy.h                                                                       */
    FIELD_LEGAL,       /* bits                                                                                   */
    FIELD_ROW,      /* cm_replay_row: one run of memory for all that a return is made of                             */
    FIELD_PRIORITY, /* from here on only if prioritized                                                       */
    FIELD_UPDATE,   /* priority that the next commit gives; -1 if none                                        */
    FIELD_UPDATED,  /* list of the slots that have one                                                        */
    FIELD_COUNT
} cm_field;

/* Bits of cm_replay_row.flags. */
enum {
    FLAG_EXPLORED = 1, /* must be bit 0, see cm_target_window                 */
    FLAG_TERMINATED = 2,
    FLAG_TRUNCATED = 4,
    FLAG_CUT = 8, /* last row of a segment whose episode goes on           */
    FLAG_LAST = FLAG_TERMINATED | FLAG_TRUNCATED | FLAG_CUT,
    FLAG_TRAINED = 16,  /* its priority came from training                     */
    FLAG_TERMINAL = 32, /* in the ring: the segment has a terminated end         */
    FLAG_FREE = 64,     /* every action is legal                               */
    FLAG_LEAD = 128,    /* first row of a segment: K - 1 frames before it are stored in front of its own */
    FLAG_SAVED = FLAG_EXPLORED | FLAG_LAST | FLAG_FREE
};

typedef struct cm_field_info {
    const char *name;
    const char *dtype;
    size_t width;   /* bytes of an element    */
    size_t columns; /* elements of a row      */
} cm_field_info;

/* The steps of one environment that are not in the ring yet: rows slot(environment, 0 .. rows - 1). An open episode has
 * its own cache line, since a thread may append to each. */
typedef struct cm_open_episode {
    uint64_t steps;    /* ever appended                                              */
    int32_t rows;      /* written                                                    */
    int32_t segment;   /* where the open segment begins                                */
    int32_t committed; /* rows at the last commit; the last one serves as o_T        */
    int32_t visible;   /* steps that may be drawn                                    */
    int32_t fresh;     /* steps appended since the last commit                       */
    bool open;         /* an episode is going on                                     */
    unsigned char padding[35];
} cm_open_episode;

/* Space for one position's window where it wraps around the end of the ring. */
typedef struct cm_window_scratch {
    cm_replay_row *row; /* [rows]   */
    float *policy;      /* [K+1, P]; NULL: they are not looked at */
} cm_window_scratch;

struct cm_replay {
    /* constant */
    cm_arena arena; /* this struct lies in it */
    cm_replay_config config;
    cm_replay_plan plan;
    cm_field_info info[FIELD_COUNT];
    int32_t ring, open_rows, slots; /* rows of the ring, of each open episode, of all            */
    int32_t window_rows;            /* most rows of a window                             */
    size_t legal_bytes;             /* of a row                                          */
    int32_t *symmetry_elements;     /* [S, O]                                            */
    int32_t *symmetry_actions;      /* [S, A] stored action of a transformed one         */
    int32_t *symmetry_inverse;      /* [S, A] transformed action of a stored one         */
    /* content, by slot */
    unsigned char *field[FIELD_COUNT];
    union { /* field[...] by type */
        unsigned char *observation;
        int32_t *frame; /* where there are frames: each row's number there */
    };
    float *policy, *priority, *update;
    uint8_t *legal;
    cm_replay_row *row;
    int32_t *updated;
    cm_sum_tree tree;          /* priority^alpha, or 1, of every position that may be drawn; 0 elsewhere */
    cm_open_episode *open;     /* [E] */
    cm_window_scratch scratch; /* of commit */
    cm_frame_store *frames;    /* NULL: frames are not stored once */
    /* the ring */
    int32_t tail, used; /* first row in use, rows in use */
    uint64_t first_segment, next_segment;
    int64_t steps, episodes;
    /* as of the last commit */
    int64_t positions;
    uint64_t collected;
    uint64_t hidden_at; /* `collected` when old steps were hidden last */
    bool flat;          /* all priorities are 0: every leaf is 1 instead */
    /* between commits */
    int32_t updates; /* entries of `updated` */
    uint64_t late_updates;
    int readers;           /* prefetches that draw; atomic                          */
    bool loading;          /* segment.h: the ring is laid out, rows are being filled in */
    uint64_t load_segment; /* the last segment that was looked for ...              */
    int32_t load_slot;     /* ... and its first row                               */
};

/* Whether frames are stored once, apart from the rows. */
static inline bool cm_frames_are_apart(const cm_replay_config *config) {
    return config->frames > 1 || config->place != CM_REPLAY_RAM;
}

/* Numbers that are stored of an observation. */
static inline int cm_frame_size(const cm_replay_config *config) {
    return config->frames > 1 ? config->observation_size / config->frames : config->observation_size;
}

/* ---- store.c ---- */

/* Takes space for a window from `arena`. */
void cm_window_scratch_init(cm_window_scratch *scratch, cm_arena *arena, const cm_replay_config *config,
                            int32_t window_rows, bool has_policies);

/* CM_ERR_STATE if something draws from the replay; `what` names the call. */
cm_status cm_replay_claim(cm_replay *replay, const char *what) CM_MUST_USE;

/* ---- position.c: rows by slot ---- */

static inline int32_t cm_open_slot(const cm_replay *replay, int environment, int32_t row) {
    return replay->ring + environment * replay->open_rows + row;
}

/* The slot `rows` after `slot`, in the same episode. */
static inline int32_t cm_slot_add(const cm_replay *replay, int32_t slot, int32_t rows) {
    int32_t sum = slot + rows;
    return slot < replay->ring && sum >= replay->ring ? sum - replay->ring : sum;
}

/* Steps of an open episode of `rows` rows that may be drawn: those whose n-step returns are complete. */
static inline int32_t cm_open_complete(const cm_replay *replay, int32_t rows) {
    int32_t steps = rows - replay->config.targets.td_steps;
    return replay->config.sample_open && steps > 0 ? steps : 0;
}

/* Whether `collected` steps of all environments lie more than max_steps behind the one in `slot`: it is not drawn. */
static inline bool cm_slot_is_old(const cm_replay *replay, int32_t slot, uint64_t collected) {
    int64_t age = (int32_t)((uint32_t)collected - replay->row[slot].index);
    return replay->config.max_steps > 0 && age > replay->config.max_steps;
}

/* cm_replay_position.key of a row: the last rows of segments have keys of their own, as they may have the number of the
 * position that comes next in their environment. */
static inline int64_t cm_row_key(const cm_replay_row *row, bool is_end) {
    return (int64_t)row->index | (is_end ? INT64_C(1) << 32 : 0);
}

/* Steps from a slot to the end of its segment, 0 if there is nothing to draw. */
int32_t cm_slot_left(const cm_replay *replay, int32_t slot);

/* Rows from `slot` on, copied to a place in the same field arrays; both runs may wrap around the ring's end. */
void cm_rows_copy(cm_replay *replay, int32_t to, int32_t from, int32_t rows, int fields);

/* The window of the position at `slot`, left = cm_slot_left(slot) >= 1; arrays lie in the replay or in `scratch`. */
void cm_window_open(const cm_replay *replay, int32_t slot, int32_t left, const cm_window_scratch *scratch,
                    cm_target_window *out);

/* ---- lead.c: frames of segments ---- */

/* Frames that a segment of `steps` steps has stored. */
static inline int64_t cm_segment_frames(const cm_replay *replay, int32_t steps, bool has_lead) {
    return (int64_t)steps + 1 + (has_lead ? replay->frames->shape.count - 1 : 0);
}

/* An open episode of so many rows goes on with its chain. */
void cm_frames_open(cm_replay *replay, int environment, int32_t rows);

/* Of a segment that is removed: its first and its last slot. */
void cm_frames_release_segment(cm_replay *replay, int32_t first, int32_t last);

/* The row that ends one segment, at `slot`, begins the next one: it gets the copy of its frame that is in that chain.
 */
void cm_frames_begin_segment(cm_replay *replay, int environment, int32_t slot, bool is_last);

/* ---- batch_frames.c ---- */

struct cm_batch;
/* Takes batch->frames from `arena`. */
void cm_batch_lay_out_frames(const cm_replay *replay, struct cm_batch *batch, cm_arena *arena);
/* Of a row whose slot and symmetry are known. */
void cm_batch_gather_frames(const cm_replay *replay, struct cm_batch *batch, int row);

/* ---- commit.c ---- */

void cm_replay_set_leaf(cm_replay *replay, int32_t slot); /* from its priority */
/* Makes space for `steps` steps and the row after them; the first slot of it. */
int32_t cm_ring_reserve(cm_replay *replay, int32_t steps);

/* Makes the rows from `slot` on, filled by now, the newest segment: its saved fields and, for the first `known` steps,
 * priorities are there; `newest` is the priority of new ones under new_is_max. */
void cm_ring_adopt(cm_replay *replay, int32_t slot, int32_t steps, int32_t known, float newest);

float cm_replay_newest_priority(cm_replay *replay); /* see cm_ring_adopt */

/* Removes the oldest segments until `more` frames fit. Nothing where frames are not stored once. */
void cm_frames_make_room(cm_replay *replay, int64_t more);

void cm_replay_evict(cm_replay *replay);           /* the oldest segment; there must be one */
void cm_replay_count_collected(cm_replay *replay); /* before anything is shown */
void cm_replay_refresh(cm_replay *replay);         /* limits and what cm_replay_count shows */

/* Back to leaves from priorities if they are flat; before something changes. */
void cm_replay_unflatten(cm_replay *replay);

/* Removes everything but the counters of steps; ends loading. */
void cm_replay_empty(cm_replay *replay);

/* Calls visit(context, slot) for every slot that may be drawn, in order of age. */
void cm_replay_visit(cm_replay *replay, void (*visit)(cm_replay *replay, int32_t slot, void *context), void *context);
#endif
