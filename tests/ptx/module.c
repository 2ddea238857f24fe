/* From text to functions: what is declared, and for every instruction its operation and where its operands are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/text.h"

enum { RANGES = 64, SOURCES = 64, OPERANDS = 32, FUNCTIONS = 64, NAME = 64 };

/* ---- what there is ---- */

typedef enum symbol_kind { REGISTER, VARIABLE } symbol_kind;

/* REGISTER: `count` of them from slot `at` on, "%r7" in %r<N>, or one of just this name. VARIABLE: of a space, at an
 * address. Labels have a list of their own, and stand before instruction `at`. */
typedef struct symbol {
    symbol_kind kind;
    ptx_token name;
    uint32_t at, count; /* count: 0 where the name is all */
    ptx_space space;
    uint64_t address;
    size_t bytes, align;
    bool is_extern;
} symbol;

typedef struct symbols {
    symbol *all;
    int count;
} symbols;

/* A name that is used before it is known. */
typedef struct forward {
    int function, instruction;
    ptx_token name;
} forward;

struct ptx_module {
    ptx_function *functions[FUNCTIONS];
    int functions_n;
    ptx_value *constants;
    uint32_t constants_n;
    ptx_operand *operands; /* of all instructions; by number until all are known */
    size_t operands_n;
    char *sources[SOURCES];
};

typedef struct reader {
    ptx_text text;
    ptx_module *module;
    ptx_function *function;
    symbols shared, local, labels; /* of the module; of the function */
    forward *forwards;
    int forwards_n;
    int source, line;  /* of the last .loc */
    uint32_t used;     /* of the last .pragma used_bytes_mask, for the load behind it; 0: none */
    ptx_operand asked; /* where the memory begins that the launch asks for; no constant until the function uses it */
} reader;

const char *ptx_source(const ptx_module *module, int source) {
    return source > 0 && source < SOURCES ? module->sources[source] : NULL;
}

ptx_value *ptx_constants(const ptx_module *module) { return module->constants; }

#define FAIL(r, ...) ptx_text_fail(&(r)->text, (r)->text.next.line, __VA_ARGS__)

/* Room for one more: arrays grow by halves at powers of two. */
static void *room(reader *r, void *all, size_t count, size_t size) {
    if (count & (count - 1)) return all;
    void *wider = realloc(all, (count ? 2 * count : 1) * size);
    if (!wider) FAIL(r, "no memory");
    return wider;
}

static symbol *add_symbol(reader *r, symbols *list, symbol what) {
    list->all = room(r, list->all, (size_t)list->count, sizeof *list->all);
    list->all[list->count] = what;
    return &list->all[list->count++];
}

static bool is_same(ptx_token a, ptx_token b) {
    return a.length == b.length && memcmp(a.at, b.at, (size_t)a.length) == 0;
}

/* The last one of this name: an inner scope may use a name again. */
static symbol *find(const symbols *list, ptx_token name) {
    for (int k = list->count; k-- > 0;)
        if (is_same(list->all[k].name, name)) return &list->all[k];
    return NULL;
}

/* ---- types ---- */

typedef struct type {
    const char *name;
    uint8_t bytes;
    bool is_signed;
} type;

static const type types[] = {{"pred", 1, false}, {"b8", 1, false},  {"u8", 1, false},  {"s8", 1, true},
                             {"b16", 2, false},  {"u16", 2, false}, {"s16", 2, true},  {"b32", 4, false},
                             {"u32", 4, false},  {"s32", 4, true},  {"f32", 4, false}, {"b64", 8, false},
                             {"u64", 8, false},  {"s64", 8, true},  {"f64", 8, false}};

static const type *type_of(ptx_token name) {
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (ptx_is(name, types[k].name)) return &types[k];
    return NULL;
}

/* The type that is written as a directive: .b32. */
static const type *take_type(reader *r) {
    const ptx_token token = ptx_take(&r->text);
    const type *found = token.length > 1 ? type_of((ptx_token){token.at + 1, token.length - 1, token.line}) : NULL;
    if (!found) ptx_text_fail(&r->text, token.line, "%.*s is no type that is known here", token.length, token.at);
    return found;
}

