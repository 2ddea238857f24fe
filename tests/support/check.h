/* Included before every test (mk/build.mk): Check, whose assertions cost nothing when they hold. Each would send a
 * message of the line it stands in, for whoever sees a test die by a signal to know the last one that held; in loops
 * over millions of numbers that is most of a test's time, and the sanitizers and a debugger know the line. Failures are
 * told as ever. */
#ifndef CM_TEST_SUPPORT_CHECK_H
#define CM_TEST_SUPPORT_CHECK_H

#include <check.h>

#define _mark_point(file, line) ((void)0)

#endif
