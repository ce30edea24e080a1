/* Tells a program's own lines from those of libraries by where Python installs them, and walks two
 * stacks outwards to where they meet. */
#include "model/stacks/where.h"

#include <string.h>

#include "trace/codec/schema.h"

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

uint32_t call_stacks_own(const struct call_stacks *stacks, uint32_t stack)
{
    uint32_t innermost = 0;

    for (uint32_t at = stack; at; at = call_stacks_caller(stacks, at)) {
        const struct stack_frame *frame = call_stacks_frame(stacks, at);
        const struct stack_code *code = call_stacks_code(stacks, frame);

        if (frame->kind != MP_frame_kind_python || !code->file)
            continue;
        if (!is_library(code->file))
            return at;
        if (!innermost)
            innermost = at;
    }
    return innermost ? innermost : stack;
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
