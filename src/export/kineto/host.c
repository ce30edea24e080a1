/* What happened on the host: calls, NVTX, waits, host functions, overhead. */
#include <string.h>

#include "base/text/strings.h"
#include "export/kineto/state.h"

#include "base/poison.h"

#define CELL(table, column) (row->columns[MP_COLUMN_##table##_##column][row->index])

static void begin(struct kineto *kineto, const struct export_row *row, char phase,
                  const char *category)
{
    event_begin(&kineto->events, phase, category);
    event_name(&kineto->events, &row->name);
    event_place(&kineto->events, kineto->pid, row->thread ? (int64_t)row->thread->tid : 0);
    event_time(&kineto->events, row->start);
}

/* ---- Calls ---- */

/* Without the event graph: by its name, as Kineto does. */
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
    const struct kineto_function *function =
        dense_at(&kineto->facts.functions, CELL(call, function));
    struct events *events = &kineto->events;

    begin(kineto, row, 'X', function && function->driver ? "cuda_driver" : "cuda_runtime");
    event_duration(events, row->duration);
    event_args(events);
    event_number(events, "cbid", function ? function->cbid : 0);
    if (row->correlation)
        event_number(events, "correlation", row->correlation);
    if (CELL(call, result))
        event_number(events, "result", CELL(call, result));
    event_end(events);
    if (launches(kineto, row))
        write_flow_start(kineto, row);
}

/* ---- NVTX ---- */

static void write_payload(struct events *events, const struct export_row *row)
{
    union {
        uint64_t bits;
        double real;
        float half[2]; /* little endian: the lower one first */
    } payload = {.bits = CELL(nvtx, payload)};

    switch ((enum mp_payload_type)CELL(nvtx, payload_type)) {
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

/* The range on one stream: a nanosecond more on both sides, so that it encloses its work. */
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
        !kineto_launched_project(&kineto->launched, CELL(nvtx, thread), row->start,
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
