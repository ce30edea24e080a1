/* See resync.h. */
#include "record/resync.h"

#include "base/poison.h"

void resync_given(struct resync *resync, uint64_t now)
{
    atomic_store(&resync->since, now);
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

bool resync_is_due(struct resync *resync, uint64_t now, uint64_t work, uint64_t end, bool quiet)
{
    uint64_t since = atomic_load(&resync->since);
    uint64_t age;
    bool heavy;

    if (end > now)
        now = end;
    if (!since || now <= since || work == resync->begun)
        return false;
    age = now - since;
    heavy = is_heavy(resync, age, work, end);
    if (age < RESYNC_LEAST_NS ||
        !(heavy || age >= RESYNC_MOST_NS || (quiet && age >= RESYNC_QUIET_NS)))
        return false;
    resync_given(resync, now);
    return true;
}
