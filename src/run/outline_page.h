/* A page that shows a search tree and asks for nothing else: one file, with a content policy that lets no other script
 * run. */
#ifndef CM_RUN_OUTLINE_PAGE_H
#define CM_RUN_OUTLINE_PAGE_H

#include "run/outline_json.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_OUTLINE_PAGE_BYTES = 1000000 }; /* of a page of CM_OUTLINE_MOST nodes */

/* For servers, NUL-terminated: the script, which defines cumindTree(element, tree), and its looks. */
extern const char cm_tree_view_script[] __attribute__((visibility("hidden")));
extern const char cm_tree_view_style[] __attribute__((visibility("hidden")));

/* Bytes of a page without those of the text. */
size_t cm_outline_page_frame(void);

/* The page of a text, *page [*size] and a NUL, owned by the caller. Errors: CM_ERR_MEMORY. */
cm_status cm_outline_page_create(const cm_outline_text *text, char **page, size_t *size) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
