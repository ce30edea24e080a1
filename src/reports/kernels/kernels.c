/* Tallies kernels by device, SMs and launch shape in one pass, then turns tallies into rows.
 * Millions of kernels share few shapes, so occupancy is computed once a shape.
 */
#include "reports/kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/activity.h"
#include "profile/common/tally.h"
#include "profile/identity.h"
#include "profile/names/kernel_kinds.h"
#include "profile/ranges.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- Rows of the result in the making ----
 *
 * Launches that differ in what a row does not show become one row; a value in which they differ is
 * marked as not one value.
 */

/* The launches of one shape with the same SMs. */
struct kernels_launches {
    uint64_t shape_id;
    const struct launch_shape *shape;   /* NULL: not defined */
    uint64_t device;                    /* ordinal; UINT64_MAX: unknown */
    const struct device_limits *limits; /* with the SMs that they could use; NULL: unknown */
    const struct tally *tally;          /* has calls */
    struct called_from *callers;        /* with `by`, and the line */
    uint32_t line;
};

/* The sums of a row, kept next to the row. */
struct kernels_sums {
    struct tally tally;
    double percent, waves; /* times ns */
    uint64_t known;        /* ns of the shapes whose occupancy is known */
    uint64_t max,
        largest_known; /* ns of the shape with most time among those whose occupancy is known */
    uint32_t row;
};

struct kernels_making {
    struct kernels *kernels;
    const struct kernels_options *options;
    struct kernels_sums *sums; /* of each row */
    size_t row_capacity, sum_capacity;
    struct mp_map by_name; /* by name and device: the row */
};

/* ---- Rows and their keys ---- */

static enum mp_status new_row(struct kernels_making *making, uint32_t *index)
{
    struct kernels *kernels = making->kernels;

    if (kernels->row_count >= MP_MAP_ABSENT)
        return MP_ERR_MEMORY;
    MP_TRY(MP_RESERVE(kernels->rows, kernels->row_count, making->row_capacity));
    MP_TRY(MP_RESERVE(making->sums, kernels->row_count, making->sum_capacity));
    *index = (uint32_t)kernels->row_count++;
    kernels->rows[*index] = (struct kernels_row){.calls = 0};
    making->sums[*index] = (struct kernels_sums){.row = *index};
    return MP_OK;
}

