/* Sums of the last interval and since the start, for `top`. It sees each batch once, as it is
 * written, and keeps sums only.
 */
#include "reports/live/live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/activity.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- How busy each device was ----
 *
 * Work comes table by table and stream by stream, so it is in order of time only in part. Therefore
 * the stretches of an interval are kept and counted at its end. If there are too many, the older
 * half is counted at once. Later stretches in that time are then taken as covered.
 */

#define MAX_STRETCHES 65536u

MP_COMPARE(compare_stretches, struct live_stretch, MP_ORDER(a->begin, b->begin));

/* Counts the first `count` stretches in order of time, as far as they lie after the time that is
 * already counted. */
static void count_up(struct live_device *device, size_t count)
{
    if (device->count)
        qsort(device->stretches, device->count, sizeof *device->stretches, compare_stretches);
    for (size_t i = 0; i < count; i++) {
        struct live_stretch stretch = device->stretches[i];

        stretch.begin = mp_max(stretch.begin, device->until);
        if (stretch.end <= stretch.begin)
            continue;
        device->busy += stretch.end - stretch.begin;
        device->last_busy += stretch.end - stretch.begin;
        device->until = stretch.end;
    }
    device->count -= count;
    if (device->count)
        memmove(device->stretches, device->stretches + count,
                device->count * sizeof *device->stretches);
}

/* NULL: there are too many. */
static struct live_device *reach_device(struct live *live, uint64_t ordinal)
{
    for (size_t i = 0; i < live->device_count; i++) {
        if (live->devices[i].device == ordinal)
            return &live->devices[i];
    }
    if (live->device_count == LIVE_MAX_DEVICES)
        return NULL;
    live->devices[live->device_count] = (struct live_device){.device = ordinal};
    return &live->devices[live->device_count++];
}

static enum mp_status add_device_work(struct live *live, uint64_t stream, uint64_t begin,
                                      uint64_t end)
{
    const struct definition_stream *defined = dense_at(&live->definitions.streams, stream);

    if (!defined || !defined->defined)
        return MP_OK;
    struct live_device *device = reach_device(live, defined->device);
    if (!device)
        return MP_OK;
    if (!device->stretches)
        device->stretches = calloc(MAX_STRETCHES, sizeof *device->stretches);
    if (!device->stretches)
        return MP_ERR_MEMORY;
    struct live_stretch *last = device->count ? &device->stretches[device->count - 1] : NULL;
    if (last && begin >= last->begin && begin <= last->end) {
        last->end = mp_max(last->end, end);
        return MP_OK;
    }
    if (device->count == MAX_STRETCHES)
        count_up(device, MAX_STRETCHES / 2);
    device->stretches[device->count++] = (struct live_stretch){begin, end};
    return MP_OK;
}

static void devices_tick(struct live *live)
{
    for (size_t i = 0; i < live->device_count; i++)
        count_up(&live->devices[i], live->devices[i].count);
}

/* ---- Sampled counters: the mean of the samples that came in the last interval ---- */

static enum mp_status take_counters(void *context, const struct mp_batch *batch)
{
    const struct mp_counter_columns counters = mp_counter_columns(batch->columns);
    struct live *live = context;

    if (!live->counters)
        live->counters = calloc(LIVE_MAX_COUNTERS, sizeof *live->counters);
    if (!live->counters)
        return MP_ERR_MEMORY;
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t id = counters.id[row], unit = counters.unit[row], step = counters.step[row];
        struct live_counter *counter = &live->counters[id % LIVE_MAX_COUNTERS];

        if (id >= LIVE_MAX_COUNTERS)
            continue;
        *counter = (struct live_counter){
            .device = counters.device[row],
            .name = counters.name[row],
            .unit = unit <= METRIC_UNIT_CELSIUS ? (enum metric_unit)unit : METRIC_UNIT_NONE,
            .mean = (double)NAN};
        memcpy(&counter->step, &step, sizeof step);
        if (counters.source[row])
            reach_device(live, counter->device);
    }
    return MP_OK;
}

