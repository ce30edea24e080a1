/* Kernels with occupancy, and overlap, on files whose checksums fit, whatever they say: sums hold,
 * and no number is none.
 */
#include "mutate.h"
#include "walk.h"

#include <math.h>

#include "reports/kernels/kernels.h"
#include "reports/overlap/overlap.h"

#define MAX_ROWS 20000 /* of a trace; bounds the time of one input */

static void expect_occupancy(const struct kernels_row *row)
{
    const struct occupancy *occupancy = &row->occupancy;

    expect(occupancy->blocks && isfinite(occupancy->waves) && occupancy->waves > 0);
    expect(occupancy->percent > 0 && occupancy->percent < 100.001);
    expect(row->min_percent > 0 && row->min_percent <= row->max_percent);
}

static void expect_time(const struct kernel_time *time)
{
    expect(time->total >= time->streams && time->streams >= time->busy);
    expect(!time->known || !time->busy || time->devices);
}

static void expect_kernels(struct profile *profile, bool by_name)
{
    const struct kernels_options options = {.style = NAMES_READABLE, .by_name = by_name};
    struct kernels kernels;
    uint64_t total = 0, calls = 0;

    expect(kernels_build(profile, &options, &kernels, NULL) == MP_OK);
    for (size_t i = 0; i < kernels.row_count; i++) {
        const struct kernels_row *row = &kernels.rows[i];

        expect(row->name && row->calls && row->min <= row->max && row->shapes);
        expect(isfinite(row->percent) && isfinite(row->mean));
        if (row->has_occupancy)
            expect_occupancy(row);
        total += row->total;
        calls += row->calls;
    }
    expect(total == kernels.total && calls == kernels.calls && isfinite(kernels.percent));
    expect_time(&kernels.time);
    kernels_free(&kernels);
}

static void expect_device(const struct overlap *overlap, const struct overlap_device *device)
{
    const unsigned kernel = 1u << OVERLAP_KERNEL;
    uint64_t levels = 0;

    expect(device->busy <= overlap->window && device->busy + device->idle == overlap->window);
    for (int i = 0; i < OVERLAP_LEVELS; i++)
        levels += device->times.kernels[i];
    expect(levels == overlap_time(&device->times, kernel, 0, 0));
    expect(isfinite(overlap_mean_kernels(&device->times)));
    for (size_t i = 0; i < device->stream_count; i++) {
        const struct overlap_stream *stream = &device->streams[i];

        expect(stream->busy <= device->busy && stream->overlapped <= stream->busy);
        expect(stream->share >= 0 && stream->share < 100.001);
    }
}

static void expect_overlap(struct profile *profile)
{
    const struct overlap_options options = {.range = 0};
    const unsigned kernel = 1u << OVERLAP_KERNEL, nccl = 1u << OVERLAP_COMMUNICATION;
    struct overlap overlap;
    uint64_t busy = 0, others = 0; /* others: NCCL's kernels, and copies between devices */

    expect(overlap_build(profile, &options, &overlap, NULL) == MP_OK);
    for (size_t i = 0; i < overlap.device_count; i++) {
        expect_device(&overlap, &overlap.devices[i]);
        busy += overlap_time(&overlap.devices[i].times, kernel, 0, 0);
        others += overlap_time(&overlap.devices[i].times, nccl, 0, kernel);
    }
    expect_time(&overlap.kernels);
    expect(!overlap.kernels.known ||
           (overlap.kernels.busy >= busy && overlap.kernels.busy <= busy + others));
    overlap_free(&overlap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mp_trace *trace = walk_open(data, size, NULL);
    struct profile profile;

    if (trace && walk_count(trace) <= MAX_ROWS) {
        expect(profile_load(&profile, trace, DEFINITIONS_ALL, NULL) == MP_OK);
        expect_kernels(&profile, false);
        expect_kernels(&profile, true);
        expect_overlap(&profile);
        profile_free(&profile);
    }
    mp_trace_close(trace);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return mutate_trace(data, size, max_size, seed);
}
