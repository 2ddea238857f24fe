/* JSON: whatever parses can be walked and written, and what was written parses again to the same text. */
#include "fuzz/fuzz.h"

#include "core/json.h"

#include <string.h>

static void copy(cm_json_writer *writer, const char *key, const cm_json *node) {
    const cm_json_kind kind = cm_json_type(node);
    if (kind == CM_JSON_OBJECT || kind == CM_JSON_ARRAY) {
        if (kind == CM_JSON_OBJECT)
            cm_json_begin_object(writer, key);
        else
            cm_json_begin_array(writer, key);
        int members = 0;
        for (const cm_json *m = cm_json_first(node); m; m = cm_json_next(m), members++) {
            copy(writer, kind == CM_JSON_OBJECT ? cm_json_key(m) : NULL, m);
            if (kind == CM_JSON_OBJECT) FUZZ_EXPECT(cm_json_get(node, cm_json_key(m)) == m);
        }
        FUZZ_EXPECT(cm_json_size(node) == members);
        if (kind == CM_JSON_OBJECT)
            cm_json_end_object(writer);
        else
            cm_json_end_array(writer);
        return;
    }
    if (kind == CM_JSON_STRING)
        cm_json_put_string(writer, key, cm_json_string(node));
    else if (kind == CM_JSON_NUMBER)
        cm_json_put_double(writer, key, cm_json_number(node, 0));
    else if (kind == CM_JSON_BOOL)
        cm_json_put_bool(writer, key, cm_json_is_true(node));
    else
        cm_json_put_null(writer, key);
}

/* The document written on one line; the caller destroys the writer that owns the text. */
static const char *written(const cm_json_doc *doc, cm_json_writer **writer, size_t *size) {
    if (cm_json_writer_create(0, writer) != CM_OK) abort();
    copy(*writer, NULL, cm_json_root(doc));
    return cm_json_writer_text(*writer, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cm_json_doc *doc = NULL, *again = NULL;
    if (cm_json_parse((const char *)data, size, "input", &doc) != CM_OK) return 0;
    cm_json_writer *first = NULL, *second = NULL;
    size_t n = 0, m = 0;
    const char *text = written(doc, &first, &n);
    FUZZ_EXPECT(cm_json_parse(text, n, "written", &again) == CM_OK);
    const char *retold = written(again, &second, &m);
    FUZZ_EXPECT(n == m && memcmp(text, retold, n) == 0);
    cm_json_writer_destroy(first);
    cm_json_writer_destroy(second);
    cm_json_free(doc);
    cm_json_free(again);
    return 0;
}
