/* cumind for C programs: environments, trained agents, tree search. One header, C99 or C++, nothing else to include.
 *
 *     cc robot.c $(pkg-config --cflags --libs cumind)
 *
 * Errors. A function that can fail returns a cumind_status; cumind_error_message() then has one line of the calling
 * thread that says what is wrong, where, and what to do. Nothing ends the process or prints to standard output;
 * warnings go to stderr, or to cumind_log_to. Functions that return no status give zeros where a handle is NULL.
 *
 * Threads. A handle may be used from any thread, by one at a time: a second one gets CUMIND_ERR_STATE. Different
 * handles may be used at once. The functions without a handle may be called from any thread at any time. A handle is of
 * the process that opened it: one that is forked from it gets CUMIND_ERR_STATE.
 *
 * Memory. Arrays that a caller passes stay the caller's and are not kept after the call; arrays of a handle are valid
 * until it is closed. All arrays are row-major and contiguous. Letters: n rows, O numbers of an observation, A actions,
 * D numbers of a continuous action, C outcomes of chance, S numbers of a hidden state, N simulations.
 *
 * Settings are texts "key=value" with the keys of docs/CONFIGURATION.md, as --set takes them.
 */
#ifndef CUMIND_H
#define CUMIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Before every function here: the shared library shows it. */
#if defined(__GNUC__)
#define CUMIND_API __attribute__((visibility("default")))
#else
#define CUMIND_API
#endif

/* ---- version and errors ----------------------------------------------------------------------------------------- */

/* Grows whenever a program has to be compiled again: a function is gone, or a struct or a meaning has changed. */
#define CUMIND_INTERFACE 2

CUMIND_API int cumind_interface(void);       /* CUMIND_INTERFACE of the library that is linked */
CUMIND_API const char *cumind_version(void); /* "0.2.0"; static                                */

/* What a function that can fail returns. */
typedef enum cumind_status {
    CUMIND_OK = 0,
    CUMIND_ERR_INPUT,      /* a bad value: argument, setting, content of a file                          */
    CUMIND_ERR_IO,         /* the operating system refused: open, read, write                            */
    CUMIND_ERR_MEMORY,     /* more memory than there is                                                  */
    CUMIND_ERR_DEVICE,     /* a device or its library reported an error                                  */
    CUMIND_ERR_MODEL,      /* the caller's model reported an error                                       */
    CUMIND_ERR_STATE,      /* call in the wrong order, or a handle that another thread uses              */
    CUMIND_ERR_NOT_FINITE, /* NaN or Inf where a finite number must be                                   */
    CUMIND_ERR_ABSENT,     /* not in this build or on this machine                                       */
    CUMIND_ERR_INTERRUPTED /* asked to stop                                                              */
} cumind_status;

/* This thread's last message, one line, "" if there was none; valid until its next error. */
CUMIND_API const char *cumind_error_message(void);

/* Sets this thread's message, which is copied, and returns `status`, or CUMIND_ERR_MODEL where that is no error: for
 * callbacks of the caller that fail. */
CUMIND_API cumind_status cumind_fail(cumind_status status, const char *message);

/* Levels of lines of the log. */
typedef enum cumind_log_level { CUMIND_DEBUG, CUMIND_INFO, CUMIND_WARNING, CUMIND_ERROR } cumind_log_level;

/* Takes a line of the log, without a newline, from any thread, one at a time; may not call the library. */
typedef void (*cumind_log_function)(void *context, cumind_log_level level, const char *line);
/* From now on lines go to `log` in place of stderr; NULL: to stderr again. For the whole process. */
CUMIND_API void cumind_log_to(cumind_log_function log, void *context);

/* ---- what an environment is -------------------------------------------------------------------------------------- */

