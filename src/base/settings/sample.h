/* MINIPROF_SAMPLE: which counters of the GPU are sampled over time, and how often.
 *
 *     default                             the counters marked so in base/metrics/sampled.def
 *     default,fp32_active@1kHz            a list, and a rate behind the @
 *     sm__inst_executed.avg.per_cycle_elapsed@500Hz    CUPTI's own names too
 */
#ifndef MP_BASE_SETTINGS_SAMPLE_H
#define MP_BASE_SETTINGS_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
