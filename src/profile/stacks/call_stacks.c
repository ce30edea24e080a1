/* Loads the stacks of a trace in one pass over definitions and calls. */
#include "profile/stacks/call_stacks.h"

#include <inttypes.h>
#include <string.h>

#include "base/data/storage.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

/* A node by the values that identify it in all tables. */
struct node_key {
    uint64_t graph;
    uint64_t graph_node;
};

struct made {
    struct mp_intern keys; /* of nodes whose makers are known */
    struct dense stacks;   /* of uint32_t, by number of the key */
};

struct pass {
    struct call_stacks *stacks;
    struct made made;
    struct natives natives;
};

/* The item with this id; NULL, with MP_OK, for an id that the file does not justify. */
static enum mp_status reach(struct dense *array, uint64_t id, void **item)
{
    enum mp_status status = id && id <= UINT32_MAX ? dense_reach(array, id) : MP_ERR_LIMIT;

    *item = status ? NULL : dense_at(array, id);
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

static uint32_t small(uint64_t value)
{
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static enum mp_status take_code(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct call_stacks *stacks = ((struct pass *)context)->stacks;
    const struct mp_code_columns code = mp_code_columns(batch->columns);
    void *item;

    MP_TRY(reach(&stacks->codes, code.id[row], &item));
    if (item)
        *(struct stack_code *)item =
            (struct stack_code){definitions_text(&stacks->definitions, code.name[row]),
                                definitions_text(&stacks->definitions, code.file[row])};
    return MP_OK;
}

static enum mp_status take_module(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_module_columns module = mp_module_columns(batch->columns);
    const struct definitions *definitions = &pass->stacks->definitions;
    void *item;

    MP_TRY(reach(&pass->natives.modules, module.id[row], &item));
    if (item)
        *(struct native_module *)item =
            (struct native_module){definitions_text(definitions, module.path[row]),
                                   definitions_text(definitions, module.build_id[row])};
    return MP_OK;
}

static enum mp_status take_native(struct natives *natives, const struct mp_batch *batch,
                                  uint32_t row)
{
    const struct mp_frame_columns frame = mp_frame_columns(batch->columns);

    MP_TRY(MP_RESERVE(natives->frames, natives->count, natives->capacity));
    natives->frames[natives->count++] =
        (struct native_frame){small(frame.id[row]), small(frame.module[row]), frame.address[row]};
    return MP_OK;
}

static enum mp_status take_frame(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_frame_columns frame = mp_frame_columns(batch->columns);
    void *item;

    MP_TRY(reach(&pass->stacks->frames, frame.id[row], &item));
    if (!item)
        return MP_OK;
    *(struct stack_frame *)item = (struct stack_frame){
        .kind = small(frame.kind[row]),
        .code = small(frame.code[row]),
        .line = small(frame.line[row]),
    };
    return frame.kind[row] == MP_frame_kind_native ? take_native(&pass->natives, batch, row)
                                                   : MP_OK;
}

/* A caller comes before its stack. If it was lost, the stack becomes an outermost one. */
static enum mp_status take_stack(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct call_stacks *stacks = ((struct pass *)context)->stacks;
    const struct mp_stack_columns stack = mp_stack_columns(batch->columns);
    uint64_t id = stack.id[row];
    uint64_t caller = stack.caller[row];
    void *item;

    MP_TRY(reach(&stacks->links, id, &item));
    if (!item)
        return MP_OK;
    const struct stack_link *below =
        caller && caller < id ? dense_at(&stacks->links, caller) : NULL;
    if (below && (!below->frame || below->depth >= CALL_STACKS_DEPTH))
        below = NULL;
    *(struct stack_link *)item = (struct stack_link){
        .caller = below ? (uint32_t)caller : 0,
        .frame = small(stack.frame[row]),
        .depth = below ? below->depth + 1 : 1,
    };
    return MP_OK;
}

static enum mp_status take_call(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct call_stacks *stacks = ((struct pass *)context)->stacks;
    const struct mp_call_columns call = mp_call_columns(batch->columns);
    uint64_t stack = call.stack[row];

    return stack && stack < UINT32_MAX && call.correlation[row]
               ? mp_map_put(&stacks->calls, call.correlation[row], (uint32_t)stack)
               : MP_OK;
}

static enum mp_status take_captured(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct made *made = &((struct pass *)context)->made;
    const struct mp_captured_columns captured = mp_captured_columns(batch->columns);
    struct node_key key = {captured.graph[row], captured.graph_node[row]};
    uint32_t stack = small(captured.stack[row]);

    if (!stack)
        return MP_OK;
    uint32_t id = mp_intern_add(&made->keys, &key, sizeof key);
    if (!id)
        return MP_ERR_MEMORY;
    MP_TRY(dense_reach(&made->stacks, id));
    *(uint32_t *)dense_at(&made->stacks, id) = stack;
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_code, MP_ALL_COLUMNS, .take_row = take_code},
    {MP_TABLE_frame, MP_ALL_COLUMNS, .take_row = take_frame},
    {MP_TABLE_module, MP_ALL_COLUMNS, .take_row = take_module},
    {MP_TABLE_stack, MP_ALL_COLUMNS, .take_row = take_stack},
    {MP_TABLE_call, MP_MASK(call, correlation, stack), .take_row = take_call},
    {MP_TABLE_captured, MP_MASK(captured, graph, graph_node, stack), .take_row = take_captured},
};

/* Either of a node and its maker may come first in the file. */
static enum mp_status link_nodes(struct pass *pass)
{
    const struct dense *defined = &pass->stacks->definitions.nodes;

