/* What was sampled while work ran, as cells and as keys. */
#include "reports/common/sampled.h"

#include <math.h>
#include <stdio.h>

#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

struct report_cell sampled_error_cell(const void *at, struct report_table *table)
{
    const struct counters_brief *brief = ((const struct sampled_row *)at)->sampled;

    (void)table;
    if (!brief)
        return report_absent_cell();
    double error = fmax(fmax(brief->errors[COUNTERS_SMS], brief->errors[COUNTERS_TENSOR]),
                        brief->errors[COUNTERS_DRAM]);
    return report_real_if(isfinite(error), error);
}

struct report_cell sampled_bound_cell(const void *at, struct report_table *table)
{
    const struct counters_brief *brief = ((const struct sampled_row *)at)->sampled;

    (void)table;
    if (!brief || brief->class == COUNTERS_UNKNOWN)
        return report_absent_cell();
    return report_text_cell(counters_class_name(brief->class));
}

void json_sampled(struct json_writer *json, const struct counters_brief *brief)
{
    static const struct report_column columns[] = {
        COLUMN(NULL, "sm_active_percent", PERCENT, 0, SAMPLED_VALUE(SMS)),
        COLUMN(NULL, "tensor_active_percent", PERCENT, 0, SAMPLED_VALUE(TENSOR)),
        COLUMN(NULL, "dram_active_percent", PERCENT, 0, SAMPLED_VALUE(DRAM)),
        COLUMN(NULL, "pcie_in_bytes_per_second", THROUGHPUT, 0, SAMPLED_VALUE(RX)),
        COLUMN(NULL, "pcie_out_bytes_per_second", THROUGHPUT, 0, SAMPLED_VALUE(TX)),
        COLUMN(NULL, "sampled_error_percent", PERCENT, 0, .cell = sampled_error_cell),
        SAMPLED_ERRORS,
        SAMPLED_BOUND(0, 0),
    };

    report_json_members(json, &(struct report_layout){REPORT_COLUMNS(columns)},
                        &(struct sampled_row){brief});
}

void print_sampled_note(const struct report_out *out, const struct mp_trace *trace)
{
    print_note(out, trace,
               "Note: SMs, TActive and DRAM are solved from samples. +- is the greatest 95%% "
               "confidence of the three; 'miniprof counters' has each.");
}

const char *sampled_text(char text[SAMPLED_BYTES], enum metric_unit unit, double value)
{
    if (!isfinite(value))
        mp_text_copy(text, SAMPLED_BYTES, "-");
    else if (unit == METRIC_UNIT_PERCENT)
        snprintf(text, SAMPLED_BYTES, "%.1f%%", value);
    else if (unit == METRIC_UNIT_BYTES_PER_SECOND)
        mp_format_throughput(text, SAMPLED_BYTES, value);
    else if (unit == METRIC_UNIT_BYTES)
        mp_format_size(text, SAMPLED_BYTES, (uint64_t)value);
    else if (unit == METRIC_UNIT_HERTZ)
        snprintf(text, SAMPLED_BYTES, "%sMHz", mp_figure(value / 1e6).text);
    else if (unit == METRIC_UNIT_WATTS)
        snprintf(text, SAMPLED_BYTES, "%.1fW", value);
    else if (unit == METRIC_UNIT_CELSIUS)
        snprintf(text, SAMPLED_BYTES, "%.0fC", value);
    else
        snprintf(text, SAMPLED_BYTES, "%s", mp_figure(value).text);
    return text;
}
