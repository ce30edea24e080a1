/* Definitions that rows refer to: a pass over those that the rows of an export do not carry, and
 * the metadata events that name processes, GPUs, threads and streams.
 */
#include "export/kineto/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "profile/definitions.h"
#include "profile/reading.h"

#include "base/poison.h"

#define CELL(table, column) (batch->columns[MP_COLUMN_##table##_##column][row])
#define ALL_COLUMNS         UINT32_MAX

static const char *const wanted[] = {"device", "stream", "context_info", "stream_info", "function"};

static void select_tables(struct mp_cursor *cursor, void *context)
{
    (void)context;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        mp_cursor_select(cursor, mp_table_by_name(wanted[i]), ALL_COLUMNS);
}

static enum mp_status take_device(struct kineto_facts *facts, const struct mp_batch *batch,
                                  uint32_t row)
{
    struct mp_row_device *device;

    if (kineto_facts_device(facts, CELL(device, id)))
        return MP_OK;
    MP_TRY(mp_reserve((void **)&facts->devices, facts->device_count, &facts->device_capacity,
                      sizeof *facts->devices));
    device = &facts->devices[facts->device_count++];
#define TAKE_CELL(table, id, name, type, unit, codec, doc) .name = CELL(table, name),
    *device = (struct mp_row_device){MP_COLUMNS_device(TAKE_CELL)};
#undef TAKE_CELL
    return MP_OK;
}

static uint64_t priority_key(uint64_t context, uint64_t stream)
{
    return context << 32 ^ stream;
}

static enum mp_status take_function(struct kineto_facts *facts, const struct mp_batch *batch,
                                    uint32_t row)
{
    enum mp_status status = dense_reach(&facts->functions, CELL(function, id));

    if (status == MP_OK)
        *(struct kineto_function *)dense_at(&facts->functions, CELL(function, id)) =
            (struct kineto_function){.cbid = (uint32_t)CELL(function, cbid),
                                     .driver = CELL(function, api) == MP_api_driver};
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

static enum mp_status take_row(struct kineto_facts *facts, const struct mp_batch *batch,
                               uint32_t row)
{
    switch (batch->table->id) {
    case MP_TABLE_device:
        return take_device(facts, batch, row);
    case MP_TABLE_stream:
        return mp_map_put(&facts->contexts, CELL(stream, context),
                          (uint32_t)CELL(stream, device) & INT32_MAX);
    case MP_TABLE_context_info:
        return mp_map_put(&facts->contexts, CELL(context_info, context),
                          (uint32_t)CELL(context_info, device) & INT32_MAX);
    case MP_TABLE_stream_info:
        return mp_map_put(
            &facts->priorities, priority_key(CELL(stream_info, context), CELL(stream_info, stream)),
            (uint32_t)(CELL(stream_info, priority) + KINETO_PRIORITY_ZERO) & INT32_MAX);
    default:
        return take_function(facts, batch, row);
    }
}

static enum mp_status take_batch(void *context, const struct mp_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++)
        MP_TRY(take_row(context, batch, row));
    return MP_OK;
}

enum mp_status kineto_facts_load(struct kineto_facts *facts, struct mp_trace *trace,
                                 struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the definitions",
        .context = facts,
        .select = select_tables,
        .take = take_batch,
    };

    dense_init(&facts->functions, sizeof(struct kineto_function), definitions_limit(trace));
    return reading_run(&reading, error);
}

void kineto_facts_free(struct kineto_facts *facts)
{
    free(facts->devices);
    mp_map_free(&facts->contexts);
    mp_map_free(&facts->priorities);
    dense_free(&facts->functions);
}

const struct mp_row_device *kineto_facts_device(const struct kineto_facts *facts, uint64_t ordinal)
{
    for (size_t i = 0; i < facts->device_count; i++) {
        if (facts->devices[i].id == ordinal)
            return &facts->devices[i];
    }
    return NULL;
}

uint64_t kineto_facts_device_of(const struct kineto_facts *facts, uint64_t context)
{
    uint32_t device = mp_map_get(&facts->contexts, context);

    return device == MP_MAP_ABSENT ? 0 : device;
}

bool kineto_facts_priority(const struct kineto_facts *facts, uint64_t context, uint64_t stream,
                           int64_t *priority)
{
    uint32_t found = mp_map_get(&facts->priorities, priority_key(context, stream));

    if (found == MP_MAP_ABSENT)
        return false;
    *priority = (int64_t)found - KINETO_PRIORITY_ZERO;
    return true;
}

uint64_t kineto_rank(const struct trace_set *set, size_t number)
{
    uint64_t rank = set->processes[number].rank;

    return rank == TRACE_SET_UNKNOWN ? number : rank;
}

/* ---- Names and order ---- */

