/* Included before every file by `make lint` alone: tells the static analyser that cm_fail returns the code it is given,
 * and reads its arguments. */
#include "core/status.h"
void cm_analyzer_reads(const char *format, ...);
#define cm_fail(code, ...)    (cm_analyzer_reads(__VA_ARGS__), (code))
#define cm_fail_in(code, ...) (cm_analyzer_reads(__VA_ARGS__), (code))
