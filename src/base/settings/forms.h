/* Values of settings that are written in a special form: times, ranges, sampled counters,
 * schedules, shares, devices and kernels. What ends in _check says whether a text is such a value,
 * without keeping it.
 */
#ifndef MP_BASE_SETTINGS_FORMS_H
#define MP_BASE_SETTINGS_FORMS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* ---- Times ----
 *
 * Times as settings write them: a number and a unit, "30s", "1.5ms", "200us".
 */

/* Reads the whole of `text` as nanoseconds: digits, optionally a point and up to nine digits more,
 * then one of ns, us, ms, s, min and h. A fraction of a nanosecond is cut off. If the text is
 * anything else or longer than 2^62 ns, returns false and leaves *ns unchanged. */
bool mp_duration_parse(const char *text, uint64_t *ns);

/* MINIPROF_FLIGHT: whether the text is a time from 1 s to 1 h. */
bool mp_flight_check(const char *text);

/* MINIPROF_SLOW_STEP: a time, or a percentile of the steps so far multiplied by a factor. */
struct mp_slow_step {
    uint64_t limit_ns; /* of a time; 0: the percentile and factor below apply */
    unsigned percent;  /* 1 to 99 */
    double factor;
};

/* Reads "50ms", "p99x2" or "p99": a time above 0, or p01 to p99 and a factor above 0 and at most
 * 1000. Without a factor, 1 is taken. For any other text returns false, with *slow undefined. */
bool mp_slow_step_parse(const char *text, struct mp_slow_step *slow);
bool mp_slow_step_check(const char *text);

/* ---- NVTX ranges ----
 *
 * NVTX ranges as settings name them, NAME[@DOMAIN], and the N of MINIPROF_CAPTURE_END=repeat:N.
 */

/* Whether the text names a range: if it has an @, there must be a name before the last one. */
bool mp_range_name_check(const char *text);

/* The length of the name in bytes, and where the domain begins. Without an @, or with nothing after
 * it, the domain is "", which means the default domain. So a name that contains an @ is written
 * with another @ at its end. */
size_t mp_range_name_split(const char *text, const char **domain);

/* A number of ranges, from 1; 0 when it is none. */
uint32_t mp_repeat_number(const char *text);
bool mp_repeat_check(const char *text);

/* ---- Sampled counters ----
 *
 * MINIPROF_SAMPLE: which counters of the GPU are sampled over time, and how often.
 *
 *     default                             the counters marked so in base/metrics/sampled.def
 *     default,fp32_active@1kHz            a list, and a rate after the @
 *     sm__inst_executed.avg.per_cycle_elapsed@500Hz    CUPTI's own names too
 */

#define MP_SAMPLE_MIN_HZ     10u
#define MP_SAMPLE_MAX_HZ     200000u
#define MP_SAMPLE_PRESET_HZ  10000u
#define MP_SAMPLE_LIST_BYTES 4096

struct mp_sample {
    char names[MP_SAMPLE_LIST_BYTES]; /* the list, without the rate */
    uint32_t hertz;
};

/* False when the rate is none from 10Hz to 200kHz, or there is no name; *sample is undefined then.
 */
bool mp_sample_parse(const char *text, struct mp_sample *sample);
bool mp_sample_check(const char *text);

/* ---- Schedules of steps ----
 *
 * MINIPROF_SCHEDULE: which steps of a program are kept, as torch.profiler.schedule decides it.
 *
 *     skip | wait warmup active | wait warmup active | ...      `repeat` cycles; 0: for ever
 *
 * The active steps of a cycle are one capture range.
 */

struct mp_schedule {
    uint32_t skip;   /* steps before the first cycle */
    uint32_t wait;   /* steps of a cycle of which nothing is recorded, ... */
    uint32_t warmup; /* ... that are recorded and dropped, ... */
    uint32_t active; /* ... that are kept; 1 at least */
    uint32_t repeat; /* cycles; 0 for ever */
};

