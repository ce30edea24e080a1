/* `miniprof html`: one page with the time line and all reports. Analyses that fail leave their
 * part out, and the page says so.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#include "common/command.h"
#include "common/page_file.h"
#include "common/report_options.h"
#include "report/page/page.h"

#include "base/poison.h"

/* A page with this many events is about 30 MB, and a browser takes about 100 MB for it. */
#define USUAL_EVENTS 2000000

struct html_values {
    struct report_values report;
    const char *output;
    uint64_t events;
};

#define FIELD(name) offsetof(struct html_values, name)
static const struct option_spec specs[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .kind = OPTION_TEXT,
     .offset = FIELD(output),
     .help = "where the page goes; - is the standard output"},
    {.name = "events",
     .argument = "N",
     .kind = OPTION_NUMBER,
     .offset = FIELD(events),
     .help = "most events in the time line, the first ones (default 2000000)"},
    REPORT_RANGE_OPTION(FIELD(report), "only capture range N; without it, everything"),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "html",
    .synopsis = "[options] -o PAGE.html TRACE",
    .purpose = "Writes a page to look at in a browser: overview, time line with critical path and "
               "dependencies, and the tables of the other commands. One file that needs nothing "
               "else and loads nothing.",
    .notes = "Exit code: 0 fine, 1 the trace is not whole, 2 wrong usage, or miniprof was built "
             "without npm's uPlot, 3 the trace cannot be read or the page not written.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

static int code_of(const char *path, enum mp_status status, const struct mp_error *error)
{
    if (status != MP_ERR_UNSUPPORTED)
        return fail_on_trace(set.command, path, error);
    complain(set.command, "%s", error->text);
    return EXIT_USAGE;
}

struct job {
    const char *path; /* of the trace */
    const struct html_values *values;
};

static int write_page(void *context, FILE *out)
{
    const struct job *job = context;
    const struct html_values *values = job->values;
    const struct html_report_options options = {.range = values->report.range,
                                                .events =
                                                    values->events ? values->events : USUAL_EVENTS,
                                                .style = report_style(&values->report)};
    struct mp_trace *trace = open_trace(set.command, job->path);
    struct html_report_result result;
    struct mp_error error;
    enum mp_status status;

    if (!trace)
        return EXIT_UNREADABLE;
    status = html_report_write(out, trace, &options, &result, &error);
    mp_trace_close(trace);
    if (status != MP_OK)
        return code_of(job->path, status, &error);
    if (result.left_out)
        complain(set.command,
                 "the time line holds %" PRIu64 " events and leaves out %" PRIu64
                 "; --range and --events choose others",
                 result.events, result.left_out);
    if (!*result.warning)
        return EXIT_FINE;
    complain(set.command, "Warning: %s.", result.warning);
    return EXIT_FINDINGS;
}

int cmd_html(int argc, char **argv)
{
    struct html_values values = {.report = REPORT_PRESET};
    struct job job = {.values = &values};
    int first;
    enum options_result result = options_parse(&set, argc, argv, &values, &first);
    const char *path;

    if (result != OPTIONS_OK)
        return result == OPTIONS_DONE ? EXIT_FINE : EXIT_USAGE;
    path = only_trace(set.command, argc - first, argv + first);
    if (!path)
        return EXIT_USAGE;
    if (!values.output) {
        complain(set.command, "where to? 'miniprof html -o PAGE.html TRACE.mpt'");
        return EXIT_USAGE;
    }
    job.path = path;
    return page_write(set.command, values.output, write_page, &job);
}
