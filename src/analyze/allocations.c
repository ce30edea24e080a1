#include "analyze/allocations.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/reserve.h"
#include "base/sort.h"
#include "model/ranges.h"
#include "model/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

#define NO_DEVICE UINT64_MAX
#define MOST_ROWS 4096 /* kinds times devices; more cannot be real: they go into the last one */

/* One allocation or release. CUPTI's buffers need not come in order of time. */
struct event {
    uint64_t time;
    uint64_t address;
    uint64_t bytes;
    uint32_t row; /* of allocations->rows */
    bool release;
};

struct pass {
    struct allocations *allocations;
    const struct capture_range *range; /* NULL: everything */
    struct event *events;
    size_t count, capacity;
    size_t row_capacity;
    uint64_t *live;      /* bytes, by row */
    struct mp_map known; /* address -> event that allocated it */
};

/* ---- Reading ---- */

static enum mp_status reach_row(struct pass *pass, uint64_t kind, uint64_t device, uint32_t *index)
{
    struct allocations *allocations = pass->allocations;
    const struct definition_device *defined;
    struct allocations_row *row;

    if (kind == MP_memory_kind_pageable || kind == MP_memory_kind_pinned)
        device = NO_DEVICE;
    for (size_t i = 0; i < allocations->row_count; i++) {
        row = &allocations->rows[i];
        *index = (uint32_t)i;
        if (row->kind == kind && row->device == device)
            return MP_OK;
    }
    if (allocations->row_count == MOST_ROWS)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&allocations->rows, allocations->row_count, &pass->row_capacity,
                      sizeof *row));
    *index = (uint32_t)allocations->row_count++;
    row = &allocations->rows[*index];
    *row = (struct allocations_row){.kind = kind, .device = device};
    defined = dense_at(&allocations->definitions.devices, device);
    if (defined && defined->defined)
        row->name = definitions_text(&allocations->definitions, defined->name);
    return MP_OK;
}

#define CELL(column) (batch->columns[MP_COLUMN_memory_##column][row])

static enum mp_status take_row(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint64_t operation = CELL(operation);
    struct event event = {.time = CELL(time), .address = CELL(address), .bytes = CELL(bytes)};

    if (pass->range && !range_has_call(pass->range, event.time))
        return MP_OK;
    if (operation != MP_memory_operation_allocate && operation != MP_memory_operation_release)
        return MP_OK;
    if (pass->count >= MP_MAP_ABSENT)
        return MP_ERR_LIMIT;
    event.release = operation == MP_memory_operation_release;
    MP_TRY(reach_row(pass, CELL(kind), CELL(device), &event.row));
    MP_TRY(mp_reserve((void **)&pass->events, pass->count, &pass->capacity, sizeof event));
    pass->events[pass->count++] = event;
    return MP_OK;
}

#undef CELL

static enum mp_status take_batch(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;

    if (batch->table->id == MP_TABLE_memory) {
        for (uint32_t row = 0; row < batch->rows; row++)
            MP_TRY(take_row(pass, batch, row));
        return MP_OK;
    }
    MP_TRY(definitions_take(&pass->allocations->definitions, batch));
    return quality_take(&pass->allocations->quality, batch);
}

static void select_columns(struct mp_cursor *cursor, void *context)
{
    (void)context;
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_string),
                     MP_COLUMN_MASK(string, id) | MP_COLUMN_MASK(string, text));
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_device),
                     MP_COLUMN_MASK(device, id) | MP_COLUMN_MASK(device, name));
    quality_select(cursor);
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_memory),
                     MP_COLUMN_MASK(memory, operation) | MP_COLUMN_MASK(memory, kind) |
                         MP_COLUMN_MASK(memory, device) | MP_COLUMN_MASK(memory, bytes) |
                         MP_COLUMN_MASK(memory, address) | MP_COLUMN_MASK(memory, time));
}

static enum mp_status run_pass(struct pass *pass, struct mp_trace *trace, struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the allocations",
        .context = pass,
        .select = select_columns,
        .take = take_batch,
        .quality = &pass->allocations->quality,
        .definitions = &pass->allocations->definitions,
    };

    return reading_run(&reading, error);
}