/* ---- declarations ---- */

static size_t rounded_up(size_t x, size_t to) { return (x + to - 1) / to * to; }

/* [.align N] .type name[count]: name, alignment and bytes. */
static symbol take_variable(reader *r) {
    symbol v = {.kind = VARIABLE};
    if (ptx_took(&r->text, ".align")) v.align = (size_t)ptx_take_number(&r->text);
    const type *of = take_type(r);
    v.name = ptx_take(&r->text);
    v.bytes = of->bytes;
    if (v.align < of->bytes) v.align = of->bytes;
    if (!ptx_took(&r->text, "[")) return v;
    if (!ptx_took(&r->text, "]")) {
        v.bytes *= (size_t)ptx_take_number(&r->text);
        ptx_expect(&r->text, "]");
    }
    return v;
}

static ptx_operand new_register(reader *r, uint32_t count) {
    const ptx_operand slot = {PTX_REGISTERS, r->function->registers};
    r->function->registers += count;
    return slot;
}

/* .reg .type name, ... or name<count>; */
static void take_registers(reader *r) {
    take_type(r);
    do {
        symbol s = {.kind = REGISTER, .name = ptx_take(&r->text)};
        if (ptx_took(&r->text, "<")) {
            s.count = (uint32_t)ptx_take_number(&r->text);
            ptx_expect(&r->text, ">");
        }
        s.at = new_register(r, s.count ? s.count : 1).at;
        add_symbol(r, &r->local, s);
    } while (ptx_took(&r->text, ","));
    ptx_expect(&r->text, ";");
}

/* A .param of a .func or of a call: a register in all but name. */
static ptx_operand take_slot(reader *r) {
    symbol v = take_variable(r);
    if (v.bytes > sizeof(ptx_value)) FAIL(r, "parameters of functions of more than 8 bytes are not known here");
    const ptx_operand slot = new_register(r, 1);
    v.kind = REGISTER;
    v.at = slot.at;
    add_symbol(r, &r->local, v);
    return slot;
}

static void take_parameter(reader *r, ptx_parameter *p) {
    ptx_function *f = r->function;
    ptx_expect(&r->text, ".param");
    if (!f->is_entry) {
        p->slot = take_slot(r);
        return;
    }
    symbol v = take_variable(r);
    p->offset = rounded_up(f->parameter_bytes, v.align);
    p->bytes = v.bytes;
    f->parameter_bytes = p->offset + p->bytes;
    v.space = PTX_PARAM;
    v.address = PTX_PARAM_BASE + p->offset;
    add_symbol(r, &r->local, v);
}

static int take_parameters(reader *r, ptx_parameter *all, int most) {
    int count = 0;
    ptx_expect(&r->text, "(");
    if (ptx_took(&r->text, ")")) return 0;
    do {
        if (count == most) FAIL(r, "more than %d parameters", most);
        take_parameter(r, &all[count++]);
    } while (ptx_took(&r->text, ","));
    ptx_expect(&r->text, ")");
    return count;
}

/* ---- operands ---- */

static ptx_operand constant(reader *r, uint64_t value) {
    ptx_module *m = r->module;
    m->constants = room(r, m->constants, m->constants_n, sizeof *m->constants);
    m->constants[m->constants_n].u64 = value;
    return (ptx_operand){PTX_CONSTANTS, m->constants_n++};
}

static const char *specials[PTX_ZERO] = {"%tid.x", "%ctaid.x", "%ntid.x", "%nctaid.x", "%laneid"};

