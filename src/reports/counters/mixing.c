/* Which counters add up where kernels run at once. Bytes and busy pipes do. A clock, the power or
 * "something runs" is of the whole GPU: there is one value for all that runs.
 */
#include <string.h>

#include "base/text/strings.h"
#include "reports/counters/pass.h"

#include "base/poison.h"

/* Counters that say for how much of the time something was so, by their names. */
static bool is_share_of_time(const char *name)
{
    static const char *const names[] = {"gr_active", "power_capped", "too_hot"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (mp_text_equal(name, names[i]))
            return true;
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length > end_length && mp_text_equal(text + length - end_length, end);
}

/* CUPTI's metrics, which may have been asked for by their own names: clocks, whether the GPU is
 * busy, and quotients such as hit rates. Their bytes are those of one sample, and add up. */
static bool is_mean_of_cupti(const char *metric)
{
    return strstr(metric, "__cycles_elapsed.") || strstr(metric, "gr__cycles_active.") ||
           ends_with(metric, ".pct") || ends_with(metric, ".ratio");
}

enum counters_mixing counters_mixing_of(const struct counters_counter *counter)
{
    static const bool is_mean[METRIC_UNIT_CELSIUS + 1] = {
        [METRIC_UNIT_HERTZ] = true,
        [METRIC_UNIT_WATTS] = true,
        [METRIC_UNIT_CELSIUS] = true,
    };
    bool mean = is_mean[counter->unit] || (counter->name && is_share_of_time(counter->name)) ||
                (counter->expression && is_mean_of_cupti(counter->expression)) ||
                (counter->unit == METRIC_UNIT_BYTES && counter->by != SAMPLED_BY_CUPTI);

    return mean ? COUNTERS_MEAN : COUNTERS_ADD_UP;
}