/* ---- In order of time ---- */

static void release(struct pass *pass, const struct event *event)
{
    uint32_t allocated = mp_map_get(&pass->known, event->address);

    pass->allocations->rows[event->row].frees++;
    if (allocated == MP_MAP_ABSENT) {
        pass->allocations->rows[event->row].unknown++;
        return;
    }
    pass->live[pass->events[allocated].row] -= pass->events[allocated].bytes;
    mp_map_remove(&pass->known, event->address);
}

static enum mp_status allocate(struct pass *pass, uint32_t index)
{
    const struct event *event = &pass->events[index];
    struct allocations_row *row = &pass->allocations->rows[event->row];
    uint32_t before = mp_map_get(&pass->known, event->address);

    /* The release of what was there is not in the trace. */
    if (before != MP_MAP_ABSENT)
        pass->live[pass->events[before].row] -= pass->events[before].bytes;
    row->allocations++;
    row->bytes += event->bytes;
    pass->live[event->row] += event->bytes;
    if (pass->live[event->row] > row->peak)
        row->peak = pass->live[event->row];
    return mp_map_put(&pass->known, event->address, index);
}

static bool is_before(const void *context, uint32_t a, uint32_t b)
{
    const struct event *events = context;

    return events[a].time < events[b].time;
}

static enum mp_status replay(struct pass *pass, const uint32_t *order)
{
    for (size_t i = 0; i < pass->count; i++) {
        if (pass->events[order[i]].release)
            release(pass, &pass->events[order[i]]);
        else
            MP_TRY(allocate(pass, order[i]));
    }
    for (size_t i = 0; i < pass->allocations->row_count; i++)
        pass->allocations->rows[i].kept = pass->live[i];
    return MP_OK;
}

static int compare_rows(const void *left, const void *right)
{
    const struct allocations_row *a = left;
    const struct allocations_row *b = right;

    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static enum mp_status add_up(struct pass *pass, struct mp_error *error)
{
    struct allocations *allocations = pass->allocations;
    uint32_t *order;
    enum mp_status status = MP_ERR_MEMORY;

    if (!pass->count)
        return MP_OK;
    order = reallocarray(NULL, pass->count, 2 * sizeof *order); /* the rest is mp_sort's */
    pass->live = calloc(allocations->row_count, sizeof *pass->live);
    if (order && pass->live) {
        for (size_t i = 0; i < pass->count; i++)
            order[i] = (uint32_t)i;
        mp_sort(order, pass->count, order + pass->count, is_before, pass->events);
        status = replay(pass, order);
        qsort(allocations->rows, allocations->row_count, sizeof *allocations->rows, compare_rows);
    }
    free(order);
    return status ? mp_error_set(error, status, "cannot add up the allocations: %s",
                                 mp_status_name(status))
                  : MP_OK;
}

/* ---- The whole ---- */

enum mp_status allocations_build(struct mp_trace *trace, const struct allocations_options *options,
                                 struct allocations *allocations, struct mp_error *error)
{
    struct pass pass = {.allocations = allocations};
    struct capture_ranges ranges;
    enum mp_status status;

    *allocations = (struct allocations){.row_count = 0};
    definitions_init(&allocations->definitions, trace);
    quality_init(&allocations->quality, trace);
    ranges_init(&ranges, trace);
    status = ranges_load(&ranges, trace, error);
    if (!status)
        status = ranges_choose(&ranges, options->range, &pass.range, error);
    allocations->capture_ranges = ranges_count(&ranges);
    if (!status)
        status = run_pass(&pass, trace, error);
    if (!status)
        status = add_up(&pass, error);
    ranges_free(&ranges);
    free(pass.events);
    free(pass.live);
    mp_map_free(&pass.known);
    if (status)
        allocations_free(allocations);
    return status;
}

void allocations_free(struct allocations *allocations)
{
    free(allocations->rows);
    quality_free(&allocations->quality);
    definitions_free(&allocations->definitions);
    *allocations = (struct allocations){.row_count = 0};
}