static bool special(ptx_token name, ptx_operand *out) {
    for (uint32_t k = 0; k < PTX_ZERO; k++)
        if (ptx_is(name, specials[k])) {
            *out = (ptx_operand){PTX_SPECIAL, k};
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
    const symbol *s = find(&r->local, prefix);
    const unsigned long number = strtoul(name.at + prefix.length, NULL, 10);
    if (!s || s->kind != REGISTER || number >= s->count) return false;
    *out = (ptx_operand){PTX_REGISTERS, s->at + (uint32_t)number};
    return true;
}

/* The address of a variable that all blocks of a launch have. Memory that a launch asks for begins behind the
 * function's own, whose size is known at its end. */
static ptx_operand address_of(reader *r, symbol *v) {
    if (v->space != PTX_SHARED) return constant(r, v->address);
    ptx_function *f = r->function;
    if (!f->is_entry) FAIL(r, "shared memory of a .func is not known here");
    if (v->is_extern) {
        if (r->asked.base != PTX_CONSTANTS) r->asked = constant(r, 0);
        return r->asked;
    }
    symbol *mine = find(&r->local, v->name);
    if (!mine) {
        symbol placed = *v;
        f->shared_bytes = rounded_up(f->shared_bytes, v->align);
        placed.address = PTX_SHARED_BASE + f->shared_bytes;
        f->shared_bytes += v->bytes;
        mine = add_symbol(r, &r->local, placed);
    }
    return constant(r, mine->address);
}

static ptx_operand named(reader *r, ptx_token name) {
    ptx_operand out;
    if (special(name, &out) || ranged(r, name, &out)) return out;
    symbol *s = find(&r->local, name);
    if (s && s->kind == REGISTER && s->count == 0) return (ptx_operand){PTX_REGISTERS, s->at};
    if (!s) s = find(&r->shared, name);
    if (!s || s->kind != VARIABLE) ptx_text_fail(&r->text, name.line, "%.*s is not known here", name.length, name.at);
    return address_of(r, s);
}

/* A register, a number or the address of a variable; "_": a register that nobody reads. */
static ptx_operand take_operand(reader *r) {
    ptx_value value;
    if (ptx_took(&r->text, "_")) return new_register(r, 1);
    if (ptx_is(r->text.next, "-")) return constant(r, (uint64_t)ptx_take_number(&r->text));
    const ptx_token token = ptx_take(&r->text);
    if (ptx_number(token, &value)) return constant(r, value.u64);
    return named(r, token);
}

/* ---- instructions ---- */

/* One as it is read: its operation's name, split at its dots, and its operands. */
typedef struct draft {
    ptx_token name, part[12];
    int parts;
    ptx_instruction i;
    ptx_operand o[OPERANDS];
    int groups[2]; /* operands of the first and of the second group in {} */
    int groups_n;
    bool has_address;
    bool is_register; /* its address is a parameter of a function */
} draft;

static void split(reader *r, draft *d) {
    const char *at = d->name.at, *end = at + d->name.length;
    while (at < end) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        if (!dot) dot = end;
        if (d->parts == 12) FAIL(r, "%.*s is not known here", d->name.length, d->name.at);
        d->part[d->parts++] = (ptx_token){at, (int)(dot - at), d->name.line};
        at = dot + 1;
    }
}

static void add_operand(reader *r, draft *d, ptx_operand o) {
    if (d->i.operands == OPERANDS) FAIL(r, "more than %d operands", OPERANDS);
    d->o[d->i.operands++] = o;
}

static void take_group(reader *r, draft *d) {
    const int before = d->i.operands;
    do add_operand(r, d, take_operand(r));
    while (ptx_took(&r->text, ","));
    ptx_expect(&r->text, "}");
    if (d->groups_n < 2) d->groups[d->groups_n] = d->i.operands - before;
    d->groups_n++;
}

/* [operand], [operand + offset] */
static void take_address(reader *r, draft *d) {
    const ptx_token name = r->text.next;
    const symbol *s = find(&r->local, name);
    d->has_address = true;
    d->is_register = s && s->kind == REGISTER && s->bytes > 0;
    add_operand(r, d, take_operand(r));
    if (ptx_took(&r->text, "+")) d->i.offset = ptx_take_number(&r->text);
    ptx_expect(&r->text, "]");
}

static void take_operands(reader *r, draft *d) {
    if (ptx_took(&r->text, ";")) return;
    do {
        if (ptx_took(&r->text, "{"))
            take_group(r, d);
        else if (ptx_took(&r->text, "["))
            take_address(r, d);
        else
            add_operand(r, d, take_operand(r));
        if (ptx_took(&r->text, "|")) add_operand(r, d, take_operand(r));
    } while (ptx_took(&r->text, ","));
    ptx_expect(&r->text, ";");
}

