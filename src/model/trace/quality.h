/* How complete a trace is: what its writer lost, what the file has lost since, and what its rows
 * lack.
 *
 * If a report rests on incomplete data, its first line says so.
 */
#ifndef MP_MODEL_TRACE_QUALITY_H
#define MP_MODEL_TRACE_QUALITY_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"
#include "model/trace/definitions.h"
#include "model/trace/dense.h"

struct quality {
    uint64_t dropped;        /* records that the recorder counted as lost */
    uint64_t taken_over;     /* among them: calls whose records another CUPTI client got */
    uint64_t unknown_times;  /* rows that a report left out: begin unknown (0) */
    uint64_t reversed_times; /* rows that a report left out: end before begin */
    uint64_t undefined;      /* rows whose name the trace does not hold */
    uint64_t cupti_errors;   /* times that CUPTI said tracing failed */
    uint64_t forced_exits;   /* the process ended before everything was written */
    uint64_t profiled; /* kernels measured for metrics; their times are the range profiler's: no
                          loss, but different times */
    uint64_t device_graphs;      /* graphs that the device may launch by itself */
    uint64_t conditional_graphs; /* graphs with nodes whose bodies may run repeatedly */
    uint64_t device_launches;    /* rows of what the device launched by itself */
    struct mp_damage damage;
    struct dense counters; /* of struct quality_counter, by string id of the name */
};

struct quality_counter {
    uint64_t value; /* the last one */
    bool present;
};

/* Sets up for a trace; allocates nothing. */
void quality_init(struct quality *quality, const struct mp_trace *trace);

void quality_free(struct quality *quality);

/* Makes the cursor deliver what quality_take needs. */
void quality_select(struct mp_cursor *cursor);

/* Keeps the rows of a batch of the table `quality`; other tables are passed over. MP_OK or
 * MP_ERR_MEMORY. */
enum mp_status quality_take(struct quality *quality, const struct mp_batch *batch);

/* After the last batch: damage that the cursor met, and records lost. */
void quality_finish(struct quality *quality, const struct mp_trace *trace,
                    const struct mp_cursor *cursor, const struct definitions *definitions);

/* The counters in the order of their names' ids: false when there is none at or after *position,
 * which starts at 0. `*name` is NULL when its text was lost. */
bool quality_next_counter(const struct quality *quality, const struct definitions *definitions,
                          size_t *position, const char **name, uint64_t *value);

/* Whether nothing is missing. */
bool quality_is_whole(const struct quality *quality);

#define QUALITY_TEXT_BYTES 512

/* One line without a newline on what is missing; an empty text when nothing is. Returns `text`. */
const char *quality_describe(const struct quality *quality, char *text, size_t size);

#endif
