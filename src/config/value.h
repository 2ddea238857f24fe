/* The value of one row: reading it from JSON or from a flag's text, checking it, writing it. Internal to the folder. */
#ifndef CM_CONFIG_VALUE_H
#define CM_CONFIG_VALUE_H

#include "config/option.h"
#include "core/json.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef union cm_value {
    int integer;
    int64_t integer64;
    double real;
    bool truth;
    char text[CM_OPTION_TEXT];
    cm_option_shape shape;
} cm_value;

/* Reads and checks a value. Errors: CM_ERR_INPUT "must be an integer in 1..65536, got 0", without the name of the key.
 */
cm_status cm_value_from_json(const cm_option *row, const cm_json *node, cm_value *out) CM_MUST_USE;

/* The same from the text of a flag: JSON, but words and strings without quotes, "6,7,3" for a shape, and whole
 * numbers as core/count.h reads them. */
cm_status cm_value_from_text(const cm_option *row, const char *text, cm_value *out) CM_MUST_USE;

/* The word that the member of an ENUM stands for. */
void cm_value_word(const cm_option *row, const void *member, char out[CM_OPTION_WORD]);

/* Whether `word` is one of a list "a|b|c" (NULL is an empty one) in some spelling: in capitals or not, with
 * underscores, with dashes or with neither. */
bool cm_value_is_like(const char *words, const char *word);

/* Writes the value of the member as JSON. */
void cm_value_write(const cm_option *row, const void *member, cm_json_writer *writer, const char *key);

/* True if the member is 0, false or the first choice. */
bool cm_value_is_zero(const cm_option *row, const void *member);

/* The member as a number; NaN if it is none. */
double cm_value_number(const cm_option *row, const void *member);

/* The bounds of what is usual, "1e-06..0.3"; "" if the row has none. */
void cm_value_usual_text(const cm_option *row, char *out, size_t size);

/* Kind and range for people: "integer, 1..65536", "number, at least 0", "one of \"ce\", \"kl\"". */
void cm_value_range_text(const cm_option *row, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
