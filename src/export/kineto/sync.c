/* Calls that wait for the GPU or make it wait (cuda_sync), and records of CUDA events (cuda_event).
 *
 * HTA takes what has a stream for a kernel. A record has the time of its call on the host, so as a
 * kernel it would stand in the middle of others and break HTA's critical path. So stream and
 * correlation id of a record have names of their own; waits name them as Kineto does.
 *
 * A wait for an event names the call that recorded it last. Rows of one thread come in order, and
 * those of another thread may come late; so a record counts only if its correlation id is less than
 * that of the wait. */
#include <stdlib.h>

#include "base/data/reserve.h"
#include "export/kineto/state.h"

#include "base/poison.h"

#define CELL(table, column) (row->columns[MP_COLUMN_##table##_##column][row->index])
#define NO_STREAM           UINT32_MAX /* CUPTI_SYNCHRONIZATION_INVALID_VALUE */

static int64_t stream_of(const struct export_row *row)
{
    return CELL(sync, stream) == NO_STREAM ? -1 : (int64_t)CELL(sync, stream);
}

static enum mp_status remember(struct kineto *kineto, const struct export_row *row)
{
    uint32_t index = mp_map_get(&kineto->records, CELL(sync, event));

    if (index == MP_MAP_ABSENT) {
        index = (uint32_t)kineto->record_count;
        MP_TRY(mp_reserve((void **)&kineto->record_items, kineto->record_count,
                          &kineto->record_capacity, sizeof *kineto->record_items));
        MP_TRY(mp_map_put(&kineto->records, CELL(sync, event), index));
        kineto->record_count++;
    }
    kineto->record_items[index] = (struct kineto_event){
        .correlation = row->correlation,
        .stream = CELL(sync, stream),
        .context = CELL(sync, context),
    };
    return MP_OK;
}

static void write_awaited(struct kineto *kineto, const struct export_row *row)
{
    struct events *events = &kineto->events;
    uint32_t index = mp_map_get(&kineto->records, CELL(sync, event));
    const struct kineto_event *record =
        index == MP_MAP_ABSENT ? NULL : &kineto->record_items[index];

    if (record && record->correlation >= row->correlation)
        record = NULL;
    event_signed(events, "wait_on_stream",
                 record && record->stream != NO_STREAM ? (int64_t)record->stream : -1);
    event_signed(events, "wait_on_cuda_event_record_corr_id",
                 record ? (int64_t)record->correlation : -1);
    event_number(events, "wait_on_cuda_event_id", CELL(sync, event));
}

static void write_context(struct kineto *kineto, const struct export_row *row, uint64_t device)
{
    event_number(&kineto->events, "device", device);
    event_number(&kineto->events, "context", CELL(sync, context));
    event_end(&kineto->events);
}

static enum mp_status begin(struct kineto *kineto, const struct export_row *row, uint64_t device,
                            const char *category, const char *name, uint64_t duration)
{
    struct events *events = &kineto->events;
    int64_t at = kineto_sync_row(stream_of(row));

    MP_TRY(kineto_introduce_stream(kineto, device, at));
    event_begin(events, 'X', category);
    event_literal_name(events, name);
    event_place(events, device, at);
    event_time(events, row->start);
    event_duration(events, duration);
    event_args(events);
    return MP_OK;
}

static enum mp_status write_record(struct kineto *kineto, const struct export_row *row,
                                   uint64_t device)
{
    MP_TRY(begin(kineto, row, device, "cuda_event", "Event Record", 0));
    event_number(&kineto->events, "event_id", CELL(sync, event));
    event_signed(&kineto->events, "record_stream", stream_of(row));
    event_number(&kineto->events, "record_correlation", row->correlation);
    write_context(kineto, row, device);
    return remember(kineto, row);
}

enum mp_status kineto_write_sync(struct kineto *kineto, const struct export_row *row)
{
    static const char *const names[] = {
        [MP_sync_kind_event_synchronize] = "Event Sync",
        [MP_sync_kind_stream_wait_event] = "Stream Wait Event",
        [MP_sync_kind_stream_synchronize] = "Stream Sync",
        [MP_sync_kind_context_synchronize] = "Context Sync",
    };
    uint64_t kind = CELL(sync, kind);
    uint64_t device = kineto_facts_device_of(&kineto->facts, CELL(sync, context));

    if (kind == MP_sync_kind_event_record)
        return write_record(kineto, row, device);
    if (kind == MP_sync_kind_unknown || kind >= sizeof names / sizeof *names)
        return MP_OK;
    MP_TRY(begin(kineto, row, device, "cuda_sync", names[kind], row->duration));
    event_word(&kineto->events, "cuda_sync_kind", names[kind]);
    if (kind == MP_sync_kind_event_synchronize || kind == MP_sync_kind_stream_wait_event)
        write_awaited(kineto, row);
    event_signed(&kineto->events, "stream", stream_of(row));
    event_number(&kineto->events, "correlation", row->correlation);
    write_context(kineto, row, device);
    return kineto->events.text.status;
}
