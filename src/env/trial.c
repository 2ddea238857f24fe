/* Tries an environment: whatever a new row does wrong is said in one line before anything is trained on it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/clock.h"
#include "core/rng.h"
#include "core/unit.h"
#include "env/frame_stack.h"

enum { GUARD = 1 << 14, MARK = 0xA5 }; /* bytes after each array that must stay as they are */
enum { NAME_BYTES = 16 };              /* that callers of cm_env_action_name have space for */
static const int32_t unset = INT32_MIN;

/* Two episodes of equal seeds, and of equal actions or such that are images of each other, go on side by side, and
 * between their steps one of another seed. */
typedef struct trial {
    const cm_env *env;
    char *state, *twin, *stranger, *half; /* half: after an afterstate */
    float *observation, *other, *weights;
    uint8_t *mask, *image;
    char *picture;
    int32_t *cells, *actions;
    size_t observation_bytes;
    int step;
    cm_env_tried seen;
} trial;

static bool is_whole(const void *bytes, size_t size) {
    const unsigned char *guard = (const unsigned char *)bytes + size;
    return guard[0] == MARK && memcmp(guard, guard + 1, GUARD - 1) == 0; /* each byte equals the next */
}

static cm_status guarded_alloc(void *out, size_t size) {
    char *bytes;
    CM_TRY(cm_alloc(&bytes, size + GUARD, 1, "the trial of an environment"));
    memset(bytes, MARK, size + GUARD);
    memcpy(out, &bytes, sizeof bytes);
    return CM_OK;
}

static cm_status check_rules(const trial *t, const char *who) {
    const cm_env_spec *spec = &t->env->spec;
    const size_t size = spec->state_size;
    if (is_whole(t->state, size) && is_whole(t->twin, size) && is_whole(t->half, size) && is_whole(t->stranger, size))
        return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: its %s writes behind the state, whose rules_size is %zu bytes", spec->name, who,
                   spec->rules_size);
}

/* Numbers that a byte each may stand for. */
static cm_status check_unit(const trial *t) {
    const cm_env_spec *spec = &t->env->spec;
    const float unit = spec->observation_unit;
    for (int i = 0; unit > 0.0f && i < spec->observation_size; i++) {
        if (cm_unit_byte(t->observation[i], unit) >= 0) continue;
        return cm_fail(CM_ERR_INPUT,
                       "%s: its observe sets number %d to %g (step %d), which is not k times its observation_unit of "
                       "%g, k of 0..255",
                       spec->name, i, (double)t->observation[i], t->step, (double)unit);
    }
    return CM_OK;
}

/* What stacks of frames read in place of the observation. */
static cm_status check_bytes(const trial *t) {
    const cm_env_spec *spec = &t->env->spec;
    if (!(spec->observation_unit > 0.0f && t->env->def->observation_bytes)) return CM_OK;
    const uint8_t *bytes = t->env->def->observation_bytes(&t->env->params, cm_env_rules_of(t->state));
    for (int i = 0; i < spec->observation_size; i++) {
        if (bytes[i] == cm_unit_byte(t->observation[i], spec->observation_unit)) continue;
        return cm_fail(CM_ERR_INPUT, "%s: its observation_bytes have %d as number %d, its observe %g (step %d)",
                       spec->name, bytes[i], i, (double)t->observation[i], t->step);
    }
    return CM_OK;
}

static cm_status check_observation(trial *t) {
    const cm_env_spec *spec = &t->env->spec;
    for (int i = 0; i < spec->observation_size; i++) t->observation[i] = NAN;
    cm_env_observe(t->env, t->state, t->observation);
    if (!is_whole(t->observation, t->observation_bytes))
        return cm_fail(CM_ERR_INPUT, "%s: its observe writes more than the %d number%s of its shape%s", spec->name,
                       spec->observation_size, spec->observation_size == 1 ? "" : "s",
                       spec->observation_size == 1 ? ", which its describe leaves at that" : "");
    for (int i = 0; i < spec->observation_size; i++)
        if (!isfinite(t->observation[i]))
            return cm_fail(CM_ERR_INPUT, "%s: its observe leaves number %d of %d out, or sets it to %g (step %d)",
                           spec->name, i, spec->observation_size, (double)t->observation[i], t->step);
    CM_TRY(check_unit(t));
    return check_bytes(t);
}

