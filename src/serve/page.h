/* The page: one file, joined when the program is built (mk/build.mk) from src/serve/page/ and dygraphs. */
#ifndef CM_SERVE_PAGE_H
#define CM_SERVE_PAGE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_PAGE_POLICY = 768 };

const char *cm_page(size_t *size);

/* The Content-Security-Policy of the page: its own scripts and styles by their hashes, questions to its own server, and
 * nothing else. */
void cm_page_policy(char out[CM_PAGE_POLICY]);

#ifdef __cplusplus
}
#endif
#endif
