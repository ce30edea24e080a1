/* Tallies kernels by device and launch shape in one pass, then turns tallies into rows. Millions
 * of kernels share few shapes, so occupancy is computed once a shape.
 */
#include "reports/kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "base/metrics/compute_capability.h"
#include "profile/common/device_pairs.h"
#include "profile/common/tally.h"
#include "profile/ranges.h"
#include "profile/reading.h"
#include "reports/kernels/rows.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

/* Where a kernel ran, and the line that it was called from. */
struct place {
    uint64_t device;
    uint64_t line;
};

/* Kernels are tallied by pair of device and launch shape, graphs by nothing. */
struct pass {
    const struct kernels_options *options;
    const struct capture_range *range; /* NULL: everything */
    struct kernels *kernels;
    struct summary_slots slots;
    struct called_from callers;
    struct mp_intern places; /* with `by`: struct place, whose number is the slot */
    struct summary_pairs pairs;
    struct tallies tallies; /* by pair */
    struct tallies graphs;  /* by the graph's id */
    struct kernel_time_pass time;
    uint64_t limit; /* ids stay below it */
    uint64_t *ids;  /* of the pairs of a batch's rows */
    size_t id_capacity;
};

/* ---- The pass over the file ---- */

static uint64_t device_of(const struct pass *pass, uint64_t id)
{
    const struct definition_stream *stream = dense_at(&pass->kernels->definitions.streams, id);

    return stream && stream->defined ? stream->device : UINT64_MAX;
}

static enum mp_status place_of(struct pass *pass, const struct mp_batch *batch, uint32_t row,
                               uint32_t *slot)
{
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    struct place place = {.device = device_of(pass, kernel.stream[row])};
    uint32_t line;

    MP_TRY(called_from(&pass->callers, kernel.correlation[row], kernel.node[row], &line));
    place.line = line;
    *slot = mp_intern_find(&pass->places, &place, sizeof place);
    if (!*slot && pass->places.count + 1 >= CALLED_FROM_MAX)
        place.line = 0;
    if (!*slot)
        *slot = mp_intern_add(&pass->places, &place, sizeof place);
    return *slot ? MP_OK : MP_ERR_MEMORY;
}

/* Replaces the shapes of a batch by pairs. A row mostly has the stream and shape of a row just
 * before it, so the search is short. */
static enum mp_status pair_ids(struct pass *pass, const struct mp_batch *batch)
{
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    const uint64_t *streams = kernel.stream;
    const uint64_t *shapes = kernel.shape;
    uint64_t stream = UINT64_MAX;
    uint32_t slot = 0;

    if (batch->rows > pass->id_capacity) {
        uint64_t *ids = reallocarray(pass->ids, batch->rows, sizeof *ids);
        if (!ids)
            return MP_ERR_MEMORY;
        pass->ids = ids;
        pass->id_capacity = batch->rows;
    }
    for (uint32_t row = 0; row < batch->rows; row++) {
        if (pass->options->by) {
            MP_TRY(place_of(pass, batch, row, &slot));
        } else if (streams[row] != stream || !row) {
            stream = streams[row];
            slot = summary_slot(&pass->slots, device_of(pass, stream));
        }
        MP_TRY(summary_pair(&pass->pairs, slot, shapes[row], pass->limit, &pass->ids[row]));
    }
    return MP_OK;
}

static enum mp_status take_kernels(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    struct tally_rows rows = {
        .starts = kernel.start,
        .durations = kernel.duration,
        .correlations = kernel.correlation,
        .count = batch->rows,
    };

    MP_TRY(pair_ids(pass, batch));
    MP_TRY(kernel_time_take(&pass->time, batch, pass->range));
    rows.ids = pass->ids;
    return tallies_add(&pass->tallies, &rows, pass->range);
}

static enum mp_status take_graphs(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;
    const struct mp_graph_columns graph = mp_graph_columns(batch->columns);
    const struct tally_rows rows = {
        .ids = graph.graph,
        .starts = graph.start,
        .durations = graph.duration,
        .correlations = graph.correlation,
        .count = batch->rows,
    };

    return tallies_add(&pass->graphs, &rows, pass->range);
}

static enum mp_status kernels_run_pass(struct pass *pass, struct mp_trace *trace,
                                       struct mp_error *error)
{
    const uint32_t times = kernel_time_columns(pass->range) | MP_MASK(kernel, shape, correlation);
    const struct reading_table tables[] = {
        {MP_TABLE_kernel, times | (pass->options->by ? MP_MASK(kernel, node) : 0),
         .take = take_kernels},
        {MP_TABLE_graph, MP_MASK(graph, graph, start, duration, correlation), .take = take_graphs},
    };
    const struct reading reading = {
        .trace = trace,
        .what = "the kernels",
        .context = pass,
        READING_TABLES(tables),
        .definitions = &pass->kernels->definitions,
        .shapes = &pass->kernels->shapes,
        .quality = &pass->kernels->quality,
    };

    return reading_run(&reading, error);
}

/* ---- From tallies to rows ---- */

static void note_device(struct kernels *kernels, const struct device_limits *device)
{
    const struct compute_capability *known = compute_capability_find(device->major, device->minor);

    if (device->major && (known->major != device->major || known->minor != device->minor)) {
        kernels->unknown_major = device->major;
        kernels->unknown_minor = device->minor;
    }
}

static struct place place_at(const struct pass *pass, uint32_t slot)
{
    struct place place = {.device = UINT64_MAX};
    const char *known = pass->options->by ? mp_intern_get(&pass->places, slot, NULL) : NULL;

