/* The lines that every report begins with: nvprof's prefix, what was lost, and what the times rest
 * on. A report on a damaged trace says so before any number.
 */
#include "reports/common/quality.h"

#include <inttypes.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "profile/identity.h"

#include "base/poison.h"

void print_warning(const struct report_out *out, const struct mp_trace *trace,
                   const struct quality *quality)
{
    char text[QUALITY_TEXT_BYTES];

    if (!*quality_describe(quality, text, sizeof text))
        return;
    print_note(out, trace, "Warning: %s.", text);
}

/* `==PID== Note: ...` when kernels were run again for metrics, else nothing. */
static void print_profiled_note(const struct report_out *out, const struct mp_trace *trace,
                                const struct quality *quality)
{
    if (!quality->profiled)
        return;
    print_note(out, trace,
               "Note: %s kernel%s run again for metrics: the times of %s are the profiler's, and "
               "launching calls waited for all passes.",
               mp_count(quality->profiled).text, quality->profiled == 1 ? " was" : "s were",
               quality->profiled == 1 ? "it" : "these");
}

void print_baseline_note(const struct report_out *out, const struct mp_trace *trace,
                         const struct quality *quality)
{
    if (!quality->baseline_unrecorded)
        return;
    print_note(out, trace,
               "Note: %s of %s steps were not recorded, as --baseline asks: what is counted here "
               "is of the others.",
               mp_count(quality->baseline_unrecorded).text, mp_count(quality->baseline_steps).text);
}

void print_callbacks_note(const struct report_out *out, const struct mp_trace *trace,
                          const struct quality *quality)
{
    if (!quality->callbacks_taken)
        return;
    print_note(out, trace, "Note: " QUALITY_CALLBACKS_NOTE);
}

/* Notes on work of the device that CUPTI does not report, if the recorder can notice it. */
static void print_device_notes(const struct report_out *out, const struct mp_trace *trace,
                               const struct quality *quality)
{
    uint64_t graphs = quality->device_launches ? 0 : quality->device_graphs;

    if (graphs)
        print_note(out, trace,
                   "Note: %s CUDA graph%s made that the device may launch by itself: such launches "
                   "are not in the trace.",
                   mp_count(graphs).text, graphs == 1 ? " was" : "s were");
    if (quality->conditional_graphs)
        print_note(out, trace,
                   "Note: %s CUDA graph%s made with conditional nodes: what their bodies run again "
                   "on the device may be missing.",
                   mp_count(quality->conditional_graphs).text,
                   quality->conditional_graphs == 1 ? " was" : "s were");
}

void print_head(const struct report_out *out, const struct mp_trace *trace,
                const struct quality *quality, uint64_t range, size_t range_count)
{
    const char *command = command_of(trace);

    print_warning(out, trace, quality);
    print_baseline_note(out, trace, quality);
    print_callbacks_note(out, trace, quality);
    print_flight_note(out, trace);
    print_profiled_note(out, trace, quality);
    print_device_notes(out, trace, quality);
    if (!report_has_titles(out))
        return;
    if (command)
        print_note(out, trace, "Profiling application: %s", command);
    if (range)
        print_note(out, trace, "Capture range %" PRIu64 " of %s", range,
                   mp_count(range_count).text);
}

void print_gap(const struct report_out *out, const struct mp_trace *trace,
               const struct quality_gap *gap, const char *what)
{
    print_note(out, trace, "No %s: %s.", what, gap->why);
    if (out->sheet)
        out->sheet->rowless = true;
}

static void json_damage(struct json_writer *json, const struct mp_damage *damage)
{
    JSON_KEY_OBJECT(json, "damage", FACT("bytes_skipped", damage->bytes_skipped),
                    FACT("chunks_damaged", damage->chunks_damaged),
                    FACT("rows_damaged", damage->rows_damaged),
                    FACT("chunks_missing", damage->chunks_missing),
                    FACT("chunks_unknown", damage->chunks_unknown),
                    FACT("truncated", damage->truncated), FACT("no_index", damage->no_index));
}

