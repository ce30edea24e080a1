/* Calls in the order of their threads and times meet the ranges of these threads. */
#include "profile/common/operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/names.h"
#include "profile/definitions.h"
#include "profile/nvtx/open.h"
#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

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
    MP_TRY(mp_reserve((void **)&pass->calls, pass->count, &pass->capacity, sizeof *pass->calls));
    pass->calls[pass->count++] =
        (struct made_call){call.start[row], call.correlation[row], (uint32_t)call.thread[row]};
    return MP_OK;
}

static int by_thread_and_start(const void *a, const void *b)
{
    const struct made_call *x = a;
    const struct made_call *y = b;

    return x->thread != y->thread ? (x->thread < y->thread ? -1 : 1)
                                  : (x->start > y->start) - (x->start < y->start);
}

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

enum mp_status operators_load(struct operators *operators, struct mp_trace *trace,
                              struct mp_error *error)
{
    struct pass pass = {.operators = operators};
    enum mp_status status;

    memset(operators, 0, sizeof *operators);
    definitions_init(&pass.definitions, trace);
    status = read_all(&pass, trace, error);
    definitions_free(&pass.definitions);
    nvtx_open_free(&pass.open);
    mp_map_free(&pass.next);
    free(pass.calls);
    return status == MP_ERR_MEMORY ? mp_error_set(error, status, "out of memory") : status;
}

void operators_free(struct operators *operators)
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

bool operators_of_work(const struct operators *operators, uint64_t correlation, uint64_t node,
                       const char **text, size_t *bytes)
{
    uint32_t number;

    if (find_captured(&operators->captured, node, text, bytes))
        return true;
    number = mp_map_get(&operators->calls, correlation);
    *text = number == MP_MAP_ABSENT ? NULL : mp_intern_get(&operators->names, number, bytes);
    return *text != NULL;
}
