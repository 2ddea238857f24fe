/* Values of states that are out of their range, named. */
#include <inttypes.h>
#include <math.h>

#include "env/env.h"

cm_status cm_env_check_int(const char *what, int64_t value, int64_t low, int64_t high) {
    if (value >= low && value <= high) return CM_OK;
    if (low == high) return cm_fail(CM_ERR_INPUT, "%s is %" PRId64 "; must be %" PRId64, what, value, low);
    return cm_fail(CM_ERR_INPUT, "%s is %" PRId64 "; must be %" PRId64 "..%" PRId64, what, value, low, high);
}

cm_status cm_env_check_real(const char *what, double value, double low, double high) {
    if (value >= low && value <= high) return CM_OK;
    if (isnan(value)) value = (double)NAN; /* a sign of it would say nothing */
    if (low == high) return cm_fail(CM_ERR_INPUT, "%s is %g; must be %g", what, value, low);
    return cm_fail(CM_ERR_INPUT, "%s is %g; must be %g..%g", what, value, low, high);
}