/* Where functions are left out that board.h has instead, cells are stones. */
static cm_status check_board(trial *t) {
    const cm_env_spec *spec = &t->env->spec;
    const cm_env_def *def = t->env->def;
    const bool are_stones = spec->players == 2 && (!def->observe || !def->picture);
    if (!def->board) return CM_OK;
    for (int i = 0; i < spec->cells; i++) t->cells[i] = unset;
    cm_env_board(t->env, t->state, t->cells);
    if (!is_whole(t->cells, (size_t)spec->cells * sizeof *t->cells))
        return cm_fail(CM_ERR_INPUT, "%s: its board writes more than %d cells", spec->name, spec->cells);
    for (int i = 0; i < spec->cells; i++) {
        if (t->cells[i] == unset)
            return cm_fail(CM_ERR_INPUT, "%s: its board leaves cell %d of %d out (step %d)", spec->name, i, spec->cells,
                           t->step);
        if (are_stones && (t->cells[i] < 0 || t->cells[i] > 2))
            return cm_fail(CM_ERR_INPUT, "%s: its board sets cell %d to %d (step %d); must be 0 (empty), 1 or 2",
                           spec->name, i, t->cells[i], t->step);
    }
    return CM_OK;
}

/* What is shown to people. */
static cm_status check_views(trial *t) {
    const cm_env_spec *spec = &t->env->spec;
    cm_env_picture(t->env, t->state, t->picture, CM_ENV_PICTURE_BYTES);
    if (!is_whole(t->picture, CM_ENV_PICTURE_BYTES) || !memchr(t->picture, 0, CM_ENV_PICTURE_BYTES))
        return cm_fail(CM_ERR_INPUT, "%s: its picture is longer than the %d bytes that it is given", spec->name,
                       CM_ENV_PICTURE_BYTES);
    return check_board(t);
}

static cm_status check_player(const trial *t) {
    int player = cm_env_to_play(t->env, t->state), players = t->env->spec.players;
    if (player >= 0 && player < players) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: its to_play gives %d (step %d); it has %d player%s, from 0 on", t->env->spec.name,
                   player, t->step, players, players == 1 ? "" : "s");
}

/* *out: how many actions are legal. */
static cm_status count_legal(trial *t, int *out) {
    const cm_env_spec *spec = &t->env->spec;
    *out = spec->actions;
    if (!t->env->def->legal) return CM_OK;
    *out = 0;
    cm_env_legal(t->env, t->state, t->mask);
    if (!is_whole(t->mask, (size_t)spec->actions))
        return cm_fail(CM_ERR_INPUT, "%s: its legal writes more than %d actions", spec->name, spec->actions);
    for (int a = 0; a < spec->actions; a++) {
        if (t->mask[a] > 1)
            return cm_fail(CM_ERR_INPUT, "%s: its legal sets action %d to %d (step %d); must be 0 or 1", spec->name, a,
                           t->mask[a], t->step);
        *out += t->mask[a];
    }
    return CM_OK;
}

static cm_status check_mask(trial *t) {
    const cm_env_spec *spec = &t->env->spec;
    int legal;
    CM_TRY(count_legal(t, &legal));
    if (legal >= 1 && legal <= spec->max_legal) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: its legal allows %d actions (step %d); must be 1..%d until the episode ends",
                   spec->name, legal, t->step, spec->max_legal);
}

typedef struct action_name {
    char text[NAME_BYTES];
    int action;
} action_name;

static int compare_names(const void *a, const void *b) {
    const action_name *x = a, *y = b;
    const int order = strcmp(x->text, y->text);
    return order != 0 ? order : x->action - y->action;
}

/* The first action that has the name of one before it. */
static cm_status check_differ(const cm_env *env, action_name *names) {
    const action_name *twin = NULL;
    qsort(names, (size_t)env->spec.actions, sizeof *names, compare_names);
    for (int i = 1; i < env->spec.actions; i++)
        if (strcmp(names[i - 1].text, names[i].text) == 0 && (!twin || names[i].action < twin->action))
            twin = &names[i];
    if (!twin) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: its action_name names both action %d and action %d \"%s\"", env->spec.name,
                   twin[-1].action, twin->action, twin->text);
}

