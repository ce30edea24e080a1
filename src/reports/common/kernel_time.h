/* By how much kernel times add up beyond the time in which kernels run, as a line and as JSON. */
#ifndef MP_REPORTS_COMMON_KERNEL_TIME_H
#define MP_REPORTS_COMMON_KERNEL_TIME_H

#include <miniprof/trace.h>

#include "base/text/json_write.h"
#include "profile/common/kernel_time.h"
#include "table/table.h"

/* `==PID== Note: kernel times add up to ...` if they exceed the busy time by more than 1 %, else
 * nothing. `trace` NULL: of several processes. */
void print_kernel_time(const struct report_out *out, const struct mp_trace *trace,
                       const struct kernel_time *time);

/* The key "kernel_time": total_ns, busy_ns, beyond_busy_ns, within_streams_ns, between_streams_ns;
 * null if nothing is known. */
void json_kernel_time(struct json_writer *json, const struct kernel_time *time);

#endif
