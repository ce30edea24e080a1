/* Reads the activities of the device in order of time and sorts them into slots, one for each
 * device, stream and kind. sweep.c then says what ran at the same time.
 */
#include "reports/overlap/overlap.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/map.h"
#include "base/data/storage.h"
#include "profile/activity.h"
#include "profile/common/tally.h"
#include "profile/dense.h"
#include "profile/identity.h"
#include "profile/merge.h"
#include "profile/names/kernel_kinds.h"
#include "profile/ranges.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

/* From the first to the last activity of a capture range. */
struct overlap_window {
    uint64_t begin, end;
    bool any;
};

/* A stream that the program made. */
struct overlap_known_stream {
    uint64_t context, stream;
    bool used;
};

struct overlap_pass {
    struct overlap *overlap;
    const struct capture_range *range; /* NULL: everything */
    const struct peer_waits *peers;    /* NULL: not known */
    struct summary_slots slots;        /* devices */
    struct overlap_sweep *sweeps;      /* by slot */
    size_t sweep_count, sweep_capacity;
    struct dense lanes;      /* of struct overlap_lane, by id of the stream */
    struct dense lane_slots; /* of uint32_t: slot of the device + 1, by id of the stream */
    struct dense shapes;     /* of uint8_t, by id: enum overlap_activity + 1; 0: not looked at */
    struct overlap_window *windows; /* by place of the capture range, 0 for what is before it */
    size_t window_count;
    size_t window;                      /* of the last activity */
    struct overlap_known_stream *known; /* that the program made */
    size_t known_count, known_capacity;
    struct kernel_time_pass kernels;
};

/* ---- The window ---- */

static void add_windows(struct overlap_pass *pass)
{
    struct overlap *overlap = pass->overlap;
    uint64_t reached = 0;

    qsort(pass->windows, pass->window_count, sizeof *pass->windows, mp_compare_u64);
    for (size_t i = 0; i < pass->window_count; i++) {
        const struct overlap_window *window = &pass->windows[i];
        uint64_t begin = window->begin > reached ? window->begin : reached;

        if (!window->any)
            continue;
        overlap->windows++;
        if (window->end > begin)
            overlap->window += window->end - begin;
        if (window->end > reached)
            reached = window->end;
    }
}

/* ---- Streams ---- */

MP_COMPARE(compare_streams, struct overlap_stream,
           MP_ORDER(b->busy, a->busy) ?: MP_ORDER(a->context, b->context) ?:
           MP_ORDER(a->stream, b->stream));

static uint32_t slot_of(const struct overlap_pass *pass, size_t stream)
{
    const uint32_t *slot = dense_at(&pass->lane_slots, stream);

    return slot ? *slot : 0;
}

static struct overlap_stream describe_stream(const struct overlap_pass *pass, size_t id)
{
    const struct overlap_lane *lane = dense_at(&pass->lanes, id);
    const struct definition_stream *defined =
        dense_at(&pass->overlap->profile->definitions.streams, id);
    struct overlap_stream stream = {
        .calls = lane->calls,
        .busy = lane->busy,
        .overlapped = lane->busy - lane->alone,
    };

    if (defined && defined->defined) {
        stream.defined = true;
        stream.stream = defined->stream;
        stream.context = defined->context;
    }
    return stream;
}

/* Room for the streams of each device, which come with their count. */
static enum mp_status reserve_streams(struct overlap *overlap)
{
    for (size_t i = 0; i < overlap->device_count; i++) {
        struct overlap_device *device = &overlap->devices[i];

        device->streams = calloc(device->stream_count + 1, sizeof *device->streams);
        if (!device->streams)
            return MP_ERR_MEMORY;
        device->stream_count = 0;
    }
    return MP_OK;
}

static void finish_streams(struct overlap_device *device)
{
    double sum = 0;

    for (size_t i = 0; i < device->stream_count; i++)
        sum += (double)device->streams[i].busy;
    for (size_t i = 0; i < device->stream_count; i++)
        device->streams[i].share = sum > 0 ? 100.0 * (double)device->streams[i].busy / sum : 0;
    qsort(device->streams, device->stream_count, sizeof *device->streams, compare_streams);
}

/* `places` are those of the devices, by slot. */
static enum mp_status add_streams(struct overlap_pass *pass, const uint32_t *places)
{
    struct overlap_device *devices = pass->overlap->devices;

