/* Memory of a stream that its calls use one after the other. */
#include <stdlib.h>

#include "backend/cpu/cpu.h"
#include "core/arena.h"
#include "core/memory.h"

static void count_scratch(cm_cpu *cpu, size_t before, size_t now) {
    pthread_mutex_lock(&cpu->lock);
    cpu->scratch_bytes += now - before;
    pthread_mutex_unlock(&cpu->lock);
}

void cm_cpu_free_scratch(cm_stream *stream) {
    cm_cpu_stream *lane = cm_lane_of(stream);
    count_scratch(cm_cpu_of(stream), lane->scratch_bytes, 0);
    free(lane->scratch);
}

cm_status cm_cpu_reserve(cm_stream *stream, size_t bytes) {
    cm_cpu_stream *lane = cm_lane_of(stream);
    if (bytes <= lane->scratch_bytes) return CM_OK;
    void *grown = aligned_alloc(CM_ALIGN, cm_align(bytes));
    if (!grown) return cm_memory_fail((double)bytes, "backend cpu, scratch");
    count_scratch(cm_cpu_of(stream), lane->scratch_bytes, bytes);
    free(lane->scratch);
    lane->scratch = grown;
    lane->scratch_bytes = bytes;
    return CM_OK;
}
