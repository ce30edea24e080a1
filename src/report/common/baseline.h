/* What a step takes recorded and not recorded, as `iters` and `info` say it. */
#ifndef MP_REPORT_COMMON_BASELINE_H
#define MP_REPORT_COMMON_BASELINE_H

#include <miniprof/trace.h>

#include "analyze/baseline/baseline.h"
#include "base/text/json_write.h"
#include "report/table/table.h"

/* A line, or none for a trace without MINIPROF_BASELINE. */
void print_baseline(const struct report_out *out, const struct mp_trace *trace,
                    const struct baseline *baseline);

/* The key "baseline" with an object; nothing for such a trace. */
void json_baseline(struct json_writer *json, const struct baseline *baseline);

#endif
