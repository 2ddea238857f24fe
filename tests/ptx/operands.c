/* What instructions work on: registers, numbers, addresses of variables. */
#include <stdlib.h>
#include <string.h>

#include "ptx/reader.h"

static ptx_operand constant(reader *r, uint64_t value) {
    ptx_module *m = r->module;
    m->constants = ptx_grow(r, m->constants, m->constants_n, sizeof *m->constants);
    m->constants[m->constants_n].u64 = value;
    return (ptx_operand){PTX_CONSTANTS, m->constants_n++};
}

static const char *specials[PTX_ASKED] = {"%tid.x", "%ctaid.x", "%ntid.x", "%nctaid.x", "%laneid"};

static bool special(ptx_token name, ptx_operand *out) {
    for (uint32_t k = 0; k < PTX_ASKED; k++)
        if (ptx_is(name, specials[k])) {
            *out = (ptx_operand){PTX_SPECIAL, k * PTX_WARP};
            return true;
        }
    return false;
}

/* "%r12" among %r<N>. */
static bool ranged(const reader *r, ptx_token name, ptx_operand *out) {
    int digits = 0;
    while (digits < name.length && strchr("0123456789", name.at[name.length - 1 - digits])) digits++;
    if (digits == 0 || digits == name.length) return false;
    const ptx_token prefix = {name.at, name.length - digits, name.line};
    const symbol *s = ptx_find_symbol(&r->local, prefix);
    const unsigned long number = strtoul(name.at + prefix.length, NULL, 10);
    if (!s || s->kind != REGISTER || number >= s->count) return false;
    *out = (ptx_operand){PTX_REGISTERS, s->at + (uint32_t)number * PTX_WARP};
    return true;
}

/* The address of a variable that all blocks of a launch have. */
static ptx_operand address_of(reader *r, symbol *v) {
    if (v->space != PTX_SHARED) return constant(r, v->address);
    if (v->is_extern) return (ptx_operand){PTX_SPECIAL, PTX_ASKED * PTX_WARP};
    ptx_function *f = r->function;
    if (!f->is_entry) PTX_FAIL(r, "shared memory of a .func is not known here");
    symbol *mine = ptx_find_symbol(&r->local, v->name);
    if (!mine) {
        symbol placed = *v;
        f->shared_bytes = ptx_rounded_up(f->shared_bytes, v->align);
        placed.address = PTX_SHARED_BASE + f->shared_bytes;
        f->shared_bytes += v->bytes;
        mine = ptx_add_symbol(r, &r->local, placed);
    }
    return constant(r, mine->address);
}

static ptx_operand named(reader *r, ptx_token name) {
    ptx_operand out;
    if (special(name, &out) || ranged(r, name, &out)) return out;
    symbol *s = ptx_find_symbol(&r->local, name);
    if (s && s->kind == REGISTER && s->count == 0) return (ptx_operand){PTX_REGISTERS, s->at};
    if (!s) s = ptx_find_symbol(&r->shared, name);
    if (!s || s->kind != VARIABLE) ptx_text_fail(&r->text, name.line, "%.*s is not known here", name.length, name.at);
    return address_of(r, s);
}

ptx_operand ptx_read_operand(reader *r) {
    ptx_value value;
    if (ptx_took(&r->text, "_")) return ptx_new_register(r, 1);
    if (ptx_is(r->text.next, "-")) return constant(r, (uint64_t)ptx_read_number(&r->text));
    const ptx_token token = ptx_next(&r->text);
    if (ptx_number(token, &value)) return constant(r, value.u64);
    return named(r, token);
}
