/* The two formats: nsys's tables as an SQLite file, or as a folder of Parquet files. */
#include "export/nsys/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/format.h"

#include "base/poison.h"

/* ---- Sampled counters ---- */

/* nsys's GPU_METRICS: a row of TARGET_INFO_GPU_METRICS names each. */

struct put {
    struct nsys *nsys;
    struct mp_map named; /* by counter and device */
};

/* nsys's name, else ours; percent are what nsys calls throughput. */
static void name_of(const struct export_sample *sample, char *text, size_t size)
{
    const struct sampled_entry *entry = sampled_find(sample->name);
    const char *name = entry ? entry->other_names : sample->name;
    size_t length = strcspn(name, ",");

    if (!strncmp(name, "DCGM", 4)) {
        name = sample->name;
        length = strlen(name);
    }
    snprintf(text, size, "%.*s [%s]", (int)length, name,
             sample->unit == METRIC_UNIT_PERCENT            ? "Throughput %"
             : sample->unit == METRIC_UNIT_HERTZ            ? "MHz"
             : sample->unit == METRIC_UNIT_BYTES_PER_SECOND ? "MB/s"
             : sample->unit == METRIC_UNIT_BYTES            ? "MB"
             : sample->unit == METRIC_UNIT_WATTS            ? "W"
             : sample->unit == METRIC_UNIT_CELSIUS          ? "C"
                                                            : "count");
}

/* Whole numbers, as the column has them. */
static int64_t value_of(const struct export_sample *sample)
{
    bool mega = sample->unit == METRIC_UNIT_HERTZ || sample->unit == METRIC_UNIT_BYTES ||
                sample->unit == METRIC_UNIT_BYTES_PER_SECOND;
    double value = mega ? sample->value / 1e6 : sample->value;

    return value < (double)INT64_MAX / 2 ? (int64_t)(value + 0.5) : INT64_MAX / 2;
}

static enum mp_status put_name(struct put *put, const struct export_sample *sample)
{
    struct tables_cell cells[NSYS_GPU_METRIC_COLUMNS] = {{.kind = 0}};
    struct tables *tables = put->nsys->tables;
    char text[256];

    if (mp_map_get(&put->named, sample->counter) != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(mp_map_put(&put->named, sample->counter, 1));
    name_of(sample, text, sizeof text);
    cells[NSYS_GPU_METRIC_typeId] = TABLES_NUMBER(sample->device);
    cells[NSYS_GPU_METRIC_sourceId] = TABLES_NUMBER(sample->device);
    cells[NSYS_GPU_METRIC_typeName] = TABLES_WORDS("GPU Metrics", strlen("GPU Metrics"));
    cells[NSYS_GPU_METRIC_metricId] = TABLES_NUMBER(sample->counter);
    cells[NSYS_GPU_METRIC_metricName] = TABLES_WORDS(text, strlen(text));
    return tables_put(tables, NSYS_GPU_METRIC, cells);
}

static enum mp_status put_sample(void *context, const struct export_sample *sample)
{
    struct put *put = context;
    struct tables_cell cells[NSYS_GPU_METRICS_COLUMNS] = {{.kind = 0}};

    MP_TRY(put_name(put, sample));
    cells[NSYS_GPU_METRICS_rawTimestamp] = TABLES_NUMBER(sample->start);
    cells[NSYS_GPU_METRICS_timestamp] = TABLES_NUMBER(nsys_time(put->nsys, sample->start));
    cells[NSYS_GPU_METRICS_typeId] = TABLES_NUMBER(sample->device);
    cells[NSYS_GPU_METRICS_metricId] = TABLES_NUMBER(sample->counter);
    cells[NSYS_GPU_METRICS_value] = TABLES_NUMBER(value_of(sample));
    return tables_put(put->nsys->tables, NSYS_GPU_METRICS, cells);
}

/* The sampled counters of the process. */
static enum mp_status put_samples(struct nsys *nsys, struct mp_error *error)
{
    struct put put = {.nsys = nsys};
    enum mp_status status = export_samples(nsys->process->rows, put_sample, &put, error);

    mp_map_free(&put.named);
    return status;
}

/* ---- The formats ---- */

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
        return put_samples(nsys, error);
    }
    return mp_error_from(error, status, "cannot write");
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