    for (size_t id = 0; id < pass->lane_slots.count; id++) {
        if (slot_of(pass, id))
            devices[places[slot_of(pass, id) - 1]].stream_count++;
    }
    MP_TRY(reserve_streams(pass->overlap));
    for (size_t id = 0; id < pass->lane_slots.count; id++) {
        if (!slot_of(pass, id))
            continue;
        struct overlap_device *device = &devices[places[slot_of(pass, id) - 1]];
        device->streams[device->stream_count++] = describe_stream(pass, id);
    }
    for (size_t i = 0; i < pass->overlap->device_count; i++)
        finish_streams(&devices[i]);
    return MP_OK;
}

/* In one context two streams may have had the same id, one after the other: either one counts as
 * used. */
MP_COMPARE(compare_known, struct overlap_known_stream,
           MP_ORDER(a->context, b->context) ?: MP_ORDER(a->stream, b->stream));

static void mark_used(struct overlap_pass *pass)
{
    for (size_t id = 0; id < pass->lanes.count; id++) {
        const struct overlap_lane *lane = dense_at(&pass->lanes, id);
        const struct overlap_stream stream = describe_stream(pass, id);
        const struct overlap_known_stream key = {.context = stream.context,
                                                 .stream = stream.stream};

        if (!lane->calls || !stream.defined || !pass->known_count)
            continue;
        struct overlap_known_stream *found =
            bsearch(&key, pass->known, pass->known_count, sizeof *pass->known, compare_known);
        if (found)
            found->used = true;
    }
}

static void sort_known(struct overlap_pass *pass)
{
    size_t kept = 0;

    if (!pass->known_count)
        return;
    qsort(pass->known, pass->known_count, sizeof *pass->known, compare_known);
    for (size_t i = 0; i < pass->known_count; i++) {
        if (!kept || compare_known(&pass->known[kept - 1], &pass->known[i]) != 0)
            pass->known[kept++] = pass->known[i];
    }
    pass->known_count = kept;
    mark_used(pass);
}

static bool is_unused_on(const struct overlap_pass *pass, size_t index, uint64_t device)
{
    const struct context *context =
        contexts_find(&pass->overlap->profile->definitions.contexts, pass->known[index].context);

    return !pass->known[index].used && context && context->device == device;
}

static enum mp_status add_unused(const struct overlap_pass *pass, struct overlap_device *device)
{
    size_t count = 0;

    for (size_t i = 0; i < pass->known_count; i++)
        count += is_unused_on(pass, i, device->device);
    if (!count)
        return MP_OK;
    device->unused = calloc(count, sizeof *device->unused);
    if (!device->unused)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < pass->known_count; i++) {
        if (is_unused_on(pass, i, device->device))
            device->unused[device->unused_count++] = pass->known[i].stream;
    }
    return MP_OK;
}

/* ---- Devices ---- */

static bool ran_anything(const struct overlap_sweep *sweep)
{
    for (int i = 0; i < OVERLAP_ACTIVITIES; i++) {
        if (sweep->times.calls[i])
            return true;
    }
    return false;
}

static void add_device(struct overlap_pass *pass, uint32_t slot)
{
    struct overlap *overlap = pass->overlap;
    struct overlap_device *device = &overlap->devices[overlap->device_count++];

    *device = (struct overlap_device){
        .device = pass->slots.devices[slot],
        .times = pass->sweeps[slot].times,
        .busy = overlap_time(&pass->sweeps[slot].times, 0, OVERLAP_WORK, 0),
        .idle_peers = overlap_time(&pass->sweeps[slot].times, 0, 0, OVERLAP_WORK),
    };
    device->idle = overlap->window - device->busy;
    const struct definition_device *defined =
        dense_at(&overlap->profile->definitions.devices, device->device);
    if (defined && defined->defined)
        device->name = definitions_text(&overlap->profile->definitions, defined->name);
}

static enum mp_status add_devices(struct overlap_pass *pass)
{
    struct overlap *overlap = pass->overlap;
    uint32_t places[SUMMARY_MAX_DEVICES] = {0};

    overlap->devices = calloc(pass->sweep_count ? pass->sweep_count : 1, sizeof *overlap->devices);
    if (!overlap->devices)
        return MP_ERR_MEMORY;
    for (uint32_t slot = 0; slot < pass->sweep_count; slot++) {
        if (!ran_anything(&pass->sweeps[slot]))
            continue;
        places[slot] = (uint32_t)overlap->device_count;
        add_device(pass, slot);
    }
    MP_TRY(add_streams(pass, places));
    for (size_t i = 0; i < overlap->device_count; i++)
        MP_TRY(add_unused(pass, &overlap->devices[i]));
    return MP_OK;
}

