/* Games as text: the first byte chooses a game, the rest is a list of moves. What is played can be written as numbers
 * and played again to the same state; what is not played is named, and the state stands before it. */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

#include "env/moves.h"

enum { GAMES = 6, MOVES = 4096 };
static const char *const names[GAMES] = {"tictactoe", "connect4", "othello", "go5", "hex4", "2048"};
static cm_env games[GAMES];
static void *states[GAMES][2];

static void prepare(void) {
    for (int g = 0; g < GAMES; g++) {
        if (cm_env_open(&games[g], names[g], NULL) != CM_OK) abort();
        for (int i = 0; i < 2; i++) states[g][i] = calloc(1, games[g].spec.state_size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char again[12 * MOVES];
    if (!games[0].def) prepare();
    if (size == 0 || size > MOVES) return 0;
    const int g = data[0] % GAMES;
    const char *text = (const char *)data + 1;
    cm_env_reset(&games[g], states[g][0], 7);
    cm_env_reset(&games[g], states[g][1], 7);
    cm_status status = cm_moves_play(&games[g], states[g][0], text, size - 1);
    const int played = ((cm_env_common *)states[g][0])->steps;
    cm_move_list list = cm_move_list_begin(&games[g], text, size - 1);
    cm_move_item item;
    size_t used = 0;
    int items = 0;
    for (; cm_move_list_next(&list, &item); items++) {
        FUZZ_EXPECT(item.text >= text && item.text + item.length <= text + size - 1);
        if (items < played) used += (size_t)snprintf(again + used, 12, "%s%d", items ? "," : "", item.number);
    }
    FUZZ_EXPECT((status == CM_OK) == (items == played));
    FUZZ_EXPECT(cm_moves_play(&games[g], states[g][1], again, used) == CM_OK);
    FUZZ_EXPECT(memcmp(states[g][0], states[g][1], games[g].spec.state_size) == 0);
    return 0;
}
