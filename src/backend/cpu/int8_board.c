#include "backend/cpu/int8_board.h"

#include "backend/int8.h"

#include <limits.h>

enum { LARGEST = 9 * CM_INT8_MOST * CM_INT8_MOST }; /* sum of a channel */

static int products_of(cm_int8_side side) { return 6 * side.fours + 5 * side.threes; }

int cm_int8_board_products(const cm_int8_board *board) { return products_of(board->down) * products_of(board->across); }

int cm_int8_side_places(cm_int8_side side) { return 4 * side.fours + 3 * side.threes; }
int cm_int8_side_tiles(cm_int8_side side, int size) { return size == 4 ? side.fours : side.threes; }
int cm_int8_side_begin(cm_int8_side side, int size, int i) { return size == 4 ? 4 * i : 4 * side.fours + 3 * i; }

/* The fewest products with tiles of up to `most` places. */
static cm_int8_side divide(int places, int most) {
    cm_int8_side best = {0, (places + 2) / 3};
    for (int fours = 1; most == 4 && 4 * fours < places + 4; fours++) {
        const int left = places - 4 * fours;
        const cm_int8_side side = {fours, left > 0 ? (left + 2) / 3 : 0};
        if (products_of(side) < products_of(best)) best = side;
    }
    return best;
}

static bool is_exact(const cm_int8_board *board, int channels) {
    const int bits = cm_int8_bits(board->down.fours > 0 ? 4 : 3, board->across.fours > 0 ? 4 : 3);
    return (uint32_t)channels < (UINT32_C(1) << (31 - bits)) / LARGEST;
}

bool cm_int8_board_find(int height, int width, int channels, cm_int8_board *out) {
    int fewest = INT_MAX;
    for (int down = 3; down <= 4; down++)
        for (int across = 3; across <= 4; across++) {
            const cm_int8_board board = {divide(height, down), divide(width, across)};
            const int products = cm_int8_board_products(&board);
            if (products >= fewest || !is_exact(&board, channels)) continue;
            *out = board, fewest = products;
        }
    return fewest < INT_MAX;
}
