/* Inside the merged summaries: what stands above them. */
#ifndef MP_REPORTS_SUMMARY_MERGED_HEAD_H
#define MP_REPORTS_SUMMARY_MERGED_HEAD_H

#include "base/text/json_write.h"
#include "reports/summary/merged.h"

/* Whether a group was asked for. */
bool merged_shows(const struct merged_report *report, int group);

/* Warnings, notes, the processes, the capture range, and `Profiling result:`. Then a line for each
 * group that was recorded but is empty. */
void merged_head(const struct report_out *out, const struct merged_report *report);

/* The same as keys of a document: processes, range. */
void merged_json_head(struct json_writer *json, const struct merged_report *report);

#endif
