/* A backend on a device whose memory the host cannot touch: blocks of the host under addresses that no processor
 * accepts. Its arithmetic is that of ref. A test program that defines
 *
 *     const cm_backend_class cm_cuda_class = {.name = "cuda", .open = cm_far_open};
 *
 * has it in the place of "cuda": the library's own is not linked where there is one already. */
#ifndef CM_TESTS_FAR_H
#define CM_TESTS_FAR_H

#include "backend/classes.h"

enum { CM_FAR_STREAM_BYTES = 1000 /* that its class says a stream takes */, CM_FAR_NOTES = 4096 };

/* What happened on it, in this process. */
typedef struct cm_far {
    size_t total; /* bytes that the device has: set by the test */
    int devices;  /* of its kind: set by the test */
    bool is_late; /* streams do what they were given when somebody waits for it, and not before: set by the test */
    size_t taken, peak; /* bytes that are out, now and at most */
    size_t blocks;      /* that are out */
    size_t copies;      /* in the order of streams */
    size_t graphs;      /* of passes, that are kept */
    size_t replays;     /* plays of a pass that has not changed since the last */
    size_t searches;    /* works that were recorded or replayed: searches with their trees on it */
    size_t changes;     /* plays of a pass whose addresses have changed since the last, the first one included */
    size_t urgent;      /* plays of both kinds on streams that go first (cm_stream_open_as) */
    size_t stops;       /* copies by the device's own functions, for which all streams are waited for */
    size_t follows;     /* streams that were put after another */
    size_t pinned;      /* bytes of the host's memory that are pinned */
    /* in the order in which the host did it: > a push, p the play of a pass, < a pull, = a read, . a wait for an event
     */
    char notes[CM_FAR_NOTES];
    size_t noted;
} cm_far;
extern cm_far cm_far_state;

cm_status cm_far_open(cm_backend *backend);

extern const cm_device cm_far_device;

/* The address of the host for one of the device; others, and NULL, are returned. */
void *cm_far_near(const void *address);

#endif
