/* FNV-1a, for tables in memory and to tell things apart; not against attackers (core/sha256.h). */
#ifndef CM_CORE_HASH_H
#define CM_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CM_HASH_BEGIN 0xcbf29ce484222325u

/* Goes on from `hash`, at first CM_HASH_BEGIN, over bytes[size]. */
static inline uint64_t cm_hash(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = (const unsigned char *)bytes;
    for (size_t i = 0; i < size; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

#ifdef __cplusplus
}
#endif
#endif
