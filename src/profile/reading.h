/* One pass over a trace, as every analysis makes it. A cursor delivers only the columns that are
 * asked for, its batches are handed on one by one, and the end of the file is told apart from
 * failures.
 *
 *     static const struct reading_table tables[] = {
 *         {MP_TABLE_kernel, MP_MASK(kernel, shape, start, duration), .take = take_kernels},
 *         {MP_TABLE_memory, MP_ALL_COLUMNS, .take_row = take_memory},
 *     };
 *     const struct reading reading = {
 *         .trace = trace, .what = "the kernels", .context = &pass, READING_TABLES(tables),
 *         .definitions = &definitions, .quality = &quality,
 *     };
 *     MP_TRY(reading_run(&reading, error));
 */
#ifndef MP_PROFILE_READING_H
#define MP_PROFILE_READING_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"
#include "profile/definitions.h"
#include "profile/names/shapes.h"
#include "profile/quality.h"
#include "profile/ranges.h"

/* A table that a pass reads. */
struct reading_table {
    unsigned table;   /* enum mp_table_id */
    uint32_t columns; /* MP_MASK, MP_ALL_COLUMNS; 0: none of its rows */
    /* Uses a batch of it, or each of its rows; anything but MP_OK ends the pass. NULL: not wanted.
     */
    enum mp_status (*take)(void *context, const struct mp_batch *batch);
    enum mp_status (*take_row)(void *context, const struct mp_batch *batch, uint32_t row);
};

#define READING_TABLES(list) .tables = (list), .table_count = sizeof(list) / sizeof *(list)

struct reading {
    struct mp_trace *trace;
    const char *what; /* what the pass reads, for the message of a failure: "cannot read WHAT" */
    void *context;    /* of the tables' functions */
    const struct reading_table *tables; /* a table may stand here twice */
    size_t table_count;
    /* What the pass collects too; NULL: not wanted. Each is initialised by the caller, and gets its
     * batch before the tables' functions do. */
    struct definitions *definitions;
    enum definitions_kept kept; /* of `definitions` */
    struct shapes *shapes;
    struct capture_ranges *ranges;
    struct quality *quality; /* needs `definitions`, which have the names of its counters */
    struct quality *joined;  /* gets the damage that the pass meets; for those without `quality` */
    /* Goes on with the cursor after the last batch, before `quality` is finished: MP_END at the end
     * of the trace. NULL: nothing. */
    enum mp_status (*then)(void *context, struct mp_cursor *cursor);
    const struct reading *with; /* takes part in the pass, with its tables alone; NULL: nobody */
};

/* Runs it. MP_ERR_IO, MP_ERR_MEMORY, or what a `take` answered, with a text in *error. */
enum mp_status reading_run(const struct reading *reading, struct mp_error *error);

/* The two halves of a pass whose cursor the caller moves: selects the columns, and none else; hands
 * a batch on. */
void reading_select(const struct reading *reading, struct mp_cursor *cursor);
enum mp_status reading_take(const struct reading *reading, const struct mp_batch *batch);

/* Whether the trace has rows of the table with this id. Reads only the headers of the chunks.
 * MP_ERR_IO, MP_ERR_MEMORY, with a text in *error. */
enum mp_status reading_has_rows(struct mp_trace *trace, unsigned table, bool *found,
                                struct mp_error *error);

#endif
