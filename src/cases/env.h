/* Recorded runs of other programs, format "cumind-environment-case-1": plays them again and compares every step.
 *
 * A file with `episodes` holds control runs (seed, actions, observations, rewards, flags), one with `games` holds games
 * (actions, legal actions, boards, results, chance outcomes). What is compared and how exactly: README.md next to the
 * cases; a continuous action is a list where it is several numbers. Every step is also made on a clone, which must go
 * on in the same way. */
#ifndef CM_CASES_ENV_H
#define CM_CASES_ENV_H

#include "core/json.h"
#include "env/env.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_env_case_report {
    bool ok;           /* no value differed                                                                       */
    bool games;        /* the file holds games, else control runs                                                 */
    int items;         /* games or episodes in it, all of them played unless one differed                         */
    int64_t steps;     /* steps compared                                                                          */
    double worst;      /* largest |found - expected| / max(1, |expected|); 0 in games                             */
    char message[320]; /* "NAME: game 3, step 17: what: expected ..., found ..." of the first mismatch, "" if none */
} cm_env_case_report;

/* Runs one parsed file; `name` (the file's) begins the messages. A mismatch is no error: it clears report->ok. Errors:
 * CM_ERR_INPUT when the file cannot be used: a missing field, an unknown environment or option; CM_ERR_MEMORY. */
cm_status cm_env_case_run(const cm_json *root, const char *name, cm_env_case_report *report) CM_MUST_USE;

/* Whether a parsed file is of this format. */
bool cm_env_case_is(const cm_json *root);

#ifdef __cplusplus
}
#endif
#endif
