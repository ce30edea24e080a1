/* Sampled counters as nsys's GPU_METRICS: a row of TARGET_INFO_GPU_METRICS names each. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/common/samples.h"
#include "export/nsys/build.h"

#include "base/poison.h"

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

enum mp_status nsys_put_samples(struct nsys *nsys, struct mp_error *error)
{
    struct put put = {.nsys = nsys};
    enum mp_status status = export_samples(nsys->process, put_sample, &put, error);

    mp_map_free(&put.named);
    return status;
}
