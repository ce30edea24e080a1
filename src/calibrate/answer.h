/* The answer of a probe, read back, and what the trace of a recorded one says of its calls. */
#ifndef MP_CALIBRATE_ANSWER_H
#define MP_CALIBRATE_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "calibrate/measures.h"

#define ANSWER_SAMPLES 2048

struct answer_sample {
    enum measure measure;
    double ns;           /* of one call, or the time */
    uint64_t begin, end; /* of calls; else 0 */
    uint64_t count;      /* calls */
    uint64_t found;      /* calls of the trace between begin and end ... */
    uint64_t inside;     /* ... and what they took together */
};

struct answer {
    size_t count;
    struct answer_sample samples[ANSWER_SAMPLES];
};

/* Whose costs they are, from a trace; texts are cut. */
struct answer_key {
    char gpu[256];
    unsigned long driver;
    unsigned long cupti;
};

/* MP_ERR_UNSUPPORTED with the probe's own words if it failed; MP_ERR_IO, MP_ERR_DAMAGED. */
enum mp_status answer_read(const char *path, struct answer *answer, struct mp_error *error);

/* Adds up the calls of the trace that lie in the samples, and finds the key of `device`. The trace
 * must be whole: MP_ERR_DAMAGED otherwise. */
enum mp_status answer_read_trace(const char *path, unsigned device, struct answer *answer,
                                 struct answer_key *key, struct mp_error *error);

/* Medians of the samples. MP_ERR_DAMAGED if a measure is missing other than the begins of kernels,
 * or if calls of a measure were recorded in part. */
enum mp_status answer_sum_up(const struct answer *answer, struct measured *measured,
                             struct mp_error *error);

#endif
