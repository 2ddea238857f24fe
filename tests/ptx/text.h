/* Words and signs of PTX. */
#ifndef TESTS_PTX_TEXT_H
#define TESTS_PTX_TEXT_H

#include "ptx/machine.h"

/* A word, a number, a sign, or text in quotes. */
typedef struct ptx_token {
    const char *at;
    int length; /* 0: the end */
    int line;
} ptx_token;

typedef struct ptx_text {
    const char *at; /* after the token that is next */
    int line;
    ptx_token next;
    jmp_buf stop;
    char *why;
} ptx_text;

void ptx_text_open(ptx_text *text, const char *from, char *why);
_Noreturn void ptx_text_fail(ptx_text *text, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

bool ptx_is(ptx_token token, const char *word);
bool ptx_begins(ptx_token token, const char *with);
ptx_token ptx_next(ptx_text *text);                /* the next token, and goes on */
bool ptx_took(ptx_text *text, const char *word);   /* goes on if it is the next */
void ptx_expect(ptx_text *text, const char *word); /* fails if it is not the next */
int64_t ptx_read_number(ptx_text *text);           /* an integer, with its sign */
void ptx_skip_line(ptx_text *text, int line);      /* all that is left of that line */
char *ptx_copy(ptx_text *text, ptx_token token);   /* for the caller to free */
/* A number of any kind: 12, 0x1F, 0f3F800000 (the bits of a float32), 0d... (of a float64). */
bool ptx_number(ptx_token token, ptx_value *value);

#endif