/* What a task is. */
typedef struct cumind_spec {
    char name[32];                  /* with its size: "go9"                                                     */
    int observation_rank;           /* 1 or 3                                                                   */
    int observation_shape[3];       /* [O], or [H, W, channels]; unused entries are 1                           */
    int observation_size;           /* O: product of the shape                                                  */
    int actions;                    /* A                                                                        */
    int action_size;                /* D > 0: the task is continuous, actions are D numbers; 0: it is not       */
    float action_low, action_high;  /* bounds of each of them                                                   */
    bool has_mask;                  /* not every action is legal everywhere                                     */
    int players;                    /* 1 or 2; two alternate, and each sees the board from its own side         */
    int max_steps;                  /* time limit, truncation; 0: none                                          */
    double reward_low, reward_high; /* bounds of the reward of a step; may be infinite                          */
    double reward_threshold;        /* mean return that counts as solved; NaN: none is agreed                   */
    double discount;                /* usually taken, in (0, 1]                                                 */
} cumind_spec;

/* ---- environments in batches ------------------------------------------------------------------------------------- */

/* Instances of one environment. */
typedef struct cumind_env cumind_env;

/* What is seen of each of n environments. Owned by the handle, at the same place until it is closed, and written by
 * reset and step. */
typedef struct cumind_env_arrays {
    float *observation; /* [n, O]                                                                        */
    uint8_t *legal;     /* [n, A] 1 where the action may be played, zeros after the end of an episode; NULL where A of a
                           continuous task is too many to list */
    int32_t *to_play;   /* [n] 0 or 1                                                                    */
    float *reward;      /* [n] of the player who acted; 0 after a reset                                  */
    uint8_t *terminated, *truncated; /* [n] the episode has ended: really; by the time limit                          */
} cumind_env_arrays;

/* The names of the registry: number `index` from 0 on, NULL after the last; "go9" of those that have sizes, with that
 * which "go" means. Static. */
CUMIND_API const char *cumind_env_name(int index);

/* Opens `instances` >= 1 environments `name`: of the registry ("connect4", "CartPole-v1", "hex7"), a library
 * ("./grid.so"), or one in Python ("./grid.py", "gymnasium:LunarLander-v3"; by the python3 of PATH, at most 16
 * different ones in a process, of which those that were closed count). To name code is to run it. Episode j of instance
 * i depends on (seed, i, j) alone. All begin an episode. Settings: those of the section Environment. The caller closes
 * *out. Errors: CUMIND_ERR_INPUT, CUMIND_ERR_MEMORY. */
CUMIND_API cumind_status cumind_env_open(const char *name, int instances, uint64_t seed, const char *const *settings,
                                         int settings_count, cumind_env **out);
CUMIND_API void cumind_env_close(cumind_env *env); /* NULL is allowed */

CUMIND_API int cumind_env_instances(const cumind_env *env);                   /* n              */
CUMIND_API void cumind_env_get_spec(const cumind_env *env, cumind_spec *out); /* what they are  */
CUMIND_API cumind_env_arrays cumind_env_get_arrays(const cumind_env *env);    /* where they are shown */

/* New episodes. which [n]: 1 for those that begin again, NULL: all. seeds [n]: of their episodes, as Gymnasium's
 * reset(seed=...) has them; those of the registry go on with that generator in later episodes, as there. NULL: the next
 * episodes, of the seed that the handle was opened with where none was named. Errors: those of an environment that is
 * code. */
CUMIND_API cumind_status cumind_env_reset(cumind_env *env, const uint8_t *which, const uint64_t *seeds);

/* One step of every environment by actions [n] of 0 .. A-1. An environment whose episode ended in the step before
 * begins its next one instead, with reward 0, and its action is not looked at (Gymnasium's AutoresetMode.NEXT_STEP).
 * Errors: CUMIND_ERR_INPUT names the instance of an action that is illegal; no environment has moved then. Those of an
 * environment that is code. */
CUMIND_API cumind_status cumind_env_step(cumind_env *env, const int32_t *actions);

/* The same of a continuous task by values [n, D], which are clipped to their bounds. */
CUMIND_API cumind_status cumind_env_step_values(cumind_env *env, const float *values);

/* Arrays of the caller for what cumind_env_arrays shows, each NULL where it is not wanted; rewards are doubles, as
 * Gymnasium's vectors have them. */
