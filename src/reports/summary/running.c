/* Two passes: the work of the device, then the calls that launched what has no times. */
#include "reports/summary/running.h"

#include <stdlib.h>
#include <string.h>

#include "profile/common/sources.h"
#include "profile/dense.h"
#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

struct pass {
    struct running *running;
    struct definitions definitions;
    uint64_t max;
    uint64_t found;    /* rows without times; item i % MAX_RUNNING is the last of them */
    struct dense ends; /* uint64_t, by stream: the greatest end */
};

static const enum source_index work[] = {SOURCE_KERNEL, SOURCE_COPY, SOURCE_SET};

static void select_work(struct mp_cursor *cursor, void *context)
{
    (void)context;
    definitions_select(cursor, false);
    for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
        const struct source *source = &sources[work[i]];

        mp_cursor_select(cursor, mp_table_by_id(source->table),
                         UINT64_C(1) << source->id | UINT64_C(1) << source->start |
                             UINT64_C(1) << source->duration | UINT64_C(1) << source->correlation |
                             UINT64_C(1) << source->stream);
    }
}

static enum mp_status note_end(struct pass *pass, uint64_t stream, uint64_t end)
{
    enum mp_status status = dense_reach(&pass->ends, stream);
    uint64_t *last;

    if (status)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    last = dense_at(&pass->ends, stream);
    *last = end > *last ? end : *last;
    return MP_OK;
}

static enum mp_status take_rows(struct pass *pass, enum source_index index,
                                const struct mp_batch *batch)
{
    const struct source *source = &sources[index];

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t start = batch->columns[source->start][row];
        uint64_t stream = batch->columns[source->stream][row];

        if (start)
            MP_TRY(note_end(pass, stream, start + batch->columns[source->duration][row]));
        else
            pass->running->items[pass->found++ % MAX_RUNNING] =
                (struct running_work){.source = index,
                                      .id = batch->columns[source->id][row],
                                      .stream = stream,
                                      .correlation = batch->columns[source->correlation][row]};
    }
    return MP_OK;
}

static enum mp_status take_work(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;

    for (size_t i = 0; i < sizeof work / sizeof *work; i++)
        if (batch->table->id == sources[work[i]].table)
            return take_rows(pass, work[i], batch);
    return definitions_take(&pass->definitions, batch);
}

static void select_calls(struct mp_cursor *cursor, void *context)
{
    (void)context;
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_call), MP_MASK(call, start, correlation));
}

static enum mp_status take_calls(void *context, const struct mp_batch *batch)
{
    const struct mp_call_columns call = mp_call_columns(batch->columns);
    struct running *running = ((struct pass *)context)->running;

    for (uint32_t row = 0; batch->table->id == MP_TABLE_call && row < batch->rows; row++)
        for (uint32_t i = 0; i < running->count; i++)
            if (running->items[i].correlation == call.correlation[row])
                running->items[i].launched = call.start[row];
    return MP_OK;
}

/* Puts the last ones in the file to the front, in their order. */
static void keep_last(struct pass *pass)
{
    struct running *running = pass->running;
    struct running_work items[MAX_RUNNING];
    uint64_t count = pass->found < pass->max ? pass->found : pass->max;

    count = count < MAX_RUNNING ? count : MAX_RUNNING;
    for (uint64_t i = 0; i < count; i++)
        items[i] = running->items[(pass->found - count + i) % MAX_RUNNING];
    memcpy(running->items, items, count * sizeof *items);
    running->count = (uint32_t)count;
}

static enum mp_status finish(struct pass *pass)
{
    char buffer[NAMES_BYTES];

    for (uint32_t i = 0; i < pass->running->count; i++) {
        struct running_work *item = &pass->running->items[i];
        const struct source *source = &sources[item->source];
        const uint64_t *end = dense_at(&pass->ends, item->stream);
        const char *name = source->name(&pass->definitions, NAMES_READABLE, item->id, buffer);

        item->not_before = end && *end > item->launched ? *end : item->launched;
        item->name = strdup(name ? name : source->unnamed ? source->unnamed : "?");
        if (!item->name)
            return MP_ERR_MEMORY;
    }
    return MP_OK;
}

static enum mp_status read_pass(struct pass *pass, struct mp_trace *trace, bool calls,
                                struct mp_error *error)
{
    const struct reading reading = {.trace = trace,
                                    .what = "the work that ran at the end",
                                    .context = pass,
                                    .select = calls ? select_calls : select_work,
                                    .take = calls ? take_calls : take_work};

    return reading_run(&reading, error);
}

enum mp_status running_build(struct mp_trace *trace, uint64_t max, struct running *running,
                             struct mp_error *error)
{
    struct pass pass = {.running = running, .max = max};
    enum mp_status status;

    *running = (struct running){.count = 0};
    if (!max)
        return MP_OK;
    definitions_init(&pass.definitions, trace);
    dense_init(&pass.ends, sizeof(uint64_t), definitions_limit(trace));
    status = read_pass(&pass, trace, false, error);
    keep_last(&pass);
    if (!status)
        status = read_pass(&pass, trace, true, error);
    if (!status && finish(&pass))
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    dense_free(&pass.ends);
    definitions_free(&pass.definitions);
    return status;
}

void running_free(struct running *running)
{
    for (uint32_t i = 0; i < running->count; i++)
        free(running->items[i].name);
    running->count = 0;
}
