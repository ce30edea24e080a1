/* Two passes: the work of the device, then the calls that launched what has no times. */
#include "reports/summary/running.h"

#include <stdlib.h>
#include <string.h>

#include "profile/activity.h"
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

static enum mp_status take_row(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct activity_table *source = activity_of(batch->table->id);
    uint64_t start = activity_value(batch->columns, source->start, row);
    uint64_t stream = activity_value(batch->columns, source->stream, row);
    struct pass *pass = context;

    if (start)
        return note_end(pass, stream,
                        start + activity_value(batch->columns, source->duration, row));
    pass->running->items[pass->found++ % MAX_RUNNING] = (struct running_work){
        .source = (enum activity_kind)(source - activity_tables),
        .id = activity_value(batch->columns, source->id, row),
        .stream = stream,
        .correlation = activity_value(batch->columns, source->correlation, row)};
    return MP_OK;
}

static enum mp_status take_call(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_call_columns call = mp_call_columns(batch->columns);
    struct running *running = ((struct pass *)context)->running;

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
        const struct activity_table *source = &activity_tables[item->source];
        const uint64_t *end = dense_at(&pass->ends, item->stream);
        const char *name = source->name(&pass->definitions, NAMES_READABLE, item->id, buffer);

        item->not_before = end && *end > item->launched ? *end : item->launched;
        item->name = strdup(name ? name : source->unnamed ? source->unnamed : "?");
        if (!item->name)
            return MP_ERR_MEMORY;
    }
    return MP_OK;
}

static const struct reading_table work_tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, shape, start, duration, correlation, stream),
     .take_row = take_row},
    {MP_TABLE_copy, MP_MASK(copy, kind, start, duration, correlation, stream),
     .take_row = take_row},
    {MP_TABLE_set, MP_MASK(set, memory, start, duration, correlation, stream),
     .take_row = take_row},
};
static const struct reading_table call_tables[] = {
    {MP_TABLE_call, MP_MASK(call, start, correlation), .take_row = take_call},
};

static enum mp_status read_pass(struct pass *pass, struct mp_trace *trace, bool calls,
                                struct mp_error *error)
{
    struct reading reading = {.trace = trace,
                              .what = "the work that ran at the end",
                              .context = pass,
                              READING_TABLES(work_tables),
                              .definitions = &pass->definitions};

    if (calls) {
        reading.tables = call_tables;
        reading.table_count = sizeof call_tables / sizeof *call_tables;
        reading.definitions = NULL;
    }

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
