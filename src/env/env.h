/* Environments: games and control tasks behind one table.
 *
 * A row (cm_env_def) is a set of functions on a plain struct, the state of the rules: no pointers in it, no memory of
 * its own. cm_env_open finds a row by name, checks the options and returns a cm_env: row, options and spec, a value
 * that is copied freely and never changes. A state block is cm_env_common followed by the state of the rules
 * (spec.state_size bytes, aligned to 8). The caller owns it; memcpy clones it. Every function here is thread-safe on
 * different states.
 *
 * Conventions (docs/spec/environments.md). The reward of a transition belongs to the player who acted. `terminated` is
 * a real end, `truncated` a time limit; both may be true. A step after the end, and an illegal action, are errors that
 * leave the state as it was. Observations are float32, from the view of the player to move, rows contiguous, [F] or [H,
 * W, C]. Adding one: docs/ADDING_AN_ENVIRONMENT.md. Many at once: env/vector.h.
 */
#ifndef CM_ENV_ENV_H
#define CM_ENV_ENV_H

#include "core/policy_form.h"
#include "core/rng.h"
#include "draw/scene.h"
#include "env/pcg64.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options -------------------------------------------------------------------------------------------------------
 */

typedef struct cm_python_env cm_python_env; /* env/python_internal.h */

/* How a row is opened whose observations are stacks of its frames (env/frame_stack.h); cm_env_open sets it. */
typedef struct cm_env_frames {
    const struct cm_env_def *row; /* the row without stacks; NULL: observations are what it observes */
    int count;                    /* K >= 2 frames in an observation                                 */
    int size, channels;           /* numbers of a frame, and of its cells: [H, W, channels] or [channels] */
    float unit;                   /* observation_unit                                                */
    size_t rules_at, rules_size;  /* of the row's own state within a state, in bytes                 */
    size_t state_bytes;           /* from one state to the next                                      */
} cm_env_frames;

/* What a user may choose about an environment. 0 (numbers) and NaN (reset bounds) mean the environment's own default;
 * cm_env_open fills in what it took. Options that a row does not list in `options` are ignored. */
typedef struct cm_env_params {
    int size;                 /* n of hex, go, gomoku, and of glide; normally part of the name ("hex7")         */
    int rows, columns;        /* catch: 2..64 each; 10 x 5                                                      */
    int action_bins;          /* continuous tasks: values of each number of the discretised action, 2..1001    */
    int max_steps;            /* time limit in steps; the environment's own                                     */
    double komi;              /* go: points White gets, -400..400; 7.5                                          */
    double low, high;         /* CartPole, Acrobot, MountainCar: bounds of the uniform reset                    */
    double x_init;            /* Pendulum: reset angle in [-x_init, x_init]; pi                                 */
    double y_init;            /* Pendulum: reset angular velocity in [-y_init, y_init]; 1                       */
    double goal_velocity;     /* MountainCar: velocity needed at the goal; 0                               */
    bool swap;                /* hex: the second player may take over the first stone                      */
    bool exactly_five;        /* gomoku: six or more in a row do not win                                   */
    bool sutton_barto_reward; /* CartPole: reward 0, and -1 at the terminating step                        */
    double sticky_actions;    /* MinAtar: probability that the last action is repeated, NaN: 0.1           */
    bool ramping;             /* MinAtar: games grow harder as they go on; true                            */
    bool minimal_actions;     /* MinAtar: only the actions that do something                               */
    int frame_stack;          /* newest frames in an observation, 1..32; the row's spec.frames, or 1       */
    int picture_size;         /* Atari: pixels of a side of a picture, 8..160; 96                                  */
    bool picture_gray;        /* Atari: one channel in place of red, green and blue                        */
    bool full_actions;        /* Atari: all 18 actions in place of those that do something                 */
    bool life_ends;           /* Atari, training: a lost life ends the episode; true                       */
    bool clip_rewards;        /* Atari, training: rewards are their signs; true                            */
    bool together;            /* in Python: all episodes are played by one process, as a trial wants it    */
    bool fresh;               /* in Python: each episode is played by an object of its own                 */
    int purpose;              /* a cm_env_purpose; what cm_env_for has set                                  */
    int given_steps;          /* Atari: max_steps before its default was filled in; cm_env_open sets it     */
    double timeout;           /* seconds that a call of an environment in Python may take, 0: any; 60           */
    cm_python_env *python;    /* of an environment in Python: which one (env/python.h); cm_env_open sets it */
    cm_env_frames frames;     /* of stacked observations: set by cm_env_open, too                          */
} cm_env_params;

