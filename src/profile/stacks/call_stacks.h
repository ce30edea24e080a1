/* Who called: the stacks of calls, and of nodes of graphs where they were made.
 *
 *     struct call_stacks stacks;
 *     call_stacks_load(&stacks, trace, &error);
 *     uint32_t stack = call_stacks_of_work(&stacks, row_correlation, row_node);
 *     for (; stack; stack = call_stacks_caller(&stacks, stack))
 *         use(call_stacks_frame(&stacks, stack));         // innermost first
 *
 * Stacks form a tree, since a stack is a frame and the stack of its caller. A trace without the
 * tables has none, and nothing is read then but the heads of chunks.
 *
 * Native frames get their functions and lines from the files of this machine (natives.c).
 *
 * Memory: 8 bytes a stack, 16 a frame, 24 a function and its texts, about 30 a call that has a
 * stack.
 */
#ifndef MP_PROFILE_STACKS_CALL_STACKS_H
#define MP_PROFILE_STACKS_CALL_STACKS_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "profile/definitions.h"
#include "profile/dense.h"

#define CALL_STACKS_DEPTH 1024u /* frames that are followed outwards; the recorder takes fewer */

struct stack_code {
    const char *name; /* NULL: unknown */
    const char *file;
};

struct stack_frame {
    uint32_t kind; /* enum mp_frame_kind */
    uint32_t code; /* 0: unknown */
    uint32_t line; /* 0: unknown */
    bool program;  /* native, of the file that was executed, unless that is Python */
};

/* A stack; of ids that the trace does not define `frame` is 0. */
struct stack_link {
    uint32_t caller; /* 0: none */
    uint32_t frame;
    uint32_t depth; /* frames from the outermost one, from 1 */
};

struct call_stacks {
    struct dense codes;  /* of struct stack_code, by id */
    struct dense frames; /* of struct stack_frame */
    struct dense links;  /* of struct stack_link */
    struct mp_map calls; /* correlation id -> stack */
    struct dense nodes;  /* of uint32_t, by id of a row of `node`: its stack */
    struct definitions definitions;
    struct mp_intern natives; /* texts of native functions: name, NUL, file */
    bool has_natives;         /* native frames, and libdw, which names them */
    bool has_symbols;
    uint32_t unnamed_count; /* modules whose file is not here, or is another one */
    const char *unnamed;    /* the first of them */
};

/* Reads them. MP_ERR_IO, MP_ERR_MEMORY; call_stacks_free is needed in any case. */
enum mp_status call_stacks_load(struct call_stacks *stacks, struct mp_trace *trace,
                                struct mp_error *error);
void call_stacks_free(struct call_stacks *stacks);

/* What was asked for (MINIPROF_STACKS, such as "python"); NULL: nothing, or it is not known. */
const char *call_stacks_asked(const struct mp_trace *trace);

/* Whether the trace has any. */
static inline bool call_stacks_has_any(const struct call_stacks *stacks)
{
    return stacks->links.count != 0;
}

/* The stack of a call, by its correlation id; 0: none. */
uint32_t call_stacks_of_call(const struct call_stacks *stacks, uint64_t correlation);

/* The stack of work on the device: that of its node of a graph, if it has one, else that of the
 * call that launched it. */
uint32_t call_stacks_of_work(const struct call_stacks *stacks, uint64_t correlation, uint64_t node);

/* A stack that the trace defines, and its caller, 0: none. */
const struct stack_link *call_stacks_link(const struct call_stacks *stacks, uint32_t stack);
static inline uint32_t call_stacks_caller(const struct call_stacks *stacks, uint32_t stack)
{
    return call_stacks_link(stacks, stack)->caller;
}

/* The innermost frame of a stack; never NULL. call_stacks_code: its function; never NULL. */
const struct stack_frame *call_stacks_frame(const struct call_stacks *stacks, uint32_t stack);
const struct stack_code *call_stacks_code(const struct call_stacks *stacks,
                                          const struct stack_frame *frame);

/* Texts of a frame: `forward (model.py:214)`, with the whole file name if `whole`; `model.py:214`.
 * What is not known is left out. */
void call_stacks_put_frame(struct mp_buffer *text, const struct call_stacks *stacks,
                           const struct stack_frame *frame, bool whole);
void call_stacks_put_place(struct mp_buffer *text, const struct call_stacks *stacks,
                           const struct stack_frame *frame, bool whole);

/* ---- Native frames, while stacks are loaded ----
 *
 * Native frames get functions and lines, so that they are frames like those of Python.
 */

struct native_module {
    const char *path; /* NULL: unknown */
    const char *build_id;
};

struct native_frame {
    uint32_t frame; /* its id */
    uint32_t module;
    uint64_t address; /* where it returns to, in the module's file */
};

/* As the trace has them. */
struct natives {
    struct dense modules; /* of struct native_module, by id */
    struct native_frame *frames;
    size_t count, capacity;
    const char *program; /* the file that was executed; NULL: not known */
};

/* Fills in `code`, `line` and `program` of these frames, with codes after those of the trace.
 * MP_ERR_MEMORY.
 */
enum mp_status natives_name(struct natives *natives, struct call_stacks *stacks);

void natives_free(struct natives *natives);

#endif
