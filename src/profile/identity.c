/* Reads who wrote a trace: the header, the devices and the chunk headers. It reads chunk headers
 * only, so that a folder of many traces is listed in little time.
 */
#include "profile/identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/hash.h"
#include "base/data/storage.h"
#include "base/text/strings.h"
#include "profile/definitions.h"
#include "trace/schema.h"

#include "base/poison.h"

#define MAX_DEVICES 1024 /* more than a host has: limits what a damaged file can make us keep */

/* ---- Copies ----
 *
 * Tells a copy of a trace from another recording, by hashes of what every file begins with.
 */

static void fingerprint_begin(struct fingerprint *print, const struct mp_trace *trace)
{
    const char *key;
    const char *value;

    *print = (struct fingerprint){.count = 0};
    for (size_t i = 0; mp_trace_property_at(trace, i, &key, &value); i++) {
        print->header = mp_hash64(key, strlen(key), print->header);
        print->header = mp_hash64(value, strlen(value), print->header);
    }
    print->unique = mp_trace_property(trace, "pid") && mp_trace_property(trace, "start_clock_ns");
}

static void fingerprint_take(struct fingerprint *print, const struct mp_chunk *chunk)
{
    const uint64_t facts[] = {chunk->sequence,  chunk->table_id,     chunk->rows,
                              chunk->raw_bytes, chunk->packed_bytes, chunk->first_time,
                              chunk->last_time};
    uint64_t before = print->count ? print->chunks[print->count - 1] : 0;

    if (print->count < FINGERPRINT_CHUNKS)
        print->chunks[print->count++] = mp_hash64(facts, sizeof facts, before);
}

bool fingerprint_is_same(const struct fingerprint *a, const struct fingerprint *b)
{
    uint32_t common = a->count < b->count ? a->count : b->count;

    if (a->header != b->header || a->unique != b->unique)
        return false;
    return a->unique || (common && a->chunks[common - 1] == b->chunks[common - 1]);
}

/* ---- The header ---- */

static enum mp_status copy_property(const struct mp_trace *trace, const char *key,
                                    struct mp_arena *text, const char **copy)
{
    const char *value = mp_trace_property(trace, key);

    if (!value || !*value)
        return MP_OK;
    *copy = mp_arena_copy(text, value, strlen(value));
    return *copy ? MP_OK : MP_ERR_MEMORY;
}

bool property_number(const struct mp_trace *trace, const char *key, uint64_t max, uint64_t *number)
{
    const char *text = mp_trace_property(trace, key);

    return text && mp_text_to_u64(text, 0, max, number);
}

bool property_is(const struct mp_trace *trace, const char *key, const char *value)
{
    const char *text = mp_trace_property(trace, key);

    return text && !strcmp(text, value);
}

static uint64_t number_property(const struct mp_trace *trace, const char *key)
{
    uint64_t number = TRACE_SET_UNKNOWN;

    property_number(trace, key, UINT64_MAX - 1, &number);
    return number;
}

static enum mp_status take_header(const struct mp_trace *trace, struct mp_arena *text,
                                  struct trace_process *process)
{
    uint64_t clock = number_property(trace, "start_clock_ns");
    uint64_t realtime = number_property(trace, "start_realtime_ns");

    process->pid = number_property(trace, "pid");
    process->ppid = number_property(trace, "ppid");
    process->rank = number_property(trace, "rank");
    process->bytes = mp_trace_bytes(trace);
    fingerprint_begin(&process->fingerprint, trace);
    if (clock != TRACE_SET_UNKNOWN && realtime != TRACE_SET_UNKNOWN) {
        process->offset = realtime - clock;
        process->alignment = TRACE_ALIGNED_REALTIME;
    }
    MP_TRY(copy_property(trace, "hostname", text, &process->host));
    MP_TRY(copy_property(trace, "clock", text, &process->clock));
    MP_TRY(copy_property(trace, "argv", text, &process->command));
    return process->command ? MP_OK : copy_property(trace, "executable", text, &process->command);
}

/* ---- Devices ---- */

static struct trace_set_device *find_device(struct trace_process *process, uint64_t ordinal)
{
    for (size_t i = 0; i < process->device_count; i++) {
        if (process->devices[i].ordinal == ordinal)
            return &process->devices[i];
    }
    return NULL;
}

/* A definition may come again; the last one counts. */
static enum mp_status take_devices(struct trace_process *process, const struct mp_batch *batch)
{
    const struct mp_device_columns devices = mp_device_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t ordinal = devices.id[row];
        struct trace_set_device *device = find_device(process, ordinal);

