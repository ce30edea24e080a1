/* What a report over several processes says of them: the processes, their labels, and how their
 * clocks were joined.
 */
#include "reports/common/set.h"
#include "base/text/foreign.h"

#include "base/text/units.h"
#include <inttypes.h>

#include "base/poison.h"

/* `======== Warning: rank 3: `; labels may hold a host's name. */
static void print_line_begin(const struct report_out *out, const char *what,
                             const struct trace_process *process)
{
    fprintf(out->file, "======== %s", what);
    foreign_put_text(out->file, process->label);
    fputc(':', out->file);
}

void print_process_warning(const struct report_out *out, const struct trace_process *process,
                           const char *warning)
{
    print_line_begin(out, "Warning: ", process);
    fprintf(out->file, " %s.\n", warning);
}

void print_process_quality(const struct report_out *out, const struct trace_process *process,
                           const struct quality *quality)
{
    char text[QUALITY_TEXT_BYTES];

    if (*quality_describe(quality, text, sizeof text))
        print_process_warning(out, process, text);
    if (quality->baseline_unrecorded) {
        print_line_begin(out, "Note: ", process);
        fprintf(out->file, " %s of %s steps were not recorded (--baseline).\n",
                mp_count(quality->baseline_unrecorded).text,
                mp_count(quality->baseline_steps).text);
    }
    if (quality->callbacks_taken) {
        print_line_begin(out, "Note: ", process);
        fputs(" another profiler had CUPTI's callbacks.\n", out->file);
    }
    if (!quality->profiled)
        return;
    print_line_begin(out, "Note: ", process);
    fprintf(out->file,
            " %s of the kernels ran again for metrics: their times are the profiler's.\n",
            mp_count(quality->profiled).text);
}

void print_set_head(const struct report_out *out, const struct trace_set *set)
{
    if (!report_has_titles(out))
        return;
    fprintf(out->file, "======== Profiling %s process%s:\n", mp_count(set->count).text,
            set->count == 1 ? "" : "es");
    for (size_t i = 0; i < set->count; i++) {
        const struct trace_process *process = &set->processes[i];

        print_line_begin(out, "", process);
        if (process->host) {
            fputs(" host ", out->file);
            foreign_put_text(out->file, process->host);
            fputc(',', out->file);
        }
        if (process->pid != TRACE_SET_UNKNOWN)
            fprintf(out->file, " pid %" PRIu64 ",", process->pid);
        fputc(' ', out->file);
        foreign_put_text(out->file, process->command ? process->command : process->path);
        fputc('\n', out->file);
    }
}

void print_set_clocks(const struct report_out *out, const struct trace_set *set)
{
    char text[TRACE_SET_CLOCKS_BYTES];

    fprintf(out->file, "======== Note: %s.\n", trace_set_describe_clocks(set, text, sizeof text));
}

static struct json_fact known(const char *key, uint64_t number)
{
    return FACT_IF(key, number != TRACE_SET_UNKNOWN, number);
}

void json_process(struct json_writer *json, const struct trace_process *process)
{
    JSON_FACTS(json, FACT("process", process->label), FACT("file", process->path),
               FACT("host", process->host), known("rank", process->rank),
               known("pid", process->pid), known("ppid", process->ppid),
               FACT("command", process->command));
}