static enum mp_status take_samples(void *context, const struct mp_batch *batch)
{
    const struct mp_sample_columns sample = mp_sample_columns(batch->columns);
    struct live *live = context;

    for (uint32_t row = 0; row < batch->rows && live->counters; row++) {
        uint64_t id = sample.counter[row];
        double length = (double)sample.length[row], value;

        if (id >= LIVE_MAX_COUNTERS || !live->counters[id].name)
            continue;
        value = sampled_unpack(sample.value[row], live->counters[id].step);
        if (!isfinite(value))
            continue;
        live->counters[id].sum += value * length;
        live->counters[id].time += length;
    }
    return MP_OK;
}

static void counters_tick(struct live *live)
{
    for (size_t i = 0; i < LIVE_MAX_COUNTERS && live->counters; i++) {
        struct live_counter *counter = &live->counters[i];

        if (counter->time > 0)
            counter->mean = counter->sum / counter->time;
        counter->sum = counter->time = 0;
    }
}

const struct live_counter *live_next_counter(const struct live *live, uint64_t device,
                                             size_t *position)
{
    while (live->counters && *position < LIVE_MAX_COUNTERS) {
        const struct live_counter *counter = &live->counters[(*position)++];

        if (counter->name && counter->device == device && isfinite(counter->mean))
            return counter;
    }
    return NULL;
}

/* ---- Begin and end ---- */

enum mp_status live_init(struct live *live, const struct mp_trace *trace,
                         const struct live_options *options)
{
    *live = (struct live){.options = *options, .first_new = UINT64_MAX};
    definitions_init(&live->definitions, trace);
    quality_init(&live->quality, trace);
    live->steps = calloc(LIVE_MAX_STEPS, sizeof *live->steps);
    return live->steps ? live_layers_init(live) : MP_ERR_MEMORY;
}

void live_free(struct live *live)
{
    for (size_t i = 0; i < live->device_count; i++)
        free(live->devices[i].stretches);
    free(live->kernels.items);
    mp_map_free(&live->kernels.known);
    free(live->layers.items);
    mp_map_free(&live->layers.known);
    free(live->counters);
    free(live->steps);
    live_layers_free(live);
    quality_free(&live->quality);
    definitions_free(&live->definitions);
    *live = (struct live){.device_count = 0};
}

void live_grow(struct live *live, const struct mp_trace *trace)
{
    definitions_raise_limit(&live->definitions, trace);
    live->quality.counters.limit = definitions_limit(trace);
}

/* ---- Sums ---- */

/* Adds a kernel to the sum of its name. */
static enum mp_status add_kernel(struct live *live, uint64_t shape, uint64_t ns)
{
    const struct definition_shape *defined = dense_at(&live->definitions.shapes, shape);
    uint64_t name = defined && defined->defined ? defined->kernel : 0;
    struct live_sums *sums = &live->kernels;
    uint32_t index = mp_map_get(&sums->known, name);

    live_add(&sums->all, ns);
    if (index == MP_MAP_ABSENT) {
        if (sums->count == LIVE_MAX_NAMES)
            return MP_OK;
        MP_TRY(MP_RESERVE(sums->items, sums->count, sums->capacity));
        index = (uint32_t)sums->count;
        MP_TRY(mp_map_put(&sums->known, name, index));
        sums->items[sums->count++] = (struct live_sum){.name = name, .shape = shape};
    }
    live_add(&sums->items[index], ns);
    return MP_OK;
}

/* Whether `a` stands before `b` in a list. */
static bool is_above(const struct live_sum *a, const struct live_sum *b)
{
    if (a->last_ns != b->last_ns)
        return a->last_ns > b->last_ns;
    if (a->ns != b->ns)
        return a->ns > b->ns;
    return a < b;
}