/* Bits of cm_env_def.options: which of the above a row reads. Bit i is row i of cm_env_option_list. */
enum {
    CM_ENV_SIZE = 1 << 0,
    CM_ENV_ROWS = 1 << 1,
    CM_ENV_COLUMNS = 1 << 2,
    CM_ENV_ACTION_BINS = 1 << 3,
    CM_ENV_MAX_STEPS = 1 << 4,
    CM_ENV_KOMI = 1 << 5,
    CM_ENV_LOW = 1 << 6,
    CM_ENV_HIGH = 1 << 7,
    CM_ENV_X_INIT = 1 << 8,
    CM_ENV_Y_INIT = 1 << 9,
    CM_ENV_GOAL_VELOCITY = 1 << 10,
    CM_ENV_SWAP = 1 << 11,
    CM_ENV_EXACTLY_FIVE = 1 << 12,
    CM_ENV_SUTTON_BARTO = 1 << 13,
    CM_ENV_STICKY_ACTIONS = 1 << 14,
    CM_ENV_RAMPING = 1 << 15,
    CM_ENV_MINIMAL_ACTIONS = 1 << 16,
    CM_ENV_FRAME_STACK =
        1 << 17, /* set by cm_env_open where frames are stacked; every row of one player without chance */
    CM_ENV_PICTURE_SIZE = 1 << 18,
    CM_ENV_PICTURE_GRAY = 1 << 19,
    CM_ENV_FULL_ACTIONS = 1 << 20,
    CM_ENV_LIFE_ENDS = 1 << 21,
    CM_ENV_CLIP_REWARDS = 1 << 22,
    CM_ENV_OPTION_COUNT = 23
};

/* What an environment is opened for. Atari's games tell it apart: only training ends episodes at lost lives and takes
 * signs of rewards, and the limit of a report is the longer one that results are published with. */
typedef enum cm_env_purpose { CM_ENV_TRAINS, CM_ENV_EVALUATES, CM_ENV_REPORTS } cm_env_purpose;

typedef enum cm_env_option_kind { CM_ENV_INT, CM_ENV_REAL, CM_ENV_FLAG } cm_env_option_kind;

typedef struct cm_env_option {
    const char *name; /* as in the struct; sutton_barto_reward, ... */
    cm_env_option_kind kind;
    size_t offset;   /* in cm_env_params (int, double, bool) */
    double min, max; /* of a value that is given             */
    const char *help;
} cm_env_option;

const cm_env_option *cm_env_option_list(int *count); /* CM_ENV_OPTION_COUNT rows, in the order of the bits */
cm_env_params cm_env_params_default(void);
double cm_env_params_get(const cm_env_params *params, int row); /* value of row `row` of cm_env_option_list */

/* Sets one option by its name; flags take 0 or 1. Errors: CM_ERR_INPUT names the nearest known option or the range. */
cm_status cm_env_params_set(cm_env_params *params, const char *option, double value) CM_MUST_USE;

enum {
    CM_ENV_MAX_ACTIONS = 65536, /* that may be listed, by masks and names; discrete rows have no more */
    CM_ENV_MAX_SEARCHED = 1024, /* that a search may choose among without draws, or an exact solver */
    CM_ENV_MAX_COMBINATIONS = CM_POLICY_ACTIONS, /* actions of a continuous task without a mask */
    CM_ENV_MAX_OUTCOMES = 64,                    /* ... or chance outcomes   */
    CM_ENV_MAX_NUMBERS = 24,                     /* ... or numbers of a continuous action */
    CM_ENV_MAX_FRAMES = 32                       /* ... or frames of an observation */
};

