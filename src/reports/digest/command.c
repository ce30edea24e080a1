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
#include "reports/job/answer.h"

#include "base/poison.h"

/* In addition to the formats of all reports. */
enum { FORMAT_MARKDOWN = REPORT_JSON + 1 };

struct report_command_values {
    struct report_values report;
    struct iterations_values iterations;
    bool one_clock;
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
    ONE_CLOCK_OPTION(FIELD(one_clock)),
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
               "that look further. Of several traces: a line for each, and the slowest in full. Of "
               "the ranks of a job: first who is late and why, then the late rank in full.",
    .notes = "Exit code: 0 fine, 1 a trace is not whole (its first line says why), 2 wrong usage "
             "or no such iterations, 3 a trace cannot be read.",
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

struct reporting {
    struct digest_options options;
    struct digest *digests; /* one for each trace that could be read */
    size_t count;
    struct matched matched; /* of a folder of ranks */
    struct job_answer job;  /* without steps: there is none */
    size_t late;            /* the late rank: a process of the set, and its digest; SIZE_MAX */
    size_t late_digest;
};

/* ---- Traces ---- */

static enum mp_status digest_trace(void *context, struct mp_trace *trace, bool *whole,
                                   struct mp_error *error)
{
    struct reporting *work = context;
    struct digest *digest = &work->digests[work->count];

    MP_TRY(digest_build(trace, &work->options, digest, error));
    *whole = digest->quality.whole;
    return MP_OK;
}

/* Digests all traces of the set that can be read; returns the worst exit code. */
static int digest_all(struct reporting *work, const struct trace_set *traces)
{
    int code = EXIT_FINE;

    for (size_t i = 0; i < traces->count; i++) {
        const struct trace_process *process = &traces->processes[i];
        struct digest *digest = &work->digests[work->count];

        work->options.path = process->path;
        work->options.peers = matched_peers(&work->matched, process->path);
        int got = report_trace(set.command, process->path, digest_trace, work);
        code = worse_code(code, got);
        if (got >= EXIT_USAGE) {
            digest_free(digest);
            continue;
        }
        digest->process = process->label;
        if (work->job.steps && work->late == i)
            work->late_digest = work->count;
        work->count++;
    }
    return code;
}

/* ---- The report ---- */

static int print_digests(const struct reporting *work, struct report_out *out, int format)
{
    struct digest_report report = {.digests = work->digests,
                                   .count = work->count,
                                   .job = work->job.steps ? &work->job : NULL,
                                   .shows_late = work->late_digest != SIZE_MAX};

    report.shown =
        report.shows_late ? work->late_digest : digest_slowest(work->digests, work->count);
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

static int report_set(struct reporting *work, const struct trace_set *traces,
                      struct report_out *out, int format)
{
    work->digests = calloc(traces->count, sizeof *work->digests);
    if (!work->digests) {
        complain(set.command, "out of memory");
        return EXIT_UNREADABLE;
    }
    int code = digest_all(work, traces);
    if (work->count)
        code = worse_code(code, print_digests(work, out, format));
    for (size_t i = 0; i < work->count; i++)
        digest_free(&work->digests[i]);
    free(work->digests);
    return code;
}

/* ---- A job ---- */

/* Its graph is gone again before the first trace is digested. Without an answer, which a line says,
 * the ranks are reported alone. */
static void answer_job(struct reporting *work)
{
    const struct deps_options graph = {.style = work->options.style};
    struct job_study study = {.advice = {.count = 0}};
    struct mp_error error;

    if (job_study_load(&work->matched, &graph, &work->options.iterations, &study, &error)) {
        complain(set.command, "the report has nothing of the job: %s", error.text);
        matched_worsen(&work->matched, EXIT_FINDINGS);
    } else {
        work->job = study.answer; /* which owns its text */
        study.answer = (struct job_answer){.steps = 0};
        if (work->job.late != RANKS_NONE)
            work->late = job_process(&study.job, work->job.late);
    }
    job_study_free(&study);
}

/* A folder of ranks whose operations of NCCL match; false: it is none. */
static bool report_job(struct reporting *work, const struct report_command_values *values,
                       struct report_out *out, int count, char **arguments, int *code)
{
    if (!matched_is_job(&work->matched, set.command, count, arguments, values->one_clock)) {
        *code = worse_code(*code, work->matched.code);
        return false;
    }
    matched_complain(&work->matched);
    answer_job(work);
    *code = worse_code(*code, work->matched.code);
    *code = worse_code(*code, report_set(work, &work->matched.traces, out, values->report.format));
    job_answer_free(&work->job);
    matched_free(&work->matched);
    return true;
}

static int report_arguments(struct reporting *work, const struct report_command_values *values,
                            struct report_out *out, int count, char **arguments)
{
    struct trace_set traces;
    int code = EXIT_FINE, opened;

    if (report_job(work, values, out, count, arguments, &code))
        return code;
    if (!open_trace_set(set.command, count, arguments, &traces, &opened))
        return worse_code(code, opened);
    code =
        worse_code(worse_code(code, opened), report_set(work, &traces, out, values->report.format));
    trace_set_free(&traces);
    return code;
}

int cmd_report(int argc, char **argv)
{
    struct report_command_values values = {.report = REPORT_PRESET};
    struct reporting work = {.late = SIZE_MAX, .late_digest = SIZE_MAX};
    struct report_out out = {.file = stdout};
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &out, &first, &code))
        return code;
    if (!options_agree(set.command, values.report.lines && values.report.format == FORMAT_MARKDOWN,
                       "--markdown and --jsonl are two formats; ask for one"))
        return EXIT_USAGE;
    iterations_by(values.iterations.how, &work.options.iterations);
    work.options.by = values.iterations.how;
    work.options.iterations.range = values.report.range;
    work.options.style = report_style(&values.report);
    if (!report_streams_open(set.command, &out, false))
        return EXIT_UNREADABLE;
    code = report_arguments(&work, &values, &out, argc - first, argv + first);
    return report_streams_close(set.command, &out, code);
}
