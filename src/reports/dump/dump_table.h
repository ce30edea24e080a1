/* Rows of any table as cells of the table printer: what `dump` prints. */
#ifndef MP_REPORTS_DUMP_DUMP_TABLE_H
#define MP_REPORTS_DUMP_DUMP_TABLE_H

#include <miniprof/trace.h>
#include <stdbool.h>
#include <stdio.h>

#include "profile/definitions.h"
#include "table/table.h"

#define DUMP_TEXT_BYTES 192 /* room for a reference in words */

struct dump_table {
    struct report_table printer;
    struct report_column columns[MP_MAX_COLUMNS + 1];
    const struct mp_table_info *table;
    struct definitions *definitions; /* NULL: references and enumerations stay numbers */
    bool named;                      /* the table's name is the first column */
    bool begun;                      /* the header is printed */
};

/* Sets up for the rows of one table; prints nothing. `json` is used with REPORT_JSON only. */
void dump_begin(struct dump_table *dump, const struct mp_table_info *table,
                const struct report_out *out, struct json_writer *json,
                struct definitions *definitions, bool named);

/* Prints the rows of a batch of that table below the header. The first batch sets the widths of the
 * columns.
 */
void dump_batch(struct dump_table *dump, const struct mp_batch *batch);

/* Prints the header of a table that had no rows. */
void dump_header(struct dump_table *dump);

#endif
