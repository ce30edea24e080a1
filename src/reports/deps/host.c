/* --parts: <host code> by the lines that the threads of the path were in. */
#include "reports/common/host_code.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

void print_deps_host(const struct report_out *out, const struct deps_report *report)
{
    bool mean = report->iterations != NULL;
    const struct host_code host = {
        .trace = report->trace,
        .gaps = report->gaps,
        .title = mean ? "Host code on the path of an iteration" : "Host code on the critical path",
        .iterations = mean ? report->windows->count : 0,
    };

    print_host_code(out, &host);
}

void json_deps_host(struct json_writer *json, const struct deps_report *report)
{
    const struct host_code host = {.gaps = report->gaps};

    json_host_code(json, &host);
}
