/* What was counted of single kernels (`--metrics`): one counter a metric, below its GPU. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "export/kineto/state.h"

#include "base/poison.h"

#define CELL(table, column) (row->columns[MP_COLUMN_##table##_##column][row->index])

enum mp_status kineto_write_metric(struct kineto *kineto, const struct export_row *row)
{
    struct events *events = &kineto->events;
    union {
        uint64_t bits;
        double real;
    } value = {.bits = CELL(metric_value, value)};
    char place[64];

    if (!isfinite(value.real))
        return MP_OK;
    snprintf(place, sizeof place, ",\"pid\":\"GPU %" PRIu64 " Counters\",\"tid\":0",
             row->place ? row->place->device : 0);
    event_begin(events, 'C', "hardware_counters");
    event_name(events, &row->name);
    event_literal(events, place);
    event_time(events, row->start);
    event_args(events);
    event_real(events, "", value.real);
    event_end(events);
    return events->text.status;
}
