#include "run/outline_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base64.h"
#include "core/sha256.h"

#define INCLUDE(name, path)                                                                                            \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".hidden " #name "\n"                                                                                      \
            ".global " #name "\n" #name ":\n"                                                                          \
            ".incbin \"" path "\"\n"                                                                                   \
            ".byte 0\n"                                                                                                \
            ".popsection\n")
INCLUDE(cm_tree_view_script, "src/run/tree_view.js");
INCLUDE(cm_tree_view_style, "src/run/tree_view.css");

static const char page_style[] =
    ":root{color-scheme:light dark}body{margin:0 auto;max-width:1200px;padding:.8em 1em;font:15px/1.45 "
    "system-ui,'DejaVu "
    "Sans',sans-serif}h1{font-size:1.25em;margin:0 0 .1em}#about{margin:0 0 .8em;opacity:.8;overflow-wrap:anywhere}";

static const char page_script[] =
    "const tree=JSON.parse(document.getElementById('data').textContent);\n"
    "document.title=`${tree.task}: search tree`;\n"
    "document.querySelector('h1').textContent=`Search tree of ${tree.task}`;\n"
    "document.getElementById('about').textContent=`${tree.moves?`After ${tree.moves}: `:''}${tree.simulations} "
    "simulations, ${tree.depth.length} nodes${tree.left_out?`; ${tree.left_out} more, with few visits, are left "
    "out`:''}. Q is seen by the player who chooses, value by the player to move. ${tree.is_exact?'The rules are the "
    "model.':'The model is learnt.'}`;\n"
    "cumindTree(document.getElementById('tree'),tree);\n";

static void put_hash(FILE *out, const char *text) {
    uint8_t hash[CM_SHA256_BYTES];
    cm_base64 base64 = {.out = out};
    cm_sha256_of(text, strlen(text), hash);
    fputs(" 'sha256-", out);
    cm_base64_put(&base64, hash, sizeof hash);
    cm_base64_end(&base64);
    fputc('\'', out);
}

static void put_page(FILE *out, const char *json) {
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
          "http-equiv=\"Content-Security-Policy\" "
          "content=\"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src",
          out);
    put_hash(out, cm_tree_view_script);
    put_hash(out, page_script);
    fputs("; style-src", out);
    put_hash(out, cm_tree_view_style);
    put_hash(out, page_style);
    fprintf(
        out,
        "\">\n<title>search tree</title>\n<meta name=\"viewport\" content=\"width=device-width\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<style>%s</style>\n<style>%s</style>\n</head>\n<body>\n"
        "<header><h1>Search tree</h1>\n<p id=\"about\"></p></header>\n<main id=\"tree\"><noscript>The tree is drawn by "
        "a script of this "
        "page, which is switched off.</noscript></main>\n<script type=\"application/json\" id=\"data\">%s</script>\n"
        "<script>%s</script>\n<script>%s</script>\n</body>\n</html>\n",
        page_style, cm_tree_view_style, json, cm_tree_view_script, page_script);
}

static cm_status create(const char *json, char **page, size_t *size) {
    *page = NULL;
    FILE *out = open_memstream(page, size);
    if (!out) return cm_fail(CM_ERR_MEMORY, "no memory for a page");
    put_page(out, json);
    if (fclose(out) == 0) return CM_OK;
    free(*page);
    *page = NULL;
    return cm_fail(CM_ERR_MEMORY, "no memory for a page");
}

size_t cm_outline_page_frame(void) {
    char *page;
    size_t size = 0;
    if (create("", &page, &size) == CM_OK) free(page);
    return size;
}

cm_status cm_outline_page_create(const cm_outline_text *text, char **page, size_t *size) {
    return create(text->json, page, size);
}
