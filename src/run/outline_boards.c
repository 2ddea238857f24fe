#include "run/outline_boards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/hash.h"
#include "core/printable.h"
#include "draw/vector.h"
#include "env/draw.h"

enum { MOST_POOL = 32 << 20, MOST_IDS = 8 << 20 }; /* bytes of shapes, numbers of drawings: what is more has no space */

/* An array that grows. */
typedef struct list {
    void *at;
    size_t used, space, size; /* of elements; bytes of one */
} list;

/* A shape that was drawn lately and what number it has: making its text takes fifty times as long as comparing it. */
enum { RECENT = 4096, RECENT_BYTES = 128 };
typedef struct recent {
    cm_shape shape; /* first: 0 */
    unsigned char more[RECENT_BYTES];
    int32_t number; /* plus 1; 0: the entry is empty */
} recent;

struct cm_outline_boards {
    const cm_env *env;         /* borrowed, like the outline */
    const cm_outline *outline; /* */
    uint8_t *kind, *mover;     /* [count] */
    double height;             /* of the highest drawing */
    list states;               /* of bytes: positions of the path to a node, state_size each */
    /* shapes */
    list text;    /* of bytes: shapes as JSON */
    list start;   /* of size_t: where a shape begins in it; one more for the end */
    int32_t *map; /* [map_space] shapes by the hash of their text; -1: none */
    size_t map_space;
    int32_t *shown; /* [shapes] numbers of those that are written, -1: it is not; NULL before fit */
    int shown_count;
    /* drawings */
    list ids;         /* of int32: shapes */
    size_t *first;    /* [count + 1] */
    list changes;     /* of bytes: texts of the scenes that are written */
    size_t *change;   /* [count] where in it; SIZE_MAX: none */
    int32_t *left;    /* [shapes] scratch: how often each is to come yet */
    recent *recent;   /* [RECENT] by hash */
    cm_scene scene;   /* scratch */
    cm_status status; /* memory ran out */
};

/* ---- arrays ---- */

/* Space for `more` elements after those in use; NULL where memory has run out. */
static void *extend(cm_outline_boards *b, list *l, size_t more) {
    if (l->used + more > l->space) {
        const size_t space = 2 * (l->used + more) + 64;
        void *grown = realloc(l->at, space * l->size);
        if (!grown) {
            b->status = CM_ERR_MEMORY;
            return NULL;
        }
        l->at = grown, l->space = space;
    }
    l->used += more;
    return (char *)l->at + (l->used - more) * l->size;
}

static void append(cm_outline_boards *b, list *l, const void *elements, size_t count) {
    void *to = extend(b, l, count);
    if (to) memcpy(to, elements, count * l->size);
}

/* ---- shapes ---- */

static int shape_count(const cm_outline_boards *b) { return (int)b->start.used - 1; }
static size_t start_of(const cm_outline_boards *b, int shape) { return ((const size_t *)b->start.at)[shape]; }
static size_t length_of(const cm_outline_boards *b, int shape) { return start_of(b, shape + 1) - start_of(b, shape); }
static const char *text_of(const cm_outline_boards *b, int shape) { return (char *)b->text.at + start_of(b, shape); }

static void put_numbers(FILE *out, const double *number, size_t count) {
    for (size_t i = 0; i < count; i++) {
        fputc(',', out);
        cm_vector_put_number(out, 0.1 * round(10.0 * number[i]));
    }
}

static cm_status put_text(FILE *out, const cm_scene *scene, const cm_shape *s) {
    char text[CM_PRINTABLE_BYTES];
    snprintf(text, sizeof text, "%.*s", (int)s->count, (const char *)scene->byte + s->first);
    put_numbers(out, (double[]){s->x, s->y, s->size, s->anchor}, 4);
    fputc(',', out);
    cm_outline_put_string(out, text);
    return CM_OK;
}

static cm_status put_image(FILE *out, const cm_scene *scene, const cm_shape *s) {
    put_numbers(out, (double[]){s->x, s->y, s->width, s->height}, 4);
    fputs(",\"", out);
    CM_TRY(cm_vector_put_pixels(out, scene, s));
    fputc('"', out);
    return CM_OK;
}

