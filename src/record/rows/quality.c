/* The counters of what was lost or looks wrong. Each cause has its counter, because each
 * needs another remedy. Counters that have changed go to the file at each flush.
 */
#include "record/rows/quality.h"

#include <string.h>

#include "record/core/clock.h"
#include "record/names/dictionary.h"

#include "base/poison.h"

struct counter {
    const char *name;
    bool is_loss;
};

static const struct counter counters[QUALITY_COUNT] = {
#define QUALITY_ROW(name, is_loss) {#name, is_loss},
    QUALITY_COUNTERS(QUALITY_ROW)
#undef QUALITY_ROW
};

/* Counters that a cut does not reset: graphs made before it may run after it, and a lag that was
 * largest before it may last. */
static bool is_of_process(unsigned counter)
{
    return counter == QUALITY_device_graphs || counter == QUALITY_conditional_graphs ||
           counter == QUALITY_device_launchers || counter == QUALITY_gpu_behind_ms;
}

void quality_restart(struct quality *quality)
{
    memcpy(quality->base, quality->values, sizeof(quality->base));
    for (unsigned i = 0; i < QUALITY_COUNT; i++)
        if (is_of_process(i))
            quality->base[i] = 0;
    memset(quality->written, 0, sizeof(quality->written));
    quality->from = 0;
    memset(quality->waiting, 0, sizeof(quality->waiting));
}

void quality_repeat(struct quality *quality)
{
    memset(quality->written, 0, sizeof(quality->written));
}

uint64_t quality_dropped(const struct quality *quality)
{
    uint64_t dropped = 0;

    for (unsigned i = 0; i < QUALITY_COUNT; i++)
        if (counters[i].is_loss)
            dropped += quality->values[i] - quality->base[i];
    return dropped;
}

uint64_t quality_dropped_of(const uint64_t values[QUALITY_COUNT])
{
    uint64_t dropped = 0;

    for (unsigned i = 0; i < QUALITY_COUNT; i++)
        if (counters[i].is_loss)
            dropped += values[i];
    return dropped;
}

static void append_counter(struct dictionary *dictionary, unsigned counter, uint64_t time,
                           uint64_t value)
{
    mp_append_quality(
        dictionary->writer,
        &(struct mp_row_quality){.name = dictionary_string(dictionary, counters[counter].name),
                                 .time = time,
                                 .value = value});
}

void quality_append_since(const struct quality *quality, const uint64_t before[QUALITY_COUNT],
                          struct dictionary *dictionary, uint64_t time)
{
    for (unsigned i = 0; i < QUALITY_COUNT; i++) {
        uint64_t from = is_of_process(i) ? 0 : before[i];

        if (quality->values[i] > from)
            append_counter(dictionary, i, time, quality->values[i] - from);
    }
}

void quality_append(struct quality *quality, struct dictionary *dictionary, uint64_t time)
{
    for (unsigned i = 0; i < QUALITY_COUNT; i++) {
        uint64_t value = quality->values[i] - quality->base[i];

        if (value == quality->written[i])
            continue;
        quality->written[i] = value;
        append_counter(dictionary, i, time, value);
    }
}

/* ---- By capture range ---- */

static void append_loss(struct dictionary *dictionary, uint64_t range, unsigned counter,
                        int64_t value)
{
    if (value)
        mp_append_loss(dictionary->writer,
                       &(struct mp_row_loss){
                           .range = range,
                           .name = dictionary_string(dictionary, counters[counter].name),
                           .value = (uint64_t)value,
                       });
}

static void append_waiting(struct quality *quality, struct dictionary *dictionary, unsigned counter)
{
    struct range_change *waiting = &quality->waiting[counter];

    append_loss(dictionary, waiting->range, counter, waiting->value);
    waiting->value = 0;
}

void quality_change(struct quality *quality, struct dictionary *dictionary,
                    enum quality_counter counter, uint64_t range, int64_t change)
{
    struct range_change *waiting = &quality->waiting[counter];

    if (waiting->range != range)
        append_waiting(quality, dictionary, counter);
    waiting->range = range;
    waiting->value += change;
    quality->values[counter] += (uint64_t)change;
}

void quality_attribute(struct quality *quality, struct dictionary *dictionary, uint64_t last)
{
    for (unsigned i = 0; i < QUALITY_COUNT; i++) {
        uint64_t lost = quality->values[i] - quality->looked[i];
        uint64_t range = quality->from ? quality->from : 1;

        append_waiting(quality, dictionary, i);
        quality->looked[i] = quality->values[i];
        for (; counters[i].is_loss && lost && range <= last; range++)
            append_loss(dictionary, range, i, (int64_t)lost);
    }
    quality->from = last; /* its records may still come */
}

/* ---- What the flight recorder notes instead of rows ---- */

uint64_t flight_time_now(const struct mp_chunk_ring *ring)
{
    uint64_t now = mp_clock_now();

    return now > ring->newest ? now : ring->newest + 1;
}

void flight_note_range(struct flight_notes *notes, uint64_t number, bool begins, uint8_t reason,
                       uint64_t time, uint64_t correlation)
{
    struct flight_range *range;

    if (begins) {
        range = &notes->ranges[notes->range_count++ % FLIGHT_RANGES];
        *range = (struct flight_range){.number = number,
                                       .begin = time,
                                       .end = UINT64_MAX,
                                       .begin_correlation = correlation,
                                       .begin_reason = reason};
    } else if (notes->range_count) {
        range = &notes->ranges[(notes->range_count - 1) % FLIGHT_RANGES];
        range->end = time;
        range->end_correlation = correlation;
        range->end_reason = reason;
    }
}

void flight_note_counts(struct flight_notes *notes, const struct quality *quality)
{
    uint64_t now = flight_time_now(notes->ring);
    const struct flight_counts *last =
        &notes->counts[(notes->counts_taken + FLIGHT_COUNTS - 1) % FLIGHT_COUNTS];

    if (notes->counts_taken && now - last->time < notes->window / (FLIGHT_COUNTS / 2))
        return;
    struct flight_counts *counts = &notes->counts[notes->counts_taken++ % FLIGHT_COUNTS];
    counts->time = now;
    memcpy(counts->values, quality->values, sizeof(counts->values));
}