typedef struct cumind_env_copies {
    float *observation;              /* [n, observation_size] */
    uint8_t *legal;                  /* [n, A]                */
    int32_t *to_play;                /* [n]                   */
    double *reward;                  /* [n]                   */
    uint8_t *terminated, *truncated; /* [n]                   */
} cumind_env_copies;

/* Copies what is shown now. */
CUMIND_API cumind_status cumind_env_copy_arrays(cumind_env *env, const cumind_env_copies *copies);

/* cumind_env_step by actions [n] of 64 bits, and cumind_env_copy_arrays after it (NULL: no copies): one call for
 * programs whose calls cost much. Errors: those of a step; CUMIND_ERR_INPUT for an action beyond 32 bits. */
CUMIND_API cumind_status cumind_env_step_int64(cumind_env *env, const int64_t *actions,
                                               const cumind_env_copies *copies);

/* An environment as lines of text for people, at most size bytes with the final NUL. */
CUMIND_API cumind_status cumind_env_picture(cumind_env *env, int instance, char *text, size_t size);
/* An action by its name ("d4"), likewise. */
CUMIND_API cumind_status cumind_env_action_name(const cumind_env *env, int action, char *text, size_t size);

/* Environment `to` goes on as `from` is: state, step, episode number, the generator of a named seed. The seed that the
 * handle was opened with stays its own. */
CUMIND_API cumind_status cumind_env_copy(cumind_env *env, int to, int from);

/* ---- agents ------------------------------------------------------------------------------------------------------ */

/* A trained agent. */
typedef struct cumind_agent cumind_agent;

/* Which checkpoint, in place of a number of updates. */
enum {
    CUMIND_LATEST = -1,
    CUMIND_BEST = -2,
    CUMIND_PREFERRED = -3 /* the best if any was evaluated, else the latest: what plays */
};

/* Opens the folder of a run of `cumind train`, or "zoo:NAME", an agent that comes with the program
 * (CUMIND_ERR_ABSENT where they are not installed). Settings change what its configuration says, as
 * "evaluation_simulations=200", "backend=cpu", "threads=1". An environment that is code (a library, Python) is opened
 * only if this user has trained with it, or if settings name it: "env_name=./grid.so". The caller closes *out. Errors:
 * CUMIND_ERR_INPUT, CUMIND_ERR_IO (a damaged checkpoint), CUMIND_ERR_STATE (it has none yet), CUMIND_ERR_ABSENT. */
CUMIND_API cumind_status cumind_agent_open(const char *run, int64_t checkpoint, const char *const *settings,
                                           int settings_count, cumind_agent **out);
CUMIND_API void cumind_agent_close(cumind_agent *agent); /* NULL is allowed */

/* What an agent is. */
typedef struct cumind_agent_facts {
    int64_t updates, env_steps, episodes; /* that its weights have seen                                               */
    int simulations;                      /* N of a search                                                            */
    int hidden_size;                      /* S                                                                        */
    int chance_codes;                     /* C of Stochastic MuZero; 0: no chance                                     */
    bool needs_states;                    /* it searches on the true rules: cumind_agent_analyse_env alone can ask it */
} cumind_agent_facts;

CUMIND_API void cumind_agent_get_facts(const cumind_agent *agent, cumind_agent_facts *out); /* what it is */
CUMIND_API void cumind_agent_get_spec(const cumind_agent *agent, cumind_spec *out); /* of what it was trained on */

/* Environments of what it was trained on, with its settings; as cumind_env_open. They may outlive the agent. */
CUMIND_API cumind_status cumind_agent_open_env(cumind_agent *agent, int instances, uint64_t seed, cumind_env **out);

