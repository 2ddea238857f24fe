/* Autotune caches from any bytes: as they are, and with the checksum that makes the parser read them. What was
 * taken in has keys and values of lengths that a file can hold. */
#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "device/cuda/autotune_cache.h"

enum { MOST = 4096 };

static void parse(cm_autotune_cache *cache, const char *text, size_t size) {
    const char *why = NULL;
    FUZZ_EXPECT(cm_autotune_cache_parse(cache, text, size, &why) == CM_OK);
    FUZZ_EXPECT(why == NULL || cm_autotune_cache_count(cache) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char head[] = "cumind choices 1\nfuzz\n";
    static char text[MOST + 128];
    cm_autotune_cache *cache = NULL;
    if (size > MOST) return 0;
    FUZZ_EXPECT(cm_autotune_cache_open(NULL, "fuzz", &cache) == CM_OK);
    parse(cache, (const char *)data, size);
    memcpy(text, head, sizeof head - 1);
    memcpy(text + sizeof head - 1, data, size);
    size_t used = sizeof head - 1 + size;
    uint64_t hash = XXH3_64bits(text, used);
    used += (size_t)snprintf(text + used, 64, "checksum %016" PRIx64 "\n", hash);
    parse(cache, text, used);
    cm_autotune_cache_close(cache);
    return 0;
}