static _Noreturn void fail_unknown(reader *r, const draft *d) {
    ptx_text_fail(&r->text, d->name.line, "%.*s is an instruction that is not known here", d->name.length, d->name.at);
}

static bool space_named(ptx_token name, ptx_space *space) {
    static const char *names[] = {"", "global", "shared", "local", "param"};
    for (int k = PTX_GLOBAL; k <= PTX_PARAM; k++)
        if (ptx_is(name, names[k])) {
            *space = (ptx_space)k;
            return true;
        }
    return false;
}

/* ld or st, its space or none, .v2 or .v4 or none, its type. */
static void finish_access(reader *r, draft *d, bool is_load) {
    ptx_instruction *i = &d->i;
    int at = 1;
    if (space_named(d->part[at], &i->space)) at++;
    const bool is_2 = ptx_is(d->part[at], "v2"), is_4 = ptx_is(d->part[at], "v4");
    i->count = is_2 ? 2 : is_4 ? 4 : 1;
    if (is_2 || is_4) at++;
    const type *of = at == d->parts - 1 ? type_of(d->part[at]) : NULL;
    if (!of || !d->has_address || i->operands != i->count + 1) fail_unknown(r, d);
    i->bytes = of->bytes;
    i->is_signed = of->is_signed;
    i->used = is_load && r->used ? r->used : UINT32_MAX;
    r->used = 0;
    i->run = is_load ? ptx_load : ptx_store;
    if (!d->is_register) return;
    if (i->offset || i->count != 1) fail_unknown(r, d);
    i->run = ptx_move;
}

/* mov of a register, or of several in {} from or into one. */
static void finish_move(reader *r, draft *d) {
    ptx_instruction *i = &d->i;
    const type *of = d->parts == 2 ? type_of(d->part[1]) : NULL;
    if (!of || d->groups_n > 1 || i->operands != (d->groups_n ? d->groups[0] + 1 : 2)) fail_unknown(r, d);
    i->run = ptx_move;
    if (!d->groups_n) return;
    i->count = (uint8_t)d->groups[0];
    i->bytes = (uint8_t)(of->bytes / i->count);
}

/* cvta.space, cvta.to.space */
static void finish_conversion(reader *r, draft *d) {
    const bool is_to = d->parts == 4 && ptx_is(d->part[1], "to");
    if (d->i.operands != 2 || d->parts != 3 + is_to || !space_named(d->part[1 + is_to], &d->i.space))
        fail_unknown(r, d);
    d->i.run = is_to ? ptx_from_generic : ptx_to_generic;
}

static void finish_other(reader *r, draft *d) {
    char name[NAME];
    int operands;
    snprintf(name, sizeof name, "%.*s", d->name.length, d->name.at);
    for (char *c = name; *c; c++)
        if (*c == '.') *c = '_';
    d->i.run = d->name.length < NAME ? ptx_operation(name, &operands) : NULL;
    if (!d->i.run || operands != d->i.operands) fail_unknown(r, d);
}

static void add_instruction(reader *r, draft *d) {
    ptx_module *m = r->module;
    ptx_function *f = r->function;
    d->i.source = r->source, d->i.line = r->line, d->i.text_line = d->name.line;
    d->i.o = (const ptx_operand *)m->operands_n; /* a number until all are there */
    for (int k = 0; k < d->i.operands; k++) {
        m->operands = room(r, m->operands, m->operands_n, sizeof *m->operands);
        m->operands[m->operands_n++] = d->o[k];
    }
    f->code = room(r, f->code, (size_t)f->length, sizeof *f->code);
    f->code[f->length++] = d->i;
}

/* A branch or a call says a name that may come later. */
static void refer(reader *r, ptx_token name) {
    r->forwards = room(r, r->forwards, (size_t)r->forwards_n, sizeof *r->forwards);
    r->forwards[r->forwards_n++] = (forward){r->module->functions_n - 1, r->function->length, name};
}

