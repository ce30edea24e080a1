/* What was sampled while work ran, in tables of that work: kernels and layers. */
#ifndef MP_REPORT_COMMON_SAMPLED_H
#define MP_REPORT_COMMON_SAMPLED_H

#include "analyze/counters/counters.h"
#include "report/table/table.h"

enum sampled_cell {
    SAMPLED_SMS,
    SAMPLED_TENSOR,
    SAMPLED_DRAM,
    SAMPLED_PCIE_IN,
    SAMPLED_PCIE_OUT,
    SAMPLED_PCIE, /* both */
    SAMPLED_BOUND_BY
};

/* NULL: nothing is known. */
struct report_cell sampled_cell(const struct counters_brief *brief, enum sampled_cell cell);

/* The same but for SAMPLED_PCIE, as keys. */
void json_sampled(struct json_writer *json, const struct counters_brief *brief);

#define SAMPLED_BYTES 48

/* "61.2%", "24.1GB/s", "1755MHz"; of what is not known "-". Returns `text`. */
const char *sampled_text(char text[SAMPLED_BYTES], enum metric_unit unit, double value);

#endif
