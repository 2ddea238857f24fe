#ifndef CM_CLI_VERSION_H
#define CM_CLI_VERSION_H

#define CM_VERSION "0.2.0"

#endif
