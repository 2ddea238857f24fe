/* From the text of an instruction to its operation and where its operands are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/reader.h"

enum { OPERANDS = 160, NAME = 64, ADDRESSES = 2 };

/* One as it is read: its operation's name, split at its dots, and its operands. */
typedef struct draft {
    ptx_token name, part[12];
    int parts;
    ptx_instruction i;
    ptx_operand o[OPERANDS];
    int groups, group; /* how many there are in {}; operands of the last one */
    int addresses;
    bool is_register; /* its address is a parameter of a function */
} draft;

static void split(reader *r, draft *d) {
    const char *at = d->name.at, *end = at + d->name.length;
    while (at < end) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        if (!dot) dot = end;
        if (d->parts == 12) PTX_FAIL(r, "%.*s is not known here", d->name.length, d->name.at);
        d->part[d->parts++] = (ptx_token){at, (int)(dot - at), d->name.line};
        at = dot + 1;
    }
}

static void add_operand(reader *r, draft *d, ptx_operand o) {
    if (d->i.operands == OPERANDS) PTX_FAIL(r, "more than %d operands", OPERANDS);
    d->o[d->i.operands++] = o;
}

static void read_group(reader *r, draft *d) {
    const int before = d->i.operands;
    do add_operand(r, d, ptx_read_operand(r));
    while (ptx_took(&r->text, ","));
    ptx_expect(&r->text, "}");
    d->group = d->i.operands - before;
    d->groups++;
}

/* [operand], [operand + offset] */
static void read_address(reader *r, draft *d) {
    const ptx_token name = r->text.next;
    const symbol *s = ptx_find_symbol(&r->local, name);
    if (d->addresses == ADDRESSES) PTX_FAIL(r, "more than %d addresses", ADDRESSES);
    d->is_register = s && s->kind == REGISTER && s->bytes > 0;
    add_operand(r, d, ptx_read_operand(r));
    if (ptx_took(&r->text, "+")) d->i.offset[d->addresses] = ptx_read_number(&r->text);
    d->addresses++;
    ptx_expect(&r->text, "]");
}

