/* Tells a program's own lines from those of libraries by where Python installs them, and walks two
 * stacks outwards to where they meet. */
#include "profile/stacks/where.h"

#include <stdlib.h>
#include <string.h>

#include "trace/schema.h"

#include "base/poison.h"

static bool is_library(const char *file)
{
    static const char *const places[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                         "/lib64/python3"};

    if (file[0] == '<')
        return true;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strstr(file, places[i]))
            return true;
    return false;
}

/* The file of a stack's innermost frame, if that is one of Python; else NULL. */
static const char *python_file(const struct call_stacks *stacks, uint32_t stack)
{
    const struct stack_frame *frame = call_stacks_frame(stacks, stack);

    return frame->kind == MP_frame_kind_python ? call_stacks_code(stacks, frame)->file : NULL;
}

uint32_t call_stacks_own(const struct call_stacks *stacks, uint32_t stack)
{
    uint32_t python = 0;
    uint32_t program = 0;

    for (uint32_t at = stack; at; at = call_stacks_caller(stacks, at)) {
        const char *file = python_file(stacks, at);

        if (file && !is_library(file))
            return at;
        if (file && !python)
            python = at;
        if (call_stacks_frame(stacks, at)->program && !program)
            program = at;
    }
    return python ? python : program ? program : stack;
}

/* Whether the file belongs to an installed package that is not PyTorch. */
static bool is_package(const char *file)
{
    static const char *const places[] = {"/site-packages/", "/dist-packages/"};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *place = strstr(file, places[i]);

        if (place && strncmp(place + strlen(places[i]), "torch/", strlen("torch/")) != 0)
            return true;
    }
    return false;
}

uint32_t call_stacks_package(const struct call_stacks *stacks, uint32_t stack)
{
    uint32_t own = call_stacks_own(stacks, stack);

    for (uint32_t at = stack; at && at != own; at = call_stacks_caller(stacks, at)) {
        const char *file = python_file(stacks, at);

        if (file && is_package(file))
            return at;
    }
    return 0;
}

/* ---- Between two calls ---- */

static bool is_same_function(const struct call_stacks *stacks, uint32_t a, uint32_t b)
{
    const struct stack_frame *x = call_stacks_frame(stacks, a);
    const struct stack_frame *y = call_stacks_frame(stacks, b);

    return x->code && x->code == y->code &&
           call_stacks_caller(stacks, a) == call_stacks_caller(stacks, b);
}

static uint32_t raise_to(const struct call_stacks *stacks, uint32_t stack, uint32_t depth)
{
    while (call_stacks_link(stacks, stack)->depth > depth)
        stack = call_stacks_caller(stacks, stack);
    return stack;
}

uint32_t call_stacks_between(const struct call_stacks *stacks, uint32_t earlier, uint32_t later)
{
    earlier = raise_to(stacks, earlier, call_stacks_link(stacks, later)->depth);
    later = raise_to(stacks, later, call_stacks_link(stacks, earlier)->depth);
    while (earlier && earlier != later && !is_same_function(stacks, earlier, later)) {
        earlier = call_stacks_caller(stacks, earlier);
        later = call_stacks_caller(stacks, later);
    }
    return earlier;
}

/* ---- Frames that are one line to people ----
 *
 * Frames are numbered by their texts, since one function may have several ids in a trace.
 */

/* Texts by their numbers. */
struct alike_key {
    uint32_t kind, file, name, line;
};

static enum mp_status number_text(struct alike *alike, const char *text, uint32_t *number)
{
    *number = text ? mp_intern_add(&alike->texts, text, strlen(text)) : 0;
    return text && !*number ? MP_ERR_MEMORY : MP_OK;
}

enum mp_status alike_number(struct alike *alike, uint32_t kind, const struct stack_code *code,
                            uint32_t line, uint32_t *number)
{
    struct alike_key key = {.kind = kind, .line = line};

    MP_TRY(number_text(alike, code->file, &key.file));
    MP_TRY(number_text(alike, code->name, &key.name));
    *number = mp_intern_add(&alike->keys, &key, sizeof key);
    return *number ? MP_OK : MP_ERR_MEMORY;
}

void alike_free(struct alike *alike)
{
    mp_intern_free(&alike->texts);
    mp_intern_free(&alike->keys);
}

static enum mp_status find_first(const struct call_stacks *stacks, struct alike *alike,
                                 uint32_t *first, uint32_t *of_number)
{
    for (uint32_t i = 1; i < stacks->frames.count; i++) {
        const struct stack_frame *frame = dense_at(&stacks->frames, i);
        uint32_t number;

        MP_TRY(alike_number(alike, frame->kind, call_stacks_code(stacks, frame), frame->line,
                            &number));
        if (!of_number[number])
            of_number[number] = i;
        first[i] = of_number[number];
    }
    return MP_OK;
}

uint32_t *alike_lines(const struct call_stacks *stacks)
{
    uint32_t *first = calloc(stacks->frames.count + 1, sizeof *first);
    uint32_t *of_number = calloc(stacks->frames.count + 1, sizeof *of_number);
    struct alike alike = {.texts = {.count = 0}};

    if (!first || !of_number || find_first(stacks, &alike, first, of_number)) {
        free(first);
        first = NULL;
    }
    alike_free(&alike);
    free(of_number);
    return first;
}
