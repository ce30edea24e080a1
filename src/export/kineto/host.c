/* What happened on the host: calls, NVTX, waits, host functions, overhead, and what calls
 * synchronised.
 */
#include "export/kineto/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/strings.h"

#include "base/poison.h"

/* ---- Synchronisation ---- */

/* Calls that wait for the GPU or make it wait (cuda_sync), and records of CUDA events (cuda_event).
 *
 * HTA takes what has a stream for a kernel. A record has the time of its call on the host, so as a
 * kernel it would be in the middle of others and break HTA's critical path. So a record's stream
 * and correlation id have other names; waits name them as Kineto does.
 *
 * A wait for an event names the call that recorded it last. Rows of one thread come in order, and
 * those of another thread may come late; so a record counts only if its correlation id is less than
 * that of the wait. */

#define NO_STREAM UINT32_MAX /* CUPTI_SYNCHRONIZATION_INVALID_VALUE */

static int64_t stream_of(const struct export_row *row)
{
    const struct mp_row_sync sync = export_row_sync(row);

    return sync.stream == NO_STREAM ? -1 : (int64_t)sync.stream;
}

static enum mp_status remember(struct kineto *kineto, const struct export_row *row)
{
    const struct mp_row_sync sync = export_rows_sync(kineto->process->rows, row);
    uint32_t index = mp_map_get(&kineto->records, sync.event);

    if (index == MP_MAP_ABSENT) {
        index = (uint32_t)kineto->record_count;
        MP_TRY(MP_RESERVE(kineto->record_items, kineto->record_count, kineto->record_capacity));
        MP_TRY(mp_map_put(&kineto->records, sync.event, index));
        kineto->record_count++;
    }
    kineto->record_items[index] = (struct kineto_event){
        .correlation = row->correlation,
        .stream = sync.stream,
        .context = sync.context,
    };
    return MP_OK;
}

static void write_awaited(struct kineto *kineto, const struct export_row *row)
{
    const struct mp_row_sync sync = export_row_sync(row);
    struct events *events = &kineto->events;
    uint32_t index = mp_map_get(&kineto->records, sync.event);
    const struct kineto_event *record =
        index == MP_MAP_ABSENT ? NULL : &kineto->record_items[index];

    if (record && record->correlation >= row->correlation)
        record = NULL;
    event_signed(events, "wait_on_stream",
                 record && record->stream != NO_STREAM ? (int64_t)record->stream : -1);
    event_signed(events, "wait_on_cuda_event_record_corr_id",
                 record ? (int64_t)record->correlation : -1);
    event_number(events, "wait_on_cuda_event_id", sync.event);
}

static void write_context(struct kineto *kineto, const struct export_row *row, uint64_t device)
{
    event_number(&kineto->events, "device", device);
    event_number(&kineto->events, "context", export_rows_sync(kineto->process->rows, row).context);
    event_end(&kineto->events);
}

static enum mp_status begin_sync(struct kineto *kineto, const struct export_row *row,
                                 uint64_t device, const char *category, const char *name,
                                 uint64_t duration)
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
    MP_TRY(begin_sync(kineto, row, device, "cuda_event", "Event Record", 0));
    event_number(&kineto->events, "event_id", export_row_sync(row).event);
    event_signed(&kineto->events, "record_stream", stream_of(row));
    event_number(&kineto->events, "record_correlation", row->correlation);
    write_context(kineto, row, device);
    return remember(kineto, row);
}

enum mp_status kineto_write_sync(struct kineto *kineto, const struct export_row *row)
{
    const struct mp_row_sync sync = export_rows_sync(kineto->process->rows, row);
    static const char *const names[] = {
        [MP_sync_kind_event_synchronize] = "Event Sync",
        [MP_sync_kind_stream_wait_event] = "Stream Wait Event",
        [MP_sync_kind_stream_synchronize] = "Stream Sync",
        [MP_sync_kind_context_synchronize] = "Context Sync",
    };
    uint64_t kind = sync.kind;
    uint64_t device = export_rows_device_of(kineto->process->rows, sync.context);

    if (kind == MP_sync_kind_event_record)
        return write_record(kineto, row, device);
    if (kind == MP_sync_kind_unknown || kind >= sizeof names / sizeof *names)
        return MP_OK;
    MP_TRY(begin_sync(kineto, row, device, "cuda_sync", names[kind], row->duration));
    event_word(&kineto->events, "cuda_sync_kind", names[kind]);
    if (kind == MP_sync_kind_event_synchronize || kind == MP_sync_kind_stream_wait_event)
        write_awaited(kineto, row);
    event_signed(&kineto->events, "stream", stream_of(row));
    event_number(&kineto->events, "correlation", row->correlation);
    write_context(kineto, row, device);
    return kineto->events.text.status;
}

static void begin(struct kineto *kineto, const struct export_row *row, char phase,
                  const char *category)
{
    event_begin(&kineto->events, phase, category);
    event_name(&kineto->events, &row->name);
    event_place(&kineto->events, kineto->pid, row->thread ? (int64_t)row->thread->tid : 0);
    event_time(&kineto->events, row->start);
}

/* ---- Calls ---- */

/* Without the event graph the name decides, as in Kineto. */
static bool may_launch(const char *name)
{
    static const char *const launching[] = {"Launch", "Memcpy", "Memset"};

    if (!name)
        return false;
    for (size_t i = 0; i < sizeof launching / sizeof *launching; i++) {
        if (strstr(name, launching[i]))
            return true;
    }
    return false;
}

static bool launches(const struct kineto *kineto, const struct export_row *row)
{
    return row->correlation &&
           (kineto->launched.deps ? row->activity != DEPS_NONE &&
                                        kineto_launched_any(&kineto->launched, row->activity)
                                  : may_launch(row->name.text));
}

