/* Runs one pass over a trace. It separates the end of the trace from a failure, and tells the
 * analysis about damaged chunks, so that no analysis does this on its own.
 */
#include "profile/reading.h"

#include "base/poison.h"

void reading_select_nothing(struct mp_cursor *cursor)
{
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    for (size_t i = 0; i < count; i++)
        mp_cursor_select(cursor, &tables[i], 0);
}

enum mp_status reading_run(const struct reading *reading, struct mp_error *error)
{
    struct mp_cursor *cursor;
    struct mp_batch batch;
    enum mp_status status;

    MP_TRY(mp_cursor_open(reading->trace, &cursor, error));
    reading_select_nothing(cursor);
    reading->select(cursor, reading->context);
    while ((status = mp_cursor_next(cursor, &batch)) == MP_OK) {
        status = reading->take(reading->context, &batch);
        if (status != MP_OK)
            break;
    }
    if (reading->quality)
        quality_finish(reading->quality, reading->trace, cursor, reading->definitions);
    mp_cursor_close(cursor);
    if (status == MP_END)
        return reading->quality ? quality_examine(reading->quality, reading->trace, error) : MP_OK;
    return mp_error_set(error, status, "cannot read %s: %s", reading->what, mp_status_name(status));
}

enum mp_status reading_has_rows(struct mp_trace *trace, unsigned table, bool *found,
                                struct mp_error *error)
{
    struct mp_cursor *cursor;
    struct mp_chunk chunk;
    enum mp_status status;

    *found = false;
    MP_TRY(mp_cursor_open(trace, &cursor, error));
    while (!*found && (status = mp_cursor_next_chunk(cursor, &chunk, false)) == MP_OK)
        *found = chunk.table && chunk.table->id == table;
    mp_cursor_close(cursor);
    if (*found || status == MP_END)
        return MP_OK;
    return mp_error_set(error, status, "cannot read the trace: %s", mp_status_name(status));
}