/* Turns what the pass has seen into devices and streams. MP_OK or MP_ERR_MEMORY. */
static enum mp_status overlap_finish(struct overlap_pass *pass)
{
    struct overlap *overlap = pass->overlap;

    add_windows(pass);
    for (size_t i = 0; i < pass->sweep_count; i++)
        MP_TRY(overlap_sweep_end(&pass->sweeps[i], pass->lanes.items));
    sort_known(pass);
    MP_TRY(add_devices(pass));
    MP_TRY(kernel_time_end(&pass->kernels));
    overlap->kernels = pass->kernels.sums;
    qsort(overlap->devices, overlap->device_count, sizeof *overlap->devices, mp_compare_u64);
    return MP_OK;
}

/* ---- Definitions ---- */

/* CUDA's own streams have no call that made them. */
static enum mp_status take_stream(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct overlap_pass *pass = context;
    const struct mp_stream_info_columns stream_info = mp_stream_info_columns(batch->columns);

    if (!stream_info.correlation[row])
        return MP_OK;
    MP_TRY(MP_RESERVE(pass->known, pass->known_count, pass->known_capacity));
    pass->known[pass->known_count++] = (struct overlap_known_stream){
        .context = contexts_owner(&pass->overlap->profile->definitions.contexts,
                                  stream_info.context[row], stream_info.stream[row]),
        .stream = stream_info.stream[row],
    };
    return MP_OK;
}

static enum mp_status take_migrations(void *context, const struct mp_batch *batch)
{
    ((struct overlap_pass *)context)->overlap->migrations += batch->rows;
    return MP_OK;
}

static const struct reading_table definition_tables[] = {
    {MP_TABLE_stream_info, MP_MASK(stream_info, stream, context, correlation),
     .take_row = take_stream},
    {MP_TABLE_unified, MP_MASK(unified, kind), .take = take_migrations},
};

static enum mp_status read_streams(struct overlap_pass *pass, struct mp_error *error)
{
    const struct reading reading = {
        .trace = pass->overlap->profile->trace,
        .what = "the streams",
        .context = pass,
        READING_TABLES(definition_tables),
        .joined = &pass->overlap->quality,
    };

    return reading_run(&reading, error);
}

/* ---- Activities ---- */

/* In the order in which they are merged. */
static const enum activity_kind kinds[] = {ACTIVITY_KERNEL, ACTIVITY_COPY, ACTIVITY_SET,
                                           ACTIVITY_GRAPH};

#define TABLE_COUNT (sizeof kinds / sizeof *kinds)

static enum overlap_activity kind_of_copy(uint64_t kind)
{
    switch (kind) {
    case MP_copy_kind_HtoD:
    case MP_copy_kind_HtoA:
        return OVERLAP_HTOD;
    case MP_copy_kind_DtoH:
    case MP_copy_kind_AtoH:
        return OVERLAP_DTOH;
    case MP_copy_kind_PtoP:
        return OVERLAP_COMMUNICATION;
    default:
        return OVERLAP_COPY;
    }
}

/* Each shape's name is looked at once. */
static enum mp_status kind_of_kernel(struct overlap_pass *pass, uint64_t shape,
                                     enum overlap_activity *activity)
{
    enum mp_status status = dense_reach(&pass->shapes, shape);

    *activity = OVERLAP_KERNEL;
    if (status == MP_ERR_LIMIT)
        return MP_OK;
    MP_TRY(status);
    uint8_t *known = dense_at(&pass->shapes, shape);
    if (!*known) {
        const char *name =
            definitions_kernel(&pass->overlap->profile->definitions, shape, NAMES_READABLE);
        *known =
            (uint8_t)(1 + (kernel_communicates(name) ? OVERLAP_COMMUNICATION : OVERLAP_KERNEL));
    }
    *activity = (enum overlap_activity)(*known - 1);
    return MP_OK;
}

static enum mp_status overlap_kind_of(struct overlap_pass *pass, const struct activity_table *table,
                                      uint64_t what, enum overlap_activity *activity)
{
    switch (table->table) {
    case MP_TABLE_kernel:
        return kind_of_kernel(pass, what, activity);
    case MP_TABLE_copy:
        *activity = kind_of_copy(what);
        return MP_OK;
    case MP_TABLE_set:
        *activity = OVERLAP_SET;
        return MP_OK;
    default:
        *activity = OVERLAP_KERNEL;
        pass->overlap->graph_launches++;
        return MP_OK;
    }
}

