/* Checkpoints: a manifest of any content with one file; nothing outside the folder may be reached. */
#include "fuzz/fuzz.h"

#include "run/manifest.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char manifest_path[96], file_path[96];
    static cm_dir dir = {.file = -1};
    if (!file_path[0]) {
        const char *folder = fuzz_folder();
        snprintf(manifest_path, sizeof manifest_path, "%s/manifest.json", folder);
        snprintf(file_path, sizeof file_path, "%s/state.json", folder);
        FILE *file = fopen(file_path, "w");
        if (!file || fputs("{}\n", file) < 0 || fclose(file) != 0) abort();
        if (cm_dir_open(&dir, folder) != CM_OK) abort();
    }
    FILE *file = fopen(manifest_path, "w");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) abort();

    cm_manifest manifest = {0};
    if (cm_manifest_read(&manifest, &dir) == CM_OK) {
        for (int i = 0; i < manifest.count; i++) {
            const char *name = manifest.file[i].name;
            FUZZ_EXPECT(!strchr(name, '/') && name[0] != '.' && name[0] != '\0');
        }
        char *content = NULL;
        size_t bytes = 0;
        if (cm_manifest_fetch(&manifest, &dir, "state.json", 64, &content, &bytes) == CM_OK) FUZZ_EXPECT(bytes == 3);
        free(content);
        for (int i = 0; i < manifest.count; i++) {
            if (cm_manifest_verify(&manifest, &dir, manifest.file[i].name) != CM_OK)
                FUZZ_EXPECT(cm_error_message()[0] != '\0');
        }
    }
    cm_manifest_reset(&manifest);
    return 0;
}
