/* Inside of the report on ranks: its tables, which are objects in JSON. */
#ifndef MP_REPORTS_RANKS_TABLES_H
#define MP_REPORTS_RANKS_TABLES_H

#include "reports/ranks/print.h"

/* Prints a table; to `json`, if that is not NULL, objects for an array that is open. */
void ranks_print_functions(const struct report_out *out, struct json_writer *json,
                           const struct ranks_report *report);
void ranks_print_members(const struct report_out *out, struct json_writer *json,
                         const struct ranks_report *report);
void ranks_print_causes(const struct report_out *out, struct json_writer *json,
                        const struct ranks_report *report);
void ranks_print_instances(const struct report_out *out, struct json_writer *json,
                           const struct ranks_report *report);

#endif
