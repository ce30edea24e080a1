/* What was sampled while work ran, as cells and as keys. */
#include "reports/common/sampled.h"

#include <math.h>
#include <stdio.h>

#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

static double value_of(const struct counters_brief *brief, enum sampled_cell cell)
{
    static const uint8_t counters[] = {
        [SAMPLED_SMS] = COUNTERS_SMS,     [SAMPLED_TENSOR] = COUNTERS_TENSOR,
        [SAMPLED_DRAM] = COUNTERS_DRAM,   [SAMPLED_PCIE_IN] = COUNTERS_RX,
        [SAMPLED_PCIE_OUT] = COUNTERS_TX,
    };

    if (!brief)
        return (double)NAN;
    if (cell == SAMPLED_ERROR)
        return fmax(fmax(brief->errors[COUNTERS_SMS], brief->errors[COUNTERS_TENSOR]),
                    brief->errors[COUNTERS_DRAM]);
    if (cell >= SAMPLED_SMS_ERROR)
        return brief->errors[counters[cell - SAMPLED_SMS_ERROR]];
    return brief->values[counters[cell]];
}

static const char *class_name(const struct counters_brief *brief)
{
    return brief && brief->class != COUNTERS_UNKNOWN ? counters_class_name(brief->class) : NULL;
}

struct report_cell sampled_cell(const struct counters_brief *brief, enum sampled_cell cell)
{
    double value;

    if (cell == SAMPLED_BOUND_BY)
        return report_text_cell(class_name(brief));
    value = value_of(brief, cell);
    return isfinite(value) ? report_real_cell(value) : report_absent_cell();
}

static struct json_fact fact(const char *key, const struct counters_brief *brief,
                             enum sampled_cell cell)
{
    double value = value_of(brief, cell);

    return FACT_IF(key, isfinite(value), value);
}

void json_sampled(struct json_writer *json, const struct counters_brief *brief)
{
    JSON_FACTS(json, fact("sm_active_percent", brief, SAMPLED_SMS),
               fact("tensor_active_percent", brief, SAMPLED_TENSOR),
               fact("dram_active_percent", brief, SAMPLED_DRAM),
               fact("pcie_in_bytes_per_second", brief, SAMPLED_PCIE_IN),
               fact("pcie_out_bytes_per_second", brief, SAMPLED_PCIE_OUT),
               fact("sampled_error_percent", brief, SAMPLED_ERROR),
               fact("sm_active_error_percent", brief, SAMPLED_SMS_ERROR),
               fact("tensor_active_error_percent", brief, SAMPLED_TENSOR_ERROR),
               fact("dram_active_error_percent", brief, SAMPLED_DRAM_ERROR),
               fact("pcie_in_error_bytes_per_second", brief, SAMPLED_PCIE_IN_ERROR),
               fact("pcie_out_error_bytes_per_second", brief, SAMPLED_PCIE_OUT_ERROR),
               FACT("bound_by", class_name(brief)));
}

void print_sampled_note(const struct report_out *out, const struct mp_trace *trace)
{
    print_prefix(out, trace);
    fputs(
        "Note: SMs, TActive and DRAM are solved from samples. +- is the greatest 95% confidence of "
        "the three; 'miniprof counters' has each.\n",
        out->file);
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