static cm_status put_shape(FILE *out, const cm_scene *scene, const cm_shape *s) {
    fprintf(out, "[%d", s->kind == CM_SHAPE_IMAGE ? 5 : (int)s->kind);
    if (s->kind != CM_SHAPE_IMAGE) fprintf(out, ",%u", (unsigned)s->colour & 0xffffff);
    switch (s->kind) {
    case CM_SHAPE_RECTANGLE: put_numbers(out, (double[]){s->x, s->y, s->width, s->height, s->size}, 5); break;
    case CM_SHAPE_CIRCLE: put_numbers(out, (double[]){s->x, s->y, s->size}, 3); break;
    case CM_SHAPE_LINE: put_numbers(out, (double[]){s->x, s->y, s->x + s->width, s->y + s->height, s->size}, 5); break;
    case CM_SHAPE_POLYGON: put_numbers(out, scene->number + s->first, s->count); break;
    case CM_SHAPE_TEXT: CM_TRY(put_text(out, scene, s)); break;
    case CM_SHAPE_IMAGE: CM_TRY(put_image(out, scene, s)); break;
    }
    fputc(']', out);
    return CM_OK;
}

static bool grow_map(cm_outline_boards *b) {
    const size_t space = 2 * b->map_space + 1024;
    int32_t *map = malloc(space * sizeof *map);
    if (!map) return false;
    for (size_t i = 0; i < space; i++) map[i] = -1;
    for (int s = 0; s < shape_count(b); s++) {
        size_t at = cm_hash(CM_HASH_BEGIN, text_of(b, s), length_of(b, s)) % space;
        while (map[at] >= 0) at = (at + 1) % space;
        map[at] = s;
    }
    free(b->map);
    b->map = map, b->map_space = space;
    return true;
}

/* The number of the shape with that text, which is new if it must be; -1: no memory. */
static int32_t find_shape(cm_outline_boards *b, const char *text, size_t size) {
    if (2 * b->start.used >= b->map_space && !grow_map(b)) return -1;
    size_t at = cm_hash(CM_HASH_BEGIN, text, size) % b->map_space;
    for (; b->map[at] >= 0; at = (at + 1) % b->map_space)
        if (length_of(b, b->map[at]) == size && memcmp(text_of(b, b->map[at]), text, size) == 0) return b->map[at];
    const int32_t shape = shape_count(b);
    append(b, &b->text, text, size);
    append(b, &b->start, &b->text.used, 1);
    if (b->status != CM_OK) return -1;
    return b->map[at] = shape;
}

/* The number of a shape, by its text; -1: no memory. */
static int32_t number_of_shape(cm_outline_boards *b, const cm_shape *s) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cm_status status = out ? put_shape(out, &b->scene, s) : CM_ERR_MEMORY;
    if (out && fclose(out) != 0) status = CM_ERR_MEMORY;
    const int32_t number = status == CM_OK ? find_shape(b, text, size) : -1;
    free(text);
    return number;
}

/* The entry of a shape, in which it stands or may be put; NULL: it is too long. What is not used of a struct may differ
 * between equal ones, which then only take longer. */
static recent *recent_of(cm_outline_boards *b, const cm_shape *s, recent *key) {
    const bool has_bytes = s->kind == CM_SHAPE_TEXT || s->kind == CM_SHAPE_IMAGE;
    const size_t size = s->kind == CM_SHAPE_POLYGON ? s->count * sizeof(double) : has_bytes ? s->count : 0;
    if (size > RECENT_BYTES) return NULL;
    memset(key, 0, sizeof *key);
    memcpy(&key->shape, s, sizeof *s);
    key->shape.first = 0;
    if (size > 0 && !has_bytes) memcpy(key->more, b->scene.number + s->first, size);
    if (size > 0 && has_bytes) memcpy(key->more, b->scene.byte + s->first, size);
    return &b->recent[cm_hash(CM_HASH_BEGIN, key, offsetof(recent, more) + size) % RECENT];
}

static void add_shape(cm_outline_boards *b, const cm_shape *s) {
    recent key, *entry = recent_of(b, s, &key);
    const bool is_there = entry && entry->number > 0 && memcmp(entry, &key, offsetof(recent, number)) == 0;
    const int32_t number = is_there ? entry->number - 1 : number_of_shape(b, s);
    if (number < 0) {
        b->status = CM_ERR_MEMORY;
        return;
    }
    key.number = number + 1;
    if (entry && !is_there) *entry = key;
    append(b, &b->ids, &number, 1);
}

/* ---- positions ---- */

static unsigned char *state_at(const cm_outline_boards *b, int depth) {
    return (unsigned char *)b->states.at + (size_t)depth * b->env->spec.state_size;
}

