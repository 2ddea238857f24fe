/* Option rows: one row describes one key of the configuration. Each module owns a table of rows and a plain struct that
 * holds their values; config/config.h reads the tables.
 *
 *     #define OPTIONS cm_mcts_options
 *     static const cm_option rows[] = {
 *         CM_OPTION(INT, num_simulations, "MCTS", "8", 1, 65536, "Simulations per move. More is stronger and slower."),
 *         CM_OPTION(ENUM, policy, "MCTS", "muzero", 0, 0, "How a move is searched.",
 *                   .choices = "muzero|gumbel_muzero"),
 *     };
 *
 * The key is the name of the member. */
#ifndef CM_CONFIG_OPTION_H
#define CM_CONFIG_OPTION_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CM_OPTION_TEXT = 256, /* bytes of a string, its NUL included */
    CM_OPTION_JSON = 520, /* bytes of any value as JSON          */
    CM_OPTION_WORD = 64,  /* bytes of a word of an ENUM, its NUL included */
    CM_OPTION_RANK = 4
};

typedef struct cm_option_shape {
    int rank;                   /* 0: not given */
    int extent[CM_OPTION_RANK]; /* the first `rank` are >= 1, the others 0 */
} cm_option_shape;

typedef enum cm_option_type {
    CM_OPTION_INT,    /* int                                                        */
    CM_OPTION_INT64,  /* int64_t, exact up to 2^53                                  */
    CM_OPTION_DOUBLE, /* double, finite; with CM_OPTION_NULL also null, stored as NaN */
    CM_OPTION_BOOL,   /* bool                                                       */
    CM_OPTION_STRING, /* char[CM_OPTION_TEXT]                                       */
    CM_OPTION_ENUM,   /* int: index of the word in `choices`                        */
    CM_OPTION_SHAPE   /* cm_option_shape; min and max bound the extents             */
} cm_option_type;

enum {
    CM_OPTION_RESUME = 1, /* may change when a run is resumed                                             */
    CM_OPTION_NULL = 2,   /* may be null                                                                  */
    CM_OPTION_FITTED = 4  /* a run fits it to its task unless it is given                                 */
};

typedef struct cm_option {
    const char *section, *key;
    cm_option_type type;
    const char *standard; /* default, as it would be written in JSON (words and strings without quotes) */
    double min, max;      /* bounds, included; of numbers and extents                                   */
    double usual[2];      /* of numbers: a value that is given and lies outside is warned of; 0, 0: any */
    double sweep[2];      /* of numbers: the range that a sweep takes for want of another; 0, 0: none      */
    const char *help;     /* sentences for the user                                                     */
    const char *choices;  /* words of an ENUM, separated by '|'                                         */
    const char *alias;    /* what others call it, by '|': it is proposed where that is written; or NULL    */
    size_t offset, size;  /* of the member in the module's struct                                       */
    unsigned flags;

    /* Keys with the same `group` are ways to say one thing (a limit in episodes, updates or steps). One that is given
     * sets those of lower precedence to 0, so a file that limits episodes is not cut short by the default for steps. */
    const char *group;

    /* NULL, or tells why the key has no effect with these values (`options`: the module's struct): "policy is muzero";
     * NULL if it has. A value that is given and differs from the default then leads to a warning. */
    const char *(*idle)(const void *options);
} cm_option;

typedef struct cm_option_table {
    const cm_option *rows;
    int count;
    size_t base; /* offset of the module's struct in the struct of all options */
} cm_option_table;

/* OPTIONS is the module's struct. After the help further members may follow: .choices = "a|b", .flags =
 * CM_OPTION_RESUME. */
#define CM_OPTION(type_, member_, section_, standard_, min_, max_, ...)                                                \
    {                                                                                                                  \
        .section = section_, .key = #member_, .type = CM_OPTION_##type_, .standard = standard_, .min = min_,           \
        .max = max_, .offset = offsetof(OPTIONS, member_), .size = sizeof(((OPTIONS *)0)->member_),                    \
        .help = __VA_ARGS__                                                                                            \
    }

#ifdef __cplusplus
}
#endif
#endif
