/* Prints counters over time: the head, a section for each device, and what the numbers rest on. */
#include "reports/counters/print.h"

#include <inttypes.h>

#include "base/text/foreign.h"
#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* ---- Notes ---- */

static bool said_before(const struct counters_result *result, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (result->counters[i].note && result->counters[i].device == result->counters[at].device &&
            mp_text_equal(result->counters[i].note, result->counters[at].note))
            return true;
    return false;
}

/* Why counters have no better source, each reason once. */
static void print_sources(const struct report_out *out, const struct mp_trace *trace,
                          const struct counters_result *result)
{
    for (size_t i = 0; i < result->counter_count; i++) {
        const struct counters_counter *counter = &result->counters[i];

        if (!counter->note || said_before(result, i))
            continue;
        print_prefix(out, trace);
        fprintf(out->file, "Note: device %" PRIu64 ", ", counter->device);
        foreign_put_text(out->file, counter->name ? counter->name : "?");
        fputs(" and others without CUPTI: ", out->file);
        foreign_put_text(out->file, counter->note);
        fputs(".\n", out->file);
    }
}

static uint64_t shortest_interval(const struct counters_result *result)
{
    uint64_t shortest = 0;

    for (size_t i = 0; i < result->counter_count; i++) {
        uint64_t interval = result->counters[i].samples ? result->counters[i].interval : 0;

        if (interval && (!shortest || interval < shortest))
            shortest = interval;
    }
    return shortest;
}

/* The most that a counter of CUPTI lacks, or of the others. */
static uint64_t missing_time(const struct counters_result *result, bool of_cupti)
{
    uint64_t missing = 0;

    for (size_t i = 0; i < result->counter_count; i++)
        if ((result->counters[i].by == SAMPLED_BY_CUPTI) == of_cupti &&
            result->counters[i].missing > missing)
            missing = result->counters[i].missing;
    return missing;
}

/* What CUPTI lacks. Only the rate of its samples can be chosen. */
static void put_missing(const struct report_out *out, uint64_t missing, uint64_t overflows)
{
    char time[MP_FORMATTED_BYTES];

    if (missing)
        fprintf(out->file, "samples are missing for up to %s",
                mp_format_time(time, sizeof time, missing));
    if (overflows)
        fprintf(out->file, "%sthe GPU's buffer was full ", missing ? ", " : "");
    if (overflows == 1)
        fputs("once", out->file);
    else if (overflows)
        fprintf(out->file, "%s times", mp_count(overflows).text);
    fputs(": a lower rate loses none.\n", out->file);
}

static void print_missing(const struct report_out *out, const struct mp_trace *trace,
                          const struct counters_result *result)
{
    uint64_t of_cupti = missing_time(result, true), of_others = missing_time(result, false);
    char time[MP_FORMATTED_BYTES];

    if (of_cupti || result->overflows) {
        print_prefix(out, trace);
        fputs("Note: ", out->file);
        put_missing(out, of_cupti, result->overflows);
    }
    if (of_others) {
        print_prefix(out, trace);
        fprintf(out->file, "Note: samples of NVML are missing for up to %s.\n",
                mp_format_time(time, sizeof time, of_others));
    }
}

static void counters_print_notes(const struct report_out *out, const struct mp_trace *trace,
                                 const struct counters_result *result, enum counters_by by)
{
    static const char solved[] = "in which several kernels may have run. Values of work are solved "
                                 "from all samples, +- the 95% confidence; '-': they do not tell "
                                 "it";
    static const char means[] = "and an iteration's value that of its samples. Those at its ends "
                                "count in part, +- the 95% confidence; '-': shorter than a sample, "
                                "or not sampled";
    uint64_t interval = shortest_interval(result);
    char time[MP_FORMATTED_BYTES];

    if (interval && result->group_count) {
        print_prefix(out, trace);
        fprintf(out->file, "Note: a sample is a mean over %s, %s.\n",
                mp_format_time(time, sizeof time, interval),
                by == COUNTERS_BY_ITERATION ? means : solved);
    }
    if (result->left_out) {
        print_prefix(out, trace);
        fprintf(out->file, "Note: %s more iterations are left out: --range N takes others.\n",
                mp_count(result->left_out).text);
    }
    print_sources(out, trace, result);
    print_missing(out, trace, result);
}

