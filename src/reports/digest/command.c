/* `miniprof report`: the digest of a trace, or of several and the slowest of them in full. Each
 * trace is read, condensed and closed again, so a job of any number of processes fits into memory.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/common/iterations_by.h"
#include "reports/digest/digest.h"
#include "reports/digest/print.h"

#include "base/poison.h"

/* In addition to the formats of all reports. */
enum { FORMAT_MARKDOWN = REPORT_JSON + 1 };

struct report_command_values {
    struct report_values report;
    struct iterations_values iterations;
};

#define FIELD(name) offsetof(struct report_command_values, name)
static const struct option_spec specs[] = {
    {.name = "markdown",
     .kind = OPTION_VALUE,
     .value = FORMAT_MARKDOWN,
     .offset = FIELD(report) + offsetof(struct report_values, format),
     .help = "Markdown, at most two pages"},
    {.name = "json",
     .kind = OPTION_VALUE,
     .value = REPORT_JSON,
     .offset = FIELD(report) + offsetof(struct report_values, format),
     .help = "one JSON document, miniprof-report/2; times in ns"},
    REPORT_LINES_OPTION(FIELD(report)),
    ITERATIONS_OPTION(FIELD(iterations)),
    ITERATIONS_ALIAS(FIELD(iterations), "by"),
    REPORT_AS_RECORDED_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(FIELD(report), "only iterations that begin in capture range N"),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "report",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose = "Prints one screen with what to know first: how long an iteration "
               "takes and where its time goes, what to change, what was recorded, and the commands "
               "that look further. Of several traces: a line for each, and the slowest in full.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage "
             "or no such iterations, 3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct job {
    struct digest_options options;
    struct digest *digests; /* one for each trace that could be read */
    size_t count;
};

/* ---- Traces ---- */

static int worse(int a, int b)
{
    return a > b ? a : b;
}

static enum mp_status digest_trace(void *context, struct mp_trace *trace, bool *whole,
                                   struct mp_error *error)
{
    struct job *job = context;
    struct digest *digest = &job->digests[job->count];

    MP_TRY(digest_build(trace, &job->options, digest, error));
    *whole = digest->quality.whole;
    return MP_OK;
}

/* Digests all traces of the set that can be read; returns the worst exit code. */
static int digest_all(struct job *job, const struct trace_set *traces)
{
    int code = EXIT_FINE;

    for (size_t i = 0; i < traces->count; i++) {
        const struct trace_process *process = &traces->processes[i];
        struct digest *digest = &job->digests[job->count];

        job->options.path = process->path;
        int got = report_trace(set.command, process->path, digest_trace, job);
        code = worse(code, got);
        if (got >= EXIT_USAGE) {
            digest_free(digest);
            continue;
        }
        digest->process = process->label;
        job->count++;
    }
    return code;
}

/* ---- The report ---- */

static int print_digests(const struct job *job, struct report_out *out, int format)
{
    struct digest_report report = {.digests = job->digests, .count = job->count};

    report.shown = digest_slowest(job->digests, job->count);
    if (format != REPORT_JSON)
        view_open_lines();
    if (format == REPORT_JSON) {
        print_digest_json(out->file, &report);
    } else if (format == FORMAT_MARKDOWN) {
        print_digest_markdown(stdout, &report);
    } else if (print_digest_text(stdout, &report) != MP_OK) {
        complain(set.command, "out of memory");
        return EXIT_UNREADABLE;
    }
    return EXIT_FINE;
}

static int report_set(struct job *job, const struct trace_set *traces, struct report_out *out,
                      int format)
{
    job->digests = calloc(traces->count, sizeof *job->digests);
    if (!job->digests) {
        complain(set.command, "out of memory");
        return EXIT_UNREADABLE;
    }
    int code = digest_all(job, traces);
    if (job->count)
        code = worse(code, print_digests(job, out, format));
    for (size_t i = 0; i < job->count; i++)
        digest_free(&job->digests[i]);
    free(job->digests);
    return code;
}

int cmd_report(int argc, char **argv)
{
    struct report_command_values values = {.report = REPORT_PRESET};
    struct job job = {.count = 0};
    struct trace_set traces;
    struct report_out out = {.file = stdout};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &out, &first, &code))
        return code;
    if (!options_agree(set.command, values.report.lines && values.report.format == FORMAT_MARKDOWN,
                       "--markdown and --jsonl are two formats; ask for one"))
        return EXIT_USAGE;
    iterations_by(values.iterations.how, &job.options.iterations);
    job.options.by = values.iterations.how;
    job.options.iterations.range = values.report.range;
    job.options.style = report_style(&values.report);
    if (!open_trace_set(set.command, argc - first, argv + first, &traces, &code))
        return code;
    if (report_streams_open(set.command, &out, false))
        code = worse(code, report_set(&job, &traces, &out, values.report.format));
    else
        code = EXIT_UNREADABLE;
    trace_set_free(&traces);
    return report_streams_close(set.command, &out, code);
}