static void take_branch(reader *r, draft *d) {
    refer(r, ptx_take(&r->text));
    ptx_expect(&r->text, ";");
    d->i.run = ptx_branch;
}

/* call (result), name, (arguments); */
static void take_call(reader *r, draft *d) {
    if (ptx_took(&r->text, "(")) {
        add_operand(r, d, take_operand(r));
        d->i.outputs = 1;
        ptx_expect(&r->text, ")");
        ptx_expect(&r->text, ",");
    }
    refer(r, ptx_take(&r->text));
    if (ptx_took(&r->text, ",")) {
        ptx_expect(&r->text, "(");
        do add_operand(r, d, take_operand(r));
        while (ptx_took(&r->text, ","));
        ptx_expect(&r->text, ")");
    }
    ptx_expect(&r->text, ";");
    d->i.run = ptx_call;
}

static void take_instruction(reader *r, ptx_token first) {
    draft d = {.name = first};
    if (ptx_is(first, "@")) {
        d.i.is_guarded = true;
        d.i.is_negated = ptx_took(&r->text, "!");
        d.i.guard = take_operand(r);
        d.name = ptx_take(&r->text);
    }
    split(r, &d);
    if (ptx_is(d.part[0], "bra")) {
        take_branch(r, &d);
    } else if (ptx_is(d.part[0], "call")) {
        take_call(r, &d);
    } else {
        const bool unpacks = ptx_is(r->text.next, "{");
        take_operands(r, &d);
        if (ptx_is(d.part[0], "ld") || ptx_is(d.part[0], "st"))
            finish_access(r, &d, ptx_is(d.part[0], "ld"));
        else if (ptx_is(d.part[0], "cvta"))
            finish_conversion(r, &d);
        else if (ptx_is(d.part[0], "mov") && !ptx_is(d.part[1], "pred"))
            finish_move(r, &d);
        else
            finish_other(r, &d);
        if (d.i.run == ptx_move && d.i.count > 1) d.i.run = unpacks ? ptx_unpack : ptx_pack;
    }
    add_instruction(r, &d);
}

/* ---- functions ---- */

/* .loc source line column ...: without a ; */
static void take_place(reader *r, int line) {
    r->source = (int)ptx_take_number(&r->text);
    r->line = (int)ptx_take_number(&r->text);
    ptx_skip_line(&r->text, line);
}

static void take_pragma(reader *r) {
    const ptx_token pragma = ptx_take(&r->text);
    if (ptx_begins(pragma, "\"used_bytes_mask ")) r->used = (uint32_t)strtoul(pragma.at + 17, NULL, 0);
    ptx_expect(&r->text, ";");
}

static void take_local_variable(reader *r, ptx_space space) {
    symbol v = take_variable(r);
    ptx_function *f = r->function;
    v.space = space;
    if (space == PTX_LOCAL) {
        if (!f->is_entry) FAIL(r, "local memory of a .func is not known here");
        f->local_bytes = rounded_up(f->local_bytes, v.align);
        v.address = PTX_LOCAL_BASE + f->local_bytes;
        f->local_bytes += v.bytes;
        add_symbol(r, &r->local, v);
    } else {
        add_symbol(r, &r->shared, v);
    }
    ptx_expect(&r->text, ";");
}

static void take_statement(reader *r, ptx_token first) {
    if (ptx_is(first, ".reg")) {
        take_registers(r);
    } else if (ptx_is(first, ".param")) {
        take_slot(r);
        ptx_expect(&r->text, ";");
    } else if (ptx_is(first, ".local")) {
        take_local_variable(r, PTX_LOCAL);
    } else if (ptx_is(first, ".shared")) {
        take_local_variable(r, PTX_SHARED);
    } else if (ptx_is(first, ".loc")) {
        take_place(r, first.line);
    } else if (ptx_is(first, ".pragma")) {
        take_pragma(r);
    } else if (ptx_took(&r->text, ":")) {
        add_symbol(r, &r->labels, (symbol){.name = first, .at = (uint32_t)r->function->length});
    } else {
        take_instruction(r, first);
    }
}

