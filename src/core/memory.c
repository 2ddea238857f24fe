#include "core/memory.h"

#include <stdio.h>

void cm_format_bytes(double bytes, char out[16]) {
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    int unit = 0;
    for (; bytes >= 999.5 && unit < 6; unit++) bytes /= 1000.0;
    snprintf(out, 16, bytes < 9.95 && unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

uint64_t cm_memory_available(void) {
    char line[128];
    unsigned long long kib = 0, sum = 0;
    bool is_known = false;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) {
            is_known = true;
            sum += kib;
        } else if (sscanf(line, "SwapFree: %llu", &kib) == 1) {
            sum += kib;
        }
    }
    if (file) fclose(file);
    return is_known ? (uint64_t)sum * 1024 : UINT64_MAX;
}

cm_status cm_memory_check(double bytes, const char *what) {
    char there[16];
    uint64_t available = cm_memory_available();
    if (available == UINT64_MAX || bytes <= (double)available) return CM_OK;
    cm_format_bytes((double)available, there);
    return cm_fail(cm_memory_fail(bytes, what), "%s, %s are available", cm_error_message(), there);
}

cm_status cm_memory_advise(cm_status status, const char *advice) {
    if (status != CM_ERR_MEMORY) return status;
    return cm_fail(status, "%s; %s", cm_error_message(), advice);
}
