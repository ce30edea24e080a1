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

void json_deps_statistics(struct json_writer *json, const struct statistics *statistics)
{
    json_key_real(json, "mean_ns", statistics->mean);
    json_key_number(json, "p50_ns", statistics->p50);
    json_key_number(json, "p99_ns", statistics->p99);
}

void json_deps_known(struct json_writer *json, const char *key, bool known, uint64_t number)
{
    json_key(json, key);
    if (known)
        json_number(json, number);
    else
        json_null(json);
}

void json_deps_window(struct json_writer *json, const struct deps_report *report,
                      const struct deps_window *window)
{
    if (report->iterations)
        json_key_number(json, "iteration", window->id);
    json_deps_known(json, "range", window->range, window->range ? window->range->id : 0);
}
