/* What MINIPROF_SAMPLE asks for, as a list of counters without repetitions. */
#ifndef MP_RECORD_COUNTERS_REQUESTED_H
#define MP_RECORD_COUNTERS_REQUESTED_H

#include "record/counters/samples.h"

struct requested_counter {
    char name[METRIC_NAME_BYTES];
    const struct sampled_entry *entry; /* NULL: one of CUPTI's own names */
};

struct requested_counters {
    size_t count;
    struct requested_counter items[SAMPLES_MAX_COUNTERS];
};

/* Why the best source of a request does not measure it. */
enum unavailable {
    UNAVAILABLE_NOT,     /* or CUPTI cannot sample at all */
    UNAVAILABLE_COUNTER, /* the GPU has none of that name */
    UNAVAILABLE_PASS,    /* CUPTI does not count it in one pass, even alone */
    UNAVAILABLE_ROOM,    /* it would fit alone */
    UNAVAILABLE_NVML     /* NVML alone could read it, and does not */
};

/* For one device: who measures each request so far, and why nobody better does. */
struct sample_plan {
    const struct requested_counters *requested;
    enum sampled_by by[SAMPLES_MAX_COUNTERS];
    enum unavailable unavailable[SAMPLES_MAX_COUNTERS];
    char near[SAMPLES_MAX_COUNTERS][METRIC_NAME_BYTES]; /* one that there is; empty: none */
};

/* Reads the list. Unknown names are said, with the nearest known one, and left out. The name `all`
 * requests every known counter. */
void requested_read(struct requested_counters *requested, const char *names);

/* ---- Unavailable counters ----
 *
 * Why requests are not granted: the note of each in the trace, and a line for each reason.
 */

/* Static; NULL when CUPTI lacks nothing, or the reason is NVML's. */
const char *unavailable_note(enum unavailable why);

/* One line for each reason, with the requests that it holds for and what to do. `nvml_reason` is
 * why NVML does not read what UNAVAILABLE_NVML stands for. */
void unavailable_say(unsigned device, const struct sample_plan *plan, const char *nvml_reason);

#endif
