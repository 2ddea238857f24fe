/* CRC-32C (Castagnoli), the checksum of TFRecord files. Source: RFC 3720, appendix B.4. */
#ifndef CM_CORE_CRC32C_H
#define CM_CORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The checksum of bytes[size] behind those whose checksum is `before`; 0: there are none. */
uint32_t cm_crc32c(uint32_t before, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif
