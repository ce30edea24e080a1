/* Kineto's JSON (torch.profiler's format), which HTA, TraceLens, Perfetto and chrome://tracing
 * read, and the plain JSON array of old viewers. docs/export.md says what each record becomes.
 *
 *     kineto   {"schemaVersion": 1, "deviceProperties": [...], "distributedInfo": {"rank": 0, ...},
 *               ..., "traceEvents": [events], ...}
 *     chrome   [events]
 *
 * The events are the same, one a line. Times are microseconds with three decimals since the
 * midnight (UTC) before the first record of all traces of the export. So ranks that are exported
 * together, or on one day, lie right next to each other, and a double holds the times exactly.
 *
 * Rows are written as they come. Memory, besides that of rows and analyses: the escaped names, 4
 * bytes an activity for what each call launched, 40 bytes for each pair of iteration and stream,
 * and 48 for each CUDA event.
 */
#include "export/kineto/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/gzip.h"
#include "reports/ranks/ranks.h"

#include "base/poison.h"

/* ---- What stands around the events ---- */

/* Properties of the GPUs, the rank, and where the times begin. HTA looks for `"rank": N` line by
 * line, so it stands near the beginning, with the space. */

#define FILE_LINES 2 /* levels of the document whose items each have a line */
#define DAY_NS     (UINT64_C(86400) * 1000000000)

/* The midnight (UTC) before the first record of all processes. */
static uint64_t base_time(const struct export_process *process)
{
    return process->set->first_time - process->set->first_time % DAY_NS;
}

static void write_device(struct json_writer *json, const struct kineto *kineto,
                         const struct mp_row_device *device)
{
    const struct trace_process *who = kineto->process->who;
    const char *name = NULL;

    for (size_t i = 0; i < who->device_count; i++) {
        if (who->devices[i].ordinal == device->id)
            name = who->devices[i].name;
    }
    JSON_OBJECT(
        json, FACT("id", device->id), FACT("name", name), FACT("totalGlobalMem", device->memory),
        FACT("computeMajor", device->compute_major), FACT("computeMinor", device->compute_minor),
        FACT("maxThreadsPerBlock", device->block_threads),
        FACT("maxThreadsPerMultiprocessor", device->sm_warps * device->warp_threads),
        FACT("regsPerBlock", device->block_registers), FACT("warpSize", device->warp_threads),
        FACT("sharedMemPerBlock", device->block_shared_memory),
        FACT("numSms", device->multiprocessors),
        FACT("regsPerMultiprocessor", device->sm_registers),
        FACT("sharedMemPerMultiprocessor", device->sm_shared_memory));
}

static void write_devices(struct json_writer *json, const struct kineto *kineto)
{
    size_t count;
    const struct mp_row_device *devices = export_rows_devices(kineto->process->rows, &count);

    json_key_array(json, "deviceProperties");
    for (size_t i = 0; i < count; i++)
        write_device(json, kineto, &devices[i]);
    json_close_array(json);
}

static void write_process(struct json_writer *json, const struct kineto *kineto)
{
    const struct export_process *process = kineto->process;
    const struct trace_process *who = process->who;
    uint64_t rank = kineto_rank(process->set, (size_t)(who - process->set->processes));
    uint64_t size = process->set->count > rank ? process->set->count : rank + 1;

    JSON_FACTS(json, FACT("schemaVersion", UINT64_C(1)));
    write_devices(json, kineto);
    JSON_KEY_OBJECT(json, "distributedInfo", FACT("rank", rank), FACT("world_size", size));
    JSON_FACTS(json, FACT("host_name", who->host), FACT("command", who->command),
               FACT("pid", kineto->pid), FACT("miniprof_version", (const char *)MP_VERSION),
               FACT("dropped_records", who->dropped), FACT("displayTimeUnit", (const char *)"ms"),
               FACT("baseTimeNanoseconds", base_time(process)));
}

static void write_head(struct kineto *kineto)
{
    FILE *out = kineto->events.out;

    kineto->events.shift = kineto->process->who->offset - base_time(kineto->process);
    if (kineto->plain) {
        fputc('[', out);
        return;
    }
    json_open_document(&kineto->json, out, FILE_LINES);
    write_process(&kineto->json, kineto);
    json_key_array(&kineto->json, "traceEvents");
}

/* ---- head.c: what stands around the events ---- */
static void write_tail(struct kineto *kineto)
{
    events_flush(&kineto->events);
    fputc('\n', kineto->events.out);
    if (kineto->plain) {
        fputs("]\n", kineto->events.out);
        return;
    }
    json_close_array(&kineto->json);
    JSON_FACTS(&kineto->json, FACT("traceName", kineto->process->who->path));
    json_close_document(&kineto->json);
}

