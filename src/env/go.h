/* Go on n x n, 2 <= n <= 19: the rules. Suicide is illegal, positional superko, area scoring, two passes or 2 n^2 plies
 * end the game.
 *
 * Chains are circular lists; a chain's head counts its pseudo-liberties: pairs of a stone and an empty neighbour. A
 * move on p captures a neighbouring chain exactly if all its pseudo-liberties lead to p, so legality needs no search.
 * Earlier positions are known by 64-bit Zobrist hashes; a bit filter answers almost every superko question. */
#ifndef CM_ENV_GO_H
#define CM_ENV_GO_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CM_GO_SIZE = 19, CM_GO_POINTS = 361, CM_GO_WORDS = 3 * CM_GO_POINTS + 1, CM_GO_FILTER = 32 };

/* One word per point, low bits first: head of its chain (16 bits), next stone of it (16), pseudo-liberties (16, of a
 * head), and whether Black (8) and White (8) stood here in the last eight positions, newest in the lowest bit. */
typedef struct cm_go {
    int32_t n;
    int32_t ply;       /* player ply % 2 moves; 0 is Black */
    int32_t passes;    /* in a row, at the end of the game so far */
    int32_t positions; /* hashes after the points: the start and the board after every stone */
    int64_t limit;     /* plies at which the game ends */
    uint64_t hash;
    uint64_t filter[CM_GO_FILTER];
    uint64_t word[CM_GO_WORDS]; /* n * n points, then up to 2 n * n + 1 hashes (cm_go_bytes) */
} cm_go;

static CM_HD inline size_t cm_go_bytes(int n) {
    return offsetof(cm_go, word) + sizeof(uint64_t) * (size_t)(3 * n * n + 1);
}

static CM_HD inline int cm_go_head(const cm_go *s, int p) { return (int)(s->word[p] & 0xffff); }
static CM_HD inline int cm_go_next(const cm_go *s, int p) { return (int)(s->word[p] >> 16 & 0xffff); }
static CM_HD inline int cm_go_liberties(const cm_go *s, int head) { return (int)(s->word[head] >> 32 & 0xffff); }

/* 0 empty, 1 Black, 2 White. */
static CM_HD inline int cm_go_colour(const cm_go *s, int p) {
    return (int)(s->word[p] >> 48 & 1) | (int)(s->word[p] >> 55 & 2);
}

static CM_HD inline void cm_go_set_chain(cm_go *s, int p, int head, int next) {
    s->word[p] = (s->word[p] & ~(uint64_t)0xffffffff) | (uint64_t)head | (uint64_t)next << 16;
}

static CM_HD inline void cm_go_add_liberties(cm_go *s, int head, int more) {
    s->word[head] += (uint64_t)(int64_t)more << 32; /* the count stays within its 16 bits: at most 4 * 361 */
}

