/* Which metrics the GPUs of this machine have. The recorder asks CUPTI in a separate process,
 * because the driver must not be loaded into this one. */
#ifndef MP_RUN_QUERY_H
#define MP_RUN_QUERY_H

#include <stdbool.h>

#include "base/status.h"
#include "reports/metrics/print.h"
#include "table/table.h"

struct query {
    enum metric_list list;
    const char *devices; /* `all` or ordinals; NULL: all */
    const char *library; /* libminiprof.so; NULL: the one next to this command */
};

/* Starts a child that loads the CUDA driver with the recorder inside, waits for the trace with the
 * answer, and prints the list. MP_OK; MP_ERR_UNSUPPORTED without a CUDA driver, MP_ERR_ARGUMENT for
 * a wrong list of devices, MP_ERR_IO and MP_ERR_MEMORY for all else, each with a line that says
 * why. */
enum mp_status query_print(const struct report_out *out, const struct query *query,
                           struct mp_error *error);

/* nvprof's --query-metrics, or with `events` --query-events: prints the list to `out`, and
 * complaints in nvprof's form to stderr. Returns nvprof's exit code: 0; 23 without a driver; 4 when
 * the devices are wrong or cannot be queried. */
int metrics_query(const struct report_out *out, bool events, const char *devices);

#endif
