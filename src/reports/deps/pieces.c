/* Lines and keys that several sections print. */
#include <stdarg.h>

#include "base/text/foreign.h"
#include "reports/common/quality.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

void print_deps_title(const struct report_out *out, const struct deps_report *report,
                      const char *format, ...)
{
    va_list arguments;

    if (!report_has_titles(out))
        return;
    print_prefix(out, report->trace);
    va_start(arguments, format);
    foreign_print(out->file, format, arguments);
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

const char *deps_kind_name(unsigned kind)
{
    static const char *const names[DEPS_KINDS] = {
        [DEPS_CALL] = "call", [DEPS_KERNEL] = "kernel",     [DEPS_COPY] = "copy",
        [DEPS_SET] = "set",   [DEPS_GRAPH] = "graph",       [DEPS_HOST_FUNCTION] = "host function",
        [DEPS_WAIT] = "wait", [DEPS_TRANSFER] = "transfer",
    };

    return names[kind];
}
