/* A memory of pictures under load for some time: steps of a task like Atari's come in, batches are drawn, episodes
 * leave. Prints resident memory and speed of every fifth, and then how fast batches of 256 are drawn from memory and
 * from a file that the page cache holds.
 *
 *     memory_soak ram|compressed|file SECONDS STEPS [FOLDER]
 *
 * Fails if resident memory is not constant, coefficient of variation of at most 5 %, or if the last fifth is slower
 * than 95 % of the second: while the file is first written it grows, but the process does not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/rng.h"
#include "replay/batch.h"

enum { SIDE = 96, RGB = 3, STACK = 4, FRAME = SIDE * SIDE * RGB, ENVS = 8, STEPS = 16, ROWS = 32, FIFTHS = 5 };

typedef struct soak {
    cm_replay *replay;
    cm_batch *batch;
    cm_rng rng;
    float *stack; /* [E, FRAME STACK] */
    int time[ENVS], length[ENVS];
    uint64_t updates;
} soak;

/* ---- a task ---- */

/* A picture that looks like a game's: a plain ground with some boxes, which move. */
static float pixel(int environment, int time, int y, int x, int c) {
    const int ball_y = (time * 3 + environment * 17) % SIDE, ball_x = (time * 5 + environment * 29) % SIDE;
    const int is_ball = abs(y - ball_y) < 3 && abs(x - ball_x) < 3, is_wall = y < 12 || x < 4 || x >= SIDE - 4;
    const int number = is_ball ? 236 : is_wall ? 142 + (y * 7 + x) % 5 : 40 * c + (y / 8 + time / 16) % 3;
    return (float)number * (1.0f / 255.0f);
}

static void see(soak *s, int e, int first) {
    float *stack = s->stack + (size_t)e * FRAME * STACK;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++, stack += STACK * RGB) {
            if (!first) memmove(stack, stack + RGB, (STACK - 1) * RGB * sizeof *stack);
            for (int c = 0; c < RGB; c++) stack[(STACK - 1) * RGB + c] = pixel(e, s->time[e], y, x, c);
            for (int k = 0; first && k < STACK - 1; k++)
                memcpy(stack + k * RGB, stack + (STACK - 1) * RGB, 3 * sizeof *stack);
        }
}

static cm_status act(soak *s, int e) {
    const float policy[4] = {1, 2, 3, 4};
    const float *stack = s->stack + (size_t)e * FRAME * STACK;
    const cm_replay_step step = {.observation = stack, .policy = policy, .action = (int32_t)cm_rng_below(&s->rng, 4)};
    CM_TRY(cm_replay_append(s->replay, e, &step));
    s->time[e]++;
    see(s, e, 0);
    if (--s->length[e] > 0) return CM_OK;
    const cm_replay_end end = {.observation = stack, .terminated = true};
    CM_TRY(cm_replay_finish(s->replay, e, &end));
    s->length[e] = 50 + (int)cm_rng_below(&s->rng, 900);
    see(s, e, 1);
    return CM_OK;
}

static cm_status iterate(soak *s) {
    for (int e = 0; e < ENVS; e++)
        for (int t = 0; t < STEPS; t++) CM_TRY(act(s, e));
    CM_TRY(cm_replay_commit(s->replay));
    cm_replay_counts counts;
    cm_replay_count(s->replay, &counts);
    return counts.positions > 0 ? cm_replay_sample(s->replay, s->updates++, 0.4, s->batch) : CM_OK;
}

/* ---- its memory ---- */

static cm_status open_soak(soak *s, cm_replay_place place, int64_t steps, const char *folder, int rows) {
    const cm_replay_config config = {.observation_size = FRAME * STACK,
                                     .observation_unit = 1.0f / 255.0f,
                                     .frames = STACK,
                                     .frame_channels = RGB,
                                     .place = place,
                                     .actions = 4,
                                     .environments = ENVS,
                                     .max_steps = steps,
                                     .segment_steps = 1000,
                                     .commit_steps = STEPS,
                                     .sample_open = true,
                                     .targets = {.unroll = 5, .td_steps = 5, .discount = 0.988}};
    const cm_batch_config batch = {.rows = rows};
    *s = (soak){.rng = cm_rng_init(cm_key_make(1, CM_RNG_TEST, 0), 0)};
    CM_TRY(cm_replay_create(&config, &s->replay));
    CM_TRY(cm_replay_open_file(s->replay, folder));
    CM_TRY(cm_batch_create(s->replay, &batch, &s->batch));
    CM_TRY(cm_alloc(&s->stack, (size_t)ENVS * FRAME * STACK, sizeof *s->stack, "pictures"));
    for (int e = 0; e < ENVS; e++) {
        s->length[e] = 50 + e * 100;
        see(s, e, 1);
    }
    return CM_OK;
}

static void close_soak(soak *s) {
    cm_batch_destroy(s->batch);
    cm_replay_destroy(s->replay);
    free(s->stack);
}

