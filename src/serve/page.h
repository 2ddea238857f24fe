/* The page: one file, joined when the program is built (mk/build.mk) from src/serve/page/ and dygraphs. */
#ifndef CM_SERVE_PAGE_H
#define CM_SERVE_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_PAGE_POLICY = 1536 };

const char *cm_page(size_t *size);

/* The header of the Content-Security-Policy of the page with its CR LF: its own scripts and styles by their hashes,
 * questions to its own server, and nothing else. False: no memory. */
bool cm_page_policy(char out[CM_PAGE_POLICY]);

#ifdef __cplusplus
}
#endif
#endif