static void write_flow_start(struct kineto *kineto, const struct export_row *row)
{
    struct events *events = &kineto->events;

    event_begin(events, 's', "ac2g");
    event_id(events, row->correlation);
    event_place(events, kineto->pid, row->thread ? (int64_t)row->thread->tid : 0);
    event_time(events, row->start);
    event_literal_name(events, "ac2g");
    event_end(events);
}

static void write_call(struct kineto *kineto, const struct export_row *row)
{
    const struct mp_row_call call = export_row_call(row);
    const struct export_function *function =
        export_rows_function(kineto->process->rows, call.function);
    struct events *events = &kineto->events;

    begin(kineto, row, 'X', function && function->driver ? "cuda_driver" : "cuda_runtime");
    event_duration(events, row->duration);
    event_args(events);
    event_number(events, "cbid", function ? function->cbid : 0);
    if (row->correlation)
        event_number(events, "correlation", row->correlation);
    if (call.result)
        event_number(events, "result", call.result);
    event_end(events);
    if (launches(kineto, row))
        write_flow_start(kineto, row);
}

/* ---- NVTX ---- */

static void write_payload(struct events *events, const struct export_row *row)
{
    const struct mp_row_nvtx nvtx = export_row_nvtx(row);
    union {
        uint64_t bits;
        double real;
        float half[2]; /* little endian: the lower one first */
    } payload = {.bits = nvtx.payload};

    switch ((enum mp_payload_type)nvtx.payload_type) {
    case MP_payload_type_uint64:
    case MP_payload_type_uint32:
        event_number(events, "payload", payload.bits);
        break;
    case MP_payload_type_int64:
        event_signed(events, "payload", (int64_t)payload.bits);
        break;
    case MP_payload_type_int32:
        event_signed(events, "payload", (int32_t)payload.bits);
        break;
    case MP_payload_type_double:
        event_real(events, "payload", payload.real);
        break;
    case MP_payload_type_float:
        event_real(events, "payload", payload.half[0]);
        break;
    case MP_payload_type_none:
    default:
        break;
    }
}

static void write_range_args(struct events *events, const struct export_row *row)
{
    event_args(events);
    if (row->domain.text)
        event_text(events, "domain", row->domain.text, row->domain.bytes);
    if (row->open)
        event_word(events, "range", "without an end");
    else if (row->cut)
        event_word(events, "range", "cut");
    write_payload(events, row);
    event_end(events);
}

/* Writes the range on one stream, a nanosecond longer on both sides, so that it encloses its work.
 */
static enum mp_status write_projected(struct kineto *kineto, const struct export_row *row,
                                      const struct deps_lane *lane,
                                      const struct kineto_projected *on)
{
    struct events *events = &kineto->events;

    MP_TRY(kineto_introduce_stream(kineto, lane->device, (int64_t)lane->id));
    event_begin(events, 'X', "gpu_user_annotation");
    event_name(events, &row->name);
    event_place(events, lane->device, (int64_t)lane->id);
    event_time(events, on->begin - 1);
    event_duration(events, on->end - on->begin + 2);
    event_end(events);
    return MP_OK;
}

static bool is_wanted(const struct kineto *kineto, const struct deps_lane *lane)
{
    uint64_t devices = kineto->process->options->devices;

    return !devices || (lane->device < 64 && devices >> lane->device & 1);
}

static enum mp_status write_range_on_gpu(struct kineto *kineto, const struct export_row *row)
{
    const struct deps *deps = kineto->launched.deps;

    if (!deps || !row->start ||
        !kineto_launched_project(&kineto->launched, export_row_nvtx(row).thread, row->start,
                                 row->start + row->duration))
        return MP_OK;
    for (uint32_t i = deps->thread_count; i < deps->lane_count; i++) {
        if (kineto->launched.projected[i].end && is_wanted(kineto, &deps->lanes[i]))
            MP_TRY(write_projected(kineto, row, &deps->lanes[i], &kineto->launched.projected[i]));
    }
    return MP_OK;
}

/* HTA takes the iterations from ranges of this name. */
static bool is_step(const struct export_text *name)
{
    return name->text && mp_text_starts_with(name->text, "ProfilerStep");
}

static enum mp_status write_range(struct kineto *kineto, const struct export_row *row)
{
    begin(kineto, row, 'X', "user_annotation");
    event_duration(&kineto->events, row->duration);
    write_range_args(&kineto->events, row);
    kineto->own_steps |= is_step(&row->name);
    return write_range_on_gpu(kineto, row);
}

static void write_mark(struct kineto *kineto, const struct export_row *row)
{
    begin(kineto, row, 'i', "cpu_instant_event");
    event_literal(&kineto->events, ",\"s\":\"t\"");
    write_range_args(&kineto->events, row);
}

/* ---- The rest ---- */

static void write_other(struct kineto *kineto, const struct export_row *row)
{
    begin(kineto, row, 'X', export_kind_key(row->kind));
    event_duration(&kineto->events, row->duration);
    if (row->kind == EXPORT_HOST_FUNCTION && row->place) {
        event_args(&kineto->events);
        event_number(&kineto->events, "called by stream", row->place->stream);
        event_number(&kineto->events, "called by correlation", row->correlation);
    }
    event_end(&kineto->events);
}

enum mp_status kineto_write_host(struct kineto *kineto, const struct export_row *row)
{
    MP_TRY(kineto_introduce_thread(kineto, row->thread));
    if (row->kind == EXPORT_CALL)
        write_call(kineto, row);
    else if (row->kind == EXPORT_RANGE)
        MP_TRY(write_range(kineto, row));
    else if (row->kind == EXPORT_MARK)
        write_mark(kineto, row);
    else
        write_other(kineto, row);
    return kineto->events.text.status;
}
