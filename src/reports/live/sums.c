/* Sums of one interval and of all of them, side by side, so that a tick only clears the first. */
#include "reports/live/live.h"

#include "base/poison.h"

void live_add(struct live_sum *sum, uint64_t ns)
{
    sum->count++;
    sum->ns += ns;
    sum->last_count++;
    sum->last_ns += ns;
}
