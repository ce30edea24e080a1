/* Times as settings write them: a number and a unit, "30s", "1.5ms", "200us". */
#ifndef MP_BASE_TEXT_DURATION_H
#define MP_BASE_TEXT_DURATION_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
