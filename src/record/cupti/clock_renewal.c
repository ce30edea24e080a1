/* Decides when the clock is registered again. CUPTI gets slower with every second since the last
 * registration; registering it loses the times of work that runs at that moment.
 */
#include "record/cupti/clock_renewal.h"

#include "base/settings/config.h"

#include "base/poison.h"

void clock_renewal_given(struct clock_renewal *clock_renewal, uint64_t now)
{
    atomic_store(&clock_renewal->since, now);
}

void clock_renewal_done(struct clock_renewal *clock_renewal)
{
    atomic_store(&clock_renewal->since, atomic_load(&clock_renewal->asked));
}

void clock_renewal_restart(struct clock_renewal *clock_renewal, uint64_t work)
{
    clock_renewal->begun = work;
    clock_renewal->work = work;
    clock_renewal->counted = 0;
}

/* Whether the records per second since the last count (in the device's time), times `age`, reach
 * CLOCK_RENEWAL_RECORDS. */
static bool is_heavy(struct clock_renewal *clock_renewal, uint64_t age, uint64_t work, uint64_t end)
{
    double passed = end > clock_renewal->counted ? (double)(end - clock_renewal->counted) : 0;
    double came = (double)(work - clock_renewal->work);
    bool known = clock_renewal->counted != 0;

    if (known && passed < (double)mp_time_limit_ns(MP_TIME_CLOCK_PACE))
        return false;
    clock_renewal->counted = end;
    clock_renewal->work = work;
    return known && came / passed * (double)age >= CLOCK_RENEWAL_RECORDS;
}

static bool is_worth_it(struct clock_renewal *clock_renewal, uint64_t age, uint64_t work,
                        uint64_t end, bool quiet)
{
    bool heavy = is_heavy(clock_renewal, age, work, end);

    if (work == clock_renewal->begun || age < mp_time_limit_ns(MP_TIME_CLOCK_MIN_AGE))
        return false;
    return heavy || age >= mp_time_limit_ns(MP_TIME_CLOCK_MAX_AGE) ||
           (quiet && age >= mp_time_limit_ns(MP_TIME_CLOCK_QUIET_AGE));
}

bool clock_renewal_ask(struct clock_renewal *clock_renewal, uint64_t now)
{
    if (now < atomic_load(&clock_renewal->asked) + mp_time_limit_ns(MP_TIME_CLOCK_MIN_AGE))
        return false;
    atomic_store(&clock_renewal->asked, now);
    return true;
}

bool clock_renewal_is_due(struct clock_renewal *clock_renewal, uint64_t now, uint64_t work,
                          uint64_t end, bool answered)
{
    uint64_t since = atomic_load(&clock_renewal->since);
    bool quiet = answered && work == clock_renewal->seen;

    clock_renewal->seen = work;
    if (end > now)
        now = end;
    return since && now > since && is_worth_it(clock_renewal, now - since, work, end, quiet) &&
           clock_renewal_ask(clock_renewal, now);
}

bool clock_renewal_is_old(const struct clock_renewal *clock_renewal, uint64_t now)
{
    uint64_t since = atomic_load(&clock_renewal->since);

    return since && now > since && now - since >= mp_time_limit_ns(MP_TIME_CLOCK_QUIET_AGE);
}
