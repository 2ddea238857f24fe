/* cumind profile: what a training spends its time on, what its operations reach of the machine, and which keys to
 * change.
 *
 *   profile.c             the command: what is measured, in which order
 *   profile_stages.c      time of a training by stage, from the ranges of its threads (core/trace.h)
 *   profile_calls.c       time of every operation, by its shapes (cm_call_listener)
 *   profile_roofs.c       how fast this machine multiplies and copies
 *   profile_measure.c     a short training of a configuration
 *   profile_sweep.c       the same with other values of a key
 *   profile_advice.c      which of its changes are worth it
 *   profile_ladder.c      the network in every precision
 *   profile_graphs.c      what captured graphs gain
 *   profile_text.c, profile_json.c, profile_page.c    what is shown
 */
#ifndef CM_CLI_PROFILE_H
#define CM_CLI_PROFILE_H

#include "arena/tally.h"
#include "cli/benchmark.h"
#include "cli/output.h"
#include "core/memory.h"
#include "core/stop.h"
#include "run/run.h"

/* ---- stages ---- */

typedef enum cm_stage {
#define CM_STAGE(NAME, name, about) CM_STAGE_##NAME,
#include "cli/profile_stages.def"
#undef CM_STAGE
    CM_STAGES
} cm_stage;

const char *cm_stage_name(cm_stage stage);  /* "tree" */
const char *cm_stage_about(cm_stage stage); /* one line */

enum { CM_SPANS = 2048, CM_PROFILE_THREADS = 64 };

/* A range of a thread, for the timeline. */
typedef struct cm_stage_span {
    double begin, end; /* seconds since the start of the measurement */
    int thread;        /* from 0: the one that leads */
    cm_stage stage;
} cm_stage_span;

typedef struct cm_stage_times {
    double wall;                  /* seconds of the measurement                                     */
    double seconds[CM_STAGES];    /* of the thread that leads and, while it waits for the one that plays, of that */
    double busy;                  /* thread-seconds of all threads in ranges, without waiting        */
    cm_stage_span span[CM_SPANS]; /* of the first moments, the shortest left out */
    int span_count, threads;      /* threads that had ranges */
} cm_stage_times;

/* Listens to the ranges of all threads; the calling thread leads. One measurement at a time. */
void cm_stages_begin(void);
void cm_stages_end(cm_stage_times *out);
/* What the calling thread is in; and a range within, of a stage. For profile_calls.c. */
cm_stage cm_stage_now(void);
void cm_stage_enter(cm_stage stage);
void cm_stage_leave(void);

/* ---- operations ---- */

enum { CM_OPERATIONS = 512, CM_OPERATION_NAME = 80 };

typedef struct cm_operation {
    char name[CM_OPERATION_NAME]; /* "dense 128x64 <- 128x256" */
    cm_op op;
    cm_stage stage;
    cm_dtype compute;
    int64_t calls;
    double seconds, flop, bytes; /* of all calls; seconds of the threads that ran them */
    double saved;                /* how many times fewer products its algorithm makes than the textbook's, at most */
} cm_operation;

typedef struct cm_operations {
    cm_operation row[CM_OPERATIONS]; /* by time, longest first */
    int count;
    bool is_cut; /* more kinds than there are rows: the last ones are left out */
} cm_operations;

/* Backends that are opened between the two tell of their calls, which count while `counts` is set. */
void cm_calls_listen(void);
void cm_calls_count(bool counts);
cm_status cm_calls_end(cm_operations *out) CM_MUST_USE;

/* ---- the machine ---- */

enum { CM_ROOF_SIZES = 7 };

/* Of one thread while all work; of a device the whole. */
typedef struct cm_roofs {
    double flops[CM_PRODUCT_TYPES]; /* per second, of products in each type; 0: not measured */
    double bytes[CM_ROOF_SIZES];    /* per second, read and written, of copies of so much memory: */
    double size[CM_ROOF_SIZES];     /* bytes, ascending */
} cm_roofs;

/* Floating-point operations of large products in a type, per second; as long as `seconds`, about. */
cm_status cm_roofs_products(cm_backend *backend, cm_pool *pool, cm_dtype compute, double seconds,
                            double *out) CM_MUST_USE;
/* Fills `bytes` and `size` from the size `first` on. Errors: CM_ERR_MEMORY. */
cm_status cm_roofs_copies(const cm_backend *backend, cm_pool *pool, int first, cm_roofs *out) CM_MUST_USE;
/* All of it, for about `seconds` a number. */
cm_status cm_roofs_measure(const cm_configuration *configuration, double seconds, cm_roofs *out) CM_MUST_USE;
/* Raises the roofs to the fastest operation seen: what has been reached can be. */
void cm_roofs_raise(cm_roofs *roofs, const cm_operations *operations);
/* Seconds that a row takes at least; *by_products: by its products, not by its bytes. */
double cm_roofs_least(const cm_roofs *roofs, const cm_operation *row, bool *by_products);

/* ---- a short training ---- */

enum {
    CM_PROFILE_ROWS = 20,
    CM_GRAPH_NUMBERS = 24,
    CM_SWEEPS = 6,
    CM_SWEEP_POINTS = 8,
    CM_ADVICE = 5,
    CM_SWEEP_VALUE = 24
};

