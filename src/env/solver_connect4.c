/* Connect4: win, draw or loss by alpha-beta with null windows on bitboards (bit 7 * column + height), a transposition
 * table, moves ordered by the threats they make (after P. Pons, "Solving Connect 4", 2015), and two bounds by zugzwang
 * that need no search (after L. V. Allis, "A Knowledge-based Approach of Connect-Four", 1988: claimeven, odd threats).
 *
 * A question is "is the value for the mover larger than alpha", alpha -1 or 0; two of them give the value. */
#include "env/connect4.h"
#include "env/solver.h"

enum {
    COLUMNS = CM_CONNECT4_COLUMNS,
    CELLS = CM_CONNECT4_CELLS,
    MIRRORED = 20 /* plies from the start in which a position and its mirror image share an entry */
};

#define BOTTOM                                                                                                         \
    ((uint64_t)1 | (uint64_t)1 << 7 | (uint64_t)1 << 14 | (uint64_t)1 << 21 | (uint64_t)1 << 28 | (uint64_t)1 << 35 |  \
     (uint64_t)1 << 42)
#define BOARD     (BOTTOM * 63)
#define ODD_ROWS  (BOTTOM * 21) /* 1, 3 and 5, counted from the bottom */
#define EVEN_ROWS (BOTTOM * 42)

/* The mover of a position cannot win at once: one where he can is not searched. */
typedef struct position {
    uint64_t own, all; /* stones of the player to move, and of both */
    uint64_t wanted;   /* cells that complete four for the other player, whether they can be reached yet or not */
    int ply;           /* player ply % 2 moves */
} position;

typedef enum answer { NO, YES, OPEN } answer;

/* ---- the board ---- */

static uint64_t winning_cells(uint64_t own, uint64_t all) {
    uint64_t cells = own << 1 & own << 2 & own << 3; /* vertical */
    const int directions[3] = {7, 6, 8};
    for (int i = 0; i < 3; i++) {
        const int d = directions[i];
        uint64_t pair = own << d & own << 2 * d;
        cells |= pair & own << 3 * d; /* three stones before the cell, along d */
        cells |= pair & own >> d;     /* two before, one after */
        pair = own >> d & own >> 2 * d;
        cells |= pair & own << d;     /* one before, two after */
        cells |= pair & own >> 3 * d; /* three after */
    }
    return cells & (BOARD ^ all);
}

static uint64_t playable(uint64_t all) { return (all + BOTTOM) & BOARD; }
static uint64_t column_of(int column) { return (uint64_t)63 << 7 * column; }

/* In every column with a cell of the set: what is above the lowest of them (64 is the seventh bit of a column). */
static uint64_t above(uint64_t cells) { return (cells ^ (BOTTOM * 64 - cells)) & BOARD; }

static position after(const position *p, uint64_t move) {
    position next = {p->own ^ p->all, p->all | move, winning_cells(p->own | move, p->all | move), p->ply + 1};
    return next;
}

/* Moves after which the other player cannot win at once; 0 if there are none. */
static uint64_t safe_moves(const position *p) {
    uint64_t moves = playable(p->all), forced = moves & p->wanted;
    if (forced & (forced - 1)) return 0;
    return (forced ? forced : moves) & ~(p->wanted >> 1); /* not below a cell that the other player wants */
}

/* ---- zugzwang ---- */

/* An upper bound for player 0, who is to move, when player 1 answers in the column that was just played: player 0 then
 * gets the odd rows of what is empty. Where a column holds an odd number of stones its next cell breaks this; there is
 * an even number of such cells, player 1 answers one with another, and either may get either. Above a cell that player
 * 1 wants in an even row player 0 gets nothing, for he is the one who has to play below it. */
static int bound_of_first(const position *p) {
    const uint64_t other = p->own ^ p->all, empty = BOARD ^ p->all, next = playable(p->all), paired = next & EVEN_ROWS;
    const uint64_t reach = p->own | (empty & ODD_ROWS) | paired, threats = p->wanted & EVEN_ROWS & ~next;
    if (threats && !cm_connect4_has_four(reach & ~above(threats))) return -1;
    if (cm_connect4_has_four(reach)) return 1;
    return cm_connect4_has_four(other | (empty & EVEN_ROWS & ~paired)) ? -1 : 0;
}

/* Whether player 0, not to move, wins by a cell that he wants in an odd row. He answers in the column that was just
 * played; in the column of the threat player 1 then gets the even rows, up to the cell below it, which he has to play
 * when all else is full. Columns that do not fit are paired as above. */
static bool first_has_odd_threat(const position *p) {
    const uint64_t empty = BOARD ^ p->all, next = playable(p->all), uneven = next & EVEN_ROWS;
    const uint64_t others = empty & ODD_ROWS & ~above(p->wanted & EVEN_ROWS & ~next);
    uint64_t threats = p->wanted & ODD_ROWS & ~next;
    while (threats) {
        const uint64_t lowest = threats & -threats, column = column_of(__builtin_ctzll(lowest) / 7);
        const uint64_t paired = uneven & column ? uneven & ~column : uneven | (next & column);
        const uint64_t below = (lowest - 1) & column & empty & EVEN_ROWS;
        if (!cm_connect4_has_four(p->own | (others & ~column) | below | paired)) return true;
        threats &= ~column;
    }
    return false;
}

/* What can be said about a position without a search. */
static answer settled(const position *p, int alpha) {
    if (!safe_moves(p)) return (playable(p->all) ? -1 : 0) > alpha ? YES : NO;
    if (p->ply >= CELLS - 2) return 0 > alpha ? YES : NO;
    if (p->ply % 2 == 0) return bound_of_first(p) <= alpha ? NO : OPEN;
    if (!first_has_odd_threat(p)) return OPEN;
    return -1 > alpha ? YES : NO;
}

