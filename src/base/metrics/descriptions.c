/* What nvprof's metrics and events are called in words: one list for each kind, in the order of
 * their entries.
 */
#include "base/metrics/metrics.h"

#include "base/poison.h"

#define METRIC(name, unit, description, ...) description,
#define EVENT(...)
static const char *const metrics[] = {
#include "base/metrics/metrics.def"
};

#define METRIC(...)
#define EVENT(name, unit, description, ...) description,
static const char *const events[] = {
#include "base/metrics/metrics.def"
};

const char *metric_description(enum metric_kind kind, const char *name)
{
    size_t count;
    const struct metric_entry *entries = metric_entries(kind, &count);
    const struct metric_entry *found = metric_find_of(kind, name);

    if (!found)
        return name;
    return (kind == METRIC_KIND_METRIC ? metrics : events)[found - entries];
}
