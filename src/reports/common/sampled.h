/* What was sampled while work ran, in tables of that work: kernels and layers. */
#ifndef MP_REPORTS_COMMON_SAMPLED_H
#define MP_REPORTS_COMMON_SAMPLED_H

#include "reports/counters/counters.h"
#include "table/table.h"

/* Rows that have columns of samples begin with these members. */
struct sampled_row {
    const struct counters_brief *sampled; /* NULL: nothing is known */
};

#define SAMPLED_VALUE(which) THROUGH(struct sampled_row, sampled, values[COUNTERS_##which])
#define SAMPLED_ERROR(which) THROUGH(struct sampled_row, sampled, errors[COUNTERS_##which])

/* Means; text has them if `needs_` says so. The three drops are of SMs, tensor pipes and DRAM, of
 * the error, which is the max of these three, and of PCIe. */
#define SAMPLED_COLUMNS(needs_, drop_, error_drop_, pcie_drop_)                                    \
    COLUMN("SMs", "sm_active_percent", PERCENT, 6, SAMPLED_VALUE(SMS), .rough = true,              \
           .needs = (needs_), .drop = (drop_)),                                                    \
        COLUMN("TActive", "tensor_active_percent", PERCENT, 7, SAMPLED_VALUE(TENSOR),              \
               .rough = true, .needs = (needs_), .drop = (drop_)),                                 \
        COLUMN("DRAM", "dram_active_percent", PERCENT, 6, SAMPLED_VALUE(DRAM), .rough = true,      \
               .needs = (needs_), .drop = (drop_)),                                                \
        COLUMN("+-", "sampled_error_percent", PERCENT, 5, .cell = sampled_error_cell,              \
               .rough = true, .needs = (needs_), .drop = (error_drop_)),                           \
        COLUMN("PCIe in", "pcie_in_bytes_per_second", THROUGHPUT, 8, SAMPLED_VALUE(RX),            \
               .needs = (needs_), .drop = (pcie_drop_)),                                           \
        COLUMN("PCIe out", "pcie_out_bytes_per_second", THROUGHPUT, 8, SAMPLED_VALUE(TX),          \
               .needs = (needs_), .drop = (pcie_drop_))

/* Half widths of their 95 % confidence, for scripts. */
#define SAMPLED_ERRORS                                                                             \
    COLUMN("SM Active +-", "sm_active_error_percent", PERCENT, 0, SAMPLED_ERROR(SMS),              \
           .formats = REPORT_IN_DATA),                                                             \
        COLUMN("Tensor Active +-", "tensor_active_error_percent", PERCENT, 0,                      \
               SAMPLED_ERROR(TENSOR), .formats = REPORT_IN_DATA),                                  \
        COLUMN("DRAM Active +-", "dram_active_error_percent", PERCENT, 0, SAMPLED_ERROR(DRAM),     \
               .formats = REPORT_IN_DATA),                                                         \
        COLUMN("PCIe In +-", "pcie_in_error_bytes_per_second", THROUGHPUT, 0, SAMPLED_ERROR(RX),   \
               .formats = REPORT_IN_DATA),                                                         \
        COLUMN("PCIe Out +-", "pcie_out_error_bytes_per_second", THROUGHPUT, 0, SAMPLED_ERROR(TX), \
               .formats = REPORT_IN_DATA)

#define SAMPLED_BOUND(needs_, drop_)                                                               \
    COLUMN("Bound by", "bound_by", TEXT, 8, .cell = sampled_bound_cell, .needs = (needs_),         \
           .drop = (drop_))

report_accessor sampled_error_cell, sampled_bound_cell;

/* The same as keys of an open object. */
void json_sampled(struct json_writer *json, const struct counters_brief *brief);

/* What the column `+-` is. Text only. */
void print_sampled_note(const struct report_out *out, const struct mp_trace *trace);

#define SAMPLED_BYTES 48

/* "61.2%", "24.10GB/s", "1,755MHz"; of what is not known "-". Returns `text`. */
const char *sampled_text(char text[SAMPLED_BYTES], enum metric_unit unit, double value);

#endif