/* ---- spec ----------------------------------------------------------------------------------------------------------
 */

typedef struct cm_env_spec {
    char name[32];        /* with its size: "go9"                                                                   */
    int rank;             /* of the observation: 1 or 3; where describe leaves it 0 the shape decides               */
    int shape[3];         /* [F], or [H, W, C] with channels innermost; unused entries are 1                        */
    int observation_size; /* product of the shape                                                                   */
    int frames; /* K of stacked observations: [H, W, K C], of each cell the numbers of the oldest frame first; or [K F].
                 * describe sets shape and unit of a single frame, which observe writes, and here how many are
                 * stacked unless frame_stack says otherwise; 0 or 1: none are, as cm_env_open then says (1)         */
    float observation_unit; /* > 0: every number is k times this, k of 0 .. 255, and a replay keeps bytes; 0: float32.
                             * Planes of 0 and 1 have unit 1, as board.h's do where a row has no observe             */
    const char *const *channels; /* C (or F) names, static                                                          */
    int actions;                 /* A; of a continuous task action_bins ^ action_size, more with angles             */
    int max_legal;               /* most actions that are ever legal at once                                        */
    int players;                 /* 1 or 2                                                                          */
    int max_steps;               /* time limit (truncation); 0: none                                                */
    int max_plies;               /* an episode is never longer, nor than max_steps where it is less; 0: no bound    */
    double reward_threshold;     /* mean return that counts as solved, NaN if none is agreed                        */
    double reward_low, reward_high; /* bounds of one step's reward; may be infinite                                 */
    double discount;                /* discount usually taken; in (0, 1], 1 for board games. A recommendation only   */
    int symmetries;                 /* S >= 1; number 0 is the identity                                             */
    int cells;                      /* H * W of a board or grid that symmetries and pictures speak of; 0: no board  */
    int chance_outcomes;            /* > 0: a step is an afterstate and one of these                                */
    int reset_outcomes;             /* > 0: reset draws this many outcomes, see cm_env_reset_outcomes               */
    int action_size;                /* D > 0: the task is continuous, actions are float[D]                          */
    int action_bins;                /* values of each of these numbers when it is discretised                       */
    float action_low, action_high;  /* bounds of each                                                               */
    uint32_t angles; /* bit d: number d is an angle, whose bounds are one turn. Its bins lie around the circle, none at
                      * the end, and agents choose it more finely than by bins (core/policy_form.h)                   */
    int angle_steps; /* m of these angles; cm_env_open sets it                                                       */
    bool truncates;  /* step truncates episodes of its own, besides the time limit                                    */
    bool replays;    /* copies of a state are played again from the start: no searches on the true rules             */
    size_t rules_size; /* bytes of the rules' state, a multiple of 8                                   */
    size_t state_size; /* bytes of a state block: sizeof(cm_env_common) + rules_size                   */
} cm_env_spec;

/* ---- a row of the registry -----------------------------------------------------------------------------------------
 */

typedef struct cm_env_outcome {
    double reward; /* of the player who acted */
    bool terminated, truncated;
} cm_env_outcome;

/* Many instances of a control task at once, as a structure of arrays. Rows must equal those of `step` bit for bit. */
enum { CM_ENV_FIELDS = 8, CM_ENV_TOGETHER = 256 };
typedef struct cm_env_lanes {
    int count;
    double *field[CM_ENV_FIELDS]; /* field f of the rules' state (all doubles): [count] each, updated in place  */
    const int32_t *action;        /* [count], in range                                                          */
    const float *value;           /* [count, D] for continuous tasks, else NULL                                 */
    float *observation;           /* [count, F]                                                                 */
    float *reward;                /* [count]                                                                    */
    uint8_t *terminated;          /* [count]                                                                    */
} cm_env_lanes;

