/* CUPTI's records to rows: the recorder's hot path.
 *
 * Runs on the writer thread. A kernel row costs one comparison of its name, one of its launch shape
 * and six stores. At 12 million records a second there are 83 ns for each; the column codecs and
 * zstd take the rest.
 *
 * Times are never changed. Unknown times (0) and reversed ones are counted, and readers report so.
 */
#ifndef MP_RECORD_ROWS_DECODE_H
#define MP_RECORD_ROWS_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/data/map.h"
#include "record/cupti/launch_matching.h"
#include "record/cupti/layout.h"
#include "record/cupti/subscriber.h"
#include "record/names/capture.h"
#include "record/names/dictionary.h"

/* ---- Nested calls ----
 *
 * Drops driver calls that a runtime call makes inside itself: their time is part of the runtime
 * call, and two rows for one launch would count it twice.
 *
 * CUPTI completes the inner record first. So driver calls wait here, a few for each thread, until
 * nothing can enclose them any more. This is so when a later runtime call began after them, when
 * too many wait, or after two flushes of the file.
 *
 * Owned by the writer thread.
 */

#define NESTED_WAITING 16u /* driver calls of one thread; a runtime call makes fewer */

struct nested_thread {
    struct record_call calls[NESTED_WAITING]; /* oldest first */
    uint32_t count;
    uint32_t seen; /* calls that waited at the last flush already */
};

typedef void nested_use(void *context, const struct record_call *call);

struct nested {
    struct mp_map index; /* tid -> position in threads */
    struct nested_thread **threads;
    uint32_t count, capacity;
    uint64_t dropped; /* driver calls that were inside runtime calls */
    nested_use *use;  /* gets every call that stays, in order within its thread */
    void *context;
};

void nested_open(struct nested *nested, nested_use *use, void *context);
void nested_close(struct nested *nested);

void nested_driver_call(struct nested *nested, const struct record_call *call);
void nested_runtime_call(struct nested *nested, const struct record_call *call);

/* Hands on the calls that have waited since the last flush; all of them if `all`. */
void nested_flush(struct nested *nested, bool all);

/* ---- The decoder ---- */

struct decode_counts {
    uint64_t records;         /* that CUPTI delivered */
    uint64_t work;            /* records of device work that was kept */
    uint64_t outside;         /* records outside of the capture ranges */
    uint64_t unknown;         /* records of a kind that was not asked for */
    uint64_t zero_times;      /* records whose begin or end CUPTI did not know */
    uint64_t reversed_times;  /* records that end before they begin */
    uint64_t foreign_times;   /* device work with times of another clock: left out */
    uint64_t device_launches; /* kernels, and graphs, that the device launched itself */
};

struct decoder {
    const struct cupti_api *cupti;
    const struct api_set *api;
    struct capture *capture;
    struct dictionary *dictionary;
    struct mp_writer *writer;
    struct profiled_store *profiled;  /* NULL without metrics */
    struct lag *lag;                  /* NULL where work on the device has no records */
    const struct overlaps *overlaps;  /* NULL in tests */
    pid_t process;                    /* our own id; -1: not known */
    struct launch_matching *matching; /* the same */
    struct stack_rows *stack_rows;    /* who made a call */
    struct quality *quality;          /* NULL in tests, and where ranges are not distinguished */
    struct nested nested;
    uint64_t correlation; /* the largest id met, in 64 bits */
    uint64_t launched;    /* the largest id of a launch that succeeded */
    uint64_t worked;      /* the largest id of device work that was kept */
    uint64_t earliest;    /* limits of device times; set before each buffer */
    uint64_t latest;
    const _Atomic uint64_t *calls_end; /* cupti_state's; NULL in tests */
    struct own_calls *own_calls;       /* NULL in tests */
    struct decode_counts counts;
};

void decoder_open(struct decoder *decoder, const struct cupti_api *cupti, const struct api_set *api,
                  struct capture *capture, struct dictionary *dictionary, struct mp_writer *writer);
void decoder_close(struct decoder *decoder);

/* Work that is not kept ran until `end`: counts it as capture_note_earlier does. */
void decode_earlier(struct decoder *decoder, uint64_t correlation, uint64_t end);

/* Limits the times of this trace: from `begin`, when the process was, to `passed` ns later. */
void decode_limit_times(struct decoder *decoder, uint64_t begin, uint64_t passed);

/* Appends the rows of a completed buffer. */
void decode_buffer(struct decoder *decoder, uint8_t *data, size_t valid_bytes);

/* correlation_nearest and correlation_extend, with what was met so far. */
static inline uint64_t decode_nearest(const struct decoder *decoder, uint32_t correlation)
{
    return correlation_nearest(decoder->correlation, correlation);
}

static inline uint64_t decode_correlation(struct decoder *decoder, uint32_t correlation)
{
    return correlation_extend(&decoder->correlation, correlation);
}

/* A call succeeded. If it launched something, its work is awaited from `start` on
 * (cupti/launch_matching.h). */
void decode_launch(struct decoder *decoder, unsigned api, uint32_t cbid, uint64_t start,
                   uint64_t correlation);

#endif