/* ---- the table ---- */

/* ply 0 of an entry means that it is empty: the start position itself is not kept. */
typedef struct entry {
    uint64_t key : 49;
    uint64_t low : 2, high : 2; /* known bounds of the value, + 1 */
    uint64_t ply : 6;
} entry;

/* The first entry of a bucket keeps the position nearest to the start, the second the latest one. */
typedef struct bucket {
    entry entry[2];
} bucket;

typedef struct table {
    bucket *buckets;
    int shift;           /* of a hash, which gives the bucket */
    const cm_stop *stop; /* once it was asked nothing is remembered */
} table;

enum { LEAST_BYTES = 1 << 12, BYTES = 1 << 25 };

static bucket *bucket_of(const table *t, uint64_t key) { return &t->buckets[key * 0x9e3779b97f4a7c15u >> t->shift]; }

/* own + all tells everything about a position: in a column it is the stones of the mover above a run of ones. */
static uint64_t key_of(const position *p) {
    const uint64_t key = p->own + p->all;
    uint64_t mirrored = 0;
    if (p->ply >= MIRRORED) return key;
    for (int c = 0; c < COLUMNS; c++) mirrored |= (key >> 7 * c & 127) << 7 * (COLUMNS - 1 - c);
    return mirrored < key ? mirrored : key;
}

/* The entry of a key, NULL if there is none. */
static entry *find(bucket *b, uint64_t key) {
    for (int i = 0; i < 2; i++) {
        if (b->entry[i].key == key && b->entry[i].ply > 0) return &b->entry[i];
    }
    return NULL;
}

static void remember(const table *t, uint64_t key, int ply, int alpha, bool larger) {
    bucket *b = bucket_of(t, key);
    entry *at = find(b, key);
    if (!at) {
        at = &b->entry[b->entry[0].ply > 0 && b->entry[0].ply < (uint64_t)ply ? 1 : 0];
        if (at == &b->entry[0]) b->entry[1] = b->entry[0];
        *at = (entry){.key = key & (((uint64_t)1 << 49) - 1), .low = 0, .high = 2, .ply = (uint64_t)ply & 63};
    }
    if (larger) at->low = (uint64_t)(alpha + 2) & 3;
    if (!larger) at->high = (uint64_t)(alpha + 1) & 3;
}

/* ---- the search ---- */

/* Puts a position where it belongs in next[count]: those with most threats of their creator first. */
static void insert(position *next, int count, const position *q) {
    const int threats = __builtin_popcountll(q->wanted);
    int at = count;
    for (; at > 0 && __builtin_popcountll(next[at - 1].wanted) < threats; at--) next[at] = next[at - 1];
    next[at] = *q;
}

/* Answers an open question. Once `stop` was asked the answer is worth nothing; NO ends the loops of all callers. */
static bool exceeds(const table *t, const position *p, int alpha) {
    const int from_the_middle[COLUMNS] = {3, 2, 4, 1, 5, 0, 6};
    const uint64_t key = key_of(p), safe = safe_moves(p);
    const entry *known = find(bucket_of(t, key), key);
    position next[COLUMNS];
    int count = 0;
    bool larger = false;
    if (known && (int)known->low > alpha + 1) return true;
    if (known && (int)known->high <= alpha + 1) return false;
    for (int i = 0; i < COLUMNS && !larger; i++) {
        const uint64_t move = safe & column_of(from_the_middle[i]);
        if (!move) continue;
        const position q = after(p, move);
        const answer reply = settled(&q, -1 - alpha);
        larger = reply == NO;
        if (reply != OPEN) continue;
        __builtin_prefetch(bucket_of(t, key_of(&q)));
        insert(next, count++, &q);
    }
    for (int i = 0; i < count && !larger; i++) larger = !exceeds(t, &next[i], -1 - alpha);
    if (cm_stop_asked(t->stop)) return false;
    remember(t, key, p->ply, alpha, larger);
    return larger;
}

static bool ask(const table *t, const position *p, int alpha) {
    const answer known = settled(p, alpha);
    return known == OPEN ? exceeds(t, p, alpha) : known == YES;
}

/* Value for the mover of a position that has not ended. */
static int value_of(const table *t, const position *p) {
    if (winning_cells(p->own, p->all) & playable(p->all)) return 1;
    return ask(t, p, 0) ? 1 : ask(t, p, -1) ? 0 : -1;
}

static void solve(const cm_env_params *params, const cm_arena *memory, const void *rules, const cm_stop *stop,
                  int8_t *value) {
    (void)params;
    const cm_connect4 *s = (const cm_connect4 *)rules;
    /* the largest power of two that fits */
    const table t = {(bucket *)(void *)memory->base, 1 + __builtin_clzll(memory->capacity / sizeof(bucket)), stop};
    const int mover = (int)(s->ply & 1);
    const position p = {s->stones[mover], s->stones[0] | s->stones[1], 0, (int)s->ply};
    const uint64_t wins = winning_cells(p.own, p.all);
    for (int column = 0; column < COLUMNS; column++) {
        const uint64_t move = playable(p.all) & column_of(column);
        value[column] = CM_SOLVER_ILLEGAL;
        if (!move) continue;
        const position next = after(&p, move);
        value[column] = (int8_t)(move & wins ? 1 : next.ply == CELLS ? 0 : -value_of(&t, &next));
    }
}

const cm_solver_def cm_solver_connect4 = {.about = "alpha-beta with bounds by zugzwang and a transposition table",
                                          .bytes = BYTES,
                                          .least_bytes = LEAST_BYTES,
                                          .is_slow = true,
                                          .solve = solve};
