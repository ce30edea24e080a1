/* Keeps the last ranges and readings in rings. */
#include "record/rows/flight_notes.h"

#include <string.h>

#include "record/core/clock.h"

#include "base/poison.h"

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
    struct flight_counts *counts;

    if (notes->counts_taken && now - last->time < notes->window / (FLIGHT_COUNTS / 2))
        return;
    counts = &notes->counts[notes->counts_taken++ % FLIGHT_COUNTS];
    counts->time = now;
    memcpy(counts->values, quality->values, sizeof(counts->values));
}
