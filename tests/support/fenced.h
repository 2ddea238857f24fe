/* The host's memory as a device, each block in front of a page that may not be read: what reads after a block ends the
 * test. */
#ifndef CM_TESTS_SUPPORT_FENCED_H
#define CM_TESTS_SUPPORT_FENCED_H

#include "device/device.h"

extern const cm_device fenced_device;

#endif