enum mp_step_phase {
    MP_STEP_IDLE,   /* skipped or waiting */
    MP_STEP_WARMUP, /* recorded and dropped */
    MP_STEP_ACTIVE, /* kept */
    MP_STEP_LAST,   /* kept, and the last of its cycle */
    MP_STEP_OVER    /* all cycles are over */
};

/* Reads "skip=1,wait=1,warmup=1,active=3,repeat=1", in any order. `active` is required; each other
 * part is 0 if it is missing. For any other text returns false, with *schedule undefined. */
bool mp_schedule_parse(const char *text, struct mp_schedule *schedule);

/* Whether mp_schedule_parse takes it. */
bool mp_schedule_check(const char *text);

/* The phase of a step, counted from 0. */
enum mp_step_phase mp_schedule_phase(const struct mp_schedule *schedule, uint64_t step);

/* ---- Shares ----
 *
 * MINIPROF_BASELINE: which share of the steps runs without being recorded.
 */

#define MP_SHARE_MIN 1u
#define MP_SHARE_MAX 75u

/* The percent of "25%" or "25"; 0 when it is none from 1 to 75. */
uint32_t mp_share_percent(const char *text);
bool mp_share_check(const char *text);

/* ---- Devices ----
 *
 * nvprof's --devices: `all` or ordinals, `0,2`.
 */

#define DEVICE_LIST_MAX 64 /* ordinals stay below it */

struct device_list {
    uint64_t chosen; /* bit n: device n */
};

/* Reads `text`; empty, NULL and `all` choose every device. MP_ERR_ARGUMENT with one line. */
enum mp_status device_list_parse(const char *text, struct device_list *list,
                                 struct mp_error *error);

bool device_list_has(const struct device_list *list, uint64_t device);

/* ---- Kernels ----
 *
 * Which kernels are profiled: nvprof's --kernels.
 *
 *     NAME                                   a regular expression for the kernel's name
 *     CONTEXT:STREAM:NAME:INVOCATION         each part may be empty: anything
 *
 * All parts are POSIX extended regular expressions. NAME may match any part of the name (`Add`
 * finds vecAdd, `^Add$` does not). The others are for numbers and must match the whole number (`1`
 * is not 12; `1|3`, `[0-9]`). INVOCATION counts the launches of a kernel of this name, from 1.
 *
 * C++'s `::` may be a part of a name: `ns::add`, `::ns::add:2`. If the text has three colons or
 * more, the first two and the last one divide it, unless letters stand before the second.
 *
 * The expression is searched for in the mangled name, in the function's plain name, and in the
 * plain name with its scopes (text/names.h): `^add$`, `^ns::add$` and `3addIfE` all find
 * _ZN2ns3addIfEEvPf.
 */

enum kernel_filter_part {
    KERNEL_FILTER_CONTEXT,
    KERNEL_FILTER_STREAM,
    KERNEL_FILTER_NAME,
    KERNEL_FILTER_INVOCATION,
    KERNEL_FILTER_PARTS
};

struct kernel_filter {
    regex_t parts[KERNEL_FILTER_PARTS];
    bool given[KERNEL_FILTER_PARTS];
};

/* Compiles `text`; empty or NULL matches everything. MP_ERR_ARGUMENT with one line that says which
 * part is wrong, MP_ERR_MEMORY; *filter is then empty. On success kernel_filter_free gives it
 * back. */
enum mp_status kernel_filter_parse(struct kernel_filter *filter, const char *text,
                                   struct mp_error *error);

/* A zeroed filter, or one that was given back, is empty. */
void kernel_filter_free(struct kernel_filter *filter);

/* Whether the filter selects this launch. `context` and `stream` are CUPTI's ids. `kernel` is the
 * mangled name; NULL means unknown, and only an empty NAME matches it. `invocation` counts from 1.
 * Any thread; glibc's regexec takes memory and a lock for a short time. */
bool kernel_filter_matches(const struct kernel_filter *filter, uint64_t context, uint64_t stream,
                           const char *kernel, uint64_t invocation);

#endif
