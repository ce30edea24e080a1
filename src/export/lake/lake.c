/* The format: a folder for each process, with the summary tier, and with the event tables if they
 * are asked for. Every table has its file, if need be without rows, so that a query over all runs
 * finds the same columns everywhere.
 */
#include "export/lake/lake.h"

#include <stdlib.h>
#include <string.h>

#include "export/lake/build.h"

#include "base/poison.h"

static enum mp_status say(struct mp_error *error, enum mp_status status)
{
    if (status != MP_OK && error && !error->status)
        mp_error_set(error, status, "cannot write: %s", mp_status_name(status));
    return status;
}

static enum mp_status begin(void *state, FILE *out, const char *path, size_t processes,
                            struct mp_error *error)
{
    struct lake *lake = state;

    (void)out, (void)processes;
    lake->folder = strdup(path);
    return lake->folder ? MP_OK : mp_error_set(error, MP_ERR_MEMORY, "out of memory");
}

static bool has_events(const struct lake *lake)
{
    return export_rows_options(lake->process->rows)->events;
}

static enum mp_status process(void *state, const struct export_process *process,
                              struct mp_error *error)
{
    struct lake *lake = state;
    unsigned count;
    enum mp_status status;

    lake->process = process;
    status = lake_open_collectives(lake, error);
    if (status == MP_OK)
        status = lake_open_run(lake, error);
    count = has_events(lake) ? LAKE_TABLE_COUNT : LAKE_FIRST_EVENTS;
    for (unsigned i = 0; i < count && status == MP_OK; i++)
        status = tables_begin(lake->tables, i);
    if (status != MP_OK && lake->tables) { /* which knows why */
        status = tables_close(lake->tables, error);
        lake->tables = NULL;
    }
    return say(error, status);
}

static enum mp_status row(void *state, const struct export_row *row)
{
    struct lake *lake = state;

    MP_TRY(lake_add(lake, row));
    MP_TRY(lake_add_collectives(lake, row));
    return has_events(lake) ? lake_put_event(lake, row) : MP_OK;
}

static enum mp_status process_end(void *state, struct mp_error *error)
{
    struct lake *lake = state;
    struct tables *tables = lake->tables;
    enum mp_status status = lake_put_sums(lake);

    if (status == MP_OK)
        status = lake_put_collectives(lake);
    if (status == MP_OK)
        status = lake_put_summary(lake, error);
    if (status == MP_OK)
        status = lake_put_layers(lake, error);
    if (status == MP_OK && has_events(lake))
        status = lake_put_edges(lake);
    lake_forget_sums(lake);
    lake_forget_collectives(lake);
    lake->tables = NULL;
    if (status == MP_OK || status == MP_ERR_IO)
        return tables_close(tables, error);
    tables_abandon(tables);
    return say(error, status);
}

static void release(void *state)
{
    struct lake *lake = state;

    tables_abandon(lake->tables);
    lake_forget_sums(lake);
    lake_forget_collectives(lake);
    free(lake->folder);
}

const struct export_format export_parquet = {
    .key = "parquet",
    .suffix = "-lake",
    .help = "a folder for DuckDB, ClickHouse and others: summaries; --events: all rows too",
    .state_bytes = sizeof(struct lake),
    .analyses = true,
    .matched = true,
    .folder = true,
    .lazy = ".parquet",
    .begin = begin,
    .process = process,
    .row = row,
    .process_end = process_end,
    .release = release,
};
