/* Notes below a metric: what was measured in its place, and why a value is missing. A note that
 * several devices share is printed once.
 */
#include <string.h>

#include "reports/common/quality.h"
#include "reports/metrics/print.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define NOTE_BYTES 2048 /* the longest expression has a quarter */

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
    char note[NOTE_BYTES];
    char line[NOTE_BYTES + 256];

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
    print_prefix(out, trace);
    fputs("Metric result:\n", out->file);
    print_csv_prefix(out, trace);
    fputs("No kernels were profiled.\n", out->file);
}