size_t live_top(const struct live_sums *sums, const struct live_sum **top, size_t room)
{
    size_t count = 0;

    for (size_t i = 0; room && i < sums->count; i++) {
        const struct live_sum *sum = &sums->items[i];
        size_t at = count;

        if (!sum->count || (count == room && !is_above(sum, top[room - 1])))
            continue;
        if (count == room)
            at--;
        else
            count++;
        for (; at && is_above(sum, top[at - 1]); at--)
            top[at] = top[at - 1];
        top[at] = sum;
    }
    return count;
}

const struct live_step *live_iteration(const struct live *live)
{
    const struct live_step *max = NULL;

    for (size_t i = 0; i < live->step_count; i++) {
        if (!max || live->steps[i].count > max->count)
            max = &live->steps[i];
    }
    return max;
}

/* ---- Rows ---- */

/* Takes the times of a row; false if they cannot be used. */
static bool take_times(struct live *live, uint64_t begin, uint64_t duration)
{
    uint64_t end = begin + duration;

    if (!begin || (int64_t)duration < 0 || end < begin)
        return false;
    if (!live->first_time || begin < live->first_time)
        live->first_time = begin;
    if (begin < live->first_new)
        live->first_new = begin;
    live->horizon = mp_max(live->horizon, end);
    return true;
}

/* Work on a device. */
static enum mp_status add_work(struct live *live, uint64_t stream, uint64_t begin, uint64_t ns,
                               uint64_t correlation)
{
    MP_TRY(add_device_work(live, stream, begin, begin + ns));
    return live_take_work(live, correlation, ns);
}

static enum mp_status take_kernel(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct live *live = context;
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    uint64_t ns = kernel.duration[row];

    if (!take_times(live, kernel.start[row], ns))
        return MP_OK;
    MP_TRY(add_kernel(live, kernel.shape[row], ns));
    return add_work(live, kernel.stream[row], kernel.start[row], ns, kernel.correlation[row]);
}

static enum live_direction direction_of(uint64_t kind)
{
    switch (kind) {
    case MP_copy_kind_HtoD:
    case MP_copy_kind_HtoA:
        return LIVE_TO_DEVICE;
    case MP_copy_kind_DtoH:
    case MP_copy_kind_AtoH:
        return LIVE_TO_HOST;
    default:
        return LIVE_OTHER;
    }
}

static enum mp_status take_copy(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct live *live = context;
    const struct mp_copy_columns copy = mp_copy_columns(batch->columns);
    struct live_copies *copies = &live->copies[direction_of(copy.kind[row])];
    uint64_t count = copy.count[row] ? copy.count[row] : 1;

    if (!take_times(live, copy.start[row], copy.duration[row]))
        return MP_OK;
    copies->count += count;
    copies->last_count += count;
    copies->bytes += copy.bytes[row];
    copies->last_bytes += copy.bytes[row];
    return add_work(live, copy.stream[row], copy.start[row], copy.duration[row],
                    copy.correlation[row]);
}

/* Sets, and graph launches as a whole (MINIPROF_CUDA_GRAPH=graph), which keep their device busy. */
static enum mp_status take_other_work(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct activity_table *table = activity_of(batch->table->id);
    uint64_t start = activity_value(batch->columns, table->start, row);
    uint64_t duration = activity_value(batch->columns, table->duration, row);

    if (!take_times(context, start, duration))
        return MP_OK;
    return add_work(context, activity_value(batch->columns, table->stream, row), start, duration,
                    activity_value(batch->columns, table->correlation, row));
}

/* By the times of their chunks, calls and NVTX events say how far the program has got. */
static void take_host_times(struct live *live, const struct mp_batch *batch)
{
    if (batch->first_time && batch->last_time >= batch->first_time)
        take_times(live, batch->first_time, batch->last_time - batch->first_time);
}

static enum mp_status take_calls(void *live, const struct mp_batch *batch)
{
    take_host_times(live, batch);
    live_take_calls(live, batch);
    return MP_OK;
}

