/* `miniprof summary`: where the time goes by name, of one process or of several. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "reports/summary/print.h"
#include "reports/summary/summary.h"
#include "table/table.h"

#include "base/poison.h"

/* ---- Several processes ----
 *
 * Summaries are built one after the other and added as integers, so memory is that of one trace and
 * the sums are exact.
 */

struct work {
    const char *command;
    const struct summary_options *options;
    struct trace_set set;
    struct summary_merge merge;
    struct merged_process *found;
    bool *is_read;
    int code;
};

/* Adds a summary, and prints the warnings about its process. */
static enum mp_status add_summary(struct work *work, size_t process, const struct summary *summary)
{
    struct merged_process *found = &work->found[process];
    char text[QUALITY_TEXT_BYTES];

    found->quality = (struct quality){
        .profiled = summary->quality.profiled,
        .callbacks_taken = summary->quality.callbacks_taken,
        .baseline_steps = summary->quality.baseline_steps,
        .baseline_unrecorded = summary->quality.baseline_unrecorded,
    };
    found->dropped = summary->quality.dropped;
    if (*quality_describe(&summary->quality, text, sizeof text)) {
        found->warning = strdup(text);
        if (!found->warning)
            return MP_ERR_MEMORY;
        work->code = worse_code(work->code, EXIT_FINDINGS);
    }
    work->is_read[process] = true;
    return summary_merge_add(&work->merge, summary, (uint32_t)process);
}

static enum mp_status add_process(struct work *work, size_t process)
{
    const char *path = work->set.processes[process].path;
    struct mp_trace *trace = open_trace(work->command, path);
    struct summary summary;
    struct mp_error error;
    enum mp_status status = MP_OK;

    if (!trace) {
        work->code = worse_code(work->code, EXIT_UNREADABLE);
        return MP_OK;
    }
    if (summary_build(trace, work->options, &summary, &error) != MP_OK) {
        work->code = worse_code(work->code, fail_on_trace(work->command, path, &error));
    } else {
        status = add_summary(work, process, &summary);
        summary_free(&summary);
    }
    mp_trace_close(trace);
    return status;
}

static enum mp_status merge_all(struct work *work)
{
    work->found = calloc(work->set.count, sizeof *work->found);
    work->is_read = calloc(work->set.count, sizeof *work->is_read);
    if (!work->found || !work->is_read)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < work->set.count; i++)
        MP_TRY(add_process(work, i));
    return summary_merge_finish(&work->merge);
}

static void work_free(struct work *work)
{
    for (size_t i = 0; work->found && i < work->set.count; i++)
        free(work->found[i].warning);
    free(work->found);
    free(work->is_read);
    summary_merge_free(&work->merge);
    trace_set_free(&work->set);
}

/* Prints one summary over the traces that the arguments name; returns the exit code. */
static int merge_summaries(const char *command, int count, char **arguments, struct report_out *out,
                           const struct summary_options *options, bool side_by_side)
{
    struct work work = {.command = command, .options = options};

    if (!open_trace_set(command, count, arguments, &work.set, &work.code))
        return work.code;
    summary_merge_init(&work.merge, side_by_side);
    enum mp_status status = merge_all(&work);
    struct merged_report report = {.set = &work.set,
                                   .merge = &work.merge,
                                   .found = work.found,
                                   .is_read = work.is_read,
                                   .parts = options->parts,
                                   .range = options->range};
    if (status == MP_OK && !report_streams_open(command, out, false))
        status = MP_ERR_MEMORY;
    if (status == MP_OK && work.merge.processes && side_by_side)
        status = print_side_by_side(out, &report);
    else if (status == MP_OK && work.merge.processes)
        print_merged(out, &report);
    if (status != MP_OK) {
        complain(command, "cannot merge the traces: out of memory");
        work.code = EXIT_UNREADABLE;
    }
    work_free(&work);
    return report_streams_close(command, out, work.code);
}

/* ---- The command ---- */

struct summary_values {
    struct report_values report;
    bool gpu;
    bool api;
    bool per_gpu;
    bool merge;
    bool side_by_side;
    const char *by;
};

