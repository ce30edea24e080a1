/* The beginning of a line for people: nvprof's `==PID== `, and the command that was profiled. */
#include "reports/common/quality.h"

#include <inttypes.h>

#include "base/text/foreign.h"

#include "base/poison.h"

void print_prefix(const struct report_out *out, const struct mp_trace *trace)
{
    const char *pid = trace ? mp_trace_property(trace, "pid") : NULL;

    fputs("==", out->file);
    if (pid && !out->imported)
        foreign_put_text(out->file, pid);
    else
        fputs("====", out->file);
    fputs("== ", out->file);
}

void print_note(const struct report_out *out, const struct mp_trace *trace, const char *format, ...)
{
    va_list arguments;

    print_prefix(out, trace);
    va_start(arguments, format);
    foreign_print(out->file, format, arguments);
    va_end(arguments);
    fputc('\n', out->file);
}

void print_device_name(FILE *out, const char *name, uint64_t device)
{
    fputs("Device \"", out);
    if (device == UINT64_MAX) {
        fputs("<unknown>", out);
    } else {
        foreign_put_text(out, name ? name : "GPU");
        fprintf(out, " (%" PRIu64 ")", device);
    }
    fputs("\"\n", out);
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