typedef struct cm_profile_rate {
    double env_steps, simulations, updates, samples; /* per second, of acting and learning together */
    double opening;                                  /* seconds until the first step */
    double first;                                    /* seconds of the first iteration, above a usual one */
    double growth;                                   /* bytes of the heap that an iteration leaves taken */
    double seconds;                                  /* that were measured */
    int64_t iterations;
} cm_profile_rate;

/* A key that is set to another value than the user's. */
typedef struct cm_change {
    const char *key, *why; /* string literals */
    char before[CM_SWEEP_VALUE], after[CM_SWEEP_VALUE];
} cm_change;

typedef struct cm_profile {
    cm_configuration *configuration;
    cm_config *config;
    const cm_stop *stop;
    cm_tally *tally;   /* of trainings */
    bool has_advice;   /* values of keys are tried, and advice is given */
    bool never_learns; /* no batch can be drawn in the time of a measurement */
    const char *program;
    double until;                          /* time of the clock when all is to be over */
    double pace;                           /* what measurements take, 1: as they should */
    char folder[PATH_MAX];                 /* temporary */
    char games[PATH_MAX];                  /* a run in it, for --replay-from; "": there is none */
    int steps;                             /* per iteration, of the measurements */
    int steps_before, environments_before; /* as they were at first */
    cm_change change[CM_ADVICE + 1];
    int change_count;
    bool is_device;   /* the arithmetic is not the host's */
    int threads;      /* that work */
    char backend[96]; /* that does it */
    char environment[96];
    cm_memory_row memory[CM_PROFILE_ROWS];
    int memory_count;
    double memory_bytes;
    cm_profile_rate base; /* as configured */
    cm_stage_times stages;
    cm_operations operations;
    cm_roofs roofs;
    struct cm_sweep *sweep; /* owned; [sweep_count] */
    int sweep_count;
    struct cm_precision *ladder; /* owned; [ladder_count] */
    int ladder_count;
    struct cm_advice *advice; /* owned; [advice_count] */
    int advice_count;
    struct {
        const char *key; /* "us_per_update_eager" */
        double value;
    } graph[CM_BENCHMARK_NUMBERS]; /* of captured graphs, as `cumind benchmark graph` has them */
    int graph_count;
    char left[256]; /* what there was no time for; "" */
} cm_profile;

/* Plays some games with searches of one simulation, which every measurement begins with, so that it learns at once. */
cm_status cm_profile_fill(cm_profile *p) CM_MUST_USE;

/* What is watched besides the rate, into the profile. */
enum { CM_WATCH_STAGES = 1, CM_WATCH_CALLS = 2 };

/* Trains for about `seconds` in a temporary folder and measures from the second iteration with updates on. `watched`:
 * CM_WATCH_..., or 0. Errors: those of the training; CM_ERR_INTERRUPTED. */
cm_status cm_profile_measure(cm_profile *p, double seconds, int watched, cm_profile_rate *out) CM_MUST_USE;

/* ---- sweeps and advice ---- */

typedef struct cm_sweep {
    char key[32];
    struct {
        char value[CM_SWEEP_VALUE];
        double rate; /* env steps per second */
    } point[CM_SWEEP_POINTS];
    int count, knee; /* the first of the order whose rate is within 5 % of the highest; -1: more is not better */
} cm_sweep;

typedef struct cm_advice {
    char set[64]; /* "num_envs=64" */
    double gain;  /* rate with it over that without it, on top of the advice before it */
    double before, after;
    char why[96];
} cm_advice;

/* Leaves the configuration with the changes that it found. */
cm_status cm_profile_sweep(cm_profile *p) CM_MUST_USE;
/* Of these it keeps those that are worth it. */
cm_status cm_profile_advise(cm_profile *p) CM_MUST_USE;

/* Sets a key for what is measured next. */
cm_status cm_profile_set(cm_profile *p, const char *key, const char *value) CM_MUST_USE;
/* Environment steps per second; 0 of a configuration that cannot be trained with. Errors: CM_ERR_INTERRUPTED. */
cm_status cm_profile_rate_of(cm_profile *p, double seconds, double *rate) CM_MUST_USE;

enum { CM_PRECISIONS = 4 };

typedef struct cm_precision {
    cm_dtype dtype;
    double per_second;                /* positions, one representation, dynamics and two predictions each */
    double policy_error, value_error; /* largest difference of probabilities; of values over their largest size */
} cm_precision;

cm_status cm_profile_ladder(cm_profile *p) CM_MUST_USE;

/* Fills `graph`; nothing where the backend captures no graphs. */
cm_status cm_profile_graphs(cm_profile *p) CM_MUST_USE;

/* ---- what is shown ---- */

void cm_profile_print(const cm_profile *p);
cm_status cm_profile_print_json(const cm_profile *p) CM_MUST_USE;
/* "1.2 G", three digits at most, in front of a unit. Returns `out`. */
const char *cm_profile_short(double x, char out[16]);

cm_status cm_profile_write_page(const cm_profile *p, const char *path) CM_MUST_USE;
#endif
