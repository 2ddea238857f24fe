/* From text to functions: what is declared, and their instructions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/reader.h"

const char *ptx_source(const ptx_module *module, int source) {
    return source > 0 && source < SOURCES ? module->sources[source] : NULL;
}

ptx_value *ptx_constants(const ptx_module *module) { return module->constants; }

size_t ptx_local_bytes(const ptx_module *module) { return module->local_bytes; }

int ptx_instructions(const ptx_module *module) { return module->instructions_n; }

void ptx_each_instruction(const ptx_module *module, void (*tell)(void *to, const ptx_instruction *i), void *to) {
    for (int k = 0; k < module->functions_n; k++)
        for (int at = 0; at < module->functions[k]->length; at++) tell(to, &module->functions[k]->code[at]);
}

/* ---- functions ---- */

/* .loc source line column ...: without a ; */
static void read_place(reader *r, int line) {
    r->source = (int)ptx_read_number(&r->text);
    r->line = (int)ptx_read_number(&r->text);
    ptx_skip_line(&r->text, line);
}

static void read_pragma(reader *r) {
    const ptx_token pragma = ptx_next(&r->text);
    if (ptx_begins(pragma, "\"used_bytes_mask ")) r->used = (uint32_t)strtoul(pragma.at + 17, NULL, 0);
    ptx_expect(&r->text, ";");
}

static void read_local_variable(reader *r, ptx_space space) {
    symbol v = ptx_read_variable(r);
    ptx_function *f = r->function;
    v.space = space;
    if (space == PTX_LOCAL) {
        const size_t first = ptx_rounded_up(r->module->local_bytes, v.align);
        if (f->local_bytes == 0) f->local_first = first;
        v.address = PTX_LOCAL_BASE + first;
        r->module->local_bytes = first + v.bytes;
        f->local_bytes = r->module->local_bytes - f->local_first;
        ptx_add_symbol(r, &r->local, v);
    } else {
        ptx_add_symbol(r, &r->shared, v);
    }
    ptx_expect(&r->text, ";");
}

static void read_statement(reader *r, ptx_token first) {
    if (ptx_is(first, ".reg")) {
        ptx_read_registers(r);
    } else if (ptx_is(first, ".param")) {
        ptx_read_slot(r);
        ptx_expect(&r->text, ";");
    } else if (ptx_is(first, ".local")) {
        read_local_variable(r, PTX_LOCAL);
    } else if (ptx_is(first, ".shared")) {
        read_local_variable(r, PTX_SHARED);
    } else if (ptx_is(first, ".loc")) {
        read_place(r, first.line);
    } else if (ptx_is(first, ".pragma")) {
        read_pragma(r);
    } else if (ptx_took(&r->text, ":")) {
        ptx_add_symbol(r, &r->labels, (symbol){.name = first, .at = (uint32_t)r->function->length});
    } else {
        ptx_read_instruction(r, first);
    }
}

static void link_labels(reader *r) {
    const int function = r->module->functions_n - 1;
    for (int k = 0; k < r->forwards_n; k++) {
        const forward *f = &r->forwards[k];
        ptx_instruction *i = &r->function->code[f->instruction];
        if (f->function != function || i->run != ptx_branch) continue;
        const symbol *s = ptx_find_symbol(&r->labels, f->name);
        if (!s) ptx_text_fail(&r->text, f->name.line, "no label %.*s", f->name.length, f->name.at);
        i->target = (int)s->at;
    }
}

static void read_body(reader *r) {
    int depth = 1;
    r->source = r->line = 0;
    for (;;) {
        const ptx_token token = ptx_next(&r->text);
        if (token.length == 0) PTX_FAIL(r, "a function without an end");
        if (ptx_is(token, "{"))
            depth++;
        else if (!ptx_is(token, "}"))
            read_statement(r, token);
        else if (--depth == 0)
            break;
    }
    ptx_end_code(r);
    link_labels(r);
    r->function->shared_bytes = ptx_rounded_up(r->function->shared_bytes, 16);
    r->function->is_defined = true;
}

static ptx_function *new_function(reader *r, bool is_entry) {
    ptx_module *m = r->module;
    if (m->functions_n == FUNCTIONS) PTX_FAIL(r, "more than %d functions", FUNCTIONS);
    ptx_function *f = calloc(1, sizeof *f);
    if (!f) PTX_FAIL(r, "no memory");
    f->module = m;
    f->is_entry = is_entry;
    m->functions[m->functions_n++] = f;
    return f;
}

/* .maxntid x, y, z and others that say something of a launch */
static void read_directives(reader *r) {
    while (ptx_begins(r->text.next, ".")) {
        const bool is_limit = ptx_is(ptx_next(&r->text), ".maxntid");
        int64_t product = 1;
        do product *= ptx_read_number(&r->text);
        while (ptx_took(&r->text, ","));
        if (is_limit) r->function->max_threads = product;
    }
}

static void read_function(reader *r, bool is_entry) {
    ptx_function *f = r->function = new_function(r, is_entry);
    r->local.count = r->labels.count = 0;
    if (!is_entry && ptx_is(r->text.next, "(")) ptx_read_parameters(r, &f->result, 1);
    f->name = ptx_copy(&r->text, ptx_next(&r->text));
    if (ptx_is(r->text.next, "(")) f->parameters_n = ptx_read_parameters(r, f->parameters, PTX_PARAMETERS);
    read_directives(r);
    if (ptx_took(&r->text, ";")) return;
    ptx_expect(&r->text, "{");
    read_body(r);
}

/* ---- a module ---- */

static void read_source(reader *r, int line) {
    const int64_t number = ptx_read_number(&r->text);
    const ptx_token name = ptx_next(&r->text);
    if (number > 0 && number < SOURCES && name.length > 2 && !r->module->sources[number])
        r->module->sources[number] = ptx_copy(&r->text, (ptx_token){name.at + 1, name.length - 2, line});
    ptx_skip_line(&r->text, line);
}

static void read_shared(reader *r, bool is_extern) {
    symbol v = ptx_read_variable(r);
    v.space = PTX_SHARED;
    v.is_extern = is_extern;
    ptx_add_symbol(r, &r->shared, v);
    ptx_expect(&r->text, ";");
}

static void skip_section(reader *r) {
    while (r->text.next.length && !ptx_took(&r->text, "}")) ptx_next(&r->text);
}

static void read_declaration(reader *r, ptx_token first) {
    bool is_extern = false;
    while (ptx_is(first, ".extern") || ptx_is(first, ".visible") || ptx_is(first, ".weak")) {
        is_extern |= ptx_is(first, ".extern");
        first = ptx_next(&r->text);
    }
    if (ptx_is(first, ".version") || ptx_is(first, ".target") || ptx_is(first, ".address_size"))
        ptx_skip_line(&r->text, first.line);
    else if (ptx_is(first, ".file"))
        read_source(r, first.line);
    else if (ptx_is(first, ".section"))
        skip_section(r);
    else if (ptx_is(first, ".shared"))
        read_shared(r, is_extern);
    else if (ptx_is(first, ".entry") || ptx_is(first, ".func"))
        read_function(r, ptx_is(first, ".entry"));
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
        const ptx_token token = ptx_next(&r->text);
        if (token.length) read_declaration(r, token);
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
