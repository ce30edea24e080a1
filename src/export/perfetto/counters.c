/* Counters: memory in use, metrics, and what was sampled. Each is a track of the process.
 *
 * In use is what was allocated in the trace and is not released yet. A release of something that
 * was allocated earlier changes nothing, so no counter falls below 0.
 */
#include "export/perfetto/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "export/format.h"
#include "trace/schema.h"

#include "base/poison.h"

struct counter {
    uint64_t uuid;
    uint64_t value; /* of memory in use: bytes */
};

struct allocation {
    uint64_t bytes;
    uint32_t counter;
    uint32_t next_free;
};

/* ---- Tracks ---- */

static void announce(struct process *process, struct counter *counter, const char *name,
                     bool bytes_unit)
{
    struct packets *packets = process->slices.packets;
    size_t at = packet_begin_timeless(packets);
    size_t track = proto_begin(&packets->bytes, PACKET_TRACK);

    counter->uuid = process->slices.next_uuid++;
    proto_uint(&packets->bytes, TRACK_UUID, counter->uuid);
    proto_uint(&packets->bytes, TRACK_PARENT, process->uuid);
    proto_text(&packets->bytes, TRACK_NAME, name);
    size_t described = proto_begin(&packets->bytes, TRACK_COUNTER);
    if (bytes_unit)
        proto_uint(&packets->bytes, COUNTER_UNIT, UNIT_BYTES);
    proto_end(&packets->bytes, described);
    proto_end(&packets->bytes, track);
    packet_end(packets, at);
}

/* Finds the counter of this key; *is_new: it has no track yet. */
static enum mp_status reach(struct process *process, uint64_t key, uint32_t *index, bool *is_new)
{
    *index = mp_map_get(&process->counters, key);
    *is_new = *index == MP_MAP_ABSENT;
    if (!*is_new)
        return MP_OK;
    MP_TRY(MP_RESERVE(process->counter, process->counter_count, process->counter_capacity));
    *index = (uint32_t)process->counter_count;
    MP_TRY(mp_map_put(&process->counters, key, *index));
    process->counter[process->counter_count++] = (struct counter){.uuid = 0};
    return MP_OK;
}

static size_t begin_value(struct packets *packets, const struct counter *counter, uint64_t time,
                          size_t *event)
{
    size_t at = packet_begin(packets, time);

    *event = proto_begin(&packets->bytes, PACKET_TRACK_EVENT);
    proto_uint(&packets->bytes, EVENT_TYPE, EVENT_COUNTER);
    proto_uint(&packets->bytes, EVENT_TRACK, counter->uuid);
    return at;
}

static void write_count(struct packets *packets, const struct counter *counter, uint64_t time)
{
    size_t event;
    size_t at = begin_value(packets, counter, time, &event);

    proto_uint(&packets->bytes, EVENT_COUNT, counter->value);
    proto_end(&packets->bytes, event);
    packet_end(packets, at);
}

/* ---- Memory ---- */

static enum mp_status memory_counter(struct process *process, const struct export_row *row,
                                     uint32_t *index)
{
    const struct mp_row_memory memory = export_row_memory(row);
    uint64_t kind = memory.kind;
    uint64_t device = memory.device;
    const char *what = mp_enum_name("memory_kind", kind);
    bool is_new;
    char name[96];

    MP_TRY(reach(process, (kind & 0xff) << 33 | (device & UINT32_MAX) << 1, index, &is_new));
    if (is_new) {
        snprintf(name, sizeof name, "Memory in use: %s (GPU %" PRIu64 ")", what ? what : "unknown",
                 device);
        announce(process, &process->counter[*index], name, true);
    }
    return MP_OK;
}

/* Finds room for an allocation: an unused item if there is one. */
static enum mp_status new_allocation(struct process *process, uint32_t *index)
{
    *index = process->free_size;
    if (*index != DEPS_NONE) {
        process->free_size = process->sizes[*index].next_free;
        return MP_OK;
    }
    MP_TRY(MP_RESERVE(process->sizes, process->size_count, process->size_capacity));
    *index = (uint32_t)process->size_count++;
    return MP_OK;
}