static void json_counters(struct json_writer *json, const struct quality *quality,
                          const struct definitions *definitions)
{
    size_t position = 0;
    const char *name;
    uint64_t value;

    json_key_object(json, "counters");
    while (quality_next_counter(quality, definitions, &position, &name, &value)) {
        if (name)
            JSON_FACTS(json, FACT(name, value));
    }
    json_close_object(json);
}

void json_quality(struct json_writer *json, const struct quality *quality,
                  const struct definitions *definitions)
{
    char text[QUALITY_TEXT_BYTES];

    quality_describe(quality, text, sizeof text);
    json_open_object(json);
    JSON_FACTS(json, FLAG("whole", !*text), FACT_IF("warning", *text, text),
               FACT("dropped", quality->dropped), FACT("unknown_times", quality->unknown_times),
               FACT("reversed_times", quality->reversed_times),
               FACT("undefined_names", quality->undefined));
    if (quality->untimed.without)
        JSON_FACTS(json, FACT("kernels_without_times", quality->untimed.without));
    if (quality_gap(quality))
        JSON_FACTS(json, FACT("gap", quality_gap(quality)->key));
    json_damage(json, &quality->damage);
    json_counters(json, quality, definitions);
    json_close_object(json);
}

void json_head(struct json_writer *json, const struct mp_trace *trace,
               const struct quality *quality, const struct definitions *definitions, uint64_t range,
               size_t range_count)
{
    uint64_t pid;

    JSON_FACTS(json, FACT_IF("pid", property_number(trace, "pid", UINT64_MAX, &pid), pid),
               FACT("command", command_of(trace)), FACT("ranges", range_count),
               FACT_IF("range", range, range));
    json_flight(json, trace);
    json_key(json, "quality");
    json_quality(json, quality, definitions);
}

/* ---- Prefixes ---- */

void print_prefix(const struct report_out *out, const struct mp_trace *trace)
{
    const char *pid = trace ? mp_trace_property(trace, "pid") : NULL;

    fputs("==", out->file);
    if (pid && !out->imported)
        foreign_put_text(out->file, pid);
    else
        fputs("====", out->file);
    fputs("== ", out->file);
}

void print_note(const struct report_out *out, const struct mp_trace *trace, const char *format, ...)
{
    va_list arguments;

    print_prefix(out, trace);
    va_start(arguments, format);
    foreign_print(out->file, format, arguments);
    va_end(arguments);
    fputc('\n', out->file);
}

void print_device_name(FILE *out, const char *name, uint64_t device)
{
    fputs("Device \"", out);
    if (device == UINT64_MAX) {
        fputs("<unknown>", out);
    } else {
        foreign_put_text(out, name ? name : "GPU");
        fprintf(out, " (%" PRIu64 ")", device);
    }
    fputs("\"\n", out);
}

void print_csv_prefix(const struct report_out *out, const struct mp_trace *trace)
{
    if (out->format != REPORT_CSV || out->nvprof)
        return;
    print_prefix(out, trace);
}

const char *command_of(const struct mp_trace *trace)
{
    const char *arguments = mp_trace_property(trace, "argv");

    return arguments && *arguments ? arguments : mp_trace_property(trace, "executable");
}

/* ---- The flight recorder ---- */

#define TIME_BYTES 24

/* `SIGSEGV`, `a slow step ("forward" took 61.200ms, more than 50.000ms)` */
static void print_trigger(FILE *file, const struct mp_trace *trace)
{
    const char *name = mp_trace_property(trace, "MINIPROF_STEP");
    char text[TIME_BYTES];
    uint64_t took;
    uint64_t limit;
    bool is_step = property_number(trace, "flight_step_ns", UINT64_MAX, &took);

    fputs(is_step ? "a " : "", file);
    foreign_put_text(file, mp_trace_property(trace, "flight_reason"));
    if (!is_step)
        return;
    fputs(" (\"", file);
    foreign_put_text(file, name ? name : "");
    fprintf(file, "\" took %s", mp_format_time(text, sizeof text, took));
    if (property_number(trace, "flight_step_limit_ns", UINT64_MAX, &limit))
        fprintf(file, ", more than %s", mp_format_time(text, sizeof text, limit));
    fputc(')', file);
}

