/* The flight recorder: with MINIPROF_FLIGHT the trace stays in memory, as chunks of the last so
 * many seconds (trace/write/chunk_ring.h), and is written when something asks for it.
 *
 *     trigger                     where it comes from             when it is written
 *     `miniprof ctl PID dump`     the writer, ctl.c               at once
 *     SIGUSR2                     a signal handler                at the next round
 *     an NVTX range took long     a thread of the application     a second later, so that the work
 *                                                                 that it left on the device is in
 *     SIGSEGV and the like        a signal handler, crash.h       at once; the thread waits
 *
 * A file is a complete trace of its own (trace.h): all definitions, the events in memory,
 * and notes made for it: the capture ranges as far as it reaches, the counters from where it
 * begins. What triggered it and from when to when it has everything stands in its header
 * (flight_...). Memory is not emptied by it.
 *
 * Definitions are kept, so programs that make up names for ever would fill the memory with them.
 * When they take half of it everything is forgotten, and recording begins anew.
 *
 * CUPTI is called on a thread apart (flusher.h): the writer must get on when CUPTI hangs.
 *
 * The writer's, but for what stands under "Threads of the application".
 */
#ifndef MP_RECORD_FLIGHT_FLIGHT_H
#define MP_RECORD_FLIGHT_FLIGHT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/data/histogram.h"
#include "base/text/duration.h"
#include "record/data/quality.h"
#include "trace/write/chunk_ring.h"
#include "trace/write/writer.h"

struct recorder;
struct recording;

#define FLIGHT_RANGES 8192u /* capture ranges whose begin and end are remembered */
#define FLIGHT_COUNTS 128u  /* readings of the counters */
#define FLIGHT_STEPS  100u  /* that have to be there before a percentile means anything */

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

/* A step that was too long. */
struct flight_step {
    uint64_t begin, end; /* ns of the trace's clock */
    uint64_t limit;      /* that it was over */
};

/* Why a file is written. */
struct flight_trigger {
    const char *reason;
    uint64_t time;                  /* ns of the trace's clock */
    const struct flight_step *step; /* NULL: it was none */
};

enum flight_slot { FLIGHT_SLOT_FREE, FLIGHT_SLOT_TAKEN, FLIGHT_SLOT_READY };

struct flight {
    /* Written before recording begins, read-only afterwards. */
    bool on;
    bool whole;      /* cudaProfilerStart and Stop mean nothing */
    bool by_step;    /* MINIPROF_SLOW_STEP holds */
    bool virtual;    /* the clock is not the system's: the writer does not know the time */
    uint64_t window; /* ns */
    uint32_t most_files;
    int pace; /* ms from one look at the rows to the next */
    struct mp_slow_step slow;
    char *header; /* of the files, without what is each one's own */

    /* Threads of the application. */
    struct mp_histogram steps;
    _Atomic uint64_t slow_steps; /* ever */
    _Atomic int slot;            /* enum flight_slot: who may touch `step` */
    struct flight_step step;

    struct mp_chunk_ring ring;
    struct mp_chunk_sink sink;
    uint64_t begin_time; /* of the recording, ns */
    int64_t step_seen;   /* when the writer saw the slow step, ms; 0: there is none */
    struct flight_range ranges[FLIGHT_RANGES];
    uint64_t range_count; /* ever; the last FLIGHT_RANGES are there */
    struct flight_counts counts[FLIGHT_COUNTS];
    uint64_t counts_taken;
    uint32_t files;
    uint64_t refused;                  /* triggers that came when all files were written */
    uint64_t anew;                     /* times that recording began anew */
    char trouble[MP_ERROR_TEXT_BYTES]; /* with the last file; "": none */
};

/* Reads the settings, says what of them does not go together, and changes those that it has to.
 * Before any other module reads them. */
void flight_configure(struct recorder *recorder);

/* What output_open is without it: looks whether files can be written, and opens a writer that has
 * none. */
enum mp_status flight_open(struct recorder *recorder, struct mp_writer **writer,
                           struct mp_error *error);

/* A step has ended, on whatever thread. No lock, no allocation; a wake-up if it was slow. */
void flight_step(struct recorder *recorder, uint64_t begin, uint64_t end);

/* ---- The writer ---- */

/* In place of the rows of `capture` and `quality`. */
void flight_note_range(struct flight *flight, uint64_t number, bool begins, uint8_t reason,
                       uint64_t time, uint64_t correlation);
void flight_note_counts(struct flight *flight, const struct quality *quality);

/* Drops what is too old, and writes the file for a slow step when it is time. */
void flight_round(struct recorder *recorder);

/* The same at the end of the process, when there is no more time to wait. */
void flight_finish(struct recorder *recorder);

/* Writes a file of all that was taken up to now. `text` gets its name and size, or what went wrong,
 * which is said on stderr too. */
bool flight_write(struct recorder *recorder, const struct flight_trigger *trigger, char *text,
                  size_t size);

/* The same where nobody waits for an answer. */
void flight_write_for(struct recorder *recorder, const char *reason);

/* "keeps 30s, 12.3 s and 4.5 MiB held, 2 files written" */
void flight_describe(struct recorder *recorder, char *text, size_t size);

void flight_close(struct flight *flight);

#endif
