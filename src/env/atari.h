/* Atari's games by the emulator of the user's package ale-py (docs/spec/atari.md). A process plays them (atari.py);
 * here are the rules of a decision that need no emulator: pictures, lost lives, signs of rewards, limits.
 *
 * The state is that of an environment in Python (python_internal.h). Its actions are those since the emulator's reset,
 * with the no-ops that follow lost lives, so a game goes on exactly wherever its state is read.
 */
#ifndef CM_ENV_ATARI_H
#define CM_ENV_ATARI_H

#include "env/python_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { /* what the row reads */
       CM_ATARI_OPTIONS = CM_ENV_MAX_STEPS | CM_ENV_STICKY_ACTIONS | CM_ENV_PICTURE_SIZE | CM_ENV_PICTURE_GRAY |
                          CM_ENV_FULL_ACTIONS | CM_ENV_LIFE_ENDS | CM_ENV_CLIP_REWARDS
};

/* The name that a process is started by, "atari:Pong,size=96,gray=false,full=false,sticky=0", of "atari:Pong" and the
 * options; fills defaults in, and keeps the limit of steps as it was given. Errors: CM_ERR_INPUT for a name of other
 * characters than letters, digits and "_". */
cm_status cm_atari_name(const char *name, cm_env_params *params, char *out, size_t size) CM_MUST_USE;

/* What is needed to read screens, before any state is made. Errors: CM_ERR_MEMORY. */
cm_status cm_atari_open(cm_python_env *e) CM_MUST_USE;

/* The row, of one that cm_python_row_make has made. */
void cm_atari_row_make(cm_python_env *e);

/* ---- of an answer (called by the talk with the process) ---- */

size_t cm_atari_reply_bytes(const cm_python_env *e);

/* Takes a reply of so many bytes into a state: the outcome, and a picture of the screens that came. */
void cm_atari_take(const cm_python_env *e, cm_python_state *s, const uint8_t *reply);

/* What the outcome of a step, which led to `s`, is for whoever plays: an end at a lost life, the limit, a sign. */
void cm_atari_judge(const cm_env_params *params, const cm_python_state *s, cm_env_outcome *out);

/* Lives and screens. Errors: CM_ERR_INPUT. */
cm_status cm_atari_check_flags(const cm_python_state *s) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