/* Finds the device of a stream and makes room for both. An id that the size of the file does not
 * justify counts as no stream. */
static enum mp_status find_slot(struct overlap_pass *pass, uint64_t *stream, uint32_t *slot)
{
    const struct definition_stream *defined =
        dense_at(&pass->overlap->profile->definitions.streams, *stream);
    uint64_t device = defined && defined->defined ? defined->device : UINT64_MAX;
    enum mp_status status = dense_reach(&pass->lanes, *stream);

    if (status == MP_ERR_LIMIT || *stream >= UINT32_MAX) {
        *stream = 0;
        device = UINT64_MAX;
        status = dense_reach(&pass->lanes, 0);
    }
    MP_TRY(status);
    MP_TRY(dense_reach(&pass->lane_slots, *stream));
    uint32_t *known = dense_at(&pass->lane_slots, *stream);
    if (!*known)
        *known = summary_slot(&pass->slots, device) + 1;
    *slot = *known - 1;
    while (pass->sweep_count <= *slot) {
        MP_TRY(MP_RESERVE(pass->sweeps, pass->sweep_count, pass->sweep_capacity));
        pass->sweeps[pass->sweep_count++] = (struct overlap_sweep){.clock = 0};
    }
    return MP_OK;
}

/* Work may run after the next ranges have begun, or slightly early by the device's clock. */
#define RANGES_BEHIND 3

/* The window of an activity: that of the capture range in which it was launched. If the range is
 * not known, the window of the activity before. Place 0 is for no range. */
static struct overlap_window *window_of(struct overlap_pass *pass, uint64_t correlation,
                                        uint64_t start)
{
    const struct dense *items = &pass->overlap->profile->ranges.items;
    const struct capture_range *range = pass->window ? dense_at(items, pass->window - 1) : NULL;

    if (range && range_has_work(range, correlation, start))
        return &pass->windows[pass->window];
    size_t at = ranges_begun(&pass->overlap->profile->ranges, start) + 1;
    if (at >= pass->window_count)
        at = pass->window_count - 1;
    for (size_t i = 0; i <= RANGES_BEHIND && i < at; i++) {
        if (range_has_work(dense_at(items, at - i - 1), correlation, start)) {
            pass->window = at - i;
            break;
        }
    }
    return &pass->windows[pass->window];
}

static void widen(struct overlap_window *window, uint64_t begin, uint64_t end)
{
    if (!window->any || begin < window->begin)
        window->begin = begin;
    if (!window->any || end > window->end)
        window->end = end;
    window->any = true;
}

/* A kernel of NCCL waits for its peers first. */
static enum mp_status add_activity(struct overlap_pass *pass, uint32_t slot,
                                   enum overlap_activity activity, uint32_t stream, uint64_t begin,
                                   uint64_t end)
{
    struct overlap_sweep *sweep = &pass->sweeps[slot];
    uint64_t waiting = pass->peers && activity == OVERLAP_COMMUNICATION
                           ? peer_waits_of(pass->peers, begin, end - begin)
                           : 0;

    if (!waiting)
        return overlap_sweep_add(sweep, pass->lanes.items, activity, stream, begin, end);
    MP_TRY(
        overlap_sweep_add(sweep, pass->lanes.items, OVERLAP_PEERS, stream, begin, begin + waiting));
    return overlap_sweep_add_later(sweep,
                                   (struct overlap_later){begin + waiting, end, stream, activity});
}

static enum mp_status overlap_take_row(struct overlap_pass *pass, const struct merge_row *row)
{
    const struct activity_table *table = &activity_tables[kinds[row->table]];
    uint64_t duration = activity_value(row->columns, table->duration, row->row);
    uint64_t correlation = activity_value(row->columns, table->correlation, row->row);
    uint64_t stream = activity_value(row->columns, table->stream, row->row);
    uint64_t end = row->time + duration;
    uint64_t calls = activity_calls(table, row->columns, row->row);
    enum overlap_activity activity;
    uint32_t slot;