    if (!pass->options->by)
        place.device = pass->slots.devices[slot];
    if (known)
        memcpy(&place, known, sizeof place);
    return place;
}

static enum mp_status add_row(struct pass *pass, struct kernels_making *making, size_t pair)
{
    const struct summary_pair *key = &pass->pairs.items[pair];
    const struct launch_shape *shape = shapes_find(&pass->kernels->shapes, key->id);
    struct place place = place_at(pass, key->slot);
    struct kernels_launches launches = {
        .shape_id = key->id,
        .shape = shape,
        .device = place.device,
        .callers = &pass->callers,
        .line = (uint32_t)place.line,
        .tally = dense_at(&pass->tallies.items, pair),
    };

    launches.limits = shapes_device(&pass->kernels->shapes, launches.device);
    if (launches.limits)
        note_device(pass->kernels, launches.limits);
    if (shape && shape_cluster(shape) > 1)
        pass->kernels->cluster_calls += launches.tally->calls;
    return kernels_making_add(making, &launches);
}

static enum mp_status build_rows(struct pass *pass)
{
    struct kernels_making making = {.kernels = pass->kernels, .options = pass->options};
    enum mp_status status = MP_OK;

    for (size_t pair = 0; pair < pass->tallies.items.count && pair < pass->pairs.count; pair++) {
        if (((const struct tally *)dense_at(&pass->tallies.items, pair))->calls && !status)
            status = add_row(pass, &making, pair);
    }
    kernels_making_end(&making);
    return status;
}

static uint64_t count_devices(const struct kernels *kernels)
{
    uint64_t count = 0;

    for (size_t i = 0; i < kernels->row_count; i++) {
        bool is_new = true;

        for (size_t j = 0; j < i && is_new; j++)
            is_new = kernels->rows[j].device != kernels->rows[i].device;
        count += is_new;
        if (count > 1)
            break; /* more than one is all that is asked */
    }
    return count;
}

static enum mp_status kernels_finish(struct pass *pass, struct mp_error *error)
{
    struct kernels *kernels = pass->kernels;
    struct quality *quality = &kernels->quality;
    enum mp_status status = build_rows(pass);

    if (!status)
        status = kernel_time_end(&pass->time);
    if (status)
        return mp_error_set(error, status, "cannot sum the kernels up: %s", mp_status_name(status));
    kernels->device_count = count_devices(kernels);
    kernels->time = pass->time.sums;
    kernels->time.known &= !quality_gap(quality);
    for (size_t i = 0; i < pass->graphs.items.count; i++)
        kernels->graph_launches += ((const struct tally *)dense_at(&pass->graphs.items, i))->calls;
    quality->unknown_times += pass->tallies.unknown_times + pass->graphs.unknown_times;
    quality->reversed_times += pass->tallies.reversed_times + pass->graphs.reversed_times;
    return MP_OK;
}

/* ---- The whole ---- */

static void kernels_begin(struct pass *pass, const struct mp_trace *trace)
{
    struct kernels *kernels = pass->kernels;
    const char *gpu = mp_trace_property(trace, "MINIPROF_GPU");

    *kernels = (struct kernels){.recorded = !gpu || strcmp(gpu, "off") != 0};
    definitions_init(&kernels->definitions, trace);
    shapes_init(&kernels->shapes, trace);
    quality_init(&kernels->quality, trace);
    pass->limit = definitions_limit(trace);
    tallies_init(&pass->tallies, pass->limit);
    tallies_init(&pass->graphs, pass->limit);
    kernel_time_begin(&pass->time, &kernels->definitions, pass->limit);
}

static void kernels_end(struct pass *pass)
{
    tallies_free(&pass->tallies);
    tallies_free(&pass->graphs);
    kernel_time_free(&pass->time);
    called_from_free(&pass->callers);
    mp_intern_free(&pass->places);
    summary_pairs_free(&pass->pairs);
    free(pass->ids);
}

enum mp_status kernels_build(struct mp_trace *trace, const struct kernels_options *options,
                             struct kernels *kernels, struct mp_error *error)
{
    struct pass pass = {.kernels = kernels, .options = options};
    struct capture_ranges ranges;
    enum mp_status status;

    kernels_begin(&pass, trace);
    kernels->quality.only = options->range;
    status = ranges_open(&ranges, trace, options->range, &pass.range, error);
    kernels->capture_ranges = ranges_count(&ranges);
    if (!status)
        status = called_from_load(&pass.callers, trace, options->by, error);
    if (!status)
        status = kernel_time_expect(&pass.time, trace, error);
    if (!status)
        status = kernels_run_pass(&pass, trace, error);
    if (!status)
        status = kernels_finish(&pass, error);
    kernels_end(&pass);
    ranges_free(&ranges);
    if (status)
        kernels_free(kernels);
    return status;
}

void kernels_free(struct kernels *kernels)
{
    free(kernels->rows);
    mp_intern_free(&kernels->names);
    quality_free(&kernels->quality);
    shapes_free(&kernels->shapes);
    definitions_free(&kernels->definitions);
    *kernels = (struct kernels){.row_count = 0};
}

const char *kernels_device_name(const struct kernels *kernels, uint64_t device)
{
    const struct definition_device *found = dense_at(&kernels->definitions.devices, device);

    return found && found->defined ? definitions_text(&kernels->definitions, found->name) : NULL;
}
