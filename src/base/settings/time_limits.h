/* The time limits from the table in time_limits.def, and the one number that tests divide them by.
 * With MINIPROF_TEST_TIME_DIVISOR=10 a test waits 9 ms for a write instead of 90. It is for tests
 * only, so it is no setting: users do not find it in docs/environment.md or --help.
 */
#ifndef MP_BASE_SETTINGS_TIME_LIMITS_H
#define MP_BASE_SETTINGS_TIME_LIMITS_H

#include <stdint.h>
#include <time.h>

#include "base/status.h"

#define MP_TIME_DIVISOR     "MINIPROF_TEST_TIME_DIVISOR"
#define MP_TIME_DIVISOR_MAX 1000

enum mp_time_limit {
#define TIME_LIMIT(name, ns, why) MP_TIME_##name,
#include "base/settings/time_limits.def"
    MP_TIME_LIMITS
};

/* Takes the divisor from the environment: a number from 1 to MP_TIME_DIVISOR_MAX. Without the
 * variable, or in a set-user-id program, it is 1. With any other value it is 1 too, and the answer
 * is MP_ERR_ARGUMENT. Called once, before there are threads that wait; until then it is 1. */
enum mp_status mp_time_limits_read(struct mp_error *error);

/* The limit, divided; at least 1. All: any thread, also in signal handlers. */
uint64_t mp_time_limit_ns(enum mp_time_limit limit);
int mp_time_limit_ms(enum mp_time_limit limit);
struct timespec mp_time_limit_timespec(enum mp_time_limit limit);

/* The same in seconds, for messages. */
double mp_time_limit_seconds(enum mp_time_limit limit);

#endif