/* `; it covers 29.812s, up to 3.1000ms after that` */
static void print_covered(FILE *file, const struct mp_trace *trace)
{
    char text[TIME_BYTES];
    uint64_t from;
    uint64_t until;
    uint64_t trigger;

    if (!property_number(trace, "flight_from_ns", UINT64_MAX, &from) ||
        !property_number(trace, "flight_until_ns", UINT64_MAX, &until) || until < from)
        return;
    fprintf(file, "; it covers %s", mp_format_time(text, sizeof text, until - from));
    if (property_number(trace, "flight_trigger_ns", UINT64_MAX, &trigger) && trigger <= until)
        fprintf(file, ", up to %s after that", mp_format_time(text, sizeof text, until - trigger));
}

void print_flight_note(const struct report_out *out, const struct mp_trace *trace)
{
    if (!mp_trace_property(trace, "flight_reason"))
        return;
    print_prefix(out, trace);
    fputs("Note: the flight recorder wrote this trace, triggered by ", out->file);
    print_trigger(out->file, trace);
    print_covered(out->file, trace);
    fputs(".\n", out->file);
}

void json_flight(struct json_writer *json, const struct mp_trace *trace)
{
    static const struct {
        const char *property;
        const char *key;
    } numbers[] = {
        {"flight_trigger_ns", "trigger_ns"}, {"flight_from_ns", "from_ns"},
        {"flight_until_ns", "until_ns"},     {"flight_step_start_ns", "step_start_ns"},
        {"flight_step_ns", "step_ns"},       {"flight_step_limit_ns", "step_limit_ns"},
    };
    const char *reason = mp_trace_property(trace, "flight_reason");
    uint64_t number;

    if (!reason)
        return;
    json_key_object(json, "flight");
    JSON_FACTS(json, FACT("reason", reason));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (property_number(trace, numbers[i].property, UINT64_MAX, &number))
            JSON_FACTS(json, FACT(numbers[i].key, number));
    }
    json_close_object(json);
}

/* ---- Kernel time ---- */

/* Whether kernels overlap by more than 1 % of the time in which they run. */
static bool is_worth_a_line(const struct kernel_time *time)
{
    return time->known && time->total - time->busy > time->busy / 100;
}

/* `62.400ms within streams (...), 0ns between streams` */
static void print_where(FILE *out, const struct kernel_time *time)
{
    char text[MP_FORMATTED_BYTES];
    uint64_t within = time->total - time->streams;
    uint64_t between = time->streams - time->busy;

    if (within)
        fprintf(out, "%s within streams (programmatic dependent launch, branches of CUDA graphs)",
                mp_format_time(text, sizeof text, within));
    if (between)
        fprintf(out, "%s%s between streams", within ? ", " : "",
                mp_format_time(text, sizeof text, between));
}

void print_kernel_time(const struct report_out *out, const struct mp_trace *trace,
                       const struct kernel_time *time)
{
    char total[MP_FORMATTED_BYTES], beyond[MP_FORMATTED_BYTES], busy[MP_FORMATTED_BYTES];

    if (!is_worth_a_line(time))
        return;
    print_prefix(out, trace);
    fprintf(out->file,
            "Note: kernel times add up to %s, %s more than the %s in which %s. Overlap: ",
            mp_format_time(total, sizeof total, time->total),
            mp_format_time(beyond, sizeof beyond, time->total - time->busy),
            mp_format_time(busy, sizeof busy, time->busy),
            time->devices > 1 ? "GPUs ran kernels, added up" : "the GPU ran kernels");
    print_where(out->file, time);
    fputs(".\n", out->file);
}

void json_kernel_time(struct json_writer *json, const struct kernel_time *time)
{
    json_key(json, "kernel_time");
    if (!time->known) {
        json_null(json);
        return;
    }
    JSON_OBJECT(json, FACT("total_ns", time->total), FACT("busy_ns", time->busy),
                FACT("beyond_busy_ns", time->total - time->busy),
                FACT("within_streams_ns", time->total - time->streams),
                FACT("between_streams_ns", time->streams - time->busy));
}

/* ---- Several processes ---- */

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