/* What a search says of n positions. Arrays of the caller, each may be NULL. Values are seen by the player to move. */
typedef struct cumind_analysis {
    int32_t *action;  /* [n]    what the agent plays, without noise                                                  */
    int32_t *visits;  /* [n, A] simulations through each action; rows sum to N                                       */
    float *policy;    /* [n, A] what the search has made of them: visit fractions, or Gumbel MuZero's improved policy;
                         where the network has a policy per number of an action, visit fractions */
    float *prior;     /* [n, A] the network's policy over the legal actions                                          */
    float *q;         /* [n, A] reward + discount * value of each action, 0 where not visited                        */
    float *value;     /* [n]    mean of the returns of the search                                                    */
    float *raw_value; /* [n]    the network's value                                                                  */
} cumind_analysis;

/* Searches n >= 1 positions of which observation [n, O] is seen; legal [n, A], NULL: every action is, and where that is
 * always so a mask of ones is the same. What a row gets depends on that row alone, and is the same every time. Of
 * continuous tasks actions are numbers (cumind_agent_values); with so many that searches draw some of them, only
 * action, value and raw_value may be asked for. Errors: CUMIND_ERR_INPUT names the row without a legal action or with a
 * number that is not finite. */
CUMIND_API cumind_status cumind_agent_analyse(cumind_agent *agent, int n, const float *observation,
                                              const uint8_t *legal, const cumind_analysis *out);

/* The same of environments first .. first+n-1 of a handle, as they are; also for agents that search on the true rules.
 * It must be of the environment that the agent was trained on. Errors: CUMIND_ERR_STATE names one that has ended. */
CUMIND_API cumind_status cumind_agent_analyse_env(cumind_agent *agent, cumind_env *env, int first, int n,
                                                  const cumind_analysis *out);

/* Plays `episodes` >= 1 without noise, number i from seed + i; of games of two against a player that moves at random,
 * and first in every other one. returns [episodes]: those of `cumind eval`. */
CUMIND_API cumind_status cumind_agent_evaluate(cumind_agent *agent, int episodes, uint64_t seed, double *returns);

/* The D numbers of an action of a continuous task, into values [D]. Errors: CUMIND_ERR_INPUT. */
CUMIND_API cumind_status cumind_agent_values(const cumind_agent *agent, int32_t action, float *values);

/* Representation and prediction of the network, n rows: observation [n, O] -> hidden [n, S], logits [n, A], value [n].
 * Arrays that results go to may be NULL. Errors: CUMIND_ERR_INPUT; CUMIND_ERR_ABSENT for agents without dynamics of
 * the common kind: those that search on the true rules, with chance, with a value prefix, or that draw actions. */
CUMIND_API cumind_status cumind_agent_initial_inference(cumind_agent *agent, int n, const float *observation,
                                                        float *hidden, float *logits, float *value);
/* Dynamics and prediction, likewise: hidden, action [n] -> next_hidden [n, S], reward [n], logits [n, A], value [n]. */
CUMIND_API cumind_status cumind_agent_recurrent_inference(cumind_agent *agent, int n, const float *hidden,
                                                          const int32_t *action, float *next_hidden, float *reward,
                                                          float *logits, float *value);

/* ---- training ---------------------------------------------------------------------------------------------------- */

/* What an iteration was. Numbers that it does not have are NaN. */
typedef struct cumind_iteration {
    int64_t iteration, env_steps, updates, episodes; /* since the start of the run                               */
    double share;                                    /* of the run that is done, in [0, 1]; 0: it has no end      */
    double seconds;                                  /* of the run                                               */
    double env_steps_per_second, updates_per_second; /* of this iteration                                        */
    double mean_return, mean_length;                 /* of the last 32 episodes that ended                       */
    double total_loss;                               /* mean of the updates                                      */
    double eval_return;                              /* of the evaluation after it                               */
    const char *metrics;                             /* all its numbers, as metrics.jsonl has them: a JSON object;
                                                        valid during the call                                    */
} cumind_iteration;