static void release(struct process *process, uint32_t index, uint64_t address, uint64_t time)
{
    struct allocation *allocation = &process->sizes[index];
    struct counter *counter = &process->counter[allocation->counter];

    mp_map_remove(&process->live, address);
    counter->value -= allocation->bytes;
    allocation->next_free = process->free_size;
    process->free_size = index;
    write_count(process->slices.packets, counter, time);
}

static enum mp_status take_memory(struct process *process, const struct export_row *row)
{
    const struct mp_row_memory memory = export_row_memory(row);
    uint64_t address = memory.address;
    uint32_t index = mp_map_get(&process->live, address);
    uint32_t counter;

    /* What is allocated where something is in use: its release is not in the trace. */
    if (index != MP_MAP_ABSENT)
        release(process, index, address, row->start);
    if (memory.operation != MP_memory_operation_allocate)
        return MP_OK;
    MP_TRY(memory_counter(process, row, &counter));
    MP_TRY(new_allocation(process, &index));
    process->sizes[index] =
        (struct allocation){.bytes = memory.bytes & INT64_MAX, .counter = counter};
    MP_TRY(mp_map_put(&process->live, address, index));
    process->counter[counter].value += process->sizes[index].bytes;
    write_count(process->slices.packets, &process->counter[counter], row->start);
    return MP_OK;
}

/* ---- Metrics ---- */

static enum mp_status take_metric(struct process *process, const struct export_row *row)
{
    const struct mp_row_metric_value metric_value = export_row_metric_value(row);
    struct packets *packets = process->slices.packets;
    uint64_t bits = metric_value.value;
    uint64_t key = metric_value.metric << 1 | 1;
    uint32_t index;
    size_t event;
    double value;
    bool is_new;

    MP_TRY(reach(process, key, &index, &is_new));
    if (is_new)
        announce(process, &process->counter[index], row->name.text ? row->name.text : "metric",
                 false);
    memcpy(&value, &bits, sizeof value);
    size_t at = begin_value(packets, &process->counter[index], row->start, &event);
    proto_double(&packets->bytes, EVENT_VALUE, value);
    proto_end(&packets->bytes, event);
    packet_end(packets, at);
    return MP_OK;
}

/* ---- Samples ---- */

#define SAMPLED (UINT64_C(1) << 63) /* a key of what was sampled */

/* A value holds from the begin of its sample on. */
static enum mp_status take_sample(void *context, const struct export_sample *sample)
{
    struct process *process = context;
    struct packets *packets = process->slices.packets;
    size_t event;
    uint32_t index;
    char name[256];
    bool is_new;

    MP_TRY(reach(process, SAMPLED | sample->counter, &index, &is_new));
    if (is_new) {
        snprintf(name, sizeof name, "%s (GPU %" PRIu64 ")", sample->name, sample->device);
        announce(process, &process->counter[index], name, sample->unit == METRIC_UNIT_BYTES);
    }
    size_t at = begin_value(packets, &process->counter[index], sample->start, &event);
    proto_double(&packets->bytes, EVENT_VALUE, sample->value);
    proto_end(&packets->bytes, event);
    packet_end(packets, at);
    return packets->status;
}

enum mp_status counters_samples(struct perfetto *perfetto, struct mp_error *error)
{
    return export_samples(perfetto->process.of->rows, take_sample, &perfetto->process, error);
}

enum mp_status counters_row(struct perfetto *perfetto, const struct export_row *row)
{
    return row->kind == EXPORT_METRIC ? take_metric(&perfetto->process, row)
                                      : take_memory(&perfetto->process, row);
}

void counters_free(struct process *process)
{
    mp_map_free(&process->counters);
    mp_map_free(&process->live);
    free(process->counter);
    free(process->sizes);
}
