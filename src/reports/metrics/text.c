/* Values of metrics in the unit of the metric, and notes on what was measured instead of a metric,
 * or why a value is missing. nvprof gives ten characters to a throughput with its unit, and this
 * file keeps to that.
 */
#include "reports/metrics/print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "reports/common/quality.h"
#include "trace/schema.h"

#include "base/poison.h"

#define MAX_COUNT  1e18 /* from here on in exponent form */
#define RATE_WIDTH 7    /* characters of a number before B/s */

static void print_count(char buffer[METRIC_TEXT_BYTES], double value, enum mp_style style)
{
    if (style == MP_STYLE_OWN)
        mp_show_places(buffer, METRIC_TEXT_BYTES, value, 0);
    else
        snprintf(buffer, METRIC_TEXT_BYTES, fabs(value) < MAX_COUNT ? "%.0f" : "%.6e", value);
}

/* nvprof fills ten characters including the unit: below 1000 B/s the number has one digit more. */
static void print_throughput(char buffer[METRIC_TEXT_BYTES], double value, enum mp_style style)
{
    int decimals = RATE_WIDTH - 2;

    if (style == MP_STYLE_OWN || mp_rate_unit(value, style)) {
        mp_show_rate(buffer, METRIC_TEXT_BYTES, value, style);
        return;
    }
    while (decimals && snprintf(NULL, 0, "%.*f", decimals, value) > RATE_WIDTH)
        decimals--;
    snprintf(buffer, METRIC_TEXT_BYTES, "%.*fB/s", decimals, value);
}

static void metrics_print_text(char buffer[METRIC_TEXT_BYTES], enum metric_unit unit, double value,
                               enum mp_style style)
{
    switch (unit) {
    case METRIC_UNIT_COUNT:
    case METRIC_UNIT_BYTES:
        print_count(buffer, value, style);
        break;
    case METRIC_UNIT_PERCENT:
        mp_show_percent(buffer, METRIC_TEXT_BYTES, value, style);
        break;
    case METRIC_UNIT_BYTES_PER_SECOND:
        print_throughput(buffer, value > 0 ? value : 0, style);
        break;
    case METRIC_UNIT_NANOSECONDS:
        mp_show_time(buffer, METRIC_TEXT_BYTES, mp_whole_ns(value), style);
        break;
    case METRIC_UNIT_PER_SECOND:
        if (style == MP_STYLE_OWN)
            snprintf(buffer, METRIC_TEXT_BYTES, "%s/s", mp_figure(value).text);
        else
            snprintf(buffer, METRIC_TEXT_BYTES, "%.4g/s", value);
        break;
    case METRIC_UNIT_HERTZ:
        if (style == MP_STYLE_OWN)
            snprintf(buffer, METRIC_TEXT_BYTES, "%sMHz", mp_figure(value / 1e6).text);
        else
            snprintf(buffer, METRIC_TEXT_BYTES, "%.0fMHz", value / 1e6);
        break;
    case METRIC_UNIT_WATTS:
        snprintf(buffer, METRIC_TEXT_BYTES, "%.1fW", value);
        break;
    case METRIC_UNIT_CELSIUS:
        snprintf(buffer, METRIC_TEXT_BYTES, "%.0fC", value);
        break;
    case METRIC_UNIT_NONE:
    case METRIC_UNIT_RATIO:
        if (style == MP_STYLE_OWN)
            mp_show_number(buffer, METRIC_TEXT_BYTES, value, style);
        else
            snprintf(buffer, METRIC_TEXT_BYTES, fabs(value) < MAX_COUNT ? "%.6f" : "%.6e", value);
        break;
    }
}

static void text_in_csv(char buffer[METRIC_TEXT_BYTES], enum metric_unit unit, double value)
{
    unsigned scale = mp_size_unit(value);

    switch (unit) {
    case METRIC_UNIT_PERCENT:
        snprintf(buffer, METRIC_TEXT_BYTES, "%.6f%%", value);
        break;
    case METRIC_UNIT_BYTES_PER_SECOND:
        snprintf(buffer, METRIC_TEXT_BYTES, "%.6f%s/s", value / mp_size_unit_bytes(scale),
                 mp_size_unit_name(scale, MP_STYLE_NVPROF));
        break;
    case METRIC_UNIT_NANOSECONDS:
        snprintf(buffer, METRIC_TEXT_BYTES, "%.6fus", value / 1e3);
        break;
    case METRIC_UNIT_PER_SECOND:
        snprintf(buffer, METRIC_TEXT_BYTES, "%.6g/s", value);
        break;
    case METRIC_UNIT_NONE:
    case METRIC_UNIT_COUNT:
    case METRIC_UNIT_RATIO:
    case METRIC_UNIT_BYTES:
    case METRIC_UNIT_HERTZ:
    case METRIC_UNIT_WATTS:
    case METRIC_UNIT_CELSIUS:
        metrics_print_text(buffer, unit, value, MP_STYLE_NVPROF);
        break;
    }
}

