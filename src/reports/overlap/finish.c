/* From the pass over a trace to devices and streams. */
#include <stdlib.h>

#include "reports/overlap/pass.h"

#include "base/poison.h"

uint64_t overlap_time(const struct overlap_times *times, unsigned all, unsigned any, unsigned none)
{
    uint64_t ns = 0;

    for (unsigned set = 1; set < OVERLAP_SETS; set++) {
        if ((set & all) == all && (!any || set & any) && !(set & none))
            ns += times->by_set[set];
    }
    return ns;
}

double overlap_mean_kernels(const struct overlap_times *times)
{
    uint64_t busy = overlap_time(times, 1u << OVERLAP_KERNEL, 0, 0);

    return busy ? (double)times->total[OVERLAP_KERNEL] / (double)busy : 0;
}

/* ---- The window ---- */

static int compare_windows(const void *left, const void *right)
{
    const struct overlap_window *a = left;
    const struct overlap_window *b = right;

    return (a->begin > b->begin) - (a->begin < b->begin);
}

static void add_windows(struct overlap_pass *pass)
{
    struct overlap *overlap = pass->overlap;
    uint64_t reached = 0;

    qsort(pass->windows, pass->window_count, sizeof *pass->windows, compare_windows);
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

static int compare_streams(const void *left, const void *right)
{
    const struct overlap_stream *a = left;
    const struct overlap_stream *b = right;

    if (a->busy != b->busy)
        return a->busy < b->busy ? 1 : -1;
    if (a->context != b->context)
        return a->context < b->context ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static uint32_t slot_of(const struct overlap_pass *pass, size_t stream)
{
    const uint32_t *slot = dense_at(&pass->lane_slots, stream);

    return slot ? *slot : 0;
}

static struct overlap_stream describe_stream(const struct overlap_pass *pass, size_t id)
{
    const struct overlap_lane *lane = dense_at(&pass->lanes, id);
    const struct definition_stream *defined = dense_at(&pass->overlap->definitions.streams, id);
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
        struct overlap_device *device;

        if (!slot_of(pass, id))
            continue;
        device = &devices[places[slot_of(pass, id) - 1]];
        device->streams[device->stream_count++] = describe_stream(pass, id);
    }
    for (size_t i = 0; i < pass->overlap->device_count; i++)
        finish_streams(&devices[i]);
    return MP_OK;
}

/* In one context two streams may have had the same id, one after the other: either one counts as
 * used. */
static int compare_known(const void *left, const void *right)
{
    const struct overlap_known_stream *a = left;
    const struct overlap_known_stream *b = right;

    if (a->context != b->context)
        return a->context < b->context ? -1 : 1;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static void mark_used(struct overlap_pass *pass)
{
    for (size_t id = 0; id < pass->lanes.count; id++) {
        const struct overlap_lane *lane = dense_at(&pass->lanes, id);
        const struct overlap_stream stream = describe_stream(pass, id);
        const struct overlap_known_stream key = {.context = stream.context,
                                                 .stream = stream.stream};
        struct overlap_known_stream *found;

        if (!lane->calls || !stream.defined || !pass->known_count)
            continue;
        found = bsearch(&key, pass->known, pass->known_count, sizeof *pass->known, compare_known);
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
    uint32_t on = mp_map_get(&pass->contexts, pass->known[index].context);

    return !pass->known[index].used && on != MP_MAP_ABSENT && on == device;
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
    const struct definition_device *defined;

    *device = (struct overlap_device){
        .device = pass->slots.devices[slot],
        .times = pass->sweeps[slot].times,
        .busy = overlap_time(&pass->sweeps[slot].times, 0, 0, 0),
    };
    device->idle = overlap->window - device->busy;
    defined = dense_at(&overlap->definitions.devices, device->device);
    if (defined && defined->defined)
        device->name = definitions_text(&overlap->definitions, defined->name);
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

static int finish_compare_devices(const void *left, const void *right)
{
    const struct overlap_device *a = left;
    const struct overlap_device *b = right;

    return (a->device > b->device) - (a->device < b->device);
}

enum mp_status overlap_finish(struct overlap_pass *pass)
{
    struct overlap *overlap = pass->overlap;

    add_windows(pass);
    for (size_t i = 0; i < pass->sweep_count; i++)
        overlap_sweep_end(&pass->sweeps[i], pass->lanes.items);
    sort_known(pass);
    MP_TRY(add_devices(pass));
    MP_TRY(kernel_time_end(&pass->kernels));
    overlap->kernels = pass->kernels.sums;
    qsort(overlap->devices, overlap->device_count, sizeof *overlap->devices,
          finish_compare_devices);
    return MP_OK;
}
