/* Numbers the lines that rows were called from, by their texts. */
#include "profile/common/called_from.h"

#include <string.h>

#include "profile/stacks/where.h"

#include "base/poison.h"

bool called_by_of(const char *word, enum called_by *by)
{
    static const struct {
        const char *word;
        enum called_by by;
    } words[] = {
        {"line", CALLED_BY_LINE},         {"file:line", CALLED_BY_LINE},
        {"function", CALLED_BY_FUNCTION}, {"file", CALLED_BY_FILE},
        {"operator", CALLED_BY_OPERATOR},
    };

    *by = CALLED_BY_NOTHING;
    for (size_t i = 0; word && i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i].word))
            *by = words[i].by;
    return !word || *by != CALLED_BY_NOTHING;
}

static enum mp_status no_stacks(const struct mp_trace *trace, enum called_by by,
                                struct mp_error *error)
{
    const char *asked = call_stacks_asked(trace);

    if (by == CALLED_BY_OPERATOR)
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "no operators in the trace: `miniprof run --operators torch` records "
                            "them");
    if (asked)
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "no stacks in the trace: MINIPROF_STACKS=%s asked for them, but no "
                            "recorded call has one",
                            asked);
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        "no stacks in the trace: `miniprof run --stacks python` records them");
}

enum mp_status called_from_load(struct called_from *callers, struct mp_trace *trace,
                                enum called_by by, struct mp_error *error)
{
    *callers = (struct called_from){.by = by};
    if (by == CALLED_BY_NOTHING)
        return MP_OK;
    MP_TRY(call_stacks_load(&callers->stacks, trace, error));
    if (by == CALLED_BY_OPERATOR) {
        MP_TRY(operators_load(&callers->operators, trace, error));
        if (callers->operators.calls.count || captured_has_any(&callers->operators.captured))
            return MP_OK;
    }
    return call_stacks_has_any(&callers->stacks) ? MP_OK : no_stacks(trace, by, error);
}

void called_from_free(struct called_from *callers)
{
    if (callers->by != CALLED_BY_NOTHING)
        call_stacks_free(&callers->stacks);
    operators_free(&callers->operators);
    mp_map_free(&callers->of_stack);
    mp_intern_free(&callers->texts);
    mp_buffer_free(&callers->buffer);
}

static enum mp_status put_line(struct called_from *callers, uint32_t stack)
{
    struct stack_frame frame =
        *call_stacks_frame(&callers->stacks, call_stacks_own(&callers->stacks, stack));

    mp_buffer_clear(&callers->buffer);
    if (callers->by != CALLED_BY_LINE)
        frame.line = 0;
    if (callers->by == CALLED_BY_FILE)
        call_stacks_put_place(&callers->buffer, &callers->stacks, &frame, false);
    else
        call_stacks_put_frame(&callers->buffer, &callers->stacks, &frame, false);
    return callers->buffer.status;
}

static enum mp_status number_text(struct called_from *callers, const void *text, size_t bytes,
                                  uint32_t *number)
{
    static const char more[] = "<more lines>";

    *number = mp_intern_find(&callers->texts, text, bytes);
    if (!*number)
        *number = callers->texts.count + 2 < CALLED_FROM_MAX
                      ? mp_intern_add(&callers->texts, text, bytes)
                      : mp_intern_add(&callers->texts, more, sizeof more - 1);
    return *number ? MP_OK : MP_ERR_MEMORY;
}

/* Of a stack that is met for the first time. */
static enum mp_status number_of(struct called_from *callers, uint32_t stack, uint32_t *number)
{
    MP_TRY(put_line(callers, stack));
    MP_TRY(number_text(callers, callers->buffer.data, callers->buffer.size, number));
    return mp_map_put(&callers->of_stack, stack, *number);
}

/* ---- Operators ---- */

#define MODULES "/torch/nn/modules/"
#define FORWARD ".forward"

/* The innermost module of torch.nn on the stack; 0: none. MP_ERR_MEMORY. */
static enum mp_status number_of_module(struct called_from *callers, uint32_t stack,
                                       uint32_t *number)
{
    const struct call_stacks *stacks = &callers->stacks;

    for (*number = 0; stack; stack = call_stacks_caller(stacks, stack)) {
        const struct stack_code *code = call_stacks_code(stacks, call_stacks_frame(stacks, stack));
        const char *end = code->name ? strstr(code->name, FORWARD) : NULL;

        if (end && !end[sizeof FORWARD - 1] && code->file && strstr(code->file, MODULES))
            return number_text(callers, code->name, (size_t)(end - code->name), number);
    }
    return MP_OK;
}

static enum mp_status operator_of(struct called_from *callers, uint64_t correlation, uint64_t node,
                                  uint32_t *number)
{
    const char *text;
    size_t bytes;

    if (operators_of_work(&callers->operators, correlation, node, &text, &bytes))
        return number_text(callers, text, bytes, number);
    return number_of_module(callers, call_stacks_of_work(&callers->stacks, correlation, node),
                            number);
}

enum mp_status called_from(struct called_from *callers, uint64_t correlation, uint64_t node,
                           uint32_t *number)
{
    uint32_t stack;

    if (callers->by == CALLED_BY_OPERATOR)
        return operator_of(callers, correlation, node, number);
    stack = call_stacks_of_work(&callers->stacks, correlation, node);
    *number = stack ? mp_map_get(&callers->of_stack, stack) : 0;
    return *number == MP_MAP_ABSENT ? number_of(callers, stack, number) : MP_OK;
}

const char *called_from_text(struct called_from *callers, const char *name, size_t length,
                             uint32_t number)
{
    const char *line = number ? mp_intern_get(&callers->texts, number, NULL) : NULL;

    mp_buffer_clear(&callers->buffer);
    mp_buffer_append(&callers->buffer, name, length);
    mp_buffer_append_text(&callers->buffer, ", from ");
    mp_buffer_append_text(&callers->buffer, line                                ? line
                                            : callers->by == CALLED_BY_OPERATOR ? "<no operator>"
                                                                                : "<no stack>");
    mp_buffer_append_byte(&callers->buffer, '\0');
    return callers->buffer.status ? NULL : (const char *)callers->buffer.data;
}