static cm_status read_names(const cm_env *env, action_name *names) {
    char name[4 * NAME_BYTES];
    for (int a = 0; a < env->spec.actions; a++) {
        cm_env_action_name(env, a, name, sizeof name);
        const size_t length = strnlen(name, sizeof name);
        if (length < 1 || length >= NAME_BYTES)
            return cm_fail(CM_ERR_INPUT, "%s: its action_name names action %d by %zu characters; must be 1..%d",
                           env->spec.name, a, length, NAME_BYTES - 1);
        memcpy(names[a].text, name, length + 1);
        names[a].action = a;
    }
    return check_differ(env, names);
}

/* Where actions are listed people and files know them by names. */
static cm_status check_names(const cm_env *env) {
    action_name *names;
    if (!cm_env_is_listed(env)) return CM_OK;
    CM_TRY(cm_alloc(&names, (size_t)env->spec.actions, sizeof *names, "an environment's names of actions"));
    cm_status status = read_names(env, names);
    free(names);
    return status;
}

/* Randomness from elsewhere would make runs that cannot be repeated. */
static cm_status fail_twin(const trial *t) {
    const char *python = "draw from what reset(seed=...) seeds alone, self.np_random in Gymnasium, and keep what "
                         "changes in self, as the class and the module are shared by all episodes; if a reset leaves "
                         "something of the last episode, --set reusable=false gives each one an object of its own";
    return cm_fail(CM_ERR_INPUT, "%s: episodes of equal seeds and actions differ (step %d): %s", t->env->spec.name,
                   t->step,
                   t->env->params.python ? python : "draw from `random` alone, and keep what changes in the state");
}

static cm_status check_twin(trial *t) {
    cm_env_observe(t->env, t->twin, t->other);
    return memcmp(t->observation, t->other, t->observation_bytes) == 0 ? CM_OK : fail_twin(t);
}

/* What a reset or a step could not say. */
static cm_status check_failure(const trial *t, const void *state) {
    if (!t->env->def->failure || t->env->def->failure(&t->env->params, cm_env_rules_of(state)) == CM_OK) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: %s (step %d)", t->env->spec.name, cm_error_message(), t->step);
}

static cm_status begin_episode(trial *t, uint64_t seed) {
    cm_env_reset(t->env, t->state, seed);
    cm_env_reset(t->env, t->twin, seed);
    CM_TRY(check_failure(t, t->state));
    CM_TRY(check_failure(t, t->twin));
    return check_rules(t, "reset");
}

/* After a step that `mover` made. */
static void note_step(trial *t, int mover, double reward) {
    const cm_env_common *common = (const cm_env_common *)(const void *)t->state;
    cm_env_tried *seen = &t->seen;
    seen->steps++;
    seen->reward_sum += fabs(reward);
    seen->ends_at_limit |= common->terminated && common->steps == t->env->spec.max_steps;
    seen->reward_low = fmin(seen->reward_low, reward);
    seen->reward_high = fmax(seen->reward_high, reward);
    if (t->env->spec.players < 2 || seen->repeat_step > 0 || cm_env_ended(t->state)) return;
    if (cm_env_to_play(t->env, t->state) != mover) return;
    seen->repeat_step = common->steps;
    seen->repeat_player = mover;
}

static cm_status make_step(trial *t, int action) {
    const int mover = cm_env_to_play(t->env, t->state);
    cm_env_outcome out, again;
    cm_status status = cm_env_step(t->env, t->state, action, &out);
    if (status != CM_OK) return cm_fail(CM_ERR_INPUT, "%s", cm_error_message()); /* a number, too, is the row's fault */
    if (cm_env_step(t->env, t->twin, action, &again) != CM_OK) {
        CM_TRY(check_failure(t, t->twin));
        return fail_twin(t); /* legal for the one alone */
    }
    CM_TRY(check_rules(t, "step"));
    const bool is_same = out.reward == again.reward && out.terminated == again.terminated;
    if (!is_same) return fail_twin(t);
    note_step(t, mover, out.reward);
    return CM_OK;
}

/* The episode of another seed goes on: what is shared with it shows in the others. */
static cm_status step_stranger(trial *t, cm_rng *rng) {
    enum { SEED = 1000 };
    cm_env_outcome out;
    cm_status status = CM_OK;
    if (t->step == 1 || cm_env_ended(t->stranger))
        cm_env_reset(t->env, t->stranger, (uint64_t)(SEED + t->step));
    else
        status = cm_env_step(t->env, t->stranger, cm_env_random_action(t->env, t->stranger, rng), &out);
    if (status != CM_OK) return cm_fail(CM_ERR_INPUT, "%s", cm_error_message());
    CM_TRY(check_failure(t, t->stranger));
    return check_rules(t, "step");
}

