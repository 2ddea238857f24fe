/* The backends that this build knows; backend.c lists them in the order in which "auto" tries them. */
#ifndef CM_BACKEND_CLASSES_H
#define CM_BACKEND_CLASSES_H

#include "backend/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const cm_backend_class cm_cpu_class;  /* cpu/: own kernels and oneDNN */
extern const cm_backend_class cm_ref_class;  /* ref/: plain loops, the reference implementation */
extern const cm_backend_class cm_cuda_class; /* module.c: opens the module, or says what is missing */

#ifdef __cplusplus
}
#endif
#endif
