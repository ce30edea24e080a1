/* Inside the dependency report: its sections. */
#ifndef MP_REPORTS_DEPS_SECTIONS_H
#define MP_REPORTS_DEPS_SECTIONS_H

#include "reports/deps/print.h"

/* Host code by line; nothing if the trace has no stacks. With --iterations the means of one. */
void print_deps_host(const struct report_out *out, const struct deps_report *report);

/* Shortest latency, percentiles and examples of each kind of step, as the key `latencies`. */
void json_deps_latencies(struct json_writer *json, const struct deps_report *report);

/* As text or CSV. The JSON functions print the value of their key; that of the names prints the
 * keys `rows`, `parts` and `host_code`. MP_OK or MP_ERR_MEMORY. */
enum mp_status print_deps_names(const struct report_out *out, const struct deps_report *report);
enum mp_status json_deps_names(struct json_writer *json, const struct deps_report *report);

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

/* What would gain most; in JSON as the key `top`. */
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

/* ---- Rows of a table of names: activities, and parts of the path that belong to no activity ----
 */

#define DEPS_LABEL_BYTES (DEPS_THREAD_BYTES + 48)

struct deps_table_row {
    const char *name; /* owned by the graph or the table, or constant */
    uint32_t id;      /* in deps->names; 0: not an activity but `part` */
    int part;         /* enum deps_part, or DEPS_OTHER */
    uint32_t group;   /* of host code: of threads; DEPS_NONE: of all together */
    struct deps_row numbers;
};

struct deps_table_rows {
    struct deps_table_row *items; /* owned */
    size_t count;
    char (*labels)[DEPS_LABEL_BYTES]; /* names of rows of a group's host code; owned */
    size_t label_count;
};

/* One row for each activity in the result, and for each part that is not 0; by critical time,
 * waiting time, name. If the path has host code of several groups of threads, it has rows by
 * group. `other`: one row <Other> instead of the parts, as nvprof has it. MP_ERR_MEMORY. */
enum mp_status deps_rows_build(const struct deps *deps, const struct deps_result *result,
                               bool other, struct deps_table_rows *rows);

void deps_rows_free(struct deps_table_rows *rows);

/* `<host code>`; `<Other>` for DEPS_OTHER. */
const char *deps_part_name(int part);

/* `host_code_ns`. */
const char *deps_part_key(int part);

uint64_t deps_other(const uint64_t parts[DEPS_PARTS]);

/* What the column of waiting times holds. */
uint64_t deps_row_waiting(const struct deps_row *row);

/* `part` of `whole` in percent; 0 if `whole` is 0. */
double deps_percent(double part, double whole);

#endif