/* Metadata events: how viewers call processes, GPUs, threads and streams, and in which order these
 * stand. Each is written where its first event comes. */

#define GPU_SORT_INDEX 16777216 /* Kineto's: GPUs stand behind all processes */
#define SYNC_ROWS      1000000  /* greater than streams of any program */
#define NAME_BYTES     96

enum introduced { THREAD, DEVICE, STREAM };

/* Whether it is the first time. */
static enum mp_status is_first(struct kineto *kineto, enum introduced kind, uint64_t number,
                               bool *first)
{
    uint64_t key = (uint64_t)kind << 62 | (number & INT64_MAX);

    *first = mp_map_get(&kineto->introduced, key) == MP_MAP_ABSENT;
    return *first ? mp_map_put(&kineto->introduced, key, 0) : MP_OK;
}

static void begin_metadata(struct kineto *kineto, const char *what, uint64_t process,
                           int64_t thread)
{
    event_begin(&kineto->events, 'M', NULL);
    event_literal_name(&kineto->events, what);
    event_place(&kineto->events, process, thread);
    event_time(&kineto->events, kineto->process->who->first_time);
    event_args(&kineto->events);
}

static void tell_text(struct kineto *kineto, const char *what, uint64_t process, int64_t thread,
                      const char *key, const char *text)
{
    begin_metadata(kineto, what, process, thread);
    event_text(&kineto->events, key, text, strlen(text));
    event_end(&kineto->events);
}

static void tell_order(struct kineto *kineto, const char *what, uint64_t process, int64_t thread,
                       uint64_t order)
{
    begin_metadata(kineto, what, process, thread);
    event_number(&kineto->events, "sort_index", order);
    event_end(&kineto->events);
}

static const char *command_of(const struct kineto *kineto)
{
    const char *command = kineto->process->who->command;

    return command ? command : "program";
}

enum mp_status kineto_introduce_process(struct kineto *kineto)
{
    tell_text(kineto, "process_name", kineto->pid, 0, "name", command_of(kineto));
    tell_text(kineto, "process_labels", kineto->pid, 0, "labels", "CPU");
    tell_order(kineto, "process_sort_index", kineto->pid, 0, 0);
    return kineto->events.text.status;
}

static enum mp_status introduce_device(struct kineto *kineto, uint64_t device)
{
    char label[NAME_BYTES];
    bool first;

    MP_TRY(is_first(kineto, DEVICE, device, &first));
    if (!first)
        return MP_OK;
    snprintf(label, sizeof label, "GPU %" PRIu64, device);
    tell_text(kineto, "process_name", device, 0, "name", command_of(kineto));
    tell_text(kineto, "process_labels", device, 0, "labels", label);
    tell_order(kineto, "process_sort_index", device, 0, GPU_SORT_INDEX + device);
    return kineto->events.text.status;
}

enum mp_status kineto_introduce_thread(struct kineto *kineto, const struct export_thread *thread)
{
    char name[NAME_BYTES + 256];
    bool first;

    if (!thread)
        return MP_OK;
    MP_TRY(is_first(kineto, THREAD, thread->id, &first));
    if (!first)
        return MP_OK;
    if (thread->name.text)
        snprintf(name, sizeof name, "thread %" PRIu64 " (%.256s)", thread->tid, thread->name.text);
    else
        snprintf(name, sizeof name, "thread %" PRIu64, thread->tid);
    tell_text(kineto, "thread_name", kineto->pid, (int64_t)thread->tid, "name", name);
    tell_order(kineto, "thread_sort_index", kineto->pid, (int64_t)thread->tid, thread->tid);
    return kineto->events.text.status;
}

int64_t kineto_sync_row(int64_t stream)
{
    return (int64_t)(SYNC_ROWS + (uint64_t)stream); /* of a damaged trace it may be any number */
}

static void name_stream(char name[NAME_BYTES], int64_t row)
{
    if (row >= SYNC_ROWS)
        snprintf(name, NAME_BYTES, "waits for stream %" PRId64, row - SYNC_ROWS);
    else if (row == kineto_sync_row(-1))
        snprintf(name, NAME_BYTES, "waits for events and the device");
    else
        snprintf(name, NAME_BYTES, "stream %" PRId64 " ", row);
}

enum mp_status kineto_introduce_stream(struct kineto *kineto, uint64_t device, int64_t row)
{
    char name[NAME_BYTES];
    bool first;

    MP_TRY(is_first(kineto, STREAM, device << 40 ^ (uint64_t)row, &first));
    if (!first)
        return MP_OK;
    MP_TRY(introduce_device(kineto, device));
    name_stream(name, row);
    tell_text(kineto, "thread_name", device, row, "name", name);
    tell_order(kineto, "thread_sort_index", device, row, (uint64_t)row);
    return kineto->events.text.status;
}
