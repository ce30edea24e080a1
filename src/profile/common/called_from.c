/* Numbers the lines that rows were called from, by their texts. */
#include "profile/common/called_from.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/text/names.h"
#include "profile/definitions.h"
#include "profile/nvtx/open.h"
#include "profile/reading.h"
#include "profile/stacks/where.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Operators ----
 *
 * Calls in the order of their threads and times meet the ranges of these threads.
 */

struct made_call {
    uint64_t start;
    uint64_t correlation;
    uint32_t thread;
};

struct pass {
    struct operators *operators;
    struct definitions definitions;
    struct made_call *calls; /* by thread, then by start */
    size_t count, capacity;
    struct mp_map next; /* thread -> its first call that has not met its ranges */
    struct nvtx_open open;
};

/* ---- Calls ---- */

static enum mp_status take_call(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_call_columns call = mp_call_columns(batch->columns);
    struct pass *pass = context;

    if (!call.correlation[row] || call.thread[row] >= UINT32_MAX || pass->count >= UINT32_MAX - 1)
        return MP_OK;
    MP_TRY(MP_RESERVE(pass->calls, pass->count, pass->capacity));
    pass->calls[pass->count++] =
        (struct made_call){call.start[row], call.correlation[row], (uint32_t)call.thread[row]};
    return MP_OK;
}

MP_COMPARE(by_thread_and_start, struct made_call,
           MP_ORDER(a->thread, b->thread) ?: MP_ORDER(a->start, b->start));

static enum mp_status find_threads(struct pass *pass)
{
    if (pass->count)
        qsort(pass->calls, pass->count, sizeof *pass->calls, by_thread_and_start);
    for (size_t i = 0; i < pass->count; i++)
        if (!i || pass->calls[i].thread != pass->calls[i - 1].thread)
            MP_TRY(mp_map_put(&pass->next, pass->calls[i].thread, (uint32_t)i));
    return MP_OK;
}

/* ---- Ranges ---- */

/* The number of the operator that a thread is in; 0: none. MP_ERR_MEMORY. */
static enum mp_status current_operator(struct pass *pass, uint64_t thread, uint32_t *number)
{
    uint32_t at = mp_map_get(&pass->open.by_thread, thread);
    const struct nvtx_open_thread *of =
        at < pass->open.thread_count ? &pass->open.threads[at] : NULL;

    *number = 0;
    for (size_t i = of ? of->count : 0; i-- > 0;) {
        const char *name = definitions_text(&pass->definitions, of->items[i].name);
        const char *begin;
        size_t bytes;

        if (of->items[i].over || !name || !mp_operator_of(name, &begin, &bytes))
            continue;
        *number = mp_intern_add(&pass->operators->names, begin, bytes);
        return *number ? MP_OK : MP_ERR_MEMORY;
    }
    return MP_OK;
}

/* The calls of a thread before `time` were made in the ranges that are open now. */
static enum mp_status meet(struct pass *pass, uint64_t thread, uint64_t time)
{
    uint32_t at = mp_map_get(&pass->next, thread);
    uint32_t first = at;
    uint32_t number = 0;

    if (at >= pass->count || pass->calls[at].start >= time)
        return MP_OK;
    MP_TRY(current_operator(pass, thread, &number));
    for (; at < pass->count && pass->calls[at].thread == thread && pass->calls[at].start < time;
         at++)
        /* Of calls with one id the first counts, which is the outer one. */
        if (number &&
            mp_map_get(&pass->operators->calls, pass->calls[at].correlation) == MP_MAP_ABSENT)
            MP_TRY(mp_map_put(&pass->operators->calls, pass->calls[at].correlation, number));
    if (at < pass->count && pass->calls[at].thread != thread)
        at = (uint32_t)pass->count; /* it has no more */
    return at == first ? MP_OK : mp_map_put(&pass->next, thread, at);
}

static enum mp_status take_range(void *context, const struct mp_batch *batch, uint32_t row)
{
    const uint64_t time = mp_nvtx_columns(batch->columns).time[row];
    const struct nvtx_event event = nvtx_event_at(batch->columns, row, time);
    struct pass *pass = context;

    MP_TRY(meet(pass, event.thread, event.time));
    return nvtx_open_take(&pass->open, &event, NULL);
}

static enum mp_status read_all(struct pass *pass, struct mp_trace *trace, struct mp_error *error)
{
    static const struct reading_table calls[] = {
        {MP_TABLE_call, MP_MASK(call, thread, start, correlation), .take_row = take_call},
    };
    static const struct reading_table ranges[] = {
        {MP_TABLE_nvtx, NVTX_EVENT_COLUMNS | MP_MASK(nvtx, time), .take_row = take_range},
    };
    const struct reading read_calls = {
        .trace = trace, .what = "the calls", .context = pass, READING_TABLES(calls)};
    const struct reading read_ranges = {.trace = trace,
                                        .what = "the ranges",
                                        .context = pass,
                                        READING_TABLES(ranges),
                                        .definitions = &pass->definitions};
    bool found;

    MP_TRY(captured_load(&pass->operators->captured, trace, error));
    MP_TRY(reading_has_rows(trace, MP_TABLE_nvtx, &found, error));
    if (!found)
        return MP_OK;
    MP_TRY(reading_run(&read_calls, error));
    MP_TRY(find_threads(pass));
    MP_TRY(reading_run(&read_ranges, error));
    for (size_t i = 0; i < pass->count; i++)
        MP_TRY(meet(pass, pass->calls[i].thread, UINT64_MAX));
    return MP_OK;
}

/* Reads them. MP_ERR_IO, MP_ERR_MEMORY; operators_free is needed in any case. */
static enum mp_status operators_load(struct operators *operators, struct mp_trace *trace,
                                     struct mp_error *error)
{
    struct pass pass = {.operators = operators};

    memset(operators, 0, sizeof *operators);
    definitions_init(&pass.definitions, trace);
    enum mp_status status = read_all(&pass, trace, error);
    definitions_free(&pass.definitions);
    nvtx_open_free(&pass.open);
    mp_map_free(&pass.next);
    free(pass.calls);
    return status == MP_ERR_MEMORY ? mp_error_set(error, status, "out of memory") : status;
}

static void operators_free(struct operators *operators)
{
    mp_intern_free(&operators->names);
    mp_map_free(&operators->calls);
    captured_free(&operators->captured);
}

/* Of the ranges around the making of a node. */
static bool find_captured(const struct captured *captured, uint64_t node, const char **text,
                          size_t *bytes)
{
    const struct captured_node *made = node ? captured_find(captured, node) : NULL;

    for (uint32_t path = made ? made->path : 0; path;
         path = captured_path(captured, path)->parent) {
        const char *name = captured_path(captured, path)->name;

        if (name && mp_operator_of(name, text, bytes))
            return true;
    }
    return false;
}

/* The operator of work, not ended by a zero. False: it has none. */
static bool operators_of_work(const struct operators *operators, uint64_t correlation,
                              uint64_t node, const char **text, size_t *bytes)
{
    if (find_captured(&operators->captured, node, text, bytes))
        return true;
    uint32_t number = mp_map_get(&operators->calls, correlation);
    *text = number == MP_MAP_ABSENT ? NULL : mp_intern_get(&operators->names, number, bytes);
    return *text != NULL;
}

/* ---- Lines ---- */

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
    if (callers->by == CALLED_BY_OPERATOR)
        return operator_of(callers, correlation, node, number);
    uint32_t stack = call_stacks_of_work(&callers->stacks, correlation, node);
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