/* What to train. Members that are 0 or NULL are not given. */
typedef struct cumind_training {
    const char *configuration; /* the name of a recipe ("connect4_muzero"), a path (with / in it or .json after it), or
                                  JSON that begins with {. NULL: the recipe of the environment that settings name
                                  (env_name=connect4) or, where it has none, defaults that some steps in it choose   */
    const char *run;           /* folder of the new run; NULL: a new name below checkpoint_root_dir                  */
    const char *init_from;     /* a run whose weights the new run starts from                                        */
    const char *replay_from;   /* a run whose games the new run starts with                                          */
    const char *resume;        /* a run to go on with in place of a new one, without any of the four above           */
    int64_t checkpoint;        /* resuming: from which, a number of updates or CUMIND_BEST; 0: the latest            */
    bool overwrite;            /* with `checkpoint`: those after it, and their metrics, are given up                 */
    bool drop_damaged;         /* resuming: go on without what is damaged, and warn of what that was                 */
    /* Called after every iteration, on the thread of cumind_train. May call the library, but not cumind_train. Not 0:
     * the run is saved and ends. NULL: nothing is called. */
    int (*iteration)(void *context, const cumind_iteration *seen);
    void *context; /* given to `iteration` */
} cumind_training;

/* Why a training has ended. */
typedef enum cumind_train_end {
    CUMIND_STOPPED, /* asked to stop: saved, and goes on with `resume`  */
    CUMIND_LIMIT,   /* a limit was met: env_steps, updates, time_limit  */
    CUMIND_GOAL     /* an evaluation has reached the goal               */
} cumind_train_end;

/* What a training has led to. */
typedef struct cumind_train_result {
    cumind_train_end end;                             /* why it ended                         */
    char run[4096];                                   /* its folder, for cumind_agent_open    */
    int64_t iterations, env_steps, updates, episodes; /* since the start of the run */
    double seconds;                                   /* likewise */
    int evaluation_episodes; /* of the evaluation that it ended with, on seeds of its own; 0: there was none */
    double evaluation_mean, evaluation_low, evaluation_high; /* mean return and its 95 % interval          */
} cumind_train_result;

/* Trains until the first limit is met or, with stop_at_goal, the goal is reached; saves checkpoints on the way and at
 * the end. What a run computes depends on configuration and seed alone. Settings: any key, later than the
 * configuration; of a run that goes on those that may change. No signal is handled: a program that wants ctrl-C to
 * save calls cumind_train_stop in its handler. One training at a time in a process. An environment whose call does not
 * come back after a stop stays behind with its thread. *out is written where CUMIND_OK is returned; NULL is allowed.
 * Errors: CUMIND_ERR_INPUT, CUMIND_ERR_IO, CUMIND_ERR_MEMORY, CUMIND_ERR_DEVICE, CUMIND_ERR_ABSENT, CUMIND_ERR_STATE
 * (another training goes on here, or another process trains this run); CUMIND_ERR_INTERRUPTED: stopped before it
 * began, its folder is gone again. After any other error the last checkpoint is as it was. */
CUMIND_API cumind_status cumind_train(const cumind_training *training, const char *const *settings, int settings_count,
                                      cumind_train_result *out);

/* Asks the training of this process to save and to end: within two seconds, in the midst of an iteration too, which the
 * run that goes on ends to the same bits. From any thread and from signal handlers. Nothing where none goes on. */
CUMIND_API void cumind_train_stop(void);

/* ---- search over a model of one's own ---------------------------------------------------------------------------- */

/* A search of B roots with N simulations each, which calls the model once per simulation for all roots. Source of the
 * rules: DeepMind's mctx 0.0.71, whose names the options have; docs/spec/search.md. */
typedef struct cumind_search cumind_search;

/* The published searches. */
typedef enum cumind_policy {
    CUMIND_MUZERO,           /* PUCT with Dirichlet noise (Schrittwieser et al. 2020)          */
    CUMIND_GUMBEL_MUZERO,    /* sequential halving with Gumbel noise (Danihelka et al. 2022)   */
    CUMIND_STOCHASTIC_MUZERO /* PUCT over decision and chance nodes (Antonoglou et al. 2022)   */
} cumind_policy;