#define FIELD(name) offsetof(struct summary_values, name)
static const struct option_spec specs[] = {
    REPORT_CSV_OPTION(FIELD(report)),
    REPORT_TABLE_OPTION(FIELD(report), "devices (--per-gpu)"),
    REPORT_JSON_OPTION(FIELD(report)),
    REPORT_LINES_OPTION(FIELD(report)),
    REPORT_RANGE_OPTION(
        FIELD(report),
        "only what capture range N launched and called; without it, all ranges together"),
    REPORT_DEMANGLING_OPTION(FIELD(report)),
    {.name = "gpu",
     .kind = OPTION_FLAG,
     .offset = FIELD(gpu),
     .help = "only what ran on the GPUs: nvprof --print-gpu-summary"},
    {.name = "api",
     .kind = OPTION_FLAG,
     .offset = FIELD(api),
     .help = "only what the host called: nvprof --print-api-summary"},
    {.name = "per-gpu",
     .kind = OPTION_FLAG,
     .offset = FIELD(per_gpu),
     .help = "what ran on each GPU by itself: nvprof --print-summary-per-gpu"},
    {.name = "merge",
     .kind = OPTION_FLAG,
     .offset = FIELD(merge),
     .help = "one table over all processes"},
    {.name = "side-by-side",
     .kind = OPTION_FLAG,
     .offset = FIELD(side_by_side),
     .help = "a row for each name, two columns for each process, and the process that is farthest "
             "from the mean"},
    {.name = "by",
     .argument = "WHAT",
     .kind = OPTION_TEXT,
     .offset = FIELD(by),
     .help = "a row for each name and line that it was called from: line (file:line is the same), "
             "function or file, which need a trace with stacks; or operator, of a framework"},
    REPORT_UNITS_OPTION(FIELD(report)),
    REPORT_TOP_OPTION(FIELD(report)),
    REPORT_VIEW_OPTIONS(FIELD(report)),
};
#undef FIELD

static const struct option_set set = {
    .command = "summary",
    .synopsis = "[options] TRACE|FOLDER...",
    .purpose =
        "Prints where the time goes, by name, in nvprof's layout: kernels and copies, then API "
        "calls, each group by total time.",
    .notes = REPORT_EXIT_CODES,
    .specs = specs,
    .count = sizeof specs / sizeof *specs,
};

/* Bits of enum summary_parts; 0: as ever. */
static unsigned parts_of(const struct summary_values *values)
{
    return (values->gpu ? (unsigned)SUMMARY_PART_GPU : 0) |
           (values->api ? (unsigned)SUMMARY_PART_API : 0) |
           (values->per_gpu ? (unsigned)SUMMARY_PART_PER_GPU : 0);
}

static bool summary_options_agree(const struct summary_values *values)
{
    return options_agree(set.command, values->merge && values->side_by_side,
                         "--merge does not go with --side-by-side") &&
           options_agree(set.command, values->per_gpu && values->by,
                         "--by does not go with --per-gpu") &&
           options_agree(set.command, values->per_gpu && (values->merge || values->side_by_side),
                         "--per-gpu goes with neither --merge nor --side-by-side");
}

int cmd_summary(int argc, char **argv)
{
    struct summary_values values = {.report = REPORT_PRESET};
    struct summarising reporting = {.out = {.file = stdout}};
    enum called_by by;
    int first, code;

    if (!report_parse(&set, argc, argv, &values, &values.report, &reporting.out, &first, &code))
        return code;
    if (!summary_options_agree(&values) ||
        !options_agree(set.command, !called_by_of(values.by, &by), CALLED_BY_WRONG))
        return EXIT_USAGE;
    reporting.options = (struct summary_options){.range = values.report.range,
                                                 .style = report_style(&values.report),
                                                 .parts = parts_of(&values),
                                                 .by = by};
    if (values.merge || values.side_by_side)
        return merge_summaries(set.command, argc - first, argv + first, &reporting.out,
                               &reporting.options, values.side_by_side);
    return each_trace(set.command, &reporting.out, argc - first, argv + first, summarise,
                      &reporting);
}
