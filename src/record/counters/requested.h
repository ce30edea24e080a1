/* What MINIPROF_SAMPLE asks for, as a list of counters without repetitions. */
#ifndef MP_RECORD_COUNTERS_REQUESTED_H
#define MP_RECORD_COUNTERS_REQUESTED_H

#include "record/counters/samples.h"

struct sample_wish {
    char name[METRIC_NAME_BYTES];
    const struct sampled_entry *entry; /* NULL: one of CUPTI's own names */
};

struct sample_wishes {
    size_t count;
    struct sample_wish items[SAMPLES_MAX_COUNTERS];
};

/* Why the best source of a wish does not measure it. */
enum sample_lack {
    SAMPLE_LACKS_NOTHING, /* or CUPTI cannot sample at all */
    SAMPLE_LACKS_COUNTER, /* the GPU has none of that name */
    SAMPLE_LACKS_PASS,    /* CUPTI does not count it in one pass, even alone */
    SAMPLE_LACKS_ROOM,    /* it would fit alone */
    SAMPLE_LACKS_NVML     /* NVML alone could read it, and does not */
};

/* For one device: who measures each wish so far, and why nobody better does. */
struct sample_plan {
    const struct sample_wishes *wishes;
    enum sampled_by by[SAMPLES_MAX_COUNTERS];
    enum sample_lack lacks[SAMPLES_MAX_COUNTERS];
    char near[SAMPLES_MAX_COUNTERS][METRIC_NAME_BYTES]; /* one that there is; empty: none */
};

/* Reads the list. Unknown names are said, with the nearest known one, and left out. With `all` in
 * place of a name every known counter is wished for. */
void wishes_read(struct sample_wishes *wishes, const char *names);

/* ---- Unavailable counters ----
 *
 * Why wishes are not granted: the note of each in the trace, and a line for each reason.
 */

/* Static; NULL when CUPTI lacks nothing, or the reason is NVML's. */
const char *lacks_note(enum sample_lack lack);

/* One line for each reason, with the wishes that it holds for and what to do. `nvml_reason` is why
 * NVML does not read what SAMPLE_LACKS_NVML stands for. */
void lacks_say(unsigned device, const struct sample_plan *plan, const char *nvml_reason);

#endif