/* The row of these launches, made if it is new. `name` is a number in kernels->names. */
static enum mp_status find_row(struct kernels_making *making, uint32_t name, uint64_t device,
                               uint32_t *index)
{
    /* Ordinals are small. A large one comes from damage and may share a key with another. */
    uint64_t key = (uint64_t)name << 32 | (uint32_t)device;

    if (!making->options->by_name)
        return new_row(making, index);
    *index = mp_map_get(&making->by_name, key);
    if (*index != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(new_row(making, index));
    return mp_map_put(&making->by_name, key, *index);
}

/* ---- Adding up ---- */

static bool same(const uint32_t a[3], const uint32_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

static unsigned differences(const struct launch_shape *a, const struct launch_shape *b)
{
    unsigned differing = 0;

    differing |= same(a->grid, b->grid) ? 0 : KERNELS_GRID;
    differing |= same(a->block, b->block) ? 0 : KERNELS_BLOCK;
    differing |= same(a->cluster, b->cluster) ? 0 : KERNELS_CLUSTER;
    differing |= a->registers == b->registers ? 0 : KERNELS_REGISTERS;
    differing |= a->static_shared == b->static_shared ? 0 : KERNELS_STATIC_SHARED;
    differing |= a->dynamic_shared == b->dynamic_shared ? 0 : KERNELS_DYNAMIC_SHARED;
    differing |= a->configured_shared == b->configured_shared ? 0 : KERNELS_CONFIGURED_SHARED;
    differing |= a->local_memory == b->local_memory ? 0 : KERNELS_LOCAL_MEMORY;
    return differing;
}

static void add_shape(struct kernels_row *row, struct kernels_sums *sums,
                      const struct kernels_launches *launches)
{
    static const struct launch_shape undefined;
    const struct launch_shape *shape = launches->shape ? launches->shape : &undefined;

    uint32_t multiprocessors = launches->limits ? launches->limits->multiprocessors : 0;

    if (row->shapes)
        row->differing |= differences(&row->shape, shape);
    if (row->shapes && multiprocessors != row->multiprocessors)
        row->differing |= KERNELS_MULTIPROCESSORS;
    if (!row->shapes || launches->tally->total > sums->max) {
        row->shape = *shape;
        row->multiprocessors = multiprocessors;
        row->shape_id = launches->shape_id;
        sums->max = launches->tally->total;
    }
    row->shapes++;
}

static void add_occupancy(struct kernels_row *row, struct kernels_sums *sums,
                          const struct kernels_launches *launches)
{
    uint64_t total = launches->tally->total;
    struct occupancy occupancy;

    if (!launches->shape || !launches->limits ||
        !occupancy_of(launches->shape, launches->limits, &occupancy))
        return;
    if (!row->has_occupancy || occupancy.percent < row->min_percent)
        row->min_percent = occupancy.percent;
    if (!row->has_occupancy || occupancy.percent > row->max_percent)
        row->max_percent = occupancy.percent;
    if (row->has_occupancy && (memcmp(occupancy.by, row->occupancy.by, sizeof occupancy.by) != 0 ||
                               occupancy.fills_wave != row->occupancy.fills_wave))
        row->differing |= KERNELS_LIMITS;
    if (!row->has_occupancy || total > sums->largest_known) {
        row->occupancy = occupancy;
        sums->largest_known = total;
    }
    row->has_occupancy = true;
    sums->percent += occupancy.percent * (double)total;
    sums->waves += occupancy.waves * (double)total;
    sums->known += total;
}

/* Adds them to their row. MP_OK or MP_ERR_MEMORY. */
static enum mp_status kernels_making_add(struct kernels_making *making,
                                         const struct kernels_launches *launches)
{
    struct kernels *kernels = making->kernels;
    const char *name = definitions_kernel(&kernels->profile->definitions, launches->shape_id,
                                          making->options->style);
    const char *known = name ? name : ACTIVITY_UNNAMED_KERNEL;
    uint32_t index;

    if (making->options->by)
        known = called_from_text(launches->callers, known, strlen(known), launches->line);
    uint32_t id = known ? mp_intern_add(&kernels->names, known, strlen(known)) : 0;
    if (!id)
        return MP_ERR_MEMORY;
    if (!name)
        kernels->quality.undefined += launches->tally->calls;
    MP_TRY(find_row(making, id, launches->device, &index));
    kernels->rows[index].name = mp_intern_get(&kernels->names, id, NULL);
    kernels->rows[index].device = launches->device;
    kernels->rows[index].tensor_cores = kernel_uses_tensor_cores(
        definitions_kernel(&kernels->profile->definitions, launches->shape_id, NAMES_READABLE));
    add_shape(&kernels->rows[index], &making->sums[index], launches);
    add_occupancy(&kernels->rows[index], &making->sums[index], launches);
    tally_merge(&making->sums[index].tally, launches->tally);
    return MP_OK;
}

/* ---- Completing ---- */

static void complete_row(struct kernels *kernels, const struct kernels_sums *sums)
{
    struct kernels_row *row = &kernels->rows[sums->row];
    const struct tally *tally = &sums->tally;

    row->calls = tally->calls;
    row->total = tally->total;
    row->min = tally->min;
    row->max = tally->max;
    row->mean = (double)tally->total / (double)tally->calls;
    row->percent = kernels->total ? 100.0 * (double)tally->total / (double)kernels->total : 0;
    /* With a single shape the sums are exact already. */
    if (row->shapes > 1 && sums->known) {
        row->occupancy.percent = sums->percent / (double)sums->known;
        row->occupancy.waves = sums->waves / (double)sums->known;
    }
}

static void add_totals(struct kernels *kernels, const struct kernels_sums *sums, double *percent)
{
    kernels->calls += sums->tally.calls;
    kernels->total += sums->tally.total;
    if (kernels->rows[sums->row].tensor_cores)
        kernels->tensor_total += sums->tally.total;
    kernels->percent_total += sums->known;
    *percent += sums->percent;
}

MP_COMPARE(kernels_compare_rows, struct kernels_row,
           MP_ORDER(b->total, a->total) ?: strcmp(a->name, b->name) ?:
           MP_ORDER(a->device, b->device) ?: MP_ORDER(a->shape_id, b->shape_id) ?:
           MP_ORDER(a->multiprocessors, b->multiprocessors));

/* Completes and sorts what rows there are, and gives back what is not the result's. */
static void kernels_making_end(struct kernels_making *making)
{
    struct kernels *kernels = making->kernels;
    double percent = 0;

    for (size_t i = 0; making->sums && i < kernels->row_count; i++)
        add_totals(kernels, &making->sums[i], &percent);
    for (size_t i = 0; making->sums && i < kernels->row_count; i++)
        complete_row(kernels, &making->sums[i]);
    kernels->percent = kernels->percent_total ? percent / (double)kernels->percent_total : 0;
    if (kernels->row_count)
        qsort(kernels->rows, kernels->row_count, sizeof *kernels->rows, kernels_compare_rows);
    free(making->sums);
    mp_map_free(&making->by_name);
}

/* Where a kernel ran, how many SMs it could use there, and the line that it was called from. */
struct place {
    uint64_t device; /* UINT64_MAX: unknown */
    uint64_t multiprocessors;
    uint64_t line;
};

/* Kernels are tallied by pair of place and launch shape, graphs by nothing. */
struct pass {
    const struct kernels_options *options;
    const struct capture_range *range; /* NULL: everything */
    struct kernels *kernels;
    struct called_from callers;
    struct mp_intern places; /* struct place, whose number is the slot */
    struct summary_pairs pairs;
    struct tallies tallies; /* by pair */
    struct tallies graphs;  /* by the graph's id */
    struct kernel_time_pass time;
    uint64_t limit; /* ids stay below it */
    uint64_t *ids;  /* of the pairs of a batch's rows */
    size_t id_capacity;
};

/* ---- The pass over the file ---- */

/* What the kernels of a row of `stream` could use; only the device, if the trace says no more. */
static struct device_limits limits_of(const struct pass *pass, uint64_t id, uint64_t *device)
{
    const struct profile *profile = pass->kernels->profile;
    const struct definition_stream *stream = dense_at(&profile->definitions.streams, id);
    struct device_limits limits = {.multiprocessors = 0};

    *device = stream && stream->defined ? stream->device : UINT64_MAX;
    if (stream && stream->defined)
        shapes_limits(&profile->shapes, &profile->definitions.contexts, stream->device,
                      stream->context, &limits);
    return limits;
}

/* With `by` the place of a row, otherwise that of all rows of its stream. */
static enum mp_status place_of(struct pass *pass, const struct mp_batch *batch, uint32_t row,
                               uint32_t *slot)
{
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    struct place place;
    uint32_t line = 0;

    place.multiprocessors = limits_of(pass, kernel.stream[row], &place.device).multiprocessors;
    if (pass->options->by)
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
        if (pass->options->by || streams[row] != stream || !row)
            MP_TRY(place_of(pass, batch, row, &slot));
        stream = streams[row];
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

static enum mp_status kernels_run_pass(struct pass *pass, struct mp_error *error)
{
    const uint32_t times = kernel_time_columns(pass->range) | MP_MASK(kernel, shape, correlation);
    const struct reading_table tables[] = {
        {MP_TABLE_kernel, times | (pass->options->by ? MP_MASK(kernel, node) : 0),
         .take = take_kernels},
        {MP_TABLE_graph, MP_MASK(graph, graph, start, duration, correlation), .take = take_graphs},
    };
    const struct reading reading = {
        .trace = pass->kernels->profile->trace,
        .what = "the kernels",
        .context = pass,
        READING_TABLES(tables),
        .joined = &pass->kernels->quality,
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
    const char *known = mp_intern_get(&pass->places, slot, NULL);

    if (known)
        memcpy(&place, known, sizeof place);
    return place;
}

static enum mp_status add_row(struct pass *pass, struct kernels_making *making, size_t pair)
{
    const struct summary_pair *key = &pass->pairs.items[pair];
    const struct shapes *shapes = &pass->kernels->profile->shapes;
    struct place place = place_at(pass, key->slot);
    const struct device_limits *device = shapes_device(shapes, place.device);
    struct device_limits limits;
    struct kernels_launches launches = {
        .shape_id = key->id,
        .shape = shapes_find(shapes, key->id),
        .device = place.device,
        .callers = &pass->callers,
        .line = (uint32_t)place.line,
        .tally = dense_at(&pass->tallies.items, pair),
    };

    if (device) {
        limits = *device;
        limits.multiprocessors = (uint32_t)place.multiprocessors;
        launches.limits = &limits;
        note_device(pass->kernels, &limits);
        pass->kernels->partitioned |= limits.multiprocessors != device->multiprocessors;
    }
    if (launches.shape && shape_cluster(launches.shape) > 1)
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
    MP_TRY(mp_error_from(error, status, "cannot sum the kernels up"));
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

static void kernels_begin(struct pass *pass, struct profile *profile)
{
    *pass->kernels =
        (struct kernels){.recorded = !property_is(profile->trace, "MINIPROF_GPU", "off"),
                         .profile = profile,
                         .quality = profile->quality};
    pass->kernels->quality.only = pass->options->range;
    pass->limit = definitions_limit(profile->trace);
    tallies_init(&pass->tallies, pass->limit);
    tallies_init(&pass->graphs, pass->limit);
    kernel_time_begin(&pass->time, &profile->definitions, pass->limit);
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

enum mp_status kernels_build(struct profile *profile, const struct kernels_options *options,
                             struct kernels *kernels, struct mp_error *error)
{
    struct pass pass = {.kernels = kernels, .options = options};

    kernels_begin(&pass, profile);
    enum mp_status status = ranges_choose(&profile->ranges, options->range, &pass.range, error);
    if (!status)
        status = called_from_load(&pass.callers, profile->trace, options->by, error);
    if (!status)
        status = kernel_time_expect(&pass.time, profile->trace, error);
    if (!status)
        status = kernels_run_pass(&pass, error);
    if (!status)
        status = kernels_finish(&pass, error);
    kernels_end(&pass);
    if (status)
        kernels_free(kernels);
    return status;
}

void kernels_free(struct kernels *kernels)
{
    free(kernels->rows);
    mp_intern_free(&kernels->names);
    *kernels = (struct kernels){.row_count = 0};
}

const char *kernels_device_name(const struct kernels *kernels, uint64_t device)
{
    const struct definition_device *found =
        dense_at(&kernels->profile->definitions.devices, device);

    return found && found->defined ? definitions_text(&kernels->profile->definitions, found->name)
                                   : NULL;
}
