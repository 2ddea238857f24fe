/* Search cases: reading one of any content; what was read can be searched if it is small. */
#include "fuzz/fuzz.h"

#include "cases/search.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[FUZZ_PATH], first[256];
    int file = fuzz_file(data, size, path);
    cm_search_case *searched = NULL;
    if (cm_search_case_read(path, size % 2 == 0, &searched) == CM_OK) {
        if (size % 2 == 0 && cm_search_case_run(searched, NULL, 1) == CM_OK)
            FUZZ_EXPECT(cm_search_case_compare(searched, first, sizeof first) >= 0);
    } else {
        FUZZ_EXPECT(!searched && cm_error_message()[0] != '\0');
    }
    cm_search_case_destroy(searched);
    close(file);
    return 0;
}