/* How Q-values of a node are scaled before they meet the prior. */
typedef enum cumind_qtransform {
    CUMIND_QTRANSFORM_BY_MIN_MAX,
    CUMIND_QTRANSFORM_BY_PARENT_AND_SIBLINGS,
    CUMIND_QTRANSFORM_COMPLETED_BY_MIX_VALUE
} cumind_qtransform;

/* Options of a search, by mctx's names; a comment names the policies and q-transforms that read them. */
typedef struct cumind_search_options {
    cumind_policy policy;                      /* which search */
    int num_simulations;                       /* N >= 0                                                      */
    int max_depth;                             /* 0: no limit                                                 */
    cumind_qtransform qtransform;              /* which scaling */
    float min_value, max_value, epsilon;       /* of the q-transforms                                         */
    float value_scale, maxvisit_init;          /* COMPLETED_BY_MIX_VALUE                                      */
    bool rescale_values, use_mixed_value;      /* COMPLETED_BY_MIX_VALUE                                      */
    float pb_c_init, pb_c_base;                /* PUCT                                                        */
    float dirichlet_alpha, dirichlet_fraction; /* PUCT                                                        */
    float temperature;                         /* PUCT; 0: the most visited action                            */
    int max_num_considered_actions;            /* Gumbel                                                      */
    float gumbel_scale;                        /* Gumbel; 0: no noise                                         */
} cumind_search_options;

/* mctx's defaults of a policy, with 25 simulations. */
CUMIND_API cumind_search_options cumind_search_defaults(cumind_policy policy);

/* What one call of the model writes; arrays of the search, every number finite. In one run of a
 * search, calls with the same n and the same address of `parent` have the same arrays throughout. Logits that the
 * caller has in an array of its own need not be copied: the call sets logits_at. That array stays as it is until the
 * next call of the same function, or until cumind_search_run returns. */
typedef struct cumind_model_out {
    float *reward;          /* [n] of the transition                                              */
    float *discount;        /* [n] of what follows: gamma, -gamma where two alternate, 0 at ends  */
    float *prior_logits;    /* [n, A]; of an afterstate [n, C]                                    */
    float *value;           /* [n] of the new state                                               */
    const float *logits_at; /* NULL before each call; set: rows of A (C) logits, read in place of prior_logits */
    size_t logits_stride;   /* floats from a row of logits_at to the next; A (C) before each call, never less  */
} cumind_model_out;

/* A model of the caller. Its states are its own: it keeps them in slots 0 .. B*(N+1)-1. Node i of root b has slot
 * b*(N+1) + i, node 0 being the root. Row k of every array of a call belongs to the same transition. A status other
 * than CUMIND_OK ends the search with CUMIND_ERR_MODEL and the message of cumind_fail; CUMIND_ERR_INTERRUPTED stays
 * that. */
typedef struct cumind_model {
    void *context;   /* given to both functions */
    int num_actions; /* A */
    int num_chance;  /* C; 0: no chance nodes */
    /* Plays action[k] in the state of slot parent[k], puts the new state into slot child[k] and evaluates it. Where
     * C > 0 the parents are afterstates and actions are outcomes 0 .. C-1. */
    cumind_status (*recurrent)(void *context, int n, const int32_t *parent, const int32_t *action, const int32_t *child,
                               cumind_model_out *out);
    /* C > 0: the afterstates of actions; writes value, and prior_logits [n, C] of the outcomes. NULL where C is 0. */
    cumind_status (*afterstate)(void *context, int n, const int32_t *parent, const int32_t *action,
                                const int32_t *child, cumind_model_out *out);
} cumind_model;

/* What a search begins with; the model has the states of the roots in their slots. */
typedef struct cumind_roots {
    int count;                 /* n, 1 .. B                                                                   */
    const float *prior_logits; /* [n, A]                                                                      */
    const float *value;        /* [n]                                                                         */
    const uint8_t *invalid; /* [n, A] 1 where an action may not be played; NULL: all may be. Where all of a root's are
                               1, they count as equal, as mctx has it */
    const uint64_t *seed;   /* [n] of the random numbers of each root; NULL: no noise, nothing is drawn    */
    const float *noise;     /* [n, A] Dirichlet or standard Gumbel noise in place of what seeds give; NULL */
} cumind_roots;