/* How a state came to be, as far as a drawing shows it. */
typedef struct cm_env_moment {
    int action; /* that led to it; -1: it is the first, or that is not known */
    int player; /* who took it */
    int cell;   /* of a board, that the action has filled; -1: none */
} cm_env_moment;

/* `rules` is the rules' state. Actions that reach step are legal, states are not ended. NULL is allowed where stated.
 */
typedef struct cm_env_def {
    const char *name;                     /* "connect4"; a stem ("hex") where sizes are given                       */
    const char *alias;                    /* a second name, or NULL                                                 */
    const char *about;                    /* one line                                                               */
    int min_size, max_size, default_size; /* of a stem; 0 otherwise                                                 */
    unsigned options;                     /* CM_ENV_... bits that it reads                                          */
    /* Checks the options, fills in defaults, and fills the spec (name, observation_size and state_size are filled by
     * the caller afterwards, like actions of a continuous task; every number not set is 0, reward_threshold NaN, reward
     * bounds -1..1, discount 1, symmetries 1). */
    cm_status (*describe)(cm_env_params *params, cm_env_spec *spec);
    void (*reset)(const cm_env_params *params, void *rules, cm_pcg64 *random);
    cm_env_outcome (*step)(const cm_env_params *params, void *rules, int action, cm_pcg64 *random);
    /* Of a game of two on a board with the planes of env/board.h `board` suffices in place of these two and of names.
     */
    void (*observe)(const cm_env_params *params, const void *rules, float *observation);
    void (*legal)(const cm_env_params *params, const void *rules, uint8_t *mask); /* NULL: every action always       */
    int (*to_play)(const cm_env_params *params, const void *rules);               /* NULL: one player                */
    void (*picture)(const cm_env_params *params, const void *rules, char *text, size_t size); /* see observe         */
    void (*action_name)(const cm_env_params *params, int action, char *text, size_t size); /* NULL: the number       */
    /* A number per cell, as cm_env_board has it (the cells of the reference cases); NULL without a board. */
    void (*board)(const cm_env_params *params, const void *rules, int32_t *cells);
    void (*symmetry)(const cm_env_params *params, int index, int32_t *cell_map, int32_t *action_map); /* NULL if 1   */
    /* Chance. NULL unless spec.chance_outcomes / reset_outcomes > 0. `chance` returns whether the episode has ended. */
    double (*afterstate)(const cm_env_params *params, void *rules, int action);
    bool (*chance)(const cm_env_params *params, void *rules, int outcome);
    void (*chance_weights)(const cm_env_params *params, const void *rules, float *weights);
    cm_status (*reset_with)(const cm_env_params *params, void *rules, const int32_t *outcomes);
    /* The outcome that lies between two observations, -1 if none does; NULL where observations do not tell it. */
    int (*outcome_between)(const cm_env_params *params, const float *before, int action, const float *after);
    /* Continuous tasks: `value` float[action_size], not clipped. NULL otherwise. */
    cm_env_outcome (*step_value)(const cm_env_params *params, void *rules, const float *value);
    void (*step_lanes)(const cm_env_params *params, const cm_env_lanes *lanes); /* NULL: one by one                  */
    /* `count` states, cm_env_stride bytes apart, at most CM_ENV_TOGETHER: as `step` or `step_value` of each. NULL: by
     * these. */
    void (*step_together)(const cm_env_params *params, void *rules, int count, const int32_t *action,
                          const float *value, cm_env_outcome *out);
    bool strides; /* step_together goes by cm_env_stride; false: by rules_size, and is not used where frames are stacked
                   */
    const struct cm_solver_def *solver; /* exact play (env/solver.h), or NULL */
    /* What went wrong (cm_fail) in the reset or the step that led to `rules`; a step gave reward NaN then, too. CM_OK:
     * nothing did. NULL: nothing ever does. */
    cm_status (*failure)(const cm_env_params *params, const void *rules);
    /* Whether `rules`, which may be any bytes of a stranger's checkpoint, is a state that an episode of `steps` steps,
     * `ended` or not, may be in: no function above may read or write outside its arrays or run without end in it, or in
     * what follows. Errors: CM_ERR_INPUT says what is wrong (cm_env_check_int, cm_env_check_real). Never NULL. */
    cm_status (*check)(const cm_env_params *params, const void *rules, int steps, bool ended);
    /* Bytes of a state that are in use `steps` steps (0 .. spec.max_steps) after a reset, never fewer than before: the
     * others are neither read nor copied. NULL: all always are. */
    size_t (*used)(const cm_env_params *params, int steps);
    /* The reset of an episode whose seed somebody has named, for one that gives seeds to other code. NULL: `reset` with
     * a generator of that seed. */
    void (*reset_to)(const cm_env_params *params, void *rules, uint64_t seed);
    /* Of letters in the picture of a grid the colours in a terminal: pairs of a letter and a digit, 1 red, 2 green, 3
     * yellow, 4 blue, 5 magenta, 6 cyan, "=6o3". NULL: none has one. */
    const char *colours;
    /* Draws a state into an empty scene of CM_ENV_DRAWN x CM_ENV_DRAWN units, which it may make higher or lower. What
     * it leaves empty is drawn by others (env/draw.h). NULL: all is. */
    void (*draw)(const cm_env_params *params, const void *rules, const cm_env_moment *moment, cm_scene *scene);
    /* Of a row with an observation_unit whose states hold the bytes that its observation is the unit times of:
     * [observation_size], within `rules`. Stacks of frames read them in place of `observe`. NULL: there are none. */
    const uint8_t *(*observation_bytes)(const cm_env_params *params, const void *rules);
} cm_env_def;
enum { CM_ENV_DRAWN = 320 };

