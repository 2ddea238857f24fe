/* Files of metrics: lines that are read are counts and numbers; what a run that goes on keeps of a file of any content,
 * with any number of bytes and of its last iteration, ends with a line. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "core/log.h"
#include "run/metrics.h"

static void expect_counts(const cm_metrics *m) {
    FUZZ_EXPECT(m->iteration >= 0 && m->env_steps >= 0 && m->updates >= 0 && m->episodes >= 0);
    FUZZ_EXPECT(m->iteration <= CM_JSON_MOST && m->updates <= CM_JSON_MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char name[] = "metrics.jsonl";
    static char path[96];
    static cm_dir dir = {.file = -1};
    cm_log_set_level(CM_SILENT);
    if (!path[0]) {
        snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
        if (cm_dir_open(&dir, fuzz_folder()) != CM_OK) abort();
    }
    if (size < 3) return 0;
    const int64_t keep = (int64_t)data[0] << 8 | data[1], last = data[2];
    FILE *file = fopen(path, "w");
    if (!file || fwrite(data + 3, 1, size - 3, file) != size - 3 || fclose(file) != 0) abort();

    cm_metrics *rows, row = cm_metrics_empty();
    cm_metrics_file metrics;
    int count;
    if (cm_metrics_read(path, &rows, &count) == CM_OK) {
        for (int i = 0; i < count; i++) expect_counts(&rows[i]);
        free(rows);
    }
    if (cm_metrics_open(&metrics, &dir, name, keep, last) == CM_OK) {
        FUZZ_EXPECT(metrics.lines.bytes >= 0 && metrics.lines.bytes <= (int64_t)size - 3);
        FUZZ_EXPECT(metrics.lines.bytes == 0 || data[3 + metrics.lines.bytes - 1] == '\n');
        FUZZ_EXPECT(cm_metrics_write(&metrics, &row) == CM_OK);
        cm_metrics_close(&metrics);
    }
    return 0;
}
