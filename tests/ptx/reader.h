/* What is known while a module is read. */
#ifndef TESTS_PTX_READER_H
#define TESTS_PTX_READER_H

#include "ptx/text.h"

enum { SOURCES = 64, FUNCTIONS = 64 };

typedef enum symbol_kind { REGISTER, VARIABLE } symbol_kind;

/* REGISTER: `count` of them from operand `at` on, "%r7" in %r<N>, or one of just this name. VARIABLE: of a space, at an
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
    int instructions_n;
    char *sources[SOURCES];
    size_t local_bytes; /* that a thread has for all functions: none calls itself, so each has its own */
};

typedef struct reader {
    ptx_text text;
    ptx_module *module;
    ptx_function *function;
    symbols shared, local, labels; /* of the module; of the function */
    forward *forwards;
    int forwards_n;
    int source, line; /* of the last .loc */
    uint32_t used;    /* of the last .pragma used_bytes_mask, for the load after it; 0: none */
} reader;

#define PTX_FAIL(r, ...) ptx_text_fail(&(r)->text, (r)->text.next.line, __VA_ARGS__)

/* ---- declarations (declarations.c) ---- */

typedef struct type {
    const char *name;
    uint8_t bytes;
    bool is_signed;
} type;

/* Space for one more in an array of `count`: the array, which may have moved. */
void *ptx_grow(reader *r, void *all, size_t count, size_t size);
symbol *ptx_add_symbol(reader *r, symbols *list, symbol what);
/* The last one of this name, which an inner scope may use again; NULL if there is none. */
symbol *ptx_find_symbol(const symbols *list, ptx_token name);
const type *ptx_type_of(ptx_token name); /* "b32"; NULL if there is none */
size_t ptx_rounded_up(size_t x, size_t to);
symbol ptx_read_variable(reader *r); /* [.align N] .type name[count]: name, alignment and bytes */
ptx_operand ptx_new_register(reader *r, uint32_t count);
void ptx_read_registers(reader *r);   /* .reg .type name, ... or name<count>; */
ptx_operand ptx_read_slot(reader *r); /* a .param of a .func or of a call: a register in all but name */
int ptx_read_parameters(reader *r, ptx_parameter *all, int most); /* in (): how many */

/* ---- instructions (operands.c, instructions.c) ---- */

/* A register, a number or the address of a variable; "_": a register that is not read. */
ptx_operand ptx_read_operand(reader *r);
void ptx_read_instruction(reader *r, ptx_token first);
void ptx_end_code(reader *r); /* what the function's last instruction goes on to, should it not return */

#endif