static enum mp_status take_nvtx(void *live, const struct mp_batch *batch)
{
    take_host_times(live, batch);
    MP_TRY(live_take_nvtx(live, batch));
    live_layers_settle(live);
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, stream, shape, start, duration, correlation),
     .take_row = take_kernel},
    {MP_TABLE_copy, MP_MASK(copy, stream, kind, bytes, start, duration, correlation, count),
     .take_row = take_copy},
    {MP_TABLE_set, MP_MASK(set, stream, start, duration, correlation), .take_row = take_other_work},
    {MP_TABLE_graph, MP_MASK(graph, stream, start, duration, correlation),
     .take_row = take_other_work},
    {MP_TABLE_call, MP_MASK(call, thread, start, correlation), .take = take_calls},
    {MP_TABLE_nvtx, NVTX_EVENT_COLUMNS | MP_MASK(nvtx, time), .take = take_nvtx},
    {MP_TABLE_counter, MP_ALL_COLUMNS, .take = take_counters},
    {MP_TABLE_sample, MP_MASK(sample, counter, length, value), .take = take_samples},
};

static struct reading reading_of(struct live *live)
{
    return (struct reading){
        .context = live,
        READING_TABLES(tables),
        .definitions = &live->definitions,
        .quality = &live->quality,
    };
}

void live_select(struct live *live, struct mp_cursor *cursor)
{
    const struct reading reading = reading_of(live);

    reading_select(&reading, cursor);
}

enum mp_status live_take(struct live *live, const struct mp_batch *batch)
{
    const struct reading reading = reading_of(live);

    if (batch->table->kind == MP_TABLE_EVENT) {
        live->records += batch->rows;
        live->anything = true;
    }
    return reading_take(&reading, batch);
}

/* ---- Intervals ---- */

/* How long the interval was: from the last row of the interval before to the last row that has
 * come. Intervals in which nothing came were already shown, by the real clock. The interval is at
 * least as long as the time of its own rows. */
static uint64_t length_of_interval(const struct live *live, uint64_t wall)
{
    uint64_t from = live->shown ? live->shown : live->first_time;
    uint64_t begin = live->first_new > from ? live->first_new : from;
    uint64_t span = live->horizon > begin ? live->horizon - begin : 0;
    uint64_t since = live->horizon > from ? live->horizon - from : 0;

    if (!live->anything)
        return wall;
    since = since > live->idle_wall ? since - live->idle_wall : 0;
    span = mp_max(span, since);
    return span ? span : wall;
}

void live_tick(struct live *live, const struct mp_trace *trace, const struct mp_cursor *cursor,
               uint64_t wall, bool last)
{
    devices_tick(live);
    counters_tick(live);
    live_layers_tick(live, last);
    live->interval_ns = length_of_interval(live, wall);
    live->span_ns = live->horizon - live->first_time;
    if (live->anything) {
        live->shown = mp_max(live->shown, live->horizon);
        live->idle_wall = 0;
    } else {
        live->idle_wall += wall;
    }
    live->elapsed_ns = mp_max(live->elapsed_ns, live->span_ns + live->idle_wall);
    quality_finish(&live->quality, trace, cursor, &live->definitions);
    live->dropped = live->quality.dropped;
    live->bytes = mp_trace_bytes(trace);
}

static void clear_sums(struct live_sums *sums)
{
    sums->all.last_count = sums->all.last_ns = 0;
    for (size_t i = 0; i < sums->count; i++)
        sums->items[i].last_count = sums->items[i].last_ns = 0;
}

void live_next(struct live *live)
{
    clear_sums(&live->kernels);
    clear_sums(&live->layers);
    for (int i = 0; i < LIVE_DIRECTIONS; i++)
        live->copies[i].last_count = live->copies[i].last_bytes = 0;
    for (size_t i = 0; i < live->device_count; i++)
        live->devices[i].last_busy = 0;
    for (size_t i = 0; i < live->step_count; i++) {
        live->steps[i].last_count = live->steps[i].last_sum = 0;
        memset(&live->steps[i].last_lengths, 0, sizeof live->steps[i].last_lengths);
    }
    live->first_new = UINT64_MAX;
    live->anything = false;
}