static double resident(void) {
    double pages = 0.0, own = 0.0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%lf %lf", &pages, &own) != 2) own = 0.0;
    if (file) fclose(file);
    return own * (double)sysconf(_SC_PAGESIZE);
}

/* ---- the soak ---- */

typedef struct fifth {
    double seconds, sum, squares;
    int64_t steps, samples;
} fifth;

static void note(fifth *f, double bytes, double seconds) {
    f->seconds += seconds;
    f->sum += bytes, f->squares += bytes * bytes;
    f->steps += ENVS * STEPS, f->samples++;
}

static int judge(const fifth *fifths) {
    double sum = 0.0, squares = 0.0, samples = 0.0;
    for (int i = 0; i < FIFTHS; i++) {
        const fifth *f = &fifths[i];
        printf("fifth %d: %8lld steps, %7.0f steps/s, resident %6.1f MB\n", i + 1, (long long)f->steps,
               (double)f->steps / f->seconds, f->sum / (double)f->samples / 1e6);
        if (i > 0) sum += f->sum, squares += f->squares, samples += (double)f->samples; /* the first warms up */
    }
    const double mean = sum / samples, variation = sqrt(fmax(squares / samples - mean * mean, 0.0)) / mean;
    const double second = (double)fifths[1].steps / fifths[1].seconds,
                 last = (double)fifths[4].steps / fifths[4].seconds;
    printf("resident: coefficient of variation %.2f %%; the last fifth at %.0f %% of the second\n", 100.0 * variation,
           100.0 * last / second);
    return variation <= 0.05 && last >= 0.95 * second ? 0 : 1;
}

static cm_status run(soak *s, double seconds, fifth *fifths) {
    const double began = cm_clock_seconds();
    for (double now = began; now - began < seconds;) {
        CM_TRY(iterate(s));
        const double after = cm_clock_seconds();
        const int at = (int)((now - began) / seconds * FIFTHS);
        note(&fifths[at < FIFTHS ? at : FIFTHS - 1], resident(), after - now);
        now = after;
    }
    return CM_OK;
}

/* Seconds of a batch of 256 of 10,000 steps. */
static cm_status draw(cm_replay_place place, const char *folder, double *out) {
    enum { KEPT = 10000, BATCHES = 20 };
    soak s;
    CM_TRY(open_soak(&s, place, KEPT, folder, 256));
    for (int i = 0; i < KEPT / (ENVS * STEPS) + 1; i++) CM_TRY(iterate(&s));
    *out = HUGE_VAL;
    for (int i = 0; i < BATCHES; i++) {
        const double began = cm_clock_seconds();
        CM_TRY(cm_replay_sample(s.replay, s.updates++, 0.4, s.batch));
        *out = fmin(*out, cm_clock_seconds() - began);
    }
    close_soak(&s);
    return CM_OK;
}

static const struct {
    const char *name;
    cm_replay_place place;
    double least; /* of the rate from memory */
} places[] = {{"ram", CM_REPLAY_RAM, 0.0}, {"file", CM_REPLAY_FILE, 0.5}, {"compressed", CM_REPLAY_PACKED, 0.0}};
enum { PLACES = sizeof places / sizeof *places };

static cm_status compare(const char *folder, int *verdict) {
    double seconds[PLACES];
    for (int i = 0; i < PLACES; i++) {
        CM_TRY(draw(places[i].place, folder, &seconds[i]));
        const double share = seconds[0] / seconds[i];
        printf("a batch of 256 stacks from %-10s %6.1f ms, %.0f %% of the rate from ram\n", places[i].name,
               1e3 * seconds[i], 100.0 * share);
        if (share < places[i].least) *verdict = 1;
    }
    return CM_OK;
}

int main(int argc, char **argv) {
    const char *folder = argc > 4 ? argv[4] : ".";
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 0.0;
    const int64_t steps = argc > 3 ? strtoll(argv[3], NULL, 10) : 0;
    fifth fifths[FIFTHS] = {{0}};
    soak s = {0};
    int place = 0;
    while (argc > 1 && place < PLACES && strcmp(argv[1], places[place].name) != 0) place++;
    if (seconds < 1.0 || steps < 1000 || place == PLACES) {
        fprintf(stderr,
                "usage: memory_soak ram|compressed|file SECONDS STEPS [FOLDER]   SECONDS: at least 1; STEPS: 1000\n");
        return 2;
    }
    cm_status status = open_soak(&s, places[place].place, steps, folder, ROWS);
    if (status == CM_OK) status = run(&s, seconds, fifths);
    int verdict = status == CM_OK ? judge(fifths) : 1;
    close_soak(&s);
    if (status == CM_OK) status = compare(folder, &verdict);
    if (status != CM_OK) fprintf(stderr, "memory_soak: %s\n", cm_error_message());
    return status == CM_OK ? verdict : 1;
}
