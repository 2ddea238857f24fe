/* Trust in environments that are code: libraries, files in Python, and modules that Gymnasium imports
 * ("gymnasium:MODULE:ID"). To open one is to run it, and its name may come from the file of a stranger's run.
 *
 * A program whose users read such files calls cm_env_trust first of all. From then on cm_env_open, the only function
 * that opens environments, refuses code that the user has neither named nor trained with before. A list holds the
 * latter: $XDG_STATE_HOME/cumind/environments, or ~/.local/state/cumind/environments. It has a line for each file, its
 * SHA-256 and its place as sha256sum writes them, and a line "gymnasium:MODULE" for each module. A file counts only
 * with that content at that place, since files next to it run with it.
 */
#ifndef CM_ENV_TRUST_H
#define CM_ENV_TRUST_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cm_env_trust_in {
    CM_ENV_TRUST_ALL,   /* whatever cm_env_open is asked for: the names are the caller's own. The default */
    CM_ENV_TRUST_KNOWN, /* what was named, what is in the list, and what "gymnasium:ID" finds installed   */
    CM_ENV_TRUST_NAMED, /* what was named, by what else reads files alone                                  */
} cm_env_trust_in;

/* Of the whole process, and not to be called while another thread opens environments. */
void cm_env_trust(cm_env_trust_in what);

/* The user has named this environment here, as by a flag: it may be opened. Of several the last counts. */
void cm_env_trust_named(const char *name);

/* Whether an environment of this name is code of its own, and no row of the program. */
bool cm_env_is_code(const char *name);

/* CM_OK if it may be opened. Errors: CM_ERR_INPUT says why not, and how to go on. */
cm_status cm_env_trust_check(const char *name) CM_MUST_USE;

/* Puts it into the list, if it is code and not there yet: the user trains with it. With CM_ENV_TRUST_ALL nothing is
 * done. Errors: CM_ERR_IO, CM_ERR_INPUT. */
cm_status cm_env_trust_remember(const char *name) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
