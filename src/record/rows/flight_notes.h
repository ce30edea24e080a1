/* What the writer notes instead of rows while the flight recorder keeps the trace in memory:
 * capture ranges and readings of the counters. Each file gets rows of those within its time
 * (process/flight_trace.c). The writer only.
 */
#ifndef MP_RECORD_DATA_FLIGHT_NOTES_H
#define MP_RECORD_DATA_FLIGHT_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/rows/quality.h"
#include "trace/write/chunk_ring.h"

#define FLIGHT_RANGES 8192u /* capture ranges whose begin and end are remembered */
#define FLIGHT_COUNTS 128u  /* readings of the counters */

/* A capture range; `end` is UINT64_MAX while it is open. */
struct flight_range {
    uint64_t number;
    uint64_t begin, end; /* ns */
    uint64_t begin_correlation, end_correlation;
    uint8_t begin_reason, end_reason;
};

struct flight_counts {
    uint64_t time;
    uint64_t values[QUALITY_COUNT];
};

struct flight_notes {
    const struct mp_chunk_ring *ring; /* the trace */
    uint64_t window;                  /* ns that it holds */
    struct flight_range ranges[FLIGHT_RANGES];
    uint64_t range_count; /* ranges, ever; the last FLIGHT_RANGES are kept */
    struct flight_counts counts[FLIGHT_COUNTS];
    uint64_t counts_taken;
};

/* The present time, but not before anything that was recorded: on the software GPU each thread has
 * a clock of its own. */
uint64_t flight_time_now(const struct mp_chunk_ring *ring);

/* Instead of the rows of `capture` and `quality`. */
void flight_note_range(struct flight_notes *notes, uint64_t number, bool begins, uint8_t reason,
                       uint64_t time, uint64_t correlation);
void flight_note_counts(struct flight_notes *notes, const struct quality *quality);

#endif
