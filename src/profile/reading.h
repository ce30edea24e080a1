/* One pass over a trace, as every analysis makes it. A cursor delivers only the selected columns,
 * its batches are handed on one by one, and the end of the file is told apart from failures.
 *
 *     const struct reading reading = {
 *         .trace = trace, .what = "the allocations", .context = &pass,
 *         .select = select_columns, .take = take_batch,
 *         .quality = &quality, .definitions = &definitions,
 *     };
 *     MP_TRY(reading_run(&reading, error));
 */
#ifndef MP_PROFILE_READING_H
#define MP_PROFILE_READING_H

#include <miniprof/trace.h>
#include <stdbool.h>

#include "base/status.h"
#include "profile/definitions.h"
#include "profile/quality.h"

struct reading {
    struct mp_trace *trace;
    const char *what; /* what the pass reads, for the message of a failure: "cannot read WHAT" */
    void *context;    /* of the two functions */
    /* Selects what the cursor is to deliver; nothing is selected before. */
    void (*select)(struct mp_cursor *cursor, void *context);
    /* Uses a batch; anything but MP_OK ends the pass. */
    enum mp_status (*take)(void *context, const struct mp_batch *batch);
    /* receives what the cursor met, at the end of the pass; NULL: not wanted */
    struct quality *quality;
    const struct definitions *definitions; /* with `quality`: the names of its counters */
};

/* Runs it. MP_ERR_IO, MP_ERR_MEMORY, or what `take` answered, with a text in *error. */
enum mp_status reading_run(const struct reading *reading, struct mp_error *error);

/* Whether the trace has rows of the table with this id. Reads only the headers of the chunks.
 * MP_ERR_IO, MP_ERR_MEMORY, with a text in *error. */
enum mp_status reading_has_rows(struct mp_trace *trace, unsigned table, bool *found,
                                struct mp_error *error);

/* Makes the cursor deliver nothing. */
void reading_select_nothing(struct mp_cursor *cursor);

#endif
