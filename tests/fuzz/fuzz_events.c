/* What a run finds in its folder of what other programs read: event files and monitor.csv. Of a file of any content, as
 * it is or as records whose checksums are right, what is kept can be gone on with. */
#include "fuzz/fuzz.h"

#include <string.h>

#include "core/crc32c.h"
#include "core/log.h"
#include "run/event_file.h"
#include "run/monitor.h"

static const char name[] = "events.out.tfevents.1234567890.fuzz";

static void put(FILE *file, const void *data, size_t size) {
    if (fwrite(data, 1, size, file) != size) abort();
}

static void put_checksum(FILE *file, const void *data, size_t size) {
    const uint32_t crc = cm_crc32c(0, data, size), masked = (crc >> 15 | crc << 17) + 0xa282ead8u;
    put(file, &masked, sizeof masked);
}

/* Records of `each` bytes. */
static void put_records(FILE *file, const uint8_t *data, size_t size, size_t each) {
    while (size > 0) {
        const uint64_t length = size < each ? size : each;
        put(file, &length, sizeof length);
        put_checksum(file, &length, sizeof length);
        put(file, data, length);
        put_checksum(file, data, length);
        data += length, size -= length;
    }
}

static FILE *make(const char *what) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), what);
    FILE *file = fopen(path, "w");
    if (!file) abort();
    return file;
}

static void read_events(const cm_dir *dir, const uint8_t *data, size_t size, size_t each, int64_t last) {
    cm_event_history history;
    FILE *file = make(name);
    if (each == 0) put(file, data, size);
    if (each > 0) put_records(file, data, size, each);
    if (fclose(file) != 0) abort();
    FUZZ_EXPECT(cm_event_files_cut(dir, last, &history) == CM_OK);
    FUZZ_EXPECT(history.known <= last && history.known >= -1 && strcmp(history.newest, name) == 0);
    const int64_t known = history.known;
    FUZZ_EXPECT(cm_event_files_cut(dir, last, &history) == CM_OK && history.known == known);
}

static void read_monitor(const cm_dir *dir, const uint8_t *data, size_t size, double last) {
    const cm_episode episode = {1.0, 2};
    cm_monitor monitor;
    FILE *file = make("monitor.csv");
    put(file, data, size);
    if (fclose(file) != 0) abort();
    FUZZ_EXPECT(cm_monitor_open(&monitor, dir, "catch", last) == CM_OK);
    cm_monitor_write(&monitor, &episode, 1, last);
    const int64_t bytes = monitor.rows.bytes;
    cm_monitor_close(&monitor);
    FUZZ_EXPECT(cm_monitor_open(&monitor, dir, "catch", last) == CM_OK && monitor.rows.bytes == bytes);
    cm_monitor_close(&monitor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static cm_dir dir = {.file = -1};
    cm_log_set_level(CM_SILENT);
    if (dir.file < 0 && cm_dir_open(&dir, fuzz_folder()) != CM_OK) abort();
    if (size < 2) return 0;
    read_events(&dir, data + 2, size - 2, data[0], data[1]);
    read_monitor(&dir, data + 2, size - 2, data[1]);
    return 0;
}
