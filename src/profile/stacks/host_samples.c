/* Samples in the order of their threads and times. */
#include "profile/stacks/host_samples.h"

#include <stdlib.h>

#include "base/data/reserve.h"
#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define CELL(column) (batch->columns[MP_COLUMN_host_sample_##column][row])

static uint32_t small(uint64_t value)
{
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

static enum mp_status take(void *context, const struct mp_batch *batch)
{
    struct host_samples *samples = context;

    for (uint32_t row = 0; row < batch->rows; row++) {
        MP_TRY(mp_reserve((void **)&samples->items, samples->count, &samples->capacity,
                          sizeof *samples->items));
        samples->items[samples->count++] = (struct host_sample){
            .time = CELL(time),
            .computing = CELL(computing),
            .thread = small(CELL(thread)),
            .stack = small(CELL(stack)),
            .gil = small(CELL(gil)),
        };
    }
    return MP_OK;
}

static void choose(struct mp_cursor *cursor, void *context)
{
    (void)context;
    reading_select_nothing(cursor);
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_host_sample), UINT32_MAX);
}

static int by_thread_and_time(const void *a, const void *b)
{
    const struct host_sample *x = a;
    const struct host_sample *y = b;

    return x->thread != y->thread ? (x->thread < y->thread ? -1 : 1)
                                  : (x->time > y->time) - (x->time < y->time);
}

enum mp_status host_samples_load(struct host_samples *samples, struct mp_trace *trace,
                                 struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace, .what = "the samples", .context = samples, .select = choose, .take = take};

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
    size_t low = 0, high = samples->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct host_sample *sample = &samples->items[middle];

        if (sample->thread < thread || (sample->thread == thread && sample->time <= time))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
