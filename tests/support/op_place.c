#include "support/op_place.h"

#include <check.h>
#include <string.h>

/* The address on the device of a tensor, which may lie in any of the run's blocks. */
static void *placed(const op_place *p, const void *data) {
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        const unsigned char *block = p->run->block[i], *at = data;
        if (block && at >= block && at < block + p->run->block_bytes[i]) return p->block[i].base + (at - block);
    }
    ck_abort_msg("a tensor lies in none of its run's blocks");
}

void op_place_make(op_place *place, const cm_stream *stream, op_run *run) {
    const cm_device *device = stream->backend->device;
    *place = (op_place){.call = run->call, .run = run};
    if (device->is_host) return;
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        if (!run->block[i]) continue;
        ck_assert_msg(cm_buffer_create(&place->block[i], device, run->block_bytes[i], "a tensor") == CM_OK, "%s",
                      cm_error_message());
    }
    for (int i = 0; i < CM_CALL_TENSORS; i++)
        if (run->call.t[i].data) place->call.t[i].data = placed(place, run->call.t[i].data);
    op_place_write(place);
}

void op_place_write(op_place *place) {
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        if (!place->block[i].base) continue;
        cm_status status = cm_buffer_write(&place->block[i], 0, place->run->block[i], place->run->block_bytes[i]);
        ck_assert_msg(status == CM_OK, "%s", cm_error_message());
    }
}

void op_place_read(op_place *place) {
    for (int i = 0; i < CM_CALL_TENSORS; i++) {
        if (!place->block[i].base) continue;
        cm_status status = cm_buffer_read(&place->block[i], 0, place->run->block[i], place->run->block_bytes[i]);
        ck_assert_msg(status == CM_OK, "%s", cm_error_message());
    }
}

void op_place_free(op_place *place) {
    for (int i = 0; i < CM_CALL_TENSORS; i++) cm_buffer_destroy(&place->block[i]);
}

cm_status op_run_eager(cm_stream *stream, op_run *run) {
    op_place place;
    op_place_make(&place, stream, run);
    cm_status status = cm_call_eager(stream, &place.call);
    op_place_read(&place);
    op_place_free(&place);
    return status;
}