/* ---- Text and CSV ---- */

static bool has_samples(const struct counters_result *result, uint64_t device)
{
    for (size_t i = 0; i < result->counter_count; i++)
        if (result->counters[i].device == device && result->counters[i].samples)
            return true;
    return false;
}

static void counters_print_device(const struct report_out *out, const struct mp_trace *trace,
                                  const struct counters_result *result, uint64_t device,
                                  enum counters_by by)
{
    static const char *const titles[] = {[COUNTERS_BY_KERNEL] = "While kernels and copies ran",
                                         [COUNTERS_BY_LAYER] = "While the work of layers ran",
                                         [COUNTERS_BY_ITERATION] = "In each iteration",
                                         [COUNTERS_BY_IDLE] = "While nothing ran"};
    const char *name = counters_device_name(result, device);

    print_prefix(out, trace);
    fputs("Counters of \"", out->file);
    foreign_put_text(out->file, name ? name : "GPU");
    fprintf(out->file, " (%" PRIu64 ")\":\n", device);
    counters_print_devices(out, NULL, result, device);
    if (!has_samples(result, device))
        return;
    fputc('\n', out->file);
    print_prefix(out, trace);
    fprintf(out->file, "%s:\n", titles[by]);
    counters_print_work(out, NULL, result, device, by);
}

static bool is_first(const struct counters_result *result, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (result->counters[i].device == result->counters[at].device)
            return false;
    return true;
}

static void counters_print_text(const struct report_out *out, const struct mp_trace *trace,
                                const struct counters_result *result,
                                const struct counters_options *options)
{
    print_head(out, trace, &result->quality, options->range, result->range_count);
    if (!result->asked) {
        print_prefix(out, trace);
        fputs("No counters in the trace: record it with MINIPROF_SAMPLE=default.\n", out->file);
    }
    if (out->format == REPORT_CSV) {
        counters_print_devices(out, NULL, result, UINT64_MAX);
        counters_print_work(out, NULL, result, UINT64_MAX, options->by);
    } else {
        for (size_t i = 0; i < result->counter_count; i++)
            if (is_first(result, i))
                counters_print_device(out, trace, result, result->counters[i].device, options->by);
    }
    if (result->asked)
        counters_print_notes(out, trace, result, options->by);
}

/* ---- JSON ---- */

static void counters_print_json(const struct report_out *out, const struct mp_trace *trace,
                                const struct counters_result *result,
                                const struct counters_options *options)
{
    static const char *const names[] = {[COUNTERS_BY_KERNEL] = "kernel",
                                        [COUNTERS_BY_LAYER] = "layer",
                                        [COUNTERS_BY_ITERATION] = "iteration",
                                        [COUNTERS_BY_IDLE] = "idle"};
    struct json_writer json;

    json_open_document(&json, out->file, 2);
    json_head(&json, trace, &result->quality, &result->definitions, options->range,
              result->range_count);
    JSON_FACTS(&json, FACT("by", names[options->by]), FACT("left_out", result->left_out),
               FACT("overflows", result->overflows));
    counters_print_devices(out, &json, result, UINT64_MAX);
    counters_print_work(out, &json, result, UINT64_MAX, options->by);
    json_close_document(&json);
}

void print_counters(const struct report_out *out, const struct mp_trace *trace,
                    const struct counters_result *result, const struct counters_options *options)
{
    if (out->format == REPORT_JSON)
        counters_print_json(out, trace, result, options);
    else
        counters_print_text(out, trace, result, options);
}
