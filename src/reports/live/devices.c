/* How busy each device was in the last interval. Rows come table by table, so the stretches of an
 * interval are kept and put in order when it ends.
 */
#include <stdlib.h>
#include <string.h>

#include "reports/live/live.h"

#include "base/poison.h"

#define MAX_STRETCHES 65536u

/* Work comes table by table and stream by stream, so it is in order of time only in part. Therefore
 * the stretches of an interval are kept and counted at its end. If there are too many, the older
 * half is counted at once. Later stretches in that time are then taken as covered. */

static int devices_compare(const void *left, const void *right)
{
    const struct live_stretch *a = left;
    const struct live_stretch *b = right;

    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Counts the first `count` stretches in order of time, as far as they lie after the time that is
 * already counted.
 */
static void count_up(struct live_device *device, size_t count)
{
    if (device->count)
        qsort(device->stretches, device->count, sizeof *device->stretches, devices_compare);
    for (size_t i = 0; i < count; i++) {
        struct live_stretch stretch = device->stretches[i];

        if (stretch.begin < device->until)
            stretch.begin = device->until;
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

struct live_device *live_device_reach(struct live *live, uint64_t ordinal)
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

enum mp_status live_device_work(struct live *live, uint64_t stream, uint64_t begin, uint64_t end)
{
    const struct definition_stream *defined = dense_at(&live->definitions.streams, stream);
    struct live_device *device;
    struct live_stretch *last;

    if (!defined || !defined->defined)
        return MP_OK;
    device = live_device_reach(live, defined->device);
    if (!device)
        return MP_OK;
    if (!device->stretches)
        device->stretches = calloc(MAX_STRETCHES, sizeof *device->stretches);
    if (!device->stretches)
        return MP_ERR_MEMORY;
    last = device->count ? &device->stretches[device->count - 1] : NULL;
    if (last && begin >= last->begin && begin <= last->end) {
        if (end > last->end)
            last->end = end;
        return MP_OK;
    }
    if (device->count == MAX_STRETCHES)
        count_up(device, MAX_STRETCHES / 2);
    device->stretches[device->count++] = (struct live_stretch){begin, end};
    return MP_OK;
}

void live_devices_tick(struct live *live)
{
    for (size_t i = 0; i < live->device_count; i++)
        count_up(&live->devices[i], live->devices[i].count);
}
