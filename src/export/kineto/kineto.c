/* The two formats: they differ in what stands around the events. */
#include "export/kineto/kineto.h"

#include <stdlib.h>

#include "export/common/gzip.h"
#include "export/kineto/state.h"
#include "reports/ranks/ranks.h"

#include "base/poison.h"

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
    MP_TRY(kineto_facts_load(&kineto->facts, process->trace, error));
    MP_TRY(ranks_operations_load(process->trace, &kineto->operations, error));
    if (kineto->analyses->known)
        status = kineto_launched_build(&kineto->launched, &kineto->analyses->deps);
    if (status != MP_OK)
        return no_memory(error);
    kineto_write_head(kineto);
    return kineto_introduce_process(kineto) == MP_OK ? MP_OK : no_memory(error);
}

static enum mp_status take_row(void *state, const struct export_row *row)
{
    switch (row->kind) {
    case EXPORT_KERNEL:
    case EXPORT_COPY:
    case EXPORT_SET:
    case EXPORT_GRAPH:
        return kineto_write_work(state, row);
    case EXPORT_CALL:
    case EXPORT_RANGE:
    case EXPORT_MARK:
    case EXPORT_WAIT:
    case EXPORT_HOST_FUNCTION:
    case EXPORT_OVERHEAD:
        return kineto_write_host(state, row);
    case EXPORT_SYNC:
        return kineto_write_sync(state, row);
    case EXPORT_COLLECTIVE:
        return kineto_write_call_of_nccl(state, row);
    case EXPORT_METRIC:
        return kineto_write_metric(state, row);
    case EXPORT_MEMORY:
    case EXPORT_POOL:
    case EXPORT_UNIFIED:
    case EXPORT_KINDS:
        break;
    }
    return MP_OK;
}

static enum mp_status end_process(void *state, struct mp_error *error)
{
    struct kineto *kineto = state;

    MP_TRY(kineto_write_samples(kineto, error));
    kineto_write_steps(kineto);
    kineto_write_tail(kineto);
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
    kineto_facts_free(&kineto->facts);
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
