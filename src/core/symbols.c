#include "core/symbols.h"

#include <dlfcn.h>
#include <string.h>

const char *cm_symbols_fill(void *handle, const cm_symbol *symbols, size_t count, void *table) {
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(handle, symbols[i].name);
        if (!found) return symbols[i].name;
        memcpy((char *)table + symbols[i].offset, &found, sizeof found);
    }
    return NULL;
}
