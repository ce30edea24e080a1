/* Layers as text, CSV and JSON. */
#ifndef MP_REPORTS_LAYERS_PRINT_H
#define MP_REPORTS_LAYERS_PRINT_H

#include <miniprof/trace.h>

#include "reports/layers/layers.h"
#include "table/table.h"

struct counters_brief;

struct layers_report {
    const struct mp_trace *trace;
    const struct layers_result *result;
    const struct layers_options *options;
    const struct counters_brief *sampled; /* by layer; NULL: nothing was sampled */
    uint64_t top;                         /* rows of each table, by total; 0: all */
    bool tree;                            /* the layers by nesting; no --top then */
    bool kernels; /* in text below each layer the names of what it launched */
};

/* Prints it. MP_ERR_MEMORY: a path could not be put together. */
enum mp_status print_layers(const struct report_out *out, const struct layers_report *report);

/* ---- Between print.c and the files of its parts ---- */

void print_layers_positions(const struct report_out *out, const struct layers_report *report);

/* In a sheet: the header row of a table without positions. */
void print_layers_no_positions(const struct report_out *out, const struct layers_report *report);
void print_layers_groups(const struct report_out *out, const struct layers_report *report);
void print_layers_json(FILE *out, const struct layers_report *report);

/* Rows that --top leaves of `count`. */
size_t layers_shown(const struct layers_report *report, size_t count);

#endif