static void read_operands(reader *r, draft *d) {
    if (ptx_took(&r->text, ";")) return;
    do {
        if (ptx_took(&r->text, "{"))
            read_group(r, d);
        else if (ptx_took(&r->text, "["))
            read_address(r, d);
        else
            add_operand(r, d, ptx_read_operand(r));
        if (ptx_took(&r->text, "|")) add_operand(r, d, ptx_read_operand(r));
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
    const type *of = at == d->parts - 1 ? ptx_type_of(d->part[at]) : NULL;
    if (!of || d->addresses != 1 || i->operands != i->count + 1) fail_unknown(r, d);
    i->bytes = of->bytes;
    i->is_signed = of->is_signed;
    i->used = is_load && r->used ? r->used : UINT32_MAX;
    r->used = 0;
    i->run = is_load ? ptx_load : ptx_store;
    i->writes = is_load ? i->count : 0;
    if (!d->is_register) return;
    i->writes = 1;
    if (i->offset[0] || i->count != 1) fail_unknown(r, d);
    i->run = NULL;
    i->run_together = ptx_move;
}

/* mov of a register, or of several in {} from or into one. */
static void finish_move(reader *r, draft *d, bool unpacks) {
    ptx_instruction *i = &d->i;
    const type *of = d->parts == 2 ? ptx_type_of(d->part[1]) : NULL;
    if (!of || d->groups > 1 || i->operands != (d->groups ? d->group + 1 : 2)) fail_unknown(r, d);
    i->run_together = ptx_move;
    i->writes = 1;
    if (!d->groups) return;
    i->count = (uint8_t)d->group;
    i->bytes = (uint8_t)(of->bytes / i->count);
    if (i->count == 1) return;
    i->run_together = unpacks ? ptx_unpack : ptx_pack;
    i->writes = unpacks ? i->count : 1;
}

/* cvta.space, cvta.to.space */
static void finish_conversion(reader *r, draft *d) {
    const bool is_to = d->parts == 4 && ptx_is(d->part[1], "to");
    if (d->i.operands != 2 || d->parts != 3 + is_to || !space_named(d->part[1 + is_to], &d->i.space))
        fail_unknown(r, d);
    d->i.run = is_to ? ptx_from_generic : ptx_to_generic;
    d->i.writes = 1;
}

static bool is_number(const reader *r, const draft *d, int which, int64_t least, int64_t most) {
    const ptx_operand o = d->o[which];
    if (which >= d->i.operands || o.base != PTX_CONSTANTS) return false;
    const int64_t value = r->module->constants[o.at].s64;
    return value >= least && value <= most;
}

/* cp.async.ca or .cg of .shared.global, what the L2 cache may fetch or nothing; [to], [from], bytes, and how many of
 * them are read: after these come zeros. */
static void finish_copy(reader *r, draft *d) {
    const bool is_cg = ptx_is(d->part[2], "cg");
    const bool is_shared = ptx_is(d->part[3], "shared") || ptx_is(d->part[3], "shared::cta");
    const bool is_known = d->parts == 5 || (d->parts == 6 && ptx_begins(d->part[5], "L2::") && d->part[5].at[4] != 'c');
    if (!ptx_is(d->part[1], "async") || (!is_cg && !ptx_is(d->part[2], "ca")) || !is_shared || !is_known ||
        !ptx_is(d->part[4], "global") || d->addresses != 2 || d->groups || d->i.operands < 3 || d->i.operands > 4 ||
        (!is_number(r, d, 2, 16, 16) && (is_cg || (!is_number(r, d, 2, 4, 4) && !is_number(r, d, 2, 8, 8)))))
        fail_unknown(r, d);
    d->i.bytes = (uint8_t)r->module->constants[d->o[2].at].u64;
    d->i.count = 1;
    d->i.run = ptx_copy_async;
}

/* wgmma.mma_async of m64nNk16: {sums}, a's and b's descriptor, whether sums are added to, the signs of a and b, whether
 * these are transposed. */
static void finish_product(reader *r, draft *d) {
    static const char *parts[] = {"wgmma", "mma_async", "sync", "aligned", NULL, "f32"};
    const ptx_token shape = d->part[4];
    const int n = d->parts == 8 && ptx_begins(shape, "m64n") ? atoi(shape.at + 4) : 0, sums = n / 2;
    const bool is_bf16 = ptx_is(d->part[6], "bf16");
    char want[NAME];
    snprintf(want, sizeof want, "m64n%dk16", n);
    if (n < 8 || n > 256 || n % 8 || !ptx_is(shape, want) || d->groups != 1 || d->group != sums ||
        d->i.operands != sums + 7 || (!is_bf16 && !ptx_is(d->part[6], "f16")) ||
        !ptx_is(d->part[7], is_bf16 ? "bf16" : "f16"))
        fail_unknown(r, d);
    for (int k = 0; k < 6; k++)
        if (parts[k] && !ptx_is(d->part[k], parts[k])) fail_unknown(r, d);
    for (int k = 0; k < sums; k++)
        if (d->o[k].base != PTX_REGISTERS) fail_unknown(r, d);
    for (int k = sums + 3; k < sums + 5; k++)
        if (!is_number(r, d, k, 1, 1) && !is_number(r, d, k, -1, -1)) fail_unknown(r, d);
    if (!is_number(r, d, sums + 5, 0, 0) || !is_number(r, d, sums + 6, 0, 0))
        PTX_FAIL(r, "transposed factors of warp groups are not known here");
    d->i.count = d->i.writes = (uint8_t)sums;
    d->i.run = is_bf16 ? ptx_come_to_bf16_group : ptx_come_to_f16_group;
}

static uint8_t written_by(ptx_run_function run, int operands) {
    if (run == ptx_come_to_shuffle || run == ptx_come_to_shuffle_from) return 2;
    if (run == ptx_come_to_bf16_product || run == ptx_come_to_f16_product || run == ptx_come_to_tf32_product ||
        run == ptx_come_to_s8_product)
        return 4;
    return operands > 1;
}

static void finish_other(reader *r, draft *d) {
    char name[NAME];
    snprintf(name, sizeof name, "%.*s", d->name.length, d->name.at);
    for (char *c = name; *c; c++)
        if (*c == '.' || *c == ':') *c = '_';
    const ptx_operation *found = d->name.length < NAME ? ptx_operation_named(name) : NULL;
    if (!found || found->operands != d->i.operands) fail_unknown(r, d);
    d->i.run = found->run;
    d->i.run_together = found->run_together;
    d->i.writes = written_by(found->run, found->operands);
}

static void add_instruction(reader *r, draft *d) {
    ptx_module *m = r->module;
    ptx_function *f = r->function;
    d->i.source = r->source, d->i.line = r->line, d->i.text_line = d->name.line;
    d->i.number = m->instructions_n++;
    d->i.latency = ptx_latency(d->name.at, d->name.length);
    d->i.o = (const ptx_operand *)m->operands_n; /* a number until all are there */
    for (int k = 0; k < d->i.operands; k++) {
        m->operands = ptx_grow(r, m->operands, m->operands_n, sizeof *m->operands);
        m->operands[m->operands_n++] = d->o[k];
    }
    f->code = ptx_grow(r, f->code, (size_t)f->length, sizeof *f->code);
    f->code[f->length++] = d->i;
}

/* A branch or a call says a name that may come later. */
static void refer(reader *r, ptx_token name) {
    r->forwards = ptx_grow(r, r->forwards, (size_t)r->forwards_n, sizeof *r->forwards);
    r->forwards[r->forwards_n++] = (forward){r->module->functions_n - 1, r->function->length, name};
}

static void read_branch(reader *r, draft *d) {
    refer(r, ptx_next(&r->text));
    ptx_expect(&r->text, ";");
    d->i.run = ptx_branch;
}

/* call (result), name, (arguments); */
static void read_call(reader *r, draft *d) {
    if (ptx_took(&r->text, "(")) {
        add_operand(r, d, ptx_read_operand(r));
        d->i.outputs = 1;
        ptx_expect(&r->text, ")");
        ptx_expect(&r->text, ",");
    }
    refer(r, ptx_next(&r->text));
    if (ptx_took(&r->text, ",")) {
        ptx_expect(&r->text, "(");
        do add_operand(r, d, ptx_read_operand(r));
        while (ptx_took(&r->text, ","));
        ptx_expect(&r->text, ")");
    }
    ptx_expect(&r->text, ";");
    d->i.run = ptx_call;
    d->i.writes = d->i.outputs;
}

void ptx_read_instruction(reader *r, ptx_token first) {
    draft d = {.name = first};
    if (ptx_is(first, "@")) {
        d.i.is_guarded = true;
        d.i.is_negated = ptx_took(&r->text, "!");
        d.i.guard = ptx_read_operand(r);
        d.name = ptx_next(&r->text);
    }
    split(r, &d);
    if (ptx_is(d.part[0], "bra")) {
        read_branch(r, &d);
    } else if (ptx_is(d.part[0], "call")) {
        read_call(r, &d);
    } else {
        const bool unpacks = ptx_is(r->text.next, "{");
        read_operands(r, &d);
        if (ptx_is(d.part[0], "ld") || ptx_is(d.part[0], "st"))
            finish_access(r, &d, ptx_is(d.part[0], "ld"));
        else if (ptx_is(d.part[0], "cp") && d.addresses)
            finish_copy(r, &d);
        else if (ptx_is(d.part[0], "wgmma") && d.groups)
            finish_product(r, &d);
        else if (ptx_is(d.part[0], "cvta"))
            finish_conversion(r, &d);
        else if (ptx_is(d.part[0], "mov") && !ptx_is(d.part[1], "pred"))
            finish_move(r, &d, unpacks);
        else
            finish_other(r, &d);
    }
    add_instruction(r, &d);
}

void ptx_end_code(reader *r) {
    draft d = {.name = {"ret", 3, r->text.next.line}};
    finish_other(r, &d);
    add_instruction(r, &d);
}
