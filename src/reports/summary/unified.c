/* Unified memory by kind and device. CUPTI's counters hold different things by kind in the same
 * fields, so the kinds are told apart here once.
 */
#include "reports/summary/unified.h"

#include <inttypes.h>
#include <stdlib.h>

#include "profile/ranges.h"
#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define NO_DEVICE   UINT64_MAX
#define MAX_DEVICES 1024 /* more cannot be real: they count as unknown */

struct pass {
    struct unified *unified;
    const struct capture_range *range; /* NULL: everything */
};

/* ---- Devices ---- */

static bool is_device(const struct definitions *definitions, uint64_t id)
{
    const struct definition_device *device = dense_at(&definitions->devices, id);

    return device && device->defined;
}

static uint64_t first_device(const struct definitions *definitions, uint64_t one, uint64_t other)
{
    if (is_device(definitions, one))
        return one;
    return is_device(definitions, other) ? other : NO_DEVICE;
}

/* `devices` has a bit for each device that fights for the memory; returns the lowest. */
static uint64_t lowest_device(const struct definitions *definitions, uint64_t bits)
{
    for (uint64_t id = 0; id < 32; id++) {
        if ((bits >> id & 1) && is_device(definitions, id))
            return id;
    }
    return NO_DEVICE;
}

/* The fields of CUpti_ActivityUnifiedMemoryCounter3 say what the ids mean. */
uint64_t unified_device(const struct definitions *definitions, uint64_t kind, uint64_t source,
                        uint64_t target)
{
    switch (kind) {
    case MP_unified_kind_bytes_HtoD:
    case MP_unified_kind_bytes_DtoD:
    case MP_unified_kind_remote_map:
        return first_device(definitions, target, source);
    case MP_unified_kind_thrashing:
        return lowest_device(definitions, source);
    case MP_unified_kind_cpu_page_fault:
        return NO_DEVICE;
    default:
        return first_device(definitions, source, NO_DEVICE);
    }
}

static enum mp_status reach_device(struct unified *unified, uint64_t id,
                                   struct unified_device **device)
{
    const struct definition_device *defined = dense_at(&unified->definitions.devices, id);
    struct unified_device *devices;

    for (size_t i = 0; i < unified->device_count; i++) {
        *device = &unified->devices[i];
        if ((*device)->device == id)
            return MP_OK;
    }
    if (unified->device_count == MAX_DEVICES)
        return MP_OK; /* the last one */
    devices = reallocarray(unified->devices, unified->device_count + 1, sizeof *devices);
    if (!devices)
        return MP_ERR_MEMORY;
    unified->devices = devices;
    *device = &devices[unified->device_count++];
    **device = (struct unified_device){.device = id};
    if (defined && defined->defined)
        (*device)->name = definitions_text(&unified->definitions, defined->name);
    return MP_OK;
}

/* ---- Rows ---- */

/* The row in which a kind is counted; UNIFIED_ROWS: in none. */
static enum unified_row_index row_of(uint64_t kind)
{
    switch (kind) {
    case MP_unified_kind_bytes_HtoD:
        return UNIFIED_TO_DEVICE;
    case MP_unified_kind_bytes_DtoH:
        return UNIFIED_TO_HOST;
    case MP_unified_kind_bytes_DtoD:
        return UNIFIED_DEVICE_TO_DEVICE;
    case MP_unified_kind_gpu_page_fault:
        return UNIFIED_GPU_FAULTS;
    case MP_unified_kind_thrashing:
        return UNIFIED_THRASHES;
    case MP_unified_kind_throttling:
        return UNIFIED_THROTTLES;
    case MP_unified_kind_remote_map:
        return UNIFIED_REMOTE_MAPS;
    default:
        return UNIFIED_ROWS;
    }
}

static void unified_add(struct unified_row *row, uint64_t value, uint64_t duration)
{
    if (!row->count || value < row->min)
        row->min = value;
    if (value > row->max)
        row->max = value;
    row->count++;
    row->total += value;
    row->time += duration;
}

/* Whether the times can be used. Times that cannot are counted. */
static bool times_are_good(struct quality *quality, uint64_t start, uint64_t duration)
{
    quality->unknown_times += !start;
    quality->reversed_times += start && (int64_t)duration < 0;
    return start && (int64_t)duration >= 0;
}

static enum mp_status unified_take_row(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_unified_columns unifieds = mp_unified_columns(batch->columns);
    struct unified *unified = pass->unified;
    uint64_t kind = unifieds.kind[row];
    struct unified_device *device = NULL;

    if (pass->range && !range_has_call(pass->range, unifieds.start[row]))
        return MP_OK;
    if (!times_are_good(&unified->quality, unifieds.start[row], unifieds.duration[row]))
        return MP_OK;
    unified->present = true;
    unified->cpu_faults += kind == MP_unified_kind_cpu_page_fault;
    if (row_of(kind) == UNIFIED_ROWS)
        return MP_OK;
    MP_TRY(reach_device(
        unified,
        unified_device(&unified->definitions, kind, unifieds.source[row], unifieds.target[row]),
        &device));
    unified_add(&device->rows[row_of(kind)], unifieds.value[row], unifieds.duration[row]);
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_unified, MP_MASK(unified, kind, source, target, value, start, duration),
     .take_row = unified_take_row},
};

static enum mp_status unified_run_pass(struct pass *pass, struct mp_trace *trace,
                                       struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the unified memory",
        .context = pass,
        READING_TABLES(tables),
        .quality = &pass->unified->quality,
        .definitions = &pass->unified->definitions,
    };

    return reading_run(&reading, error);
}

/* ---- The whole ---- */

static int unified_compare_devices(const void *left, const void *right)
{
    const struct unified_device *a = left;
    const struct unified_device *b = right;

    return (a->device > b->device) - (a->device < b->device);
}

static void unified_finish(struct unified *unified)
{
    for (size_t i = 0; i < unified->device_count; i++) {
        for (int kind = 0; kind < UNIFIED_ROWS; kind++) {
            struct unified_row *row = &unified->devices[i].rows[kind];
            if (row->count)
                row->mean = (double)row->total / (double)row->count;
        }
    }
    if (unified->device_count)
        qsort(unified->devices, unified->device_count, sizeof *unified->devices,
              unified_compare_devices);
}

enum mp_status unified_build(struct mp_trace *trace, const struct unified_options *options,
                             struct unified *unified, struct mp_error *error)
{
    struct pass pass = {.unified = unified};
    struct capture_ranges ranges;
    enum mp_status status;

    *unified = (struct unified){.device_count = 0};
    definitions_init(&unified->definitions, trace);
    quality_init(&unified->quality, trace);
    status = ranges_open(&ranges, trace, options->range, &pass.range, error);
    unified->capture_ranges = ranges_count(&ranges);
    if (!status)
        status = unified_run_pass(&pass, trace, error);
    ranges_free(&ranges);
    if (status)
        unified_free(unified);
    else
        unified_finish(unified);
    return status;
}

void unified_free(struct unified *unified)
{
    free(unified->devices);
    quality_free(&unified->quality);
    definitions_free(&unified->definitions);
    *unified = (struct unified){.device_count = 0};
}