/* ---- The two formats ---- */

static enum mp_status begin(void *state, FILE *out, const char *path, size_t processes,
                            struct mp_error *error)
{
    struct kineto *kineto = state;

    (void)processes;
    kineto->out = out;
    if (gzip_is_asked(path))
        MP_TRY(gzip_open(out, &kineto->zipped, error));
    kineto->events.out = kineto->zipped ? kineto->zipped : out;
    return MP_OK;
}

static enum mp_status begin_plain(void *state, FILE *out, const char *path, size_t processes,
                                  struct mp_error *error)
{
    ((struct kineto *)state)->plain = true;
    return begin(state, out, path, processes, error);
}

static enum mp_status no_memory(struct mp_error *error)
{
    return mp_error_set(error, MP_ERR_MEMORY, "no memory for the export");
}

static enum mp_status start_process(void *state, const struct export_process *process,
                                    struct mp_error *error)
{
    struct kineto *kineto = state;
    enum mp_status status = MP_OK;

    kineto->process = process;
    kineto->analyses = export_rows_analyses(process->rows);
    kineto->pid = process->who->pid == TRACE_SET_UNKNOWN ? 0 : process->who->pid;
    MP_TRY(ranks_operations_load(process->trace, &kineto->operations, error));
    if (kineto->analyses->known)
        status = kineto_launched_build(&kineto->launched, &kineto->analyses->deps);
    if (status != MP_OK)
        return no_memory(error);
    write_head(kineto);
    return kineto_introduce_process(kineto) == MP_OK ? MP_OK : no_memory(error);
}

static enum mp_status take_row(void *state, const struct export_row *row)
{
    static kineto_row *const write[EXPORT_KINDS] = {
        [EXPORT_KERNEL] = kineto_write_work,        [EXPORT_COPY] = kineto_write_work,
        [EXPORT_SET] = kineto_write_work,           [EXPORT_GRAPH] = kineto_write_work,
        [EXPORT_CALL] = kineto_write_host,          [EXPORT_RANGE] = kineto_write_host,
        [EXPORT_MARK] = kineto_write_host,          [EXPORT_WAIT] = kineto_write_host,
        [EXPORT_HOST_FUNCTION] = kineto_write_host, [EXPORT_OVERHEAD] = kineto_write_host,
        [EXPORT_SYNC] = kineto_write_sync,          [EXPORT_COLLECTIVE] = kineto_write_call_of_nccl,
        [EXPORT_METRIC] = kineto_write_metric,
    };

    return write[row->kind] ? write[row->kind](state, row) : MP_OK;
}

static enum mp_status end_process(void *state, struct mp_error *error)
{
    struct kineto *kineto = state;

    MP_TRY(kineto_write_samples(kineto, error));
    kineto_write_steps(kineto);
    write_tail(kineto);
    return kineto->events.text.status == MP_OK ? MP_OK : no_memory(error);
}

static enum mp_status end(void *state, struct mp_error *error)
{
    struct kineto *kineto = state;
    FILE *zipped = kineto->zipped;

    kineto->zipped = NULL;
    if (zipped && fclose(zipped))
        return mp_error_set(error, MP_ERR_IO, "cannot write the compressed file: %m");
    return MP_OK;
}

static void release(void *state)
{
    struct kineto *kineto = state;

    if (kineto->zipped)
        fclose(kineto->zipped);
    events_free(&kineto->events);
    kineto_launched_free(&kineto->launched);
    ranks_operations_free(kineto->operations);
    mp_map_free(&kineto->steps);
    free(kineto->step_items);
    mp_map_free(&kineto->records);
    free(kineto->record_items);
    mp_map_free(&kineto->introduced);
}

const struct export_format export_kineto = {
    .key = "kineto",
    .suffix = gzip_json_suffix,
    .help = "torch.profiler's JSON, for HTA, TraceLens and Perfetto (.json, .json.gz)",
    .state_bytes = sizeof(struct kineto),
    .analyses = true,
    .one_process = true,
    .matched = true,
    .begin = begin,
    .process = start_process,
    .row = take_row,
    .process_end = end_process,
    .end = end,
    .release = release,
};

const struct export_format export_chrome = {
    .key = "chrome",
    .suffix = ".json",
    .help = "a JSON array of events, for chrome://tracing and other old viewers",
    .state_bytes = sizeof(struct kineto),
    .analyses = true,
    .one_process = true,
    .matched = true,
    .begin = begin_plain,
    .process = start_process,
    .row = take_row,
    .process_end = end_process,
    .end = end,
    .release = release,
};