/* For step_together: bytes from a state to the next, for a row whose own states have `rules_size`. */
static inline size_t cm_env_stride(const cm_env_params *params, size_t rules_size) {
    return params->frames.row ? params->frames.state_bytes : rules_size;
}

/* Defines the row `row_`: its check, which no row may lack, and its other members with their names, in their order.
 *     static CM_ENV_DEF(walk, check, .name = "walk", .describe = describe, ...); */
#define CM_ENV_DEF(row_, check_, ...)                                                                                  \
    const cm_env_def row_ = {__VA_ARGS__, .check = (check_)};                                                          \
    enum { row_##_has_a_check = 1 }

/* Built-in rows, in the order shown to users. */
const cm_env_def *const *cm_env_registry(int *count);

/* ---- an environment ------------------------------------------------------------------------------------------------
 */

typedef struct cm_env {
    const cm_env_def *def;
    cm_env_params params; /* all defaults filled in */
    cm_env_spec spec;
} cm_env;

/* Finds `name` ("CartPole-v1", "hex7", "go" = its default size) among the built-in rows, or opens a library
 * ("./grid.so", see below) or what is written in Python ("./grid.py", "gymnasium:LunarLander-v3", see env/python.h).
 * `params` NULL: defaults. Errors: CM_ERR_INPUT names the nearest known name, the option and
 * its range, or what is wrong with the library or the spec. */
cm_status cm_env_open(cm_env *env, const char *name, const cm_env_params *params) CM_MUST_USE;

/* The same environment for another purpose than training, which cm_env_open opens it for; most are the same for all.
 * States of one are none of another. Errors: those of cm_env_open. */
cm_status cm_env_for(const cm_env *env, cm_env_purpose purpose, cm_env *out) CM_MUST_USE;

/* Whether two environments are the same game: the row, the name with its size, and every option that the row reads. */
bool cm_env_is_same(const cm_env *a, const cm_env *b);

/* The same for a row that is not built in; a program that embeds the library keeps its own rows. */
cm_status cm_env_open_def(cm_env *env, const cm_env_def *def, const char *name,
                          const cm_env_params *params) CM_MUST_USE;

/* ---- an environment of one's own ------------------------------------------------------------------------------------
 *
 * A file with a row and the line CM_ENV_LIBRARY(my_row), compiled with `cc -shared -fPIC`, is a library: its path is a
 * name for cm_env_open ("./grid.so"; a name with a slash, or that ends in .so), and so a value of env_name. It stays
 * open until the process ends.
 */
enum { CM_ENV_LAYOUTS = 8 };
typedef struct cm_env_library {
    size_t layout[CM_ENV_LAYOUTS]; /* of the headers it was compiled with; the first two say how to read the rest */
    const cm_env_def *row;
} cm_env_library;

enum { CM_ENV_LAYOUT = 3 }; /* grows where a member changes its meaning and no struct its size */
#define CM_ENV_LIBRARY_OF(row_)                                                                                        \
    {                                                                                                                  \
        {CM_ENV_LAYOUT,         sizeof(cm_env_library), sizeof(cm_env_def),   sizeof(cm_env_spec),                     \
         sizeof(cm_env_params), sizeof(cm_env_outcome), sizeof(cm_env_lanes), sizeof(cm_pcg64)},                       \
            row_                                                                                                       \
    }

#ifdef __cplusplus
#define CM_ENV_ENTRY extern "C"
#else
#define CM_ENV_ENTRY extern
#endif

/* Weak, so that several files with such a line can also be linked into one program. */
#define CM_ENV_LIBRARY(row_)                                                                                           \
    CM_ENV_ENTRY const cm_env_library *cumind_environment(void);                                                       \
    __attribute__((weak)) const cm_env_library *cumind_environment(void) {                                             \
        (void)row_##_has_a_check; /* a row that CM_ENV_DEF did not define does not compile */                          \
        static const cm_env_library library = CM_ENV_LIBRARY_OF(&(row_));                                              \
        return &library;                                                                                               \
    }

bool cm_env_is_library(const char *name);

/* Whether `name` is the path of a file of the user's own: a library, or a text in Python (env/python.h). */
bool cm_env_is_file(const char *name);

/* The row of a library. Errors: CM_ERR_INPUT if it cannot be opened, is none, was compiled with the headers of another
 * version, or has no row. */
cm_status cm_env_open_library(const char *path, const cm_env_def **out) CM_MUST_USE;

/* Plays `steps` random steps and holds the row to what stands here: a check that takes every state, actions' names
 * of 1..15 characters, numbers that are finite and within their shape, rewards within their bounds, something legal
 * until the end, players that exist, nothing written after an array, boards' cells that are stones where no observe or
 * picture says what else, randomness from `random` alone, symmetries that are permutations and, where no chance hides
 * it, commute with the rules, outcomes of chance that exist and probabilities that sum to 1, no episode longer than
 * max_plies. Errors: CM_ERR_INPUT says which function of the row broke what. */
cm_status cm_env_try(const cm_env *env, int steps) CM_MUST_USE;

/* What the random steps of a trial have seen. */
typedef struct cm_env_tried {
    int repeat_step;                /* of an episode: after it the player who had moved was to move again; 0: none */
    int repeat_player;              /* which */
    bool ends_at_limit;             /* an episode came to a real end right at the time limit */
    int steps;                      /* in all */
    double reward_low, reward_high; /* of all steps, and 0 */
    double reward_sum;              /* of their absolute values */
} cm_env_tried;

/* cm_env_try, which tells what it has seen. */
cm_status cm_env_try_out(const cm_env *env, int steps, cm_env_tried *out) CM_MUST_USE;

/* CM_ERR_INPUT, and the line for a game of two whose `player` is to move twice in a row (`step` as in cm_env_tried)
 * where the model of a search is learnt: such a model knows no players, and takes the other one's view at every step.
 */
cm_status cm_env_fail_repeat(const cm_env_spec *spec, int player, int64_t step) CM_MUST_USE;

/* ---- one state -----------------------------------------------------------------------------------------------------
 */

/* In front of the rules' state in every state block. */
typedef struct cm_env_common {
    cm_pcg64 random; /* of resets and of chance */
    int32_t steps;   /* taken in this episode   */
    uint8_t terminated, truncated;
    uint8_t pending;   /* an afterstate waits for its chance outcome */
    uint8_t unused[9]; /* zero                                       */
} cm_env_common;

static inline void *cm_env_rules(void *state) { return (char *)state + sizeof(cm_env_common); }
static inline const void *cm_env_rules_of(const void *state) { return (const char *)state + sizeof(cm_env_common); }

/* A new episode. With a seed it equals Gymnasium's reset(seed=...); without one the generator goes on, as there. */
void cm_env_reset(const cm_env *env, void *state, uint64_t seed);
void cm_env_restart(const cm_env *env, void *state);

/* A new episode whose chance is given: outcomes[spec.reset_outcomes] (2048: two spawn ids 16 * [tile is 4] + cell;
 * catch: the ball's column). Errors: CM_ERR_INPUT; the state is then as it was. */
cm_status cm_env_reset_outcomes(const cm_env *env, void *state, const int32_t *outcomes) CM_MUST_USE;

/* One step. Errors: CM_ERR_INPUT for an illegal action, CM_ERR_STATE after the end; the state is then as it was. Those
 * of cm_env_check_reward, and CM_ERR_INPUT if the episode has not ended after spec.max_plies steps. */
cm_status cm_env_step(const cm_env *env, void *state, int action, cm_env_outcome *out) CM_MUST_USE;

/* A reward of a step that led to `rules`: CM_ERR_NOT_FINITE if it is not, as float32; CM_ERR_INPUT if it is beyond the
 * spec's bounds. The message begins with "its". */
cm_status cm_env_check_reward(const cm_env *env, const void *rules, double reward) CM_MUST_USE;

/* One step of a continuous task (spec.action_size > 0), value[D] in the environment's units; outside the bounds it is
 * clipped as Gymnasium does. Errors: CM_ERR_INPUT for NaN or a discrete task, CM_ERR_STATE after the end. */
cm_status cm_env_step_value(const cm_env *env, void *state, const float *value, cm_env_outcome *out) CM_MUST_USE;

/* Of a continuous task. */
static inline cm_policy_form cm_env_policy_form(const cm_env_spec *spec) {
    const cm_policy_form form = {spec->action_size, spec->action_bins, spec->angles, spec->angle_steps, 0.0f};
    return form;
}

/* What the discretised action stands for: value[D], each low + (high - low) * k / (bins - 1), an angle of n m values
 * low + (high - low) * k / (n m). Its number enumerates all combinations of the k, the last one fastest
 * (docs/spec/environments.md 2.5). */
static inline void cm_env_action_values(const cm_env *env, int action, float *value) {
    const double low = (double)env->spec.action_low, high = (double)env->spec.action_high;
    const cm_policy_form form = cm_env_policy_form(&env->spec);
    for (int d = form.numbers; d-- > 0; action /= cm_policy_values(form, d)) {
        const int values = cm_policy_values(form, d), last = cm_policy_is_angle(form, d) ? values : values - 1;
        value[d] = (float)(low + (high - low) * (action % values) / last);
    }
}

/* One step of the rules' state alone, for searches on true rules: the action is known to be legal and the state not to
 * have ended. Nothing is checked and no time limit is kept: it is no rule, and no state shows how near it is. */
cm_env_outcome cm_env_step_rules(const cm_env *env, void *rules, int action, cm_pcg64 *random);

/* The two halves of a step where spec.chance_outcomes > 0: the player's part, then an outcome from outside. */
cm_status cm_env_afterstate(const cm_env *env, void *state, int action, double *reward) CM_MUST_USE;
cm_status cm_env_chance(const cm_env *env, void *state, int outcome, cm_env_outcome *out) CM_MUST_USE;
/* weights[chance_outcomes]: probabilities of the outcomes of a pending afterstate; 0 where impossible. */
cm_status cm_env_chance_weights(const cm_env *env, const void *state, float *weights) CM_MUST_USE;

/* The outcome of chance, 0 .. chance_outcomes - 1, that turned the observation `before` into `after` when the player to
 * move played `action`; -1 if none did. Only if def->outcome_between; both are [observation_size]. */
int cm_env_outcome_between(const cm_env *env, const float *before, int action, const float *after);

void cm_env_observe(const cm_env *env, const void *state, float *observation); /* [observation_size]               */
void cm_env_observe_rules(const cm_env *env, const void *rules, float *observation); /* the same of the rules' state */
void cm_env_legal(const cm_env *env, const void *state, uint8_t *mask); /* [A]; all zero after the end       */
/* Whether all actions may be listed: they are discrete, or at most CM_ENV_MAX_SEARCHED combinations. Only then is
 * cm_env_legal to be called, and arrays of CM_ENV_MAX_ACTIONS entries suffice. Errors (check): CM_ERR_INPUT, "glide4:
 * ... has 14641 actions ...". */
static inline bool cm_env_is_listed(const cm_env *env) {
    return env->spec.action_size == 0 || env->spec.actions <= CM_ENV_MAX_SEARCHED;
}
cm_status cm_env_check_listed(const cm_env *env, const char *what) CM_MUST_USE;
/* An action drawn uniformly among the legal ones of a state that has not ended. */
int cm_env_random_action(const cm_env *env, const void *state, cm_rng *rng);
int cm_env_to_play(const cm_env *env, const void *state); /* 0 or 1                            */
bool cm_env_ended(const void *state);

/* Whether a state block, which may be any bytes, is one that every function here may be called on: what a row's `check`
 * says, numbers of steps and flags that fit each other, a generator, a player, and an action until the end. Errors:
 * CM_ERR_INPUT says what is wrong, "its steps are 77; must be 0..9". */
cm_status cm_env_check_state(const cm_env *env, const void *state) CM_MUST_USE;

/* For `check` of a row: whether a number is in [low, high]; NaN is nowhere. Errors: CM_ERR_INPUT, "`what` is 70; must
 * be 0..9". */
cm_status cm_env_check_int(const char *what, int64_t value, int64_t low, int64_t high) CM_MUST_USE;
cm_status cm_env_check_real(const char *what, double value, double low, double high) CM_MUST_USE;

/* The position as text of several lines for a terminal, NUL-terminated; 4096 bytes suffice. It is at most 40 columns
 * wide, but for hex of n > 13, whose rhombus takes 3 n + 1. */
enum { CM_ENV_PICTURE_BYTES = 4096 };
void cm_env_picture(const cm_env *env, const void *state, char *text, size_t size);

/* "d4", "pass", "left", where no row says otherwise the number, or of several numbers the k of each, "3,0"; 16 bytes
 * suffice where all actions are listed. cm_env_action_parse reads such a name or a number, -1 if it is neither. */
void cm_env_action_name(const cm_env *env, int action, char *text, size_t size);
int cm_env_action_parse(const cm_env *env, const char *text);

/* cells[spec.cells]: 0 empty, 1 player 0, 2 player 1; the tile in 2048; 1 paddle, 2 ball in catch; other numbers where
 * a row has observe and picture of its own. */
void cm_env_board(const cm_env *env, const void *state, int32_t *cells);

/* Symmetry `index` in [0, spec.symmetries): what stands on cell c stands on cell_map[c] afterwards, and action a
 * becomes action_map[a]: new[cell_map[c], :] = old[c, :], new_policy[action_map[a]] = policy[a]. cell_map [spec.cells]
 * (may be NULL if cells is 0), action_map [A]; both permutations. The rules commute with it. */
void cm_env_symmetry(const cm_env *env, int index, int32_t *cell_map, int32_t *action_map);

#ifdef __cplusplus
}
#endif
#endif
