/* Event files as another program reads them: records by their checksums, bit by bit, and fields of messages by their
 * numbers in TensorBoard's .proto files. Nothing of it is shared with what writes them. */
#ifndef CM_TESTS_EVENTS_H
#define CM_TESTS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a message, within a file's. */
typedef struct cm_part {
    const unsigned char *at;
    size_t size;
} cm_part;

/* A field of a message: its number, and a number or bytes. */
typedef struct cm_part_field {
    unsigned number, kind; /* kind 0: an integer, 1: a double, 2: bytes, 5: a float */
    int64_t integer;
    double real;
    cm_part bytes;
} cm_part_field;

/* Takes the next field off a message; false: it has ended. Fails the test if it is none. */
bool cm_part_next(cm_part *message, cm_part_field *out);
/* The first field of that number; false: there is none. */
bool cm_part_find(cm_part message, unsigned number, cm_part_field *out);
/* The bytes of a field at the end of a path of numbers, such as "5 1 9": fails the test if they are not there. */
cm_part cm_part_at(cm_part message, const char *path);
bool cm_part_is(cm_part part, const char *text);

/* Event files of a folder, in the order of their names. */
typedef struct cm_events {
    unsigned char *bytes[16]; /* of each file, owned */
    char name[16][128];
    int files, count;
    cm_part event[4096]; /* of all files */
    int file[4096];      /* that it stands in */
} cm_events;

/* Reads all event files of a folder, whose records must be whole. */
void cm_events_read(const char *folder, cm_events *out);
void cm_events_free(cm_events *events);

int64_t cm_event_step(cm_part event); /* 0 if it has none */
/* How many values of that tag all summaries have; the last `most` of them, a number each, and their steps. */
int cm_events_scalars(const cm_events *events, const char *tag, double *value, int64_t *step, int most);

/* The checksum of bytes[size], bit by bit, as TFRecords have it. */
uint32_t cm_record_checksum(const unsigned char *bytes, size_t size);

#endif