/* What a search gives; arrays of the caller, each may be NULL. */
typedef struct cumind_search_result {
    int32_t *action;       /* [n]                                                                            */
    float *action_weights; /* [n, A] rows sum to 1                                                           */
    int32_t *visits;       /* [n, A] rows sum to N                                                           */
    float *qvalues;        /* [n, A] 0 where not visited                                                     */
    float *value;          /* [n] mean of the returns at the root                                            */
} cumind_search_result;

/* Memory for searches of at most `batch` roots with these options; nothing is allocated later. The caller closes *out.
 * Errors: CUMIND_ERR_INPUT names the option, CUMIND_ERR_MEMORY. */
CUMIND_API cumind_status cumind_search_open(const cumind_search_options *options, int batch, int num_actions,
                                            int num_chance, cumind_search **out);
CUMIND_API void cumind_search_close(cumind_search *search); /* NULL is allowed */

/* Runs one search. Errors: CUMIND_ERR_INPUT; CUMIND_ERR_MODEL, with the model's own message; CUMIND_ERR_NOT_FINITE
 * names the root. */
CUMIND_API cumind_status cumind_search_run(cumind_search *search, const cumind_model *model, const cumind_roots *roots,
                                           const cumind_search_result *result);

/* The trees of the n roots of the last run, a row for each of their N + 1 slots, in arrays of the caller, each may be
 * NULL. */
typedef struct cumind_trees {
    int32_t *parent;             /* [n, N + 1] slot of the parent; -1 at roots and where no node is         */
    int32_t *action_from_parent; /* [n, N + 1] the action, or outcome of chance, that led here; -1 as above */
    int32_t *visits;             /* [n, N + 1] 0 where no node is                                           */
    float *value;                /* [n, N + 1]                                                              */
    int32_t *children;           /* [n, N + 1, A, or C if that is more] slot of each action's child; -1: none */
} cumind_trees;
/* Errors: CUMIND_ERR_STATE if the search has not run, or its last run failed. */
CUMIND_API cumind_status cumind_search_get_trees(cumind_search *search, const cumind_trees *out);

/* ---- angles ------------------------------------------------------------------------------------------------------ */

/* Which angles to draw from von Mises distributions, density exp(kappa cos(theta - mu)) / (2 pi I0(kappa)). Draw i
 * depends on (seed, stream, first + i) and on its mu and kappa alone: not on n, on threads or on the processor. */
typedef struct cumind_angles {
    uint64_t seed, stream;        /* of the random numbers; streams of a seed are independent                    */
    uint64_t first;               /* number of the first draw in its stream                                      */
    size_t n;                     /* draws; 0: nothing is done                                                   */
    size_t mu_count, kappa_count; /* 1: one for all draws; or n                                                  */
    int threads;                  /* 1 .. 1024; 0: as many as there are processors. Small batches take one alone */
} cumind_angles;

/* Draws into out [n], radians in [-pi, pi), float64. mu [mu_count]: centers in radians, finite, of any turn. kappa
 * [kappa_count]: concentrations in [0, 1e30]; 0 is uniform, large ones are normal with variance 1 / kappa. Exact for
 * all of them, by rejection (Best and Fisher 1979). `out` may be mu or kappa where that has n. Errors: CUMIND_ERR_INPUT
 * names the first number that is out of its range, before anything is written; CUMIND_ERR_MEMORY. */
CUMIND_API cumind_status cumind_von_mises(const cumind_angles *angles, const double *mu, const double *kappa,
                                          double *out);
/* The same in float32, which has random numbers of its own; the largest angle is the float32 below pi. */
CUMIND_API cumind_status cumind_von_mises_float(const cumind_angles *angles, const float *mu, const float *kappa,
                                                float *out);

#ifdef __cplusplus
}
#endif
#endif