/* What the function's last instruction goes on to, should it not return. */
static void end_function(reader *r) {
    draft d = {.name = {"ret", 3, r->text.next.line}};
    finish_other(r, &d);
    add_instruction(r, &d);
}

static void link_labels(reader *r) {
    const int function = r->module->functions_n - 1;
    for (int k = 0; k < r->forwards_n; k++) {
        const forward *f = &r->forwards[k];
        ptx_instruction *i = &r->function->code[f->instruction];
        if (f->function != function || i->run != ptx_branch) continue;
        const symbol *s = find(&r->labels, f->name);
        if (!s) ptx_text_fail(&r->text, f->name.line, "no label %.*s", f->name.length, f->name.at);
        i->target = (int)s->at;
    }
}

static void place_asked(reader *r) {
    if (r->asked.base != PTX_CONSTANTS) return;
    r->function->shared_bytes = rounded_up(r->function->shared_bytes, 16);
    r->module->constants[r->asked.at].u64 = PTX_SHARED_BASE + r->function->shared_bytes;
}

static void take_body(reader *r) {
    int depth = 1;
    r->asked = (ptx_operand){PTX_REGISTERS, 0};
    r->source = r->line = 0;
    for (;;) {
        const ptx_token token = ptx_take(&r->text);
        if (token.length == 0) FAIL(r, "a function without an end");
        if (ptx_is(token, "{"))
            depth++;
        else if (!ptx_is(token, "}"))
            take_statement(r, token);
        else if (--depth == 0)
            break;
    }
    end_function(r);
    link_labels(r);
    place_asked(r);
    r->function->is_defined = true;
}

static ptx_function *new_function(reader *r, bool is_entry) {
    ptx_module *m = r->module;
    if (m->functions_n == FUNCTIONS) FAIL(r, "more than %d functions", FUNCTIONS);
    ptx_function *f = calloc(1, sizeof *f);
    if (!f) FAIL(r, "no memory");
    f->module = m;
    f->is_entry = is_entry;
    m->functions[m->functions_n++] = f;
    return f;
}

/* .maxntid x, y, z and others that say something of a launch */
static void take_directives(reader *r) {
    while (ptx_begins(r->text.next, ".")) {
        const bool is_limit = ptx_is(ptx_take(&r->text), ".maxntid");
        int64_t product = 1;
        do product *= ptx_take_number(&r->text);
        while (ptx_took(&r->text, ","));
        if (is_limit) r->function->max_threads = product;
    }
}

static void take_function(reader *r, bool is_entry) {
    ptx_function *f = r->function = new_function(r, is_entry);
    r->local.count = r->labels.count = 0;
    if (!is_entry && ptx_is(r->text.next, "(")) {
        f->results_n = take_parameters(r, &f->result, 1);
    }
    f->name = ptx_copy(&r->text, ptx_take(&r->text));
    if (ptx_is(r->text.next, "(")) f->parameters_n = take_parameters(r, f->parameters, PTX_PARAMETERS);
    take_directives(r);
    if (ptx_took(&r->text, ";")) return;
    ptx_expect(&r->text, "{");
    take_body(r);
}

/* ---- a module ---- */

static void take_source(reader *r, int line) {
    const int64_t number = ptx_take_number(&r->text);
    const ptx_token name = ptx_take(&r->text);
    if (number > 0 && number < SOURCES && name.length > 2 && !r->module->sources[number])
        r->module->sources[number] = ptx_copy(&r->text, (ptx_token){name.at + 1, name.length - 2, line});
    ptx_skip_line(&r->text, line);
}

static void take_shared(reader *r, bool is_extern) {
    symbol v = take_variable(r);
    v.space = PTX_SHARED;
    v.is_extern = is_extern;
    add_symbol(r, &r->shared, v);
    ptx_expect(&r->text, ";");
}

static void skip_section(reader *r) {
    while (r->text.next.length && !ptx_took(&r->text, "}")) ptx_take(&r->text);
}