/* splitmix64 of colour and point. */
static CM_HD inline uint64_t cm_go_key(int colour, int p) {
    uint64_t z = (uint64_t)(2 * p + colour) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The neighbours of a point; returns how many. */
static CM_HD inline int cm_go_neighbours(int n, int p, int out[4]) {
    int r = p / n, c = p - r * n, count = 0;
    if (r > 0) out[count++] = p - n;
    if (c > 0) out[count++] = p - 1;
    if (c < n - 1) out[count++] = p + 1;
    if (r < n - 1) out[count++] = p + n;
    return count;
}

static CM_HD inline void cm_go_remember(cm_go *s) {
    s->word[s->n * s->n + s->positions++] = s->hash;
    s->filter[s->hash >> 6 & (CM_GO_FILTER - 1)] |= (uint64_t)1 << (s->hash & 63);
}

static CM_HD inline bool cm_go_has_been(const cm_go *s, uint64_t hash) {
    if (!(s->filter[hash >> 6 & (CM_GO_FILTER - 1)] >> (hash & 63) & 1)) return false;
    const uint64_t *known = s->word + s->n * s->n;
    bool found = false;
    for (int i = 0; i < s->positions; i++) found |= known[i] == hash;
    return found;
}

static CM_HD inline void cm_go_reset(cm_go *s, int n) {
    s->n = n, s->ply = 0, s->passes = 0, s->positions = 0;
    s->limit = 2 * n * n, s->hash = 0;
    for (int i = 0; i < CM_GO_FILTER; i++) s->filter[i] = 0;
    for (int i = 0; i < 3 * n * n + 1; i++) s->word[i] = 0;
    cm_go_remember(s);
}

/* Keys of all stones of a chain. */
static CM_HD inline uint64_t cm_go_chain_hash(const cm_go *s, int head, int colour) {
    uint64_t hash = 0;
    int p = head;
    do {
        hash ^= cm_go_key(colour, p);
        p = cm_go_next(s, p);
    } while (p != head);
    return hash;
}

/* Whether the player to move may put a stone on p. */
static CM_HD inline bool cm_go_is_legal(const cm_go *s, int p) {
    if (cm_go_colour(s, p) != 0) return false;
    const int mover = 1 + s->ply % 2;
    uint64_t hash = s->hash ^ cm_go_key(mover, p);
    int near[4], count = cm_go_neighbours(s->n, p, near);
    bool alive = false;
    for (int i = 0; i < count; i++) {
        const int colour = cm_go_colour(s, near[i]), head = cm_go_head(s, near[i]);
        if (colour == 0) {
            alive = true;
            continue;
        }
        int touching = 0; /* pseudo-liberties of the chain that lead to p */
        bool first = true;
        for (int j = 0; j < count; j++) {
            bool same = cm_go_colour(s, near[j]) != 0 && cm_go_head(s, near[j]) == head;
            touching += same;
            first &= !(same && j < i);
        }
        const bool last_liberty = cm_go_liberties(s, head) == touching;
        if (colour == mover) {
            alive |= !last_liberty;
        } else if (last_liberty) {
            alive = true;
            if (first) hash ^= cm_go_chain_hash(s, head, colour);
        }
    }
    return alive && !cm_go_has_been(s, hash);
}

/* Takes a chain off the board. */
static CM_HD inline void cm_go_capture(cm_go *s, int head, int colour) {
    int near[4], p = head;
    do {
        s->word[p] &= ~((uint64_t)1 << 48 | (uint64_t)1 << 56);
        s->hash ^= cm_go_key(colour, p);
        p = cm_go_next(s, p);
    } while (p != head);
    do {
        int count = cm_go_neighbours(s->n, p, near);
        for (int i = 0; i < count; i++) {
            if (cm_go_colour(s, near[i]) != 0) cm_go_add_liberties(s, cm_go_head(s, near[i]), 1);
        }
        p = cm_go_next(s, p);
    } while (p != head);
}

/* Makes the chain of `other` part of the chain of `head`. */
static CM_HD inline void cm_go_join(cm_go *s, int head, int other) {
    cm_go_add_liberties(s, head, cm_go_liberties(s, other));
    int p = other, after_head = cm_go_next(s, head), after_other = cm_go_next(s, other);
    do {
        int next = cm_go_next(s, p);
        cm_go_set_chain(s, p, head, next);
        p = next;
    } while (p != other);
    cm_go_set_chain(s, head, head, after_other);
    cm_go_set_chain(s, other, head, after_head);
}

static CM_HD inline void cm_go_put_stone(cm_go *s, int p) {
    const int mover = 1 + s->ply % 2;
    int near[4], count = cm_go_neighbours(s->n, p, near), empty = 0;
    s->word[p] = (s->word[p] & ~(uint64_t)0xffffffffffff) | (uint64_t)1 << (mover == 1 ? 48 : 56);
    s->hash ^= cm_go_key(mover, p);
    for (int i = 0; i < count; i++) {
        empty += cm_go_colour(s, near[i]) == 0;
        if (cm_go_colour(s, near[i]) != 0) cm_go_add_liberties(s, cm_go_head(s, near[i]), -1);
    }
    cm_go_set_chain(s, p, p, p);
    cm_go_add_liberties(s, p, empty);
    for (int i = 0; i < count; i++) {
        if (cm_go_colour(s, near[i]) == mover && cm_go_head(s, near[i]) != cm_go_head(s, p)) {
            cm_go_join(s, cm_go_head(s, p), cm_go_head(s, near[i]));
        }
    }
    for (int i = 0; i < count; i++) {
        const int head = cm_go_head(s, near[i]);
        if (cm_go_colour(s, near[i]) == 3 - mover && cm_go_liberties(s, head) == 0) cm_go_capture(s, head, 3 - mover);
    }
}

/* Plays a legal action; n * n is the pass. Returns whether the game has ended. */
static CM_HD inline bool cm_go_play(cm_go *s, int action) {
    const uint64_t past = (uint64_t)0xfefe << 48, now = (uint64_t)0x0101 << 48;
    for (int p = 0; p < s->n * s->n; p++) {
        uint64_t w = s->word[p];
        s->word[p] = (w & ~past) | (w << 1 & past & ~now);
    }
    if (action < s->n * s->n) {
        cm_go_put_stone(s, action);
        cm_go_remember(s);
        s->passes = 0;
    } else {
        s->passes++;
    }
    s->ply++;
    return s->passes == 2 || s->ply >= s->limit;
}

/* Black's area minus White's: stones and the empty regions that touch one colour only. */
static CM_HD inline int cm_go_area(const cm_go *s) {
    uint16_t stack[CM_GO_POINTS];
    uint8_t seen[CM_GO_POINTS] = {0};
    const int points = s->n * s->n;
    int near[4], area = 0;
    for (int start = 0; start < points; start++) {
        const int colour = cm_go_colour(s, start);
        if (colour != 0) area += colour == 1 ? 1 : -1;
        if (colour != 0 || seen[start]) continue;
        int depth = 0, size = 0, touches = 0;
        stack[depth++] = (uint16_t)start, seen[start] = 1;
        while (depth > 0) {
            int count = cm_go_neighbours(s->n, stack[--depth], near);
            size++;
            for (int i = 0; i < count; i++) {
                touches |= cm_go_colour(s, near[i]);
                if (cm_go_colour(s, near[i]) != 0 || seen[near[i]]) continue;
                seen[near[i]] = 1;
                stack[depth++] = (uint16_t)near[i];
            }
        }
        area += touches == 1 ? size : touches == 2 ? -size : 0;
    }
    return area;
}

#ifdef __cplusplus
}
#endif
#endif
