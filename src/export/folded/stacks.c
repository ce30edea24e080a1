/* The text of a stack, frame by frame. */
#include "export/folded/stacks.h"

#include <string.h>

#include "base/text/foreign.h"

#include "base/poison.h"

#define MAX_DEPTH 1024 /* of nested ranges of one thread; inner ones are left out */

enum mp_status stacks_open(struct stacks *stacks, struct mp_trace *trace, struct mp_error *error)
{
    const struct nvtx_reading reading = {
        .names = &stacks->names,
        .definitions = &stacks->definitions,
        .quality = &stacks->quality,
    };

    definitions_init(&stacks->definitions, trace);
    MP_TRY(nvtx_spans_load(&stacks->spans, trace, &reading, error));
    MP_TRY(captured_load(&stacks->captured, trace, error));
    return call_stacks_load(&stacks->calls, trace, error);
}

void stacks_close(struct stacks *stacks)
{
    nvtx_spans_free(&stacks->spans);
    captured_free(&stacks->captured);
    call_stacks_free(&stacks->calls);
    mp_buffer_free(&stacks->frame);
    mp_intern_free(&stacks->names);
    definitions_free(&stacks->definitions);
    quality_free(&stacks->quality);
    mp_buffer_free(&stacks->text);
}

void stacks_begin(struct stacks *stacks)
{
    stacks->text.size = 0;
    stacks->innermost = 0;
}

void stacks_add(struct stacks *stacks, const char *name)
{
    size_t begin;

    if (stacks->text.size)
        mp_buffer_append_byte(&stacks->text, ';');
    begin = stacks->text.size;
    mp_buffer_append_text(&stacks->text, name && *name ? name : "(no name)");
    for (size_t i = begin; i < stacks->text.size; i++) {
        if (stacks->text.data[i] == ';')
            stacks->text.data[i] = ':';
    }
    if (stacks->text.size > begin) /* there was memory */
        stacks->text.size =
            begin + foreign_hide((char *)stacks->text.data + begin, stacks->text.size - begin);
}

bool stacks_add_callers(struct stacks *stacks, uint64_t correlation, uint64_t node)
{
    const struct call_stacks *calls = &stacks->calls;
    uint32_t stack = call_stacks_of_work(calls, correlation, node);
    uint32_t chain[CALL_STACKS_DEPTH];
    size_t depth = 0;

    for (; stack && depth < CALL_STACKS_DEPTH; stack = call_stacks_caller(calls, stack))
        chain[depth++] = stack;
    for (size_t i = depth; i-- > 0;) {
        mp_buffer_clear(&stacks->frame);
        call_stacks_put_frame(&stacks->frame, calls, call_stacks_frame(calls, chain[i]), false);
        mp_buffer_append_byte(&stacks->frame, '\0');
        if (stacks->frame.status)
            stacks->text.status = stacks->frame.status;
        else
            stacks_add(stacks, (const char *)stacks->frame.data);
    }
    return depth != 0;
}

static void add_chain(struct stacks *stacks, uint32_t node)
{
    uint32_t kinds[MAX_DEPTH];
    size_t depth = 0;

    for (; node != NVTX_NONE && depth < MAX_DEPTH; node = stacks->spans.nodes[node].parent)
        kinds[depth++] = stacks->spans.nodes[node].kind;
    for (size_t i = depth; i-- > 0;)
        stacks_add(stacks, mp_intern_get(&stacks->names, stacks->spans.kinds[kinds[i]].name, NULL));
    if (depth)
        stacks->innermost = kinds[0] + 1;
}

void stacks_add_ranges(struct stacks *stacks, uint64_t thread, uint64_t begin, uint64_t end)
{
    uint32_t index = mp_map_get(&stacks->spans.thread_index, thread);
    const struct nvtx_thread *in;

    if (index == MP_MAP_ABSENT)
        return;
    in = &stacks->spans.threads[index];
    for (uint32_t i = 0; i < in->lane_count; i++)
        add_chain(stacks, nvtx_spans_find(&stacks->spans, &stacks->spans.lanes[in->first_lane + i],
                                          begin, end));
}

static bool same_text(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

/* Whether a captured range is the innermost one of the launch. */
static bool is_innermost(const struct stacks *stacks, const struct captured_path *path)
{
    const struct nvtx_kind *kind;

    if (!stacks->innermost)
        return false;
    kind = &stacks->spans.kinds[stacks->innermost - 1];
    return same_text(path->name, mp_intern_get(&stacks->names, kind->name, NULL)) &&
           same_text(path->domain,
                     kind->domain ? mp_intern_get(&stacks->names, kind->domain, NULL) : NULL);
}

void stacks_add_captured(struct stacks *stacks, uint64_t node)
{
    const struct captured_node *found = node ? captured_find(&stacks->captured, node) : NULL;
    const char *names[CAPTURED_MAX_DEPTH];
    size_t depth = 0;

    for (uint32_t at = found ? found->path : 0; at && depth < CAPTURED_MAX_DEPTH;) {
        const struct captured_path *path = captured_path(&stacks->captured, at);

        if (is_innermost(stacks, path))
            break;
        names[depth++] = path->name;
        at = path->parent;
    }
    while (depth-- > 0)
        stacks_add(stacks, names[depth]);
}
