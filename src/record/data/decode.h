/* CUPTI's records to rows: the recorder's hot path.
 *
 * Runs on the writer thread. A kernel row costs one comparison of its name, one of its launch shape
 * and six stores; the rest of the 83 ns that 12 million records a second leave belongs to the
 * column codecs and zstd.
 *
 * Times are taken as they are and never repaired: unknown (0) and reversed ones are counted, and
 * readers say so.
 */
#ifndef MP_RECORD_DATA_DECODE_H
#define MP_RECORD_DATA_DECODE_H

#include <stdint.h>

#include "record/cupti/lag.h"
#include "record/data/capture.h"
#include "record/data/dictionary.h"
#include "record/data/nested.h"

struct decode_counts {
    uint64_t records;         /* that CUPTI delivered */
    uint64_t work;            /* of them, of work on the device that was kept */
    uint64_t outside;         /* of them, outside of the capture ranges */
    uint64_t unknown;         /* of a kind that was not asked for */
    uint64_t zero_times;      /* with a begin or end that CUPTI did not know */
    uint64_t reversed_times;  /* that end before they begin */
    uint64_t foreign_times;   /* device work with times of another clock: left out */
    uint64_t device_launches; /* kernels, and graphs, that the device launched itself */
};

struct decoder {
    const struct cupti_api *cupti;
    const struct api_set *api;
    struct capture *capture;
    struct dictionary *dictionary;
    struct mp_writer *writer;
    struct profiled_store *profiled; /* NULL without metrics */
    struct lag *lag;                 /* NULL where work on the device has no records */
    struct nested nested;
    uint64_t correlation; /* the greatest one met, in 64 bits, */
    uint64_t launched;    /* of a launch that succeeded, */
    uint64_t worked;      /* and of work on the device that was kept */
    uint64_t earliest;    /* times that device work can have; set before each buffer */
    uint64_t latest;
    /* Calls that begin from then on are logged in callbacks instead. Set by any thread. */
    _Atomic uint64_t calls_end;
    struct decode_counts counts;
};

void decoder_open(struct decoder *decoder, const struct cupti_api *cupti, const struct api_set *api,
                  struct capture *capture, struct dictionary *dictionary, struct mp_writer *writer);
void decoder_close(struct decoder *decoder);

/* Appends the rows of a completed buffer. */
void decode_buffer(struct decoder *decoder, uint8_t *data, size_t valid_bytes);

/* CUPTI's correlation ids have 32 bits and wrap after two hours of launches; the 64-bit id is the
 * one nearest to the greatest met so far. 0, "none", stays 0. Of an id that does not count as met.
 */
static inline uint64_t decode_nearest(const struct decoder *decoder, uint32_t correlation)
{
    uint64_t greatest = decoder->correlation;
    int32_t step = (int32_t)(correlation - (uint32_t)greatest);

    /* The first: a range may begin after billions of calls. */
    if (!correlation || !greatest || (step < 0 && (uint64_t) - (int64_t)step > greatest))
        return correlation;
    return greatest + (uint64_t)(int64_t)step;
}

/* The same of an id that counts as met. */
static inline uint64_t decode_correlation(struct decoder *decoder, uint32_t correlation)
{
    uint64_t greatest = decoder->correlation;
    uint64_t extended = decode_nearest(decoder, correlation);

    if (correlation && (!greatest || (int32_t)(correlation - (uint32_t)greatest) >= 0))
        decoder->correlation = extended;
    return extended;
}

/* A call succeeded, and if it launched something its work is awaited from `start` on (cupti/lag.h).
 */
void decode_launch(struct decoder *decoder, unsigned api, uint32_t cbid, uint64_t start,
                   uint64_t correlation);

#endif