    if (pass->range && !range_has_work(pass->range, correlation, row->time))
        return MP_OK;
    if ((int64_t)duration < 0 || end < row->time) {
        pass->overlap->quality.reversed_times++;
        return MP_OK;
    }
    MP_TRY(
        overlap_kind_of(pass, table, activity_value(row->columns, table->id, row->row), &activity));
    if (table->table == MP_TABLE_kernel || table->table == MP_TABLE_graph)
        MP_TRY(kernel_time_next(&pass->kernels, stream, row->time, duration));
    MP_TRY(find_slot(pass, &stream, &slot));
    widen(window_of(pass, correlation, row->time), row->time, end);
    if (calls > 1) {
        struct overlap_lane *lane = dense_at(&pass->lanes, stream);

        pass->sweeps[slot].times.calls[activity] += calls - 1;
        lane->calls += calls - 1;
    }
    return add_activity(pass, slot, activity, (uint32_t)stream, row->time, end);
}

static enum mp_status take_rows(struct overlap_pass *pass, struct mp_error *error)
{
    struct merge_table wanted[TABLE_COUNT];
    struct merge *merge;
    struct mp_damage damage = {.bytes_skipped = 0};
    struct merge_row row;
    enum mp_status status;

    for (size_t i = 0; i < TABLE_COUNT; i++) {
        const struct activity_table *table = &activity_tables[kinds[i]];

        wanted[i] =
            merge_activities(table, activity_mask(table->stream) | activity_mask(table->duration) |
                                        activity_mask(table->correlation) |
                                        activity_mask(table->id) | activity_mask(table->calls));
    }
    MP_TRY(merge_open(pass->overlap->profile->trace, wanted, TABLE_COUNT, &merge, error));
    while ((status = merge_next(merge, &row)) == MP_OK) {
        status = overlap_take_row(pass, &row);
        if (status != MP_OK)
            break;
    }
    pass->overlap->quality.unknown_times += merge_unknown_times(merge);
    merge_add_damage(merge, &damage);
    quality_join(&pass->overlap->quality, &damage);
    merge_close(merge);
    if (status == MP_END)
        return MP_OK;
    return mp_error_set(error, status, "cannot read the activities: %s", mp_status_name(status));
}

/* ---- The whole ---- */

static void overlap_begin(struct overlap_pass *pass, struct profile *profile, uint64_t range)
{
    size_t limit = definitions_limit(profile->trace);

    *pass->overlap =
        (struct overlap){.recorded = !property_is(profile->trace, "MINIPROF_GPU", "off"),
                         .profile = profile,
                         .quality = profile->quality};
    pass->overlap->quality.only = range;
    dense_init(&pass->lanes, sizeof(struct overlap_lane), limit);
    dense_init(&pass->lane_slots, sizeof(uint32_t), limit);
    dense_init(&pass->shapes, sizeof(uint8_t), limit);
    kernel_time_begin(&pass->kernels, &profile->definitions, limit);
}

static void overlap_end(struct overlap_pass *pass)
{
    for (size_t i = 0; i < pass->sweep_count; i++) {
        free(pass->sweeps[i].heap);
        free(pass->sweeps[i].later);
    }
    free(pass->sweeps);
    free(pass->windows);
    free(pass->known);
    dense_free(&pass->lanes);
    dense_free(&pass->lane_slots);
    dense_free(&pass->shapes);
    kernel_time_free(&pass->kernels);
}

static enum mp_status overlap_run(struct overlap_pass *pass, const struct overlap_options *options,
                                  struct mp_error *error)
{
    const struct capture_ranges *ranges = &pass->overlap->profile->ranges;

    MP_TRY(ranges_choose(ranges, options->range, &pass->range, error));
    pass->window_count = ranges_count(ranges) + 1;
    pass->windows = calloc(pass->window_count, sizeof *pass->windows);
    if (!pass->windows)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    MP_TRY(read_streams(pass, error));
    MP_TRY(take_rows(pass, error));
    enum mp_status status = overlap_finish(pass);
    return status ? mp_error_set(error, status, "out of memory") : MP_OK;
}

enum mp_status overlap_build(struct profile *profile, const struct overlap_options *options,
                             struct overlap *overlap, struct mp_error *error)
{
    struct overlap_pass pass = {.overlap = overlap, .peers = options->peers};

    overlap_begin(&pass, profile, options->range);
    overlap->knows_peers = options->peers != NULL;
    enum mp_status status = overlap_run(&pass, options, error);
    overlap_end(&pass);
    if (status)
        overlap_free(overlap);
    return status;
}

void overlap_free(struct overlap *overlap)
{
    for (size_t i = 0; i < overlap->device_count; i++) {
        free(overlap->devices[i].streams);
        free(overlap->devices[i].unused);
    }
    free(overlap->devices);
    *overlap = (struct overlap){.device_count = 0};
}
