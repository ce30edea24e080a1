/* Times as settings write them: a number and a unit, "30s", "1.5ms", "200us". */
#ifndef MP_BASE_TEXT_DURATION_H
#define MP_BASE_TEXT_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* The whole of `text` as nanoseconds: digits, with a point and up to nine more if need be, and then
 * one of ns, us, ms, s, min and h. What is below a nanosecond is cut off. False, with *ns as it
 * was, when it is something else or longer than 2^62 ns. */
bool mp_duration_parse(const char *text, uint64_t *ns);

/* MINIPROF_FLIGHT: whether it is a time from 1 s to 1 h. */
bool mp_flight_check(const char *text);

/* MINIPROF_SLOW_STEP: a time, or a percentile of the steps so far times a factor. */
struct mp_slow_step {
    uint64_t limit_ns; /* of a time; 0: the two below hold */
    unsigned percent;  /* 1 to 99 */
    double factor;
};

/* Reads "50ms" or "p99x2" or "p99": a time above 0, or p01 to p99 and a factor above 0, at most
 * 1000, that is 1 if there is none. False, with *slow undefined, when it is something else. */
bool mp_slow_step_parse(const char *text, struct mp_slow_step *slow);
bool mp_slow_step_check(const char *text);

#endif