static void draw(cm_outline_boards *b, const void *before, int action, const void *state) {
    const cm_env_moment moment = before ? cm_env_moment_of(b->env, before, action, state) : CM_ENV_NO_MOMENT;
    cm_env_draw(b->env, state, &moment, &b->scene);
    if (b->scene.status != CM_OK) b->status = b->scene.status;
    const cm_shape paper = {
        .kind = CM_SHAPE_RECTANGLE, .colour = b->scene.background, .width = b->scene.width, .height = b->scene.height};
    add_shape(b, &paper);
    for (size_t i = 0; i < b->scene.shapes && b->status == CM_OK; i++) add_shape(b, &b->scene.shape[i]);
    b->height = fmax(b->height, b->scene.height);
}

static bool is_legal(const cm_env *env, const void *state, int action) {
    uint8_t legal[CM_ENV_MAX_ACTIONS];
    if (!env->def->legal) return true;
    env->def->legal(&env->params, cm_env_rules_of(state), legal);
    return legal[action] != 0;
}

/* What a legal action makes of `state`: all, or where chance follows the first half. As in a search on true rules no
 * time limit is kept. */
static cm_outline_kind play(const cm_env *env, void *state, int action) {
    cm_env_common *common = state;
    const cm_pcg64 random = common->random;
    if (common->terminated) return CM_OUTLINE_AFTER;
    if (!is_legal(env, state, action)) return CM_OUTLINE_ILLEGAL;
    if (env->def->afterstate) {
        (void)env->def->afterstate(&env->params, cm_env_rules(state), action);
        return CM_OUTLINE_HALF;
    }
    common->terminated = cm_env_step_rules(env, cm_env_rules(state), action, &common->random).terminated;
    if (memcmp(&random, &common->random, sizeof random) != 0) return CM_OUTLINE_CHANCE;
    return common->terminated ? CM_OUTLINE_END : CM_OUTLINE_BOARD;
}

/* What an outcome of chance makes of `state`, which stands after a move. */
static cm_outline_kind bring(const cm_env *env, void *state, int outcome) {
    cm_env_common *common = state;
    float weights[CM_ENV_MAX_OUTCOMES];
    env->def->chance_weights(&env->params, cm_env_rules_of(state), weights);
    if (outcome >= env->spec.chance_outcomes || !(weights[outcome] > 0.0f)) return CM_OUTLINE_ILLEGAL;
    common->terminated = env->def->chance(&env->params, cm_env_rules(state), outcome);
    return common->terminated ? CM_OUTLINE_END : CM_OUTLINE_BOARD;
}

/* What is known of node i, whose parent's position is. A model without nodes of chance has one node for a move and what
 * chance brings. */
static cm_outline_kind reach(const cm_outline_boards *b, int i, int action) {
    const int depth = b->outline->depth[i], parent = b->outline->parent[i];
    void *state = state_at(b, depth);
    memcpy(state, state_at(b, depth - 1), b->env->spec.state_size);
    if (b->env->spec.replays) return CM_OUTLINE_NO_COPY;
    if (b->kind[parent] == CM_OUTLINE_HALF) {
        const bool is_outcome = cm_outline_node(b->outline, parent).is_chance && action >= 0;
        return is_outcome ? bring(b->env, state, action) : CM_OUTLINE_CHANCE;
    }
    if (action < 0) return CM_OUTLINE_DRAWN;
    return play(b->env, state, action);
}

/* With what has led there from its parent, unless that was chance. */
static void draw_node(cm_outline_boards *b, int i, int action) {
    const int depth = b->outline->depth[i];
    const bool is_move = b->kind[b->outline->parent[i]] == CM_OUTLINE_BOARD;
    draw(b, is_move ? state_at(b, depth - 1) : NULL, is_move ? action : -1, state_at(b, depth));
}

static void add_node(cm_outline_boards *b, int i, int action) {
    const int parent = b->outline->parent[i], depth = b->outline->depth[i];
    const bool two = b->env->spec.players == 2;
    const size_t needed = (size_t)(depth + 1) * b->env->spec.state_size;
    b->kind[i] = b->kind[parent];
    b->mover[i] = two && !cm_outline_node(b->outline, parent).is_chance ? !b->mover[parent] : b->mover[parent];
    if (needed > b->states.used && !extend(b, &b->states, needed - b->states.used)) return;
    if (b->kind[parent] == CM_OUTLINE_END) b->kind[i] = CM_OUTLINE_AFTER;
    if (b->kind[parent] == CM_OUTLINE_BOARD || b->kind[parent] == CM_OUTLINE_HALF)
        b->kind[i] = (uint8_t)reach(b, i, action);
    if (!cm_outline_is_drawn(b->kind[i])) return;
    if (b->kind[i] != CM_OUTLINE_HALF) b->mover[i] = (uint8_t)cm_env_to_play(b->env, state_at(b, depth));
    if (b->text.used > MOST_POOL || b->ids.used > MOST_IDS) {
        b->kind[i] = CM_OUTLINE_NO_SPACE;
        return;
    }
    draw_node(b, i, action);
}

