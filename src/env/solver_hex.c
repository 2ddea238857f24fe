/* Hex up to 4 x 4: depth-first search over all positions, remembered in a table. */
#include "env/hex.h"
#include "env/solver.h"

enum { LARGEST = 4, ENTRIES = 1 << 22 };

typedef struct entry {
    uint32_t key;  /* both players' stones; 0 is the empty board, which is never stored */
    int16_t mover; /* after a swap the other player moves at equal numbers of stones */
    int16_t value; /* 1 or -1; 0 where nothing is known */
} entry;

typedef struct position {
    int n;
    uint32_t stones[2]; /* bit i: cell i */
    int ply;
} position;

static uint32_t column_mask(int n) {
    uint32_t mask = 0;
    for (int r = 0; r < n; r++) mask |= 1u << r * n;
    return mask;
}

/* Cells next to those of `b`. */
static uint32_t neighbours(uint32_t b, int n, uint32_t first, uint32_t last) {
    uint32_t right = (b & ~last) << 1, left = (b & ~first) >> 1;
    return right | left | b << n | b >> n | right >> n | left << n; /* (r-1, c+1) and (r+1, c-1) */
}

/* Whether the stones of a player connect his sides. */
static bool connects(uint32_t stones, int n, int player) {
    const uint32_t all = n * n == 32 ? 0xffffffffu : (1u << n * n) - 1u, row = (1u << n) - 1u;
    const uint32_t first = column_mask(n), last = first << (n - 1);
    uint32_t reached = stones & (player == 0 ? row : first), before;
    do {
        before = reached;
        reached |= neighbours(reached, n, first, last) & stones & all;
    } while (reached != before);
    return (reached & (player == 0 ? row << n * (n - 1) : last)) != 0;
}

/* Whether the player to move wins; neither has won yet. */
static int win_or_loss(entry *table, const position *p) {
    const uint32_t key = p->stones[0] | p->stones[1] << 16;
    entry *known = &table[(key * 2654435761u) >> 10];
    const int mover = p->ply % 2;
    if (known->key == key && known->mover == mover && known->value != 0) return known->value;
    int value = -1;
    for (int cell = 0; cell < p->n * p->n && value < 0; cell++) {
        if ((p->stones[0] | p->stones[1]) >> cell & 1) continue;
        position next = *p;
        next.stones[mover] |= 1u << cell, next.ply++;
        value = connects(next.stones[mover], p->n, mover) ? 1 : -win_or_loss(table, &next);
    }
    known->key = key, known->mover = (int16_t)mover, known->value = (int16_t)value;
    return value;
}

static bool fits(const cm_env_params *params) { return params->size <= LARGEST; }

/* With the option swap, a lone stone may be worth taking over: then the reply decides, too. */
static int after_swap(entry *table, const position *p) {
    position next = *p;
    int cell = 0;
    while (!(p->stones[0] >> cell & 1)) cell++;
    next.stones[0] = 0, next.stones[1] = 1u << (cell % p->n * p->n + cell / p->n), next.ply = 2;
    return -win_or_loss(table, &next);
}

static void solve(const cm_env_params *params, const cm_arena *memory, const void *rules, const cm_stop *stop,
                  int8_t *value) {
    (void)stop;
    const cm_hex *s = (const cm_hex *)rules;
    entry *table = (entry *)(void *)memory->base;
    const int n = params->size, mover = s->ply % 2;
    position p = {.n = n, .ply = s->ply};
    for (int cell = 0; cell < n * n; cell++) {
        if (s->cell[cell]) p.stones[(s->cell[cell] & CM_HEX_COLOUR) - 1] |= 1u << cell;
    }
    for (int cell = 0; cell < n * n; cell++) {
        value[cell] = CM_SOLVER_ILLEGAL;
        if (s->cell[cell]) continue;
        position next = p;
        next.stones[mover] |= 1u << cell, next.ply++;
        int result = connects(next.stones[mover], n, mover) ? 1 : -win_or_loss(table, &next);
        bool may_be_taken = params->swap && s->ply == 0;
        if (may_be_taken && -after_swap(table, &next) < result) result = -1;
        value[cell] = (int8_t)result;
    }
    if (params->swap) value[n * n] = (int8_t)(s->ply == 1 ? after_swap(table, &p) : CM_SOLVER_ILLEGAL);
}

const cm_solver_def cm_solver_hex = {
    .about = "search of all positions, up to 4 x 4", .fits = fits, .bytes = ENTRIES * sizeof(entry), .solve = solve};
