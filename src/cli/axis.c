#include "cli/axis.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char minus[] = "\u2212", times[] = "\u00d7", raised_minus[] = "\u207b";
static const char *const raised[10] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                       "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};

/* Ticks are at most so far apart, and numbers that are all smaller than the other are as good as 0. */
static const double most_step = 1e308, least_size = 1e-305;

/* A share of the distance between two numbers, which itself may be beyond the largest one. */
static double share_of(double low, double high, double share) {
    const double all = high - low;
    return isfinite(all) ? share * all : share * high - share * low;
}

/* 1, 2 or 5 times a power of ten. */
static double round_up(double rough) {
    const double unit = pow(10.0, floor(log10(rough) + 1e-9)), digits = rough / unit;
    const double up = digits > 5.0 + 1e-9 ? 10.0 : digits > 2.0 + 1e-9 ? 5.0 : digits > 1.0 + 1e-9 ? 2.0 : 1.0;
    return fmin(unit * up, most_step);
}

/* Ticks are counted in steps, so that rounding adds up to nothing. */
static void set_ticks(cm_axis *a, int most) {
    for (double rough = share_of(a->low, a->high, 1.0 / most);; rough = a->step * 1.5) {
        a->step = round_up(rough);
        const double first = ceil(a->low / a->step - 1e-9), last = floor(a->high / a->step + 1e-9);
        a->first = first * a->step;
        a->ticks = (int)(last - first) + 1;
        if (a->ticks <= most || a->ticks < 2 || a->step == most_step) break;
    }
    if (a->ticks < 1) a->first = (a->low + a->high) / 2.0, a->ticks = 1;
}

/* "\u207b\u2074" */
static void put_exponent(int exponent, char *out, size_t size) {
    char plain[8];
    snprintf(plain, sizeof plain, "%d", exponent);
    *out = '\0';
    for (const char *c = plain; *c; c++) {
        const size_t used = strlen(out);
        snprintf(out + used, size - used, "%s", *c == '-' ? raised_minus : raised[*c - '0']);
    }
}

static double largest(const cm_axis *a) {
    return fmax(fabs(a->first - a->offset), fabs(cm_axis_tick(a, a->ticks - 1) - a->offset));
}

/* Of 1000000.2, 1000000.4 only the ends are worth reading. */
static void set_offset(cm_axis *a) {
    const double size = largest(a);
    if (a->step > 1e-4 * size) return;
    const double round = pow(10.0, ceil(log10(a->high - a->low)));
    a->offset = floor(a->first / round) * round;
    snprintf(a->note, sizeof a->note, "%s%.12g", a->offset < 0.0 ? minus : "+", fabs(a->offset));
}

static void set_unit(cm_axis *a) {
    static const struct {
        double unit;
        const char *suffix;
    } suffixes[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    const double size = largest(a);
    char exponent[24];
    a->unit = 1.0;
    for (int i = 2; i >= 0 && size < 1e12; i--)
        if (size >= (i == 2 ? 1e4 : suffixes[i].unit)) {
            a->unit = suffixes[i].unit;
            snprintf(a->suffix, sizeof a->suffix, "%s", suffixes[i].suffix);
        }
    if (size >= 1e12 || (size < 1e-3 && size > 0.0)) {
        const int power = (int)floor(log10(size) + 1e-9);
        a->unit = pow(10.0, power);
        put_exponent(power, exponent, sizeof exponent);
        const size_t used = strlen(a->note);
        char before[CM_AXIS_LABEL];
        snprintf(before, sizeof before, "%s", a->note);
        snprintf(a->note, sizeof a->note, "\u00d710%s%s%.*s", exponent, used ? " " : "", (int)used, before);
    }
    const double places = -floor(log10(a->step / a->unit) + 1e-9);
    a->decimals = places > 0.0 ? (int)places : 0;
}

void cm_axis_make(double low, double high, double margin, int most, cm_axis *out) {
    const double size = fmax(fabs(low), fabs(high));
    *out = (cm_axis){.low = low, .high = high};
    const bool is_zero = size < least_size, is_one = is_zero || high - low <= 1e-9 * size;
    const double space = is_zero ? 0.5 : is_one ? size / 20.0 : share_of(low, high, margin);
    out->low = fmax(low - space, -DBL_MAX), out->high = fmin(high + space, DBL_MAX);
    set_ticks(out, most < CM_AXIS_TICKS ? most : CM_AXIS_TICKS);
    set_offset(out);
    set_unit(out);
}

double cm_axis_tick(const cm_axis *axis, int i) {
    const double value = fma(i, axis->step, axis->first); /* without a product that may be too large */
    return fabs(value) < axis->step * 1e-6 ? 0.0 : value; /* not -0, nor 1e-17 */
}

void cm_axis_label(const cm_axis *axis, int i, char out[CM_AXIS_LABEL]) {
    const double value = (cm_axis_tick(axis, i) - axis->offset) / axis->unit;
    const double half = 0.5 * pow(10.0, -axis->decimals);
    const double shown = fabs(value) < half ? 0.0 : value;
    snprintf(out, CM_AXIS_LABEL, "%s%.*f%s", shown < 0.0 ? minus : "", axis->decimals, fabs(shown),
             shown == 0.0 ? "" : axis->suffix);
}

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* What the character at `text` is in ASCII, and whether it is one of an exponent. */
static char plain_of(const char *text, bool *is_raised) {
    *is_raised = begins(text, raised_minus);
    if (*is_raised || begins(text, minus)) return '-';
    for (int i = 0; i < 10; i++)
        if (begins(text, raised[i])) {
            *is_raised = true;
            return (char)('0' + i);
        }
    return begins(text, times) ? 'x' : *text;
}

void cm_axis_plain(const char *text, char out[CM_AXIS_LABEL]) {
    int used = 0;
    bool was_raised = false, is_raised;
    while (*text && used < CM_AXIS_LABEL - 2) {
        const char plain = plain_of(text, &is_raised);
        if (is_raised && !was_raised) out[used++] = '^';
        out[used++] = plain;
        was_raised = is_raised;
        for (text++; ((unsigned char)*text & 0xC0) == 0x80;) text++;
    }
    out[used] = '\0';
}

double cm_axis_share(const cm_axis *axis, double value) {
    const double all = axis->high - axis->low;
    if (isfinite(all)) return (value - axis->low) / all;
    return (value / 2.0 - axis->low / 2.0) / (axis->high / 2.0 - axis->low / 2.0);
}