/* After a step; its observation from before is still there. */
static cm_status check_outcome(trial *t, int action) {
    const cm_env_spec *spec = &t->env->spec;
    if (!t->env->def->outcome_between) return CM_OK;
    cm_env_observe(t->env, t->state, t->other);
    const int outcome = cm_env_outcome_between(t->env, t->observation, action, t->other);
    if (outcome >= -1 && outcome < spec->chance_outcomes) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: its outcome_between gives %d (step %d); must be in -1..%d", spec->name, outcome,
                   t->step, spec->chance_outcomes - 1);
}

/* What chance may do after an action, on a copy of the state. */
static cm_status check_chance(trial *t, int action) {
    const cm_env_spec *spec = &t->env->spec;
    const int outcomes = spec->chance_outcomes;
    double reward, sum = 0.0;
    cm_env_outcome out;
    if (!t->env->def->chance) return CM_OK;
    memcpy(t->half, t->state, spec->state_size);
    CM_TRY(cm_env_afterstate(t->env, t->half, action, &reward));
    CM_TRY(check_rules(t, "afterstate"));
    for (int i = 0; i < outcomes; i++) t->weights[i] = NAN;
    CM_TRY(cm_env_chance_weights(t->env, t->half, t->weights));
    if (!is_whole(t->weights, (size_t)outcomes * sizeof *t->weights))
        return cm_fail(CM_ERR_INPUT, "%s: its chance_weights writes more than %d outcomes", spec->name, outcomes);
    for (int i = 0; i < outcomes; i++) {
        if (!(t->weights[i] >= 0.0f))
            return cm_fail(
                CM_ERR_INPUT,
                "%s: its chance_weights leaves outcome %d of %d out, or sets it to %g (step %d); must be a probability",
                spec->name, i, outcomes, (double)t->weights[i], t->step);
        sum += (double)t->weights[i];
    }
    if (fabs(sum - 1.0) > 1e-3)
        return cm_fail(CM_ERR_INPUT, "%s: its chance_weights sum to %g (step %d); must be 1", spec->name, sum, t->step);
    int outcome = 0;
    while (!(t->weights[outcome] > 0.0f)) outcome++;
    CM_TRY(cm_env_chance(t->env, t->half, outcome, &out));
    return check_rules(t, "chance");
}

/* A state that play has led to must be taken from a checkpoint; one of a step that failed is said by the next step. */
static cm_status check_restore(const trial *t) {
    const cm_env_def *def = t->env->def;
    if (def->failure && def->failure(&t->env->params, cm_env_rules_of(t->state)) != CM_OK) return CM_OK;
    if (cm_env_check_state(t->env, t->state) == CM_OK) return CM_OK;
    return cm_fail(CM_ERR_INPUT, "%s: its check refuses a state of its own (step %d): %s", t->env->spec.name, t->step,
                   cm_error_message());
}

/* `steps` steps; of an environment that is so slow that they take longer than a second, fewer. */
static cm_status play(trial *t, int steps) {
    enum { FEWEST = 4 };
    const double enough = cm_clock_seconds() + 1.0;
    cm_rng rng = cm_rng_init(cm_key_make(0, CM_RNG_EVALUATE, 0), 0);
    cm_rng strange = cm_rng_init(cm_key_make(1, CM_RNG_EVALUATE, 0), 0);
    int episodes = 0;
    CM_TRY(begin_episode(t, 0));
    for (t->step = 1; t->step <= steps && (t->step <= FEWEST || cm_clock_seconds() < enough); t->step++) {
        CM_TRY(check_observation(t));
        CM_TRY(check_twin(t));
        CM_TRY(check_views(t));
        CM_TRY(check_player(t));
        CM_TRY(check_mask(t));
        CM_TRY(check_restore(t));
        const int action = cm_env_random_action(t->env, t->state, &rng);
        CM_TRY(check_chance(t, action));
        CM_TRY(step_stranger(t, &strange));
        CM_TRY(make_step(t, action));
        CM_TRY(check_outcome(t, action));
        if (!cm_env_ended(t->state)) continue;
        CM_TRY(check_observation(t));
        CM_TRY(check_views(t));
        CM_TRY(check_restore(t));
        CM_TRY(begin_episode(t, (uint64_t)++episodes));
    }
    return CM_OK;
}

