/* An axis of a picture: which numbers it shows, where its ticks are, and what is written at them. */
#ifndef CM_CLI_AXIS_H
#define CM_CLI_AXIS_H

enum { CM_AXIS_TICKS = 16, CM_AXIS_LABEL = 32 };

typedef struct cm_axis {
    double low, high;   /* the ends, low < high                                                    */
    double first, step; /* tick i is at first + i * step; step is 1, 2 or 5 times a power of ten   */
    int ticks;          /* 1 .. CM_AXIS_TICKS                                                      */
    double offset;      /* what labels leave out, because it is the same for all: 0 mostly         */
    double unit;        /* and what they are divided by: 1e3 of 20k, or what `note` says           */
    int decimals;
    char suffix[2];           /* behind every label: "k", "M", "G" or ""                                 */
    char note[CM_AXIS_LABEL]; /* what to do to the labels, "\u00d710\u2077" or "+1000000"; ""      */
} cm_axis;

/* An axis from a little below `low` to a little above `high` (`margin` of the distance, each) with at most `most` ticks
 * (1 .. CM_AXIS_TICKS), or 3 where they are 1e308 apart. Numbers that are equal, or all but, get the space around them.
 * low <= high, both finite, up to the largest there is. */
void cm_axis_make(double low, double high, double margin, int most, cm_axis *out);

/* Tick i: its number and its label. */
double cm_axis_tick(const cm_axis *axis, int i);
void cm_axis_label(const cm_axis *axis, int i, char out[CM_AXIS_LABEL]);

/* A label or a note in ASCII: "-5", "x10^-5". */
void cm_axis_plain(const char *text, char out[CM_AXIS_LABEL]);

/* Where a number is: 0 at the lower end, 1 at the upper one. */
double cm_axis_share(const cm_axis *axis, double value);
#endif
