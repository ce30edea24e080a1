/* Lines and keys that several sections print. */
#include <stdarg.h>

#include "report/common/quality.h"
#include "report/deps/sections.h"

#include "base/poison.h"

void print_deps_line(const struct report_out *out, const struct deps_report *report,
                     const char *format, ...)
{
    va_list arguments;

    print_prefix(out, report->trace);
    va_start(arguments, format);
    vfprintf(out->file, format, arguments);
    va_end(arguments);
    fputc('\n', out->file);
}

void json_deps_window(struct json_writer *json, const struct deps_report *report,
                      const struct deps_window *window)
{
    if (report->iterations)
        JSON_FACTS(json, FACT("iteration", window->id));
    JSON_FACTS(json, FACT_IF("range", window->range, window->range->id));
}
