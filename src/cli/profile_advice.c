/* Which of the changes that the sweeps have led to are worth it, and what they gain together, measured again. */
#include <math.h>
#include <string.h>

#include "cli/profile.h"
#include "core/arena.h"

#define LEAVE_SECONDS 0.8  /* of a training without one of the changes */
#define CHAIN_SECONDS 0.8  /* of each training of the chain */
#define NEEDED        1.05 /* what leaving a change out has to cost */
#define WORTH         1.10 /* gain of all below which nothing is advised */

enum { ROUNDS = 3, CHAINS = 4 /* at most */ };

static void drop(cm_profile *p, int index) {
    p->change_count--;
    for (int i = index; i < p->change_count; i++) p->change[i] = p->change[i + 1];
}

/* Trains with all changes and without this one, interleaved, and leaves it out where that costs nothing. */
static cm_status try_without(cm_profile *p, int index) {
    const cm_change c = p->change[index];
    double with, without;
    CM_TRY(cm_profile_rate_of(p, LEAVE_SECONDS, &with));
    CM_TRY(cm_profile_set(p, c.key, c.before));
    CM_TRY(cm_profile_rate_of(p, LEAVE_SECONDS, &without));
    if (with < NEEDED * without) {
        drop(p, index);
        return CM_OK;
    }
    return cm_profile_set(p, c.key, c.after);
}

/* The last changes first: what the first ones are worth depends on those that stay. */
static cm_status drop_idle(cm_profile *p) {
    for (int i = p->change_count - 1; i >= 0; i--) CM_TRY(try_without(p, i));
    return CM_OK;
}

static double middle_of(const double of[ROUNDS]) {
    const double low = fmin(of[0], of[1]), high = fmax(of[0], of[1]);
    return fmax(low, fmin(high, of[2]));
}

/* As configured, and after each change on top of those before it; the median of three rounds, so that other work of the
 * machine that lasts as long as one of them counts for nothing. */
static cm_status measure_chain(cm_profile *p, double rate[CM_ADVICE + 1]) {
    double of[CM_ADVICE + 1][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < p->change_count; i++) CM_TRY(cm_profile_set(p, p->change[i].key, p->change[i].before));
        for (int i = 0; i <= p->change_count; i++) {
            if (i > 0) CM_TRY(cm_profile_set(p, p->change[i - 1].key, p->change[i - 1].after));
            CM_TRY(cm_profile_rate_of(p, CHAIN_SECONDS, &of[i][round]));
        }
    }
    for (int i = 0; i <= p->change_count; i++) rate[i] = middle_of(of[i]);
    return CM_OK;
}

/* Takes out the changes that lose; or puts them last, if `stay`. Whether there were any. */
static cm_status take_losses(cm_profile *p, const double rate[CM_ADVICE + 1], bool stay, bool *found) {
    cm_change loss[CM_ADVICE + 1];
    int losses = 0;
    for (int i = p->change_count - 1; i >= 0; i--) {
        if (rate[i + 1] >= rate[i]) continue;
        loss[losses++] = p->change[i];
        CM_TRY(cm_profile_set(p, p->change[i].key, p->change[i].before));
        drop(p, i);
    }
    *found = losses > 0;
    while (stay && losses > 0) p->change[p->change_count++] = loss[--losses];
    return CM_OK;
}

/* What still loses when there is no time to measure again: what came after it is compared with what came before. */
static void forget_losses(cm_profile *p, double rate[CM_ADVICE + 1]) {
    for (int i = 0; i < p->change_count;) {
        if (rate[i + 1] >= rate[i]) {
            i++;
            continue;
        }
        drop(p, i);
        for (int j = i + 1; j <= p->change_count; j++) rate[j] = rate[j + 1];
    }
}

/* What loses where it stands may gain after the others, as more environments do where several threads step them: it
 * comes last, and is left out if it loses there, too. */
static cm_status measure_gains(cm_profile *p, double rate[CM_ADVICE + 1]) {
    bool found = true;
    for (int i = 0; found && i < CHAINS; i++) {
        if (i > 0) CM_TRY(take_losses(p, rate, i == 1, &found));
        if (found || i == 0) CM_TRY(measure_chain(p, rate));
    }
    if (found) forget_losses(p, rate);
    return CM_OK;
}

static void write_advice(cm_profile *p, const double rate[CM_ADVICE + 1]) {
    if (rate[p->change_count] < WORTH * rate[0]) return;
    for (int i = 0; i < p->change_count; i++) {
        cm_advice *a = &p->advice[p->advice_count++];
        *a = (cm_advice){.gain = rate[i] > 0.0 ? rate[i + 1] / rate[i] : 0.0, .before = rate[i], .after = rate[i + 1]};
        snprintf(a->set, sizeof a->set, "%s=%s", p->change[i].key, p->change[i].after);
        snprintf(a->why, sizeof a->why, "%s", p->change[i].why);
    }
}

/* Threads come last: the others give them work. */
static void put_threads_last(cm_profile *p) {
    const cm_change first = p->change[0];
    if (p->change_count == 0 || strcmp(first.key, "threads") != 0) return;
    drop(p, 0);
    p->change[p->change_count++] = first;
}

cm_status cm_profile_advise(cm_profile *p) {
    double rate[CM_ADVICE + 1] = {0.0};
    CM_TRY(cm_alloc(&p->advice, CM_ADVICE, sizeof *p->advice, "a profile"));
    CM_TRY(drop_idle(p));
    put_threads_last(p);
    if (p->change_count == 0) return CM_OK;
    CM_TRY(measure_gains(p, rate));
    write_advice(p, rate);
    return CM_OK;
}
