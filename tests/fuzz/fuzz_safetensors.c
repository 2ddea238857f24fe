/* Parameter files: a file that loads holds exactly the arrays that were asked for. */
#include "fuzz/fuzz.h"

#include "run/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    float weight[6], bias[2];
    const cm_array arrays[] = {{.name = "layer.weight", .ndim = 2, .dim = {2, 3}, .data = weight},
                               {.name = "layer.bias", .ndim = 1, .dim = {2}, .data = bias}};
    cm_source file;
    cm_source_memory(&file, data, size, "input");
    if (cm_safetensors_load(&file, arrays, 2) == CM_OK) FUZZ_EXPECT(size >= 8 + sizeof weight + sizeof bias);
    return 0;
}