/* ---- symmetries ---- */

/* Whether map[count] is a permutation; it is overwritten. */
static bool is_permutation(int32_t *map, int count) {
    for (int i = 0; i < count; i++)
        if (map[i] < 0 || map[i] >= count) return false;
    for (int i = 0; i < count; i++) { /* follow each cycle and mark its members as fixed */
        for (int at = map[i]; at != i;) {
            const int next = map[at];
            if (next == at) return false; /* two lead here */
            map[at] = at;
            at = next;
        }
        map[i] = i;
    }
    return true;
}

static cm_status check_symmetries(trial *t) {
    const cm_env_spec *spec = &t->env->spec;
    for (int k = 1; k < spec->symmetries; k++) {
        cm_env_symmetry(t->env, k, t->cells, t->actions);
        if (!is_whole(t->cells, (size_t)spec->cells * sizeof *t->cells) ||
            !is_whole(t->actions, (size_t)spec->actions * sizeof *t->actions))
            return cm_fail(CM_ERR_INPUT, "%s: its symmetry %d writes more than %d cells and %d actions", spec->name, k,
                           spec->cells, spec->actions);
        if (!is_permutation(t->cells, spec->cells) || !is_permutation(t->actions, spec->actions))
            return cm_fail(CM_ERR_INPUT, "%s: its symmetry %d is no permutation of %d cells and %d actions", spec->name,
                           k, spec->cells, spec->actions);
    }
    return CM_OK;
}

/* Whether nothing was drawn from the episode's seed: then actions alone decide what comes. */
static bool is_undrawn(const void *state, uint64_t seed) {
    cm_pcg64 fresh;
    cm_pcg64_seed(&fresh, seed);
    return memcmp(&fresh, &((const cm_env_common *)state)->random, sizeof fresh) == 0;
}

static bool differ(double a, double b) { return fabs(a - b) > 1e-4 * (1.0 + fabs(a)); } /* more than rounding does */

/* Observations are turned where each cell has a number of them, or several. */
static cm_status compare_observations(trial *t, int symmetry) {
    const cm_env_spec *spec = &t->env->spec;
    const int each =
        spec->cells > 0 && spec->observation_size % spec->cells == 0 ? spec->observation_size / spec->cells : 0;
    cm_env_observe(t->env, t->state, t->observation);
    cm_env_observe(t->env, t->twin, t->other);
    for (int i = 0; i < spec->cells * each; i++) {
        const int there = t->cells[i / each] * each + i % each;
        const double number = (double)t->observation[i], image = (double)t->other[there];
        if (differ(number, image))
            return cm_fail(CM_ERR_INPUT,
                           "%s: its symmetry %d does not fit its rules (step %d): number %d of the observation is %g, "
                           "but its image, number %d after the images of the actions, is %g",
                           spec->name, symmetry, t->step, i, number, there, image);
    }
    return CM_OK;
}

static cm_status compare_masks(trial *t, int symmetry) {
    cm_env_legal(t->env, t->state, t->mask);
    cm_env_legal(t->env, t->twin, t->image);
    for (int a = 0; a < t->env->spec.actions; a++)
        if (t->mask[a] != t->image[t->actions[a]])
            return cm_fail(
                CM_ERR_INPUT,
                "%s: its symmetry %d does not fit its rules (step %d): action %d is %s, its image, action %d, is not",
                t->env->spec.name, symmetry, t->step, a, t->mask[a] ? "legal" : "illegal", t->actions[a]);
    return CM_OK;
}

static cm_status compare_images(trial *t, int symmetry) {
    CM_TRY(compare_observations(t, symmetry));
    return compare_masks(t, symmetry);
}

static cm_status step_images(trial *t, int symmetry, int action) {
    cm_env_outcome out, image;
    CM_TRY(cm_env_step(t->env, t->state, action, &out));
    CM_TRY(cm_env_step(t->env, t->twin, t->actions[action], &image));
    if (out.terminated == image.terminated && !differ(out.reward, image.reward)) return CM_OK;
    return cm_fail(CM_ERR_INPUT,
                   "%s: its symmetry %d does not fit its rules (step %d): action %d gives reward %g%s, its image, "
                   "action %d, gives %g%s",
                   t->env->spec.name, symmetry, t->step, action, out.reward, out.terminated ? " and the end" : "",
                   t->actions[action], image.reward, image.terminated ? " and the end" : "");
}

