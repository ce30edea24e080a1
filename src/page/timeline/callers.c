/* Which line of the program each call of a time line was made from. Work has that of its launch;
 * only nodes of graphs have another (details.c).
 */
#include <stdlib.h>

#include "page/timeline/timeline.h"
#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

enum mp_status timeline_add_callers(struct timeline *timeline, struct mp_trace *trace,
                                    const struct deps *deps, struct mp_error *error)
{
    bool any;

    MP_TRY(reading_has_rows(trace, MP_TABLE_stack, &any, error));
    if (!any)
        return MP_OK;
    MP_TRY(called_from_load(&timeline->callers, trace, CALLED_BY_LINE, error));
    timeline->caller = calloc(timeline->event_count + 1, sizeof *timeline->caller);
    if (!timeline->caller)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < timeline->event_count; i++) {
        uint32_t activity = timeline->events[i].activity;

        if (activity < deps->host_count && deps->activities[activity].correlation)
            MP_TRY(called_from(&timeline->callers, deps->activities[activity].correlation, 0,
                               &timeline->caller[i]));
    }
    return MP_OK;
}
