/* `summary --merge` and `--side-by-side`. Summaries are built one after the other and added as
 * integers, so memory is that of one trace and the sums are exact.
 */
#include "reports/summary/merge_summaries.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/traces.h"
#include "reports/summary/print.h"
#include "reports/summary/summary.h"

#include "base/poison.h"

struct work {
    const char *command;
    const struct summary_options *options;
    struct trace_set set;
    struct summary_merge merge;
    struct merged_process *found;
    bool *is_read;
    int code;
};

static void worsen(struct work *work, int code)
{
    work->code = worse_code(work->code, code);
}

/* Adds a summary, and prints the warnings about its process. */
static enum mp_status add_summary(struct work *work, size_t process, const struct summary *summary)
{
    struct merged_process *found = &work->found[process];
    char text[QUALITY_TEXT_BYTES];

    found->profiled = summary->quality.profiled;
    found->callbacks_taken = summary->quality.callbacks_taken;
    found->baseline_steps = summary->quality.baseline_steps;
    found->baseline_unrecorded = summary->quality.baseline_unrecorded;
    found->dropped = summary->quality.dropped;
    if (*quality_describe(&summary->quality, text, sizeof text)) {
        found->warning = strdup(text);
        if (!found->warning)
            return MP_ERR_MEMORY;
        worsen(work, EXIT_FINDINGS);
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
        worsen(work, EXIT_UNREADABLE);
        return MP_OK;
    }
    if (summary_build(trace, work->options, &summary, &error) != MP_OK) {
        worsen(work, fail_on_trace(work->command, path, &error));
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

int merge_summaries(const char *command, int count, char **arguments, struct report_out *out,
                    const struct summary_options *options, bool side_by_side)
{
    struct work work = {.command = command, .options = options};
    enum mp_status status;

    if (!open_trace_set(command, count, arguments, &work.set, &work.code))
        return work.code;
    summary_merge_init(&work.merge, side_by_side);
    status = merge_all(&work);
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