        if (!device) {
            if (process->device_count == MAX_DEVICES)
                return MP_OK;
            MP_TRY(MP_RESERVE(process->devices, process->device_count, process->device_capacity));
            device = &process->devices[process->device_count++];
        }
        *device = (struct trace_set_device){
            .ordinal = ordinal,
            .uuid_high = devices.uuid_high[row],
            .uuid_low = devices.uuid_low[row],
            .name_id = devices.name[row],
        };
    }
    return MP_OK;
}

static enum mp_status name_devices(struct trace_process *process, const struct mp_batch *batch,
                                   struct mp_arena *text)
{
    const struct mp_string_columns string = mp_string_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint32_t begin = row ? batch->text_end[row - 1] : 0;

        for (size_t i = 0; i < process->device_count; i++) {
            struct trace_set_device *device = &process->devices[i];

            if (!device->name_id || device->name_id != string.id[row])
                continue;
            device->name = mp_arena_copy(text, batch->text + begin, batch->text_end[row] - begin);
            if (!device->name)
                return MP_ERR_MEMORY;
        }
    }
    return MP_OK;
}

static bool all_named(const struct trace_process *process)
{
    for (size_t i = 0; i < process->device_count; i++) {
        if (process->devices[i].name_id && !process->devices[i].name)
            return false;
    }
    return true;
}

/* Names stand before the devices in the file, so this is a second pass. It ends as soon as all
 * names are found. */
static enum mp_status find_names(struct mp_cursor *cursor, struct trace_process *process,
                                 struct mp_arena *text)
{
    enum mp_status status = MP_OK;
    struct mp_batch batch;

    if (process->device_count)
        qsort(process->devices, process->device_count, sizeof *process->devices, mp_compare_u64);
    mp_cursor_rewind(cursor);
    cursor_select_only(cursor, MP_TABLE_string, ~0u);
    while (status == MP_OK && !all_named(process)) {
        status = mp_cursor_next(cursor, &batch);
        if (status == MP_OK)
            status = name_devices(process, &batch, text);
    }
    return status == MP_END ? MP_OK : status;
}

/* ---- Chunks ---- */

static void take_chunk(struct trace_process *process, const struct mp_chunk *chunk)
{
    if (chunk->dropped > process->dropped)
        process->dropped = chunk->dropped;
    if (!chunk->table || chunk->table->kind != MP_TABLE_EVENT)
        return;
    process->records += chunk->rows;
    if (chunk->first_time && (!process->first_time || chunk->first_time < process->first_time))
        process->first_time = chunk->first_time;
    if (chunk->last_time > process->last_time)
        process->last_time = chunk->last_time;
}

static enum mp_status walk(struct mp_cursor *cursor, struct trace_process *process)
{
    struct mp_chunk chunk;
    struct mp_batch batch;
    enum mp_status status;

    while ((status = mp_cursor_next_chunk(cursor, &chunk, false)) == MP_OK) {
        fingerprint_take(&process->fingerprint, &chunk);
        take_chunk(process, &chunk);
        if (!chunk.table || chunk.table->id != MP_TABLE_device)
            continue;
        status = mp_cursor_read_chunk(cursor, chunk.offset, &batch);
        if (status == MP_OK)
            status = take_devices(process, &batch);
        if (status != MP_OK && status != MP_ERR_DAMAGED)
            return status;
    }
    mp_cursor_damage(cursor, &process->damage);
    return status == MP_END ? MP_OK : status;
}

static enum mp_status read_chunks(struct mp_trace *trace, struct mp_arena *text,
                                  struct trace_process *process, struct mp_error *error)
{
    struct mp_cursor *cursor;
    struct mp_index index;

    MP_TRY(mp_cursor_open(trace, &cursor, error));
    enum mp_status status = walk(cursor, process);
    if (status == MP_OK)
        status = find_names(cursor, process, text);
    mp_cursor_close(cursor);
    mp_trace_index(trace, &index);
    if (index.dropped > process->dropped)
        process->dropped = index.dropped;
    if (status == MP_OK)
        return MP_OK;
    return mp_error_set(error, status, "cannot read '%.150s': %s", process->path,
                        mp_status_name(status));
}

enum mp_status trace_identity_read(const char *path, struct mp_arena *text,
                                   struct trace_process *process, struct mp_error *error)
{
    struct mp_trace *trace;

    MP_TRY(mp_trace_open(path, &trace, error));
    process->path = mp_arena_copy(text, path, strlen(path));
    enum mp_status status = process->path ? take_header(trace, text, process) : MP_ERR_MEMORY;
    if (status != MP_OK)
        mp_error_set(error, status, "out of memory");
    else
        status = read_chunks(trace, text, process, error);
    mp_trace_close(trace);
    return status;
}
