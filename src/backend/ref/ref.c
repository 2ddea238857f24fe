#include "backend/classes.h"

const cm_backend_class cm_ref_class = {.name = "ref"};
