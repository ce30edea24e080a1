/* Which costs a trace was recorded with: its own, the user's, or those built in. */
#include <stdint.h>
#include <string.h>

#include "base/costs_file.h"
#include "base/text/strings.h"
#include "profile/costs/costs.h"
#include "profile/costs/text.h"

#include "base/poison.h"

bool costs_find(const char *text, const struct costs_key *key, struct costs *costs)
{
    struct costs_piece block;

    while (costs_next_block(&text, &block)) {
        if (costs_block_is_of(&block, key))
            return costs_block_read(&block, costs);
    }
    return false;
}

static bool read_number(const struct mp_trace *trace, const char *property, unsigned long *number)
{
    const char *text = mp_trace_property(trace, property);
    uint64_t value;

    if (!text || !mp_text_to_u64(text, 0, UINT32_MAX, &value))
        return false;
    *number = (unsigned long)value;
    return true;
}

/* On the H200 of the other built-in costs, at a depth of 30 (docs/stacks.md): Python's stacks, and
 * native ones by libunwind. A trace does not say whether glibc unwound, which takes 4 us more. */
static double cost_of_stack(const struct mp_trace *trace)
{
    const char *kind = mp_trace_property(trace, "MINIPROF_STACKS");

    if (!kind || !strcmp(kind, "off"))
        return 0;
    return !strcmp(kind, "python") ? 500 : 1300;
}

enum costs_source costs_of_trace(const struct mp_trace *trace, const char *gpu, struct costs *costs)
{
    const char *own = mp_trace_property(trace, "recording_costs");
    struct costs_key key = {.gpu = gpu};
    char text[MP_COSTS_BYTES + 1];

    costs_built_in(costs);
    costs->stack = cost_of_stack(trace);
    if (!gpu || !read_number(trace, "driver_version", &key.driver) ||
        !read_number(trace, "cupti_version", &key.cupti))
        return COSTS_BUILT_IN;
    if (own && costs_find(own, &key, costs))
        return COSTS_CALIBRATED_THERE;
    if (mp_costs_read(text) && costs_find(text, &key, costs))
        return COSTS_CALIBRATED_HERE;
    return COSTS_BUILT_IN;
}
