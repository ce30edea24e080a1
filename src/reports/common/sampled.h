/* What was sampled while work ran, in tables of that work: kernels and layers. */
#ifndef MP_REPORTS_COMMON_SAMPLED_H
#define MP_REPORTS_COMMON_SAMPLED_H

#include "reports/counters/counters.h"
#include "table/table.h"

enum sampled_cell {
    SAMPLED_SMS,
    SAMPLED_TENSOR,
    SAMPLED_DRAM,
    SAMPLED_PCIE_IN,
    SAMPLED_PCIE_OUT,
    /* Half widths of their 95 % confidence, in the order of the means. */
    SAMPLED_SMS_ERROR,
    SAMPLED_TENSOR_ERROR,
    SAMPLED_DRAM_ERROR,
    SAMPLED_PCIE_IN_ERROR,
    SAMPLED_PCIE_OUT_ERROR,
    SAMPLED_ERROR, /* the greatest of SMs, tensor pipes and DRAM */
    SAMPLED_BOUND_BY
};

/* NULL: nothing is known. */
struct report_cell sampled_cell(const struct counters_brief *brief, enum sampled_cell cell);

/* The same as keys. */
void json_sampled(struct json_writer *json, const struct counters_brief *brief);

/* What the column SAMPLED_ERROR is. Text only. */
void print_sampled_note(const struct report_out *out, const struct mp_trace *trace);

#define SAMPLED_BYTES 48

/* "61.2%", "24.10GB/s", "1,755MHz"; of what is not known "-". Returns `text`. */
const char *sampled_text(char text[SAMPLED_BYTES], enum metric_unit unit, double value);

#endif
