/* The summaries of several processes in one table, or side by side. */
#ifndef MP_REPORTS_SUMMARY_MERGED_H
#define MP_REPORTS_SUMMARY_MERGED_H

#include "base/text/json.h"
#include "profile/set.h"
#include "reports/summary/summary.h"
#include "table/table.h"

/* What is known of one process, apart from its rows. */
struct merged_process {
    char *warning; /* owned by the caller; NULL: the data is whole */
    uint64_t profiled;
    uint64_t baseline_steps, baseline_unrecorded; /* as in struct quality */
    uint64_t callbacks_taken;                     /* the same */
    uint64_t dropped;
};

struct merged_report {
    const struct trace_set *set;
    const struct summary_merge *merge;
    const struct merged_process *found; /* by process of the set */
    const bool *is_read;                /* likewise: whether its rows are in */
    unsigned parts;                     /* bits of enum summary_parts; 0: both groups */
    uint64_t range;                     /* capture range; 0: all */
};

/* One table over all processes, in the layout of a summary. */
void print_merged(const struct report_out *out, const struct merged_report *report);

/* A row for each name, two columns for each process; `merge` must have kept its parts. If there are
 * more processes than a table has columns for, text and CSV come as several tables. MP_ERR_MEMORY.
 */
enum mp_status print_side_by_side(const struct report_out *out, const struct merged_report *report);

/* ---- Between the files ---- */

/* Whether a group was asked for. */
bool merged_shows(const struct merged_report *report, int group);

/* Warnings, notes, the processes, the capture range, and `Profiling result:`. Then a line for each
 * group that was recorded but is empty. */
void merged_head(const struct report_out *out, const struct merged_report *report);

/* The same as keys of a document: processes, range. */
void merged_json_head(struct json_writer *json, const struct merged_report *report);

#endif
