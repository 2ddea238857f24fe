/* What a sweep varies: keys of the configuration, each with a list of values or a range that values are drawn from.
 *
 *     learning_rate               the range of its option row (cm_option.sweep); all words of a choice; true and false
 *     num_simulations=8,16,32     a list, whose values are equally likely
 *     weight_decay=1e-5..1e-2     a range, both ends included
 *
 * A range of positive numbers whose ends are a factor of ten or more apart is drawn from uniformly in the logarithm,
 * others uniformly; reals are rounded to four digits. The value of a key in a trial is a function of the sweep's seed,
 * of the trial's number and of the key's place alone (core/rng.h). */
#ifndef CM_SWEEP_SPACE_H
#define CM_SWEEP_SPACE_H

#include "config/config.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_SWEEP_KEYS = 16, CM_SWEEP_CHOICES = 32, CM_SWEEP_TEXT = 64 };

typedef enum cm_sweep_kind { CM_SWEEP_LIST, CM_SWEEP_INTEGERS, CM_SWEEP_REALS } cm_sweep_kind;

typedef struct cm_sweep_key {
    char key[CM_SWEEP_TEXT];
    cm_sweep_kind kind;
    double low, high; /* of a range, low < high */
    bool is_log;
    int count;                                   /* of a list, 1 .. CM_SWEEP_CHOICES */
    char value[CM_SWEEP_CHOICES][CM_SWEEP_TEXT]; /* as in JSON: 8, 0.5, true, "adamw" */
} cm_sweep_key;

typedef struct cm_sweep_space {
    int count;
    cm_sweep_key row[CM_SWEEP_KEYS];
} cm_sweep_space;

/* Adds what one of the words above says. `config` knows the keys and checks the values, which it takes: it is of no
 * other use then. Errors: CM_ERR_INPUT for an unknown key, one that stands twice or cannot be swept, a value that the
 * key cannot have, an empty range, a range of what is no number. */
cm_status cm_sweep_space_add(cm_sweep_space *space, cm_config *config, const char *word) CM_MUST_USE;

/* The value of key `index` in a trial, as in JSON. */
void cm_sweep_space_draw(const cm_sweep_space *space, int64_t seed, int trial, int index, char out[CM_SWEEP_TEXT]);

/* The same as cm_config_assign takes it: words without quotes. */
void cm_sweep_value_bare(const char *value, char out[CM_SWEEP_TEXT]);

/* Writes all values of a trial as members of an object of this key. */
void cm_sweep_space_put(const cm_sweep_space *space, int64_t seed, int trial, cm_json_writer *json, const char *key);

/* The space as an array of an object, and back. Errors: CM_ERR_INPUT. */
void cm_sweep_space_write(const cm_sweep_space *space, cm_json_writer *json, const char *key);
cm_status cm_sweep_space_read(const cm_json *array, cm_sweep_space *out) CM_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
