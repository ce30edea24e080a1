/* Adds up what was allocated and freed, by kind of memory and device: the counts that nvprof's
 * report has.
 */
#include "reports/memory/memory.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/ranges.h"

#include "base/poison.h"

#define MAX_ROWS 4096 /* kinds times devices; more cannot be real: they go into the last one */

/* ---- Counting ---- */

static enum mp_status reach_row(struct allocations_counting *counting,
                                const struct memory_place *place,
                                const struct definitions *definitions, uint32_t *index)
{
    struct allocations_row *row;

    for (size_t i = 0; i < counting->row_count; i++) {
        row = &counting->rows[i];
        *index = (uint32_t)i;
        if (row->kind == place->kind && row->device == place->device)
            return MP_OK;
    }
    if (counting->row_count == MAX_ROWS)
        return MP_OK;
    MP_TRY(MP_RESERVE(counting->rows, counting->row_count, counting->row_capacity));
    *index = (uint32_t)counting->row_count++;
    row = &counting->rows[*index];
    *row = (struct allocations_row){.kind = place->kind,
                                    .device = place->device,
                                    .name = definitions_device(definitions, place->device)};
    return MP_OK;
}

enum mp_status allocations_counting_begin(struct allocations_counting *counting,
                                          const struct memory_events *events,
                                          const struct definitions *definitions)
{
    *counting = (struct allocations_counting){.events = events};
    counting->row_of = calloc(events->place_count + 1, sizeof *counting->row_of);
    if (!counting->row_of)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < events->place_count; i++)
        MP_TRY(reach_row(counting, &events->places[i], definitions, &counting->row_of[i]));
    return MP_OK;
}

static struct allocations_row *row_of(const struct allocations_counting *counting,
                                      const struct memory_event *event)
{
    return &counting->rows[counting->row_of[counting->events->sites[event->site].place]];
}

void allocations_count(struct allocations_counting *counting, const struct memory_change *change)
{
    struct allocations_row *row = row_of(counting, change->event);

    if (change->ended)
        row_of(counting, change->ended)->kept -= change->ended->bytes;
    if (change->event->release) {
        row->frees++;
        row->unknown += !change->ended;
        return;
    }
    row->allocations++;
    row->bytes += change->event->bytes;
    row->kept += change->event->bytes;
    if (row->kept <= row->peak && row->peak_time)
        return;
    row->peak = row->kept;
    row->peak_time = change->event->time;
}

MP_COMPARE(allocations_compare_rows, struct allocations_row,
           MP_ORDER(a->device, b->device) ?: MP_ORDER(a->kind, b->kind));

struct allocations_row *allocations_counting_end(struct allocations_counting *counting,
                                                 size_t *count)
{
    struct allocations_row *rows = counting->rows;

    *count = counting->row_count;
    if (rows)
        qsort(rows, *count, sizeof *rows, allocations_compare_rows);
    free(counting->row_of);
    *counting = (struct allocations_counting){.rows = NULL};
    return rows;
}

/* ---- The whole ---- */

static enum mp_status allocations_add_up(struct allocations *allocations,
                                         const struct memory_events *events, struct mp_error *error)
{
    struct allocations_counting counting;
    struct memory_replay replay;
    struct memory_change change;
    enum mp_status status = memory_replay_begin(&replay, events);

    if (!status)
        status = allocations_counting_begin(&counting, events, &allocations->definitions);
    else
        counting = (struct allocations_counting){.rows = NULL};
    while (!status && (status = memory_replay_next(&replay, &change)) == MP_OK)
        allocations_count(&counting, &change);
    memory_replay_end(&replay);
    allocations->rows = allocations_counting_end(&counting, &allocations->row_count);
    if (status == MP_END)
        return MP_OK;
    return mp_error_set(error, status, "cannot add up the allocations: %s", mp_status_name(status));
}

enum mp_status allocations_build(struct mp_trace *trace, const struct allocations_options *options,
                                 struct allocations *allocations, struct mp_error *error)
{
    struct memory_events_options what = {.range = NULL};
    struct memory_events events = {.count = 0};
    struct capture_ranges ranges;

    *allocations = (struct allocations){.row_count = 0};
    definitions_init(&allocations->definitions, trace);
    quality_init(&allocations->quality, trace);
    enum mp_status status = ranges_open(&ranges, trace, options->range, &what.range, error);
    allocations->capture_ranges = ranges_count(&ranges);
    if (!status)
        status = memory_events_load(&events, trace, &what, &allocations->definitions,
                                    &allocations->quality, error);
    if (!status)
        status = allocations_add_up(allocations, &events, error);
    ranges_free(&ranges);
    memory_events_free(&events);
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
