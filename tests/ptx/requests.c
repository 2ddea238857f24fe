#include "ptx/requests.h"

#include <stdlib.h>
#include <string.h>

enum { BANKS = 32, BANK = 4, PASS = BANKS * BANK, SECTOR = 32, AT_FIRST = 1 << 12 };

typedef struct entry {
    ptx_request key;
    uint32_t lanes; /* a bit for each that takes part; 0: the place is free */
    uint64_t address[PTX_WARP];
} entry;

struct ptx_requests {
    entry *all;             /* by their hash */
    size_t count, capacity; /* capacity: a power of 2, or 0 */
};

ptx_requests *ptx_requests_open(void) { return calloc(1, sizeof(ptx_requests)); }

void ptx_requests_close(ptx_requests *r) {
    if (!r) return;
    free(r->all);
    free(r);
}

static size_t hash_of(const ptx_request *key) {
    const uint64_t mixed = ((uint64_t)key->nth << 40 ^ (uint64_t)key->instruction << 8 ^ (uint64_t)key->warp);
    return (size_t)(mixed * 0x9e3779b97f4a7c15u >> 20);
}

static bool is_same(const ptx_request *a, const ptx_request *b) {
    return a->warp == b->warp && a->instruction == b->instruction && a->nth == b->nth && a->space == b->space;
}

/* Where it is, or is to be. */
static entry *find(entry *all, size_t capacity, const ptx_request *key) {
    size_t at = hash_of(key) & (capacity - 1);
    while (all[at].lanes && !is_same(&all[at].key, key)) at = (at + 1) & (capacity - 1);
    return &all[at];
}

static bool grow(ptx_requests *r) {
    const size_t capacity = r->capacity ? 2 * r->capacity : AT_FIRST;
    entry *wider = calloc(capacity, sizeof *wider);
    if (!wider) return false;
    for (size_t k = 0; k < r->capacity; k++)
        if (r->all[k].lanes) *find(wider, capacity, &r->all[k].key) = r->all[k];
    free(r->all);
    r->all = wider;
    r->capacity = capacity;
    return true;
}

bool ptx_requests_add(ptx_requests *r, const ptx_request *key, int lane, uint64_t address) {
    if (2 * (r->count + 1) > r->capacity && !grow(r)) return false;
    entry *e = find(r->all, r->capacity, key);
    r->count += e->lanes == 0;
    e->key = *key;
    e->lanes |= 1u << lane;
    e->address[lane] = address;
    return true;
}

/* ---- what they move ---- */

static int by_number(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The addresses / unit of lanes first .. end - 1, ascending, each once. */
static int units_of(const entry *e, int first, int end, int unit, uint64_t *units) {
    int found = 0, kept = 0;
    for (int lane = first; lane < end; lane++)
        if (e->lanes >> lane & 1) units[found++] = e->address[lane] / (uint64_t)unit;
    qsort(units, (size_t)found, sizeof *units, by_number);
    for (int k = 0; k < found; k++)
        if (kept == 0 || units[k] != units[kept - 1]) units[kept++] = units[k];
    return kept;
}

/* Passes over the banks for some lanes, of which each is asked for one word at a time: as many as words in one bank. */
static int passes_of(const entry *e, int first, int end) {
    uint64_t words[PTX_WARP];
    int in_bank[BANKS] = {0}, most = 0;
    const int bytes = e->key.bytes < BANK ? BANK : e->key.bytes, found = units_of(e, first, end, bytes, words);
    for (int k = 0; k < found; k++)
        for (int word = 0; word < bytes / BANK; word++) {
            const int times = ++in_bank[(words[k] * (uint64_t)(bytes / BANK) + (uint64_t)word) % BANKS];
            if (times > most) most = times;
        }
    return most;
}

static ptx_traffic shared_traffic(const entry *e) {
    const int lanes = e->key.bytes <= BANK ? PTX_WARP : PASS / e->key.bytes;
    ptx_traffic traffic = {.requests = 1};
    for (int first = 0; first < PTX_WARP; first += lanes) {
        const int passes = passes_of(e, first, first + lanes);
        traffic.units += (uint64_t)passes;
        traffic.least += passes > 0;
    }
    return traffic;
}

/* An access is within a sector, by its alignment. */
static ptx_traffic global_traffic(const entry *e) {
    uint64_t units[PTX_WARP];
    const int different = units_of(e, 0, PTX_WARP, e->key.bytes, units);
    return (ptx_traffic){1, (uint64_t)units_of(e, 0, PTX_WARP, SECTOR, units),
                         (uint64_t)((different * e->key.bytes + SECTOR - 1) / SECTOR)};
}

void ptx_requests_settle(ptx_requests *r, void (*tell)(void *to, const ptx_request *key, const ptx_traffic *traffic),
                         void *to) {
    for (size_t k = 0; k < r->capacity && r->count > 0; k++) {
        entry *e = &r->all[k];
        if (e->lanes == 0) continue;
        const ptx_traffic traffic = e->key.space == PTX_SHARED ? shared_traffic(e) : global_traffic(e);
        tell(to, &e->key, &traffic);
        e->lanes = 0;
    }
    r->count = 0;
}
