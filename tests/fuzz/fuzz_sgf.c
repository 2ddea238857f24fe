/* Games of Go as SGF: whatever the bytes are, what is read of them are points of the board. */
#include "fuzz/fuzz.h"

#include "env/sgf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cm_sgf sgf;
    const cm_status status = cm_sgf_parse("input", (const char *)data, size, &sgf);
    FUZZ_EXPECT(status == CM_OK || (status == CM_ERR_INPUT && !sgf.items && sgf.count == 0));
    FUZZ_EXPECT(status != CM_OK || (sgf.size >= 1 && sgf.size <= 19));
    for (int i = 0; i < sgf.count; i++) {
        const cm_sgf_item *item = &sgf.items[i];
        FUZZ_EXPECT(item->kind <= CM_SGF_TURN && item->player <= 1);
        FUZZ_EXPECT(item->point < sgf.size * sgf.size + (item->kind == CM_SGF_MOVE));
    }
    cm_sgf_free(&sgf);
    return 0;
}
