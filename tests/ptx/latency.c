/* How many cycles after it is issued an operation's result is there. */
#include <string.h>

#include "ptx/machine.h"

typedef struct row {
    const char *begins, *ends;
    uint16_t cycles;
} row;

/* The first row that a name begins and ends with. Divisions and roots are several instructions to a device. */
static const row rows[] = {
    {"ld.param", "", 8},     {"ld", "", 0},           {"st", "", 0},          {"mma", "", 33},
    {"shfl", "", 24},        {"bar.warp", "", 4},     {"bar", "", 24},        {"div.rn", ".f64", 200},
    {"div.rn", ".f32", 50},  {"rcp.rn", ".f64", 120}, {"rcp.rn", ".f32", 35}, {"sqrt.rn", ".f64", 150},
    {"sqrt.rn", ".f32", 45}, {"ex2", "", 20},         {"rcp.approx", "", 20}, {"div", "64", 180},
    {"rem", "64", 180},      {"div", "", 60},         {"rem", "", 60},        {"cvt.rn", "", 8},
    {"cvt.rz", "", 8},       {"", ".f64", 8},         {"mul.lo", "64", 15},   {"mad.lo", "64", 15},
    {"mul.wide", "", 6},     {"", ".s64", 8},         {"", ".u64", 8},        {"call", "", 10},
};
enum { ROWS = sizeof rows / sizeof *rows, OTHERS = 5 };

uint16_t ptx_latency(const char *name, int length) {
    for (int k = 0; k < ROWS; k++) {
        const int begin = (int)strlen(rows[k].begins), end = (int)strlen(rows[k].ends);
        if (length < begin || length < end || memcmp(name, rows[k].begins, (size_t)begin) != 0) continue;
        if (memcmp(name + length - end, rows[k].ends, (size_t)end) == 0) return rows[k].cycles;
    }
    return OTHERS;
}