static void add_root(cm_outline_boards *b, const void *state) {
    append(b, &b->states, state, b->env->spec.state_size);
    if (b->status != CM_OK) return;
    cm_env_common *root = (cm_env_common *)(void *)state_at(b, 0);
    b->kind[0] = root->terminated ? CM_OUTLINE_END : CM_OUTLINE_BOARD;
    b->mover[0] = (uint8_t)cm_env_to_play(b->env, root);
    draw(b, NULL, -1, root);
}

static cm_status fill(cm_outline_boards *b, const void *state, const int32_t *actions) {
    const size_t n = (size_t)b->outline->count, none = 0;
    CM_TRY(cm_alloc(&b->kind, 2 * n, 1, "drawings"));
    b->mover = b->kind + n;
    CM_TRY(cm_alloc(&b->first, 2 * n + 1, sizeof *b->first, "drawings"));
    b->change = b->first + n + 1;
    CM_TRY(cm_alloc(&b->recent, RECENT, sizeof *b->recent, "drawings"));
    append(b, &b->start, &none, 1);
    for (int i = 0; i < b->outline->count && b->status == CM_OK; i++) {
        b->first[i] = b->ids.used;
        if (i == 0) add_root(b, state);
        if (i > 0) add_node(b, i, actions[i]);
        b->first[i + 1] = b->ids.used;
    }
    if (b->status != CM_OK) return cm_fail(CM_ERR_MEMORY, "no memory for the drawings of a tree");
    CM_TRY(cm_alloc(&b->shown, 2 * (size_t)shape_count(b), sizeof *b->shown, "drawings"));
    b->left = b->shown + shape_count(b);
    return CM_OK;
}

cm_status cm_outline_boards_create(const cm_env *env, const void *state, const cm_outline *outline,
                                   const int32_t *actions, cm_outline_boards **out) {
    cm_outline_boards *b = NULL;
    *out = NULL;
    CM_TRY(cm_alloc(&b, 1, sizeof *b, "drawings"));
    b->env = env, b->outline = outline;
    b->states.size = b->text.size = b->changes.size = 1;
    b->start.size = sizeof(size_t), b->ids.size = sizeof(int32_t);
    const cm_status status = fill(b, state, actions);
    if (status != CM_OK) {
        cm_outline_boards_destroy(b);
        return status;
    }
    cm_outline_boards_fit(b, SIZE_MAX);
    *out = b;
    return CM_OK;
}

void cm_outline_boards_destroy(cm_outline_boards *b) {
    if (!b) return;
    cm_scene_free(&b->scene);
    free(b->states.at);
    free(b->text.at);
    free(b->start.at);
    free(b->ids.at);
    free(b->changes.at);
    free(b->map);
    free(b->recent);
    free(b->shown);
    free(b->first);
    free(b->kind);
    free(b);
}

/* ---- what changes from a drawing to the next ---- */

static void add_change(cm_outline_boards *b, char what, size_t number) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    char text[16], *at = text + sizeof text;
    if (number == 0 && what != '+') return;
    do *--at = digits[number % 36];
    while (number /= 36);
    *--at = what;
    append(b, &b->changes, at, (size_t)(text + sizeof text - at));
}

/* The change that makes the list of node i of its parent's: `left` tells what of it is still to come, so what of the
 * parent's is not there is left out, and all else comes before it. */
static void write_change(cm_outline_boards *b, int i) {
    const int parent = b->outline->parent[i];
    const int32_t *ids = b->ids.at, *to = ids + b->first[i], *end = ids + b->first[i + 1];
    const int32_t *from = parent < 0 ? ids : ids + b->first[parent];
    const int32_t *from_end = parent < 0 ? ids : ids + b->first[parent + 1];
    size_t kept = 0, dropped = 0;
    for (const int32_t *id = to; id < end; id++) b->left[*id]++;
    while (to < end || from < from_end) {
        const bool is_same = to < end && from < from_end && *to == *from;
        const bool is_gone = !is_same && from < from_end && b->left[*from] == 0;
        if (!is_same) add_change(b, '=', kept), kept = 0;
        if (!is_gone) add_change(b, '-', dropped), dropped = 0;
        kept += is_same, dropped += is_gone;
        if (!is_same && !is_gone) {
            if (b->shown[*to] < 0) b->shown[*to] = b->shown_count++;
            add_change(b, '+', (size_t)b->shown[*to]);
        }
        if (!is_gone) b->left[*to++]--;
        from += is_same || is_gone;
    }
    add_change(b, '-', dropped);
}

