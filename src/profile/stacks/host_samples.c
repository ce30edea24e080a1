/* Samples in the order of their threads and times. */
#include "profile/stacks/host_samples.h"

#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/reading.h"
#include "trace/schema.h"

#include "base/poison.h"

static uint32_t small(uint64_t value)
{
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static enum mp_status take(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_host_sample_columns sample = mp_host_sample_columns(batch->columns);
    struct host_samples *samples = context;

    MP_TRY(MP_RESERVE(samples->items, samples->count, samples->capacity));
    samples->items[samples->count++] = (struct host_sample){
        .time = sample.time[row],
        .computing = sample.computing[row],
        .thread = small(sample.thread[row]),
        .stack = small(sample.stack[row]),
        .gil = small(sample.gil[row]),
    };
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_host_sample, MP_ALL_COLUMNS, .take_row = take},
};

MP_COMPARE(by_thread_and_time, struct host_sample,
           MP_ORDER(a->thread, b->thread) ?: MP_ORDER(a->time, b->time));

enum mp_status host_samples_load(struct host_samples *samples, struct mp_trace *trace,
                                 struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace, .what = "the samples", .context = samples, READING_TABLES(tables)};

    *samples = (struct host_samples){.count = 0};
    MP_TRY(reading_run(&reading, error));
    if (samples->count)
        qsort(samples->items, samples->count, sizeof *samples->items, by_thread_and_time);
    return MP_OK;
}

void host_samples_free(struct host_samples *samples)
{
    free(samples->items);
    *samples = (struct host_samples){.count = 0};
}

/* The first sample of a thread after `time`, or of a later thread. */
static size_t first_after(const struct host_samples *samples, uint64_t thread, uint64_t time)
{
    const struct host_sample *items = samples->items;

    return MP_SEARCH(0, samples->count, i,
                     items[i].thread < thread ||
                         (items[i].thread == thread && items[i].time <= time));
}

uint64_t host_samples_share(const struct host_samples *samples, uint64_t thread, uint64_t begin,
                            uint64_t end, host_samples_use *use, void *context)
{
    uint64_t left = end > begin ? end - begin : 0;

    for (size_t i = first_after(samples, thread, begin); left && i < samples->count; i++) {
        const struct host_sample *sample = &samples->items[i];
        uint64_t part = sample->computing < left ? sample->computing : left;

        if (sample->thread != thread || sample->time > end)
            break;
        if (!sample->stack)
            continue;
        use(context, sample->stack, part);
        left -= part;
    }
    return left;
}