/* An episode against its image: of a game without chance, whose start is its own image. */
static cm_status play_image(trial *t, int symmetry) {
    enum { SEED = 0, MOST_STEPS = 32 };
    cm_rng rng = cm_rng_init(cm_key_make(0, CM_RNG_EVALUATE, (uint64_t)symmetry), 0);
    cm_env_symmetry(t->env, symmetry, t->cells, t->actions);
    CM_TRY(begin_episode(t, SEED));
    t->step = 1;
    if (!is_undrawn(t->state, SEED) || compare_images(t, symmetry) != CM_OK) return CM_OK;
    while (t->step <= MOST_STEPS && !cm_env_ended(t->state)) {
        const int action = cm_env_random_action(t->env, t->state, &rng);
        cm_status status = step_images(t, symmetry, action);
        if (!is_undrawn(t->state, SEED)) return CM_OK;
        CM_TRY(status);
        t->step++;
        CM_TRY(compare_images(t, symmetry));
    }
    return CM_OK;
}

/* All of them, unless an environment is so slow that this takes longer than a second. */
static cm_status play_images(trial *t) {
    const double enough = cm_clock_seconds() + 1.0;
    for (int k = 1; k < t->env->spec.symmetries && cm_clock_seconds() < enough; k++) CM_TRY(play_image(t, k));
    return CM_OK;
}

/* ---- the whole ---- */

static cm_status open_trial(trial *t) {
    const cm_env_spec *spec = &t->env->spec;
    t->observation_bytes = (size_t)spec->observation_size * sizeof(float);
    CM_TRY(guarded_alloc(&t->state, spec->state_size));
    CM_TRY(guarded_alloc(&t->twin, spec->state_size));
    CM_TRY(guarded_alloc(&t->stranger, spec->state_size));
    CM_TRY(guarded_alloc(&t->half, spec->state_size));
    CM_TRY(guarded_alloc(&t->observation, t->observation_bytes));
    CM_TRY(guarded_alloc(&t->other, t->observation_bytes));
    CM_TRY(guarded_alloc(&t->weights, (size_t)spec->chance_outcomes * sizeof *t->weights));
    CM_TRY(guarded_alloc(&t->picture, CM_ENV_PICTURE_BYTES));
    CM_TRY(guarded_alloc(&t->cells, (size_t)spec->cells * sizeof *t->cells));
    const size_t listed = cm_env_is_listed(t->env) ? (size_t)spec->actions : 0;
    CM_TRY(guarded_alloc(&t->actions, listed * sizeof *t->actions));
    CM_TRY(guarded_alloc(&t->image, listed));
    return guarded_alloc(&t->mask, listed);
}

cm_status cm_env_try(const cm_env *env, int steps) {
    cm_env_tried unused;
    return cm_env_try_out(env, steps, &unused);
}

cm_status cm_env_try_out(const cm_env *env, int steps, cm_env_tried *out) {
    cm_env tried = cm_env_single_frames(env); /* what the row itself does */
    tried.params.together = true;
    trial t = {.env = &tried};
    *out = t.seen;
    CM_TRY(check_names(env));
    cm_status status = open_trial(&t);
    if (status == CM_OK) status = check_symmetries(&t);
    if (status == CM_OK) status = play(&t, steps);
    if (status == CM_OK) status = play_images(&t);
    free(t.state);
    free(t.twin);
    free(t.stranger);
    free(t.half);
    free(t.observation);
    free(t.other);
    free(t.weights);
    free(t.mask);
    free(t.image);
    free(t.picture);
    free(t.cells);
    free(t.actions);
    *out = t.seen;
    return status;
}

cm_status cm_env_fail_repeat(const cm_env_spec *spec, int player, int64_t step) {
    const bool has_true_rules = !spec->replays && spec->chance_outcomes == 0;
    return cm_fail(CM_ERR_INPUT,
                   "%s: its to_play gives %d twice in a row (step %lld); players must alternate where the model is "
                   "learnt: give the other one a pass%s",
                   spec->name, player, (long long)step,
                   has_true_rules ? ", or use policy alphazero, which follows to_play" : "");
}
