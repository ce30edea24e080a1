/* What the files of the layers report share: how many rows --top leaves, and notes. */
#include <stdarg.h>

#include "base/text/foreign.h"
#include "report/common/quality.h"
#include "report/layers/layers.h"

#include "base/poison.h"

size_t layers_shown(const struct layers_report *report, size_t count)
{
    return report->top && report->top < count ? (size_t)report->top : count;
}

void print_layers_note(const struct report_out *out, const struct layers_report *report,
                       const char *format, ...)
{
    va_list arguments;

    print_prefix(out, report->trace);
    va_start(arguments, format);
    foreign_print(out->file, format, arguments);
    va_end(arguments);
    fputc('\n', out->file);
}
