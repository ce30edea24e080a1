/* See clock_renewal.h. */
#include "record/cupti/clock_renewal.h"

#include "base/poison.h"

void resync_given(struct resync *resync, uint64_t now)
{
    atomic_store(&resync->since, now);
}

void resync_done(struct resync *resync)
{
    atomic_store(&resync->since, atomic_load(&resync->asked));
}

void resync_restart(struct resync *resync, uint64_t work)
{
    resync->begun = work;
    resync->work = work;
    resync->counted = 0;
}

/* Records that came since the last count, for each second of the device's time, times `age`. */
static bool is_heavy(struct resync *resync, uint64_t age, uint64_t work, uint64_t end)
{
    double passed = end > resync->counted ? (double)(end - resync->counted) : 0;
    double came = (double)(work - resync->work);
    bool known = resync->counted != 0;

    if (known && passed < (double)RESYNC_PACE_NS)
        return false;
    resync->counted = end;
    resync->work = work;
    return known && came / passed * (double)age >= RESYNC_RECORDS;
}

static bool is_worth_it(struct resync *resync, uint64_t age, uint64_t work, uint64_t end,
                        bool quiet)
{
    bool heavy = is_heavy(resync, age, work, end);

    if (work == resync->begun || age < RESYNC_LEAST_NS)
        return false;
    return heavy || age >= RESYNC_MOST_NS || (quiet && age >= RESYNC_QUIET_NS);
}

/* Not again at once where it could not be done. */
static bool ask(struct resync *resync, uint64_t now)
{
    if (now < atomic_load(&resync->asked) + RESYNC_LEAST_NS)
        return false;
    atomic_store(&resync->asked, now);
    return true;
}

bool resync_is_due(struct resync *resync, uint64_t now, uint64_t work, uint64_t end, bool answered)
{
    uint64_t since = atomic_load(&resync->since);
    bool quiet = answered && work == resync->seen;

    resync->seen = work;
    if (end > now)
        now = end;
    return since && now > since && is_worth_it(resync, now - since, work, end, quiet) &&
           ask(resync, now);
}

bool resync_is_due_at_end(struct resync *resync, uint64_t now)
{
    uint64_t since = atomic_load(&resync->since);

    return since && now > since && now - since >= RESYNC_QUIET_NS && ask(resync, now);
}
