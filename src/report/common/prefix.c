/* The beginning of a line for people: nvprof's `==PID== `, and the command that was profiled. */
#include "report/common/quality.h"

#include "base/poison.h"

void print_prefix(const struct report_out *out, const struct mp_trace *trace)
{
    const char *pid = trace ? mp_trace_property(trace, "pid") : NULL;

    if (pid && !out->imported)
        fprintf(out->file, "==%s== ", pid);
    else
        fputs("======== ", out->file);
}

void print_csv_prefix(const struct report_out *out, const struct mp_trace *trace)
{
    if (out->format != REPORT_CSV || out->nvprof)
        return;
    print_prefix(out, trace);
}

const char *command_of(const struct mp_trace *trace)
{
    const char *arguments = mp_trace_property(trace, "argv");

    return arguments && *arguments ? arguments : mp_trace_property(trace, "executable");
}