static void take_declaration(reader *r, ptx_token first) {
    bool is_extern = false;
    while (ptx_is(first, ".extern") || ptx_is(first, ".visible") || ptx_is(first, ".weak")) {
        is_extern |= ptx_is(first, ".extern");
        first = ptx_take(&r->text);
    }
    if (ptx_is(first, ".version") || ptx_is(first, ".target") || ptx_is(first, ".address_size"))
        ptx_skip_line(&r->text, first.line);
    else if (ptx_is(first, ".file"))
        take_source(r, first.line);
    else if (ptx_is(first, ".section"))
        skip_section(r);
    else if (ptx_is(first, ".shared"))
        take_shared(r, is_extern);
    else if (ptx_is(first, ".entry") || ptx_is(first, ".func"))
        take_function(r, ptx_is(first, ".entry"));
    else
        ptx_text_fail(&r->text, first.line, "%.*s is not known here", first.length, first.at);
}

static const ptx_function *function_named(const ptx_module *m, ptx_token name) {
    for (int k = 0; k < m->functions_n; k++)
        if (m->functions[k]->is_defined && ptx_is(name, m->functions[k]->name)) return m->functions[k];
    return NULL;
}

static void link_calls(reader *r) {
    const ptx_module *m = r->module;
    for (int k = 0; k < r->forwards_n; k++) {
        const forward *f = &r->forwards[k];
        ptx_instruction *i = &m->functions[f->function]->code[f->instruction];
        if (i->run != ptx_call) continue;
        i->function = function_named(m, f->name);
        if (!i->function || i->operands - i->outputs != i->function->parameters_n)
            ptx_text_fail(&r->text, f->name.line, "no function %.*s of these arguments", f->name.length, f->name.at);
    }
}

static void link_operands(ptx_module *m) {
    for (int k = 0; k < m->functions_n; k++)
        for (int at = 0; at < m->functions[k]->length; at++) {
            ptx_instruction *i = &m->functions[k]->code[at];
            i->o = m->operands + (uintptr_t)i->o;
        }
}

static bool read_module(reader *r) {
    if (setjmp(r->text.stop)) return false;
    while (r->text.next.length || !r->text.next.at) {
        const ptx_token token = ptx_take(&r->text);
        if (token.length) take_declaration(r, token);
    }
    link_calls(r);
    link_operands(r->module);
    return true;
}

ptx_module *ptx_open(const char *text, char *why) {
    reader *r = calloc(1, sizeof *r);
    ptx_module *m = calloc(1, sizeof *m);
    if (!r || !m) {
        snprintf(why, PTX_LINE, "no memory");
        free(r), free(m);
        return NULL;
    }
    r->module = m;
    ptx_text_open(&r->text, text, why);
    const bool ok = read_module(r);
    free(r->shared.all);
    free(r->local.all);
    free(r->labels.all);
    free(r->forwards);
    free(r);
    if (ok) return m;
    ptx_close(m);
    return NULL;
}

void ptx_close(ptx_module *m) {
    if (!m) return;
    for (int k = 0; k < m->functions_n; k++) {
        free(m->functions[k]->code);
        free(m->functions[k]->name);
        free(m->functions[k]);
    }
    for (int k = 0; k < SOURCES; k++) free(m->sources[k]);
    free(m->operands);
    free(m->constants);
    free(m);
}

const ptx_function *ptx_entry(const ptx_module *m, const char *part, char *why) {
    const ptx_function *found = NULL;
    for (int k = 0; k < m->functions_n; k++) {
        const ptx_function *f = m->functions[k];
        if (!f->is_entry || !f->is_defined || !strstr(f->name, part)) continue;
        if (found) {
            snprintf(why, PTX_LINE, "more than one entry has %s in its name", part);
            return NULL;
        }
        found = f;
    }
    if (!found) snprintf(why, PTX_LINE, "no entry has %s in its name", part);
    return found;
}

int ptx_parameters(const ptx_function *entry) { return entry->parameters_n; }
size_t ptx_parameter_bytes(const ptx_function *entry, int which) { return entry->parameters[which].bytes; }
size_t ptx_kept_bytes(const ptx_function *entry) { return entry->shared_bytes; }
