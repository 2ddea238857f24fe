#include "core/crc32c.h"

/* The checksum of four bits: one of a byte takes two steps. */
static const uint32_t of_four_bits[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t cm_crc32c(uint32_t before, const void *bytes, size_t size) {
    const unsigned char *at = (const unsigned char *)bytes;
    uint32_t crc = ~before;
    for (size_t i = 0; i < size; i++) {
        crc ^= at[i];
        crc = of_four_bits[crc & 15u] ^ (crc >> 4);
        crc = of_four_bits[crc & 15u] ^ (crc >> 4);
    }
    return ~crc;
}
