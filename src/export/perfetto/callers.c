/* Stacks of calls as Perfetto's callstacks: functions, files, frames and stacks are interned, each
 * once, by the trace's numbers. A stack has its outermost frame first.
 */
#include <stdlib.h>
#include <string.h>

#include "export/perfetto/build.h"

#include "base/poison.h"

enum mp_status callers_begin(struct perfetto *perfetto, struct mp_error *error)
{
    perfetto->process.callers.loaded = true;
    return call_stacks_load(&perfetto->process.callers.stacks, perfetto->process.of->trace, error);
}

void callers_free(struct process *process)
{
    struct callers *callers = &process->callers;

    if (callers->loaded)
        call_stacks_free(&callers->stacks);
    free(callers->names.bits);
    free(callers->frames.bits);
    free(callers->known.bits);
    mp_buffer_free(&callers->text);
    *callers = (struct callers){.loaded = false};
}

static void intern_text(struct packets *packets, unsigned field, uint64_t number, const char *text)
{
    size_t at = proto_begin(&packets->bytes, field);

    proto_uint(&packets->bytes, IID, number);
    packets_text(packets, IID_NAME, text, strlen(text));
    proto_end(&packets->bytes, at);
}

/* The number of a frame's name. Frames without a function have one for each kind, behind the
 * functions. */
static uint64_t intern_name(struct perfetto *perfetto, const struct stack_frame *frame)
{
    struct callers *callers = &perfetto->process.callers;
    const struct stack_code *code = call_stacks_code(&callers->stacks, frame);
    uint64_t number = code->name ? frame->code : callers->stacks.codes.count + 1 + frame->kind % 64;

    if (!number_is_new(&perfetto->packets, &callers->names, number))
        return number;
    mp_buffer_clear(&callers->text);
    if (!code->name)
        call_stacks_put_place(&callers->text, &callers->stacks, frame, false);
    mp_buffer_append_byte(&callers->text, '\0');
    if (callers->text.status)
        return number;
    intern_text(&perfetto->packets, INTERNED_FUNCTIONS, number,
                code->name ? code->name : (const char *)callers->text.data);
    if (code->name && code->file)
        intern_text(&perfetto->packets, INTERNED_SOURCES, number, code->file);
    return number;
}

static void intern_frame(struct perfetto *perfetto, uint32_t stack)
{
    struct callers *callers = &perfetto->process.callers;
    const struct stack_frame *frame = call_stacks_frame(&callers->stacks, stack);
    const struct stack_code *code = call_stacks_code(&callers->stacks, frame);
    struct mp_buffer *bytes = &perfetto->packets.bytes;
    uint64_t number = call_stacks_link(&callers->stacks, stack)->frame;
    uint64_t name;
    size_t at;

    if (!number_is_new(&perfetto->packets, &callers->frames, number))
        return;
    name = intern_name(perfetto, frame);
    at = proto_begin(bytes, INTERNED_FRAMES);
    proto_uint(bytes, IID, number);
    proto_uint(bytes, FRAME_FUNCTION, name);
    if (code->name && code->file)
        proto_uint(bytes, FRAME_SOURCE, name);
    if (frame->line)
        proto_uint(bytes, FRAME_LINE, frame->line);
    proto_end(bytes, at);
}

uint64_t callers_of(struct perfetto *perfetto, uint64_t correlation)
{
    struct callers *callers = &perfetto->process.callers;
    struct packets *packets = &perfetto->packets;
    uint32_t stack = call_stacks_of_call(&callers->stacks, correlation);
    uint32_t chain[CALL_STACKS_DEPTH];
    size_t depth = 0;
    size_t packet, interned, at;

    if (!stack || !number_is_new(packets, &callers->known, stack))
        return stack;
    for (uint32_t of = stack; of && depth < CALL_STACKS_DEPTH;
         of = call_stacks_caller(&callers->stacks, of))
        chain[depth++] = of;
    packet = packet_begin_timeless(packets);
    interned = proto_begin(&packets->bytes, PACKET_INTERNED);
    for (size_t i = 0; i < depth; i++)
        intern_frame(perfetto, chain[i]);
    at = proto_begin(&packets->bytes, INTERNED_CALLSTACKS);
    proto_uint(&packets->bytes, IID, stack);
    while (depth-- > 0)
        proto_uint(&packets->bytes, CALLSTACK_FRAMES,
                   call_stacks_link(&callers->stacks, chain[depth])->frame);
    proto_end(&packets->bytes, at);
    proto_end(&packets->bytes, interned);
    packet_end(packets, packet);
    return stack;
}
