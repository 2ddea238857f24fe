/* The version of the program; the Makefile gives it. */
#ifndef CM_CLI_VERSION_H
#define CM_CLI_VERSION_H

#ifndef CM_VERSION
#define CM_VERSION "unknown"
#endif

#endif
