/* Inside the dependency report: its sections, each in a file of its own (deps.h). */
#ifndef MP_REPORTS_DEPS_SECTIONS_H
#define MP_REPORTS_DEPS_SECTIONS_H

#include "reports/deps/print.h"

/* A warning above the report if more than 2 % of the dependencies overlap, are contradicted or were
 * clamped: their share, in percent, or 0. */
void print_deps_doubts(const struct report_out *out, const struct deps_report *report);
double deps_doubtful(const struct deps_counts *counts);

/* Host code by line; nothing if the trace has no stacks. With --iterations the means of one. */
void print_deps_host(const struct report_out *out, const struct deps_report *report);
void json_deps_host(struct json_writer *json, const struct deps_report *report);

/* Shortest latency, percentiles and examples of each kind of step. */
void print_deps_latencies(const struct report_out *out, const struct deps_report *report);
void json_deps_latencies(struct json_writer *json, const struct deps_report *report);

/* Lines below a table that say what the numbers rest on, each only where it applies. */
void print_deps_notes(const struct report_out *out, const struct deps_report *report);

/* As text or CSV. The JSON functions print the value of their key. MP_OK or MP_ERR_MEMORY. */
enum mp_status print_deps_trace(const struct report_out *out, const struct deps_report *report);
enum mp_status json_deps_trace(struct json_writer *json, const struct deps_report *report);

enum mp_status print_deps_iterations(const struct report_out *out,
                                     const struct deps_report *report);
enum mp_status json_deps_iterations(struct json_writer *json, const struct deps_report *report);

/* What the report->slowest slowest iterations have on their path more than the median one. */
enum mp_status print_deps_slowest(const struct report_out *out, const struct deps_report *report);
enum mp_status json_deps_slowest(struct json_writer *json, const struct deps_report *report);

enum mp_status print_deps_what_if(const struct report_out *out, const struct deps_report *report);
enum mp_status json_deps_what_if(struct json_writer *json, const struct deps_report *report);

void print_deps_top(const struct report_out *out, const struct deps_report *report);
void json_deps_top(struct json_writer *json, const struct deps_report *report);

/* `kernel`, `copy`, ...: of enum deps_kind. */
const char *deps_kind_name(unsigned kind);

/* print_note for a title, which a sheet has not. */
__attribute__((format(printf, 3, 4))) void print_deps_title(const struct report_out *out,
                                                            const struct deps_report *report,
                                                            const char *format, ...);

/* The capture range of a window, and with --iterations the iteration, as keys of the open object.
 */
void json_deps_window(struct json_writer *json, const struct deps_report *report,
                      const struct deps_window *window);

#endif
