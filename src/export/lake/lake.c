/* The format: a folder for each process, with the summary tier, and with the event tables if they
 * are asked for. Every table has its file, if need be without rows, so that a query over all runs
 * finds the same columns everywhere.
 */
#include "export/lake/lake.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "export/lake/build.h"

#include "base/poison.h"

/* ---- The tables ---- */

#define NULL_NULLED                        0
#define NULL_FULL                          TABLES_REQUIRED
#define COLUMN_OF(table, name, type, null) {#name, TABLES_##type, NULL_##null},
#define COLUMN_ARRAY(table, name)                                                                  \
    static const struct tables_column columns_##table[] = {LAKE_COLUMNS_##table(COLUMN_OF)};
LAKE_TABLES(COLUMN_ARRAY)

#define TABLE_OF(table, name) {#name, columns_##table, LAKE_##table##_COLUMNS},
const struct tables_table lake_tables[LAKE_TABLE_COUNT] = {LAKE_TABLES(TABLE_OF)};

/* ---- Where a run's files lie ---- */

/* Its folder in the layout, and the id that its rows have. */

#define PART_BYTES (LAKE_MAX_NAME + 1)

bool lake_is_plain(char character)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    return character && strchr(plain, character);
}

/* As a folder's name that every engine takes. */
static const char *part_of(const char *text, char part[PART_BYTES])
{
    size_t at = 0;

    for (; text[at] && at < PART_BYTES - 1; at++)
        part[at] = lake_is_plain(text[at]) ? text[at] : '_';
    part[at] = '\0';
    return part;
}

/* The program's name, if the job has none. */
static const char *job_of(const struct export_process *process)
{
    const char *job = process->options->job;
    const char *program = mp_trace_property(process->trace, "executable");
    const char *slash = program ? strrchr(program, '/') : NULL;

    if (job)
        return job;
    if (slash)
        program = slash + 1;
    return program && *program ? program : "unknown";
}

static void find_date(const struct trace_process *who, char date[LAKE_DATE_BYTES])
{
    time_t begin = (time_t)((who->first_time + who->offset) / 1000000000);
    struct tm parts;

    if (!gmtime_r(&begin, &parts) || !strftime(date, LAKE_DATE_BYTES, "%Y-%m-%d", &parts))
        memcpy(date, "1970-01-01", sizeof "1970-01-01");
}

static uint64_t rank_of(const struct export_process *process)
{
    const struct trace_process *who = process->who;

    if (who->rank != TRACE_SET_UNKNOWN)
        return who->rank;
    return who->pid != TRACE_SET_UNKNOWN ? who->pid : process->number;
}

void lake_put_place(const struct export_process *process, struct mp_buffer *path)
{
    const char *host = process->who->host;
    char job[PART_BYTES], name[PART_BYTES], date[LAKE_DATE_BYTES];

    find_date(process->who, date);
    mp_buffer_append_format(path, "runs/job=%s/date=%s/host=%s/rank=%" PRIu64,
                            part_of(job_of(process), job), date,
                            part_of(host && *host ? host : "unknown", name), rank_of(process));
}

static void find_run(struct lake *lake)
{
    const struct fingerprint *print = &lake->process->who->fingerprint;

    if (print->unique || !print->count)
        snprintf(lake->run, sizeof lake->run, "%016" PRIx64, print->header);
    else
        snprintf(lake->run, sizeof lake->run, "%016" PRIx64 "%016" PRIx64, print->header,
                 print->chunks[print->count - 1]);
    find_date(lake->process->who, lake->date);
    lake->job = job_of(lake->process);
    lake->rank = rank_of(lake->process);
}

enum mp_status lake_make_folders(char *path, size_t from, mode_t mode, struct mp_error *error)
{
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int failed = (mkdir(path, 0700) != 0 || chmod(path, mode) != 0) && errno != EEXIST;
        if (failed)
            mp_error_set(error, MP_ERR_IO, "cannot make '%.150s': %m", path + from);
        *slash = '/';
        if (failed)
            return MP_ERR_IO;
    }
    return MP_OK;
}

static bool has_run(const char *folder)
{
    struct mp_buffer path = {.data = NULL};

    mp_buffer_append_format(&path, "%s%s.parquet", folder, lake_tables[LAKE_RUN].name);
    bool has =
        mp_buffer_append_byte(&path, '\0') == MP_OK && !access((const char *)path.data, F_OK);
    mp_buffer_free(&path);
    return has;
}

/* Finds run, date, job and rank, and opens the tables in the folder of the run. */
static enum mp_status open_run(struct lake *lake, struct mp_error *error)
{
    struct mp_buffer path = {.data = NULL};
    size_t from = strlen(lake->folder) + 1;

    find_run(lake);
    mp_buffer_append_format(&path, "%s/", lake->folder);
    if (!lake->process->options->one_run) {
        lake_put_place(lake->process, &path);
        mp_buffer_append_byte(&path, '/');
    }
    if (mp_buffer_append_byte(&path, '\0') != MP_OK) {
        mp_buffer_free(&path);
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    }
    enum mp_status status = lake_make_folders((char *)path.data, from, 0700, error);
    if (status == MP_OK && has_run((const char *)path.data))
        status = mp_error_set(error, MP_ERR_ARGUMENT,
                              "another trace has the same job, date, host and rank; export them "
                              "apart, with another --job");
    if (status == MP_OK)
        status = tables_open_folder((const char *)path.data, lake_tables, LAKE_TABLE_COUNT,
                                    &lake->tables, error);
    mp_buffer_free(&path);
    return status;
}

/* ---- The format ---- */

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

    lake->process = process;
    enum mp_status status = lake_open_collectives(lake, error);
    if (status == MP_OK)
        status = open_run(lake, error);
    unsigned count = has_events(lake) ? LAKE_TABLE_COUNT : LAKE_FIRST_EVENTS;
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
