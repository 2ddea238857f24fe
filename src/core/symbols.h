/* Functions of a library that is found at run time (dlopen), as a table of pointers. */
#ifndef CM_CORE_SYMBOLS_H
#define CM_CORE_SYMBOLS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cm_symbol {
    const char *name; /* in the library */
    size_t offset;    /* of the pointer in the table */
} cm_symbol;

/* The pointers of `table` <- the functions of an open library (`handle`, of dlopen). NULL, or the name of the first
 * function that the library lacks; pointers after that one stay as they are. */
const char *cm_symbols_fill(void *handle, const cm_symbol *symbols, size_t count, void *table);

#ifdef __cplusplus
}
#endif
#endif
