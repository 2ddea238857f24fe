/* What a module declares: registers, variables, parameters. */
#include <stdlib.h>
#include <string.h>

#include "ptx/reader.h"

/* It doubles at powers of two. */
void *ptx_grow(reader *r, void *all, size_t count, size_t size) {
    if (count & (count - 1)) return all;
    void *wider = realloc(all, (count ? 2 * count : 1) * size);
    if (!wider) PTX_FAIL(r, "no memory");
    return wider;
}

symbol *ptx_add_symbol(reader *r, symbols *list, symbol what) {
    list->all = ptx_grow(r, list->all, (size_t)list->count, sizeof *list->all);
    list->all[list->count] = what;
    return &list->all[list->count++];
}

static bool is_same(ptx_token a, ptx_token b) {
    return a.length == b.length && memcmp(a.at, b.at, (size_t)a.length) == 0;
}

symbol *ptx_find_symbol(const symbols *list, ptx_token name) {
    for (int k = list->count; k-- > 0;)
        if (is_same(list->all[k].name, name)) return &list->all[k];
    return NULL;
}

/* ---- types ---- */

static const type types[] = {{"pred", 1, false}, {"b8", 1, false},  {"u8", 1, false},  {"s8", 1, true},
                             {"b16", 2, false},  {"u16", 2, false}, {"s16", 2, true},  {"b32", 4, false},
                             {"u32", 4, false},  {"s32", 4, true},  {"f32", 4, false}, {"b64", 8, false},
                             {"u64", 8, false},  {"s64", 8, true},  {"f64", 8, false}};

const type *ptx_type_of(ptx_token name) {
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (ptx_is(name, types[k].name)) return &types[k];
    return NULL;
}

/* The type that is written as a directive: .b32. */
static const type *read_type(reader *r) {
    const ptx_token token = ptx_next(&r->text);
    const type *found = token.length > 1 ? ptx_type_of((ptx_token){token.at + 1, token.length - 1, token.line}) : NULL;
    if (!found) ptx_text_fail(&r->text, token.line, "%.*s is no type that is known here", token.length, token.at);
    return found;
}

/* ---- declarations ---- */

size_t ptx_rounded_up(size_t x, size_t to) { return (x + to - 1) / to * to; }

symbol ptx_read_variable(reader *r) {
    symbol v = {.kind = VARIABLE};
    if (ptx_took(&r->text, ".align")) v.align = (size_t)ptx_read_number(&r->text);
    const type *of = read_type(r);
    v.name = ptx_next(&r->text);
    v.bytes = of->bytes;
    if (v.align < of->bytes) v.align = of->bytes;
    if (!ptx_took(&r->text, "[")) return v;
    if (!ptx_took(&r->text, "]")) {
        v.bytes *= (size_t)ptx_read_number(&r->text);
        ptx_expect(&r->text, "]");
    }
    return v;
}

ptx_operand ptx_new_register(reader *r, uint32_t count) {
    const ptx_operand slot = {PTX_REGISTERS, r->function->registers * PTX_WARP};
    r->function->registers += count;
    return slot;
}

void ptx_read_registers(reader *r) {
    read_type(r);
    do {
        symbol s = {.kind = REGISTER, .name = ptx_next(&r->text)};
        if (ptx_took(&r->text, "<")) {
            s.count = (uint32_t)ptx_read_number(&r->text);
            ptx_expect(&r->text, ">");
        }
        s.at = ptx_new_register(r, s.count ? s.count : 1).at;
        ptx_add_symbol(r, &r->local, s);
    } while (ptx_took(&r->text, ","));
    ptx_expect(&r->text, ";");
}

ptx_operand ptx_read_slot(reader *r) {
    symbol v = ptx_read_variable(r);
    if (v.bytes > sizeof(ptx_value)) PTX_FAIL(r, "parameters of functions of more than 8 bytes are not known here");
    const ptx_operand slot = ptx_new_register(r, 1);
    v.kind = REGISTER;
    v.at = slot.at;
    ptx_add_symbol(r, &r->local, v);
    return slot;
}

static void read_parameter(reader *r, ptx_parameter *p) {
    ptx_function *f = r->function;
    ptx_expect(&r->text, ".param");
    if (!f->is_entry) {
        p->slot = ptx_read_slot(r);
        return;
    }
    symbol v = ptx_read_variable(r);
    p->offset = ptx_rounded_up(f->parameter_bytes, v.align);
    p->bytes = v.bytes;
    f->parameter_bytes = p->offset + p->bytes;
    v.space = PTX_PARAM;
    v.address = PTX_PARAM_BASE + p->offset;
    ptx_add_symbol(r, &r->local, v);
}

int ptx_read_parameters(reader *r, ptx_parameter *all, int most) {
    int count = 0;
    ptx_expect(&r->text, "(");
    if (ptx_took(&r->text, ")")) return 0;
    do {
        if (count == most) PTX_FAIL(r, "more than %d parameters", most);
        read_parameter(r, &all[count++]);
    } while (ptx_took(&r->text, ","));
    ptx_expect(&r->text, ")");
    return count;
}
