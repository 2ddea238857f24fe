/* Where the rows of a fused row-wise kernel lie while its steps are made (row_build.c): in the memory that the lanes of
 * a block share, or on the device.
 *
 * What a step leaves for later ones gets a slot of shared memory, which lasts until the last step that reads it.
 * A later call finds it by its address: a slot remembers which rows of the device it has in their place, until
 * something else is written there. Slots get their floats at the end (cm_places_lay_out), when it is known how long
 * each one lasts; a place in shared memory counts from the begin of its slot until then.
 *
 * Everything else is touched on the device. A block has its rows of every tensor there, and no other block's
 * (row_range.h); rows that are named by numbers (gathered, scattered) may be anybody's, so a pass does not touch what
 * it scatters to.
 *
 * A function that returns false has found rows for which no step can be made: the call that needs them is not part of
 * the pass, and what it has added is to be taken back (cm_places_undo). */
#ifndef CM_BACKEND_CUDA_FUSED_ROW_PLACES_H
#define CM_BACKEND_CUDA_FUSED_ROW_PLACES_H

#include "backend/backend.h"
#include "backend/cuda/fused/row_range.h"
#include "backend/cuda/fused/row_step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The places of a step that may be in shared memory, by the names of cm_row_step. */
typedef enum cm_row_use { CM_ROW_Y, CM_ROW_X, CM_ROW_Z, CM_ROW_W, CM_ROW_ALSO, CM_ROW_USES } cm_row_use;

/* Rows that step `made` leaves in shared memory for those up to step `last`. */
typedef struct cm_row_slot {
    cm_row_range rows, copy; /* of the device that they stand for, and their copy of 16 bits; without base: none */
    int columns;             /* floats of a row */
    int made, last;
    int32_t first, stride; /* float at which row 0 of a tile begins, floats from row to row; set by cm_places_lay_out */
} cm_row_slot;

/* The steps so far, with the places of their rows. Zeroed at first but for the members above the line. */
typedef struct cm_row_places {
    const cm_call_list *pass;
    cm_row_kernel_args *args; /* zeroed at first but for `rows` and `tile` */
    bool shows;               /* others look at what calls write: it stays there */
    /* ---- */
    cm_row_slot slot[CM_ROW_STEPS];
    int slots;
    int16_t used[CM_ROW_STEPS][CM_ROW_USES]; /* slot of each place of a step, or -1 */
    cm_row_ranges touched;                   /* of the device's memory */
    const cm_tensor *scattered;              /* the rows that were scattered to; NULL: none yet */
} cm_row_places;

/* A new step of an operation on rows of n elements, which the functions below are about; NULL: there are too many. */
cm_row_step *cm_places_step(cm_row_places *all, cm_op op, int n);
cm_row_step *cm_places_last(cm_row_places *all);
/* Leaves the first `steps` steps and `slots` slots. Nothing can be added to a pass afterwards. */
void cm_places_undo(cm_row_places *all, int steps, int slots);

/* The step reads rows of t (float32, one for each of the pass), which may be columns of what another has left; an
 * absent t is none. */
bool cm_places_read(cm_row_places *all, cm_row_use use, const cm_tensor *t);
/* Do rows of t, float32 or a copy, lie in shared memory, from a multiple of 16 bytes on? Then the step may read
 * them there as its x. */
bool cm_places_is_shared(const cm_row_places *all, const cm_tensor *t);
void cm_places_read_near(cm_row_places *all, const cm_tensor *t);

/* The step writes t as its y: into shared memory if no other call looks at t, else to the device, and where
 * others look at all of it to both. */
bool cm_places_write(cm_row_places *all, const cm_tensor *t);
/* The step's y is t in shared memory: rows of t, or the numbers that a copy t stands for. */
void cm_places_write_near(cm_row_places *all, const cm_tensor *t);

/* Copies of 16 bits of what the step writes (`half`) or reads; an absent t is none. What has a copy can be found by
 * it, too. */
bool cm_places_write_copy(cm_row_places *all, cm_row_copy *copy, const cm_tensor *t);
bool cm_places_write_half(cm_row_places *all, const cm_tensor *t);
/* The step reads rows of which the pass has a copy t alone, as its `of.from`. */
bool cm_places_read_copy(cm_row_places *all, const cm_tensor *t);

/* What the step leaves for the backward pass (`writes`), or reads of that; only where others look at it. */
bool cm_places_save(cm_row_places *all, const cm_tensor *t, bool writes);

/* Any rows of t, by numbers: the step's x is gathered from it, its y scattered to it. Another block may have scattered
 * already when one gathers, so a pass that gathers what it has scattered is none. */
bool cm_places_gather(cm_row_places *all, const cm_tensor *t);
bool cm_places_scatter(cm_row_places *all, const cm_tensor *t);

/* Gives every slot its floats and sets the places of the steps, and what args says of memory and of fetching ahead. */
void cm_places_lay_out(cm_row_places *all);

#ifdef __cplusplus
}
#endif
#endif
