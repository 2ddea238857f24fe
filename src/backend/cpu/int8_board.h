/* How a board is divided into tiles of int8_winograd.h: along each side they have 4 places, the first ones, or 3, so
 * that products are fewest. 7 places are one of 4 and one of 3, which takes 6 + 5 products per line. */
#ifndef CM_BACKEND_CPU_INT8_BOARD_H
#define CM_BACKEND_CPU_INT8_BOARD_H

#include "backend/cpu/int8_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tiles along one side. */
typedef struct cm_int8_side {
    int fours, threes;
} cm_int8_side;

typedef struct cm_int8_board {
    cm_int8_side down, across;
} cm_int8_board;

/* The fewest products of those tiles whose sums of so many channels are exact; false: there are none. */
bool cm_int8_board_find(int height, int width, int channels, cm_int8_board *out);

/* Products of a channel. */
int cm_int8_board_products(const cm_int8_board *board);

/* Places with those beyond the end, which the last tile may have. */
int cm_int8_side_places(cm_int8_side side);

/* Tiles of this size, 3 or 4, along one side, and where the i-th of them begins. */
int cm_int8_side_tiles(cm_int8_side side, int size);
int cm_int8_side_begin(cm_int8_side side, int size, int i);

#ifdef __cplusplus
}
#endif
#endif