/* Bytes of the shapes that node i is the first to show. */
static size_t new_bytes(const cm_outline_boards *b, int i, int shown_before) {
    const int32_t *ids = b->ids.at;
    size_t bytes = 0;
    for (int s = shown_before; s < b->shown_count; s++) bytes++;
    for (size_t k = b->first[i]; k < b->first[i + 1] && bytes > 0; k++)
        if (b->shown[ids[k]] >= shown_before) bytes += length_of(b, ids[k]);
    return bytes;
}

static void take_back(cm_outline_boards *b, int i, size_t changes_before, int shown_before) {
    const int32_t *ids = b->ids.at;
    for (size_t k = b->first[i]; k < b->first[i + 1]; k++)
        if (b->shown[ids[k]] >= shown_before) b->shown[ids[k]] = -1;
    b->shown_count = shown_before;
    b->changes.used = changes_before;
    b->change[i] = SIZE_MAX;
}

void cm_outline_boards_fit(cm_outline_boards *b, size_t bytes) {
    enum { FRAME = 128, EMPTY = 3 }; /* bytes of what stands around, and of a scene that is not there */
    const int count = b->outline->count;
    size_t used = FRAME + EMPTY * (size_t)count;
    b->shown_count = 0, b->changes.used = 0;
    for (int s = 0; s < shape_count(b); s++) b->shown[s] = -1;
    for (int i = 0; i < count; i++) b->change[i] = SIZE_MAX;
    for (int k = 0; k < count && b->status == CM_OK; k++) {
        const int i = b->outline->by_visits[k], parent = b->outline->parent[i], shown = b->shown_count;
        const size_t changes = b->changes.used;
        if (!cm_outline_is_drawn(b->kind[i]) || (parent >= 0 && b->change[parent] == SIZE_MAX)) continue;
        b->change[i] = changes;
        write_change(b, i);
        append(b, &b->changes, "", 1);
        const size_t more = b->changes.used - changes + new_bytes(b, i, shown);
        if (more > bytes || used > bytes - more) {
            take_back(b, i, changes, shown);
        } else {
            used += more;
        }
    }
}

/* ---- writing ---- */

void cm_outline_put_string(FILE *out, const char *text) {
    fputc('"', out);
    for (const char *c = CM_PRINTABLE(text); *c; c++) {
        if (*c == '"' || *c == '\\') fputc('\\', out);
        if (*c == '<') fputs("\\u003c", out);
        if (*c != '<') fputc(*c, out);
    }
    fputc('"', out);
}

cm_outline_kind cm_outline_boards_kind(const cm_outline_boards *b, int i) {
    const bool is_shown = b->change[i] != SIZE_MAX;
    return cm_outline_is_drawn(b->kind[i]) && !is_shown ? CM_OUTLINE_NO_SPACE : (cm_outline_kind)b->kind[i];
}

int cm_outline_boards_mover(const cm_outline_boards *b, int i) { return b->mover[i]; }

/* By the numbers under which they are shown. */
static void put_shapes(const cm_outline_boards *b, FILE *out) {
    int32_t *shape = b->left; /* all 0 between two changes, and so again after this */
    for (int s = 0; s < shape_count(b); s++)
        if (b->shown[s] >= 0) shape[b->shown[s]] = s;
    for (int k = 0; k < b->shown_count; k++) {
        if (k > 0) fputc(',', out);
        fwrite(text_of(b, shape[k]), 1, length_of(b, shape[k]), out);
        shape[k] = 0;
    }
}

void cm_outline_boards_put(const cm_outline_boards *b, FILE *out) {
    fprintf(out, "{\"width\":%d,\"height\":", CM_ENV_DRAWN);
    cm_vector_put_number(out, b->height);
    fputs(",\"shapes\":[", out);
    put_shapes(b, out);
    fputs("],\"scenes\":[", out);
    for (int i = 0; i < b->outline->count; i++)
        fprintf(out, "%s\"%s\"", i ? "," : "",
                b->change[i] == SIZE_MAX ? "" : (const char *)b->changes.at + b->change[i]);
    fputs("]}", out);
}
