/* What was measured once and is kept on disk: which algorithm of a library is the fastest for a shape on a device.
 *
 * One file per device and versions of the libraries ("identity"), with a checksum; a file that is damaged or of another
 * identity is ignored with one line and written again. Processes may share it: whoever writes takes in first what
 * others have written, and writing is atomic; of two that write in the same moment, one may have to choose again. A
 * choice is up to CM_CHOICE_BYTES bytes that only the library understands, under a key of text. Safe from several
 * threads at once.
 */
#ifndef CM_DEVICE_CUDA_CHOICES_H
#define CM_DEVICE_CUDA_CHOICES_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_CHOICE_KEY_BYTES = 160, CM_CHOICE_BYTES = 128 };

typedef struct cm_choices cm_choices;

/* `folder`: where the file is kept (made if needed), NULL: nowhere, choices live as long as the object. `identity`: all
 * that makes choices invalid when it changes, as "NVIDIA H200, cuBLASLt 13.1.0, cuDNN 9.13". Errors: CM_ERR_MEMORY;
 * what the disk refuses is a warning. */
cm_status cm_choices_open(const char *folder, const char *identity, cm_choices **out) CM_MUST_USE;
void cm_choices_close(cm_choices *choices); /* NULL is allowed */

/* True if there is a choice for the key of exactly `size` bytes; then they are in `value`. */
bool cm_choices_find(cm_choices *choices, const char *key, void *value, size_t size);
/* Keeps value[size] under the key, in place of an older one, takes in what other processes have kept under other keys,
 * and writes the file: a process that is killed has left its choices to the one that goes on. Errors: CM_ERR_INPUT if
 * either is too long, CM_ERR_MEMORY; what the disk refuses is a warning, and nothing is written from then on. */
cm_status cm_choices_keep(cm_choices *choices, const char *key, const void *value, size_t size) CM_MUST_USE;

/* Takes in the text of such a file; *why is NULL, or says why it was ignored as a whole. Errors: CM_ERR_MEMORY. */
cm_status cm_choices_parse(cm_choices *choices, const char *text, size_t size, const char **why) CM_MUST_USE;

int cm_choices_count(const cm_choices *choices);

/* Where files of this kind belong: $XDG_CACHE_HOME/cumind or $HOME/.cache/cumind; false if neither is set. */
bool cm_choices_folder(char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
