/* Messages in the wire format of Protocol Buffers, written field by field into a buffer that grows. The caller knows
 * each field's number and type from the message's .proto. Source: protobuf.dev/programming-guides/encoding.
 *
 *     size_t summary = cm_proto_begin(&out, 5);     a message within the message: field 5
 *     cm_proto_put_float(&out, 2, 0.5f);
 *     cm_proto_end(&out, summary);
 *
 * What finds no memory is left out, and cm_proto_check says so at the end. Nothing is allocated once the buffer has
 * grown to the largest message.
 */
#ifndef CM_CORE_PROTOBUF_H
#define CM_CORE_PROTOBUF_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero it before its first use. */
typedef struct cm_proto {
    unsigned char *bytes; /* [capacity], owned */
    size_t size, capacity;
    bool is_short; /* of memory */
} cm_proto;

void cm_proto_reset(cm_proto *out); /* an empty message; the buffer stays */
void cm_proto_free(cm_proto *out);
/* Errors: CM_ERR_MEMORY if the message lacks something. */
cm_status cm_proto_check(const cm_proto *out) CM_MUST_USE;

void cm_proto_put_int(cm_proto *out, uint32_t field, int64_t value); /* int32, int64, bool, an enum */
void cm_proto_put_float(cm_proto *out, uint32_t field, float value);
void cm_proto_put_double(cm_proto *out, uint32_t field, double value);
void cm_proto_put_bytes(cm_proto *out, uint32_t field, const void *bytes, size_t size); /* bytes, a string */
void cm_proto_put_text(cm_proto *out, uint32_t field, const char *text);
void cm_proto_put_doubles(cm_proto *out, uint32_t field, const double *values, int count); /* packed */

/* A message as a field: what is put between the two is in it. `begun` is what begin has returned. */
size_t cm_proto_begin(cm_proto *out, uint32_t field);
void cm_proto_end(cm_proto *out, size_t begun);

/* Bytes as they are, for what frames a message. */
void cm_proto_append(cm_proto *out, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif
