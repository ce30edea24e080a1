/* The summary as nvprof prints it, as CSV and as JSON. */
#ifndef MP_REPORTS_SUMMARY_PRINT_H
#define MP_REPORTS_SUMMARY_PRINT_H

#include <miniprof/trace.h>
#include <stdio.h>

#include "cli/command.h"
#include "profile/set.h"
#include "reports/info/info.h"
#include "reports/nvtx/nvtx.h"
#include "reports/ranks/ranks.h"
#include "reports/summary/merge.h"
#include "reports/summary/summary.h"
#include "table/table.h"

/* Prints the summary of `trace`: the parts that `which` (bits of enum summary_parts, 0: both
 * groups) selects and with which it was built. If `range` is not 0, the summary says that it covers
 * this capture range. */
void print_summary(const struct report_out *out, const struct mp_trace *trace,
                   const struct summary *summary, unsigned which, uint64_t range);

/* The line `Profiling result:` and the tables below it, without the head. Text and CSV only. */
void print_summary_sections(const struct report_out *out, const struct mp_trace *trace,
                            const struct summary *summary, unsigned which);

/* ---- The unified memory result as nvprof prints it, as text and CSV ---- */

/* Prints `Unified Memory profiling result:`, a table for each device, and the page faults of the
 * CPU. Nothing when the trace has no rows of unified memory. */
void print_unified(const struct report_out *out, const struct mp_trace *trace,
                   const struct unified *unified);

/* ---- The processes of a set of traces as a table: who, where, on which GPUs, when, how much ----
 */

/* Prints warnings about incomplete traces, if their chunk headers say so, then the table, then
 * how the clocks relate: within what `ranks` found, which may be NULL. MP_ERR_MEMORY. */
enum mp_status print_processes(const struct report_out *out, const struct trace_set *set,
                               const struct ranks *ranks);

/* ---- What happened inside NVTX ranges: nvprof's NVTX result, as text, CSV and JSON ---- */

/* Prints `NVTX result:` and a table for each thread, domain and name, without a head. Prints
 * nothing if there are no ranges. Text and CSV only. */
void print_nvtx_result(const struct report_out *out, const struct mp_trace *trace,
                       const struct nvtx_result *result);

/* The whole report of `miniprof nvtx`: the head, the result, the notes. If `range` is not 0, the
 * report says that it covers this capture range. */
void print_nvtx(const struct report_out *out, const struct mp_trace *trace,
                const struct nvtx_result *result, uint64_t range);

/* ---- The columns of a summary, in nvprof's layout, for every table that has them ---- */

/* A row of a table: the struct `line` has `type`, the title of its group, and `row`. */
struct summary_line {
    const char *type;
    const struct summary_row *row;
};

#define SUMMARY_COLUMNS(line)                                                                      \
    COLUMN("Type", NULL, GROUP, 16, MEMBER(line, type)),                                           \
        COLUMN("Time(%)", "percent", PERCENT, 7, THROUGH(line, row, percent), .share = true),      \
        COLUMN("Time", "total_ns", TIME, 8, THROUGH(line, row, tally.total)),                      \
        COLUMN("Calls", "calls", COUNT, 8, THROUGH(line, row, tally.calls)),                       \
        COLUMN("Avg", "mean_ns", MEAN, 8, THROUGH(line, row, mean)),                               \
        COLUMN("Min", "min_ns", TIME, 8, THROUGH(line, row, tally.min), .drop = 2),                \
        COLUMN("Max", "max_ns", TIME, 8, THROUGH(line, row, tally.max), .drop = 1),                \
        COLUMN("StdDev", "std_ns", MEAN, 8, THROUGH(line, row, deviation), .needs = SUMMARY_OWN,   \
               .drop = 3),                                                                         \
        COLUMN("Name", "name", TEXT, 4, THROUGH(line, row, name))

/* What a table has besides nvprof's columns: a summary of our own, not ranges and not nvprof's. */
#define SUMMARY_OWN 1u /* a bit of the layout's `there` */

static inline uint32_t summary_there(const struct report_out *out)
{
    return out->nvprof ? 0 : SUMMARY_OWN;
}

/* Begins a table of struct summary_line. */
void summary_open(struct report_table *table, const struct report_out *out, uint32_t there);

/* Whether a group is shown by these bits of enum summary_parts; 0: both groups. */
bool summary_shows(unsigned which, int group);

/* Titles, JSON keys, and the line that nvprof prints for a group without rows, by group. */
struct summary_group_words {
    const char *title;
    const char *key;
    const char *empty;
};
extern const struct summary_group_words summary_group_words[SUMMARY_GROUPS];

/* Rows that stand together below one title. */
struct summary_rows {
    const char *type;
    const struct summary_row *rows;
    size_t count;
};

#define SUMMARY_ROWS(index, group)                                                                 \
    ((struct summary_rows){summary_group_words[index].title, (group)->rows, (group)->row_count})

void summary_each_row(struct report_table *table, report_take *take,
                      const struct summary_rows *rows);

/* A whole table of these groups of rows. */
void summary_print_rows(const struct report_out *out, uint32_t there,
                        const struct summary_rows *groups, size_t count);

/* Keys of an object of JSON: total_ns and rows. */
void summary_json_rows(struct json_writer *json, uint32_t there, uint64_t total,
                       const struct summary_row *rows, size_t count);

/* The groups of our own summary that `which` shows, as the key `groups`. */
void summary_json_groups(struct json_writer *json, unsigned which,
                         const struct summary_group *const groups[SUMMARY_GROUPS]);

/* ---- A report ---- */

struct summarising {
    struct report_out out;
    struct summary_options options;
};

/* Prints the summary of a trace; `context` is a struct summarising. */
trace_report summarise;

#endif
