/* Accesses of the lanes of a warp, put together again to the requests that a device would make of them. */
#ifndef TESTS_PTX_REQUESTS_H
#define TESTS_PTX_REQUESTS_H

#include "ptx/machine.h"
#include "ptx/profile.h"

/* The nth time that a warp comes to an instruction, which accesses `bytes` bytes, 1 to 16, of a space. */
typedef struct ptx_request {
    int warp, instruction;
    uint32_t nth;
    int bytes;
    ptx_space space; /* PTX_SHARED, whose addresses count from its begin, or PTX_GLOBAL */
} ptx_request;

typedef struct ptx_requests ptx_requests;
ptx_requests *ptx_requests_open(void);           /* NULL: no memory */
void ptx_requests_close(ptx_requests *requests); /* NULL is allowed */
bool ptx_requests_add(ptx_requests *requests, const ptx_request *key, int lane,
                      uint64_t address); /* false: no memory */
/* Tells what each of them moves, and forgets them. */
void ptx_requests_settle(ptx_requests *requests,
                         void (*tell)(void *to, const ptx_request *key, const ptx_traffic *traffic), void *to);

#endif
