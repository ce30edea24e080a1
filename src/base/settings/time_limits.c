/* The time limits and their divisor. The divisor is one number for the whole process, since signal
 * handlers and code without a recorder use limits too.
 */
#include "base/settings/time_limits.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/text/strings.h"

#include "base/poison.h"

static const uint64_t defaults[] = {
#define TIME_LIMIT(name, ns, why) [MP_TIME_##name] = (ns),
#include "base/settings/time_limits.def"
};

static _Atomic uint32_t divisor = 1;

enum mp_status mp_time_limits_read(struct mp_error *error)
{
    const char *text = secure_getenv(MP_TIME_DIVISOR);
    uint64_t number = 1;
    bool valid = !text || !*text || mp_text_to_u64(text, 1, MP_TIME_DIVISOR_MAX, &number);

    atomic_store_explicit(&divisor, valid ? (uint32_t)number : 1, memory_order_relaxed);
    if (valid)
        return MP_OK;
    return mp_error_set(error, MP_ERR_ARGUMENT,
                        MP_TIME_DIVISOR "='%.64s' is not valid: takes a number from 1 to %d", text,
                        MP_TIME_DIVISOR_MAX);
}

uint64_t mp_time_limit_ns(enum mp_time_limit limit)
{
    uint64_t ns = defaults[limit] / atomic_load_explicit(&divisor, memory_order_relaxed);

    return ns ? ns : 1;
}

int mp_time_limit_ms(enum mp_time_limit limit)
{
    uint64_t ms = mp_time_limit_ns(limit) / 1000000;

    return ms ? (int)ms : 1;
}

struct timespec mp_time_limit_timespec(enum mp_time_limit limit)
{
    uint64_t ns = mp_time_limit_ns(limit);

    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

double mp_time_limit_seconds(enum mp_time_limit limit)
{
    return (double)mp_time_limit_ns(limit) / 1e9;
}