const char *metric_text(char buffer[METRIC_TEXT_BYTES], enum metric_unit unit, double value,
                        enum report_format format, enum mp_style style)
{
    if (!isfinite(value))
        snprintf(buffer, METRIC_TEXT_BYTES, "%s", format == REPORT_CSV ? "" : "-");
    else if (format == REPORT_CSV)
        text_in_csv(buffer, unit, value);
    else
        metrics_print_text(buffer, unit, value, style);
    return buffer;
}

const char *metric_device_text(char buffer[METRIC_DEVICE_BYTES],
                               const struct metrics_result *result, uint64_t device)
{
    const char *name = metrics_device_name(result, device);

    snprintf(buffer, METRIC_DEVICE_BYTES, "%s (%" PRIu64 ")", name ? name : "unknown", device);
    buffer[foreign_hide(buffer, strlen(buffer))] = '\0';
    return buffer;
}

void metric_put_line(const struct report_out *out, const char *text)
{
    foreign_put_text(out->file, text);
    fputc('\n', out->file);
}

/* ---- Notes: one that several devices share is printed once ---- */

static void describe_substitute(const struct metrics_metric *metric, char *text, size_t size)
{
    bool note = metric->note != NULL;

    snprintf(text, size, "measured as %s%s%s%s", metric->expression ? metric->expression : "?",
             note ? " (" : "", note ? metric->note : "", note ? ")" : "");
}

static void describe_unknown(const struct metrics_metric *metric, char *text, size_t size)
{
    const char *near = metric->name ? metric_suggest(metric->name) : NULL;

    snprintf(text, size, near ? "no such metric; did you mean %s?" : "no such metric",
             near ? near : "");
}

const char *metric_note(const struct metrics_metric *metric, char *text, size_t size)
{
    text[0] = '\0';
    switch (metric->state) {
    case MP_metric_state_substitute:
        describe_substitute(metric, text, size);
        break;
    case MP_metric_state_unavailable:
        if (metric->expression) /* of a sampled counter: why */
            snprintf(text, size, "not available: %s", metric->expression);
        else
            snprintf(text, size, "not available on this GPU");
        break;
    case MP_metric_state_discontinued:
        snprintf(text, size, "nvprof's metric has no counterpart today");
        break;
    case MP_metric_state_unknown:
        describe_unknown(metric, text, size);
        break;
    default:
        break;
    }
    return text;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* Whether the same metric of an earlier device has the same note. */
static bool was_said(const struct metrics_result *result, size_t at)
{
    const struct metrics_metric *metric = &result->metrics[at];

    for (size_t i = 0; i < at; i++) {
        const struct metrics_metric *other = &result->metrics[i];

        if (other->state == metric->state && same_text(other->name, metric->name) &&
            same_text(other->expression, metric->expression))
            return true;
    }
    return false;
}

void print_metric_notes(const struct report_out *out, const struct mp_trace *trace,
                        const struct metrics_result *result)
{
    char note[METRIC_NOTE_BYTES];
    char line[METRIC_NOTE_BYTES + 256];

    for (size_t i = 0; i < result->metric_count; i++) {
        const struct metrics_metric *metric = &result->metrics[i];

        if (!*metric_note(metric, note, sizeof note) || was_said(result, i))
            continue;
        snprintf(line, sizeof line, "%s: %s", metric->name ? metric->name : "?", note);
        print_prefix(out, trace);
        metric_put_line(out, line);
    }
}

void print_no_metrics(const struct report_out *out, const struct mp_trace *trace)
{
    print_note(out, trace, "Metric result:");
    print_csv_prefix(out, trace);
    fputs("No kernels were profiled.\n", out->file);
}