    for (size_t i = 0; i < defined->count; i++) {
        const struct definition_node *node = dense_at(defined, i);
        struct node_key key = {node->graph, node->graph_node};
        uint32_t id = node->defined ? mp_intern_find(&pass->made.keys, &key, sizeof key) : 0;

        if (!id)
            continue;
        MP_TRY(dense_reach(&pass->stacks->nodes, i));
        *(uint32_t *)dense_at(&pass->stacks->nodes, i) =
            *(const uint32_t *)dense_at(&pass->made.stacks, id);
    }
    return MP_OK;
}

static enum mp_status load(struct pass *pass, struct mp_trace *trace, struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the stacks",
        .context = pass,
        READING_TABLES(tables),
        .definitions = &pass->stacks->definitions,
        .kept = DEFINITIONS_TEXTS_AND_NODES,
    };

    MP_TRY(reading_run(&reading, error));
    return link_nodes(pass) || natives_name(&pass->natives, pass->stacks)
               ? mp_error_set(error, MP_ERR_MEMORY, "out of memory")
               : MP_OK;
}

enum mp_status call_stacks_load(struct call_stacks *stacks, struct mp_trace *trace,
                                struct mp_error *error)
{
    struct pass pass = {.stacks = stacks,
                        .natives.program = mp_trace_property(trace, "executable")};
    size_t limit = definitions_limit(trace);
    bool found;

    *stacks = (struct call_stacks){.calls = {.count = 0}};
    definitions_init(&stacks->definitions, trace);
    dense_init(&stacks->codes, sizeof(struct stack_code), limit);
    dense_init(&stacks->frames, sizeof(struct stack_frame), limit);
    dense_init(&stacks->links, sizeof(struct stack_link), limit);
    dense_init(&stacks->nodes, sizeof(uint32_t), limit);
    dense_init(&pass.natives.modules, sizeof(struct native_module), limit);
    dense_init(&pass.made.stacks, sizeof(uint32_t), UINT32_MAX);
    MP_TRY(reading_has_rows(trace, MP_TABLE_stack, &found, error));
    if (!found)
        return MP_OK;
    enum mp_status status = load(&pass, trace, error);
    mp_intern_free(&pass.made.keys);
    dense_free(&pass.made.stacks);
    natives_free(&pass.natives);
    return status;
}

const char *call_stacks_asked(const struct mp_trace *trace)
{
    const char *asked = mp_trace_property(trace, "MINIPROF_STACKS");

    return asked && *asked && strcmp(asked, "off") != 0 ? asked : NULL;
}

void call_stacks_free(struct call_stacks *stacks)
{
    dense_free(&stacks->codes);
    dense_free(&stacks->frames);
    dense_free(&stacks->links);
    dense_free(&stacks->nodes);
    mp_map_free(&stacks->calls);
    mp_intern_free(&stacks->natives);
    definitions_free(&stacks->definitions);
}

/* ---- Questions ---- */

/* The stack, if the trace defines it. */
static uint32_t defined(const struct call_stacks *stacks, uint32_t stack)
{
    return call_stacks_link(stacks, stack)->frame ? stack : 0;
}

uint32_t call_stacks_of_call(const struct call_stacks *stacks, uint64_t correlation)
{
    uint32_t stack = mp_map_get(&stacks->calls, correlation);

    return stack == MP_MAP_ABSENT ? 0 : defined(stacks, stack);
}

uint32_t call_stacks_of_work(const struct call_stacks *stacks, uint64_t correlation, uint64_t node)
{
    const uint32_t *maker = node ? dense_at(&stacks->nodes, node) : NULL;

    return maker && *maker ? defined(stacks, *maker) : call_stacks_of_call(stacks, correlation);
}

const struct stack_link *call_stacks_link(const struct call_stacks *stacks, uint32_t stack)
{
    static const struct stack_link none;
    const struct stack_link *link = dense_at(&stacks->links, stack);

    return link ? link : &none;
}

const struct stack_frame *call_stacks_frame(const struct call_stacks *stacks, uint32_t stack)
{
    static const struct stack_frame none;
    const struct stack_frame *frame =
        dense_at(&stacks->frames, call_stacks_link(stacks, stack)->frame);

    return frame ? frame : &none;
}

const struct stack_code *call_stacks_code(const struct call_stacks *stacks,
                                          const struct stack_frame *frame)
{
    static const struct stack_code none;
    const struct stack_code *code = dense_at(&stacks->codes, frame->code);

    return code ? code : &none;
}

/* ---- Texts ---- */

static const char *last_part(const char *file)
{
    const char *slash = strrchr(file, '/');

    return slash && slash[1] ? slash + 1 : file;
}

void call_stacks_put_place(struct mp_buffer *text, const struct call_stacks *stacks,
                           const struct stack_frame *frame, bool whole)
{
    const struct stack_code *code = call_stacks_code(stacks, frame);

    if (frame->kind == MP_frame_kind_cut) {
        mp_buffer_append_text(text, "<more frames>");
        return;
    }
    if (!code->file && !frame->line) {
        mp_buffer_append_text(text, "<unknown>");
        return;
    }
    if (code->file)
        mp_buffer_append_text(text, whole ? code->file : last_part(code->file));
    if (frame->line)
        mp_buffer_append_format(text, ":%" PRIu32, frame->line);
}

void call_stacks_put_frame(struct mp_buffer *text, const struct call_stacks *stacks,
                           const struct stack_frame *frame, bool whole)
{
    const struct stack_code *code = call_stacks_code(stacks, frame);

    if (!code->name) {
        call_stacks_put_place(text, stacks, frame, whole);
        return;
    }
    mp_buffer_append_text(text, code->name);
    if (!code->file && !frame->line)
        return;
    mp_buffer_append_text(text, " (");
    call_stacks_put_place(text, stacks, frame, whole);
    mp_buffer_append_text(text, ")");
}
