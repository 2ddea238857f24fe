/* The autotune cache: which algorithm of a library is the fastest for a shape on a device, measured once and kept on
 * disk.
 *
 * One file per device and versions of the libraries ("identity"), with a checksum; a file that is damaged or of another
 * identity is ignored with one line and written again. Processes may share it: whoever writes takes in first what
 * others have written, and writing is atomic; of two that write in the same moment, one may have to measure again. An
 * entry is up to CM_AUTOTUNE_VALUE_BYTES bytes that only the library understands, under a key of text. Safe from
 * several threads at once.
 */
#ifndef CM_DEVICE_CUDA_AUTOTUNE_CACHE_H
#define CM_DEVICE_CUDA_AUTOTUNE_CACHE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_AUTOTUNE_KEY_BYTES = 160, CM_AUTOTUNE_VALUE_BYTES = 128 };

typedef struct cm_autotune_cache cm_autotune_cache;

/* `folder`: where the file is kept (made if needed), NULL: nowhere, entries live as long as the object. `identity`: all
 * that makes entries invalid when it changes, as "NVIDIA H200, cuBLASLt 13.1.0, cuDNN 9.13". Errors: CM_ERR_MEMORY;
 * what the disk refuses is a warning. */
cm_status cm_autotune_cache_open(const char *folder, const char *identity, cm_autotune_cache **out) CM_MUST_USE;
void cm_autotune_cache_close(cm_autotune_cache *cache); /* NULL is allowed */

/* True if there is an entry for the key of exactly `size` bytes; then they are in `value`. */
bool cm_autotune_cache_find(cm_autotune_cache *cache, const char *key, void *value, size_t size);
/* Keeps value[size] under the key, in place of an older one, takes in what other processes have kept under other keys,
 * and writes the file: a process that is killed has left its entries to the one that goes on. Errors: CM_ERR_INPUT if
 * either is too long, CM_ERR_MEMORY; what the disk refuses is a warning, and nothing is written from then on. */
cm_status cm_autotune_cache_keep(cm_autotune_cache *cache, const char *key, const void *value, size_t size) CM_MUST_USE;

/* Takes in the text of such a file; *why is NULL, or says why it was ignored as a whole. Errors: CM_ERR_MEMORY. */
cm_status cm_autotune_cache_parse(cm_autotune_cache *cache, const char *text, size_t size,
                                  const char **why) CM_MUST_USE;

int cm_autotune_cache_count(const cm_autotune_cache *cache);

/* Where files of this kind belong: $XDG_CACHE_HOME/cumind or $HOME/.cache/cumind; false if neither is set. */
bool cm_autotune_cache_folder(char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
