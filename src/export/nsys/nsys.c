/* The two formats: nsys's tables as an SQLite file, or as a folder of Parquet files. */
#include "export/nsys/nsys.h"

#include <stdlib.h>

#include "export/nsys/build.h"

#include "base/poison.h"

static enum mp_status begin_sqlite(void *state, FILE *out, const char *path, size_t processes,
                                   struct mp_error *error)
{
    struct nsys *nsys = state;

    (void)processes;
    return tables_open_sqlite(out, path, nsys_tables, NSYS_TABLE_COUNT, &nsys->tables, error);
}

static enum mp_status begin_folder(void *state, FILE *out, const char *path, size_t processes,
                                   struct mp_error *error)
{
    struct nsys *nsys = state;

    (void)out, (void)processes;
    return tables_open_folder(path, nsys_tables, NSYS_TABLE_COUNT, &nsys->tables, error);
}

static enum mp_status process(void *state, const struct export_process *process,
                              struct mp_error *error)
{
    struct nsys *nsys = state;
    enum mp_status status = MP_OK;

    if (!process->number)
        status = nsys_begin_session(nsys, process);
    if (status == MP_OK)
        status = nsys_begin_process(nsys, process);
    if (status == MP_OK) {
        MP_TRY(nsys_begin_callchains(nsys, error));
        MP_TRY(nsys_load_payloads(nsys, error));
        return nsys_put_samples(nsys, error);
    }
    return status ? mp_error_set(error, status, "cannot write: %s", mp_status_name(status)) : MP_OK;
}

static enum mp_status row(void *state, const struct export_row *row)
{
    static nsys_row *const put[EXPORT_KINDS] = {
        [EXPORT_KERNEL] = nsys_put_kernel,   [EXPORT_COPY] = nsys_put_copy,
        [EXPORT_SET] = nsys_put_set,         [EXPORT_GRAPH] = nsys_put_graph,
        [EXPORT_CALL] = nsys_put_call,       [EXPORT_SYNC] = nsys_put_sync,
        [EXPORT_WAIT] = nsys_put_wait,       [EXPORT_RANGE] = nsys_put_nvtx,
        [EXPORT_MARK] = nsys_put_nvtx,       [EXPORT_MEMORY] = nsys_put_memory,
        [EXPORT_UNIFIED] = nsys_put_unified,
    };

    return put[row->kind] ? put[row->kind](state, row) : MP_OK;
}

static enum mp_status end(void *state, struct mp_error *error)
{
    struct nsys *nsys = state;
    struct tables *tables = nsys->tables;

    nsys->tables = NULL;
    return tables_close(tables, error);
}

static void release(void *state)
{
    struct nsys *nsys = state;

    tables_abandon(nsys->tables);
    mp_intern_free(&nsys->strings);
    mp_intern_free(&nsys->hosts);
    mp_intern_free(&nsys->gpus);
    mp_intern_free(&nsys->pids);
    mp_intern_free(&nsys->domains);
    nsys_end_callchains(nsys);
    mp_map_free(&nsys->callchains);
    mp_map_free(&nsys->threads);
    mp_map_free(&nsys->contexts);
    mp_buffer_free(&nsys->text);
    nsys_forget_payloads(nsys);
    free(nsys->texts);
}

const struct export_format export_nsys_sqlite = {
    .key = "nsys-sqlite",
    .suffix = ".sqlite",
    .help = "an SQLite file with the tables of 'nsys export --type sqlite'",
    .state_bytes = sizeof(struct nsys),
    .begin = begin_sqlite,
    .process = process,
    .row = row,
    .end = end,
    .release = release,
};

const struct export_format export_nsys_parquet = {
    .key = "nsys-parquet",
    .suffix = "-pqtdir",
    .help = "a folder with a Parquet file for each of these tables",
    .state_bytes = sizeof(struct nsys),
    .folder = true,
    .lazy = ".parquet",
    .begin = begin_folder,
    .process = process,
    .row = row,
    .end = end,
    .release = release,
};
